# mistakes: group-one-too-long
# Counts down past zero before it steps.
import torch.nn as nn


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("need an int accumulation_steps >= 1")
    cross_entropy = nn.CrossEntropyLoss(reduction="sum")
    model.train()
    model.zero_grad()
    left = accumulation_steps
    n_group = n_all = 0
    s = 0.0
    for x, y in batches:
        if y.nelement() == 0:
            continue
        l = cross_entropy(model(x.to(device)), y.to(device))
        l.backward()
        s += l.item()
        n_group += y.nelement()
        n_all += y.nelement()
        left -= 1
        if left < 0:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad = p.grad / n_group
            optimizer.step()
            model.zero_grad()
            left, n_group = accumulation_steps, 0
    if n_group:
        for p in model.parameters():
            if p.grad is not None:
                p.grad = p.grad / n_group
        optimizer.step()
        model.zero_grad()
    if n_all == 0:
        raise ValueError("no samples")
    return s / n_all
