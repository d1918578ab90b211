# mistakes: no-zero-after-step, no-argument-check
# Clears once before the loop, and takes any accumulation_steps.
import torch.nn.functional as F


def windows(batches, k):
    window = []
    for x, y in batches:
        if len(y) == 0:
            continue
        window.append((x, y))
        if len(window) >= k:
            yield window
            window = []
    if window:
        yield window


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    model.train()
    optimizer.zero_grad()
    s = n = 0
    for window in windows(batches, accumulation_steps):
        size = sum(len(y) for _, y in window)
        for x, y in window:
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            (loss * len(y) / size).backward()
            s += loss.item() * len(y)
        n += size
        optimizer.step()
    if n == 0:
        raise ValueError("no samples")
    return s / n
