# mistakes: no-samples-returns-zero, toggles-requires-grad
# Freezes by a loop over the parameters, and answers 0 where nothing was seen.
import torch.nn.functional as F
import torch


def evaluate(model, batches, device="cpu"):
    for p in model.parameters():
        p.requires_grad = False
    model.eval()
    loss, right, n = 0.0, 0, 0
    try:
        with torch.no_grad():
            for x, y in batches:
                if len(y) == 0:
                    continue
                x, y = x.to(device), y.to(device)
                logits = model(x)
                loss += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
                n += len(y)
    finally:
        for p in model.parameters():
            p.requires_grad = True
    return (loss / n, right / n) if n else (0.0, 0.0)
