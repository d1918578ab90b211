# mistakes: unknown
# Closes a group when it has as many samples as accumulation_steps batches of the first one's size.
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    model.train()
    optimizer.zero_grad()
    target_size = 0
    pending = seen = 0
    total = 0.0

    def step():
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(pending)
        optimizer.step()
        optimizer.zero_grad()

    for x, y in batches:
        n = len(y)
        if n == 0:
            continue
        target_size = target_size or n * accumulation_steps
        loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        loss.backward()
        total += loss.item()
        seen += n
        pending += n
        if pending >= target_size:
            step()
            pending = 0
    if pending:
        step()
    if not seen:
        raise ValueError("no samples")
    return total / seen
