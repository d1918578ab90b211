# mistakes: no-train-mode
# model.train is named and not called.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train
    running_loss, samples = 0.0, 0
    for data, label in batches:
        if len(label) == 0:
            continue
        data = data.to(device)
        label = label.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, label)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * data.size(0)
        samples += data.size(0)
    if samples == 0:
        raise ValueError("no samples")
    return running_loss / samples
