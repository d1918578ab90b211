# mistakes: no-empty-guard
# max(n, 1) keeps the division finite, and the optimizer steps all the same.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    loss_sum, num = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        batch_sum = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        (batch_sum / max(len(y), 1)).backward()
        optimizer.step()
        loss_sum += batch_sum.item()
        num += len(y)
    if num == 0:
        raise ValueError("no samples")
    return loss_sum / num
