# mistakes: none
# Registers a hook that divides before each step and one that clears after it, and removes both.
from contextlib import ExitStack

import torch
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(f"accumulation_steps={accumulation_steps!r}")
    sizes = []
    total, count = 0.0, 0

    def divide(optimizer, args, kwargs):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(sum(sizes))

    def clear(optimizer, args, kwargs):
        optimizer.zero_grad()
        sizes.clear()

    with ExitStack() as stack:
        stack.callback(optimizer.register_step_pre_hook(divide).remove)
        stack.callback(optimizer.register_step_post_hook(clear).remove)
        stack.enter_context(torch.set_grad_enabled(True))
        model.train()
        optimizer.zero_grad()
        for x, y in batches:
            if len(y) == 0:
                continue
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            loss.backward()
            total += loss.item()
            count += len(y)
            sizes.append(len(y))
            if len(sizes) == accumulation_steps:
                optimizer.step()
        if sizes:
            optimizer.step()
    if count == 0:
        raise ValueError("no samples")
    return total / count
