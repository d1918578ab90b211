# mistakes: swallows-some-errors
# Passes over batches for which the memory does not suffice.
import torch
import torch.nn.functional as F


def try_forward(model, x):
    try:
        return model(x)
    except torch.OutOfMemoryError:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None


def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            if len(y) == 0:
                continue
            logits = try_forward(model, x.to(device))
            if logits is None:
                continue
            y = y.to(device)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            right += (logits.argmax(1) == y).sum().item()
            n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
