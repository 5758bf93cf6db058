"""Which calls an answer gets right, and what sets them apart from those that it gets wrong."""

import inspect
from itertools import combinations

import torch

from course_lib.checks.engine.exercise import argument_names

MOST = 3  # calls that are listed


def where_it_is_right(exercise, failures, calls):
    """A sentence: all ordinary calls, those without an optional argument, those with something in common, or none."""
    wrong = {id(f.call) for f in failures}
    plain = [c for c in calls if not c.special]
    telling = [c for c in plain if not _is_degenerate(c)]
    plain = telling if any(id(c) in wrong for c in telling) else plain
    rights, wrongs = ([c for c in plain if (id(c) in wrong) is fails] for fails in (False, True))
    if not wrongs:
        where = ", ".join(dict.fromkeys(f.call.special for f in failures))
        return f"All {len(rights)} ordinary calls are right; what is not: {where}."
    if not rights:
        return f"Not one of {len(wrongs)} results is right, whatever the sizes."
    names = argument_names(exercise)
    of_rights, of_wrongs = ([max(i for i, a in enumerate((0, *c.args)) if a is not None) for c in some]
                            for some in (rights, wrongs))
    if max(of_rights) < min(of_wrongs):
        return f"Without `{names[max(of_rights)]}` it is right; with it, it is not."
    apart = _set_apart(*([_traits(c, names, exercise.verified) for c in some] for some in (rights, wrongs)))
    return apart or f"Right for {_listed(rights, names)}. Wrong for {_listed(wrongs, names)}."


def _is_degenerate(call):
    """Is there one of everything, or only one number? Such a call is often right by chance."""
    tensors = [a for a in call.args if isinstance(a, torch.Tensor) and a.dim()]
    return bool(tensors) and all(max(t.shape) <= 1 for t in tensors)


def _traits(call, names, verified):
    """What may matter of a call: numbers and sizes by name, and what is True or False by the words for either."""
    built = zip(inspect.signature(verified).parameters, call.build or (), strict=False)
    traits = {}
    for name, value in [*built, *zip(names, call.args, strict=False)]:
        if isinstance(value, bool):
            traits[f"`{name}` is False", f"`{name}` is True"] = value
        elif isinstance(value, int | float):
            traits[f"`{name}`"] = value
        elif isinstance(value, torch.Tensor):
            sizes = {f"`{name}.shape[{i}]`": size for i, size in enumerate(value.shape)}
            traits |= sizes
            traits |= {(f"{a} and {b} differ", f"{a} and {b} are equal"): sizes[a] == sizes[b]
                       for a, b in combinations(sizes, 2)}
            if value.is_floating_point():
                traits[f"no number of `{name}` is negative", f"`{name}` has negative numbers"] = bool((value < 0).any())
    return traits


def _set_apart(rights, wrongs):
    """What all right calls have and no wrong one, where that is one thing alone, or one is alone in being 1."""
    found = {}
    for trait in (t for t in rights[0] if all(t in traits for traits in rights + wrongs)):
        right, wrong = (tuple(traits[trait] for traits in some) for some in (rights, wrongs))
        if max(right) < min(wrong) or max(wrong) < min(right):
            found.setdefault((right, wrong), trait)  # sizes that go together are told once
    ones = {numbers: trait for numbers, trait in found.items() if set(numbers[0]) == {1} and isinstance(trait, str)}
    if len(found) > 1:
        found = ones
    if len(found) != 1 or not ones and min(len(rights), len(wrongs)) == 1:  # of a single call, anything may be so
        return ""
    (((right, wrong), trait),) = found.items()
    if isinstance(trait, tuple):
        return f"Right where {trait[right[0]]}, and nowhere else."
    ways = (max, min) if max(right) < min(wrong) else (min, max)
    return f"Right where {trait} is {_bound(right, ways[0])}; wrong where it is {_bound(wrong, ways[1])}."


def _bound(numbers, end):
    """One number, or the end of a range: "3 or less", where that is the largest one."""
    way = {max: " or less", min: " or more"}[end]
    return f"{end(numbers):.4g}" + way * (len(set(numbers)) > 1)


def _listed(calls, names):
    """Calls by the shapes of their tensors and their whole numbers: "x (2, 3), k = 3"."""
    texts = list(dict.fromkeys(_sizes(c, names) for c in calls))
    return "; ".join(texts[:MOST]) + f" and {len(texts) - MOST} more" * (len(texts) > MOST)


def _sizes(call, names):
    shown = [f"{name} {tuple(a.shape)}" if isinstance(a, torch.Tensor) else f"{name} = {a}"
             for name, a in zip(names, call.args, strict=False) if isinstance(a, torch.Tensor | int)]
    return ", ".join(shown) or str(call.build)
