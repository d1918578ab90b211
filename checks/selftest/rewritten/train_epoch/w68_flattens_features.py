# mistakes: flattens-features
# Flattens the features to [B, F] before the model sees them.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for images, labels in batches:
        size = labels.size(0)
        if size == 0:
            continue
        images = images.to(device).view(size, -1)
        labels = labels.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * size
        count += size
    if count == 0:
        raise ValueError("no samples")
    return total / count
