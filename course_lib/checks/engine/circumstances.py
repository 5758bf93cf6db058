"""What the questions of several lessons are made of: masks, texts, and dropout that can be told without chance."""

import torch

from course_lib.checks.engine.asking import Call

TINY = 1e-6  # of a few numbers none is ever dropped, and the rest grows by a factor that shows in float64


def random_mask(generator, *shape):
    """Some of each: in every row at least one key is allowed, and one is hidden where there are two."""
    order = torch.rand(shape, generator=generator).argsort(-1)
    allowed = torch.randint(1, max(2, shape[-1]), (*shape[:-1], 1), generator=generator)
    return order < allowed


def padded_ids(generator, B, T, vocab, pad_id=0):
    """Random token numbers; sentence b is real up to a length of its own and padding after that."""
    ids = torch.randint(1, vocab, (B, T), generator=generator)
    ids = torch.where(ids == pad_id, torch.zeros(()).long(), ids) if pad_id else ids
    lengths = torch.randint(1, T + 1, (B, 1), generator=generator)
    lengths[0] = max(1, T - 1)
    return ids.masked_fill(torch.arange(T) >= lengths, pad_id)


def dropout_factor(dropout=0.0):
    """What dropout makes of a 1. In train mode, 0.0, 1.0 and TINY are all that is asked for."""
    return {1.0: 0.0, TINY: 1 / (1 - TINY)}.get(dropout, 1.0)


def tiny_dropout(*args, build, weights):
    """In train mode, at a dropout so small that all stays and grows: how often dropout was used shows in the result.

    The hidden units of feed-forward networks are active: what is dropped behind one that is 0 does not show.
    """
    weights = {n: torch.full_like(w, 3.0) if n.endswith("linear1.bias") else w for n, w in weights.items()}
    return Call(args, "dropout 0.000001 in train mode: nothing happens to be dropped, all is divided by 0.999999",
                build=(*build, TINY), weights=weights, train=True).in_float64()
