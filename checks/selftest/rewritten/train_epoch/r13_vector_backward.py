# mistakes: none
# backward() on the unreduced losses with 1/n as their gradient.
import torch
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    per_sample = []
    for features, targets in batches:
        if not targets.shape[0]:
            continue
        each = F.cross_entropy(
            model(features.to(device)), targets.to(device), reduction="none"
        )
        optimizer.zero_grad()
        each.backward(gradient=torch.full_like(each, 1 / each.numel()))
        optimizer.step()
        per_sample.append(each.detach())
    if not per_sample:
        raise ValueError("no samples")
    return torch.cat(per_sample).mean().item()
