"""Lesson 07, masks: judged by torch's own attention with an additive mask, torch's own masks, and loops."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import attention, black_box_tests, masks
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import a_constant_stays, always, batch_is_its_rows, given, invariant
from course_lib.checks.engine.suspects import WITH_LETTERS, line_up

INF = float("inf")


# --- causal_mask ------------------------------------------------------------------------------------------------


def torch_causal_mask(T):
    """True where the mask of torch's own Transformer adds nothing to a score."""
    return nn.Transformer.generate_square_subsequent_mask(T) == 0


def asked_twice(generator):
    """Twice in a row, since a kept mask that was written over twice looks right again."""
    return [Call((6,), "two calls, of which the second must not change the first result", twice=True) for _ in range(2)]


# --- scaled_dot_product_attention -------------------------------------------------------------------------------


def torch_attention(query, key, value, mask=None):
    """torch's attention with an additive mask of 0 and -inf; NaN where a query may attend to no key."""
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value)
    added = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, -INF)
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=added)
    return out * torch.ones_like(out[..., :1]).masked_fill(~mask.any(-1, keepdim=True), float("nan"))


def mixed_mask(generator, *shape):
    """A random mask with True and False in every row and, where it is square, in every column."""
    *_, rows, columns = shape
    mask = torch.rand(shape, generator=generator) < 0.5
    for row in range(rows):
        mask[..., row, row % columns], mask[..., row, (row + 1) % columns] = True, False
    return mask


def make(generator, B, Tq, Tk, d, dv, mask_shape):
    """Random arguments; mask_shape is None, "open" for a mask that hides nothing, or a shape."""
    query, key, value = (torch.randn(s, generator=generator) for s in ((B, Tq, d), (B, Tk, d), (B, Tk, dv)))
    if mask_shape is None:
        return query, key, value, None
    if mask_shape == "open":
        return query, key, value, torch.ones(1, 1, Tk, dtype=torch.bool)
    return query, key, value, mixed_mask(generator, *mask_shape)


def other_masks(generator):
    """A mask of one row for all queries of all sentences, and queries that may attend to nothing."""
    *args, mask = make(generator, 2, 3, 5, 7, 4, (1, 5))
    return [Call((*args, mask[0]), "a mask of shape (Tk,)"), *empty_rows(generator)]


def empty_rows(generator):
    """A query that may attend to nothing: in a tiny case, in a batch, for a whole sentence, and in its gradients."""
    query, key, value, mask = make(generator, 2, 3, 5, 7, 4, (2, 3, 5))
    mask[1, 0] = False
    padding = mixed_mask(generator, 2, 1, 5)
    padding[0] = False
    tiny = (torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 0.0]]]), EXAMPLE[1], EXAMPLE[2],
            torch.tensor([[False, False, False], [True, True, False]]))
    return [Call(tiny, "a query that may attend to no key"),
            Call((query, key, value, mask), "such a query in a batch"),
            Call((query, key, value, padding), "a sentence without real keys"),
            Call((query, key, value, mask), "gradients where a query may attend to no key", gradients=True),
            Call((query, key, value, torch.zeros(3, 5, dtype=torch.bool)), "no query may attend to any key")]


def far_apart(query, key, mask):
    """Large scores, exact in float32, with a value for each key that is easy to tell from the others."""
    value = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [5.0, 3.0]]])
    return torch.tensor([query]), torch.tensor([key]), value, torch.tensor(mask)


EXAMPLE = (
    torch.tensor([[[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 2.0, 0.0]]]),
    torch.tensor([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0], [2.0, 0.0, 1.0, 0.0]]]),
    torch.tensor([[[1.0, 0.0], [0.0, 2.0], [5.0, 3.0]]]),
)


# --- padding_mask -----------------------------------------------------------------------------------------------


