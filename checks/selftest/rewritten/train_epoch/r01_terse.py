# mistakes: none
# The shortest loop: a walrus total, two names a line.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    s = n = 0
    for x, y in batches:
        if not (b := len(y)):
            continue
        optimizer.zero_grad()
        l = F.cross_entropy(model(x.to(device)), y.to(device))
        l.backward()
        optimizer.step()
        s += l.item() * b
        n += b
    if not n:
        raise ValueError("no samples")
    return s / n
