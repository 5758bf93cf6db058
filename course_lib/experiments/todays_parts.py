"""Lesson 12b: the parts that changed since 2017, put into the blocks that a learner wrote."""

import torch
from torch import nn

from course_lib.language_model import LanguageModel
from course_lib.llama import Llama, apply_rope, grouped_query_attention


class RotaryAttention(nn.Module):
    """The attention of a LlamaBlock, called as a learner's block calls its attention; it looks back by itself.

    of: a LlamaBlock, whose projections it takes
    """

    def __init__(self, of):
        super().__init__()
        self.W_q, self.W_k, self.W_v, self.W_o = of.W_q, of.W_k, of.W_v, of.W_o
        self.d_head, self.base = of.d_head, of.base

    def forward(self, query, key, value, mask=None):
        """(B, T, d_model) three times, all the same -> (B, T, d_model)"""
        pairs = (self.W_q, query), (self.W_k, key), (self.W_v, value)
        q, k, v = (W(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2) for W, x in pairs)  # (B, heads, T, d_head)
        out = grouped_query_attention(apply_rope(q, self.base), apply_rope(k, self.base), v)  # (B, H, T, d_head)
        return self.W_o(out.transpose(1, 2).flatten(2))  # (B, T, d_model)


def rms_norm(gain):
    """torch's RMSNorm with a trained gain (d_model,)."""
    norm = nn.RMSNorm(len(gain), eps=1e-5)
    norm.weight = nn.Parameter(gain.detach())
    return norm


def put_into(model, llama):
    """Give a LanguageModel the parts and the weights of a Llama, block by block; what its classes do stays theirs.

    model:   a LanguageModel of the same width and depth, a learner's or the course's; changed in place
    llama:   course_lib.llama.Llama
    returns: model, in eval mode
    """
    for block, of in zip(model.blocks, llama.blocks, strict=True):
        block.norm1, block.norm2 = rms_norm(of.norm1), rms_norm(of.norm2)
        block.self_attn, block.ff = RotaryAttention(of), of.ff
    model.table, model.norm = llama.embed, rms_norm(llama.norm)
    model.out = nn.Linear(*llama.embed.weight.T.shape, bias=False, device="meta")
    model.out.weight = llama.embed.weight  # one table for reading and for saying
    return model.eval()


class WithoutPositions(LanguageModel):
    """The course's own LanguageModel for parts whose attention knows positions and looks back."""

    def forward(self, ids):
        """(B, T) -> logits (B, T, V)"""
        x = self.table(ids)
        for block in self.blocks:
            x = block(x, None)
        return self.out(self.norm(x))


def beside_llama(Model):
    """How far a model with new parts is from lesson 15b's Llama with the same weights; ... where it is not written."""
    llama = small_llama()
    ids = torch.randint(50, (2, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        said = put_into(Model(50, 32, 4, 80, 2), llama)(ids)
        return ... if said is ... else (said - llama(ids)).abs().max().item()


def is_llama(Model):
    """Is it one, up to rounding? Whatever a learner's class may do, it never raises."""
    try:
        off = beside_llama(Model)
        return off is not ... and off < 1e-3
    except Exception:  # whatever it is
        return False


def small_llama(seed=0):
    """A Llama of two blocks with random weights, for a comparison that needs no download."""
    torch.manual_seed(seed)
    model = Llama(50, 32, 4, 2, 80, 2)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    return model.eval()
