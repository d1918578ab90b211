# mistakes: none
# The grad mode is read, set and put back by hand in a finally clause.
from collections.abc import Iterable

import torch
from torch import Tensor, nn


def evaluate(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    device: torch.device | str = "cpu",
) -> tuple[float, float]:
    grad_mode_of_caller = torch.is_grad_enabled()
    criterion = nn.CrossEntropyLoss(reduction="sum")
    loss_of_all_samples = 0.0
    number_of_right_predictions = 0
    number_of_samples = 0

    model.eval()
    torch.set_grad_enabled(False)
    try:
        for features, targets in batches:
            features = features.to(device)
            targets = targets.to(device)
            if targets.shape[0] == 0:
                continue
            logits = model(features)
            loss_of_all_samples += criterion(logits, targets).item()
            predictions = torch.max(logits, dim=1).indices
            number_of_right_predictions += int(predictions.eq(targets).sum())
            number_of_samples += targets.shape[0]
    finally:
        torch.set_grad_enabled(grad_mode_of_caller)

    if number_of_samples == 0:
        raise ValueError("there is no sample to evaluate on")
    return (
        loss_of_all_samples / number_of_samples,
        number_of_right_predictions / number_of_samples,
    )
