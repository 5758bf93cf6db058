"""Multi-head attention with its scores and its weights written out, which the course's own leaves to torch."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("the heads do not divide d_model")
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.W_q(query))  # (B, H, Tq, d_head)
        k = self.split(self.W_k(key))  # (B, H, Tk, d_head)
        v = self.split(self.W_v(value))  # (B, H, Tk, d_head)
        scores = q @ k.transpose(-2, -1) / self.d_head**0.5  # (B, H, Tq, Tk)
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]  # (B, 1, Tq, Tk), the same for all heads
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)  # (B, H, Tq, Tk)
        heads = weights @ v  # (B, H, Tq, d_head)
        out = heads.transpose(1, 2).flatten(2)  # (B, Tq, d_model)
        return self.W_o(out)

    def split(self, x):
        B, T, _ = x.shape
        return x.view(B, T, self.num_heads, self.d_head).transpose(1, 2)  # (B, H, T, d_head)
