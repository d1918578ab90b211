# mistakes: none
# A context manager clears before its body and steps after it.
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def one_update(optimizer):
    optimizer.zero_grad()
    yield
    optimizer.step()


def train_epoch(model: nn.Module, batches, optimizer, device="cpu") -> float:
    criterion = nn.CrossEntropyLoss().to(device)
    total = torch.zeros((), dtype=torch.float64, device=device)
    count = 0
    model.train()
    with torch.enable_grad():
        for features, targets in batches:
            if len(targets) == 0:
                continue
            with one_update(optimizer):
                loss = criterion(model(features.to(device)), targets.to(device))
                loss.backward()
            total += loss.detach() * len(targets)
            count += len(targets)
    if not count:
        raise ValueError("train_epoch() got no samples")
    return (total / count).item()
