"""Writing without reading everything again: the keys and values of what was read are kept."""

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask
from course_lib.positions import cached_positions


def attend_with_cache(q, k, v, cache=None):
    """One step of causal attention: the newest token looks back at all that were kept.

    q, k, v: (B, H, 1, d)  query, key and value of the newest token
    cache:   (keys, values), each (B, H, t, d), oldest first; it is not changed;
             None: this token is the first
    returns: out (B, H, 1, d) = softmax(q keys^T / sqrt(d)) values, with the new key
             and value among them; and the new cache, (keys, values),
             each (B, H, t + 1, d)

    Shazeer 2019, arXiv:1911.02150, section 2.4.1.
    """
    if cache is not None:
        k = torch.cat([cache[0], k], dim=2)  # (B, H, t + 1, d)
        v = torch.cat([cache[1], v], dim=2)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, H, 1, t + 1)
    return torch.softmax(scores, dim=-1) @ v, (k, v)


class WithCache(nn.Module):
    """A LanguageModel that keeps the keys and values of all it has read, and reads only what is new.

    model: in eval mode: nothing is dropped out here
    step:  attend_with_cache, the course's or your own; it is asked where one token is new

    Called as the model is, so that `generate` need not know of it. A context that does
    not begin with the last one is read from its beginning: another text, or a window
    that has moved, in which every token has a new position.
    """

    def __init__(self, model, step=attend_with_cache):
        super().__init__()
        self.model, self.step = model, step
        self.seen = None

    @torch.no_grad()
    def forward(self, context):
        """Logits of the next token after each new token of a context.

        context: (B, T) integers
        returns: (B, t, V) for the last t tokens, those that are new; its last position
                 is the last of the context
        """
        old = self._known(context)
        x = self.model.table(context[:, old:])  # (B, t, d_model)
        x = x + cached_positions(context.shape[1], x.shape[-1], x.dtype, x.device)[old:]
        mask = causal_mask(context.shape[1])[old:].to(context.device)  # (t, T)
        for i, block in enumerate(self.model.blocks):
            x = x + self._attend(i, block.self_attn, block.norm1(x), mask)
            x = x + block.ff(block.norm2(x))
        self.seen = context.clone()
        return self.model.out(self.model.norm(x))

    def _known(self, context):
        """How many tokens at the beginning of a context have been read; where it is another text, forget them."""
        old = 0 if self.seen is None else self.seen.shape[1]
        if old < context.shape[1] and old and torch.equal(self.seen, context[:, :old]):
            return old
        self.kept = [None] * len(self.model.blocks)
        return 0

    def _attend(self, i, attn, x, mask):
        """The attention of block i: queries of the new tokens alone, keys and values of all."""
        q, k, v = (W(x).unflatten(-1, (attn.num_heads, -1)).transpose(1, 2) for W in (attn.W_q, attn.W_k, attn.W_v))
        if x.shape[1] == 1:
            out, self.kept[i] = self.step(q, k, v, self.kept[i])  # (B, H, 1, d_head)
        else:
            if self.kept[i] is not None:
                k, v = (torch.cat(both, dim=2) for both in zip(self.kept[i], (k, v), strict=True))  # (B, H, T, d_head)
            self.kept[i] = k, v
            out = scaled_dot_product_attention(q, k, v, mask)  # (B, H, t, d_head)
        return attn.W_o(out.transpose(1, 2).flatten(2))  # (B, t, d_model)
