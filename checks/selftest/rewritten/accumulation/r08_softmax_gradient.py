# mistakes: none
# Works the gradient of the logits out by hand and starts backward from the logits.
from itertools import islice

import torch


@torch.no_grad()
def loss_and_gradient(logits, targets):
    log_p = logits - logits.logsumexp(dim=1, keepdim=True)
    rows = torch.arange(len(targets), device=targets.device)
    gradient = log_p.exp()
    gradient[rows, targets] -= 1
    return -log_p[rows, targets].sum().item(), gradient


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be a whole number, 1 or more")
    model.train()
    with_samples = filter(lambda batch: len(batch[1]) > 0, batches)
    loss_sum = 0.0
    samples = 0
    for group in iter(lambda: list(islice(with_samples, accumulation_steps)), []):
        group_size = sum(len(targets) for _, targets in group)
        model.zero_grad()
        for features, targets in group:
            logits = model(features.to(device))
            loss, gradient = loss_and_gradient(logits, targets.to(device))
            logits.backward(gradient / group_size)
            loss_sum += loss
        optimizer.step()
        samples += group_size
    model.zero_grad()
    if samples == 0:
        raise ValueError("no samples")
    return loss_sum / samples
