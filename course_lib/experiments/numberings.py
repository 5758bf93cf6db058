"""Lesson 09: what a good numbering of positions should do, as four tests that say what is wrong."""

import torch


def unique(encode):
    """Say which two of 50 positions are nearer than 0.01, or nothing."""
    table = encode(50)
    gaps = (table[:, None] - table).norm(dim=-1)  # (n, n)
    near = (gaps < 0.01 - 1e-6).triu(1).nonzero().tolist()  # less what rounding may take
    return f"positions {near[0]} are {gaps[*near[0]]:.4f} apart" if near else ""


def consistent(encode):
    """Say of k steps that are not equally long everywhere, or nothing."""
    tables = [encode(20), encode(50)]
    try:
        tables.append(encode(1000))
    except IndexError:
        pass  # another test says so
    for k in (1, 3, 8):
        gaps = torch.cat([(table[k:] - table[:-k]).norm(dim=1) for table in tables])
        if gaps.max() - gaps.min() > 1e-3:
            return f"steps of {k} are {gaps.min():.2f} to {gaps.max():.2f} long"
    return ""


def longer_and_bounded(encode):
    """Say where there are no rows for 1,000 positions, or numbers outside −1 … 1."""
    try:
        largest = encode(1000).abs().max()
    except IndexError:
        return "it has no rows for 1,000 positions"
    return f"the largest of 1,000 is {largest:.4g}" if largest > 1 else ""


def deterministic(encode):
    """Say whether two answers differ."""
    return "" if torch.equal(encode(20), encode(20)) else "asked twice, it differs"


def report(**proposals):
    """Put every proposal to every test, print what they find wrong, and return it.

    proposals: name=encode; encode(n) -> a table with one row for each of n positions
    returns:   {name: what each of the four tests found wrong}
    """
    tests = (unique, consistent, longer_and_bounded, deterministic)
    says = {}
    for name, encode in proposals.items():
        if encode(20).shape[:-1] != (20,):
            print(f"{name}: give a table with one row for each position")
            continue
        says[name] = [test(encode) for test in tests]
        found = [f"not {test.__name__}: {wrong}" for test, wrong in zip(tests, says[name], strict=True) if wrong]
        print(f"{name}: {'; '.join(found) or 'passes all four'}")
    return says
