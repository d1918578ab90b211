# mistakes: mean-of-batch-means, leaks-grad-mode
# Averages the losses of the batches and never turns autograd on again.
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    torch.set_grad_enabled(False)
    model.eval()
    losses, hits = [], []
    for x, y in batches:
        if len(y) == 0:
            continue
        logits = model(x.to(device))
        y = y.to(device)
        losses.append(F.cross_entropy(logits, y))
        hits.append(logits.argmax(1) == y)
    if not losses:
        raise ValueError("no samples")
    loss = torch.stack(losses).mean()
    accuracy = torch.cat(hits).double().mean()
    return loss.item(), accuracy.item()
