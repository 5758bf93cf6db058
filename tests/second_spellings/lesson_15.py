"""Mistakes of lessons 15 and 15b, each as somebody else would make it who never saw the course's own spelling."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# mean_pool


def lengths(vectors):
    return torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)


def means(hidden, mask):
    """The right means, text by text."""
    return torch.stack([text[real].mean(0) for text, real in zip(hidden, mask, strict=True)])


def pool_over_padding(hidden, mask):
    mean = torch.einsum("btd->bd", hidden) / hidden.shape[1]
    return mean / lengths(mean)


def pool_the_padding(hidden, mask):
    padding = 1 - mask.to(hidden.dtype)
    mean = torch.einsum("btd,bt->bd", hidden, padding) / padding.sum(1).unsqueeze(1).clamp(min=1)
    return mean / lengths(mean).clamp(min=1e-12)


def pool_the_first_token(hidden, mask):
    cls = hidden.select(1, 0)
    return cls / lengths(cls)


def pool_the_last_place(hidden, mask):
    *_, last = hidden.unbind(dim=1)
    return F.normalize(last, p=2.0, dim=1)


def pool_the_first_few(hidden, mask):
    vectors = []
    for text, real in zip(hidden, mask, strict=True):
        n = int(real.sum())
        vectors.append(F.normalize(text[:n].mean(dim=0), dim=0))
    return torch.stack(vectors)


def pool_by_maximum(hidden, mask):
    best = torch.stack([text[real].max(dim=0).values for text, real in zip(hidden, mask, strict=True)])
    return best / lengths(best)


def pool_without_length_one(hidden, mask):
    weights = mask / mask.sum(dim=1, keepdim=True)
    return torch.einsum("bt,btd->bd", weights.to(hidden.dtype), hidden)


def pool_a_sum(hidden, mask):
    return torch.bmm(mask.to(hidden.dtype).unsqueeze(1), hidden).squeeze(1)


def pool_by_all_places(hidden, mask):
    return hidden.masked_fill(~mask.unsqueeze(-1), 0).mean(dim=1)


def pool_tokens_of_length_one(hidden, mask):
    unit = hidden / lengths(hidden)
    mean = means(unit, mask)
    return mean / lengths(mean)


def pool_tokens_of_length_one_only(hidden, mask):
    return means(hidden / hidden.pow(2).sum(-1, keepdim=True).sqrt(), mask)


def pool_by_sum_of_values(hidden, mask):
    return F.normalize(means(hidden, mask), p=1, dim=-1)


def pool_by_the_square(hidden, mask):
    mean = means(hidden, mask)
    return mean / torch.einsum("bd,bd->b", mean, mean).unsqueeze(-1)


def pool_by_the_largest(hidden, mask):
    return F.normalize(means(hidden, mask), p=float("inf"), dim=1)


def pool_lengths_over_the_batch(hidden, mask):
    mean = means(hidden, mask)
    return mean / mean.norm(dim=0)


def pool_one_length_for_all(hidden, mask):
    mean = means(hidden, mask)
    return mean / mean.pow(2).sum().sqrt()


def pool_by_softmax(hidden, mask):
    e = means(hidden, mask).exp()
    return e / e.sum(dim=1, keepdim=True)


def pool_keeping_an_axis(hidden, mask):
    mean = means(hidden, mask).unsqueeze(1)
    return mean / lengths(mean)


def pool_the_padding_or_nothing(hidden, mask):
    return F.normalize(means(hidden, ~mask), dim=-1)


def pool_by_maximum_or_zero(hidden, mask):
    return F.normalize((hidden * mask.unsqueeze(-1)).amax(dim=1), dim=-1)


def pool_the_first_token_as_it_is(hidden, mask):
    return hidden[:, 0]


# cosine_search


def cosines(query, vectors):
    return F.cosine_similarity(query[None], vectors, dim=1)


def search_by_dot_product(query, vectors, k):
    scores = torch.einsum("nd,d->n", vectors, query)
    return scores.argsort(descending=True)[:k]


def search_by_distance(query, vectors, k):
    distance = torch.cdist(query[None], vectors)[0]
    return distance.topk(k, largest=False).indices


def search_the_least_alike(query, vectors, k):
    return torch.argsort(cosines(query, vectors))[:k]


def search_worst_first(query, vectors, k):
    return torch.argsort(cosines(query, vectors))[-k:]


def search_by_row_number(query, vectors, k):
    best = set(cosines(query, vectors).topk(k).indices.tolist())
    return torch.tensor([i for i in range(len(vectors)) if i in best])


def search_by_absolute_value(query, vectors, k):
    return cosines(query, vectors).square().argsort(descending=True)[:k]


def search_returns_vectors(query, vectors, k):
    order = cosines(query, vectors).argsort(descending=True)
    return torch.stack([vectors[i] for i in order[:k]])


def search_only_the_best(query, vectors, k):
    return torch.max(cosines(query, vectors), dim=0).indices


def search_all_of_them(query, vectors, k):
    return torch.sort(cosines(query, vectors), descending=True)[1]


def search_skipping_the_best(query, vectors, k):
    order = cosines(query, vectors).argsort(descending=True)
    return order[1 : k + 1]


def search_in_normalized_channels(query, vectors, k):
    scores = vectors / vectors.norm(dim=0) @ (query / query.norm())
    return scores.sort(descending=True).indices[:k]


def search_by_square_of_the_length(query, vectors, k):
    scores = [torch.dot(query, v) / torch.dot(v, v) for v in vectors]
    return torch.stack(scores).topk(k).indices


def search_by_absolute_lengths(query, vectors, k):
    scores = F.normalize(vectors, p=1, dim=1).mv(query)
    return scores.topk(k)[1]


def search_by_correlation(query, vectors, k):
    rows = torch.cat([query[None], vectors])
    rows = rows - rows.mean(dim=1, keepdim=True)
    return F.cosine_similarity(rows[:1], rows[1:]).topk(k).indices


# rms_norm


def rms_with_a_mean(x, gain, eps=1e-5):
    return F.layer_norm(x, gain.shape, weight=gain, eps=eps)


def rms_by_the_deviation(x, gain, eps=1e-5):
    variance = torch.var(x, dim=-1, correction=0, keepdim=True)
    return x * torch.rsqrt(variance + eps) * gain


def rms_by_sum(x, gain, eps=1e-5):
    size = torch.einsum("...d,...d->...", x, x).unsqueeze(-1)
    return gain * x * torch.rsqrt(size + eps)


def rms_without_root(x, gain, eps=1e-5):
    mean_square = torch.mean(x * x, -1, keepdim=True)
    return torch.div(x, mean_square + eps).mul(gain)


def rms_multiplied(x, gain, eps=1e-5):
    rms = (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return gain * rms * x


def rms_eps_outside(x, gain, eps=1e-5):
    rms = lengths(x) / math.sqrt(x.shape[-1])
    return x / (rms + eps) * gain


def rms_eps_as_a_floor(x, gain, eps=1e-5):
    mean_square = torch.maximum(x.pow(2).mean(-1, keepdim=True), torch.tensor(eps).to(x))
    return x * mean_square.rsqrt() * gain


def rms_without_eps(x, gain, eps=1e-5):
    return x * gain * math.sqrt(x.shape[-1]) / lengths(x)


def rms_fixed_eps(x, gain, eps=1e-5):
    return F.rms_norm(x, gain.shape, gain, 1e-5)


def rms_without_gain(x, gain, eps=1e-5):
    return F.rms_norm(x, (x.shape[-1],), eps=eps)


def rms_gain_added(x, gain, eps=1e-5):
    return torch.add(F.rms_norm(x, x.shape[-1:], eps=eps), gain)


def rms_one_plus_gain(x, gain, eps=1e-5):
    normed = F.rms_norm(x, x.shape[-1:], eps=eps)
    return normed + normed * gain


def rms_gain_before(x, gain, eps=1e-5):
    return F.rms_norm(torch.mul(gain, x), x.shape[-1:], eps=eps)


def rms_over_axis_0(x, gain, eps=1e-5):
    squares = sum(row * row for row in x) / len(x)
    return x / torch.sqrt(squares + eps) * gain


def rms_over_axis_1(x, gain, eps=1e-5):
    return x.mul(torch.rsqrt(x.pow(2).mean(1, True) + eps)).mul(gain)


def rms_one_size_for_all(x, gain, eps=1e-5):
    return F.rms_norm(x, x.shape, eps=eps) * gain


def rms_mean_absolute(x, gain, eps=1e-5):
    size = x.norm(p=1, dim=-1, keepdim=True) / x.shape[-1]
    return x / (size + eps) * gain


def rms_square_of_the_mean(x, gain, eps=1e-5):
    mean = torch.mean(x, dim=-1, keepdim=True)
    return gain * x * torch.rsqrt(mean * mean + eps)


def rms_axis_not_kept(x, gain, eps=1e-5):
    rms = torch.sqrt(torch.mean(torch.square(x), dim=-1) + eps)
    return torch.div(x, rms) * gain


def rms_by_torch_s_deviation(x, gain, eps=1e-5):
    return x / (x.std(dim=-1, keepdim=True) + eps) * gain


# apply_rope


def frequencies(d, base=10000.0):
    return torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)


def turn(x, angle):
    """Each pair as a complex number, turned by its angle (T, d/2)."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2).to(x.dtype)


