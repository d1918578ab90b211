"""What evaluating a world gives, what the common slips give, and calls that break."""

import math
from dataclasses import dataclass

import torch
from torch import nn

# Bound at import, before a candidate's file could replace them.
from torch.nn.functional import cross_entropy, nll_loss

from checks import judging
from checks.judging import is_close
from checks.oracles import Epoch
from checks.recorders import BrokenBatch, Fragile, Log, Run
from checks.worlds import NUM_FEATURES, build


class Right:
    """What evaluating a world gives: worked out batch by batch, in eval mode."""

    def __init__(self, world):
        """Evaluate the plain way."""
        net = build(world.network, world.seed).eval()
        with torch.no_grad():
            self.batches = [(net(x), y) for x, y in world.batches() if len(y)]
            losses = [cross_entropy(logits, y).item() for logits, y in self.batches]
        self.sizes = [len(y) for _, y in self.batches]
        self.epoch = Epoch(Run(Log(), net, None), list(world.sizes), self.sizes, losses)
        self.hits = self._count(lambda logits: logits.argmax(1))
        self.num_right, self.num_samples = sum(self.hits), sum(self.sizes)
        self.loss = self.epoch.mean_loss
        self.accuracy = self.num_right / self.num_samples

    def _count(self, predict):
        """Count, batch by batch, the targets that equal what `predict(logits)` "
        "gives."""
        return [
            int((predict(logits) == targets).sum())
            if predict(logits).numel() in (1, len(targets)) or len(targets) == 1
            else math.nan
            for logits, targets in self.batches
        ]

    def batch_slips(self):
        """Wrong losses of the first batch, each with the number that it gives."""
        logits, targets = self.batches[0]
        share, size = logits.softmax(1), len(targets)
        return {
            "That has a softmax before the loss: cross entropy takes raw logits and "
            "applies log-softmax itself.": cross_entropy(share, targets).item(),
            "That is the sum over the samples, not their mean.": self.loss * size,
            "That is the mean divided by the number of samples once more.": (
                self.loss / size
            ),
            "That is minus the mean probability of the targets: the logarithm is "
            "missing.": nll_loss(share, targets).item(),
            "That is minus the mean logit of the targets: nll_loss takes "
            "log-probabilities.": nll_loss(logits, targets).item(),
            "That is divided by the number of classes as well: the mean is over "
            "samples, not over all logits.": self.loss / logits.shape[1],
            "That has a softmax over the batch: classes are dim 1 of [B, C].": (
                nll_loss(logits.log_softmax(0), targets).item()
            ),
            "That is divided by the number of features as well.": (
                self.loss / NUM_FEATURES
            ),
            "That is with label smoothing; asked is plain cross entropy.": (
                cross_entropy(logits, targets, label_smoothing=0.1).item()
            ),
            "That is the accuracy.": self.accuracy,
        }

    def loss_slips(self):
        """Wrong means of the losses, each with the number that it gives."""
        return {
            **self.epoch.averaging_slips(),
            "That counts each empty batch as a sample.": (
                self.loss * self.num_samples / self._with_empty()
            ),
        }

    def accuracy_slips(self):
        """Wrong accuracies, each with the number that it gives."""
        sizes, hits, num_samples = self.sizes, self.hits, self.num_samples
        shares = [hit / n for hit, n in zip(hits, sizes, strict=True)]
        all_sizes = self.epoch.all_sizes
        return {
            "That is in percent; asked is a share between 0 and 1.": 100
            * self.accuracy,
            "That is the number of right predictions: divide by the samples.": (
                self.num_right
            ),
            "That is the mean of the batch accuracies: count right predictions and "
            "samples, and divide once.": math.fsum(shares) / len(shares),
            "That is the mean of the batch accuracies, empty batches counted as "
            "batches.": math.fsum(shares) / len(all_sizes),
            "That is the sum of the batch accuracies.": math.fsum(shares),
            "That is right predictions divided by the number of batches: divide by "
            "samples.": self.num_right / len(sizes),
            "That is the sum of the batch accuracies divided by the number of "
            "samples.": math.fsum(shares) / num_samples,
            "That is the accuracy of the last batch alone.": shares[-1],
            "That gives each batch the size of the first one.": (
                self.num_right / (all_sizes[0] * len(sizes)) if all_sizes[0] else None
            ),
            "That takes the largest logit over the batch: logits are [B, C], "
            "predictions are argmax over dim 1.": self._share(
                lambda logits: logits.argmax(0)
            ),
            "That takes the one largest logit of the whole batch: predictions are "
            "argmax over dim 1.": self._share(lambda logits: logits.argmax()),
            "That counts each empty batch as a sample.": (
                self.num_right / self._with_empty()
            ),
            "That is the share of wrong predictions.": 1 - self.accuracy,
            "That counts right predictions in eight bits: they wrap at 256.": (
                self.num_right % 256 / num_samples
            ),
            "That counts a target among the two largest logits as right.": (
                self._among_largest(2)
            ),
            "That is the loss.": self.loss,
            "That is the accuracy without its decimals (`//`, int()), unless what you "
            "compare never matches.": self.num_right // num_samples,
        }

    def _among_largest(self, k):
        best = [(logits.topk(k).indices, y[:, None]) for logits, y in self.batches]
        return sum(int((b == y).sum()) for b, y in best) / self.num_samples

    def _with_empty(self):
        return self.num_samples + self.epoch.all_sizes.count(0)

    def _share(self, predict):
        return sum(self._count(predict)) / self.num_samples


