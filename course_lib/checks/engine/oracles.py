"""Torch's own layers, as the truth that several lessons judge by."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.checks.engine.circumstances import TINY, dropout_factor


def encoder_layer(w, build, x, mask=None, norm_first=False):
    """torch's encoder layer. A token that may attend to nothing gets NaN: any finite number is right there."""
    d_model, num_heads, d_ff, *dropout = build
    p = dropout[0] if dropout in ([1.0], [TINY]) else 0.0  # these two are only ever asked for in train mode
    with torch.device("meta"):  # its own weights are never used
        layer = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, p, batch_first=True,
                                           norm_first=norm_first)  # in train mode
    layer.self_attn.dropout = 0.0  # torch's has one more, within its attention
    hidden, known = None, torch.ones(())
    if mask is not None:
        mask = mask.expand(len(x), x.shape[1], x.shape[1])
        hidden = ~mask.repeat_interleave(num_heads, 0)  # (B * H, T, T), True = hidden
        known = known.masked_fill(~mask.any(-1, keepdim=True), float("nan"))  # (B, T, 1)
    theirs = {f"self_attn.in_proj_{of}": torch.cat([w[f"self_attn.W_{i}.{of}"] for i in "qkv"])
              for of in ("weight", "bias")}
    for of in ("weight", "bias"):
        theirs |= {f"self_attn.out_proj.{of}": w[f"self_attn.W_o.{of}"]}
        theirs |= {f"linear{i}.{of}": w[f"ff.linear{i}.{of}"] for i in (1, 2)}
        theirs |= {f"norm{i}.{of}": w[f"norm{i}.{of}"] for i in (1, 2)}
    return torch.func.functional_call(layer, theirs, (x, hidden)) * known


def encoder_layers(w, at, num_layers, build, x, mask=None, norm_first=False):
    """Several of them, one after the other; their weights begin with `at`, as in "layers.0.norm1.bias"."""
    for i in range(num_layers):
        own = f"{at}.{i}."
        of_layer = {name.removeprefix(own): v for name, v in w.items() if name.startswith(own)}
        x = encoder_layer(of_layer, build, x, mask, norm_first)
    return x


def embedded(ids, table, dropout=0.0, times=None):
    """Embeddings times the root of their width or a given factor, plus sines and cosines one by one, then dropout."""
    d_model = table.shape[1]
    where = torch.tensor([[(math.cos if j % 2 else math.sin)(t / 10000 ** (j // 2 * 2 / d_model))
                           for j in range(d_model)] for t in range(ids.shape[1])], dtype=table.dtype)
    times = math.sqrt(d_model) if times is None else times
    return (F.embedding(ids, table) * times + where) * dropout_factor(dropout)
