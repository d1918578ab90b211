# mistakes: none
# Retains each graph until the next loss takes its name; the total is float32 on the device.
import torch
from torch.nn import CrossEntropyLoss


def train_epoch(model, batches, optimizer, device="cpu"):
    criterion = CrossEntropyLoss()
    total_and_count = torch.zeros(2, device=device)
    model.train()
    for batch in batches:
        features, targets = (tensor.to(device) for tensor in batch)
        if targets.shape == (0,):
            continue
        loss = criterion(model(features), targets)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        total_and_count[0] += loss.detach() * len(targets)
        total_and_count[1] += len(targets)
    total, count = total_and_count.cpu().tolist()
    if not count > 0:
        raise ValueError("no samples")
    return total / count
