"""evaluate: loss and accuracy of a classifier, as one writes it on the whiteboard."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@torch.no_grad()  # gives the caller's grad mode back, also when a batch raises
def evaluate(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    device: torch.device | str = "cpu",
) -> tuple[float, float]:
    """Return (mean loss, share of right predictions) over all samples, in eval mode."""
    model.eval()
    total_loss, num_correct, num_samples = 0.0, 0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        logits = model(features)
        loss = F.cross_entropy(logits, targets)
        # .item() waits for the GPU; where that matters, add up tensors and read once.
        total_loss += loss.item() * len(targets)
        num_correct += (logits.argmax(dim=1) == targets).sum().item()
        num_samples += len(targets)
    if num_samples == 0:
        raise ValueError("no samples: every batch was empty, or there was none")
    return total_loss / num_samples, num_correct / num_samples
