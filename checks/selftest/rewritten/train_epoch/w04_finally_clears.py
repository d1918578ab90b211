# mistakes: entry-grad-leaks
# Clears in a finally after each step, never before the first backward.
import torch


class Trainer:
    def __init__(self, model, optimizer, device):
        self.model, self.optimizer, self.device = model, optimizer, device

    def batch(self, features, targets):
        try:
            logits = self.model(features.to(self.device))
            loss = torch.nn.functional.cross_entropy(logits, targets.to(self.device))
            loss.backward()
            self.optimizer.step()
            return loss.item()
        finally:
            self.model.zero_grad()

    def epoch(self, batches):
        self.model.train()
        total, n = 0.0, 0
        for features, targets in batches:
            if len(targets):
                total += self.batch(features, targets) * len(targets)
                n += len(targets)
        if n == 0:
            raise ValueError("no samples")
        return total / n


def train_epoch(model, batches, optimizer, device="cpu"):
    return Trainer(model, optimizer, device).epoch(batches)
