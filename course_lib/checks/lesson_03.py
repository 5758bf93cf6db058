"""Lesson 03, version 0 alone and in a decoder: energies by a loop, then torch's own attention."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import a_constant_stays, always, invariant, sensitive, stays_in_range


def by_loop(query, inputs, W_q, W_x, v):
    """One input after the other through torch's linear layers, then torch's attention: v asks the hidden layers."""
    hidden = torch.stack([torch.tanh(F.linear(query, W_q.T) + F.linear(row, W_x.T)) for row in inputs])  # (N, D_a)
    return F.scaled_dot_product_attention(v[None, None], hidden[None], inputs[None], scale=1.0)[0, 0]


def make(generator, N, D_q, D_x, D_a):
    shapes = (D_q,), (N, D_x), (D_q, D_a), (D_x, D_a), (D_a,)
    query, inputs, W_q, W_x, v = (torch.randn(shape, generator=generator) for shape in shapes)
    return query, inputs, W_q / D_q**0.5, W_x / D_x**0.5, 2 * v


# ---- the same in a batch, with padding, and with the weights returned ----


def by_torch(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    """One sentence after the other, its padding cut out; torch's attention mixes states and one-hot vectors."""
    contexts, weights = [], []
    for b, states in enumerate(encoder_states):
        real = torch.arange(len(states)) if src_mask is None else src_mask[b].nonzero()[:, 0]
        hidden = torch.tanh(F.linear(decoder_state[b], W_d.T) + F.linear(states[real], W_e.T))
        places = torch.eye(len(states), dtype=v.dtype)[real]
        values = torch.cat([states[real], places], -1)[None]
        out = F.scaled_dot_product_attention(v[None, None], hidden[None], values, scale=1.0)[0, 0]
        contexts.append(out[: states.shape[-1]])
        weights.append(out[states.shape[-1] :])
    return torch.stack(contexts), torch.stack(weights)


def make_batch(generator, B, T, H_d, H_e, A):
    """Sentences of all lengths from 1 to T: padding stands at their ends."""
    shapes = (B, H_d), (B, T, H_e), (H_d, A), (H_e, A), (A,)
    s, h, W_d, W_e, v = (torch.randn(shape, generator=generator) for shape in shapes)
    lengths = T - torch.arange(B) % T
    return s, h, W_d / H_d**0.5, W_e / H_e**0.5, 2 * v, torch.arange(T) < lengths[:, None]


def a_batch_is_its_sentences(output, generator):
    s, h, W_d, W_e, v, mask = make_batch(generator, 3, 5, 2, 4, 6)
    alone = output(s[1:2], h[1:2], W_d, W_e, v, mask[1:2])
    return all(torch.allclose(all_[1:2], one, atol=1e-4)
               for all_, one in zip(output(s, h, W_d, W_e, v, mask), alone, strict=True))


def other_masks(generator):
    """No mask at all, None in its place, and real tokens that stand at the end or apart from each other."""
    *args, _ = make_batch(generator, 3, 4, 2, 5, 6)
    apart = torch.tensor([[False, False, True, True], [True, False, False, True], [False, True, True, False]])
    return [Call(tuple(args)), Call((*args, None)), Call((*args, apart))]


SATURATING = (torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]),  # every tanh becomes exactly 1 or -1
              torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, -2.0]]))
