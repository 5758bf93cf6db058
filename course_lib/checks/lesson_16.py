"""Lesson 16, what attention costs: judged by one whole causal pass, and by a softmax that holds all scores."""

import torch
import torch.nn.functional as F

from course_lib import cache, online_softmax
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import invariant

# --- attend_with_cache ------------------------------------------------------------------------------------------


def last_row_of_a_whole_pass(q, k, v, cache=None):
    """All keys and values that there are, and torch's own attention of the one query."""
    keys, values = (k, v) if cache is None else (torch.cat(both, 2) for both in zip(cache, (k, v), strict=True))
    return F.scaled_dot_product_attention(q, keys, values), (keys, values)


def make_step(generator, B, H, d, t=0):
    """A step after t others."""
    q, k, v = (torch.randn(B, H, 1, d, generator=generator) for _ in range(3))
    kept = tuple(torch.randn(B, H, t, d, generator=generator) for _ in range(2))
    return (q, k, v, kept) if t else (q, k, v)


def steps_are_one_pass(output, generator):
    """Six steps, each with the cache of the one before, give what one causal pass over six tokens gives."""
    q, k, v = (torch.randn(2, 3, 6, 4, generator=generator) for _ in range(3))
    kept, outs = None, []
    for t in range(6):
        out, *kept = output(*(x[:, :, t : t + 1] for x in (q, k, v)), *([tuple(kept)] if kept else []))
        outs.append(out)
    return torch.allclose(torch.cat(outs, 2), F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-4)


def the_cache_grows_by_one(output, generator):
    _, keys, values = output(*make_step(generator, 2, 3, 4, 5))
    return keys.shape == values.shape == (2, 3, 6, 4)


ONE = torch.tensor([[[[1.0, 0.0]]]])
STEP = (ONE, torch.tensor([[[[0.0, 2.0]]]]), torch.tensor([[[[10.0, 20.0]]]]))
KEPT = (torch.tensor([[[[2.0, 0.0], [0.0, 1.0]]]]), torch.tensor([[[[1.0, 2.0], [3.0, 5.0]]]]))
ATTEND_WITH_CACHE = Exercise(
    lesson="16",
    asked="(out, (keys, values)): the new key and value stand behind those of the cache, oldest first; out "
    "(B, H, 1, d) is $softmax(q keys^T / √d) values$ over all of them.",
    verified=cache.attend_with_cache,
    oracle=last_row_of_a_whole_pass,
    examples=(STEP, (*STEP, KEPT)),
    sizes=((2, 3, 4, 5), (4, 1, 3, 2), (2, 5, 7, 1), (3, 2, 5), (3, 3, 3, 3), (1, 1, 2), (1, 1, 1, 4)),
    square_size=(2, 3, 4, 5),
    make=make_step,
    extremes=(tuple(x * 100 for x in STEP),),
    calls=lambda generator: [Call((*STEP[:2], 3 * STEP[2], KEPT), "another value at the newest token"),
                             Call((100 * ONE, 10 * ONE, ONE, KEPT), "large values")],
    properties=(
        ("Six steps do not give what one causal pass over six tokens gives.", steps_are_one_pass),
        ("After a step the cache has not grown by one token.", the_cache_grows_by_one),
    ),
)


# --- online_softmax_attention -----------------------------------------------------------------------------------


def all_scores_at_once(query, key, value, block):
    """torch's own attention, which the size of a block does not concern."""
    return F.scaled_dot_product_attention(query[None], key[None], value[None])[0]


def make_blocks(generator, Tq, Tk, d, dv, block):
    return (torch.randn(Tq, d, generator=generator), torch.randn(Tk, d, generator=generator),
            torch.randn(Tk, dv, generator=generator), block)


def long_ones(generator):
    """Sixty queries and ninety keys: 5,400 scores, of which fewer may be held; and scores that run over."""
    args = make_blocks(generator, 60, 90, 3, 5, 7)
    large = make_blocks(generator, 4, 9, 3, 2, 2)
    rising = (torch.tensor([[1.0]]), torch.tensor([[-300.0], [-100.0], [80.0], [100.0]]), torch.eye(4), 1)
    return [Call(args, "sixty queries and ninety keys, seven at a time: fewer than 60 · 90 numbers may be held",
                 at_most=60 * 90),
            Call(make_blocks(generator, 40, 80, 2, 3, 79), "a last block of one key"),
            Call((300 * large[0], *large[1:]), "large values"),
            Call(rising, "scores that rise from block to block"),
            Call((-rising[0], *rising[1:]), "scores that fall from block to block"),
            Call((rising[0], rising[1] - 1e5, *rising[2:]), "scores that are all far below 0"),
            Call(make_blocks(generator, 3, 4, 2, 3, 9), "a block that is longer than the text")]


OVER = (torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0]]),
        torch.tensor([[10.0], [20.0], [60.0]]))
ONLINE_SOFTMAX_ATTENTION = Exercise(
    lesson="16",
    asked="$softmax(query key^T / √d) value$: (Tq, dv), from blocks of `block` keys, with a running maximum and a "
    "running sum for each query; never all $Tq · Tk$ scores at once.",
    verified=online_softmax.online_softmax_attention,
    oracle=all_scores_at_once,
    examples=((*OVER, 1), (*OVER, 2), (*OVER, 3)),
    sizes=((3, 7, 4, 5, 2), (5, 6, 3, 2, 4), (2, 9, 5, 3, 3), (4, 4, 4, 4, 2), (6, 3, 2, 5, 1), (1, 5, 3, 2, 2),
           (3, 1, 2, 4, 1), (1, 1, 1, 1, 1)),
    square_size=(3, 7, 4, 5, 2),
    make=make_blocks,
    calls=long_ones,
    grows=(0, 1, 2, 3),
    properties=(
        ("The size of a block changes the result.",
         invariant(make_blocks, (4, 9, 3, 2, 2), lambda q, k, v, block: (q, k, v, 5))),
        ("The blocks in another order give another result.",
         invariant(make_blocks, (4, 6, 3, 2, 2), lambda q, k, v, block: (q, k.flip(0), v.flip(0), block))),
    ),
)
EXERCISES = (ATTEND_WITH_CACHE, ONLINE_SOFTMAX_ATTENTION)
