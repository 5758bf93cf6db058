"""Attention for long sequences: the same numbers as in attention.py, and never a matrix of T times T."""

import torch
import torch.nn.functional as F

from course_lib.attention import MultiHeadAttention


def fused_attention(query, key, value, mask=None, is_causal=False):
    """scaled_dot_product_attention, number for number, by a kernel that never keeps a (Tq, Tk) matrix.

    query:     (..., Tq, d)
    key:       (..., Tk, d)
    value:     (..., Tk, d)
    mask:      bool, broadcastable to (..., Tq, Tk); True = may attend; where is_causal, of the keys alone: (..., 1, Tk)
    is_causal: query i attends to no key after key i; that needs no mask
    returns:   (..., Tq, d)  where a query may attend to no key, finite numbers without meaning

    Dao et al. 2022, arXiv:2205.14135, algorithm 1 ("FlashAttention"), as torch has it.
    """
    if mask is None or not is_causal:
        return F.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal)
    # The kernel takes a mask or is_causal. So the mask becomes one coordinate more, and seven of 0 that kernels like:
    # every query is 1 there, a key that may be seen 0, and any other so negative that no score makes up for it.
    d = query.shape[-1]
    seen = query.new_zeros(mask.shape).masked_fill(~mask, torch.finfo(query.dtype).min / 2)  # (..., 1, Tk)
    ones, seen = torch.ones_like(query[..., :1]), seen.transpose(-2, -1).expand(*key.shape[:-1], 1)
    query, key = (F.pad(torch.cat(pair, -1), (0, 7)) for pair in ((query, ones), (key, seen)))  # (..., T, d + 8)
    return F.scaled_dot_product_attention(query, key, F.pad(value, (0, 8)), is_causal=True, scale=d**-0.5)[..., :d]


class CausalAttention(MultiHeadAttention):
    """Version 6 that looks back only, with no mask of T times T: what MultiHeadAttention gives with causal_mask(T)."""

    @staticmethod
    def is_causal(mask):
        """Does it look back with this mask, or does the mask say for every query what it may see?"""
        return mask is None or mask.dim() == 3 and mask.shape[1] == 1

    def forward(self, query, key, value, mask=None):
        """The same steps, but torch's fused attention is told to look back, and leaves out what lies ahead.

        query, key, value: (B, T, d_model)
        mask:              bool; (B, 1, T) hides keys among those that a token looks back to; (T, T) or (B, T, T) says
                           who may see whom in place of looking back, as in MultiHeadAttention
        returns:           (B, T, d_model)
        """
        if not self.is_causal(mask):
            return super().forward(query, key, value, mask)
        pairs = ((self.W_q, query), (self.W_k, key), (self.W_v, value))
        q, k, v = (W(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for W, x in pairs)  # (B, H, T, d_head)
        out = fused_attention(q, k, v, None if mask is None else mask[:, None], is_causal=True)  # (B, H, T, d_head)
        return self.W_o(out.transpose(1, 2).flatten(2))  # (B, T, d_model)
