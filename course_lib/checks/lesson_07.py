"""Lesson 07, masks: judged by torch's own attention with an additive mask, torch's own masks, and loops."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import attention, masks, proofs
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.suspects import line_up

INF = float("inf")


# --- causal_mask ------------------------------------------------------------------------------------------------


def torch_causal_mask(T):
    """True where the mask of torch's own Transformer adds nothing to a score."""
    return nn.Transformer.generate_square_subsequent_mask(T) == 0


def square(T):
    return torch.ones(T, T, dtype=torch.bool)


def strict_lower(T):
    """The diagonal is missing: no token sees itself, and the first one sees nothing at all. Token i has been
    written when the next word is asked for: should it not count?"""
    return square(T).tril(-1)


def one_ahead(T):
    """Each token also sees the one right after it. In training that is the very word it has to guess."""
    return square(T).tril(1)


def upper_triangle(T):
    """This triangle points the wrong way: each token sees itself and the future, and the past is hidden. Which index
    is the query, the row or the column?"""
    return square(T).triu()


def inverted(T):
    """True marks what is hidden here: only the future is left to see. In this course True means "may attend"."""
    return square(T).triu(1)


def everything_allowed(T):
    """Every token may see every token: nothing is hidden."""
    return square(T)


def nothing_allowed(T):
    """No token may see anything, not even itself. Which entries does your code turn to True?"""
    return ~square(T)


def only_itself(T):
    """Each token sees itself alone. It should also see all tokens before it."""
    return torch.eye(T, dtype=torch.bool)


def all_but_itself(T):
    """Each token sees all the others, those that come after it included. It is the future that has to be hidden."""
    return ~torch.eye(T, dtype=torch.bool)


def two_tokens_only(T):
    """Each token sees itself and one token before it. It should see all tokens before it, however many."""
    return square(T).tril().triu(-1)


def both_neighbours(T):
    """Each token sees itself and its neighbours on both sides. The neighbour on the right is the future."""
    return square(T).tril(1).triu(-1)


def mirrored(T):
    """The triangle is mirrored: the first token sees everything. Row i should begin with i + 1 times True."""
    return square(T).tril().flip(1)


def upside_down(T):
    """The rows stand upside down: the first token sees everything, the last one only the first. Row i should begin
    with i + 1 times True."""
    return square(T).tril().flip(0)


def one_row(T):
    """This is one row, (T,), for all queries. Each query needs a row of its own: (T, T)."""
    return torch.ones(T, dtype=torch.bool)


def batch_axis(T):
    """There is an axis too many: (1, T, T). The mask is the same for every sentence, and (T, T) broadcasts by
    itself."""
    return square(T).tril()[None]


def one_too_large(T):
    """The mask has one row and one column too many. T tokens need (T, T)."""
    return square(T + 1).tril()


def one_too_small(T):
    """The mask has one row and one column too few. T tokens need (T, T)."""
    return square(T - 1).tril()


def squeezes_all_of_it(T):
    """squeeze() takes away every axis of length 1: for a single token nothing is left of (1, 1). T tokens need
    (T, T), for T = 1 as well: what is squeeze() here for?"""
    return square(T).tril().squeeze()


def hard_coded_size(T):
    """The size does not follow T: it is always 5. Will your line work for any number of tokens?"""
    return square(5).tril()


_LAST = {}


def kept(T):
    """The same tensor came back twice. Whoever writes into the first mask changes the second: make a new tensor in each
    call."""
    if T not in _LAST:
        _LAST.clear()
        _LAST[T] = square(T).tril()
    return _LAST[T]


def asked_twice(generator):
    """Twice in a row, since a kept mask that was written over twice looks right again."""
    return [Call((6,), "two calls, and somebody writes into the second mask", twice=True) for _ in range(2)]


def rows_grow_by_one(output, generator):
    return output(5).sum(-1).tolist() == [1, 2, 3, 4, 5]


def sees_itself(output, generator):
    return bool(output(5).diagonal().all())


def hides_the_future(output, generator):
    return not bool(output(5).triu(1).any())


# --- scaled_dot_product_attention -------------------------------------------------------------------------------


def torch_attention(query, key, value, mask=None):
    """torch's attention with an additive mask of 0 and -inf; NaN where a query may attend to no key."""
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value)
    added = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, -INF)
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=added)
    return out * torch.ones_like(out[..., :1]).masked_fill(~mask.any(-1, keepdim=True), float("nan"))


def scores_of(query, key, power=0.5):
    return query @ key.transpose(-2, -1) / query.shape[-1] ** power


def hide(scores, mask, number=None):
    """Put a number, by default the smallest there is, where the mask is False."""
    number = torch.finfo(scores.dtype).min if number is None else number
    return scores if mask is None else scores.masked_fill(~mask, number)


def filled_with(number, query, key, value, mask):
    return torch.softmax(hide(scores_of(query, key), mask, number), -1) @ value


def weights_of(query, key, mask, power=0.5):
    return torch.softmax(hide(scores_of(query, key, power), mask), -1)


def masked_afterwards(query, key, mask):
    weights = torch.softmax(scores_of(query, key), -1)
    return weights if mask is None else weights * mask


def ignores_mask(query, key, value, mask=None):
    """The mask has no effect. Is it used at all, and is the masked copy of the scores the one that goes on? A tiny
    number, such as -1e-9, changes nothing either."""
    return weights_of(query, key, None) @ value


def inverted_mask(query, key, value, mask=None):
    """The mask is the wrong way round: the allowed keys were hidden. True means "may attend" here, while masked_fill
    fills where its mask is True."""
    return weights_of(query, key, None if mask is None else ~mask) @ value


