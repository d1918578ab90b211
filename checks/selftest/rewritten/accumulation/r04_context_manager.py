# mistakes: none
# A context manager for each group, whose end divides and steps; the batches come from next().
from contextlib import contextmanager
from types import SimpleNamespace

import torch
import torch.nn.functional as F


@contextmanager
def one_step(optimizer):
    optimizer.zero_grad()
    group = SimpleNamespace(batches=0, samples=0)
    yield group
    if group.batches:
        held = (p for g in optimizer.param_groups for p in g["params"])
        grads = [p.grad for p in held if p.grad is not None]
        torch._foreach_div_(grads, group.samples)
        optimizer.step()
    optimizer.zero_grad()


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int):
        raise ValueError("accumulation_steps is no int")
    if accumulation_steps < 1:
        raise ValueError("accumulation_steps is less than one")
    model.train()
    losses = []
    sizes = []
    iterator = iter(batches)
    end = False
    while not end:
        with one_step(optimizer) as group:
            while group.batches < accumulation_steps:
                batch = next(iterator, None)
                if batch is None:
                    end = True
                    break
                features, targets = batch
                if len(targets) == 0:
                    continue
                loss = F.cross_entropy(model(features.to(device)), targets.to(device))
                (loss * len(targets)).backward()
                losses.append(loss.item())
                sizes.append(len(targets))
                group.batches += 1
                group.samples += len(targets)
    if not sizes:
        raise ValueError("batches held no samples")
    return sum(a * b for a, b in zip(losses, sizes)) / sum(sizes)
