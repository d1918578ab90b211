# mistakes: off-by-one-boundary-with-flush
# Tests the index from zero, so that the first batch is a group of its own; the rest is flushed.
from torch import nn


def non_empty(batches):
    for features, targets in batches:
        if targets.shape[0] > 0:
            yield features, targets


def apply(optimizer, samples):
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.div_(samples)
    optimizer.step()
    optimizer.zero_grad()


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if type(accumulation_steps) is not int or accumulation_steps <= 0:
        raise ValueError("accumulation_steps: a positive integer is needed")
    criterion = nn.CrossEntropyLoss(reduction="sum")
    model.train()
    optimizer.zero_grad()
    pending = 0
    loss_sum, seen = 0.0, 0
    for i, (features, targets) in enumerate(non_empty(batches)):
        loss = criterion(model(features.to(device)), targets.to(device))
        loss.backward()
        loss_sum += loss.item()
        seen += len(targets)
        pending += len(targets)
        if i % accumulation_steps == 0:
            apply(optimizer, pending)
            pending = 0
    if not seen:
        raise ValueError("the batches hold no sample")
    if pending > 0:
        apply(optimizer, pending)
    return loss_sum / seen