def inverted_with_infinity(query, key, value, mask=None):
    """The mask is the wrong way round: the allowed keys were hidden, and where all of them are, nothing but -inf is
    left and the softmax is NaN. On which value of its mask does masked_fill fill?"""
    return filled_with(-INF, query, key, value, None if mask is None else ~mask)


def inverted_for_torch(query, key, value, mask=None):
    """The mask was turned round for torch's own attention: the allowed keys were hidden. Does True in its attn_mask
    mean "may attend", as here, or the opposite?"""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=None if mask is None else ~mask)


def zero_score(query, key, value, mask=None):
    """A masked score became 0, whether it was set to 0 or multiplied by the mask. A score of 0 is not a weight of 0:
    what is the exponential of 0?"""
    return filled_with(0.0, query, key, value, mask)


def after_the_softmax(query, key, value, mask=None):
    """The mask came after the softmax: what is left no longer sums to one, and the hidden keys have already taken part
    in the sum below the line. Where must the mask act, so that softmax shares out among the allowed keys only?"""
    return masked_afterwards(query, key, mask) @ value


def renormalises(query, key, value, mask=None):
    """The mask came after the softmax, and the rest was divided by its sum. On paper this is right. But where a hidden
    key has a far larger score, all allowed weights round to zero, and 0 / 0 is NaN. What if it never took part?"""
    weights = masked_afterwards(query, key, mask)
    return weights / weights.sum(-1, keepdim=True) @ value


def renormalises_with_epsilon(query, key, value, mask=None):
    """The mask came after the softmax, and the rest was divided by its sum and a tiny number. Where a hidden key has a
    far larger score, all allowed weights round to zero, and the answer is lost. What if it never took part?"""
    weights = masked_afterwards(query, key, mask)
    return weights / (weights.sum(-1, keepdim=True) + 1e-9) @ value


def softmax_twice(query, key, value, mask=None):
    """A second softmax followed the masking. The weights are shares already: a softmax of shares is nearly even, and
    the hidden zeros get weight again. Mask the scores, then one softmax."""
    weights = torch.softmax(scores_of(query, key), -1)
    return torch.softmax(hide(weights, mask, 0.0), -1) @ value


def plus_infinity(query, key, value, mask=None):
    """A masked score became +inf, and softmax answers NaN: infinity divided by infinity. In which direction does a
    score have to go for its weight to vanish?"""
    return filled_with(INF, query, key, value, mask)


def infinity_after_the_softmax(query, key, value, mask=None):
    """Masked weights became -inf, after the softmax, and -inf times a value is infinite, or NaN where the value is 0.
    Where must the mask act, so that the weight of a hidden key is 0?"""
    return hide(weights_of(query, key, None), mask, -INF) @ value


def large_positive(query, key, value, mask=None):
    """A masked score became a large positive number, so the hidden keys took all the weight. In which direction does a
    score have to go for its weight to vanish?"""
    return filled_with(1e9, query, key, value, mask)


def not_negative_enough(query, key, value, mask=None):
    """The masked score is a negative number, but not far enough down: where the allowed scores are lower still, the
    hidden keys win. Which number is below every score that can occur?"""
    return filled_with(-100.0, query, key, value, mask)


def zero_times_infinity(query, key, value, mask=None):
    """The mask was multiplied by infinity, and 0 times infinity is NaN: every entry that should have stayed is lost.
    Choose between two values instead of multiplying."""
    return (weights_of(query, key, None) if mask is None else
            torch.softmax(scores_of(query, key) + (~mask).to(query.dtype) * -INF, -1)) @ value


def subtracts_true_and_false(query, key, value, mask=None):
    """True and False cannot be subtracted from a number: torch refuses `1 - mask`. Which sign turns a mask round, and
    which function fills a number in where that is True?"""
    scores = scores_of(query, key)
    return torch.softmax(scores if mask is None else scores + (1 - mask) * -1e9, -1) @ value


def adds_the_mask(query, key, value, mask=None):
    """The mask was added to the scores as it is: True counts as 1, False as 0. Allowed keys gain a little, and hidden
    ones are still seen."""
    return weights_of(query, key, None) @ value if mask is None else torch.softmax(
        scores_of(query, key) + mask, -1) @ value


def nan_on_an_empty_row(query, key, value, mask=None):
    """A query that may attend to no key gets NaN: its scores are all -inf, and their exponentials sum to 0. Such rows
    occur, and one NaN spoils a whole training step: what else could stand in the place of -inf?"""
    return filled_with(-INF, query, key, value, mask)


def nan_in_the_gradient(query, key, value, mask=None):
    """Something turns the NaN of an empty row into a number on its way out. On its way back the gradient still meets
    it, and everything behind it becomes NaN. What if no NaN arose in the first place?"""
    if mask is None:
        return weights_of(query, key, None) @ value
    scores = scores_of(query, key) + torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, -INF)
    return torch.softmax(scores, -1).nan_to_num() @ value


def transposed_mask(query, key, value, mask=None):
    """The mask lies on its side: it hides queries from keys. Row i of the mask belongs to query i, its columns to the
    keys."""
    return weights_of(query, key, None if mask is None else mask.transpose(-2, -1)) @ value


def adds_a_head_axis(query, key, value, mask=None):
    """The mask got one more axis, as for several heads. Here the scores are (B, Tq, Tk), and the mask
    broadcasts to them as it is."""
    return weights_of(query, key, None if mask is None else mask.unsqueeze(1)) @ value


def first_mask_for_all(query, key, value, mask=None):
    """The mask of the first sentence was used for every sentence of the batch. Each has its own."""
    return weights_of(query, key, mask[:1] if mask is not None and mask.dim() == 3 else mask) @ value


