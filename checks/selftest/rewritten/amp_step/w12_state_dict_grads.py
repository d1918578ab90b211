# mistakes: no-zero-grad
# Sets .grad to None on the tensors of state_dict(), which are detached copies of the handles.
import torch
import torch.nn.functional as F


def clear_gradients(module):
    for tensor in module.state_dict().values():
        tensor.grad = None


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
    clear_gradients(model)
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = scaler.get_scale() >= before
    if scheduler is not None and stepped:
        scheduler.step()
    return loss.item(), stepped
