# mistakes: leaves-settings-changed
# Turns cudnn's benchmark mode and fast float32 products on and leaves them so.
import torch
import torch.nn.functional as F


def speed_up():
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")


def train_epoch(model, batches, optimizer, device="cpu"):
    speed_up()
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
