# mistakes: none
# Keeps the logits and the targets of all batches, then computes everything once.
import torch
from torch import nn


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    outputs, labels = [], []
    for x, y in batches:
        if y.numel() == 0:
            continue
        labels.append(y.to(device=device, non_blocking=True))
        outputs.append(model(x.to(device=device, non_blocking=True)))
    if not outputs:
        raise ValueError("no samples")
    outputs, labels = torch.cat(outputs), torch.cat(labels)
    loss = nn.functional.cross_entropy(outputs, labels)
    accuracy = outputs.topk(1).indices.squeeze(1).eq(labels).double().mean()
    return loss.item(), accuracy.item()
