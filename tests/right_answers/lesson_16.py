"""Right answers of lesson 16 in other people's styles."""

import math

import torch
import torch.nn.functional as F

# attend_with_cache


def step_by_torch(q, k, v, cache=None):
    keys, values = (k, v) if cache is None else (torch.cat((cache[0], k), -2), torch.cat((cache[1], v), -2))
    return F.scaled_dot_product_attention(q, keys, values), (keys, values)


def step_by_einsum(q, k, v, cache=None):
    """The cache as a list."""
    kept = [k, v] if cache is None else [torch.cat([old, new], 2) for old, new in zip(cache, (k, v), strict=True)]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, kept[0]) / math.sqrt(q.size(-1))
    return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), kept[1]), kept


def step_with_empty_cache(q, k, v, cache=None):
    """Before the first token there are no keys, and that is a tensor, too."""
    if cache is None:
        cache = k[:, :, :0], v[:, :, :0]
    keys, values = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
    weights = F.softmax(q.matmul(keys.mT) * q.shape[-1] ** -0.5, dim=-1)
    return weights.matmul(values), (keys, values)


def step_into_new_memory(q, k, v, cache=None):
    """One tensor of the right length, filled from two sides."""
    t = 0 if cache is None else cache[0].shape[2]
    grown = []
    for which, new in enumerate((k, v)):
        room = new.new_empty(*new.shape[:2], t + 1, new.shape[-1])
        if t:
            room[:, :, :t] = cache[which]
        room[:, :, t:] = new
        grown.append(room)
    keys, values = grown
    scores = (q * keys).sum(-1) / math.sqrt(q.shape[-1])  # (B, H, t + 1)
    out = (scores.softmax(-1)[..., None] * values).sum(2, keepdim=True)
    return out, (keys, values)


def step_head_by_head(q, k, v, cache=None):
    keys = k if cache is None else torch.cat([cache[0], k], 2)
    values = v if cache is None else torch.cat([cache[1], v], 2)
    out = torch.stack([torch.stack([
        torch.softmax(keys[b, h] @ q[b, h, 0] / q.shape[-1] ** 0.5, 0) @ values[b, h]
        for h in range(q.shape[1])]) for b in range(q.shape[0])])
    return out[:, :, None], (keys, values)


def step_in_two_parts(q, k, v, cache=None):
    """Scores of the cache and of the newest token, side by side before the softmax."""
    if cache is None:
        return v + 0 * q.sum() + 0 * k.sum(), (k, v)
    old_k, old_v = cache
    scores = torch.cat([q @ old_k.transpose(2, 3), q @ k.transpose(2, 3)], -1) / q.shape[-1] ** 0.5
    w = scores.softmax(-1)
    return w[..., :-1] @ old_v + w[..., -1:] * v, (torch.cat([old_k, k], 2), torch.cat([old_v, v], 2))


# online_softmax_attention


def blocks_by_index(query, key, value, block):
    d = query.shape[1]
    m = torch.full((query.shape[0],), float("-inf"), dtype=query.dtype, device=query.device)
    s = torch.zeros_like(m)
    out = torch.zeros(query.shape[0], value.shape[1], dtype=query.dtype, device=query.device)
    for start in range(0, key.shape[0], block):
        scores = query @ key[start : start + block].t() / math.sqrt(d)
        m_new = torch.maximum(m, scores.max(dim=1).values)
        p = torch.exp(scores - m_new[:, None])
        alpha = torch.exp(m - m_new)
        s = s * alpha + p.sum(dim=1)
        out = out * alpha[:, None] + p @ value[start : start + block]
        m = m_new
    return out / s[:, None]


def blocks_normalised_as_they_go(query, key, value, block):
    """The mean of what was read so far, right after each block."""
    largest = total = mean = None
    for k, v in zip(torch.split(key, block), torch.split(value, block), strict=True):
        scores = (query / query.shape[-1] ** 0.5) @ k.mT
        top = scores.amax(-1, keepdim=True)
        w = (scores - top).exp()
        own, part = w.sum(-1, keepdim=True), w @ v
        if largest is None:
            largest, total, mean = top, own, part / own
            continue
        new = torch.maximum(largest, top)
        old_share, new_share = total * (largest - new).exp(), own * (top - new).exp()
        total = old_share + new_share
        mean = (mean * old_share + part * (top - new).exp()) / total
        largest = new
    return mean


def blocks_by_log_sum_exp(query, key, value, block):
    """A logarithm of the sum for each query, and results that are mixed by it."""
    log_total, out = None, None
    for start in range(0, len(key), block):
        scores = query @ key[start : start + block].T / query.shape[-1] ** 0.5
        own = torch.logsumexp(scores, -1, keepdim=True)
        part = torch.softmax(scores, -1) @ value[start : start + block]
        if out is None:
            log_total, out = own, part
        else:
            new = torch.logaddexp(log_total, own)
            out = out * (log_total - new).exp() + part * (own - new).exp()
            log_total = new
    return out


def blocks_query_by_query(query, key, value, block):
    rows = []
    for q in query:
        largest, total, mixed = q.new_tensor(float("-inf")), q.new_zeros(()), value.new_zeros(value.shape[1])
        for k, v in zip(key.split(block), value.split(block), strict=True):
            scores = k @ q / q.shape[0] ** 0.5
            new = torch.maximum(largest, scores.max())
            weights = torch.exp(scores - new)
            total = total * torch.exp(largest - new) + weights.sum()
            mixed = mixed * torch.exp(largest - new) + weights @ v
            largest = new
        rows.append(mixed / total)
    return torch.stack(rows)


def blocks_in_two_passes(query, key, value, block):
    """First the largest score of each query, then the sums."""
    scale = query.shape[-1] ** -0.5
    largest = torch.stack([(query @ k.T * scale).amax(-1) for k in key.split(block)]).amax(0)[:, None]
    total, mixed = 0, 0
    for k, v in zip(key.split(block), value.split(block), strict=True):
        w = torch.exp(query @ k.T * scale - largest)
        total, mixed = total + w.sum(-1, keepdim=True), mixed + w @ v
    return mixed / total


def blocks_with_a_column_of_ones(query, key, value, block):
    """The sum of the weights is what they make of a value of 1."""
    value = torch.cat([value, torch.ones_like(value[:, :1])], dim=-1)
    largest, mixed = torch.full_like(query[:, :1], -torch.inf), query.new_zeros(len(query), value.shape[-1])
    for i in range(math.ceil(len(key) / block)):
        part = slice(i * block, (i + 1) * block)
        scores = query @ key[part].T / query.shape[-1] ** 0.5
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        mixed = mixed * (largest - new).exp() + (scores - new).exp() @ value[part]
        largest = new
    return mixed[:, :-1] / mixed[:, -1:]


RIGHT_ANSWERS = {
    "attend_with_cache": {
        "torch": step_by_torch,
        "einsum and a list": step_by_einsum,
        "empty cache": step_with_empty_cache,
        "new memory": step_into_new_memory,
        "head by head": step_head_by_head,
        "two parts": step_in_two_parts,
    },
    "online_softmax_attention": {
        "by index": blocks_by_index,
        "a mean so far": blocks_normalised_as_they_go,
        "log-sum-exp": blocks_by_log_sum_exp,
        "query by query": blocks_query_by_query,
        "two passes": blocks_in_two_passes,
        "a column of ones": blocks_with_a_column_of_ones,
    },
}
