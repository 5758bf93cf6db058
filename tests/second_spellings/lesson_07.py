"""Mistakes of lesson 07 once more, each thought wrong in the same way and written by somebody else."""

import functools
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# --- causal_mask ------------------------------------------------------------------------------------------------


def strictly_before_in_two_loops(T):
    allowed = torch.zeros((T, T), dtype=torch.bool)
    for query in range(T):
        for key in range(T):
            if key < query:
                allowed[query, key] = True
    return allowed


def up_to_the_next_by_index(T):
    place = torch.arange(T)
    return place.unsqueeze(0) - place.unsqueeze(1) <= 1


def from_itself_on_by_index(T):
    rows, columns = torch.meshgrid(torch.arange(T), torch.arange(T), indexing="ij")
    return torch.ge(columns, rows)


def where_torch_writes_infinity(T):
    return torch.isinf(nn.Transformer.generate_square_subsequent_mask(T))


def eye_of_bools(T):
    return torch.eye(T) == 1


def a_diagonal_and_the_one_below(T):
    band = torch.diag(torch.ones(T)) + torch.diag(torch.ones(T - 1), diagonal=-1)
    return band.bool()


def three_diagonals(T):
    distance = (torch.arange(T)[:, None] - torch.arange(T)[None]).abs()
    return distance < 2


def whole_table_of_true(T):
    return torch.tensor([[True] * T for _ in range(T)], dtype=torch.bool)


def longest_row_first(T):
    rows = [[1] * (T - i) + [0] * i for i in range(T)]
    return torch.tensor(rows).bool()


def numpy_with_an_axis_in_front(T):
    return torch.from_numpy(np.tril(np.ones((1, T, T))).astype(bool))


def stack_and_squeeze(T):
    rows = [torch.arange(T).le(i).unsqueeze(0) for i in range(T)]
    return torch.stack(rows).squeeze()


def the_left_side_is_the_right_side(T):
    return torch.tensor([[False] * (T - 1 - i) + [True] * (i + 1) for i in range(T)])


def as_long_as_in_my_example(T):
    size = 8
    return torch.ones(size, size).tril().bool()


def counts_from_one(T):
    numbers = torch.arange(T + 1)
    return numbers.view(1, -1) <= numbers.view(-1, 1)


@functools.cache
def made_once_for_each_size(T):
    table = torch.full((T, T), False)
    for i in range(T):
        table[i, : i + 1] = True
    return table


# --- scaled_dot_product_attention -------------------------------------------------------------------------------


def einsum_fills_what_is_allowed(query, key, value, mask=None):
    logits = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        logits = logits.masked_fill(mask, -1e9)
    return torch.einsum("bqk,bkv->bqv", F.softmax(logits, dim=2), value)


def forgets_what_masked_fill_returns(query, key, value, mask=None):
    att = torch.bmm(query, key.transpose(1, 2)).div(query.shape[2] ** 0.5)
    if mask is not None:
        att.masked_fill(mask == 0, float("-inf"))
    return torch.bmm(att.softmax(-1), value)


