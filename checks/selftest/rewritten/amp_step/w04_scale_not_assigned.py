# mistakes: unscaled-backward
# scaler.scale(loss) is called for its effect, and loss is what backward starts from.
import torch
from torch.nn import CrossEntropyLoss


class Trainer:
    loss_fn = CrossEntropyLoss()

    def __init__(self, model, optimizer, scaler):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.steps = 0

    def count(self, *_):
        self.steps += 1

    def train_on(self, features, targets, max_norm, autocast):
        self.model.zero_grad()
        with autocast:
            loss = self.loss_fn(self.model(features), targets)
        self.scaler.scale(loss)
        loss.backward()
        self.scaler.unscale_(self.optimizer)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


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
    trainer = Trainer(model, optimizer, scaler)
    hook = optimizer.register_step_post_hook(trainer.count)
    value = trainer.train_on(
        features, targets, max_norm, torch.autocast(device_type, dtype)
    )
    hook.remove()
    if trainer.steps and scheduler is not None:
        scheduler.step()
    return value, trainer.steps > 0
