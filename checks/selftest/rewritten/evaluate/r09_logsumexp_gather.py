# mistakes: none
# Cross entropy as logsumexp minus the target's logit; right if no logit is larger.
import torch


def _sums(logits, targets):
    own = logits.gather(1, targets[:, None])
    nll = torch.logsumexp(logits, dim=1, keepdim=True) - own
    is_right = ~(logits > own).any(dim=1)
    return nll.sum().item(), is_right.sum().item()


def evaluate(model, batches, device="cpu"):
    model.eval()
    nll_sum, right_sum, seen = 0.0, 0.0, 0
    for features, targets in batches:
        if not len(targets):
            continue
        with torch.no_grad():
            nll, right = _sums(model(features.to(device)), targets.to(device))
        nll_sum, right_sum = nll_sum + nll, right_sum + right
        seen += len(targets)
    if not seen:
        raise ValueError("no samples")
    return nll_sum / seen, right_sum / seen
