"""Right answers of lesson 07 in other people's styles."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.right_answers.loops import mix


def by_loop(query, key, value, mask=None):
    """Only the allowed keys are ever looked at."""
    B, Tq, Tk, d = *query.shape[:2], *key.shape[1:]
    allowed = torch.ones(B, Tq, Tk, dtype=torch.bool) if mask is None else mask.expand(B, Tq, Tk)
    sentences = []
    for b in range(B):
        rows = []
        for q in range(Tq):
            seen = [k for k in range(Tk) if allowed[b, q, k]] or [0]
            scores = torch.stack([query[b, q] @ key[b, k] / math.sqrt(d) for k in seen])
            rows.append(mix(scores, value[b, seen]))
        sentences.append(torch.stack(rows))
    return torch.stack(sentences)


def where_and_finfo(q, k, v, mask=None):
    s = torch.bmm(q, k.mT) * q.size(-1) ** -0.5
    if mask is not None:
        s = torch.where(mask, s, torch.full_like(s, torch.finfo(s.dtype).min))
    return torch.bmm(s.softmax(2), v)


def minus_infinity_then_zeros(q, k, v, mask=None):
    s = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(k.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask.logical_not(), float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(s, -1).nan_to_num(0.0), v)


def empty_rows_open(q, k, v, mask=None):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(~(mask | ~mask.any(-1, keepdim=True)), -torch.inf)
    return torch.softmax(s, -1) @ v


def additive_number(q, k, v, mask=None):
    s = (q / q.shape[-1] ** 0.25) @ (k / q.shape[-1] ** 0.25).transpose(1, 2)
    if mask is not None:
        s = s + (1 - mask.to(s.dtype)) * -1e9
    return F.softmax(s, dim=-1).matmul(v)


def exponentials_by_hand(q, k, v, mask=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    m = torch.ones_like(s, dtype=torch.bool) if mask is None else mask
    top = s.masked_fill(~m, -1e30).amax(-1, keepdim=True)
    e = torch.exp((s - top).masked_fill(~m, -1e30))
    return e @ v / e.sum(-1, keepdim=True).clamp_min(1e-30)


def in_place_on_its_own(q, k, v, mask=None):
    s = q @ k.mT
    s /= q.shape[-1] ** 0.5
    if mask is not None:
        s.masked_fill_(mask == False, -1e12)  # noqa: E712
    return s.softmax(-1) @ v


def log_sum_exp(q, k, v, mask=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -1e30)
    return torch.exp(s - torch.logsumexp(s, -1, keepdim=True)) @ v


def built_in(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def built_in_with_heads(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(len(q), q.shape[1], k.shape[1])[:, None]
    return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], mask)[:, 0]


def causal_by_loop(T):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, : i + 1] = True
    return mask


def causal_entry_by_entry(T):
    mask = torch.zeros(T, T).bool()
    for i in range(T):
        for j in range(T):
            mask[i, j] = j <= i
    return mask


def padding_by_loop(lengths, max_len=None):
    T = max_len if max_len is not None else max(lengths.tolist())
    mask = torch.zeros((len(lengths), T), dtype=torch.bool, device=lengths.device)
    for row, length in zip(mask, lengths, strict=True):
        row[:length] = True
    return mask


def padding_by_sum(lengths, max_len=None):
    T = lengths.max().item() if max_len is None else max_len
    return torch.ones(len(lengths), T, dtype=torch.long, device=lengths.device).cumsum(1) <= lengths.unsqueeze(1)


def padding_by_cumulation(lengths, max_len=None):
    T = lengths.max() if max_len is None else max_len
    return torch.stack([torch.arange(T, device=lengths.device) < n for n in lengths])


def padding_by_lists(lengths, max_len=None):
    rows = lengths.tolist()
    T = max(rows) if max_len is None else max_len
    return torch.tensor([[True] * n + [False] * (T - n) for n in rows], device=lengths.device)


def padding_by_pad_sequence(lengths, max_len=None):
    rows = [torch.ones(int(n), dtype=torch.bool, device=lengths.device) for n in lengths]
    out = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return out if max_len is None else F.pad(out, (0, max_len - out.shape[1]))


def ids_by_loop(ids, pad_id=0):
    mask = torch.ones(ids.shape[0], 1, ids.shape[1], dtype=torch.bool, device=ids.device)
    for b in range(len(ids)):
        for t in range(ids.shape[1]):
            if ids[b, t] == pad_id:
                mask[b, 0, t] = False
    return mask


RIGHT_ANSWERS = {
    "causal_mask": {
        "loop": causal_by_loop,
        "entry by entry": causal_entry_by_entry,
        "comparison": lambda T: torch.arange(T)[:, None] >= torch.arange(T),
        "not above": lambda T: ~torch.triu(torch.ones(T, T), diagonal=1).bool(),
        "numbers turned to bool": lambda T: torch.tril(torch.ones(T, T)) == 1,
        "lists": lambda T: torch.tensor([[j <= i for j in range(T)] for i in range(T)]),
        "numpy": lambda T: torch.from_numpy(np.tri(T, dtype=bool)),
        "sums": lambda T: torch.eye(T).cumsum(0).bool(),
        "built-in": lambda T: torch.isfinite(torch.nn.Transformer.generate_square_subsequent_mask(T)),
    },
    "scaled_dot_product_attention": {
        "loop": by_loop,
        "where and finfo": where_and_finfo,
        "minus infinity, then zeros": minus_infinity_then_zeros,
        "empty rows opened": empty_rows_open,
        "additive -1e9": additive_number,
        "exponentials by hand": exponentials_by_hand,
        "in place on its own scores": in_place_on_its_own,
        "log-sum-exp": log_sum_exp,
        "built-in": built_in,
        "built-in with a head axis": built_in_with_heads,
    },
    "padding_mask": {
        "loop": padding_by_loop,
        "running count": padding_by_sum,
        "row by row": padding_by_cumulation,
        "lists": padding_by_lists,
        "pad_sequence": padding_by_pad_sequence,
        "expand": lambda lengths, max_len=None: torch.arange(
            max_len or lengths.max(), device=lengths.device)[None].expand(len(lengths), -1) < lengths.view(-1, 1),
    },
    "padding_mask_from_ids": {
        "loop": ids_by_loop,
        "unsqueeze": lambda ids, pad_id=0: ids.ne(pad_id).unsqueeze(1),
        "not equal, turned round": lambda ids, pad_id=0: ~(ids == pad_id)[:, None],
        "view": lambda ids, pad_id=0: (ids != pad_id).reshape(ids.shape[0], 1, ids.shape[1]),
        "where": lambda ids, pad_id=0: torch.where(ids == pad_id, 0, 1).bool()[:, None, :],
        "einops without einops": lambda ids, pad_id=0: torch.stack([(ids - pad_id).bool()], 1),
    },
}


def sentence(T, seed=0):
    return torch.randn(T, 4, generator=torch.Generator().manual_seed(seed))


def cut_off(attend):
    """Every prefix of a sentence by itself."""
    x = sentence(7)
    return all(torch.allclose(attend(x[:n]), attend(x)[:n], atol=1e-4) for n in range(1, 8))


def by_gradients(attend):
    """No row may feel a later token; and a longer sentence must not tell its length."""
    x = sentence(6)
    jacobian = torch.autograd.functional.jacobian(attend, x).abs().sum((1, 3))  # (T, T)
    return bool(jacobian.triu(1).max() < 1e-6) and torch.allclose(attend(x[:3]), attend(x)[:3], atol=1e-4)


def another_ending(attend):
    """Two endings for every beginning, different in what they say and in length."""
    x, other = sentence(6), sentence(9, seed=1)
    return all(torch.allclose(attend(torch.cat([x[:t], other]))[:t], attend(torch.cat([x[:t], 1 - other[:2]]))[:t],
                              atol=1e-4) for t in range(1, 6))


def one_more_token(attend):
    """A token that is added changes nothing that was there."""
    x = sentence(8)
    for t in range(1, 8):
        if (attend(x[: t + 1])[:t] - attend(x[:t])).abs().max() > 1e-4:
            return False
    return True


def rows_alone(attend):
    """The last row of each prefix, put together, is the whole."""
    x = sentence(5)
    return bool(torch.stack([attend(x[: t + 1])[-1] for t in range(5)]).sub(attend(x)).abs().max() < 1e-4)


RIGHT_ANSWERS["hides_the_future"] = {f.__name__: f for f in (cut_off, by_gradients, another_ending, one_more_token,
                                                             rows_alone)}
