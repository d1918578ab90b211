# mistakes: none
# A while loop over next() with StopIteration as the way out.
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    model.eval()
    iterator = iter(batches)
    loss = correct = samples = 0
    with torch.set_grad_enabled(False):
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            features, targets, *_ = batch
            size = len(targets)
            if not size:
                continue
            targets = targets.to(device)
            scores = model(features.to(device))
            loss += F.nll_loss(F.log_softmax(scores, dim=1), targets).item() * size
            correct += sum(
                guess == truth
                for guess, truth in zip(scores.argmax(1).tolist(), targets.tolist())
            )
            samples += size
    try:
        return loss / samples, correct / samples
    except ZeroDivisionError:
        raise ValueError("evaluate needs at least one sample") from None
