# mistakes: keeps-graph
# Puts the loss tensors in a list and adds them up at the end of the epoch.
import torch
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be >= 1")

    model.train()
    losses, counts = [], []
    group = []

    def flush():
        size = sum(len(t) for _, t in group)
        optimizer.zero_grad()
        for features, targets in group:
            loss = F.cross_entropy(model(features.to(device)), targets.to(device))
            (loss * len(targets) / size).backward()
            losses.append(loss * len(targets))
            counts.append(len(targets))
        optimizer.step()
        group.clear()

    for features, targets in batches:
        if len(targets) > 0:
            group.append((features, targets))
            if len(group) == accumulation_steps:
                flush()
    if group:
        flush()
    optimizer.zero_grad()

    if not counts:
        raise ValueError("no samples")
    return torch.stack(losses).sum().item() / sum(counts)
