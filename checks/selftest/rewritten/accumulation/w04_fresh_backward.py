# mistakes: zero-grad-every-batch
# A helper that clears before each backward, called for each batch of a group.
from itertools import islice

from torch.nn.functional import cross_entropy


def fresh_backward(model, loss):
    model.zero_grad()
    loss.backward()


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(accumulation_steps)
    model.train()
    it = (b for b in batches if len(b[1]))
    losses, sizes = [], []
    while group := list(islice(it, accumulation_steps)):
        n = sum(len(y) for _, y in group)
        for x, y in group:
            loss = cross_entropy(model(x.to(device)), y.to(device))
            fresh_backward(model, loss * len(y) / n)
            losses.append(loss.item())
            sizes.append(len(y))
        optimizer.step()
    model.zero_grad()
    if not sizes:
        raise ValueError("empty epoch")
    return sum(a * b for a, b in zip(losses, sizes)) / sum(sizes)
