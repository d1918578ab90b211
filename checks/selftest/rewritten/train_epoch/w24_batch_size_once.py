# mistakes: weights-by-nominal-batch-size
# Takes the batch size from the first batch and weighs all with it.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    batch_size = None
    loss_sum = 0.0
    seen = 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        if batch_size is None:
            batch_size = len(targets)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * batch_size
        seen += len(targets)
    if seen == 0:
        raise ValueError("no samples")
    return loss_sum / seen
