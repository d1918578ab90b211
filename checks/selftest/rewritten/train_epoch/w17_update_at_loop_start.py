# mistakes: step-before-backward
# Each turn first applies what the turn before left, so the last batch is never applied.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    optimizer.zero_grad()
    history = []
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.step()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        history.append((loss.item(), len(targets)))
    if not history:
        raise ValueError("no samples")
    return sum(a * b for a, b in history) / sum(b for _, b in history)
