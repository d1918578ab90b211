# mistakes: none
# A post hook of the optimizer clears after each step; it is removed in the end.
from contextlib import ExitStack

import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    total = count = 0
    with ExitStack() as stack:
        hook = optimizer.register_step_post_hook(lambda opt, *_: opt.zero_grad())
        stack.callback(hook.remove)
        optimizer.zero_grad()
        model.train()
        for features, targets in batches:
            size = len(targets)
            if size == 0:
                continue
            loss = F.cross_entropy(model(features.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            total += loss.item() * size
            count += size
    if count == 0:
        raise ValueError("no samples")
    return total / count
