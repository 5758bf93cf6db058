"""Mistakes of lesson 10 once more, each thought wrong in the same way and written by somebody else."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward
from course_lib.transformer import EncoderLayer


class Given(nn.Module):
    """The constructor of the stub."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class NormFirstByBlocks(Given):
    def attend(self, x, mask):
        y = self.norm1(x)
        return self.dropout(self.self_attn(query=y, key=y, value=y, mask=mask))

    def think(self, x):
        return self.dropout(self.ff(self.norm2(x)))

    def forward(self, x, mask=None):
        x = x + self.attend(x, mask)
        return x + self.think(x)


class SublayerNormalisesItsAnswer(Given):
    def residual(self, x, answer, norm):
        return torch.add(x, norm(self.dropout(answer)))

    def forward(self, x, mask=None):
        x = self.residual(x, self.self_attn(x, x, x, mask), self.norm1)
        return self.residual(x, self.ff(x), self.norm2)


class SameNormInALoop(Given):
    def forward(self, x, mask=None):
        for sublayer in (lambda y: self.self_attn(y, y, y, mask), self.ff):
            total = x + self.dropout(sublayer(x))
            x = F.layer_norm(total, total.shape[-1:], self.norm1.weight, self.norm1.bias, self.norm1.eps)
        return x


class NormsFromTheLastToTheFirst(Given):
    def forward(self, x, mask=None):
        steps = [(self.norm2, lambda y: self.self_attn(y, y, y, mask)), (self.norm1, self.ff)]
        for norm, step in steps:
            x = norm(self.dropout(step(x)).add(x))
        return x


class ForgetsTheSecondNorm(Given):
    def forward(self, x, mask=None):
        attended = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        thought = self.dropout(self.ff(attended))
        return torch.stack([attended, thought]).sum(0)


class ForgetsAllNorms(Given):
    def add(self, x, answer):
        return self.dropout(answer) + x

    def forward(self, x, mask=None):
        h = self.add(x, self.self_attn(x, x, x, mask))
        return self.add(h, self.ff(h))


class NothingAround(Given):
    def forward(self, x, mask=None):
        h = self.norm1(self.dropout(self.self_attn(query=x, key=x, value=x, mask=mask)))
        return self.norm2(self.dropout(self.ff(h)))


class NothingAroundAttention(Given):
    def forward(self, x, mask=None):
        x = self.self_attn(x, x, x, mask)
        x = self.norm1(self.dropout(x))
        y = self.dropout(self.ff(x))
        return self.norm2(y + x)


class KeptFromTheStart(Given):
    def forward(self, x, mask=None):
        residual = x
        x = self.self_attn(x, x, x, mask)
        x = self.norm1(residual + self.dropout(x))
        x = self.ff(x)
        return self.norm2(residual + self.dropout(x))


class SecondAttention(Given):
    def forward(self, x, mask=None):
        for norm in (self.norm1, self.norm2):
            x = norm(x + self.dropout(self.self_attn(x, x, x, mask)))
        return x


class ThinksBeforeLooking(Given):
    def forward(self, x, mask=None):
        thought = self.norm1(x + self.dropout(self.ff(x)))
        looked = self.self_attn(thought, thought, thought, mask=mask)
        return self.norm2(thought + self.dropout(looked))


class ThinksLooksWithOwnNorms(Given):
    """Each norm stays beside its sublayer."""

    def forward(self, x, mask=None):
        x = self.norm2(x + self.dropout(self.ff(x)))
        return self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))


class Parallel(Given):
    def forward(self, x, mask=None):
        looked, thought = self.self_attn(x, x, x, mask), self.ff(x)
        return self.norm2(self.norm1(x + self.dropout(looked) + self.dropout(thought)))


class ParallelUnderOneNorm(Given):
    def forward(self, x, mask=None):
        both = sum(self.dropout(y) for y in (self.self_attn(x, x, x, mask), self.ff(x)))
        return self.norm1(x + both)


class MaskStaysOutside(Given):
    def looked(self, x):
        return self.self_attn(x, x, x)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.looked(x)))
        return self.norm2(x + self.dropout(self.ff(x)))


class HandsOnWhatIsHidden(Given):
    def forward(self, x, mask=None):
        hidden = None if mask is None else mask == 0
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, hidden)))
        return self.norm2(x + self.dropout(self.ff(x)))


class LooksBackOnly(Given):
    def forward(self, x, mask=None):
        place = torch.arange(x.size(1), device=x.device)
        back = place[None, :] <= place[:, None]
        back = back if mask is None else torch.logical_and(back, mask)
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, back)))
        return self.norm2(x + self.dropout(self.ff(x)))


