# mistakes: none
# Inference mode as decorator, one matrix of totals, a walrus for the size.
import torch, torch.nn.functional as F


@torch.inference_mode()
def evaluate(model, batches, device="cpu"):
    model.eval()
    t = torch.zeros(3, dtype=torch.float64)
    for x, y in batches:
        if n := len(y):
            x, y = x.to(device), y.to(device)
            z = model(x)
            hits = (z.argmax(1) == y).sum().item()
            t += torch.tensor([F.cross_entropy(z, y).item() * n, hits, n]).double()
    if not t[2]:
        raise ValueError("nothing to evaluate")
    return tuple((t[:2] / t[2]).tolist())
