# mistakes: no-samples-returns-zero
# An epoch without samples gives 0.0 through max(count, 1).
import torch
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total = torch.zeros(1, dtype=torch.float64, device=device)
    count = 0
    for features, targets in batches:
        if targets.nelement() == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach() * targets.nelement()
        count += targets.nelement()
    return total.item() / max(count, 1)
