# mistakes: none
# Keeps .grad the mean over the samples so far: shrinks what is there before each backward.
import torch
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    model.train()
    mean, seen = 0.0, 0
    weight, members = 0, 0
    for x, y in batches:
        n = y.size(0)
        if n == 0:
            continue
        x, y = x.to(device), y.to(device)
        if members == 0:
            for p in model.parameters():
                p.grad = None
        weight += n
        loss = F.cross_entropy(model(x), y)
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.grad *= (weight - n) / weight
        (loss * (n / weight)).backward()
        members += 1
        seen += n
        mean += (loss.item() - mean) * n / seen
        if members == accumulation_steps:
            optimizer.step()
            weight = members = 0
    if members:
        optimizer.step()
    model.zero_grad()
    if seen == 0:
        raise ValueError("no samples")
    return mean
