# mistakes: asserts-instead-of-valueerror
# Guards the division with an assert.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        logits, y = model(x.to(device)), y.to(device)
        loss += F.cross_entropy(logits, y).item() * len(y)
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    assert n > 0, "evaluate() needs samples"
    return loss / n, right / n