def angles(x, frequency, first=0):
    return torch.outer(torch.arange(first, first + x.shape[-2], dtype=torch.float64), frequency)


def rope_in_halves(x, base=10000.0):
    angle = angles(x, frequencies(x.shape[-1], base)).repeat(1, 2)
    one, other = x.chunk(2, dim=-1)
    return (x * angle.cos() + torch.cat([-other, one], dim=-1) * angle.sin()).to(x.dtype)


def rope_clockwise(x, base=10000.0):
    return turn(x, -angles(x, frequencies(x.shape[-1], base)))


def rope_from_1(x, base=10000.0):
    return turn(x, angles(x, frequencies(x.shape[-1], base), first=1))


def rope_half_the_exponent(x, base=10000.0):
    d = x.shape[-1]
    frequency = 1.0 / base ** (torch.arange(d // 2, dtype=torch.float64) / d)
    return turn(x, torch.einsum("t,f->tf", torch.arange(x.shape[-2], dtype=torch.float64), frequency))


def rope_twice_the_exponent(x, base=10000.0):
    half = x.shape[-1] // 2
    frequency = torch.exp(-math.log(base) * torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / half)
    return turn(x, angles(x, frequency))


def rope_to_the_end(x, base=10000.0):
    exponent = torch.linspace(0, 1, x.shape[-1] // 2, dtype=torch.float64)
    return turn(x, angles(x, torch.pow(base, -exponent)))


def rope_faster_and_faster(x, base=10000.0):
    return turn(x, angles(x, frequencies(x.shape[-1], 1 / base)))


def rope_slowest_first(x, base=10000.0):
    return turn(x, angles(x, frequencies(x.shape[-1], base).flip(0)))


def rope_with_one_frequency(x, base=10000.0):
    place = torch.arange(x.shape[-2], dtype=torch.float64).unsqueeze(1)
    return turn(x, place.expand(-1, x.shape[-1] // 2))


def rope_fixed_base(x, base=10000.0):
    return turn(x, angles(x, frequencies(x.shape[-1])))


def rope_in_degrees(x, base=10000.0):
    return turn(x, torch.deg2rad(angles(x, frequencies(x.shape[-1], base))))


def rope_along_the_first_axis(x, base=10000.0):
    frequency = frequencies(x.shape[-1], base)
    return torch.stack([turn(row, (t * frequency).expand(*row.shape[:-1], -1)) for t, row in enumerate(x)])


def waves(x, base):
    angle = angles(x, frequencies(x.shape[-1], base))
    return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


def rope_adds_waves(x, base=10000.0):
    cos, sin = waves(x, base)
    table = torch.zeros_like(x[(0,) * (x.dim() - 2)])
    table[:, 0::2], table[:, 1::2] = sin, cos
    return x + table


def rope_cosine_only(x, base=10000.0):
    cos, _ = waves(x, base)
    return cos.repeat_interleave(2, dim=-1).mul(x)


def rope_cosine_and_sine_exchanged(x, base=10000.0):
    angle = angles(x, frequencies(x.shape[-1], base))
    return turn(x, math.pi / 2 - angle)


def rope_mirrored(x, base=10000.0):
    cos, sin = (wave.repeat_interleave(2, -1) for wave in waves(x, base))
    partner = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return x * cos + partner * sin


def rope_half_a_pair(x, base=10000.0):
    cos, sin = waves(x, base)
    turned = x.clone()
    turned[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    return turned


def rope_reads_what_it_wrote(x, base=10000.0):
    cos, sin = waves(x, base)
    turned = x.clone()
    turned[..., ::2] = turned[..., ::2] * cos - turned[..., 1::2] * sin
    turned[..., 1::2] = turned[..., ::2] * sin + turned[..., 1::2] * cos
    return turned


def rope_not_woven_together(x, base=10000.0):
    turned = turn(x, angles(x, frequencies(x.shape[-1], base)))
    return torch.cat(turned.unflatten(-1, (-1, 2)).unbind(-1), dim=-1)


def rope_made_degrees(x, base=10000.0):
    return turn(x, torch.rad2deg(angles(x, frequencies(x.shape[-1], base))))


def rope_adds_waves_in_halves(x, base=10000.0):
    cos, sin = waves(x, base)
    return x + torch.cat([sin, cos], dim=-1)


def rope_multiplies_by_waves_of_2017(x, base=10000.0):
    cos, sin = waves(x, base)
    return x * torch.stack([sin, cos], dim=-1).flatten(-2)


# SwiGLU


class Gated(nn.Module):
    """The three layers, and the switch that each of the classes below makes in its own way."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.down(self.switched(self.gate(x), self.up(x)))

    def switched(self, gate, up):
        return self.act(gate).mul(up)


class ViewsExchanged(Gated):
    def switched(self, gate, up):
        return gate * (up / (1 + torch.exp(-up)))


class SigmoidAlone(Gated):
    def switched(self, gate, up):
        return F.glu(torch.cat([up, gate], dim=-1), dim=-1)


class ReLUGate(Gated):
    def switched(self, gate, up):
        return torch.where(gate > 0, gate, 0) * up


class GELUGate(Gated):
    def switched(self, gate, up):
        return 0.5 * gate * (1 + torch.erf(gate / math.sqrt(2))) * up


class TanhGate(Gated):
    def switched(self, gate, up):
        return (2 * torch.sigmoid(2 * gate) - 1) * up


class NoSwitch(Gated):
    def switched(self, gate, up):
        return torch.einsum("...f,...f->...f", gate, up)


class SwitchOnBoth(Gated):
    def switched(self, gate, up):
        return self.act(gate) * self.act(up)


class SwitchOnTheProduct(Gated):
    def switched(self, gate, up):
        hidden = gate * up
        return hidden * torch.sigmoid(hidden)


class Added(Gated):
    def switched(self, gate, up):
        return torch.stack([self.act(gate), up]).sum(0)


class GateAlone(Gated):
    def forward(self, x):
        gate = F.linear(x, self.gate.weight)
        return F.linear(gate * gate.sigmoid(), self.down.weight)


class NoGate(Gated):
    def forward(self, x):
        return x @ self.up.weight.T @ self.down.weight.T


class GateForBoth(Gated):
    def forward(self, x):
        a, b = self.gate(x), self.gate(x)
        return self.down(self.switched(a, b))


class HalfASigmoid(Gated):
    def switched(self, gate, up):
        return self.act(gate) / (1 + torch.exp(-up))


class SoftmaxGate(Gated):
    def switched(self, gate, up):
        e = (gate - gate.amax(-1, keepdim=True)).exp()
        return up * e / e.sum(-1, keepdim=True)


class AddsX(Gated):
    def forward(self, x):
        return torch.add(x, super().forward(x))


class WayBackForgotten(Gated):
    def forward(self, x):
        return self.switched(self.gate(x), self.up(x))


class SwitchAtTheEnd(Gated):
    def forward(self, x):
        out = self.down(self.gate(x) * self.up(x))
        return out * out.sigmoid()


class SwitchAtTheStart(Gated):
    def forward(self, x):
        return self.down(self.gate(x * torch.sigmoid(x)) * self.up(x))


class WithBiases(Gated):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.gate, self.up = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)


class NotTransposed(Gated):
    def forward(self, x):
        gate, up = torch.matmul(x, self.gate.weight), torch.matmul(x, self.up.weight)
        return torch.matmul(self.switched(gate, up), self.down.weight)


class GELUGateByTanh(Gated):
    def switched(self, gate, up):
        return F.gelu(gate, approximate="tanh") * up


# grouped_query_attention


def attend(query, key, value, scale=None, allowed=None):
    """Causal attention, one query head after the other, each with the key and value head of its number."""
    T = query.shape[-2]
    allowed = torch.ones(T, T).tril().bool() if allowed is None else allowed
    heads = []
    for q, k, v in zip(query.unbind(1), key.unbind(1), value.unbind(1), strict=True):
        scores = torch.einsum("bqd,bkd->bqk", q, k) * (scale or q.shape[-1] ** -0.5)
        scores = torch.where(allowed, scores, -torch.inf)
        heads.append(torch.einsum("bqk,bkd->bqd", F.softmax(scores, -1), v))
    return torch.stack(heads, dim=1)


def blocks(heads, H):
    """Heads 0, 0, 1, 1, ..."""
    return heads[:, torch.arange(H) // (H // heads.shape[1])]


def turns(heads, H):
    """Heads 0, 1, 0, 1, ..."""
    return heads[:, torch.arange(H) % heads.shape[1]]


def scores_of(query, key):
    return torch.einsum("bhqd,bhkd->bhqk", query, blocks(key, query.shape[1])) / math.sqrt(query.shape[-1])


def groups_in_turn(query, key, value):
    H, G = query.shape[1], key.shape[1]
    heads = [attend(query[:, [h]], key[:, [h % G]], value[:, [h % G]]) for h in range(H)]
    return torch.cat(heads, dim=1)


def groups_values_in_turn(query, key, value):
    H = query.shape[1]
    return attend(query, blocks(key, H), turns(value, H))


def groups_keys_in_turn(query, key, value):
    H = query.shape[1]
    return attend(query, turns(key, H), blocks(value, H))


def groups_with_one_head(query, key, value):
    return F.scaled_dot_product_attention(query, key[:, :1].expand_as(query), value[:, :1].expand_as(query),
                                          is_causal=True)


def groups_with_the_mean_head(query, key, value):
    H, G = query.shape[1], key.shape[1]
    key, value = sum(key.unbind(1)) / G, sum(value.unbind(1)) / G
    return attend(query, torch.stack([key] * H, 1), torch.stack([value] * H, 1))


def groups_nothing_shared(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def groups_with_averaged_queries(query, key, value):
    query = query.unflatten(1, (key.shape[1], -1)).mean(2)
    return attend(query, key, value)


def groups_without_mask(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def groups_see_the_future(query, key, value):
    t = torch.arange(query.shape[2])
    return attend(query, blocks(key, query.shape[1]), blocks(value, query.shape[1]), allowed=t >= t[:, None])


def groups_see_what_comes_after(query, key, value):
    hidden = torch.ones(query.shape[2], query.shape[2]).triu(1).bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=hidden, enable_gqa=True)


def groups_do_not_see_themselves(query, key, value):
    H, t = query.shape[1], torch.arange(query.shape[2])
    return attend(query, blocks(key, H), blocks(value, H), allowed=t < t[:, None])


def groups_see_one_too_many(query, key, value):
    H, t = query.shape[1], torch.arange(query.shape[2])
    return attend(query, blocks(key, H), blocks(value, H), allowed=t <= t[:, None] + 1)


def groups_masked_after_the_softmax(query, key, value):
    weights = scores_of(query, key).softmax(-1).tril()
    return torch.einsum("bhqk,bhkd->bhqd", weights, blocks(value, query.shape[1]))


def groups_with_nothing_left(query, key, value):
    weights = scores_of(query, key).softmax(-1).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.einsum("bhqk,bhkd->bhqd", weights, blocks(value, query.shape[1]))


def groups_with_a_low_mask(query, key, value):
    scores = scores_of(query, key)
    scores = scores + torch.full_like(scores, -10000.0).triu(1)
    return scores.softmax(-1).matmul(blocks(value, query.shape[1]))


def groups_with_a_mask_of_zeros(query, key, value):
    weights = F.softmax(scores_of(query, key).tril(), dim=-1)
    return weights.matmul(blocks(value, query.shape[1]))


def groups_without_scale(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=1.0, enable_gqa=True)


def groups_scaled_by_d(query, key, value):
    H = query.shape[1]
    return attend(query, blocks(key, H), blocks(value, H), scale=1 / query.shape[-1])


def groups_scaled_by_d_model(query, key, value):
    B, H, T, d = query.shape
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=(H * d) ** -0.5, enable_gqa=True)


def groups_softened_over_queries(query, key, value):
    scores = scores_of(query, key)
    e = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
    weights = e.transpose(-1, -2).softmax(dim=-1).transpose(-1, -2)
    return weights.matmul(blocks(value, query.shape[1]))


def groups_without_softmax(query, key, value):
    return torch.einsum("bhqk,bhkd->bhqd", scores_of(query, key).tril(), blocks(value, query.shape[1]))


def groups_merged(query, key, value):
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    return torch.cat(heads.unbind(1), dim=-1)


def groups_do_not_see_themselves_by_a_low_mask(query, key, value):
    scores = scores_of(query, key)
    hidden = torch.ones_like(scores).triu(0).bool()
    return torch.matmul(scores.masked_fill(hidden, -1e9).softmax(-1), blocks(value, query.shape[1]))


def groups_compete(query, key, value):
    scores = scores_of(query, key)
    future = torch.ones_like(scores).triu(1).bool()
    return F.softmax(scores.masked_fill(future, float("-inf")), dim=1) @ blocks(value, query.shape[1])


# halves_to_neighbours


def _rows(weight, order):
    """The rows in another order: the old number of each."""
    return weight[torch.tensor(order, dtype=torch.long)]


def halves_brought_back(weight, num_heads):
    d = len(weight) // num_heads
    return _rows(weight, [h * d + i for h in range(num_heads) for i in (*range(0, d, 2), *range(1, d, 2))])


def halves_of_the_whole_matrix(weight, num_heads):
    half = len(weight) // 2
    return torch.stack([weight[:half], weight[half:]], 1).reshape(weight.shape)


def halves_left_alone(weight, num_heads):
    return weight.clone()


def halves_with_the_partner_first(weight, num_heads):
    d = len(weight) // num_heads
    return _rows(weight, [h * d + i + part for h in range(num_heads) for i in range(d // 2) for part in (d // 2, 0)])


def halves_of_the_first_head(weight, num_heads):
    d = len(weight) // num_heads
    first = [i + part for i in range(d // 2) for part in (0, d // 2)]
    return torch.cat([weight[first], weight[d:]])


def halves_changed_places(weight, num_heads):
    return torch.cat([torch.cat(head.chunk(2)[::-1]) for head in weight.chunk(num_heads)])


def halves_from_both_ends(weight, num_heads):
    d = len(weight) // num_heads
    return _rows(weight, [h * d + i for h in range(num_heads) for k in range(d // 2) for i in (k, d - 1 - k)])


def halves_on_their_side(weight, num_heads):
    heads = [torch.stack(head.chunk(2), 1).flatten(0, 1) for head in weight.chunk(num_heads)]
    return torch.cat(heads).t()


def halves_by_head(weight, num_heads):
    return torch.stack([torch.stack(head.chunk(2), 1).flatten(0, 1) for head in weight.chunk(num_heads)])


def halves_with_minus(weight, num_heads):
    return torch.cat([torch.stack([a, -b], 1).flatten(0, 1) for a, b in
                      (head.chunk(2) for head in weight.chunk(num_heads))])


SPELLINGS = {
    "mean_pool": {
        "pools-over-padding": pool_over_padding,
        "mask-inverted": pool_the_padding,
        "first-token": pool_the_first_token,
        "last-place": pool_the_last_place,
        "cut-by-the-count": pool_the_first_few,
        "maximum": pool_by_maximum,
        "not-brought-to-length-one": pool_without_length_one,
        "sum-not-mean": pool_a_sum,
        "divided-by-all-places": pool_by_all_places,
        "tokens-brought-to-length-one": pool_tokens_of_length_one,
        "tokens-of-length-one-only": pool_tokens_of_length_one_only,
        "length-by-sum-of-values": pool_by_sum_of_values,
        "divided-by-the-square": pool_by_the_square,
        "by-the-largest": pool_by_the_largest,
        "length-over-the-batch": pool_lengths_over_the_batch,
        "one-length-for-all": pool_one_length_for_all,
        "softmax-of-the-mean": pool_by_softmax,
        "keeps-an-axis": pool_keeping_an_axis,
    },
    "cosine_search": {
        "nearest-by-distance": search_by_distance,
        "least-alike": search_the_least_alike,
        "worst-first": search_worst_first,
        "by-row-number": search_by_row_number,
        "absolute-value": search_by_absolute_value,
        "returns-vectors": search_returns_vectors,
        "all-of-them": search_all_of_them,
        "skips-the-best": search_skipping_the_best,
        "channels-brought-to-length-one": search_in_normalized_channels,
        "divided-by-the-square-of-the-length": search_by_square_of_the_length,
        "length-by-absolute-values": search_by_absolute_lengths,
        "mean-taken-off": search_by_correlation,
        "only-the-best": search_only_the_best,
        "dot-product": search_by_dot_product,
    },
    "rms_norm": {
        "layer-norm": rms_with_a_mean,
        "by-the-deviation": rms_by_the_deviation,
        "sum-of-squares": rms_by_sum,
        "no-root": rms_without_root,
        "multiplied": rms_multiplied,
        "eps-outside-the-root": rms_eps_outside,
        "eps-as-a-floor": rms_eps_as_a_floor,
        "no-eps": rms_without_eps,
        "fixed-eps": rms_fixed_eps,
        "no-gain": rms_without_gain,
        "gain-added": rms_gain_added,
        "one-plus-gain": rms_one_plus_gain,
        "gain-before-the-norm": rms_gain_before,
        "over-axis-0": rms_over_axis_0,
        "over-axis-1": rms_over_axis_1,
        "one-size-for-all": rms_one_size_for_all,
        "mean-absolute-value": rms_mean_absolute,
        "square-of-the-mean": rms_square_of_the_mean,
        "axis-not-kept": rms_axis_not_kept,
    },
    "apply_rope": {
        "halves-as-pairs": rope_in_halves,
        "clockwise": rope_clockwise,
        "places-from-1": rope_from_1,
        "half-the-exponent": rope_half_the_exponent,
        "twice-the-exponent": rope_twice_the_exponent,
        "last-pair-by-the-base": rope_to_the_end,
        "faster-and-faster": rope_faster_and_faster,
        "slowest-first": rope_slowest_first,
        "one-frequency": rope_with_one_frequency,
        "base-ignored": rope_fixed_base,
        "degrees": rope_in_degrees,
        "places-along-the-first-axis": rope_along_the_first_axis,
        "waves-added": rope_adds_waves,
        "cosine-only": rope_cosine_only,
        "cosine-and-sine-exchanged": rope_cosine_and_sine_exchanged,
        "mirrored": rope_mirrored,
        "half-a-pair": rope_half_a_pair,
        "reads-what-it-wrote": rope_reads_what_it_wrote,
        "not-woven-together": rope_not_woven_together,
        "waves-multiplied": rope_multiplies_by_waves_of_2017,
    },
    "halves_to_neighbours": {
        "the-way-back": halves_brought_back,
        "one-head-for-all": halves_of_the_whole_matrix,
        "nothing-moves": halves_left_alone,
        "partners-first": halves_with_the_partner_first,
        "first-head-only": halves_of_the_first_head,
        "halves-exchanged": halves_changed_places,
        "backwards-from-the-end": halves_from_both_ends,
        "transposed": halves_on_their_side,
        "with-the-axis-of-the-heads": halves_by_head,
        "signs-changed": halves_with_minus,
    },
    "SwiGLU": {
        "views-exchanged": ViewsExchanged,
        "sigmoid-alone": SigmoidAlone,
        "relu-gate": ReLUGate,
        "gelu-gate": GELUGate,
        "tanh-gate": TanhGate,
        "no-switch": NoSwitch,
        "switch-on-both": SwitchOnBoth,
        "switch-on-the-product": SwitchOnTheProduct,
        "added": Added,
        "gate-alone": GateAlone,
        "no-gate": NoGate,
        "gate-for-both": GateForBoth,
        "half-a-sigmoid": HalfASigmoid,
        "softmax-gate": SoftmaxGate,
        "adds-x": AddsX,
        "way-back-forgotten": WayBackForgotten,
        "switch-at-the-end": SwitchAtTheEnd,
        "switch-at-the-start": SwitchAtTheStart,
        "not-transposed": NotTransposed,
    },
    "grouped_query_attention": {
        "shared-in-turn": groups_in_turn,
        "values-in-turn": groups_values_in_turn,
        "keys-in-turn": groups_keys_in_turn,
        "first-head-for-all": groups_with_one_head,
        "mean-of-the-heads": groups_with_the_mean_head,
        "nothing-shared": groups_nothing_shared,
        "query-heads-averaged": groups_with_averaged_queries,
        "no-mask": groups_without_mask,
        "sees-the-future-only": groups_see_the_future,
        "sees-only-what-comes-after": groups_see_what_comes_after,
        "does-not-see-itself": groups_do_not_see_themselves,
        "sees-one-too-many": groups_see_one_too_many,
        "masked-after-the-softmax": groups_masked_after_the_softmax,
        "nothing-left-to-share-out": groups_with_nothing_left,
        "mask-is-merely-low": groups_with_a_low_mask,
        "zero-as-mask": groups_with_a_mask_of_zeros,
        "no-scale": groups_without_scale,
        "scale-by-d": groups_scaled_by_d,
        "scale-by-d-model": groups_scaled_by_d_model,
        "softmax-over-queries": groups_softened_over_queries,
        "no-softmax": groups_without_softmax,
        "heads-merged": groups_merged,
        "softmax-over-heads": groups_compete,
    },
}

UNNAMED = {
    "SwiGLU": {
        "with-biases": (WithBiases, "other random biases than the edit's: what is named is chance"),
    },
}
