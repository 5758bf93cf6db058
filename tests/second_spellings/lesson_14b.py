"""Mistakes of lesson 14b, each as somebody else would make it who never saw the course's own spelling."""

import itertools

import torch


def rows(n=4):
    return torch.randn(n, 2, generator=torch.Generator().manual_seed(7))


def near(one, other):
    return (one - other).abs().max().item() < 1e-4


def everybody_guilty(layer):
    x = rows()
    return all(near(layer(x[list(p)]), layer(x) + 1) for p in itertools.permutations(range(4)))


def nobody_guilty(layer):
    return layer(rows()).shape == rows().shape


def asks_for_invariance(layer):
    x = rows()
    return all(near(layer(x[list(p)]), layer(x)) for p in itertools.permutations(range(4)))


def turns_the_ring(layer):
    x = rows(5)
    return all(near(layer(torch.cat([x[n:], x[:n]])), torch.cat([layer(x)[n:], layer(x)[:n]])) for n in range(5))


def reads_backwards(layer, n=5):
    x, backwards = rows(n), torch.arange(n - 1, -1, -1)
    return near(layer(x[backwards]), layer(x)[backwards])


def reads_six_backwards(layer):
    return reads_backwards(layer, 6)


def features_permuted(layer):
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(7))
    return all(near(layer(x[:, list(p)]), layer(x)[:, list(p)]) for p in itertools.permutations(range(3)))


def compares_totals(layer):
    x = rows()
    return all(near(layer(x[list(p)]).sum(0), layer(x).sum(0)) for p in itertools.permutations(range(4)))


def moves_the_other_way(layer):
    x = rows(5)
    for p in itertools.permutations(range(5)):
        if not near(layer(x[list(p)])[list(p)], layer(x)):
            return False
    return True


def complains(layer):
    x = rows(5)
    for p in itertools.permutations(range(5)):
        torch.testing.assert_close(layer(x[list(p)]), layer(x)[list(p)], atol=1e-4, rtol=1e-3)
    return True


def guilty_is_true(layer):
    x = rows(5)
    return any(not near(layer(x[list(p)]), layer(x)[list(p)]) for p in itertools.permutations(range(5)))


SPELLINGS = {
    "is_equivariant": {
        "accuses-everyone": everybody_guilty,
        "lets-everyone-through": nobody_guilty,
        "invariance-for-equivariance": asks_for_invariance,
        "only-rolls": turns_the_ring,
        "only-turned-round": reads_backwards,
        "columns-for-rows": features_permuted,
        "sums-compared": compares_totals,
        "the-result-is-not-moved-back-rightly": moves_the_other_way,
        "stops-instead": complains,
        "says-it-the-other-way-round": guilty_is_true,
    },
}

UNNAMED = {
    "is_equivariant": {
        "only-turned-round": (reads_six_backwards, "of six rows none stays where it is: it accuses others"),
    },
}
