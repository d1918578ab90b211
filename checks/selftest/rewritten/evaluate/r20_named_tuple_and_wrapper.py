# mistakes: none
# A wrapping module holds the loss, its eval() reaches the model, a named tuple returns.
from typing import NamedTuple

import torch
from torch import nn


class Score(NamedTuple):
    loss: float
    accuracy: float


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.criterion = nn.CrossEntropyLoss(reduction="none")

    def forward(self, x, y):
        logits = self.model(x)
        return self.criterion(logits, y), logits.argmax(1) == y


def evaluate(model, batches, device="cpu"):
    task = WithLoss(model)
    task.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        with torch.inference_mode():
            losses, hits = task(x.to(device), y.to(device))
            loss += losses.sum().item()
            right += hits.sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return Score(loss / n, right / n)