STAR = torch.tensor([[2.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
EXERCISES = (
    Exercise(
        lesson="03",
        asked="an energy $v · tanh(query W_q + input W_x)$ for every input, softmax over the N energies, and with "
        "these weights the weighted sum of the inputs as they came in: one vector `(D_x,)`.",
        verified=attention.additive_attention,
        oracle=by_loop,
        examples=(
            (torch.tensor([1.0, 2.0]), STAR, torch.tensor([[1.0, 0.0], [-1.0, 0.5]]),
             torch.tensor([[1.0, -1.0], [0.0, 1.0]]), torch.tensor([2.0, -1.0])),
            (torch.tensor([1.0]), torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]), torch.tensor([[1.0, -1.0]]),
             torch.tensor([[1.0, 0.0], [-1.0, 0.5], [0.0, 1.0]]), torch.tensor([1.0, 2.0])),
        ),
        sizes=((5, 2, 3, 4), (3, 6, 5, 2), (4, 4, 4, 4), (1, 3, 2, 4), (3, 2, 1, 4), (3, 2, 4, 1), (1, 1, 1, 1)),
        square_size=(5, 4, 4, 4),
        make=make,
        extremes=tuple((torch.tensor([0.0, 20.0]), torch.tensor([[40.0, 0.0], [0.0, 30.0], [-40.0, 2.0]]), *SATURATING,
                        torch.tensor([0.5, high, 0.5])) for high in (600.0, -600.0)),
        properties=(
            ("A feature that is 1 in every input does not stay 1.",
             a_constant_stays(make, (5, 2, 3, 4), inputs=1)),
            ("The order of the inputs changes the result.",
             invariant(make, (5, 2, 3, 4), lambda query, inputs, *weights: (query, inputs.flip(0), *weights))),
            ("The result lies outside the range of the inputs.", stays_in_range(make, (5, 2, 3, 4), inputs=1)),
            ("The result does not depend on the query.",
             sensitive(make, (5, 2, 3, 4), lambda query, *others: (1 - 2 * query, *others))),
        ),
    ),
    Exercise(
        lesson="03",
        asked="for every sentence the energies $v · tanh(s W_d + h W_e)$ of its decoder state $s$ and every encoder "
        "state $h$, softmax over its real tokens, and the weighted sum of its encoder states: context `(B, H_e)` and "
        "weights (B, T), in this order.",
        verified=attention.bahdanau_context,
        oracle=by_torch,
        examples=(
            (torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.stack([STAR, STAR.flip(0) + 1]),
             torch.tensor([[1.0, 0.0], [-1.0, 0.5]]), torch.tensor([[1.0, -1.0], [0.0, 1.0]]),
             torch.tensor([2.0, -1.0])),
            (torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.stack([STAR, STAR.flip(0) + 1]),
             torch.tensor([[1.0, 0.0], [-1.0, 0.5]]), torch.tensor([[1.0, -1.0], [0.0, 1.0]]),
             torch.tensor([2.0, -1.0]), torch.tensor([[True, True, True], [True, True, False]])),
        ),
        sizes=((2, 5, 3, 4, 6), (3, 4, 6, 5, 2), (4, 4, 4, 4, 4), (1, 4, 2, 3, 5), (3, 1, 2, 4, 5), (2, 3, 4, 1, 5),
               (1, 1, 1, 1, 1)),
        square_size=(2, 5, 4, 4, 4),
        make=make_batch,
        extremes=(
            (torch.tensor([[0.0, 20.0], [0.0, -20.0]]),
             torch.tensor([[[40.0, 0.0], [0.0, 30.0], [-40.0, 2.0]], [[40.0, 0.0], [0.0, -30.0], [-40.0, -2.0]]]),
             *SATURATING, torch.tensor([0.5, 600.0, 0.5])),  # a sentence of energies near 600 and one near -600
            (torch.tensor([[0.0, 20.0], [0.0, -20.0]]),
             torch.tensor([[[40.0, -60.0], [90.0, -60.0], [0.0, 30.0]], [[40.0, 0.0], [90.0, -60.0], [-40.0, -2.0]]]),
             *SATURATING, torch.tensor([500.0, 120000.0, 500.0]),  # real tokens near -120,000, padding at 120,000
             torch.tensor([[True, True, False], [True, True, True]])),
        ),
        calls=other_masks,
        properties=(
            ("The weights of a sentence do not sum to one.",
             always(make_batch, (3, 5, 2, 4, 6), lambda out, *args: (out[1].sum(1) - 1).abs().max() < 1e-4)),
            ("Padding gets a weight.",
             always(make_batch, (3, 5, 2, 4, 6), lambda out, *args: out[1][~args[-1]].abs().max() < 1e-6), "src_mask"),
            ("The context is not the sum of the encoder states, each times its weight.",
             always(make_batch, (3, 5, 2, 4, 6),
                    lambda out, s, h, *others: torch.allclose(out[0], (out[1][..., None] * h).sum(1), atol=1e-4))),
            ("A sentence alone and the same sentence in a batch give different results.", a_batch_is_its_sentences),
        ),
    ),
)
