"""Lesson 14b, the test of a layer: judged by whom it lets through and whom it accuses."""

import torch
import torch.nn.functional as F

from course_lib import black_box_tests
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.suspects import WITH_LETTERS, Suspect, line_up


def attention(x):
    return torch.softmax(x @ x.T / x.shape[1] ** 0.5, dim=-1) @ x


def each_alone(x):
    """As a feed-forward network: every row by itself."""
    return torch.relu(2 * x - 0.3).sum(-1, keepdim=True) * x


def against_the_mean(x):
    return x - x.mean(0, keepdim=True)


def the_same_for_all(x):
    """Everybody gets the mean: equivariant, if of little use."""
    return x.mean(0, keepdim=True).expand_as(x)


def by_rank(x):
    """How many are smaller, in each channel: order among values, not among rows."""
    return (x[:, None] > x[None]).sum(1).to(x)


def one_by_one(x):
    """Attention in loops, rounding otherwise."""
    rows = []
    for query in x:
        scores = torch.stack([query @ key / x.shape[1] ** 0.5 for key in x])
        e = torch.exp(scores - scores.max())
        rows.append(sum(w * v for w, v in zip(e / e.sum(), x, strict=True)))
    return torch.stack(rows)


def nothing(x):
    return torch.zeros_like(x)


def ring(x):
    """A convolution on a ring: whoever only rolls the rows is fooled."""
    return x + 0.5 * x.roll(1, 0) + 0.25 * x.roll(-1, 0)


def both_neighbours_alike(x):
    """A symmetric kernel: whoever only turns the row round is fooled."""
    padded = F.pad(x, (0, 0, 1, 1))
    return 0.25 * padded[:-2] + 0.5 * x + 0.25 * padded[2:]


def looks_back(x):
    """Causal attention."""
    scores = x @ x.T / x.shape[1] ** 0.5
    return torch.softmax(scores.masked_fill(~torch.ones_like(scores).bool().tril(), float("-inf")), -1) @ x


def with_positions(x):
    return attention(x + torch.arange(len(x), dtype=x.dtype)[:, None] / len(x))


def running_sum(x):
    return x.cumsum(0)


def after_the_first(x):
    """The first row is special: whoever leaves it in its place is fooled."""
    return x + 2 * x[:1]


def before_the_last(x):
    """The last row is special: whoever leaves it in its place is fooled."""
    return x - x[-1:]


def around_the_middle(x):
    """The row in the middle is special: whoever exchanges two others is fooled."""
    return x * x[len(x) // 2]


def sorted_rows(x):
    """The same for every order: invariant, not equivariant."""
    return x[x[:, 0].argsort()]


def in_pairs(x):
    """Rows 0 and 1, 2 and 3, … share a mean: whoever swaps partners is fooled."""
    pair = torch.arange(len(x)) // 2
    return torch.stack([x[pair == p].mean(0) for p in pair])


def odd_ones_out(x):
    """Every second row changes its sign: whoever swaps rows two apart is fooled."""
    return x * (1 - 2 * (torch.arange(len(x)) % 2))[:, None].to(x)


def turned_round(x):
    """Everybody gets the number of the one opposite."""
    return x.flip(0)


LAYERS = line_up(looks_back, attention, ring, each_alone, after_the_first, against_the_mean, both_neighbours_alike,
                 the_same_for_all, with_positions, one_by_one, running_sum, before_the_last, by_rank, sorted_rows,
                 around_the_middle, in_pairs, odd_ones_out, turned_round, nothing)
RIGHT_LAYERS = {attention, each_alone, against_the_mean, the_same_for_all, by_rank, one_by_one, nothing}


def under_other_letters(generator):
    """A letter says nothing about what an implementation does."""
    exchanged = {"B": looks_back, "A": attention, "D": ring, "C": each_alone}
    return [Call((Suspect(letter, layer),), "under other letters") for letter, layer in exchanged.items()]


EXERCISES = (Exercise(
    lesson="14b",
    asked="True for every layer that is permutation equivariant, whatever it computes, and False for every other: five "
    "of them have letters, the check knows more.",
    verified=black_box_tests.is_equivariant,
    oracle=lambda layer: layer.function in RIGHT_LAYERS,
    examples=tuple((suspect,) for suspect in LAYERS[:WITH_LETTERS]),
    sizes=tuple((i,) for i in range(WITH_LETTERS, len(LAYERS))),
    make=lambda generator, i: (LAYERS[i],),
    calls=under_other_letters,
),)