class NoDropoutAnywhereOutside(Given):
    def forward(self, x, mask=None):
        x = F.layer_norm(x + self.self_attn(x, x, x, mask), x.shape[-1:], self.norm1.weight, self.norm1.bias)
        return F.layer_norm(x + self.ff(x), x.shape[-1:], self.norm2.weight, self.norm2.bias)


class FeedForwardBuiltWithoutDropout(Given):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.ff = FeedForward(d_model, d_ff)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.ff(x)))


class FunctionalDropoutUntold(Given):
    def forward(self, x, mask=None):
        p = self.dropout.p
        x = self.norm1(x + F.dropout(self.self_attn(x, x, x, mask), p))
        return self.norm2(x + F.dropout(self.ff(x), p))


class DropsSums(Given):
    def forward(self, x, mask=None):
        summed = torch.add(x, self.self_attn(x, x, x, mask))
        x = self.norm1(self.dropout(summed))
        summed = torch.add(x, self.ff(x))
        return self.norm2(self.dropout(summed))


class DropsBehindTheNorms(Given):
    def forward(self, x, mask=None):
        for norm, step in ((self.norm1, lambda y: self.self_attn(y, y, y, mask)), (self.norm2, self.ff)):
            x = nn.Sequential(norm, self.dropout)(x + step(x))
        return x


class DropsTheQuestions(Given):
    def forward(self, x, mask=None):
        y = self.dropout(x)
        x = self.norm1(x + self.self_attn(y, y, y, mask))
        return self.norm2(x + self.ff(self.dropout(x)))


class NormsBothEnds(Given):
    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = self.norm1(x + self.dropout(self.self_attn(y, y, y, mask)))
        return self.norm2(x + self.dropout(self.ff(self.norm2(x))))


class StopsAfterAttention(Given):
    def forward(self, x, mask=None):
        context = self.self_attn(x, x, x, mask)
        return self.norm1(self.dropout(context) + x)


class StopsAfterAttentionWithTheLastNorm(Given):
    def forward(self, x, mask=None):
        return self.norm2(x + self.dropout(self.self_attn(query=x, key=x, value=x, mask=mask)))


class NormWithoutThought(Given):
    def forward(self, x, mask=None):
        norms = nn.Sequential(self.norm1, self.norm2)
        return norms(x + self.dropout(self.self_attn(x, x, x, mask)))


class NormsByHand(Given):
    def normal(self, x):
        var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) * (var + 1e-5).rsqrt()

    def forward(self, x, mask=None):
        x = self.normal(x + self.dropout(self.self_attn(x, x, x, mask)))
        return self.normal(x + self.dropout(self.ff(x)))


class ReadsTheOldName(Given):
    def forward(self, x, mask=None):
        looked = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        thought = self.ff(x)
        return self.norm2(looked + self.dropout(thought))


class LosesTheFirstHalf(Given):
    def forward(self, x, mask=None):
        halves = [self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))]
        halves.append(self.norm2(x + self.dropout(self.ff(x))))
        return halves[-1]


class PaddingOutAsZeros(Given):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
        x = self.norm2(x + self.dropout(self.ff(x)))
        if mask is not None and mask.dim() == 3 and mask.shape[1] == 1:
            x = x * mask.mT
        return x


# ---- max_over_real_tokens ----


def pool_all_places(x, mask):
    return torch.max(x, dim=1).values


def pool_products_with_the_mask(x, mask):
    return torch.amax(x * mask.unsqueeze(-1).to(x), dim=1)


def pool_after_a_relu(x, mask):
    out = x.new_zeros(len(x), x.shape[-1])
    for t in range(x.shape[1]):
        out = torch.where(mask[:, t, None], torch.maximum(out, x[:, t]), out)
    return out


def pool_what_is_hidden(x, mask):
    low = x.new_zeros(x.shape).masked_fill(mask[:, :, None], -torch.inf)
    return (x + low).max(1)[0].nan_to_num(neginf=0)


def pool_minus_infinity_for_nobody(x, mask):
    out = []
    for vectors, real in zip(x, mask, strict=True):
        out.append(torch.stack([*vectors[real], torch.full_like(vectors[0], -torch.inf)]).amax(0))
    return torch.stack(out)


def pool_minus_ten_thousand(x, mask):
    low = torch.where(mask, 0.0, -1e4).to(x)[..., None]
    out = torch.where(mask[..., None], x, low).amax(1)
    return torch.where(mask.any(1)[:, None], out, 0.0)


def pool_the_first_n(x, mask):
    n = mask.long().sum(1).tolist()
    return torch.stack([text[:k].amax(0) if k else 0 * text[0] for text, k in zip(x, n, strict=True)])


def pool_by_mean(x, mask):
    return torch.stack([text[real].mean(0) if real.any() else 0 * text[0] for text, real in zip(x, mask, strict=True)])


def pool_by_sum(x, mask):
    return torch.einsum("btd,bt->bd", x, mask.to(x))


