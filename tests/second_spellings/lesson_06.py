"""Wrong answers of lesson 06: each is a mistake of the catalogue as somebody else would have written it."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Layers(nn.Module):
    """What all of them begin with: four linear layers and two numbers."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.d_k = d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def heads_of(self, x):
        """(B, T, d_model) -> (B, H, T, d_k)"""
        return torch.stack(x.split(self.d_k, dim=-1), dim=1)

    def side_by_side(self, heads):
        """(B, H, T, d_k) -> (B, T, d_model)"""
        return torch.cat(heads.unbind(1), dim=-1)

    def for_all_heads(self, mask):
        """(Tq, Tk) -> (1, 1, Tq, Tk), (B, Tq, Tk) -> (B, 1, Tq, Tk)"""
        return mask.view(-1, 1, *mask.shape[-2:])


class SdpaWithoutLastLayer(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        mask = None if mask is None else self.for_all_heads(mask)
        return self.side_by_side(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))


class ValuesAsTheyCame(Layers):
    def forward(self, query, key, value, mask=None):
        outs = []
        slices = [slice(i * self.d_k, (i + 1) * self.d_k) for i in range(self.h)]
        q, k = self.W_q(query), self.W_k(key)
        for s in slices:
            scores = torch.einsum("bqd,bkd->bqk", q[..., s], k[..., s]) / math.sqrt(self.d_k)
            if mask is not None:
                scores = scores.masked_fill(mask == 0, -1e30)
            outs.append(torch.einsum("bqk,bkd->bqd", F.softmax(scores, dim=2), value[..., s]))
        return self.W_o(torch.cat(outs, dim=2))


class OneLayerThreeTimes(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(self.W_q(x)) for x in (query, key, value))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, mask)))


class LayersInAnotherOrder(Layers):
    def forward(self, query, key, value, mask=None):
        q, v, k = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_v, key), (self.W_k, value)))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, v, k, mask)))


class SelfAttentionOnly(Layers):
    def forward(self, query, key, value, mask=None):
        x = query
        q, k, v = (self.heads_of(layer(x)) for layer in (self.W_q, self.W_k, self.W_v))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, mask)))


class KeysMakeTheValues(Layers):
    def forward(self, query, key, value, mask=None):
        both = torch.cat([F.linear(key, self.W_k.weight, self.W_k.bias), F.linear(key, self.W_v.weight, self.W_v.bias)],
                         dim=-1)
        k, v = (self.heads_of(half) for half in both.chunk(2, dim=-1))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(self.heads_of(self.W_q(query)), k, v, mask)))


class MatricesWithoutBiases(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (torch.einsum("bti,oi->bto", x, w) for x, w in (
            (query, self.W_q.weight), (key, self.W_k.weight), (value, self.W_v.weight)))
        heads = []
        for i in range(self.h):
            part = slice(i * self.d_k, (i + 1) * self.d_k)
            scores = torch.bmm(q[:, :, part], k[:, :, part].transpose(1, 2)) * self.d_k**-0.5
            if mask is not None:
                scores = torch.where(mask, scores, torch.full_like(scores, -1e30))
            heads.append(torch.bmm(F.softmax(scores, dim=-1), v[:, :, part]))
        return F.linear(torch.cat(heads, dim=-1), self.W_o.weight)


class ViewIntoHeads(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (y.reshape(y.shape[0], self.h, -1, self.d_k)
                   for y in (self.W_q(query), self.W_k(key), self.W_v(value)))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, mask)))


class HeadsStayBehindTheTokens(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (y.unflatten(2, (self.h, self.d_k)) for y in (self.W_q(query), self.W_k(key), self.W_v(value)))
        scores = torch.einsum("bthd,btgd->bthg", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~self.for_all_heads(mask), -1e30)
        return self.W_o(torch.einsum("bthg,btgd->bthd", F.softmax(scores, dim=-1), v).flatten(2))


class HeadsLast(Layers):
    def heads_of(self, x):
        return torch.einsum("btdh->bhtd", x.unflatten(-1, (self.d_k, self.h)))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.heads_of(self.W_q(query)), self.heads_of(self.W_k(key)), self.heads_of(self.W_v(value))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, mask)))


class SingleHead(Layers):
    def forward(self, query, key, value, mask=None):
        return self.W_o(F.scaled_dot_product_attention(self.W_q(query), self.W_k(key), self.W_v(value), mask))


