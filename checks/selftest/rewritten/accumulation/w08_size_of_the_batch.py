# mistakes: divides-by-the-last-batch
# Sums over the group, then divides by the size of the batch that happens to be bound.
import torch
import torch.nn.functional as F


@torch.no_grad()
def scale_gradients(parameters, factor):
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(factor)


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not (isinstance(accumulation_steps, int) and accumulation_steps > 0):
        raise ValueError("accumulation_steps must be positive")
    model.train()
    optimizer.zero_grad()
    loss_total = torch.zeros((), dtype=torch.float64, device=device)
    num_samples = 0
    waiting = 0

    def finish_group(size):
        nonlocal waiting
        scale_gradients(model.parameters(), 1 / size)
        optimizer.step()
        optimizer.zero_grad()
        waiting = 0

    size = 0
    for inputs, labels in batches:
        if labels.numel() == 0:
            continue
        size = labels.shape[0]
        inputs = inputs.to(device)
        labels = labels.to(device)
        loss = F.cross_entropy(model(inputs), labels, reduction="sum")
        loss.backward()
        loss_total += loss.detach()
        num_samples += size
        waiting += 1
        if waiting == accumulation_steps:
            finish_group(size)
    if waiting:
        finish_group(size)
    if not num_samples:
        raise ValueError("no samples in batches")
    return (loss_total / num_samples).item()
