# mistakes: extra-forward
# Looks at the number of classes with a forward of its own for each batch.
import torch
import torch.nn.functional as F


@torch.no_grad()
def num_classes(model, features):
    return model(features).shape[1]


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        hot = F.one_hot(targets, num_classes(model, features))
        optimizer.zero_grad()
        logits = model(features)
        loss = -(hot * logits.log_softmax(dim=1)).sum(dim=1).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
