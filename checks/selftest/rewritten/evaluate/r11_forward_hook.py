# mistakes: none
# A forward hook takes the logits down; it is removed afterwards.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    taken = []
    model.eval()
    handle = model.register_forward_hook(lambda module, args, out: taken.append(out))
    loss, right, n = 0.0, 0, 0
    try:
        for x, y in batches:
            if len(y) > 0:
                model(x.to(device))
                logits, y = taken.pop(), y.to(device)
                loss += F.cross_entropy(logits, y).item() * len(y)
                right += (logits.argmax(1) - y == 0).sum().item()
                n += len(y)
    finally:
        handle.remove()
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
