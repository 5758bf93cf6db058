"""Mistakes of lesson 08 once more, each thought wrong in the same way and written by somebody else."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# --- layer_norm -------------------------------------------------------------------------------------------------


def std_with_its_default(x, gamma, beta, eps=1e-5):
    mean, std = torch.mean(x, -1, keepdim=True), torch.std(x, -1, keepdim=True)
    return gamma * (x - mean) / (std + eps) + beta


def var_with_its_default(x, gamma, beta, eps=1e-5):
    var, mean = torch.var_mean(x, dim=-1, keepdim=True)
    return torch.addcmul(beta, (x - mean) * torch.rsqrt(var + eps), gamma)


def root_and_then_eps(x, gamma, beta, eps=1e-5):
    mu = x.sum(-1, keepdim=True) / x.size(-1)
    sigma = torch.sqrt(torch.sum((x - mu).pow(2), -1, keepdim=True) / x.size(-1))
    return gamma * ((x - mu) / (sigma + eps)) + beta


def built_in_with_its_own_eps(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), weight=gamma, bias=beta)


def two_statistics_and_no_eps(x, gamma, beta, eps=1e-5):
    mu = x.mean(-1).unsqueeze(-1)
    sigma = x.std(-1, unbiased=False).unsqueeze(-1)
    return torch.div(x - mu, sigma).mul(gamma).add(beta)


def divided_by_the_variance(x, gamma, beta, eps=1e-5):
    var, mu = torch.var_mean(x, -1, correction=0, keepdim=True)
    normal = (x - mu).div(var.add(eps))
    return normal * gamma + beta


def whole_trailing_shape(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape, eps=eps) * gamma + beta


def batch_norm_of_torch(x, gamma, beta, eps=1e-5):
    flat = x.reshape(-1, x.shape[-1])
    return F.batch_norm(flat, None, None, gamma, beta, training=True, eps=eps).view_as(x)


def second_axis(x, gamma, beta, eps=1e-5):
    mu = torch.mean(x, 1, True)
    var = torch.var(x, 1, unbiased=False, keepdim=True)
    return (x - mu) / torch.sqrt(var + eps) * gamma + beta


def axis_is_lost(x, gamma, beta, eps=1e-5):
    mu, var = torch.mean(x, -1), torch.var(x, -1, unbiased=False)
    x_hat = (x - mu) / (var + eps).sqrt()
    return gamma * x_hat + beta


def torchs_rms(x, gamma, beta, eps=1e-5):
    return F.rms_norm(x, x.shape[-1:], weight=gamma, eps=eps) + beta


def second_moment_for_variance(x, gamma, beta, eps=1e-5):
    mu = torch.mean(x, dim=-1, keepdim=True)
    second = torch.einsum("...d,...d->...", x, x).unsqueeze(-1) / x.shape[-1]
    return gamma * (x - mu) * torch.rsqrt(second + eps) + beta


def difference_of_moments(x, gamma, beta, eps=1e-5):
    D = x.shape[-1]
    total, squares = x.sum(-1, keepdim=True), x.square().sum(-1, keepdim=True)
    var = squares / D - (total / D) ** 2
    return (x - total / D) * torch.rsqrt(var + eps) * gamma + beta


def built_in_weights_exchanged(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, [x.size(-1)], beta, gamma, eps)


def built_in_without_offset(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, [len(gamma)], weight=gamma, eps=eps)


def built_in_without_weights(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, gamma.shape, None, None, eps)


def direction_only(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    length = torch.sqrt(centred.pow(2).sum(-1, keepdim=True) + eps)
    return centred / length * gamma + beta


def some_other_eps(x, gamma, beta, eps=1e-5):
    return nn.functional.layer_norm(x, gamma.shape, gamma, beta, 1e-8)


# --- FeedForward ------------------------------------------------------------------------------------------------


class GivenFeedForward(nn.Module):
    """The constructor of the stub."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)


class AllInOneLine(GivenFeedForward):
    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x)))