class ReshapeOfTheHeads(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        if mask is not None:
            mask = self.for_all_heads(mask)
        mixed = F.scaled_dot_product_attention(q, k, v, mask)
        return self.W_o(mixed.contiguous().view(query.size(0), query.size(1), -1))


class AverageRepeated(Layers):
    def side_by_side(self, heads):
        average = sum(heads.unbind(1)) / self.h
        return torch.cat([average] * self.h, dim=-1)

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        if mask is not None:
            mask = self.for_all_heads(mask)
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, mask)))


class WithItsMaps(Layers):
    def forward(self, query, key, value, mask=None):
        outs, maps = [], []
        for q, k, v in zip(*(layer(x).split(self.d_k, dim=2) for layer, x in (
                (self.W_q, query), (self.W_k, key), (self.W_v, value))), strict=True):
            scores = q @ k.mT / math.sqrt(self.d_k)
            maps.append(F.softmax(scores if mask is None else scores.masked_fill(~mask, -1e30), dim=-1))
            outs.append(maps[-1] @ v)
        return self.W_o(torch.cat(outs, dim=2)), torch.stack(maps, dim=1)


class SdpaWithAnotherScale(Layers):
    """F.scaled_dot_product_attention, with a scale that each of the next ones chooses."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        if mask is not None:
            mask = self.for_all_heads(mask)
        mixed = F.scaled_dot_product_attention(q, k, v, mask, scale=self.scale(q, k))
        return self.W_o(self.side_by_side(mixed))


class ScaleOne(SdpaWithAnotherScale):
    def scale(self, q, k):
        return 1.0


class ScaleOfTheWholeWidth(SdpaWithAnotherScale):
    def scale(self, q, k):
        return 1 / math.sqrt(self.W_q.in_features)


class ScaleOfTheWidthItself(SdpaWithAnotherScale):
    def scale(self, q, k):
        return 1 / q.size(-1)


class ScaleOfTheKeys(SdpaWithAnotherScale):
    def scale(self, q, k):
        return k.size(2) ** -0.5


class Stepwise(Layers):
    """One head after the other, in steps that the next ones replace."""

    def forward(self, query, key, value, mask=None):
        q, k, v = (layer(x).chunk(self.h, dim=2) for layer, x in (
            (self.W_q, query), (self.W_k, key), (self.W_v, value)))
        outs = []
        for i in range(self.h):
            scores = torch.einsum("bqd,bkd->bqk", q[i], k[i]) / math.sqrt(self.d_k)
            outs.append(torch.einsum("bqk,bkd->bqd", self.shares(scores, mask, i), v[i]))
        return self.W_o(torch.cat(outs, dim=2))

    def shares(self, scores, mask, i):
        return F.softmax(scores if mask is None else scores.masked_fill(~mask, -1e30), dim=2)


class SharesOverQueries(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores if mask is None else torch.where(mask, scores, -1e30), dim=1)


class NoShares(Stepwise):
    def shares(self, scores, mask, i):
        return scores if mask is None else scores * mask


class NeverHidesAnything(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores, dim=-1)


class HidesWhereTrue(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores if mask is None else scores.masked_fill(mask, -1e9), dim=-1)


class ScoresTimesMask(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores if mask is None else scores * mask.to(scores.dtype), dim=-1)


class ScoresPlusMask(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores if mask is None else scores + mask.to(scores.dtype), dim=-1)


class WeightsTimesMask(Stepwise):
    def shares(self, scores, mask, i):
        p = F.softmax(scores, dim=-1)
        return p if mask is None else torch.where(mask, p, torch.zeros_like(p))


class WeightsSharedOutAgain(Stepwise):
    def shares(self, scores, mask, i):
        p = F.softmax(scores, dim=-1)
        if mask is not None:
            p = p * mask
            p = p / torch.sum(p, dim=-1, keepdim=True)
        return p


class InfinityForHidden(Stepwise):
    def shares(self, scores, mask, i):
        if mask is not None:
            scores = torch.where(mask, scores, torch.full_like(scores, -torch.inf))
        return F.softmax(scores, dim=-1)


class NanBecomesZero(Stepwise):
    def shares(self, scores, mask, i):
        if mask is None:
            return F.softmax(scores, dim=-1)
        p = F.softmax(scores + torch.log(mask.to(scores.dtype)), dim=-1)
        return torch.where(p.isnan(), torch.zeros_like(p), p)


class MaskTurned(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores if mask is None else scores.masked_fill(mask.mT.logical_not(), -1e30), dim=-1)


class FirstHeadOnly(Stepwise):
    def shares(self, scores, mask, i):
        return F.softmax(scores.masked_fill(~mask, -1e30) if mask is not None and i == 0 else scores, dim=-1)


class AlwaysTheFirstRowOfMasks(Stepwise):
    def shares(self, scores, mask, i):
        if mask is not None and mask.dim() == 3:
            mask = mask[0]
        return F.softmax(scores if mask is None else scores.masked_fill(~mask, -1e30), dim=-1)


class LooksOnlyBack(Stepwise):
    def shares(self, scores, mask, i):
        rows, columns = (torch.arange(n, device=scores.device) for n in scores.shape[-2:])
        back = columns[None, :] <= rows[:, None]
        return F.softmax(scores.masked_fill(~(back if mask is None else back & mask), -1e30), dim=-1)


class BareExponentials(Stepwise):
    def shares(self, scores, mask, i):
        e = torch.exp(scores)
        if mask is not None:
            e = e.masked_fill(~mask, 0)
        return e / e.sum(-1, keepdim=True)


class MaskMeetsTheHeads(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        return self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


class MaskUnsqueezedInAnyCase(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e30)
        return self.W_o(self.side_by_side(torch.einsum("bhqk,bhkd->bhqd", F.softmax(scores, dim=-1), v)))


class HeadsCompete(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (layer(x).chunk(self.h, dim=2) for layer, x in (
            (self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = [one @ other.mT / math.sqrt(self.d_k) for one, other in zip(q, k, strict=True)]
        if mask is not None:
            scores = [torch.where(mask, s, -1e30) for s in scores]
        maps = F.softmax(torch.stack(scores), dim=0)
        return self.W_o(torch.cat([p @ one for p, one in zip(maps, v, strict=True)], dim=2))


class HeadsCompeteByHand(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(~self.for_all_heads(mask), -1e30)
        p = scores.exp() / scores.exp().sum(dim=1, keepdim=True)
        return self.W_o(self.side_by_side(torch.einsum("bhqk,bhkd->bhqd", p, v)))


class SliceThatStaysWhereItIs(Stepwise):
    def forward(self, query, key, value, mask=None):
        outs = []
        for i in range(self.h):
            q, k, v = (layer(x)[:, :, :self.d_k] for layer, x in (
                (self.W_q, query), (self.W_k, key), (self.W_v, value)))
            outs.append(self.shares(q @ k.mT / math.sqrt(self.d_k), mask, i) @ v)
        return self.W_o(torch.cat(outs, dim=-1))


class QueryOnTop(Layers):
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads_of(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        mask = None if mask is None else self.for_all_heads(mask)
        return query + self.W_o(self.side_by_side(F.scaled_dot_product_attention(q, k, v, mask)))


SPELLINGS = {
    "MultiHeadAttention": {
        "no-output-projection": SdpaWithoutLastLayer,
        "value-not-projected": ValuesAsTheyCame,
        "one-projection-for-all": OneLayerThreeTimes,
        "swaps-W-k-and-W-v": LayersInAnotherOrder,
        "only-the-query-is-used": SelfAttentionOnly,
        "values-from-the-key": KeysMakeTheValues,
        "no-biases": MatricesWithoutBiases,
        "splits-by-view": ViewIntoHeads,
        "heads-attend-to-heads": HeadsStayBehindTheTokens,
        "only-one-head": SingleHead,
        "every-head-the-first": SliceThatStaysWhereItIs,
        "merges-by-reshape": ReshapeOfTheHeads,
        "averages-the-heads": AverageRepeated,
        "returns-the-weights-too": WithItsMaps,
        "no-scale": ScaleOne,
        "scale-by-root-d-model": ScaleOfTheWholeWidth,
        "scale-by-d-head": ScaleOfTheWidthItself,
        "scale-by-root-tk": ScaleOfTheKeys,
        "softmax-over-queries": SharesOverQueries,
        "softmax-over-heads": HeadsCompete,
        "no-softmax": NoShares,
        "overflows": BareExponentials,
        "ignores-the-mask": NeverHidesAnything,
        "mask-inverted": HidesWhereTrue,
        "hides-with-zero": ScoresTimesMask,
        "adds-the-mask": ScoresPlusMask,
        "masks-after-the-softmax": WeightsTimesMask,
        "shares-out-afterwards": WeightsSharedOutAgain,
        "mask-without-a-head-axis": MaskMeetsTheHeads,
        "mask-with-one-axis-too-many": MaskUnsqueezedInAnyCase,
        "mask-of-the-first-sentence": AlwaysTheFirstRowOfMasks,
        "mask-on-one-head-only": FirstHeadOnly,
        "always-causal": LooksOnlyBack,
        "nan-where-nothing-is-allowed": InfinityForHidden,
        "nan-in-the-gradient": NanBecomesZero,
        "adds-the-query": QueryOnTop,
        "every-h-th-feature": HeadsLast,
        "mask-lies-on-its-side": MaskTurned,
    },
}
