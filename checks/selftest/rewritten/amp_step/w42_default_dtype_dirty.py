# mistakes: dtype-ignored, no-zero-grad
# autocast gets no dtype, and nothing clears the gradients.
import torch


def forward(model, features, targets, device_type):
    with torch.autocast(device_type):
        return torch.nn.functional.cross_entropy(model(features), targets)


def amp_step(
    model,
    features,
    targets,
    optimizer,
    scaler,
    *,
    scheduler=None,
    max_norm=None,
    device_type="cpu",
    dtype=torch.float16,
):
    loss = forward(model, features, targets, device_type)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = scaler.get_scale() >= before
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