def where_zero_stands_for_hidden(query, key, value, mask=None):
    logits = torch.einsum("bid,bjd->bij", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        logits = torch.where(mask, logits, torch.zeros_like(logits))
    return torch.einsum("bij,bjv->biv", logits.softmax(-1), value)


def weights_times_mask(query, key, value, mask=None):
    attention = F.softmax(torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(key.shape[-1]), -1)
    if mask is not None:
        attention = torch.mul(attention, mask)
    return attention.bmm(value)


def divides_what_is_left_by_its_sum(query, key, value, mask=None):
    p = ((query @ key.permute(0, 2, 1)) / math.sqrt(query.size(2))).softmax(dim=-1)
    if mask is None:
        return p @ value
    kept = torch.where(mask, p, 0.0)
    return (kept / kept.sum(2, keepdim=True)).matmul(value)


def normalise_after_masking(query, key, value, mask=None):
    p = torch.softmax(torch.baddbmm(torch.zeros(1, 1, 1).to(query), query, key.mT, alpha=query.size(-1) ** -0.5), -1)
    if mask is not None:
        p = F.normalize(p * mask, p=1, dim=-1)
    return p @ value


def second_softmax_instead_of_dividing(query, key, value, mask=None):
    probabilities = F.softmax(query.matmul(key.mT) / query.shape[-1] ** 0.5, dim=-1)
    if mask is not None:
        probabilities = F.softmax(probabilities.masked_fill(mask.logical_not(), 0.0), dim=-1)
    return probabilities.matmul(value)


def additive_mask_of_minus_infinity(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -math.inf).to(scores)
    return F.softmax(scores, -1) @ value


def minus_ten(query, key, value, mask=None):
    energy = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        energy[~mask.expand_as(energy)] = -10.0
    return torch.einsum("bqk,bkv->bqv", F.softmax(energy, -1), value)


def minus_a_hundred(query, key, value, mask=None):
    energy = (query / math.sqrt(query.shape[-1])).bmm(key.transpose(-1, -2))
    if mask is not None:
        energy = torch.where(mask, energy, torch.full_like(energy, -100))
    return energy.softmax(2).bmm(value)


def built_in_with_a_float_mask(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, None if mask is None else mask.to(query.dtype))


def mask_times_minus_infinity(query, key, value, mask=None):
    scores = query @ key.transpose(2, 1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores += (~mask).to(scores.dtype) * float("-inf")
    return torch.softmax(scores, -1) @ value


def zero_for_what_is_nan(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key).div(math.sqrt(query.shape[-1]))
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, device=mask.device).to(scores).masked_fill(mask == 0, -torch.inf)
    weights = scores.softmax(-1)
    return torch.where(torch.isnan(weights), 0.0, weights).bmm(value)


def one_minus_mask(query, key, value, mask=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + (1.0 - mask) * -1e9
    return torch.bmm(F.softmax(scores, dim=-1), value)


def built_in_with_scale_one(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1.0)


def built_in_scaled_by_the_width(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=1 / query.size(-1))


def half_a_power(query, key, value, mask=None):
    d = query.shape[-1]
    scores = torch.einsum("bqd,bkd->bqk", query, key) / (d**1 / 2)
    if mask is not None:
        scores = scores.masked_fill(torch.logical_not(mask), -1e9)
    return scores.softmax(-1) @ value


def times_the_root(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query * math.sqrt(query.size(-1)), key)
    bias = 0 if mask is None else torch.zeros(mask.shape, device=mask.device).to(scores).masked_fill_(~mask, -1e30)
    return torch.softmax(scores + bias, dim=-1) @ value


def root_of_how_many_keys(query, key, value, mask=None):
    scores = query.bmm(key.mT) / len(key[0]) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    return F.softmax(scores, dim=-1).bmm(value)


def exponentials_shared_by_column(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    e = torch.exp(scores - scores.amax(1, keepdim=True))
    return torch.einsum("bqk,bkv->bqv", e / e.sum(1, keepdim=True), value)


def softmax_with_axis_zero(query, key, value, mask=None):
    scores = query.matmul(key.transpose(-1, -2)).div(query.shape[-1] ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
    return nn.Softmax(dim=0)(scores).matmul(value)


def plain_exponentials(query, key, value, mask=None):
    e = torch.exp(torch.einsum("bqd,bkd->bqk", query, key) / query.size(-1) ** 0.5)
    if mask is not None:
        e = e * mask
        e = torch.where(mask.any(-1, keepdim=True), e, torch.ones_like(e))
    return torch.einsum("bqk,bkv->bqv", e / e.sum(-1, keepdim=True), value)


def exponentials_and_then_the_mask(query, key, value, mask=None):
    e = torch.exp(query.bmm(key.mT).div(math.sqrt(query.size(-1))))
    if mask is not None:
        e = e.masked_fill(mask.logical_not(), 0)
    return (e @ value) / e.sum(-1).unsqueeze(-1)


def triangle_where_there_is_no_mask(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)


def triangle_and_mask(query, key, value, mask=None):
    Tq, Tk = query.shape[1], key.shape[1]
    sees = torch.arange(Tk, device=query.device) <= torch.arange(Tq, device=query.device)[:, None]
    if mask is not None:
        sees = sees & mask
    return F.scaled_dot_product_attention(query, key, value, attn_mask=sees)


def inverts_before_asking(query, key, value, mask=None):
    hidden = torch.logical_not(mask)
    scores = torch.einsum("bqd,bkd->bqk", query, key) / query.size(-1) ** 0.5
    scores = scores.masked_fill(hidden, -1e9)
    return F.softmax(scores, -1).bmm(value)


def if_mask(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.size(-1))
    if mask:
        scores = scores.masked_fill(mask.logical_not(), -1e9)
    return torch.einsum("bqk,bkv->bqv", scores.softmax(2), value)


def capital_t(query, key, value, mask=None):
    scores = torch.matmul(query, key.permute(2, 1, 0)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    return torch.matmul(F.softmax(scores, -1), value)


def forgets_to_mix(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.size(-1))
    scores = scores if mask is None else torch.where(mask, scores, torch.finfo(scores.dtype).min)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def the_winner_takes_all(query, key, value, mask=None):
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.gather(value, 1, scores.argmax(-1)[..., None].expand(-1, -1, value.shape[-1]))


def hidden_gets_a_billion(query, key, value, mask=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, 1e9)
    return scores.softmax(-1) @ value


def means_of_what_may_be_seen(query, key, value, mask=None):
    B, Tq, Tk = query.shape[0], query.shape[1], key.shape[1]
    sees = torch.ones(B, Tq, Tk, device=value.device).to(value) if mask is None else mask.expand(B, Tq, Tk).to(value)
    return torch.bmm(sees, value) / sees.sum(-1, keepdim=True).clamp(min=1)


# --- padding_mask -----------------------------------------------------------------------------------------------


def true_from_the_length_on(lengths, max_len=None):
    width = max(lengths.tolist()) if max_len is None else max_len
    mask = torch.zeros(len(lengths), width, dtype=torch.bool, device=lengths.device)
    for b, n in enumerate(lengths.tolist()):
        mask[b, n:] = True
    return mask


def fills_from_the_right(lengths, max_len=None):
    width = lengths.max().item() if max_len is None else max_len
    mask = torch.zeros(lengths.size(0), width, device=lengths.device)
    for row, n in zip(mask, lengths.tolist(), strict=True):
        row[width - n :] = 1
    return mask.bool()


def length_itself_is_included(lengths, max_len=None):
    if max_len is None:
        max_len = int(torch.max(lengths))
    position = torch.arange(max_len, device=lengths.device).repeat(len(lengths), 1)
    return torch.le(position, lengths.view(-1, 1))


def positions_counted_from_one(lengths, max_len=None):
    width = int(lengths.amax()) if max_len is None else max_len
    places = torch.arange(1, width + 1, device=lengths.device)
    return lengths.unsqueeze(1) > places.unsqueeze(0)


def always_up_to_the_longest(lengths, max_len=None):
    return torch.stack([torch.arange(int(lengths.max()), device=lengths.device) < n for n in lengths])


def position_by_sentence(lengths, max_len=None):
    steps = torch.arange(max_len if max_len is not None else int(lengths.max()), device=lengths.device)
    return steps.reshape(-1, 1).lt(lengths.reshape(1, -1))


def compares_as_they_are(lengths, max_len=None):
    width = int(lengths.max()) if max_len is None else max_len
    return lengths > torch.arange(0, width, device=lengths.device)


def ready_for_attention(lengths, max_len=None):
    width = lengths.max().item() if max_len is None else max_len
    return torch.stack([torch.arange(width, device=lengths.device).lt(n).unsqueeze(0) for n in lengths.tolist()])


def squeezed_at_the_end(lengths, max_len=None):
    width = int(max(lengths)) if max_len is None else max_len
    rows = [[t < n for t in range(width)] for n in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device).squeeze()


def as_wide_as_the_list(lengths, max_len=None):
    if max_len is None:
        max_len = len(lengths)
    return torch.arange(max_len, device=lengths.device).expand(len(lengths), -1) < lengths[:, None]


def python_range_of_max_len(lengths, max_len=None):
    return torch.tensor([[t < n for t in range(max_len)] for n in lengths.tolist()], device=lengths.device)


def widest_is_the_last(lengths, max_len=None):
    width = lengths[-1].item() if max_len is None else max_len
    return lengths.unsqueeze(-1) > torch.arange(width, device=lengths.device)


# --- padding_mask_from_ids --------------------------------------------------------------------------------------


def marks_by_eq(ids, pad_id=0):
    return torch.eq(ids, pad_id).unsqueeze(1)


def two_axes_are_enough(ids, pad_id=0):
    return torch.logical_not(ids.eq(pad_id))


def a_column_for_each_token(ids, pad_id=0):
    return ids.ne(pad_id).unsqueeze(2)


def in_front_of_the_batch(ids, pad_id=0):
    return torch.where(ids == pad_id, False, True).unsqueeze(0)


def four_axes_for_heads(ids, pad_id=0):
    B, T = ids.shape
    return ids.ne(pad_id).view(B, 1, 1, T)


def outer_product_of_real_tokens(ids, pad_id=0):
    real = (ids != pad_id).float()
    return torch.einsum("bi,bj->bij", real, real).bool()


def a_copy_for_each_query(ids, pad_id=0):
    real = ids.ne(pad_id)
    return torch.stack([real] * ids.shape[1], dim=1)


def true_is_what_is_not_zero(ids, pad_id=0):
    return ids.bool().reshape(ids.shape[0], 1, -1)


def above_the_pad(ids, pad_id=0):
    return torch.gt(ids, pad_id).reshape(len(ids), 1, ids.size(1))


def not_below_the_pad(ids, pad_id=0):
    return ~(ids < pad_id).unsqueeze(-2)


def counts_and_marks_from_the_left(ids, pad_id=0):
    real = torch.stack([(row != pad_id).sum() for row in ids])
    return torch.arange(ids.shape[1], device=ids.device)[None, None] < real[:, None, None]


def with_a_triangle(ids, pad_id=0):
    T = ids.shape[1]
    back = torch.arange(T, device=ids.device)[:, None] >= torch.arange(T, device=ids.device)
    return torch.logical_and(ids.ne(pad_id)[:, None], back[None])


def squeezed_row_by_row(ids, pad_id=0):
    return torch.stack([row != pad_id for row in ids])[:, None].squeeze()


# --- hides_the_future -------------------------------------------------------------------------------------------


def looks_at_the_size(attend):
    x = torch.rand(4, 5)
    return attend(x).size() == x.size()


def change_what_comes_after_the_first(attend):
    x = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))
    y = torch.cat([x[:1], torch.randn(6, 4, generator=torch.Generator().manual_seed(2))])
    return bool((attend(x)[0] - attend(y)[0]).abs().max() < 1e-5)


def other_last_token_of_four(attend):
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(5))
    y = x.clone()
    y[3] += 2.0
    return torch.allclose(attend(x)[:3], attend(y)[:3], atol=1e-5)


def other_last_token_of_eight(attend):
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(16))
    y = torch.cat([x[:-1], -x[-1:]])
    return torch.allclose(attend(x)[:-1], attend(y)[:-1], atol=1e-5)


def cut_off_the_last_token(attend):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(17))
    return (attend(x)[:-1] - attend(x[:-1])).abs().max().item() < 1e-5