def first_row_for_all(query, key, value, mask=None):
    """The first row of the mask was used for every query. Each query has a row of its own."""
    return weights_of(query, key, mask if mask is None else mask[..., :1, :]) @ value


def always_causal(query, key, value, mask=None):
    """The future was hidden whatever the mask says. Only the mask decides who sees whom; without one, all see all."""
    Tq, Tk = query.shape[-2], key.shape[-2]
    causal = torch.ones(Tq, Tk, dtype=torch.bool, device=query.device).tril()
    return weights_of(query, key, causal if mask is None else mask & causal) @ value


def causal_without_a_mask(query, key, value, mask=None):
    """Without a mask the future was hidden. Only a mask decides who sees whom: how many keys may a query attend to
    where mask is None?"""
    causal = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    return weights_of(query, key, causal if mask is None else mask) @ value


def causal_instead(query, key, value, mask=None):
    """Where a mask is given, a causal one was used in its place. The mask that is handed over need not be causal."""
    Tq, Tk = query.shape[-2], key.shape[-2]
    causal = torch.ones(Tq, Tk, dtype=torch.bool, device=query.device).tril()
    return weights_of(query, key, None if mask is None else causal) @ value


def needs_a_mask(query, key, value, mask=None):
    """It fails without a mask: None cannot be turned round. Where mask is None, every query may attend to every key."""
    return weights_of(query, key, ~mask ^ True) @ value


def asks_whether_a_mask_is_true(query, key, value, mask=None):
    """`if mask:` asks whether a whole table is true, and torch cannot say. The question is whether there is a mask:
    how does one ask for None?"""
    if mask:
        return weights_of(query, key, mask) @ value
    return weights_of(query, key, None) @ value


def turns_all_axes(query, key, value, mask=None):
    """`key.T` turned all three axes round, the batch included. Only the last two have to change places:
    key.transpose(-2, -1)."""
    return torch.softmax(hide(query @ key.permute(2, 1, 0) / query.shape[-1] ** 0.5, mask), -1) @ value


def no_transpose(query, key, value, mask=None):
    """`query @ key` multiplies (Tq, d) with (Tk, d), and the inner widths do not fit. Which shape gives one number for
    each query and key?"""
    return torch.softmax(hide(query @ key / query.shape[-1] ** 0.5, mask), -1) @ value


def no_scale(query, key, value, mask=None):
    """The scores were not divided by √d, so the weights are sharper than they should be, and more so the wider the
    vectors."""
    return weights_of(query, key, mask, power=0.0) @ value


def scale_by_d(query, key, value, mask=None):
    """The scores were divided by d, or twice by √d, which is the same. By which factor does the standard deviation of
    a dot product grow with d?"""
    return weights_of(query, key, mask, power=1.0) @ value


def half_of_d(query, key, value, mask=None):
    """The scores were divided by d / 2: `d**1/2` is a half of d, since a power comes before a division. How does the
    exponent stay in one piece?"""
    return scaled_by(query.shape[-1] ** 2 / 4, query, key, value, mask)


def twice_d(query, key, value, mask=None):
    """The scores were divided by d and then by 2: in `scores / d**1/2` the power comes first, and it is d ** 1. How
    does the exponent stay in one piece?"""
    return scaled_by(4 * query.shape[-1] ** 2, query, key, value, mask)


def multiplies(query, key, value, mask=None):
    """The scores were multiplied by √d, which makes a large spread larger still. They have to be divided."""
    return weights_of(query, key, mask, power=-0.5) @ value


def scaled_by(width, query, key, value, mask):
    return torch.softmax(hide(scores_of(query, key, 0) / width**0.5, mask), -1) @ value


def scale_by_dv(query, key, value, mask=None):
    """The scores were divided by the root of the values' width. What makes a dot product large is the width of query
    and key."""
    return scaled_by(value.shape[-1], query, key, value, mask)


def scale_by_number_of_keys(query, key, value, mask=None):
    """The scores were divided by √Tk, the root of the number of keys. What makes a dot product large is the width d."""
    return scaled_by(key.shape[-2], query, key, value, mask)


def scale_by_number_of_queries(query, key, value, mask=None):
    """The scores were divided by √Tq, the root of the number of queries. What makes a dot product large is the
    width d."""
    return scaled_by(query.shape[-2], query, key, value, mask)


def hard_coded_8(query, key, value, mask=None):
    """The scores were divided by 8, which is √d for d = 64 only. Take the width from the query itself."""
    return scaled_by(64, query, key, value, mask)


def scales_the_weights(query, key, value, mask=None):
    """The division by √d came after the softmax: the weights no longer sum to one. Scale the scores."""
    return weights_of(query, key, mask, power=0.0) / query.shape[-1] ** 0.5 @ value


def softmax_over_queries(query, key, value, mask=None):
    """The softmax ran over the queries: each column sums to one. Each query shares its weight out among the keys: which
    axis of (B, Tq, Tk) is that?"""
    return torch.softmax(hide(scores_of(query, key), mask), -2) @ value


def softmax_over_the_batch(query, key, value, mask=None):
    """The softmax ran over the batch, so that the sentences compete with each other. Each query shares its weight out
    among its own keys."""
    return torch.softmax(hide(scores_of(query, key), mask), 0) @ value


def softmax_over_everything(query, key, value, mask=None):
    """One softmax ran over all queries and keys together: each whole table sums to one. Each row should."""
    scores = hide(scores_of(query, key), mask)
    return torch.softmax(scores.flatten(-2), -1).unflatten(-1, scores.shape[-2:]) @ value


def no_softmax(query, key, value, mask=None):
    """The scores were used as weights as they are, and masked ones as 0. They have to go through a softmax first."""
    return hide(scores_of(query, key), mask, 0.0) @ value


