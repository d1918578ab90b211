# mistakes: accuracy-in-percent
# A report object turns the share into percent.
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F


@dataclass
class Report:
    nll: list = field(default_factory=list)
    hits: list = field(default_factory=list)

    def __bool__(self):
        return bool(self.nll)

    def result(self):
        loss = torch.cat(self.nll).double().mean().item()
        top1 = torch.cat(self.hits).double().mul(100).mean().item()
        return loss, top1


def evaluate(model, batches, device="cpu"):
    model.eval()
    report = Report()
    for x, y in batches:
        if len(y):
            with torch.no_grad():
                x, y = x.to(device), y.to(device)
                z = model(x)
                report.nll.append(F.cross_entropy(z, y, reduction="none"))
                report.hits.append(z.argmax(1) == y)
    if not report:
        raise ValueError("no samples")
    return report.result()
