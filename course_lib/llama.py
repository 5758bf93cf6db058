"""What decoders of today changed since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries.

The parts first, then the block and the model that they make: the Llama architecture.
"""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.masks import causal_mask


def rms_norm(x, gain, eps=1e-5):
    """Layer norm without mean and offset: it only brings vectors to a fixed length.

    x:       (..., D)  each position by itself
    gain:    (D,)      learned, one per channel
    eps:     float     added to the mean square, so that a vector of zeros stays one
    returns: (..., D)  x / sqrt(mean of x² + eps) * gain

    Zhang and Sennrich 2019, arXiv:1910.07467, equation 4.
    """
    return x / (x.square().mean(dim=-1, keepdim=True) + eps) ** 0.5 * gain  # (..., D)


def apply_rope(x, base=10000.0):
    """Rotary positions: turn pairs of numbers by an angle that grows with the position.

    The dot product of a query and a key, both turned, then depends on the distance of
    their positions alone.

    x:       (..., T, d)  queries or keys of one head, d even;
                          row t stands at position t
    base:    float        of the frequencies; the larger, the slower
                          the slowest pair turns
    returns: (..., T, d)  the pair (x[t, 2i], x[t, 2i+1]) turned by t / base**(2i/d)
                          radians, counter-clockwise

    Su et al. 2021, arXiv:2104.09864, equations 15 and 34.
    """
    T, d = x.shape[-2:]
    place = torch.arange(T, dtype=torch.float64)
    frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)  # (d/2,)
    angle = place[:, None] * frequency  # (T, d/2)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d/2)
    return torch.stack(
        [even * cos - odd * sin, even * sin + odd * cos], dim=-1
    ).flatten(-2)  # (..., T, d)


def halves_to_neighbours(weight, num_heads):
    """Bring a query or key projection from one layout of rotary positions to the other.

    In each head, rotary pairs (i, i + d/2), as in GPT-NeoX and in Hugging Face's Llama,
    become pairs (2i, 2i + 1), as in the paper. With both projections brought over, all
    scores stay what they were.

    weight:    (out, in)   rows head after head; d = out / num_heads is even
    num_heads: int         of this projection; keys may have fewer than queries
    returns:   (out, in)   the same rows in another order

    Su et al. 2021, arXiv:2104.09864, equation 34, and Black et al. 2022,
    arXiv:2204.06745, section 2.1.1.
    """
    heads = weight.unflatten(0, (num_heads, 2, -1))  # (H, 2, d/2, in)
    return heads.transpose(1, 2).reshape(weight.shape)  # (out, in)


def grouped_query_attention(query, key, value):
    """Causal attention where several query heads share one head of keys and values.

    query:   (B, H, T, d)
    key:     (B, G, T, d)  G divides H; query heads 0 to H/G - 1 share
                           key and value head 0, and so on
    value:   (B, G, T, d)
    returns: (B, H, T, d)  softmax(query key^T / sqrt(d)) value in every head;
                           no token sees what comes after it

    Ainslie et al. 2023, arXiv:2305.13245, section 2.2.
    """
    share = query.shape[1] // key.shape[1]
    key, value = (
        key.repeat_interleave(share, dim=1),
        value.repeat_interleave(share, dim=1),
    )  # (B, H, T, d), both
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (B, H, T, T)
    seen = causal_mask(query.shape[-2]).to(scores.device)
    # (B, H, T, T), every row sums to one
    weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), dim=-1)
    return weights @ value  # (B, H, T, d)


class SwiGLU(nn.Module):
    """A feed-forward network with a gate as nonlinearity: another view of its input.

    d_model: width of inputs and outputs
    d_ff:    width of the hidden layer

    Shazeer 2020, arXiv:2002.05202, equation 6 (FFN_SwiGLU), without biases.
    """

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        """Two views, one of them the gate of the other; then back.

        x:       (..., d_model)
        returns: (..., d_model)  (silu(x W_gate) * (x W_up)) W_down,
                                 where silu(z) = z * sigmoid(z)
        """
        return self.down(F.silu(self.gate(x)) * self.up(x))  # (..., d_model)


class LlamaBlock(nn.Module):
    """A pre-norm decoder block of the 2020s; its four parts are this file's, or a learner's.

    d_model, d_ff, base:     widths, and the base of the rotary positions
    num_heads, num_kv_heads: heads of queries, and of keys and values
    parts:                   dict of your own rms_norm, apply_rope,
                             grouped_query_attention, SwiGLU, by name

    Touvron et al. 2023, arXiv:2302.13971, section 2.2.
    """

    def __init__(self, d_model, num_heads, num_kv_heads, d_ff, base, parts):
        super().__init__()
        self.parts = {"rms_norm": rms_norm, "apply_rope": apply_rope, "SwiGLU": SwiGLU,
                      "grouped_query_attention": grouped_query_attention} | parts
        self.d_head, self.base = d_model // num_heads, base
        self.norm1 = nn.Parameter(torch.ones(d_model))
        self.norm2 = nn.Parameter(torch.ones(d_model))
        self.W_q = nn.Linear(d_model, num_heads * self.d_head, bias=False)
        self.W_k = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.W_v = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.W_o = nn.Linear(num_heads * self.d_head, d_model, bias=False)
        self.ff = self.parts["SwiGLU"](d_model, d_ff)

    def forward(self, x):
        """Attention, then feed-forward: (B, T, d_model) -> (B, T, d_model)."""
        norm, rope, attend = (self.parts[name] for name in ("rms_norm", "apply_rope", "grouped_query_attention"))
        h = norm(x, self.norm1)  # (B, T, d_model)
        q, k, v = (W(h).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
        out = attend(rope(q, self.base), rope(k, self.base), v)  # (B, H, T, d_head)
        x = x + self.W_o(out.transpose(1, 2).flatten(2))  # (B, T, d_model)
        return x + self.ff(norm(x, self.norm2))  # (B, T, d_model)


class Llama(nn.Module):
    """A decoder-only language model of the 2020s, with one table for reading tokens and for saying them.

    vocab_size, num_layers:                         sizes
    d_model, num_heads, num_kv_heads, d_ff, base:   of every LlamaBlock
    parts:                                          a learner's own rms_norm,
                                                    apply_rope, ..., by name

    Touvron et al. 2023, arXiv:2302.13971, section 2.2; the shared table: Press and Wolf
    2017, arXiv:1608.05859.
    """

    def __init__(self, vocab_size, d_model, num_heads, num_kv_heads, d_ff, num_layers, base=10000.0, **parts):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            LlamaBlock(d_model, num_heads, num_kv_heads, d_ff, base, parts) for _ in range(num_layers))
        self.norm = nn.Parameter(torch.ones(d_model))
        self.rms_norm = parts.get("rms_norm", rms_norm)

    def forward(self, ids):
        """Say what may come next: ids (B, T) -> logits (B, T, vocab_size)."""
        x = self.embed(ids)  # (B, T, d_model)
        for block in self.blocks:
            x = block(x)  # (B, T, d_model)
        return self.rms_norm(x, self.norm) @ self.embed.weight.T  # (B, T, vocab_size)