class SwitchBehindTheSecond(GivenFeedForward):
    def forward(self, x):
        for layer in (self.linear1, self.dropout, self.linear2):
            x = layer(x)
        return F.relu(x)


class SwitchBehindEach(GivenFeedForward):
    def step(self, layer, x):
        return torch.clamp(layer(x), min=0)

    def forward(self, x):
        return self.step(self.linear2, self.dropout(self.step(self.linear1, x)))


class SwitchOverTheInput(GivenFeedForward):
    def forward(self, x):
        h = F.linear(torch.clamp_min(x, 0), self.linear1.weight, self.linear1.bias)
        return F.linear(self.dropout(h), self.linear2.weight, self.linear2.bias)


class GeluModule(GivenFeedForward):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff, dropout)
        self.act = nn.GELU()

    def forward(self, x):
        return self.linear2(self.dropout(self.act(self.linear1(x))))


class GeluByTanh(GivenFeedForward):
    def forward(self, x):
        return self.linear2(self.dropout(F.gelu(self.linear1(x), approximate="tanh")))


class LeakyWithTorchsSlope(GivenFeedForward):
    def forward(self, x):
        return self.linear2(self.dropout(F.leaky_relu(self.linear1(x))))


class LeakyWithAnotherSlope(GivenFeedForward):
    def forward(self, x):
        h = self.linear1(x)
        return self.linear2(self.dropout(torch.where(h > 0, h, 0.1 * h)))


class SkipWithin(GivenFeedForward):
    def hidden(self, x):
        return self.dropout(torch.maximum(self.linear1(x), torch.zeros(())))

    def forward(self, x):
        return torch.add(x, self.linear2(self.hidden(x)))


class BareProductsFirst(GivenFeedForward):
    def forward(self, x):
        h = torch.einsum("...i,oi->...o", x, self.linear1.weight).relu()
        return self.linear2(self.dropout(h))


class BareProductsSecond(GivenFeedForward):
    def forward(self, x):
        h = self.dropout(F.relu(self.linear1(x)))
        return h @ self.linear2.weight.mT


class NotTransposed(GivenFeedForward):
    def forward(self, x):
        hidden = torch.relu(torch.matmul(x, self.linear1.weight) + self.linear1.bias)
        return torch.matmul(self.dropout(hidden), self.linear2.weight) + self.linear2.bias


class FunctionalDropout(GivenFeedForward):
    def forward(self, x):
        h = F.dropout(F.relu(self.linear1(x)), self.dropout.p)
        return self.linear2(h)


class NothingDropped(GivenFeedForward):
    def forward(self, x):
        network = nn.Sequential(self.linear1, nn.ReLU(), self.linear2)
        return network(x)


class DropsAtTheEnd(GivenFeedForward):
    def forward(self, x):
        h = torch.relu(F.linear(x, self.linear1.weight, self.linear1.bias))
        return self.dropout(F.linear(h, self.linear2.weight, self.linear2.bias))


class DropsTheInput(GivenFeedForward):
    def forward(self, x):
        return nn.Sequential(self.dropout, self.linear1, nn.ReLU(), self.linear2)(x)


class DropsInTwoPlaces(GivenFeedForward):
    def forward(self, x):
        h = self.dropout(self.linear1(x))
        h = self.dropout(h.clamp(min=0))
        return self.linear2(h)


class BackAndForth(GivenFeedForward):
    def forward(self, x):
        return self.linear1(self.dropout(F.relu(self.linear2(x))))


class StopsHalfway(GivenFeedForward):
    def forward(self, x):
        return self.dropout(torch.where(self.linear1(x) > 0, self.linear1(x), 0.0))


class FoldsIntoSentences(GivenFeedForward):
    def forward(self, x):
        B, T, _ = x.shape
        h = F.relu(self.linear1(x.reshape(B * T, -1)))
        return self.linear2(self.dropout(h)).reshape(B, T, -1)