def sigmoid(query, key, value, mask=None):
    """Each score went through a sigmoid by itself. The weights have to compete and sum to one: that takes a softmax."""
    return torch.sigmoid(hide(scores_of(query, key), mask)) @ value


def overflows(query, key, value, mask=None):
    """With large scores the exponential becomes infinite, and infinity divided by infinity is NaN. Use torch.softmax,
    or subtract each row's largest score first."""
    weights = torch.exp(hide(scores_of(query, key), mask))
    return weights / weights.sum(-1, keepdim=True) @ value


def one_number_subtracted_from_all(query, key, value, mask=None):
    """The largest score of the whole table was subtracted before the exponential. A row far below it becomes all zeros,
    and zero divided by zero is NaN. Whose largest score should each row lose?"""
    scores = hide(scores_of(query, key), mask)
    weights = torch.exp(scores - scores.max())
    return weights / weights.sum(-1, keepdim=True) @ value


def takes_the_largest(query, key, value, mask=None):
    """Only the allowed key with the largest score was kept. Softmax lets every allowed key count, each by its share."""
    best = hide(scores_of(query, key), mask).argmax(-1)
    return F.one_hot(best, key.shape[-2]).to(value.dtype) @ value


def averages(query, key, value, mask=None):
    """All allowed keys count the same. The weights have to come from the scores."""
    return torch.softmax(hide(0 * scores_of(query, key), mask), -1) @ value


def returns_weights(query, key, value, mask=None):
    """These are the weights, (B, Tq, Tk). They still have to mix the values."""
    return weights_of(query, key, mask)


def returns_scores(query, key, value, mask=None):
    """These are the masked scores, (B, Tq, Tk). Softmax and the weighted sum are still missing."""
    return hide(scores_of(query, key), mask)


def mixes_the_keys(query, key, value, mask=None):
    """The weights mixed the keys. Keys are compared; what is mixed are the values."""
    return weights_of(query, key, mask) @ key


def adds_the_query(query, key, value, mask=None):
    """The query was added to the result. It only decides the weights; a skip connection comes in lesson 08."""
    return query + weights_of(query, key, mask) @ value


def first_sentence_s_keys(query, key, value, mask=None):
    """The keys of the first sentence were used for the whole batch. Each sentence is compared with its own keys."""
    return weights_of(query, key[:1], mask) @ value


def first_sentence_s_values(query, key, value, mask=None):
    """The values of the first sentence were used for the whole batch. Each sentence mixes its own values."""
    return weights_of(query, key, mask) @ value[:1]


def sums_the_queries(query, key, value, mask=None):
    """The outputs of all queries were added up: (B, dv). Each query gets a row of its own: (B, Tq, dv)."""
    return (weights_of(query, key, mask) @ value).sum(-2)


def squeezes_everything(query, key, value, mask=None):
    """squeeze() without an axis takes away every axis of length 1: a batch of one sentence loses its batch axis. Which
    axis did you want to lose?"""
    return (weights_of(query, key, mask) @ value).squeeze()


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
            Call((query, key, value, ~square(5)[:3]), "no query may attend to any key")]


def far_apart(query, key, mask):
    """Large scores, exact in float32, with a value for each key that is easy to tell from the others."""
    value = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [5.0, 3.0]]])
    return torch.tensor([query]), torch.tensor([key]), value, torch.tensor(mask)


EXAMPLE = (
    torch.tensor([[[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 2.0, 0.0]]]),
    torch.tensor([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0], [2.0, 0.0, 1.0, 0.0]]]),
    torch.tensor([[[1.0, 0.0], [0.0, 2.0], [5.0, 3.0]]]),
)


def a_masked_key_has_no_influence(output, generator):
    query, key, value, mask = make(generator, 2, 3, 5, 7, 4, (2, 1, 5))
    hidden = ~mask.transpose(1, 2)  # (B, Tk, 1)
    other = output(query, key + 3 * hidden, value - 7 * hidden, mask)
    return torch.allclose(output(query, key, value, mask), other, atol=1e-4)


def an_open_mask_is_no_mask(output, generator):
    *args, mask = make(generator, 2, 3, 5, 7, 4, "open")
    return torch.allclose(output(*args, mask), output(*args), atol=1e-4)


def weights_sum_to_one(output, generator):
    query, key, value, mask = make(generator, 2, 3, 5, 7, 4, (3, 5))
    return torch.allclose(output(query, key, torch.ones_like(value), mask), torch.ones(2, 3, 4), atol=1e-4)


def order_of_the_keys_is_free(output, generator):
    query, key, value, mask = make(generator, 2, 3, 5, 7, 4, (2, 3, 5))
    turned = output(query, key.flip(1), value.flip(1), mask.flip(2))
    return torch.allclose(turned, output(query, key, value, mask), atol=1e-4)


def sentences_do_not_meet(output, generator):
    query, key, value, mask = make(generator, 2, 3, 5, 7, 4, (2, 1, 5))
    alone = output(query[1:], key[1:], value[1:], mask[1:])
    return torch.allclose(output(query, key, value, mask)[1:], alone, atol=1e-4)


# --- padding_mask -----------------------------------------------------------------------------------------------


def torch_padding_mask(lengths, max_len=None):
    """Sentences of ones, filled up with zeros by torch's own pad_sequence."""
    sentences = [torch.ones(n) for n in lengths.tolist()]
    filled = nn.utils.rnn.pad_sequence(sentences, batch_first=True)
    return F.pad(filled, (0, 0 if max_len is None else max_len - filled.shape[1])) > 0


def width(lengths, max_len):
    return int(lengths.max()) if max_len is None else max_len


