# mistakes: none
# A coroutine is sent the size of each batch after its backward, and steps when a group is full or closed.
import torch.nn.functional as F


def stepping(optimizer, every):
    """Steps after `every` sizes, and on None for what is left."""
    open_end = True
    while open_end:
        optimizer.zero_grad()
        samples = 0
        for _ in range(every):
            size = yield
            if size is None:
                open_end = False
                break
            samples += size
        if samples:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.div_(samples)
            optimizer.step()
    optimizer.zero_grad()
    yield


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps should be an int >= 1")
    model.train()
    stepper = stepping(optimizer, accumulation_steps)
    next(stepper)
    total, count = 0.0, 0
    for features, targets in batches:
        if size := len(targets):
            logits = model(features.to(device))
            loss = F.cross_entropy(logits, targets.to(device), reduction="sum")
            loss.backward()
            total += loss.item()
            count += size
            stepper.send(size)
    stepper.send(None)
    if not count:
        raise ValueError("no samples at all")
    return total / count
