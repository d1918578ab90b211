# mistakes: softmax-before-ce
# A hand-written stable softmax feeds cross_entropy.
import torch.nn.functional as F


def softmax(z):
    e = (z - z.max(dim=1, keepdim=True).values).exp()
    return e / e.sum(dim=1, keepdim=True)


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        probabilities = softmax(model(features.to(device)))
        loss = F.cross_entropy(probabilities, targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
