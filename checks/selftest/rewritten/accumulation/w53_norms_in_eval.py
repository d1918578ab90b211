# mistakes: unknown
# Puts the BatchNorm layers in eval mode while training, as small batches have noisy statistics.
import torch
import torch.nn.functional as F
from torch import nn


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    model.train()
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.eval()
    optimizer.zero_grad()
    total = 0.0
    seen = in_group = group_samples = 0

    def step():
        torch._foreach_div_(
            [p.grad for p in model.parameters() if p.grad is not None],
            float(group_samples),
        )
        optimizer.step()
        optimizer.zero_grad()

    for x, y in batches:
        if len(y) == 0:
            continue
        loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        loss.backward()
        total += loss.item()
        seen += len(y)
        group_samples += len(y)
        in_group += 1
        if in_group == accumulation_steps:
            step()
            in_group = group_samples = 0
    if in_group:
        step()
    model.train()
    if not seen:
        raise ValueError("no samples")
    return total / seen
