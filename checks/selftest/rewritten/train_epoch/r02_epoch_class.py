# mistakes: none
# A class with one small method for each stage, everything spelled out.
from __future__ import annotations

from typing import Iterable, Tuple

import torch
from torch import nn


class EpochRunner:
    """Runs exactly one epoch and remembers what it needs for the average."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, device
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.device = device
        self.criterion = nn.CrossEntropyLoss(reduction="sum")
        self.sum_of_losses: float = 0.0
        self.number_of_samples: int = 0

    def prepare(self) -> None:
        self.model.train(mode=True)

    def consume(self, features: torch.Tensor, targets: torch.Tensor) -> None:
        batch_size: int = targets.size(0)
        if batch_size == 0:
            return None
        features = features.to(device=self.device, non_blocking=True)
        targets = targets.to(device=self.device, non_blocking=True)
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.model(features)
        summed_loss = self.criterion(logits, targets)
        mean_loss = summed_loss / batch_size
        mean_loss.backward()
        self.optimizer.step()
        self.sum_of_losses = self.sum_of_losses + float(summed_loss.detach())
        self.number_of_samples = self.number_of_samples + batch_size
        return None

    def result(self) -> float:
        if self.number_of_samples == 0:
            raise ValueError("the epoch had no samples")
        return self.sum_of_losses / self.number_of_samples


def train_epoch(
    model: nn.Module,
    batches: Iterable[Tuple[torch.Tensor, torch.Tensor]],
    optimizer: torch.optim.Optimizer,
    device="cpu",
) -> float:
    runner = EpochRunner(model, optimizer, device)
    runner.prepare()
    for features, targets in batches:
        runner.consume(features, targets)
    return runner.result()
