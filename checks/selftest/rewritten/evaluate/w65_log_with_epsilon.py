# mistakes: unstable-cross-entropy
# Takes the log of the probabilities, with an epsilon against log(0).
import torch

EPS = 1e-8


def cross_entropy(probs, y):
    picked = probs[torch.arange(len(y)), y]
    return -torch.log(picked + EPS).mean()


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        probs = model(x).softmax(dim=-1)
        loss += cross_entropy(probs, y).item() * len(y)
        right += (probs.argmax(dim=-1) == y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