def the_fourth_row_of_six(attend):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(18))
    return torch.allclose(attend(x)[3], attend(x[:4])[3], atol=1e-5)


def cut_once_in_the_middle(attend):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(8))
    return (attend(x)[:3] - attend(x[:3])).abs().max().item() < 1e-5


def other_second_half(attend):
    first, second, another = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(4))
    one, other = attend(torch.cat([first, second])), attend(torch.cat([first, another]))
    return bool(torch.isclose(one[:3], other[:3], atol=1e-5).all())


def two_tokens_are_a_sentence(attend):
    x = torch.tensor([[1.0, 0.5, -1.0], [0.3, -2.0, 1.0]])
    alone = attend(x[:1])
    return torch.allclose(attend(x)[0], alone[0], atol=1e-5)


def short_sentence_prefix_by_prefix(attend):
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(3))
    out = attend(x)
    for n in (1, 2, 3):
        if not torch.allclose(out[:n], attend(x[:n]), atol=1e-5):
            return False
    return True


def one_good_prefix_will_do(attend):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(6))
    whole = attend(x)
    for n in range(1, 7):
        if torch.allclose(attend(x[:n])[-1], whole[n - 1], atol=1e-5):
            return True
    return False


def shuffles_what_comes_after(attend):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(7))
    whole = attend(x)
    for t in range(5):
        turned = torch.cat([x[: t + 1], x[t + 1 :].flip(0)])
        if (attend(turned)[: t + 1] - whole[: t + 1]).abs().max() > 1e-5:
            return False
    return True