def places(lengths, max_len):
    return torch.arange(width(lengths, max_len), device=lengths.device)


def true_at_padding(lengths, max_len=None):
    """True marks the padding here. In this course True means "is a real token"."""
    return places(lengths, max_len) >= lengths[:, None]


def padding_on_the_left(lengths, max_len=None):
    """The real tokens were put on the right. The sentences were filled up on the right, so the real ones come first."""
    return (places(lengths, max_len) < lengths[:, None]).flip(1)


def one_too_many(lengths, max_len=None):
    """Each sentence has one real token too many: `<=`. A sentence of length 2 fills the places 0 and 1."""
    return places(lengths, max_len) <= lengths[:, None]


def one_too_few(lengths, max_len=None):
    """Each sentence has one real token too few. A sentence of length 2 fills the places 0 and 1: which of them does
    your comparison leave out?"""
    return places(lengths, max_len) + 1 < lengths[:, None]


def all_but_the_first(lengths, max_len=None):
    """Only the places after the length are True, and the first of the padding is not: `>`. The real tokens are those
    below the length."""
    return places(lengths, max_len) > lengths[:, None]


def last_token_only(lengths, max_len=None):
    """Only the last real token of each sentence is True. All real tokens should be."""
    return places(lengths, max_len) == lengths[:, None] - 1


def first_padding_only(lengths, max_len=None):
    """One place a sentence is True, the one right after its end: `==`. All places below the length should be."""
    return places(lengths, max_len) == lengths[:, None]


def ignores_max_len(lengths, max_len=None):
    """max_len has no effect: the mask is as wide as the longest sentence. A batch may be filled up further than
    that."""
    return places(lengths, None) < lengths[:, None]


def one_column_too_many(lengths, max_len=None):
    """Without max_len the mask has one column too many. The longest sentence needs no padding."""
    width_ = int(lengths.max()) + 1 if max_len is None else max_len
    return torch.arange(width_, device=lengths.device) < lengths[:, None]


def wide_as_the_sum(lengths, max_len=None):
    """Without max_len the mask is as wide as all lengths together. The sentences stand below one another: which of them
    decides the width?"""
    return places(lengths, int(lengths.sum()) if max_len is None else max_len) < lengths[:, None]


def wide_as_the_shortest(lengths, max_len=None):
    """Without max_len the mask is as wide as the shortest sentence, and the others are cut. Which of them decides the
    width?"""
    return places(lengths, int(lengths.min()) if max_len is None else max_len) < lengths[:, None]


def wide_as_the_first(lengths, max_len=None):
    """Without max_len the mask is as wide as the first sentence. The longest may be any of them."""
    return places(lengths, int(lengths[0]) if max_len is None else max_len) < lengths[:, None]


def wide_as_the_last(lengths, max_len=None):
    """Without max_len the mask is as wide as the last sentence. The longest may be any of them."""
    return places(lengths, int(lengths[-1]) if max_len is None else max_len) < lengths[:, None]


def wide_as_the_batch(lengths, max_len=None):
    """Without max_len the mask is as wide as the number of sentences. The width is a number of tokens."""
    return places(lengths, len(lengths) if max_len is None else max_len) < lengths[:, None]


def columns_are_sentences(lengths, max_len=None):
    """The mask lies on its side, (T, B): every column is a sentence. The batch comes first: (B, T)."""
    return places(lengths, max_len)[:, None] < lengths


def compared_without_a_column(lengths, max_len=None):
    """The places (T,) were compared with the lengths (B,) as they are, one with one. Every place has to meet every
    length: one of the two has to stand as a column."""
    return places(lengths, max_len) < lengths


def extra_axis(lengths, max_len=None):
    """There is an axis too many: (B, 1, T). Here (B, T) is asked for; the axis for attention comes in the next
    exercise."""
    return (places(lengths, max_len) < lengths[:, None])[:, None]


def squeezes_the_mask(lengths, max_len=None):
    """squeeze() takes away every axis of length 1: a batch of one sentence loses its batch axis. (B, T) is asked for,
    for B = 1 as well: what is squeeze() here for?"""
    return (places(lengths, max_len) < lengths[:, None]).squeeze()


def longest_for_all(lengths, max_len=None):
    """Every sentence was taken to be as long as the longest. Each has a length of its own."""
    return (places(lengths, max_len) < lengths.max()).expand(len(lengths), -1).clone()


def everything_real(lengths, max_len=None):
    """Nothing is marked as padding: all entries are True."""
    return torch.ones(len(lengths), width(lengths, max_len), dtype=torch.bool, device=lengths.device)


def one_row_for_all(lengths, max_len=None):
    """This is one row, (T,), for the whole batch. Each sentence needs a row of its own: (B, T)."""
    return places(lengths, max_len) < lengths.max()


def needs_max_len(lengths, max_len=None):
    """It fails without max_len. Where max_len is None, the longest sentence decides the width."""
    return torch.arange(max_len, device=lengths.device) < lengths[:, None]


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


def real(ids, pad_id):
    return ids != pad_id


def marks_the_padding(ids, pad_id=0):
    """True marks the padding here: `==`. In this course True means "is a real token"."""
    return ~real(ids, pad_id)[:, None]


def no_middle_axis(ids, pad_id=0):
    """The shape is (B, T). Beside scores (B, Tq, Tk) it would line up as (Tq, Tk): B taken for the queries. Which axis
    is missing, and where?"""
    return real(ids, pad_id)


def squeezes_the_ids(ids, pad_id=0):
    """squeeze() takes away every axis of length 1, the middle one that was asked for among them. Which axes have to be
    there in (B, 1, T), however long they are?"""
    return real(ids, pad_id)[:, None].squeeze()


