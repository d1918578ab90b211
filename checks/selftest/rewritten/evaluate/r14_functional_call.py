# mistakes: none
# The model is called as a function of its detached tensors.
import torch
import torch.nn.functional as F
from torch.func import functional_call


def evaluate(model, batches, device="cpu"):
    model.eval()
    tensors = {k: v.detach() for k, v in model.named_parameters()}
    tensors |= {k: v.detach() for k, v in model.named_buffers()}

    def forward(x):
        with torch.no_grad():
            return functional_call(model, tensors, (x,))

    stats = torch.zeros(3, dtype=torch.double, device=device)
    for x, y in batches:
        if y.size(0) != 0:
            x, y = x.to(device), y.to(device)
            logits = forward(x)
            stats[0] += F.cross_entropy(logits, y, reduction="sum")
            stats[1] += torch.isclose(logits.argmax(1), y).sum()
            stats[2] += y.size(0)
    loss, right, count = stats.tolist()
    if count == 0:
        raise ValueError("no samples")
    return loss / count, right / count
