"""Lesson 13b, attention rollout: judged by following each token of the embedding alone, layer by layer."""

import torch

from course_lib import rollout
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import always, equivariant, sensitive


def each_token_alone(patterns):
    """Put one whole of a single token in, and let every layer take half of what stays and half of what is seen.

    Of rows that do not sum to one anything finite is right: some bring them to a sum of one, and some do not.
    """
    L, B, H, T, _ = patterns.shape
    if (patterns.sum(-1) - 1).abs().max() > 1e-3:
        return torch.full((B, T, T), torch.nan, dtype=patterns.dtype)
    columns = []
    for s in range(T):
        share = torch.zeros(B, T, dtype=patterns.dtype)
        share[:, s] = 1
        for layer in patterns:
            seen = sum(torch.einsum("bts,bs->bt", head, share) for head in layer.unbind(1)) / H
            share = (share + seen) / 2
        columns.append(share)
    return torch.stack(columns, -1)


def make_patterns(generator, L, B, H, T):
    """Rows of 64ths, which sum to one exactly: whoever brings them to a sum of one changes nothing."""
    cuts = torch.randint(65, (L, B, H, T, T - 1), generator=generator).sort(-1).values
    ends = torch.zeros(L, B, H, T, 1, dtype=torch.long)
    return (torch.cat([ends, cuts, ends + 64], -1).diff(dim=-1) / 64,)


def shares(*layers):
    """One picture and one head: {layer: its table}."""
    return (torch.tensor(layers)[:, None, None],)


def two_heads(generator):
    """Heads that look at different tokens: of two, a mean is a half each, a maximum is a whole."""
    swap, stay = torch.tensor([[0.0, 1], [1, 0]]), torch.eye(2)
    return [Call((torch.stack([swap, stay])[None, None],), "a head that swaps two tokens, and one that stays")]


def rows_sum_to_one(out, patterns):
    return (out.sum(-1) - 1).abs().max() < 1e-4


def nobody_looks_around(output, generator):
    stays = torch.eye(4).expand(3, 2, 2, 4, 4)
    return torch.allclose(output(stays), torch.eye(4).expand(2, 4, 4), atol=1e-5)


def new_order(patterns):
    """The same heads, the last one first."""
    return (patterns.flip(2),)


EXERCISES = (Exercise(
    lesson="13b",
    asked="for each layer half the mean of its heads and half the identity, (B, T, T); the product of these tables, "
    "that of the last layer leftmost: (B, T, T), and with rows of patterns that sum to one, rows that do.",
    verified=rollout.rollout,
    oracle=each_token_alone,
    examples=(shares([[0.5, 0.5], [0.0, 1.0]]),
              shares([[1.0, 0, 0], [0, 0.8, 0.2], [0, 0, 1]], [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]])),
    sizes=((4, 5, 2, 3), (2, 3, 4, 5), (3, 2, 1, 4), (1, 4, 3, 2), (4, 1, 2, 3), (3, 3, 3, 3), (2, 2, 2, 2),
           (5, 2, 3, 1), (1, 1, 1, 1)),
    square_size=(2, 3, 4, 5),
    make=make_patterns,
    calls=two_heads,
    gradients=False,  # of those who bring each row to a sum of one once more
    properties=(
        ("A row does not sum to one.", always(make_patterns, (3, 2, 2, 4), rows_sum_to_one)),
        ("Where every token looks at itself alone, something is not all of itself.", nobody_looks_around),
        ("The heads in another order give another result.",
         equivariant(make_patterns, (2, 2, 3, 4), new_order, lambda out: out)),
        ("The layers in another order give the same result.",
         sensitive(make_patterns, (3, 2, 2, 4), lambda patterns: (patterns.flip(0),))),
        ("A picture of the batch changes the result of another.",
         equivariant(make_patterns, (2, 3, 2, 4), lambda patterns: (patterns[:, :1],), lambda out: out[:1])),
    ),
),)
