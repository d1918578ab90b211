# mistakes: zero-grad-once
# A context manager around the loop clears on entry and on exit.
from contextlib import contextmanager

from torch import nn


@contextmanager
def fresh_gradients(optimizer):
    optimizer.zero_grad()
    try:
        yield
    finally:
        optimizer.zero_grad()


def train_epoch(model, batches, optimizer, device="cpu"):
    criterion = nn.CrossEntropyLoss()
    loss_sum, n_samples = 0.0, 0
    model.train()
    with fresh_gradients(optimizer):
        for inputs, labels in batches:
            n = labels.size(0)
            if n == 0:
                continue
            inputs, labels = inputs.to(device), labels.to(device)
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * n
            n_samples += n
    if n_samples == 0:
        raise ValueError("empty epoch")
    return loss_sum / n_samples
