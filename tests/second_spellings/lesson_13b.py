"""Mistakes of lesson 13b, each as somebody else would make it who never saw the course's own spelling."""

from functools import reduce

import torch


def tables(patterns):
    """Half the mean of the heads and half the identity, (L, B, T, T)."""
    T = patterns.size(-1)
    return (patterns.mean(2) + torch.eye(T).to(patterns)) / 2


def multiplied(steps):
    result = steps[0]
    for step in steps[1:]:
        result = torch.bmm(step, result)
    return result


def begins_at_the_top(patterns):
    return reduce(torch.matmul, tables(patterns))


def heads_alone(patterns):
    return multiplied(patterns.mean(2))


def identity_on_top(patterns):
    return multiplied(patterns.mean(2) + torch.eye(patterns.size(-1)).to(patterns))


def one_skip_at_the_end(patterns):
    return (multiplied(patterns.mean(2)) + torch.eye(patterns.size(-1)).to(patterns)) / 2


def heads_added(patterns):
    return multiplied((patterns.sum(2) + torch.eye(patterns.size(-1)).to(patterns)) / 2)


def strongest_head(patterns):
    return multiplied((patterns.max(2).values + torch.eye(patterns.size(-1)).to(patterns)) / 2)


def head_0(patterns):
    return tables(patterns[:, :, :1])[0] if len(patterns) == 1 else multiplied(tables(patterns[:, :, :1]))


def top_table(patterns):
    return tables(patterns)[-1]


def bottom_table(patterns):
    return tables(patterns)[0]


def mean_of_the_tables(patterns):
    return tables(patterns).mean(0)


def product_of_numbers(patterns):
    return tables(patterns).prod(0)


def columns_first(patterns):
    return torch.einsum("bij->bji", multiplied(tables(patterns)))


def every_table_turned(patterns):
    return multiplied(tables(patterns.mT))


def heads_one_by_one(patterns):
    ways = [multiplied(tables(patterns[:, :, h : h + 1])) for h in range(patterns.size(2))]
    return torch.stack(ways).mean(0)


def softened_again(patterns):
    return multiplied(tables(torch.softmax(patterns, -1)))


def nothing_of_itself(patterns):
    out = multiplied(tables(patterns)).clone()
    out.diagonal(dim1=-2, dim2=-1).zero_()
    return out


def first_row(patterns):
    return torch.stack([table[0] for table in multiplied(tables(patterns))])


SPELLINGS = {
    "rollout": {
        "first-layer-on-the-left": begins_at_the_top,
        "no-skip-connection": heads_alone,
        "added-without-halves": identity_on_top,
        "skip-only-once": one_skip_at_the_end,
        "heads-summed": heads_added,
        "largest-head-only": strongest_head,
        "first-head-only": head_0,
        "last-layer-only": top_table,
        "first-layer-only": bottom_table,
        "layers-averaged": mean_of_the_tables,
        "multiplied-number-by-number": product_of_numbers,
        "transposed": columns_first,
        "tables-transposed": every_table_turned,
        "each-head-followed-alone": heads_one_by_one,
        "softmax-once-more": softened_again,
        "skip-taken-away-at-the-end": nothing_of_itself,
        "class-token-only": first_row,
    },
}
