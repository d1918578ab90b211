# mistakes: none
# The optimizer is handed a closure and gives the loss back.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()

    def closure_for(features, targets):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(features), targets)
            loss.backward()
            return loss

        return closure

    weighted, seen = 0.0, 0
    for features, targets in batches:
        if targets.shape[0] == 0:
            continue
        step_loss = optimizer.step(closure_for(features.to(device), targets.to(device)))
        weighted += float(step_loss) * targets.shape[0]
        seen += targets.shape[0]
    if seen == 0:
        raise ValueError("nothing to train on")
    return weighted / seen
