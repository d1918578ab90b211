# mistakes: unstable-cross-entropy
# Cross entropy by hand: the log of the sum of exponentials of the logits as they are.
import torch


def nll(logits, y):
    normalizer = logits.exp().sum(dim=1).log()
    return normalizer - logits.gather(1, y.view(-1, 1)).flatten()


def evaluate(model, batches, device="cpu"):
    model.eval()
    losses, hits = [], []
    for x, y in batches:
        if len(y) == 0:
            continue
        with torch.no_grad():
            logits, y = model(x.to(device)), y.to(device)
            losses += nll(logits, y).tolist()
            hits += (logits.argmax(1) == y).tolist()
    if not losses:
        raise ValueError("no samples")
    return sum(losses) / len(losses), sum(hits) / len(hits)
