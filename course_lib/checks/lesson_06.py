"""Lesson 06, version 6: `MultiHeadAttention`, judged by torch's own multi-head attention with our weights in it."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import random_mask
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import batch_is_its_rows, equivariant, invariant

NOWHERE = float("-inf")


def torch_attention(w, build, query, key, value, mask=None):
    """torch's multi-head attention. A query that may attend to nothing gets NaN: any finite number is right there."""
    if mask is not None:
        mask = mask if mask.dim() == 3 else mask[None]
        mask = mask.expand(len(query), query.shape[1], key.shape[1]).repeat_interleave(build[1], 0)
        mask = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, NOWHERE)  # (B * H, Tq, Tk), added
    out, _ = F.multi_head_attention_forward(
        query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), *build,
        torch.cat([w["W_q.weight"], w["W_k.weight"], w["W_v.weight"]]),
        torch.cat([w["W_q.bias"], w["W_k.bias"], w["W_v.bias"]]), None, None, False, 0.0,
        w["W_o.weight"], w["W_o.bias"], training=False, attn_mask=mask)
    return out.transpose(0, 1)


def make(generator, B, Tq, Tk, H, d_head, mask=""):
    d = H * d_head
    args = tuple(torch.randn(B, T, d, generator=generator) for T in (Tq, Tk, Tk))
    shapes = {"Tq Tk": (Tq, Tk), "B Tq Tk": (B, Tq, Tk), "B 1 Tk": (B, 1, Tk)}
    return (*args, random_mask(generator, *shapes[mask])) if mask else args


def build(B, Tq, Tk, H, d_head, mask=""):
    return H * d_head, H


def by_hand(query, key, value, mask=None):
    """Two heads, one sentence, and weights that can be done in the head: nothing but the steps is to be seen."""
    d = len(query[0])
    one = torch.eye(d)
    weights = {"W_q.weight": 2 * one, "W_k.weight": -one, "W_v.weight": 10 * one, "W_o.weight": one.roll(d // 2, 0)}
    weights |= {f"W_{x}.bias": torch.zeros(d) for x in "qkvo"}
    args = tuple(torch.tensor([x]) for x in (query, key, value)) + (() if mask is None else (torch.tensor(mask),))
    return Call(args, "numbers to follow by hand: W_q = 2·I, W_k = −I, W_v = 10·I, W_o swaps the halves, biases 0",
                build=(d, 2), weights=weights)


ASK = [[1.0, 0.0, 0.0, 1.0], [0.0, -1.0, 1.0, 0.0]]
ANSWER = [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0], [-1.0, 1.0, 1.0, 0.0]]
TELL = [[1.0, 0.0, 0.0, 2.0], [2.0, 2.0, 1.0, 0.0], [0.0, 5.0, 0.0, -1.0]]
EXAMPLES = (
    by_hand(ASK, ANSWER, TELL),
    by_hand(ASK, ANSWER, TELL, mask=[[True, True, False], [False, True, True]]),
)


def more_calls(generator):
    """Masks with an empty row, huge_scores under a mask, and a number of heads that does not fit."""
    size = (2, 3, 4, 2, 3)
    args = make(generator, *size)
    weights = random_weights(attention.MultiHeadAttention(6, 2), generator)
    empty = random_mask(generator, 3, 4)
    empty[1] = False
    whole = random_mask(generator, 2, 1, 4)
    whole[1] = False
    model = dict(build=(6, 2), weights=weights)
    large = ([[300.0, 200.0], [0.5, -0.25]], [[-30.0, 20.0], [30.0, -10.0], [-20.0, -20.0]],
             [[1.0, 5.0], [2.0, 7.0], [4.0, 9.0]])  # one query with scores of 18,000, one with scores of 30
    huge_scores = [by_hand(*large), by_hand(*large, mask=[[False, True, False], [True, False, True]])]
    huge_scores = [Call(c.args, "large values", build=c.build, weights=c.weights) for c in huge_scores]
    return [
        *huge_scores,
        Call((*args, empty), "a query that may attend to no key", gradients=True, **model),
        Call((*args, whole), "a sentence that may not be attended to at all", gradients=True, **model),
        Call((*args, torch.ones(3, 4, dtype=torch.bool)), "a mask that allows everything", **model),
        Call((*args, empty | True), "called twice", twice=True, **model),
        Call((*args, random_mask(generator, 2, 3, 4)), "called before with another mask of this shape",
             earlier=((*args, random_mask(generator, 2, 3, 4)),), **model),
        Call(args, "6 features and 4 heads", must_raise=("ValueError", "AssertionError"), build=(6, 4)),
    ]


FIRST = (2, 3, 5, 4, 6)  # B, Tq, Tk, H, d_head


def tokens(generator, T):
    return torch.randn(1, T, FIRST[3] * FIRST[4], generator=generator)


def equal_values_come_through(output, generator):
    q, k = (tokens(generator, T) for T in (2, 4))
    v = tokens(generator, 1)
    return torch.allclose(output(q, k, v.expand_as(k).contiguous()), output(q[:, :1], v, v), atol=1e-3)


EXERCISES = (
    Exercise(
        lesson="06",
        asked="$W_q$, $W_k$, $W_v$; split into `num_heads` heads, each `d_head` wide; scaled dot-product attention in "
        "each (a masked key gets no weight); the heads side by side; $W_o$: shape `(B, Tq, d_model)`.",
        verified=attention.MultiHeadAttention,
        oracle=torch_attention,
        examples=EXAMPLES,
        sizes=(
            FIRST, (3, 5, 2, 2, 3), (2, 3, 5, 4, 3, "Tq Tk"), (3, 4, 5, 2, 3, "B Tq Tk"), (3, 2, 4, 2, 5, "B 1 Tk"),
            (2, 4, 3, 1, 5, "B Tq Tk"), (3, 2, 4, 5, 1, "Tq Tk"), (3, 3, 3, 3, 3), (3, 3, 3, 3, 3, "Tq Tk"),
            (2, 2, 2, 2, 2, "B Tq Tk"), (4, 4, 4, 2, 2, "B 1 Tk"), (2, 1, 1, 2, 2), (1, 1, 1, 1, 1),
            (1, 3, 4, 2, 3, "B Tq Tk"), (1, 3, 4, 2, 2, "B 1 Tk"), (2, 3, 1, 2, 3, "Tq Tk"),
        ),
        square_size=(2, 3, 5, 3, 4, "B Tq Tk"),
        make=make,
        build=build,
        calls=more_calls,
        heads=1,
        properties=(
            ("Several keys with one and the same value give another result than a single key with that value.",
             equal_values_come_through),
            ("The order of the keys and values changes the result.",
             invariant(make, (1, 2, 4, 4, 6), lambda q, k, v: (q, k.flip(1), v.flip(1)), atol=1e-3)),
            ("The result for a query depends on the other queries.",
             equivariant(make, (1, 3, 4, 4, 6), lambda q, k, v: (q[:, 1:2], k, v), lambda out: out[:, 1:2], 1e-3)),
            ("A sentence of the batch changes the result of another.", batch_is_its_rows(make, (2, 3, 4, 4, 6))),
            ("A key that is hidden by the mask changes the result.",
             invariant(make, (1, 2, 4, 4, 6, "B 1 Tk"),
                       lambda q, k, v, mask: (q, k + ~mask.mT, v - 9 * ~mask.mT, mask), atol=1e-3), "mask"),
        ),
    ),
)