def torch_padding_mask(lengths, max_len=None):
    """Sentences of ones, filled up with zeros by torch's own pad_sequence."""
    sentences = [torch.ones(n) for n in lengths.tolist()]
    filled = nn.utils.rnn.pad_sequence(sentences, batch_first=True)
    return F.pad(filled, (0, 0 if max_len is None else max_len - filled.shape[1])) > 0


def rows_have_their_lengths(output, generator):
    return output(torch.tensor([3, 1, 4]), 6).sum(-1).tolist() == [3, 1, 4]


def real_tokens_come_first(output, generator):
    out = output(torch.tensor([3, 1, 4]), 6)
    return bool((out[:, :-1] >= out[:, 1:]).all())


def width_is_max_len(output, generator):
    return output(torch.tensor([3, 1, 4]), 6).shape == (3, 6)


def make_lengths(generator, B, longest, max_len):
    lengths = torch.randint(1, longest + 1, (B,), generator=generator)
    lengths[B // 2] = longest  # neither the first nor the last, where there is a choice
    return (lengths, max_len)


# --- padding_mask_from_ids --------------------------------------------------------------------------------------


def mask_by_loop(ids, pad_id=0):
    return torch.tensor([[[token != pad_id for token in sentence]] for sentence in ids.tolist()])


def middle_axis_is_one(output, generator):
    return output(torch.tensor([[4, 2, 7], [5, 7, 7]]), 7).shape == (2, 1, 3)


def a_token_is_judged_by_itself(output, generator):
    ids = torch.tensor([[4, 2, 7, 3], [7, 5, 7, 9]])
    return torch.equal(output(ids.flip(1), 7), output(ids, 7).flip(-1))


def make_ids(generator, B, T, pad_id):
    """Token numbers with 0, pad_id and numbers on both sides of it at random places."""
    ids = torch.randint(0, pad_id + 4, (B, T), generator=generator)
    ids[torch.rand(B, T, generator=generator) < 0.3] = pad_id
    ids[-1, 0], ids[0, -1] = pad_id, pad_id
    ids[0, 0] = pad_id + 1 if B * T > 1 else ids[0, 0]
    return ids, pad_id


# --- hides_the_future -------------------------------------------------------------------------------------------


def of_cosines(x, values, added=None, **how):
    """torch's attention with scores between -1 and 1: however wide or large x is, every position has weight, and every
    leak shows."""
    unit = F.normalize(x, dim=-1)[None]
    return F.scaled_dot_product_attention(unit, unit, values[None], added, **{"scale": 1.0} | how)[0]


def with_mask(may_see, hidden=-INF):
    """Self-attention of x, where position i may see position j if may_see(i, j); `hidden` is added to other scores."""

    def attend(x):
        positions = torch.arange(len(x))
        seen = may_see(positions[:, None], positions)
        return of_cosines(x, x, torch.where(seen, 0.0, hidden).to(x.dtype))

    return attend


def causal(x):
    return F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)[0]


def prefix_by_prefix(x):
    parts = [(x[None, t : t + 1], x[None, : t + 1], x[None, : t + 1]) for t in range(len(x))]
    return torch.cat([F.scaled_dot_product_attention(*part, scale=1.0)[0] for part in parts])


def masked_too_late(x):
    return of_cosines(x, torch.eye(len(x), dtype=x.dtype)).tril() @ x


def told_the_length(x):
    return of_cosines(x, x, is_causal=True, scale=len(x) ** -0.5)


def centred_over_time(x):
    return prefix_by_prefix(x - x.mean(0))


