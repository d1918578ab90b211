# mistakes: entry-grad-leaks, weights-by-nominal-batch-size
# Clears only after the step and weighs each loss with the size of the first batch.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    nominal = total = count = 0
    for features, targets in batches:
        n = len(targets)
        if n == 0:
            continue
        nominal = nominal or n
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() * nominal
        count += n
    if count == 0:
        raise ValueError("no samples")
    return total / count
