"""Two mistakes at once are both named; of three nothing is said that is not so.

Each family writes one exercise with switches. A switch that is turned is a mistake, and its name stands beside it.
"""

import itertools

import pytest
import torch

from course_lib.attention import MultiHeadAttention
from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.transformer import EncoderLayer

SCALES = {"right scale": lambda d: d**-0.5, "no scale": lambda d: 1.0, "scale by d": lambda d: 1 / d}
AXES = {"right axis": -1, "wrong axis": -2}


def masked(scale, axis, mask_at):
    """Masked scaled dot-product attention with a scale, a softmax axis and a place for the mask."""

    def scaled_dot_product_attention(query, key, value, mask=None):
        scores = query @ key.mT * SCALES[scale](query.shape[-1])
        if mask is not None and mask_at != "ignores the mask":
            if mask_at == "after the softmax":
                return torch.softmax(scores, AXES[axis]) * mask @ value
            scores = scores.masked_fill(mask if mask_at == "inverted mask" else ~mask, -1e30)
        return torch.softmax(scores, AXES[axis]) @ value

    return scaled_dot_product_attention


def version_5(scale, axis, swapped):
    """Self-attention with a scale, a softmax axis, and two of its matrices exchanged or not."""

    def self_attention(x, W_q, W_k, W_v):
        q, k, v = x @ W_q, x @ W_k, x @ W_v
        if swapped == "exchanged":
            q, k = k, q
        return torch.softmax(q @ k.T * SCALES[scale](q.shape[-1]), AXES[axis]) @ v

    return self_attention


def version_6(scale, axis, split):
    """Multi-head attention with a scale, a softmax axis and a way to split the heads."""

    class Own(MultiHeadAttention):
        def forward(self, query, key, value, mask=None):
            def heads(x):
                if split == "split by view":
                    return x.reshape(len(x), self.num_heads, -1, self.d_head)
                return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

            q, k, v = heads(self.W_q(query)), heads(self.W_k(key)), heads(self.W_v(value))
            scores = q @ k.mT * SCALES[scale](self.d_head)
            if mask is not None:
                scores = scores.masked_fill(~(mask if mask.dim() == 2 else mask[:, None]), -1e30)
            out = torch.softmax(scores, AXES[axis]) @ v
            return self.W_o(out.transpose(1, 2).flatten(2))

    return Own


def encoder_layer(order, skip, norm):
    """An encoder layer with pre- or post-norm, with or without its skip connections, with one norm or two."""

    class Own(EncoderLayer):
        def forward(self, x, mask=None):
            for sublayer, own_norm in ((lambda h: self.self_attn(h, h, h, mask), self.norm1), (self.ff, self.norm2)):
                used = self.norm1 if norm == "one norm" else own_norm
                said = self.dropout(sublayer(used(x) if order == "pre-norm" else x))
                x = said if skip == "no skip" else x + said
                x = x if order == "pre-norm" else used(x)
            return x

    return Own


FAMILIES = {
    "scaled_dot_product_attention": (masked, {
        "right scale": "", "no scale": "no-scale", "scale by d": "scale-by-d"}, {
        "right axis": "", "wrong axis": "softmax-over-queries"}, {
        "right mask": "", "inverted mask": "inverted-mask", "after the softmax": "after-the-softmax",
        "ignores the mask": "ignores-mask"}),
    "self_attention": (version_5, {
        "right scale": "", "no scale": "no-scale", "scale by d": "scale-by-the-width"}, {
        "right axis": "", "wrong axis": "softmax-over-queries"}, {
        "in order": "", "exchanged": "keys-ask"}),
    "MultiHeadAttention": (version_6, {
        "right scale": "", "no scale": "no-scale", "scale by d": "scale-by-d-head"}, {
        "right axis": "", "wrong axis": "softmax-over-queries"}, {
        "right split": "", "split by view": "splits-by-view"}),
    "EncoderLayer": (encoder_layer, {
        "post-norm": "", "pre-norm": "pre-norm"}, {
        "skip": "", "no skip": "no-skips"}, {
        "two norms": "", "one norm": "norm1-for-both"}),
}
SAME = {  # two that are another one
    ("self_attention", frozenset(("softmax-over-queries", "keys-ask"))): "turned-weights",
}
UNNAMED = {  # pairs that change the same words of the right answer
    ("EncoderLayer", frozenset(("pre-norm", "no-skips"))), ("EncoderLayer", frozenset(("pre-norm", "norm1-for-both"))),
}
CASES = [(name, switches) for name, (_, *options) in FAMILIES.items() for switches in itertools.product(*options)]


def made(name, switches):
    """The names of the mistakes that are made; of two that are another one, that one."""
    names = {options[at] for at, options in zip(switches, FAMILIES[name][1:], strict=True)} - {""}
    for (of, two), same in SAME.items():
        if of == name and two <= names:
            names = names - two | {same}
    return names


@pytest.mark.parametrize(("name", "switches"), CASES, ids=lambda v: v if isinstance(v, str) else ", ".join(v))
def test_mistakes_in_combination_are_rejected_and_named(name, switches):
    """Two mistakes that cancel in a check, or that are explained as one that the learner has not made."""
    verdict, mistakes = judge(EXERCISES[name], FAMILIES[name][0](*switches)), made(name, switches)
    named = {mistake.name for mistake in verdict.named}
    assert verdict.status == ("wrong" if mistakes else "right")
    if len(mistakes) > 2 or (name, frozenset(mistakes)) in UNNAMED:
        assert named <= mistakes and (named or verdict.seen)
    else:
        assert named == mistakes
