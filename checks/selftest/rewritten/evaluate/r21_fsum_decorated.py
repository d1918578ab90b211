# mistakes: none
# Two own decorators: one for the mode, one that names an empty evaluation.
import functools
import math

import torch
import torch.nn.functional as F


def in_eval_mode(function):
    @functools.wraps(function)
    def wrapper(model, *args, **kwargs):
        try:
            return function(model.eval(), *args, **kwargs)
        finally:
            model.eval()

    return wrapper


def needs_samples(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Empty as error:
            raise ValueError("no samples") from error

    return wrapper


class Empty(Exception):
    pass


@needs_samples
@in_eval_mode
@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    losses: list[float] = []
    hits: list[bool] = []
    for x, y in batches:
        if len(y):
            logits = model(x.to(device))
            y = y.to(device)
            losses.extend(F.cross_entropy(logits, y, reduction="none").tolist())
            hits.extend((logits.argmax(1) == y).tolist())
    if not losses:
        raise Empty
    return math.fsum(losses) / len(losses), sum(hits) / len(hits)
