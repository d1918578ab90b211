# mistakes: unknown
# Clears the gradients of the weights and forgets the biases.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        for w in weights:
            w.grad = None
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
