# mistakes: none
# Two-stage gradients: backward to the logits, then from the logits to the parameters.
import torch
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    def forward(features):
        return model(features.to(device))

    def head_gradient(logits, targets):
        leaf = logits.detach().requires_grad_()
        loss = F.cross_entropy(leaf, targets.to(device))
        (gradient,) = torch.autograd.grad(loss, leaf)
        return loss.item(), gradient

    def update(logits, gradient):
        torch.autograd.backward([logits], [gradient])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    optimizer.zero_grad(set_to_none=True)
    model.train()
    numerator, denominator = 0.0, 0
    for features, targets in batches:
        n = len(targets)
        if n > 0:
            logits = forward(features)
            loss, gradient = head_gradient(logits, targets)
            update(logits, gradient)
            numerator, denominator = numerator + n * loss, denominator + n
    if denominator == 0:
        raise ValueError("no samples")
    return numerator / denominator
