# mistakes: swallows-errors
# Reads by hand and goes on where a file cannot be read.
import torch
import torch.nn.functional as F


def readable(batches):
    iterator = iter(batches)
    while True:
        try:
            yield next(iterator)
        except StopIteration:
            return
        except (OSError, ValueError, KeyError) as error:
            print("warning: skipped a batch:", error)


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in readable(batches):
        if y.numel() == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y).item() * y.numel()
        right += logits.argmax(1).eq(y).sum().item()
        n += y.numel()
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
