# mistakes: nominal-group-size
# Divides by steps times the size of the first batch, whatever sizes follow.
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(
            f"accumulation_steps must be a positive int, got {accumulation_steps!r}"
        )
    model.train()
    optimizer.zero_grad()
    effective_batch_size = None
    in_group = 0
    total, count = 0.0, 0
    for x, y in batches:
        n = len(y)
        if n == 0:
            continue
        if effective_batch_size is None:
            effective_batch_size = n * accumulation_steps
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y, reduction="sum")
        (loss / effective_batch_size).backward()
        total += loss.item()
        count += n
        in_group += 1
        if in_group == accumulation_steps:
            optimizer.step()
            optimizer.zero_grad()
            in_group = 0
    if in_group:
        optimizer.step()
        optimizer.zero_grad()
    if count == 0:
        raise ValueError("no samples")
    return total / count
