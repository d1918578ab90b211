# mistakes: none
# Each forward runs with a forked, seeded random state that is put back.
import torch
import torch.nn.functional as F


def quiet_forward(model, x):
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        return model(x)


def evaluate(model, batches, device="cpu"):
    model = model.eval()
    loss = torch.zeros((), dtype=torch.float64, device=device)
    right = torch.zeros((), dtype=torch.int64, device=device)
    n = 0
    for x, y in batches:
        if len(y) == 0:
            continue
        y = y.to(device)
        logits = quiet_forward(model, x.to(device))
        loss += F.cross_entropy(logits.double(), y, reduction="sum")
        right += (logits.argmax(1) == y).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return float(loss) / n, float(right) / n
