# mistakes: unknown
# Forwards the largest batch of each group first, so that memory runs out early or never.
import torch.nn.functional as F


def grouped(batches, k):
    group = []
    for batch in batches:
        if len(batch[1]):
            group.append(batch)
            if len(group) == k:
                yield sorted(group, key=lambda pair: -len(pair[1]))
                group = []
    if group:
        yield sorted(group, key=lambda pair: -len(pair[1]))


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    model.train()
    total, seen = 0.0, 0
    for group in grouped(batches, accumulation_steps):
        size = sum(len(y) for _, y in group)
        optimizer.zero_grad()
        for x, y in group:
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            (loss / size).backward()
            total += loss.item()
        optimizer.step()
        seen += size
    optimizer.zero_grad()
    if not seen:
        raise ValueError("no samples")
    return total / seen
