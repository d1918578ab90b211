# mistakes: equal-weight-micro-batches, last-group-divided-by-full-count
# The tutorial's line: each mean loss divided by accumulation_steps, in the last group as well.
import torch
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be a positive integer")
    model.train()
    optimizer.zero_grad()
    running_loss = 0.0
    num_samples = 0
    num_batches = 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        loss = F.cross_entropy(model(features), targets)
        (loss / accumulation_steps).backward()
        running_loss += loss.item() * len(targets)
        num_samples += len(targets)
        num_batches += 1
        if num_batches % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    if num_samples == 0:
        raise ValueError("no samples")
    if num_batches % accumulation_steps != 0:
        optimizer.step()
        optimizer.zero_grad()
    return running_loss / num_samples
