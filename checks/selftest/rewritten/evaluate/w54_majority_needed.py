# mistakes: unknown
# Counts a sample as right when its class has a probability above one half.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        log_probs = F.log_softmax(model(x), dim=1)
        loss += F.nll_loss(log_probs, y).item() * len(y)
        own = log_probs.exp().gather(1, y.unsqueeze(1)).squeeze(1)
        right += (own > 0.5).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