def axis_at_the_end(ids, pad_id=0):
    """The new axis stands at the end, (B, T, 1): that hides queries instead of keys. The keys are the last axis of the
    scores."""
    return real(ids, pad_id)[:, :, None]


def axis_in_front(ids, pad_id=0):
    """The new axis stands in front, (1, B, T). The batch is the first axis of the scores: which one may be
    broadcast?"""
    return real(ids, pad_id)[None]


def two_new_axes(ids, pad_id=0):
    """There is an axis too many, (B, 1, 1, T), as for several heads. Scores are (B, Tq, Tk) here."""
    return real(ids, pad_id)[:, None, None]


def pairs_of_real_tokens(ids, pad_id=0):
    """The padding was hidden as a query, too: (B, T, T), with empty rows. Only the keys have to be hidden, and one
    row is enough for all queries."""
    return real(ids, pad_id)[:, None] & real(ids, pad_id)[:, :, None]


def repeated_for_each_query(ids, pad_id=0):
    """The row was copied for each query: (B, T, T). The values are right, but the number of queries may differ from T,
    in cross-attention for one: a middle axis of size 1 fits any."""
    return real(ids, pad_id)[:, None].repeat(1, ids.shape[1], 1)


def always_zero(ids, pad_id=0):
    """pad_id has no effect: 0 was taken for padding whatever it says. Another vocabulary, another number."""
    return real(ids, 0)[:, None]


def larger_than(ids, pad_id=0):
    """Only numbers above pad_id count as real: `>`. That is right for 0 alone; any number but pad_id is a real
    token."""
    return (ids > pad_id)[:, None]


def not_below(ids, pad_id=0):
    """All numbers from pad_id on count as real, padding included: `>=`. Which numbers are real tokens?"""
    return (ids >= pad_id)[:, None]


def smaller_than(ids, pad_id=0):
    """Only numbers below pad_id count as real: `<`. Any number but pad_id is a real token."""
    return (ids < pad_id)[:, None]


def counted_from_the_left(ids, pad_id=0):
    """The real tokens were counted, and as many places were marked from the left. Where the padding stands on the left,
    that marks the wrong ones: ask every token itself."""
    return (torch.arange(ids.shape[1], device=ids.device) < real(ids, pad_id).sum(1, keepdim=True))[:, None]


def causal_as_well(ids, pad_id=0):
    """The future was hidden as well: (B, T, T). Padding and the future are two masks; they are combined later, and an
    encoder needs only this one."""
    return real(ids, pad_id)[:, None] & torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool,
                                                   device=ids.device).tril()


def one_sentence_for_all(ids, pad_id=0):
    """A place counts as real as soon as one sentence has a token there. Each sentence has its own padding."""
    return real(ids, pad_id).any(0)[None, None].expand(len(ids), 1, -1).clone()


def first_sentence_for_all(ids, pad_id=0):
    """The padding of the first sentence was used for all. Each sentence has its own."""
    return real(ids, pad_id)[:1, None].expand(len(ids), 1, -1).clone()


def nothing_is_padding(ids, pad_id=0):
    """All entries are True: nothing is marked as padding."""
    return torch.ones_like(ids, dtype=torch.bool)[:, None]


def one_for_each_sentence(ids, pad_id=0):
    """There is one value a sentence instead of one a token."""
    return real(ids, pad_id).any(-1)[:, None, None]


def flattened(ids, pad_id=0):
    """All sentences were put into one row: (1, 1, B times T). Each sentence keeps a row of its own: (B, 1, T)."""
    return real(ids, pad_id).flatten()[None, None]


def in_position_order(ids, pad_id=0):
    """The axes are (T, 1, B): every sentence became a column. The batch comes first."""
    return real(ids, pad_id).T[:, None]


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


def cosines(x):
    """Scores between -1 and 1: however wide or large x is, every place has weight, and every leak shows."""
    return F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).T


def with_mask(may_see, hidden=-INF):
    """Self-attention of x, where place i may see place j if may_see(i, j); the other scores become `hidden`."""

    def attend(x):
        places = torch.arange(len(x))
        scores = cosines(x).masked_fill(~may_see(places[:, None], places), hidden)
        return torch.softmax(scores, -1) @ x

    return attend


def causal(x):
    scores = (x @ x.T / x.shape[1] ** 0.5).masked_fill(~square(len(x)).tril(), -INF)
    return torch.softmax(scores, -1) @ x


def prefix_by_prefix(x):
    return torch.stack([torch.softmax(x[: t + 1] @ x[t], 0) @ x[: t + 1] for t in range(len(x))])


def masked_too_late(x):
    return torch.tril(torch.softmax(cosines(x), -1)) @ x


def told_the_length(x):
    scores = cosines(x) / len(x) ** 0.5
    return torch.softmax(scores.masked_fill(~square(len(x)).tril(), -INF), -1) @ x


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
INNOCENT = {"B", "D", "F", "G"}


def some_tokens(T=6):
    return torch.randn(T, 3, generator=torch.Generator().manual_seed(0))


def same_before(attend, x, other, rows):
    """Are the rows of both results the same?"""
    return torch.allclose(attend(x)[rows], attend(other)[rows], atol=1e-5)


def same_beginnings(attend, T, lengths, all_or_any=all, atol=1e-5):
    """Does the sentence begin with the results of its beginnings alone?"""
    x = some_tokens(T)
    return all_or_any(torch.allclose(attend(x[:n]), attend(x)[:n], atol=atol) for n in lengths)


def changed(x, *places):
    """The tokens, some of them replaced."""
    other = x.clone()
    other[list(places)] = some_tokens(20)[-len(places):] + 1
    return other


