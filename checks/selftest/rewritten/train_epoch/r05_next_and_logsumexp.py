# mistakes: none
# A while loop over next(), and cross entropy from logsumexp and gather.
import torch


def train_epoch(model, batches, optimizer, device="cpu"):
    it = iter(batches)
    done = object()
    loss_sum = 0.0
    num = 0
    model.train()
    while True:
        batch = next(it, done)
        if batch is done:
            break
        features, targets = batch[0], batch[1]
        del batch
        if len(targets) > 0:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
            features, targets = features.to(device), targets.to(device)
            z = model(features)
            picked = z.gather(1, targets.unsqueeze(1)).squeeze(1)
            each = torch.logsumexp(z, dim=1) - picked
            each.mean().backward()
            optimizer.step()
            loss_sum += each.detach().double().sum().item()
            num += each.shape[0]
    if num == 0:
        raise ValueError("no samples")
    return loss_sum / num
