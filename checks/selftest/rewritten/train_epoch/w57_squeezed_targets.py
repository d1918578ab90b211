# mistakes: unknown
# squeeze() takes the batch dimension away when there is a single sample.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        n = targets.shape[0]
        if n == 0:
            continue
        optimizer.zero_grad()
        logits = model(features.to(device)).squeeze()
        loss = F.cross_entropy(logits, targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * n
        count += n
    if count == 0:
        raise ValueError("no samples")
    return total / count
