"""Masked attention whose empty rows are finite and no more: with a step less, in which no mistake is undone."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (B, Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (B, Tq, Tk)
    return weights @ value  # (B, Tq, dv)