class SmoothSwitch(GivenFeedForward):
    def forward(self, x):
        h = 1 / (1 + torch.exp(-self.linear1(x)))
        return self.linear2(self.dropout(h))


class LayerNormAtTheEnd(GivenFeedForward):
    def forward(self, x):
        y = self.linear2(self.dropout(F.relu(self.linear1(x))))
        return F.layer_norm(y, y.shape[-1:])


# --- SublayerConnection -----------------------------------------------------------------------------------------


class GivenConnection(nn.Module):
    """The constructor of the stub."""

    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class AsTheAnnotatedTransformer(GivenConnection):
    def residual(self, x, branch):
        return x.add(self.dropout(branch))

    def forward(self, x, sublayer):
        return self.residual(x, sublayer(F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias)))


class NormalisesWhatTheSublayerReads(GivenConnection):
    def forward(self, x, sublayer):
        answer = sublayer(self.norm(x))
        total = torch.stack([x, self.dropout(answer)]).sum(0)
        return self.norm(total)


class NoWayRound(GivenConnection):
    def forward(self, x, sublayer):
        return F.layer_norm(self.dropout(sublayer(x)), self.norm.normalized_shape, self.norm.weight, self.norm.bias)


class SumAsItIs(GivenConnection):
    def forward(self, x, sublayer):
        out = self.dropout(sublayer(x))
        out = torch.add(out, x)
        return out


class NormalisesTheAnswer(GivenConnection):
    def forward(self, x, sublayer):
        branch = sublayer(x)
        branch = self.norm(self.dropout(branch))
        return torch.stack((x, branch)).sum(dim=0)


class NormalisesBoth(GivenConnection):
    def forward(self, x, sublayer):
        parts = [self.norm(part) for part in (x, self.dropout(sublayer(x)))]
        return sum(parts)


class NormalisesXFirst(GivenConnection):
    def forward(self, x, sublayer):
        shortcut = self.norm(x)
        return shortcut + self.dropout(sublayer(x))


class NormOfNorm(GivenConnection):
    def forward(self, x, sublayer):
        return nn.Sequential(self.norm, self.norm)(x + self.dropout(sublayer(x)))


class NormWrittenOut(GivenConnection):
    def forward(self, x, sublayer):
        s = x + self.dropout(sublayer(x))
        centred = s - s.mean(-1, keepdim=True)
        return centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + self.norm.eps)


class NormWithStd(GivenConnection):
    def forward(self, x, sublayer):
        s = x + self.dropout(sublayer(x))
        s = (s - s.mean(-1, keepdim=True)) / (s.std(-1, keepdim=True) + self.norm.eps)
        return self.norm.weight * s + self.norm.bias


class CallsForShapeFirst(GivenConnection):
    def forward(self, x, sublayer):
        assert sublayer(x).shape == x.shape
        return self.norm(x + self.dropout(sublayer(x)))


class NeverDrops(GivenConnection):
    def forward(self, x, sublayer):
        return self.norm(torch.add(sublayer(x), x, alpha=1))


class AlwaysDrops(GivenConnection):
    def forward(self, x, sublayer):
        branch = F.dropout(sublayer(x), p=self.dropout.p, training=True)
        return self.norm(branch + x)


class DropsTheSum(GivenConnection):
    def forward(self, x, sublayer):
        for step in (sublayer, x.add, self.dropout, self.norm):
            x = step(x)
        return x


class DropsTheShortcut(GivenConnection):
    def forward(self, x, sublayer):
        shortcut = F.dropout(x, self.dropout.p, self.training)
        return self.norm(shortcut + sublayer(x))


class DropsAtTheVeryEnd(GivenConnection):
    def forward(self, x, sublayer):
        y = self.norm(x + sublayer(x))
        return F.dropout(y, p=self.dropout.p, training=self.training)


class DropsOnTheWayIn(GivenConnection):
    def forward(self, x, sublayer):
        seen = self.dropout(x)
        return self.norm(x + sublayer(seen))


