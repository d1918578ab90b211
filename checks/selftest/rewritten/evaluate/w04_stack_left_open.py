# mistakes: leaks-grad-mode
# Enters no_grad on an ExitStack that nobody closes.
from contextlib import ExitStack

import torch
import torch.nn as nn


class Evaluation:
    def __init__(self, model, device):
        self.stack = ExitStack()
        self.stack.enter_context(torch.no_grad())
        self.model = model.eval()
        self.device = device
        self.criterion = nn.CrossEntropyLoss()

    def __call__(self, batches):
        n = loss = right = 0
        for inputs, labels in batches:
            size = labels.size(0)
            if size == 0:
                continue
            inputs, labels = inputs.to(self.device), labels.to(self.device)
            outputs = self.model(inputs)
            loss += self.criterion(outputs, labels).item() * size
            right += (outputs.argmax(1) == labels).sum().item()
            n += size
        if n == 0:
            raise ValueError("no samples")
        return loss / n, right / n


def evaluate(model, batches, device="cpu"):
    return Evaluation(model, device)(batches)
