# mistakes: no-samples-divides-by-zero
# Gathers per-sample losses as floats and divides their sum by their number, unguarded.
import torch
import torch.nn.functional as F


class Step:
    """One group: collects gradients on entry, applies them on exit."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.samples = 0

    def __enter__(self):
        self.optimizer.zero_grad()
        return self

    def __exit__(self, kind, error, trace):
        if kind is None and self.samples:
            with torch.no_grad():
                for g in self.optimizer.param_groups:
                    for p in g["params"]:
                        if p.grad is not None:
                            p.grad.div_(self.samples)
            self.optimizer.step()
        self.optimizer.zero_grad()
        return False


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps")
    model.train()
    each = []
    stream = iter(batches)
    more = True
    while more:
        with Step(optimizer) as step:
            done = 0
            while done < accumulation_steps:
                try:
                    x, y = next(stream)
                except StopIteration:
                    more = False
                    break
                if len(y) == 0:
                    continue
                losses = F.cross_entropy(
                    model(x.to(device)), y.to(device), reduction="none"
                )
                losses.sum().backward()
                each += losses.tolist()
                step.samples += len(y)
                done += 1
    return sum(each) / len(each)