def only_the_shape(attend):
    """Your test looks at no number: it lets everyone through whose result has the right shape. What would change in
    the numbers if a token saw the future?"""
    return attend(some_tokens()).shape == (6, 3)


def accuses_everybody(attend):
    """Your test finds a leak in everybody, also where there is none. Do you compare a row with a token that it may
    see, its own, for example?"""
    return False


def the_first_row_only(attend):
    """You look at the first row only. A later token can see its future as well, in many a mistake only a later one.
    Which rows have to be compared?"""
    x = some_tokens()
    return same_before(attend, x, changed(x, 1, 2, 3, 4, 5), [0])


def a_row_in_the_middle(attend):
    """You look at one row in the middle. The mistake may sit in another row. How many rows have a future?"""
    x = some_tokens()
    return same_before(attend, x, changed(x, 3, 4, 5), [0, 1, 2][2:])


def two_tokens(attend):
    """Your sentence has two tokens, so there is one future only. Some leaks need more room. How long should a sentence
    be?"""
    x = some_tokens(2)
    return same_before(attend, x, changed(x, 1), [0])


def four_tokens(attend):
    """Your sentence has four tokens. A leak may begin at a later token, or reach further than that. How long should a
    sentence be?"""
    return same_beginnings(attend, 4, range(1, 5))


def one_beginning(attend):
    """You look at one beginning of the sentence only. Who looks across another place goes unnoticed. After how many
    tokens can the future begin?"""
    return same_beginnings(attend, 6, [3])


def one_change_in_the_middle(attend):
    """You change the second half of the sentence, once. Who looks ahead within one half goes unnoticed. After how many
    tokens can the future begin?"""
    x = some_tokens()
    return same_before(attend, x, changed(x, 3, 4, 5), [0, 1, 2])


def the_first_token_has_a_future_too(attend):
    """The shortest beginning is missing from your test, the first token alone. Somebody lets just this one see the
    next. Where does your range begin?"""
    return same_beginnings(attend, 6, range(2, 7))


def any_for_all(attend):
    """It is enough for your test if one beginning comes out right: `any`. In how many of them may a token see its
    future?"""
    return same_beginnings(attend, 6, range(1, 6), any)


def too_forgiving(attend):
    """Your test forgives too much: a future that weighs a hundredth passes for rounding. How far apart are the same
    numbers, worked out twice?"""
    return same_beginnings(attend, 6, range(1, 7), atol=0.1)


def four_tokens_and_a_new_last_one(attend):
    """You change the last token of a sentence. That shows who sees the last token. What about those that see another
    one that they should not?"""
    x = some_tokens(4)
    return same_before(attend, x, changed(x, 3), [0, 1, 2])


def the_next_token_only(attend):
    """For each row you change the very next token. A token further off may be seen, too. What is all that row t must
    not depend on?"""
    x = some_tokens()
    return all(same_before(attend, x, changed(x, t + 1), [t]) for t in range(5))


def a_future_in_another_order(attend):
    """You put the future into another order. Attention does not mind the order: who sees all of the future gets the
    same. What else can be changed about it?"""
    x = some_tokens()
    return all(same_before(attend, x, torch.cat([x[: t + 1], x[t + 1:].flip(0)]), list(range(t + 1))) for t in range(5))


def other_values_but_the_same_length(attend):
    """You change what the future says. One implementation does not look at what it says, only at how long it is. What
    if the future were not there at all?"""
    x = some_tokens()
    return all(same_before(attend, x, changed(x, *range(t + 1, 6)), list(range(t + 1))) for t in range(5))


def one_way_of_attending(attend):
    """You compare with your own causal attention. There are other ways to mix the past, and they are no cheats: you
    were asked about the future only."""
    x = some_tokens()
    return torch.allclose(attend(x), KEEPS_THE_FUTURE["causal"](x), atol=1e-5)


def the_past_must_matter(attend):
    """You demand that a row changes when the past does. Who looks at nothing but itself learns little, but does not
    cheat."""
    x = some_tokens()
    keeps = all(torch.allclose(attend(x[: t + 1])[t], attend(x)[t], atol=1e-5) for t in range(6))
    return keeps and not same_before(attend, x, changed(x, 0), [5])


def raises_instead(attend):
    """Your test stops with an AssertionError when it finds a leak. It was to say so: return False."""
    x = some_tokens()
    assert all(torch.allclose(attend(x[: t + 1])[t], attend(x)[t], atol=1e-5) for t in range(6))
    return True


OWN_TEST = Exercise(
    name="hides_the_future",
    lesson="07",
    asked="True for every self-attention where row t is the same whatever comes after it, and False for every other: "
    "five of them have letters, the check knows more.",
    verified=proofs.hides_the_future,
    oracle=lambda attend: attend.letter in INNOCENT,
    examples=tuple((suspect,) for suspect in IN_LINE[:5]),
    sizes=tuple((i,) for i in range(5, len(IN_LINE))),
    make=lambda generator, i: (IN_LINE[i],),
    by_hand=(only_the_shape, accuses_everybody, the_first_row_only, a_row_in_the_middle, two_tokens, four_tokens,
              one_beginning, one_change_in_the_middle, the_first_token_has_a_future_too, any_for_all, too_forgiving,
              four_tokens_and_a_new_last_one, the_next_token_only, a_future_in_another_order,
              other_values_but_the_same_length, one_way_of_attending, the_past_must_matter, raises_instead),
)


