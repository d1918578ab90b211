# mistakes: no-no-grad
# Detaches each output, after the graph was made.
from torch.nn.functional import cross_entropy


class Totals:
    loss = 0.0
    right = 0
    count = 0

    def add(self, logits, y):
        self.loss += cross_entropy(logits, y, reduction="sum").item()
        self.right += int((logits.argmax(1) == y).sum())
        self.count += len(y)


def evaluate(model, batches, device="cpu"):
    totals = Totals()
    model.eval()
    for x, y in batches:
        if len(y) > 0:
            output = model(x.to(device)).detach()
            totals.add(output, y.to(device))
    if totals.count == 0:
        raise ValueError("no samples")
    return totals.loss / totals.count, totals.right / totals.count
