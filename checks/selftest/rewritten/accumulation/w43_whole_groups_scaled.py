# mistakes: drops-last-group, reports-scaled-loss
# Steps inside the loop only, and reports the loss after dividing it by accumulation_steps.
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int, 1 or more")
    model.train()
    model.zero_grad()
    group_n, k, total, count = 0, 0, 0.0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        loss = (
            F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            / accumulation_steps
        )
        loss.backward()
        total += loss.item()
        count += len(y)
        group_n += len(y)
        k += 1
        if k == accumulation_steps:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.mul_(accumulation_steps / group_n)
            optimizer.step()
            model.zero_grad()
            group_n = k = 0
    model.zero_grad()
    if count == 0:
        raise ValueError("no samples")
    return total / count
