# mistakes: none
# Post-accumulate hooks move each gradient to a dictionary of sums; the step gets the quotient.
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be at least 1 and an int")
    sums = {}

    def collect(p):
        sums[p] = sums[p] + p.grad if p in sums else p.grad
        p.grad = None

    def step(n):
        for p, g in sums.items():
            p.grad = g / n
        optimizer.step()
        for p in sums:
            p.grad = None
        sums.clear()

    for p in model.parameters():
        p.grad = None
    handles = [
        p.register_post_accumulate_grad_hook(collect)
        for p in model.parameters()
        if p.requires_grad
    ]
    total = 0.0
    seen = group = number = 0
    model.train()
    try:
        for x, y in batches:
            if len(y) == 0:
                continue
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            loss.backward()
            total += float(loss.detach())
            seen += len(y)
            group += len(y)
            number += 1
            if number % accumulation_steps == 0:
                step(group)
                group = 0
        if group:
            step(group)
    finally:
        for handle in handles:
            handle.remove()
    if not seen:
        raise ValueError("no samples")
    return total / seen