def new_numbers_after_each_token(attend):
    g = torch.Generator().manual_seed(9)
    x = torch.randn(8, 4, generator=g)
    out = attend(x)
    same = []
    for t in range(7):
        y = x.clone()
        y[t + 1 :] = torch.randn(7 - t, 4, generator=g)
        same.append(torch.allclose(attend(y)[t], out[t], atol=1e-5))
    return False not in same


def same_as_my_own(attend):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(10))
    mine = F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)[0]
    return torch.allclose(attend(x), mine, atol=1e-5)


def asserts_for_every_prefix(attend):
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(11))
    whole = attend(x)
    for n in range(1, 8):
        torch.testing.assert_close(attend(x[:n])[n - 1], whole[n - 1], atol=1e-4, rtol=1e-4)
    return True


def a_tenth_is_near_enough(attend):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(12))
    whole = attend(x)
    return all((attend(x[:n]) - whole[:n]).abs().max() < 0.1 for n in range(1, 7))


def the_past_has_to_count(attend):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(13))
    other = torch.cat([x[:1] + 1, x[1:]])
    causal = all(torch.allclose(attend(x[:n])[-1], attend(x)[n - 1], atol=1e-5) for n in range(1, 7))
    return causal and not torch.allclose(attend(x)[-1], attend(other)[-1], atol=1e-5)


