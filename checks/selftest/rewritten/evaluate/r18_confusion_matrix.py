# mistakes: none
# Right predictions are the trace of a confusion matrix that grows with the classes.
import torch
import torch.nn.functional as F


class Confusion:
    def __init__(self):
        self.matrix = None

    def add(self, targets, predictions, classes):
        cells = torch.bincount(
            targets * classes + predictions, minlength=classes * classes
        )
        cells = cells.reshape(classes, classes)
        self.matrix = cells if self.matrix is None else self.matrix + cells

    def accuracy(self):
        return (self.matrix.trace() / self.matrix.sum()).item()

    def __len__(self):
        return 0 if self.matrix is None else int(self.matrix.sum())


def evaluate(model, batches, device="cpu"):
    model.eval()
    confusion, loss = Confusion(), 0.0
    with torch.no_grad():
        for x, y in batches:
            if not len(y):
                continue
            y = y.to(device)
            logits = model(x.to(device))
            one_hot = F.one_hot(y, logits.shape[1])
            loss -= (one_hot * logits.log_softmax(1)).sum().item()
            confusion.add(y, logits.argmax(1), logits.shape[1])
    if len(confusion) == 0:
        raise ValueError("nothing was evaluated")
    return loss / len(confusion), confusion.accuracy()
