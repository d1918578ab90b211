# mistakes: no-empty-guard
# Sums over zero rows are 0, so every batch goes through the model.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    sums = torch.zeros(3, dtype=torch.float64)
    for x, y in batches:
        logits, y = model(x.to(device)), y.to(device)
        sums[0] += F.cross_entropy(logits, y, reduction="sum").cpu()
        sums[1] += (logits.argmax(1) == y).sum().cpu()
        sums[2] += y.numel()
    if sums[2] == 0:
        raise ValueError("no samples")
    loss, accuracy = (sums[:2] / sums[2]).tolist()
    return loss, accuracy