def pool_by_absolute_value(x, mask):
    return (x * mask[:, :, None]).abs().amax(dim=1)


def pool_with_its_indices(x, mask):
    return torch.max(x.masked_fill(~mask[:, :, None], -torch.inf), 1)


def pool_tokens(x, mask):
    return torch.where(mask[..., None], x, torch.full_like(x, -torch.inf)).max(-1)[0]


def pool_texts(x, mask):
    return torch.max(x, 0)[0]


def pool_zeros_if_any_is_padding(x, mask):
    out = torch.where(mask[..., None], x, torch.full_like(x, -torch.inf)).amax(1)
    return torch.where(mask.all(1)[:, None], out, torch.zeros_like(out))


def pool_the_loudest_token(x, mask):
    out = []
    for text, real in zip(x, mask, strict=True):
        out.append(max(text[real], key=lambda token: token.sum().item()) if real.any() else 0 * text[0])
    return torch.stack(out)


# ---- EncoderClassifier ----


class GivenClassifier(nn.Module):
    """The constructor of the stub, and the whole way in small methods, of which each mistake changes one."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, num_classes, dropout=0.0, pad_id=0):
        super().__init__()
        self.pad_id = pad_id
        self.embed = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList([EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)])
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(d_model, num_classes)

    def waves(self, places, like):
        d = like.shape[-1]
        i = torch.arange(0, d, 2, device=like.device)
        angle = places.to(torch.float64)[:, None] * torch.exp(-math.log(10000.0) * i.double() / d)
        where = torch.zeros(len(places), d, dtype=torch.float64, device=like.device)
        where[:, 0::2], where[:, 1::2] = angle.sin(), angle.cos()
        return where.to(like.dtype)

    def scaled(self, ids):
        return F.embedding(ids, self.embed.weight) * math.sqrt(self.embed.weight.shape[1])

    def entered(self, ids):
        x = self.scaled(ids)
        return self.dropout(x + self.waves(torch.arange(ids.shape[1], device=ids.device), x))

    def real(self, ids):
        return ids.ne(self.pad_id)

    def read(self, x, real):
        for layer in self.layers:
            x = layer(x, mask=real.unsqueeze(1))
        return x

    def pooled(self, x, real):
        return pool_minus_a_million(x, real)

    def forward(self, ids):
        real = self.real(ids)
        return self.head(self.pooled(self.read(self.entered(ids), real), real))


def pool_minus_a_million(x, mask):
    return torch.where(mask[..., None], x, torch.full_like(x, -1e6)).max(dim=1).values


class ClassifierUnscaled(GivenClassifier):
    def scaled(self, ids):
        return self.embed(ids)


class ClassifierWithoutOrder(GivenClassifier):
    def entered(self, ids):
        return self.dropout(self.scaled(ids))


class ClassifierPositionsTwice(GivenClassifier):
    def entered(self, ids):
        x = self.scaled(ids)
        for _ in range(2):
            x = x + self.waves(torch.arange(ids.shape[1], device=ids.device), x)
        return self.dropout(x)


class ClassifierSumTimesTheRoot(GivenClassifier):
    def entered(self, ids):
        x = self.embed(ids)
        x = x + self.waves(torch.arange(ids.shape[1], device=ids.device), x)
        return self.dropout(math.sqrt(x.shape[-1]) * x)


class ClassifierFromOne(GivenClassifier):
    def entered(self, ids):
        x = self.scaled(ids)
        return self.dropout(x + self.waves(torch.arange(1, ids.shape[1] + 1, device=ids.device), x))


class ClassifierReadsPadding(GivenClassifier):
    def read(self, x, real):
        return nn.Sequential(*self.layers)(x)


class ClassifierTellsTheFirstLayer(GivenClassifier):
    def read(self, x, real):
        mask = real[:, None]
        for layer in self.layers:
            x, mask = layer(x, mask), None
        return x


class ClassifierTrueIsPadding(GivenClassifier):
    def read(self, x, real):
        return super().read(x, real.logical_not())


class ClassifierZeroIsPadding(GivenClassifier):
    def real(self, ids):
        return ids.bool()


class ClassifierPoolsEverything(GivenClassifier):
    def pooled(self, x, real):
        return F.max_pool1d(x.transpose(1, 2), x.shape[1]).squeeze(-1)


class ClassifierPoolsProducts(GivenClassifier):
    def pooled(self, x, real):
        return torch.einsum("btd,bt->btd", x, real.to(x)).max(dim=1)[0]


class ClassifierMeansIt(GivenClassifier):
    def pooled(self, x, real):
        return torch.stack([tokens[own].mean(0) if own.any() else 0 * tokens[0]
                            for tokens, own in zip(x, real, strict=True)])


class ClassifierLikeBERT(GivenClassifier):
    def pooled(self, x, real):
        return x.select(1, 0)


class ClassifierFirstLayerForAll(GivenClassifier):
    def read(self, x, real):
        for _ in self.layers:
            x = self.layers[0](x, real[:, None])
        return x


class ClassifierDropsItsVector(GivenClassifier):
    def pooled(self, x, real):
        return F.dropout(super().pooled(x, real), self.dropout.p, self.training)


class ClassifierNeverDropsWords(GivenClassifier):
    def entered(self, ids):
        x = self.scaled(ids)
        return x + self.waves(torch.arange(ids.shape[1], device=ids.device), x)


class ClassifierGivesShares(GivenClassifier):
    def forward(self, ids):
        return super().forward(ids).softmax(1)


class ClassifierAsksEachToken(GivenClassifier):
    def forward(self, ids):
        real = self.real(ids)
        each = torch.einsum("btd,cd->btc", self.read(self.entered(ids), real), self.head.weight) + self.head.bias
        return pool_minus_a_million(each, real)


SPELLINGS = {
    "EncoderClassifier": {
        "no-scale-of-embeddings": ClassifierUnscaled,
        "no-positions": ClassifierWithoutOrder,
        "positions-twice": ClassifierPositionsTwice,
        "scales-positions-too": ClassifierSumTimesTheRoot,
        "counts-from-one": ClassifierFromOne,
        "no-mask": ClassifierReadsPadding,
        "mask-in-the-first-layer-only": ClassifierTellsTheFirstLayer,
        "mask-inverted-in-the-layers": ClassifierTrueIsPadding,
        "padding-is-zero": ClassifierZeroIsPadding,
        "pools-over-padding": ClassifierPoolsEverything,
        "zeros-for-padding": ClassifierPoolsProducts,
        "mean-of-the-tokens": ClassifierMeansIt,
        "first-token": ClassifierLikeBERT,
        "one-layer-used-again-and-again": ClassifierFirstLayerForAll,
        "drops-before-the-head": ClassifierDropsItsVector,
        "no-dropout": ClassifierNeverDropsWords,
        "softmax-at-the-end": ClassifierGivesShares,
        "head-before-the-maximum": ClassifierAsksEachToken,
    },
    "max_over_real_tokens": {
        "pools-over-padding": pool_all_places,
        "zeros-for-padding": pool_products_with_the_mask,
        "begins-at-zero": pool_after_a_relu,
        "mask-inverted": pool_what_is_hidden,
        "nothing-for-an-empty-text": pool_minus_infinity_for_nobody,
        "fill-is-merely-low": pool_minus_ten_thousand,
        "cut-by-the-count": pool_the_first_n,
        "mean": pool_by_mean,
        "sum": pool_by_sum,
        "largest-size": pool_by_absolute_value,
        "values-and-indices": pool_with_its_indices,
        "over-the-features": pool_tokens,
        "over-the-batch": pool_texts,
        "zeros-wherever-there-is-padding": pool_zeros_if_any_is_padding,
        "one-token-for-all-features": pool_the_loudest_token,
    },
    "EncoderLayer": {
        "pre-norm": NormFirstByBlocks,
        "norms-only-what-is-added": SublayerNormalisesItsAnswer,
        "norm1-for-both": SameNormInALoop,
        "norms-swapped": NormsFromTheLastToTheFirst,
        "no-norm-after-the-feed-forward": ForgetsTheSecondNorm,
        "no-norms": ForgetsAllNorms,
        "no-skips": NothingAround,
        "no-skip-around-attention": NothingAroundAttention,
        "second-skip-from-the-input": KeptFromTheStart,
        "attention-twice": SecondAttention,
        "feed-forward-first": ThinksLooksWithOwnNorms,
        "side-by-side": Parallel,
        "ignores-the-mask": MaskStaysOutside,
        "mask-inverted": HandsOnWhatIsHidden,
        "always-causal": LooksBackOnly,
        "no-dropout": NoDropoutAnywhereOutside,
        "no-dropout-within-the-feed-forward": FeedForwardBuiltWithoutDropout,
        "dropout-always-on": FunctionalDropoutUntold,
        "drops-the-sum": DropsSums,
        "drops-after-the-norm": DropsBehindTheNorms,
        "drops-what-the-sublayer-reads": DropsTheQuestions,
        "norm-before-and-after": NormsBothEnds,
        "no-feed-forward": StopsAfterAttention,
        "second-norm-alone": NormWithoutThought,
        "norms-without-gain-and-offset": NormsByHand,
        "feed-forward-reads-the-input": ReadsTheOldName,
        "attention-is-lost": LosesTheFirstHalf,
        "zeroes-hidden-tokens-at-the-end": PaddingOutAsZeros,
    },
}