class TakesTheDifference(GivenConnection):
    def forward(self, x, sublayer):
        return self.norm(torch.sub(x, self.dropout(sublayer(x))))


class AddsTheCallable(GivenConnection):
    def forward(self, x, sublayer):
        total = torch.add(x, self.dropout(sublayer))
        return self.norm(total)


class NormWithoutOffset(GivenConnection):
    def forward(self, x, sublayer):
        return F.layer_norm(x + self.dropout(sublayer(x)), x.shape[-1:], self.norm.weight)


class BatchNormed(GivenConnection):
    def forward(self, x, sublayer):
        s = x + self.dropout(sublayer(x))
        d = s.shape[-1]
        flat = s.reshape(math.prod(s.shape[:-1]), d)
        mean, var = flat.mean(0), flat.var(0, unbiased=False)
        return (s - mean) / (var + self.norm.eps).sqrt() * self.norm.weight + self.norm.bias


SPELLINGS = {
    "layer_norm": {
        "unbiased-std-plus-eps": std_with_its_default,
        "unbiased-variance": var_with_its_default,
        "eps-beside-the-root": root_and_then_eps,
        "fixed-eps": built_in_with_its_own_eps,
        "no-eps": two_statistics_and_no_eps,
        "no-root": divided_by_the_variance,
        "one-mean-for-all": whole_trailing_shape,
        "batch-norm": batch_norm_of_torch,
        "over-axis-1": second_axis,
        "rms-norm": torchs_rms,
        "squares-not-centred": second_moment_for_variance,
        "mean-of-squares-minus-square": difference_of_moments,
        "gamma-and-beta-swapped": built_in_weights_exchanged,
        "no-beta": built_in_without_offset,
        "no-gamma-and-no-beta": built_in_without_weights,
        "unit-length": direction_only,
        "keepdim-missing": axis_is_lost,
    },
    "FeedForward": {
        "no-relu": AllInOneLine,
        "relu-at-the-end": SwitchBehindTheSecond,
        "two-relus": SwitchBehindEach,
        "relu-before-the-first": SwitchOverTheInput,
        "gelu": GeluModule,
        "leaky-relu": LeakyWithTorchsSlope,
        "adds-x-at-the-end": SkipWithin,
        "no-first-bias": BareProductsFirst,
        "no-second-bias": BareProductsSecond,
        "weights-not-transposed": NotTransposed,
        "dropout-always-on": FunctionalDropout,
        "dropout-forgotten": NothingDropped,
        "dropout-on-the-result": DropsAtTheEnd,
        "dropout-on-x": DropsTheInput,
        "drops-twice": DropsInTwoPlaces,
        "layers-swapped": BackAndForth,
        "returns-hidden": StopsHalfway,
        "three-axes-only": FoldsIntoSentences,
        "sigmoid": SmoothSwitch,
        "normalises": LayerNormAtTheEnd,
    },
    "SublayerConnection": {
        "pre-norm": AsTheAnnotatedTransformer,
        "norm-of-x-to-the-sublayer": NormalisesWhatTheSublayerReads,
        "no-skip": NoWayRound,
        "no-norm": SumAsItIs,
        "norm-before-adding": NormalisesTheAnswer,
        "norm-of-each": NormalisesBoth,
        "norm-of-x-only": NormalisesXFirst,
        "normalises-twice": NormOfNorm,
        "norm-without-weights": NormWrittenOut,
        "unbiased-norm": NormWithStd,
        "calls-twice": CallsForShapeFirst,
        "dropout-missing": NeverDrops,
        "dropout-in-eval-mode": AlwaysDrops,
        "dropout-on-the-sum": DropsTheSum,
        "dropout-on-the-skip": DropsTheShortcut,
        "dropout-after-the-norm": DropsAtTheVeryEnd,
        "drops-what-the-sublayer-reads": DropsOnTheWayIn,
        "subtracts": TakesTheDifference,
        "not-called": AddsTheCallable,
        "norm-without-offset": NormWithoutOffset,
        "normalises-over-positions": BatchNormed,
    },
}
