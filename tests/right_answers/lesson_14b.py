"""Right tests of a layer, in other people's styles."""

from itertools import combinations, permutations

import torch


def by_all_swaps(layer):
    """Every pair of rows changes places: swaps make all orders."""
    x = torch.linspace(-1, 1, 24).sin().view(6, 4)
    out = layer(x)
    for i, j in combinations(range(6), 2):
        order = list(range(6))
        order[i], order[j] = order[j], order[i]
        if not torch.allclose(layer(x[order]), out[order], atol=1e-4):
            return False
    return True


def by_random_orders(layer):
    """Fifty orders by chance, of rows enough."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(7, 5, generator=generator)
    for _ in range(50):
        order = torch.randperm(7, generator=generator)
        if (layer(x[order]) - layer(x)[order]).abs().max() > 1e-4:
            return False
    return True


def by_matrices(layer):
    """f(P x) = P f(x), as it is written."""
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    for order in ([1, 2, 3, 0], [1, 0, 2, 3], [0, 2, 1, 3], [3, 1, 2, 0], [2, 0, 3, 1]):
        P = torch.eye(4)[order]
        if not torch.allclose(layer(P @ x), P @ layer(x), atol=1e-4):
            return False
    return True


def by_neighbours(layer):
    """Neighbours change places, two tellings of it; that is enough to make every order."""
    x = torch.randn(6, 2, generator=torch.Generator().manual_seed(8))
    orders = []
    for i in range(5):
        order = torch.arange(6)
        order[[i, i + 1]] = order[[i + 1, i]]
        orders.append(order)
    return bool(all(torch.allclose(layer(x[o])[o.argsort()], layer(x), atol=1e-4, rtol=1e-4) for o in orders))


def by_every_order(layer):
    """All 120 orders of five rows."""
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    return all(torch.allclose(layer(x[list(order)]), layer(x)[list(order)], atol=1e-5)
               for order in permutations(range(5)))


def by_rows_near_and_far(layer):
    """Also scores beyond 88, whose exponentials are infinite in float32."""
    generator = torch.Generator().manual_seed(1)
    for scale in (1, 30):
        x = scale * torch.randn(5, 3, generator=generator)
        for _ in range(30):
            order = torch.randperm(5, generator=generator)
            if not torch.allclose(layer(x[order]), layer(x)[order], rtol=1e-4, atol=1e-4):
                return False
    return True


RIGHT_ANSWERS = {"is_equivariant": {f.__name__: f for f in (by_all_swaps, by_random_orders, by_matrices, by_neighbours,
                                                           by_every_order, by_rows_near_and_far)}}