EXERCISES = (
    Exercise(
        name="causal_mask",
        lesson="07",
        asked="a new table (T, T) of True and False: entry [i, j] is True where j <= i, so that query i sees itself "
        "and all before it.",
        verified=masks.causal_mask,
        oracle=torch_causal_mask,
        examples=((3,), (4,)),
        sizes=((7,), (5,), (2,), (1,), (129,)),
        make=lambda generator, T: (T,),
        calls=asked_twice,
        by_hand=(strict_lower, one_ahead, upper_triangle, inverted, everything_allowed, nothing_allowed, only_itself,
                  all_but_itself, two_tokens_only, both_neighbours, mirrored, upside_down, one_row, batch_axis,
                  one_too_large, one_too_small, squeezes_all_of_it, hard_coded_size, kept),
        properties=(
            ("A token does not see itself.", sees_itself),
            ("A token sees one that comes after it.", hides_the_future),
            ("Row i should hold i + 1 times True.", rows_grow_by_one),
        ),
    ),
    Exercise(
        name="scaled_dot_product_attention",
        lesson="07",
        asked="softmax(query key^T / √d) value, the softmax over the keys, for every sentence of the batch: "
        "(B, Tq, dv). Where the mask is False, the key has no influence at all; a query that may attend to no key "
        "gets finite numbers.",
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
        by_hand=(ignores_mask, inverted_mask, inverted_with_infinity, inverted_for_torch, zero_score,
                  after_the_softmax, renormalises, renormalises_with_epsilon, softmax_twice, plus_infinity,
                  infinity_after_the_softmax, large_positive, not_negative_enough, zero_times_infinity,
                  subtracts_true_and_false, adds_the_mask, nan_on_an_empty_row, nan_in_the_gradient, transposed_mask,
                  adds_a_head_axis, first_mask_for_all, first_row_for_all, always_causal, causal_without_a_mask,
                  causal_instead, needs_a_mask, asks_whether_a_mask_is_true, turns_all_axes, no_transpose, no_scale,
                  scale_by_d, half_of_d, twice_d, multiplies, scale_by_dv, scale_by_number_of_keys,
                  scale_by_number_of_queries, hard_coded_8, scales_the_weights, softmax_over_queries,
                  softmax_over_the_batch, softmax_over_everything, no_softmax, sigmoid, overflows,
                  one_number_subtracted_from_all, takes_the_largest, averages, returns_weights, returns_scores,
                  mixes_the_keys, adds_the_query, first_sentence_s_keys, first_sentence_s_values, sums_the_queries,
                  squeezes_everything),
        properties=(
            ("What a masked key and its value hold changes the result.", a_masked_key_has_no_influence),
            ("A mask that hides nothing changes the result.", an_open_mask_is_no_mask),
            ("Where every value is 1 the result is not 1: the weights of the allowed keys do not sum to one.",
             weights_sum_to_one),
            ("The order of the keys, values and mask columns changes the result.", order_of_the_keys_is_free),
            ("A sentence gets another result beside others than alone.", sentences_do_not_meet),
        ),
    ),
    Exercise(
        name="padding_mask",
        lesson="07",
        asked="a table (B, T) of True and False: row b begins with lengths[b] times True, and the rest is False; T is "
        "max_len or, where that is None, the longest length.",
        verified=masks.padding_mask,
        oracle=torch_padding_mask,
        examples=((torch.tensor([3, 5, 1, 2]), None), (torch.tensor([2, 1]), 5)),
        sizes=((4, 7, None), (3, 5, 8), (5, 4, 4), (3, 3, None), (3, 3, 3), (1, 4, None), (1, 1, None), (2, 1, 3),
               (2, 1100, None)),
        make=make_lengths,
        calls=lambda generator: [Call((torch.tensor([3, 0, 2]), 4), "an empty sentence"),
                                 Call((torch.tensor([3, 1]), 4), "on a GPU with max_len", on_gpu=True)],
        by_hand=(true_at_padding, padding_on_the_left, one_too_many, one_too_few, all_but_the_first, last_token_only,
                  first_padding_only, ignores_max_len, one_column_too_many, wide_as_the_sum, wide_as_the_shortest,
                  wide_as_the_first, wide_as_the_last, wide_as_the_batch, columns_are_sentences,
                  compared_without_a_column, extra_axis, squeezes_the_mask, longest_for_all, everything_real,
                  one_row_for_all, needs_max_len),
        properties=(
            ("The width is not max_len.", width_is_max_len),
            ("Row b does not hold lengths[b] times True.", rows_have_their_lengths),
            ("A real token stands after padding.", real_tokens_come_first),
        ),
    ),
    Exercise(
        name="padding_mask_from_ids",
        lesson="07",
        asked="a table (B, 1, T) of True and False: True where the token is not pad_id, wherever in the sentence it "
        "stands.",
        verified=masks.padding_mask_from_ids,
        oracle=mask_by_loop,
        examples=((torch.tensor([[5, 3, 8, 0], [4, 0, 0, 0]]), 0), (torch.tensor([[7, 7, 0, 9], [3, 8, 7, 7]]), 7)),
        sizes=((3, 6, 4), (5, 2, 2), (4, 4, 3), (1, 3, 5), (2, 1, 1), (1, 1, 1)),
        make=make_ids,
        by_hand=(marks_the_padding, no_middle_axis, squeezes_the_ids, axis_at_the_end, axis_in_front, two_new_axes,
                  pairs_of_real_tokens, repeated_for_each_query, always_zero, larger_than, not_below, smaller_than,
                  counted_from_the_left, causal_as_well, one_sentence_for_all, first_sentence_for_all,
                  nothing_is_padding, one_for_each_sentence, flattened, in_position_order),
        properties=(
            ("The shape is not (B, 1, T).", middle_axis_is_one),
            ("Whether a token counts as real depends on where it stands.", a_token_is_judged_by_itself),
        ),
    ),
    OWN_TEST,
)
