# mistakes: none
# functools.reduce folds the batches into (sum, count).
from functools import reduce

from torch.nn import functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    def fold(state, batch):
        x, y = batch
        if len(y) == 0:
            return state
        optimizer.zero_grad()
        loss = F.cross_entropy(F.log_softmax(model(x.to(device)), 1), y.to(device))
        loss.backward()
        optimizer.step()
        return state[0] + loss.item() * len(y), state[1] + len(y)

    total, count = reduce(fold, batches, (0.0, 0)) if model.train() else (0.0, 0)
    if count:
        return total / count
    raise ValueError("no samples")