KEEPS_THE_FUTURE = {
    "causal": causal,
    "prefix by prefix": prefix_by_prefix,
    "running mean": lambda x: x.cumsum(0) / torch.arange(1, len(x) + 1)[:, None],
    "itself alone": lambda x: 2 * x,
}
LEAKS = {
    "sees all": with_mask(lambda i, j: j < len(j)),
    "one too far": with_mask(lambda i, j: j <= i + 1),
    "turned over": with_mask(lambda i, j: j >= i),
    "masked too late": masked_too_late,
    "in pairs": with_mask(lambda i, j: (j + 1) // 2 <= (i + 1) // 2),
    "skips one": with_mask(lambda i, j: (j <= i) | (j == i + 2)),
    "first sees all": with_mask(lambda i, j: (j <= i) | (i == 0)),
    "at one place": with_mask(lambda i, j: (j <= i) | ((i == 2) & (j == 3))),
    "centred": centred_over_time,
    "length": told_the_length,
    "from the first place": with_mask(lambda i, j: (j <= i) | ((i == 0) & (j == 1))),
    "from the fourth place": with_mask(lambda i, j: (j <= i) | ((i == 3) & (j == 4))),
    "skips three": with_mask(lambda i, j: (j <= i) | (j == i + 4)),
    "a little": with_mask(lambda i, j: j <= i, hidden=-5.0),
}
IN_LINE = line_up(LEAKS["masked too late"], KEEPS_THE_FUTURE["causal"], LEAKS["centred"],
                  KEEPS_THE_FUTURE["running mean"], LEAKS["in pairs"], KEEPS_THE_FUTURE["prefix by prefix"],
                  KEEPS_THE_FUTURE["itself alone"],
                  *(LEAKS[name] for name in LEAKS if name not in ("masked too late", "centred", "in pairs")))


OWN_TEST = Exercise(
    lesson="07",
    asked="True for every self-attention where row t is the same whatever comes after it, and False for every other: "
    "five of them have letters, the check knows more.",
    verified=black_box_tests.hides_the_future,
    oracle=lambda attend: attend.function in KEEPS_THE_FUTURE.values(),
    examples=tuple((suspect,) for suspect in IN_LINE[:WITH_LETTERS]),
    sizes=tuple((i,) for i in range(WITH_LETTERS, len(IN_LINE))),
    make=lambda generator, i: (IN_LINE[i],),
)


EXERCISES = (
    Exercise(
        lesson="07",
        asked="a new table (T, T) of True and False: entry `[i, j]` is True where $j ≤ i$, so that query i sees itself "
        "and all before it.",
        verified=masks.causal_mask,
        oracle=torch_causal_mask,
        examples=((3,), (4,)),
        sizes=((7,), (5,), (2,), (1,), (129,)),
        make=given,
        calls=asked_twice,
        properties=(
            ("A token does not see itself.", always(given, (5,), lambda out, T: out.diagonal().all())),
            ("A token sees one that comes after it.", always(given, (5,), lambda out, T: not out.triu(1).any())),
            ("Row i does not hold i + 1 times True.",
             always(given, (5,), lambda out, T: out.sum(-1).tolist() == [1, 2, 3, 4, 5])),
        ),
    ),
    Exercise(
        lesson="07",
        asked="$softmax(query key^T / √d) value$, the softmax over the keys, for every sentence of the batch: "
        "(B, Tq, dv). Where the mask is False, the key has no influence at all; a query that may attend to no key "
        "gets zeros, and the check takes any finite numbers there.",
        verified=attention.scaled_dot_product_attention,
        oracle=torch_attention,
        examples=((*EXAMPLE, None), (*EXAMPLE, torch.tensor([[True, False, True], [False, True, True]]))),
        sizes=((2, 3, 5, 7, 4, (2, 3, 5)), (3, 2, 4, 5, 6, (3, 1, 4)), (2, 4, 3, 5, 1, (4, 3)),
               (3, 5, 2, 6, 4, (1, 1, 2)), (2, 5, 3, 4, 6, None), (4, 2, 3, 5, 6, "open"), (3, 3, 3, 3, 3, (3, 3)),
               (3, 3, 3, 3, 3, (3, 3, 3)), (1, 1, 1, 1, 1, None), (1, 1, 1, 1, 1, "open")),
        square_size=(2, 3, 5, 4, 6, (2, 3, 5)),
        make=make,
        extremes=(
            far_apart([[40.0, 0.0, 0.0, 2.0]], [[0.0, 0, 0, 1], [40.0, 0, 1, 0], [0.0, 1, 0, 0]],
                      [[True, False, True]]),  # a hidden key with by far the largest score
            far_apart([[1024.0, 0.0, 0.0, 2.0]], [[-256.0, 0, 0, 1], [128.0, 0, 1, 0], [-258.0, 1, 0, 0]],
                      [[True, False, True]]),  # allowed scores near -131,000, where one wins outright
            far_apart([[60.0, 0.0, 0.0, 2.0], [-60.0, 0.0, 0.0, 2.0]],
                      [[40.0, 0, 0, 0], [20.0, 0, 1, 0], [40.0, 1, 0, -1]],
                      [[True, False, True], [True, True, True]]),  # one query near 1,200, one far below
        ),
        calls=other_masks,
        properties=(
            ("What a masked key and its value hold changes the result.",
             invariant(make, (2, 3, 5, 7, 4, (2, 1, 5)),
                       lambda q, k, v, mask: (q, k + 3 * ~mask.mT, v - 7 * ~mask.mT, mask)), "mask"),
            ("A mask that hides nothing changes the result.",
             invariant(make, (2, 3, 5, 7, 4, "open"), lambda q, k, v, mask: (q, k, v)), "mask"),
            ("A feature that is 1 in every value does not stay 1.",
             a_constant_stays(make, (2, 3, 5, 7, 4, (3, 5)), inputs=2)),
            ("Keys, values and mask columns together in another order change the result.",
             invariant(make, (2, 3, 5, 7, 4, (2, 3, 5)), lambda q, k, v, mask: (q, k.flip(1), v.flip(1), mask.flip(2))),
             "mask"),
            ("A sentence gets another result beside others than alone.",
             batch_is_its_rows(make, (2, 3, 5, 7, 4, (2, 1, 5)), 1e-4)),
        ),
    ),
    Exercise(
        lesson="07",
        asked="a table (B, T) of True and False: row b begins with `lengths[b]` times True, and the rest is False; T "
        "is `max_len` or, where that is None, the longest length.",
        verified=masks.padding_mask,
        oracle=torch_padding_mask,
        examples=((torch.tensor([3, 5, 1, 2]), None), (torch.tensor([2, 1]), 5)),
        sizes=((4, 7, None), (3, 5, 8), (5, 4, 4), (3, 3, None), (3, 3, 3), (1, 4, None), (1, 1, None), (2, 1, 3),
               (2, 1100, None)),
        make=make_lengths,
        calls=lambda generator: [Call((torch.tensor([3, 0, 2]), 4), "an empty sentence"),
                                 Call((torch.tensor([3, 1]), 4), "on a GPU with max_len", on_gpu=True)],
        properties=(
            ("The width is not max_len.", width_is_max_len, "max_len"),
            ("Row b does not hold lengths[b] times True.", rows_have_their_lengths),
            ("In a row True stands behind False.", real_tokens_come_first),
        ),
    ),
    Exercise(
        lesson="07",
        asked="a table (B, 1, T) of True and False: True where the token is not `pad_id`, wherever in the sentence it "
        "stands.",
        verified=masks.padding_mask_from_ids,
        oracle=mask_by_loop,
        examples=((torch.tensor([[5, 3, 8, 0], [4, 0, 0, 0]]), 0), (torch.tensor([[7, 7, 0, 9], [3, 8, 7, 7]]), 7)),
        sizes=((3, 6, 4), (5, 2, 2), (4, 4, 3), (1, 3, 5), (2, 1, 1), (1, 1, 1)),
        make=make_ids,
        properties=(
            ("The shape is not (B, 1, T).", middle_axis_is_one),
            ("Whether a token counts as real depends on its position.", a_token_is_judged_by_itself),
        ),
    ),
    OWN_TEST,
)
