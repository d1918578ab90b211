# mistakes: accuracy-in-percent, restores-train-mode
# Textbook loop that ends with model.train() and reports percent.
import torch
import torch.nn as nn


def evaluate(model, batches, device="cpu"):
    criterion = nn.CrossEntropyLoss()
    model.eval()
    test_loss = 0.0
    correct = 0
    total = 0
    with torch.no_grad():
        for data, target in batches:
            if len(target) == 0:
                continue
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += criterion(output, target).item() * target.size(0)
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            total += target.size(0)
    model.train()
    if total == 0:
        raise ValueError("no samples")
    return test_loss / total, 100.0 * correct / total
