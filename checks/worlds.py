"""The small worlds that checks share: networks, batches, optimizers, by number.

A world is a frozen dataclass of whole numbers and names, so that its `repr` says all
and Hypothesis can shrink it. Everything is float64 and built anew at each use; dropout
draws from a generator of its own, so that no check depends on the global random state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from checks.harness.steady import draw_from_strategies_alone
from checks.recorders import (
    Batch,
    Batches,
    Log,
    RecordedModel,
    Run,
    parameters_of,
    record_steps,
)

# The same verdict every time: no luck, no clock, no memory of earlier runs. The profile
# is loaded here, where every check's draws come from, because @given keeps the profile
# of the moment it is applied.
settings.register_profile(
    "katas",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=20,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("katas")
draw_from_strategies_alone()

NUM_FEATURES = 3
NUM_CLASSES = 4
NUM_TOKENS = 1000
STALE = 7.0  # what `.grad` holds on entry in a world with stale gradients

batch_sizes = st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any)
"""Batches of 0 to 6 samples, at least one sample in all."""

paired_sizes = st.lists(
    st.integers(0, 6).filter(lambda size: size != 1), min_size=1, max_size=5
).filter(any)
"""The same without batches of one, which BatchNorm cannot train on."""

seeds = st.integers(0, 10_000)


class SeededDropout(nn.Dropout):
    """Dropout whose masks depend on a seed and the number of calls alone."""

    def __init__(self, p: float, seed: int) -> None:
        """Drop with probability `p`."""
        super().__init__(p)
        self.seed = seed
        self.calls = 0

    def forward(self, features: Tensor) -> Tensor:
        """Drop in train mode, by the next mask; pass through in eval mode."""
        if not self.training:
            return features
        generator = torch.Generator().manual_seed(1000 * self.seed + self.calls)
        self.calls += 1
        kept = torch.rand(features.shape, generator=generator) >= self.p
        return features * kept / (1 - self.p)


class TiedMLP(nn.Module):
    """Two layers that share one weight, under two names."""

    def __init__(self) -> None:
        """Tie `second.weight` to `first.weight`."""
        super().__init__()
        self.first = nn.Linear(NUM_FEATURES, NUM_FEATURES)
        self.second = nn.Linear(NUM_FEATURES, NUM_FEATURES)
        self.second.weight = self.first.weight
        self.head = nn.Linear(NUM_FEATURES, NUM_CLASSES)

    def forward(self, features: Tensor) -> Tensor:
        """Return logits `[B, C]`."""
        return self.head(torch.tanh(self.second(torch.tanh(self.first(features)))))


def _linear(seed: int) -> nn.Module:
    return nn.Linear(NUM_FEATURES, NUM_CLASSES)


def _mlp(seed: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(NUM_FEATURES, 5), nn.Tanh(), nn.Linear(5, NUM_CLASSES)
    )


def _dropout(seed: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(NUM_FEATURES, 8), SeededDropout(0.5, seed), nn.Linear(8, NUM_CLASSES)
    )


def _batchnorm(seed: int) -> nn.Module:
    # No bias before BatchNorm: its true gradient is zero, and Adam steps on the noise.
    return nn.Sequential(
        nn.Linear(NUM_FEATURES, 5, bias=False),
        nn.BatchNorm1d(5),
        nn.Tanh(),
        nn.Linear(5, NUM_CLASSES),
    )


def _frozen(seed: int) -> nn.Module:
    frozen = nn.Linear(NUM_FEATURES, 5).requires_grad_(False)
    return nn.Sequential(frozen, nn.Tanh(), nn.Linear(5, NUM_CLASSES))


def _image(seed: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(1), nn.Linear(NUM_FEATURES, NUM_CLASSES))


def _embedding(seed: int) -> nn.Module:
    return nn.Sequential(
        nn.Embedding(NUM_TOKENS, 2), nn.Flatten(1), nn.Linear(4, NUM_CLASSES)
    )


NETWORKS: dict[str, Callable[[int], nn.Module]] = {
    "linear": _linear,
    "mlp": _mlp,
    "dropout": _dropout,
    "batchnorm": _batchnorm,
    "frozen": _frozen,
    "tied": lambda seed: TiedMLP(),
    "image": _image,
    "embedding": _embedding,
}

OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "standstill": lambda p: torch.optim.SGD(p, lr=0.0),
}


def build(network: str, seed: int) -> nn.Module:
    """Build a network in float64; the same numbers for the same seed.

    The global random state is left as it was.
    """
    # Not torch.manual_seed: it formats a stack trace for each kind of device, 2 ms.
    generator = torch.default_generator
    state = generator.get_state()
    generator.manual_seed(seed)
    net = NETWORKS[network](seed).double()
    generator.set_state(state)
    return net


@dataclass(frozen=True)
class World:
    """A classifier, an optimizer and some batches.

    `sizes` are the batches' sizes; `network` and `optimizer` name a builder above.
    `training` is the mode in which the model enters; with `stale` every trainable
    parameter enters with a gradient of 7.0. Features are `[B, 3]`, for the network
    "image" `[B, 1, 3]` and for "embedding" token ids `long [B, 2]`; targets are `[B]`
    in `[0, 4)`. No two batches are alike, and losses differ widely between batches.
    """

    sizes: Sequence[int] = (4, 1)
    seed: int = 0
    network: str = "mlp"
    optimizer: str = "sgd"
    training: bool = True
    stale: bool = False

    def batches(self) -> list[Batch]:
        """Draw the batches: the same ones at each call, in fresh tensors."""
        generator = torch.Generator().manual_seed(self.seed)
        return [
            (
                self._features(size, index, generator),
                torch.randint(NUM_CLASSES, (size,), generator=generator),
            )
            for index, size in enumerate(self.sizes)
        ]

    def _features(self, size: int, index: int, generator: torch.Generator) -> Tensor:
        if self.network == "embedding":  # the first number tells the batch, see `known`
            tokens = torch.randint(NUM_TOKENS, (size, 2), generator=generator)
            tokens[:1, 0] = index
            return tokens
        shape = (1, NUM_FEATURES) if self.network == "image" else (NUM_FEATURES,)
        normal = torch.randn(size, *shape, generator=generator, dtype=torch.float64)
        return normal * (1 + index % 5)

    def known(self) -> dict[float, int]:
        """Map the first number of each batch's features to the batch's index."""
        return {
            features.flatten()[0].item(): index
            for index, (features, _) in enumerate(self.batches())
            if len(features)
        }

    def begin(self) -> Run:
        """Build a recorded model and its optimizer, as they are on entry."""
        log = Log()
        model = RecordedModel(build(self.network, self.seed), log, self.known())
        model.train(self.training)
        trainable = [p for p in model.parameters() if p.requires_grad]
        optimizer = OPTIMIZERS[self.optimizer](trainable)
        record_steps(optimizer, model, log)
        if self.stale:
            for parameter in trainable:
                parameter.grad = torch.full_like(parameter, STALE)
        entered = parameters_of(model)
        return Run(log=log, model=model, optimizer=optimizer, entered=entered)

    def train(self, train: Callable[..., Any], *args: Any, epochs: int = 1) -> Run:
        """Let `train(model, batches, optimizer, *args)` train; return what it did.

        `returned` is that of the last epoch. The batches come as a stream without a
        length that logs what is asked of it.
        """
        run = self.begin()
        for _ in range(epochs):
            stream = Batches(self.batches(), run.log)
            run.call(lambda s=stream: train(run.model, s, run.optimizer, *args))
        return run

    def evaluate(self, evaluate: Callable[..., Any], *args: Any) -> Run:
        """Let `evaluate(model, batches, *args)` judge the model; return what it did.

        The batches come as a list. Gradients are enabled on entry, and the grad mode
        is put back whatever `evaluate` did to it.
        """
        run = self.begin()
        with torch.set_grad_enabled(True):
            return run.call(lambda: evaluate(run.model, self.batches(), *args))
