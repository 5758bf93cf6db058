"""The masked cross-entropy spelled out: log-probabilities, those of the right tokens, and the mean of the real ones."""

import torch


def masked_cross_entropy(logits, targets, pad_id=0):
    log_p = torch.log_softmax(logits, dim=-1)  # (B, T, V)
    each = -log_p.gather(-1, targets[..., None])[..., 0]  # (B, T)
    real = targets != pad_id  # (B, T)
    return each[real].mean()
