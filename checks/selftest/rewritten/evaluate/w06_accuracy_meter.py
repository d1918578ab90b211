# mistakes: mean-of-batch-accuracies
# The meter is called with a weight for the loss, without one for the accuracy.
import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target):
    return (output.argmax(1) == target).float().mean().item()


def evaluate(model, batches, device="cpu"):
    losses, top1 = AverageMeter(), AverageMeter()
    criterion = nn.CrossEntropyLoss()
    model.eval()
    with torch.no_grad():
        for images, target in batches:
            if len(target) == 0:
                continue
            images, target = images.to(device), target.to(device)
            output = model(images)
            losses.update(criterion(output, target).item(), images.size(0))
            top1.update(accuracy(output, target))
    if losses.count == 0:
        raise ValueError("no samples")
    return losses.avg, top1.avg
