# mistakes: none
# A class with a method for each phase, and a NamedTuple as the result.
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_


class Outcome(NamedTuple):
    loss: float
    stepped: bool


class MixedPrecisionStep:
    def __init__(self, model: nn.Module, optimizer, scaler) -> None:
        self.model = model
        self.optimizer = optimizer
        self.scaler = scaler

    def forward(self, features: Tensor, targets: Tensor, context) -> Tensor:
        with context:
            return nn.functional.cross_entropy(self.model(features), targets)

    def backward(self, loss: Tensor) -> None:
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)

    def clip(self, max_norm: float | None) -> None:
        if max_norm is None:
            return
        clip_grad_norm_(list(self.model.parameters()), max_norm, foreach=False)

    def update(self) -> bool:
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return self.scaler.get_scale() >= before


def amp_step(
    model: nn.Module,
    features: Tensor,
    targets: Tensor,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    *,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    max_norm: float | None = None,
    device_type: str = "cpu",
    dtype: torch.dtype = torch.float16,
) -> tuple[float, bool]:
    step = MixedPrecisionStep(model, optimizer, scaler)
    model.zero_grad(set_to_none=True)
    loss = step.forward(features, targets, torch.autocast(device_type, dtype=dtype))
    step.backward(loss)
    step.clip(max_norm)
    stepped = step.update()
    if scheduler and stepped:
        scheduler.step()
    return Outcome(loss=loss.item(), stepped=stepped)
