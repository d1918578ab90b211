# mistakes: materialises-batches
# Filters the empty batches with a list comprehension before training.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    batches = [(x, y) for x, y in batches if len(y)]
    if not batches:
        raise ValueError("no samples")
    model.train()
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / sum(len(y) for _, y in batches)
