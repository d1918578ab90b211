# mistakes: none
# Gradients come from torch.autograd.grad and overwrite whatever .grad was.
import torch
from torch.nn.functional import log_softmax, nll_loss


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    params = [p for p in model.parameters() if p.requires_grad]
    acc = torch.zeros(2, dtype=torch.float64)
    for x, y in batches:
        n = y.numel()
        if n < 1:
            continue
        loss = nll_loss(log_softmax(model(x.to(device)), dim=-1), y.to(device))
        for p, g in zip(params, torch.autograd.grad(loss, params)):
            p.grad = g
        optimizer.step()
        acc += torch.tensor([loss.item() * n, n], dtype=torch.float64)
    total, count = acc.tolist()
    if count == 0:
        raise ValueError("no sample in any batch")
    return total / count