def near_slip(value, right):
    """Say that a wrong value is nearly right."""
    if not is_close(value, right, 1e-2):
        return ""
    return "\nThat is near, not equal: rounding, or fewer digits than the model's?"


def nan_slip(value):
    """Say where a NaN comes from."""
    if not judging.is_nan(value):
        return ""
    return "\nThe mean over nothing is NaN, and NaN times 0 is still NaN."


def pair(returned):
    """Read loss and accuracy, whatever came back: NaN twice where it is no pair."""
    if isinstance(returned, (tuple, list)) and len(returned) == 2:
        return tuple(returned)
    return math.nan, math.nan


def enter(world, entry):
    """Begin with a model in the modes that `entry` names."""
    run = world.begin()
    run.model.train(entry == "train")
    if entry == "one child in train":
        run.model.net[1].train()
    return run


def modes_story(entry):
    """Tell the modes that `enter` sets."""
    if entry == "one child in train":
        return "its own flag in eval mode and one child in train mode"
    return f"every module in {entry} mode"


@dataclass(frozen=True)
class Broken:
    """How a call ended in which something raised, looked at while the error lives."""

    model: nn.Module
    returned: object
    error: BaseException | None
    grad_after: bool
    inference_after: bool


class Unreadable(BrokenBatch, OSError):
    """What a stream raises whose file cannot be read."""


class DoesNotFit(BrokenBatch, RuntimeError):
    """What a model raises, as torch does."""


def broken_stream(batches, at):
    """Yield batches, and raise in place of batch `at`."""
    for index, batch in enumerate(batches):
        if index == at:
            raise Unreadable(f"batch {index + 1} cannot be read")
        yield batch


class PassThrough(nn.Module):
    """Gives its features back as logits; it has a parameter, as any model."""

    def __init__(self):
        """Multiply by one."""
        super().__init__()
        self.one = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, features):
        """Return the features."""
        return features * self.one


def far_apart():
    """Batches of logits hundreds apart, and their mean loss (100 + 0 + 0 + 100) / 4."""
    logits = [[0.0, 900.0, 1000.0], [1000.0, 0.0, 0.0], [-1000.0, -900.0, -800.0]]
    features = torch.tensor(logits, dtype=torch.float64)
    targets = torch.tensor([1, 0, 2])
    return [(features, targets), (features[:1], targets[:1])], 50.0


def without_end():
    """Two samples: the first, wrong, has an infinite loss; the second is right."""
    rows = [[0.0, 1.0, -math.inf], [2.0, 0.0, 0.0]]
    return [
        (torch.tensor([row], dtype=torch.float64), torch.tensor([target]))
        for row, target in zip(rows, (2, 0), strict=True)
    ]


def call_broken(kata, world, breakage, grad=True, kind=DoesNotFit):
    """Call with a stream, or a model, that raises at one batch."""
    what, at = breakage
    run = world.begin()
    if what == "model":
        run.model.net = Fragile(run.model.net, at, kind).train()
    stream = broken_stream(world.batches(), at if what == "batch" else None)
    with torch.set_grad_enabled(grad):
        error = judging.error_of(
            lambda: run.call(lambda: kata.evaluate(run.model, stream))
        )
        return Broken(
            run.model,
            run.returned,
            error,
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
        )


def story(breakage):
    """Tell what raised, and where."""
    what, at = breakage
    if what == "batch":
        return f"reading batch {at + 1} of 3 raised"
    return f"the model raised on batch {at + 1} of 3"


def comes_from_the_break(error):
    """Whether an error is the one that was raised, or grew out of it."""
    while error is not None and not isinstance(error, BrokenBatch):
        error = error.__cause__ or error.__context__
    return error is not None


def grad_story(grad, after):
    """Tell the grad mode before and after."""
    words = {True: "on", False: "off"}
    was, now = words[grad], words[after]
    return f"you were called with gradients {was}, afterwards they are {now}"


GRAD_ADVICE = {
    False: " The caller's next backward fails: what switches them off must switch them "
    "back when you are done.",
    True: " You switch them on whatever was there, and undo the caller's own no_grad: "
    "put back what you found.",
}