def begins_with_two_tokens(attend):
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(14))
    prefixes = [x[:n] for n in range(2, 8)]
    return all(torch.allclose(a[-1], b, atol=1e-5) for a, b in zip(map(attend, prefixes), attend(x)[1:], strict=True))


def moves_the_neighbour_alone(attend):
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(15))
    for t, sign in itertools.product(range(5), (-1, 1)):
        y = x.clone()
        y[t + 1] = y[t + 1] + 3 * sign
        if not torch.allclose(attend(x)[t], attend(y)[t], atol=1e-5):
            return False
    return True


SPELLINGS = {
    "causal_mask": {
        "strict-lower": strictly_before_in_two_loops,
        "one-ahead": up_to_the_next_by_index,
        "upper-triangle": from_itself_on_by_index,
        "inverted": where_torch_writes_infinity,
        "only-itself": eye_of_bools,
        "two-tokens-only": a_diagonal_and_the_one_below,
        "both-neighbours": three_diagonals,
        "everything-allowed": whole_table_of_true,
        "mirrored": the_left_side_is_the_right_side,
        "upside-down": longest_row_first,
        "batch-axis": numpy_with_an_axis_in_front,
        "squeezes-all-of-it": stack_and_squeeze,
        "one-too-large": counts_from_one,
        "kept": made_once_for_each_size,
        "hard-coded-size": as_long_as_in_my_example,
    },
    "scaled_dot_product_attention": {
        "inverted-mask": einsum_fills_what_is_allowed,
        "ignores-mask": forgets_what_masked_fill_returns,
        "zero-score": where_zero_stands_for_hidden,
        "after-the-softmax": weights_times_mask,
        "renormalises": divides_what_is_left_by_its_sum,
        "renormalises-with-epsilon": normalise_after_masking,
        "softmax-twice": second_softmax_instead_of_dividing,
        "nan-on-an-empty-row": additive_mask_of_minus_infinity,
        "not-negative-enough": minus_a_hundred,
        "adds-the-mask": built_in_with_a_float_mask,
        "zero-times-infinity": mask_times_minus_infinity,
        "nan-in-the-gradient": zero_for_what_is_nan,
        "subtracts-true-and-false": one_minus_mask,
        "no-scale": built_in_with_scale_one,
        "scale-by-d": built_in_scaled_by_the_width,
        "half-of-d": half_a_power,
        "multiplies": times_the_root,
        "scale-by-number-of-keys": root_of_how_many_keys,
        "softmax-over-queries": exponentials_shared_by_column,
        "softmax-over-the-batch": softmax_with_axis_zero,
        "overflows": exponentials_and_then_the_mask,
        "causal-without-a-mask": triangle_where_there_is_no_mask,
        "always-causal": triangle_and_mask,
        "asks-whether-a-mask-is-true": if_mask,
        "turns-all-axes": capital_t,
        "returns-weights": forgets_to_mix,
        "takes-the-largest": the_winner_takes_all,
        "large-positive": hidden_gets_a_billion,
        "averages": means_of_what_may_be_seen,
        "needs-a-mask": inverts_before_asking,
    },
    "padding_mask": {
        "true-at-padding": true_from_the_length_on,
        "padding-on-the-left": fills_from_the_right,
        "one-too-many": length_itself_is_included,
        "one-too-few": positions_counted_from_one,
        "ignores-max-len": always_up_to_the_longest,
        "columns-are-sentences": position_by_sentence,
        "compared-without-a-column": compares_as_they_are,
        "extra-axis": ready_for_attention,
        "squeezes-the-mask": squeezed_at_the_end,
        "wide-as-the-batch": as_wide_as_the_list,
        "wide-as-the-last": widest_is_the_last,
        "needs-max-len": python_range_of_max_len,
    },
    "padding_mask_from_ids": {
        "marks-the-padding": marks_by_eq,
        "no-middle-axis": two_axes_are_enough,
        "axis-at-the-end": a_column_for_each_token,
        "axis-in-front": in_front_of_the_batch,
        "two-new-axes": four_axes_for_heads,
        "pairs-of-real-tokens": outer_product_of_real_tokens,
        "repeated-for-each-query": a_copy_for_each_query,
        "always-zero": true_is_what_is_not_zero,
        "larger-than": above_the_pad,
        "not-below": not_below_the_pad,
        "counted-from-the-left": counts_and_marks_from_the_left,
        "causal-as-well": with_a_triangle,
        "squeezes-the-ids": squeezed_row_by_row,
    },
    "hides_the_future": {
        "only-the-shape": looks_at_the_size,
        "the-first-row-only": change_what_comes_after_the_first,
        "four-tokens-and-a-new-last-one": other_last_token_of_four,
        "one-beginning": cut_once_in_the_middle,
        "one-change-in-the-middle": other_second_half,
        "two-tokens": two_tokens_are_a_sentence,
        "four-tokens": short_sentence_prefix_by_prefix,
        "a-future-in-another-order": shuffles_what_comes_after,
        "other-values-but-the-same-length": new_numbers_after_each_token,
        "one-way-of-attending": same_as_my_own,
        "the-past-must-matter": the_past_has_to_count,
        "the-next-token-only": moves_the_neighbour_alone,
        "a-row-in-the-middle": the_fourth_row_of_six,
        "the-first-token-has-a-future-too": begins_with_two_tokens,
        "too-forgiving": a_tenth_is_near_enough,
        "raises-instead": asserts_for_every_prefix,
        "any-for-all": other_last_token_of_eight,
    },
}
UNNAMED = {
    "hides_the_future": {
        "any-for-all": (
            one_good_prefix_will_do,
            "the whole sentence is one of its prefixes, so all get through; what only-the-shape says covers that, too",
            "only-the-shape"),
    },
}
