# mistakes: none
# A meter object, and an ExitStack for the grad mode and the eval mode left behind.
from contextlib import ExitStack
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass
class Meter:
    total: float = 0.0
    count: int = 0

    def update(self, value, n):
        self.total += float(value) * n
        self.count += n

    @property
    def mean(self):
        if self.count == 0:
            raise ValueError("the meter has seen nothing")
        return self.total / self.count


class Evaluator:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.loss, self.accuracy = Meter(), Meter()

    def see(self, features, targets):
        logits = self.model(features.to(self.device))
        targets = targets.to(self.device)
        n = targets.size(0)
        self.loss.update(F.cross_entropy(logits, targets), n)
        hits = torch.count_nonzero(logits.argmax(dim=-1) == targets)
        self.accuracy.update(hits / n, n)

    def run(self, batches):
        with ExitStack() as stack:
            stack.callback(self.model.eval)
            stack.enter_context(torch.no_grad())
            self.model.train(False)
            for batch in batches:
                features, targets = batch
                if targets.size(0) > 0:
                    self.see(features, targets)
        return self.loss.mean, self.accuracy.mean


def evaluate(model, batches, device="cpu"):
    return Evaluator(model, torch.device(device)).run(batches)
