# mistakes: none
# Draws a seeded tag inside fork_rng, and raises a ValueError of its own kind.
import logging

import torch
import torch.nn.functional as F

log = logging.getLogger(__name__)


class NoSamples(ValueError):
    """The epoch had nothing to learn from."""


def run_tag():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return int(torch.randint(1000, ()))


def train_epoch(model, batches, optimizer, device="cpu"):
    log.debug("run %03d", run_tag())
    losses = {}
    model.train()
    for number, (features, targets) in enumerate(batches):
        if (size := len(targets)) == 0:
            log.debug("batch %d is empty", number)
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model.forward(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        losses[number] = (loss.item(), size)
    try:
        return sum(a * b for a, b in losses.values()) / sum(
            b for _, b in losses.values()
        )
    except ZeroDivisionError:
        raise NoSamples("no batch had samples") from None
