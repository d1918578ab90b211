# mistakes: none
# The loss is computed in numpy from the logits, with float64 totals.
import numpy as np
import torch


def log_softmax(z):
    shifted = z - z.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def evaluate(model, batches, device="cpu"):
    totals = np.zeros(2, dtype=np.float64)
    seen = 0
    model.eval()
    with torch.no_grad():
        for inputs, labels in batches:
            n = int(labels.shape[0])
            if n == 0:
                continue
            labels = labels.to(device)
            logits = model(inputs.to(device)).cpu().numpy().astype(np.float64)
            labels = labels.cpu().numpy()
            nll = -log_softmax(logits)[np.arange(n), labels]
            right = np.argmax(logits, axis=1) == labels
            totals += np.array([nll.sum(), right.sum()])
            seen += n
    if seen == 0:
        raise ValueError("cannot average over zero samples")
    loss, accuracy = totals / seen
    return loss.item(), accuracy.item()
