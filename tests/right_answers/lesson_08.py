"""Right answers of lesson 08 in other people's styles."""

import torch
import torch.nn.functional as F
from torch import nn


def by_loop(x, gamma, beta, eps=1e-5):
    """Position by position, number by number."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mean = sum(row) / len(row)
        variance = sum((v - mean) ** 2 for v in row) / len(row)
        rows.append(torch.stack([(v - mean) / (variance + eps) ** 0.5 * g + b
                                 for v, g, b in zip(row, gamma, beta, strict=True)]))
    return torch.stack(rows).reshape(x.shape)


def by_var_mean(x, gamma, beta, eps=1e-5):
    variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return torch.addcmul(beta, (x - mean) * torch.rsqrt(variance + eps), gamma)


def by_einsum(x, gamma, beta, eps=1e-5):
    D = x.shape[-1]
    x = x - torch.einsum("...d->...", x)[..., None] / D
    return torch.einsum("...d,...,d->...d", x, (torch.einsum("...d,...d->...", x, x) / D + eps) ** -0.5, gamma) + beta


def by_matrix(x, gamma, beta, eps=1e-5):
    """Taking off the mean is a linear map."""
    D = x.shape[-1]
    x = x @ (torch.eye(D, dtype=x.dtype, device=x.device) - 1 / D)
    return gamma * x / torch.sqrt(x.pow(2).mean(-1, keepdim=True).add(eps)) + beta


def by_scale_and_shift(x, gamma, beta, eps=1e-5):
    """One factor and one summand a position, as kernels do it."""
    mean = x.mean(-1, keepdim=True)
    scale = gamma * torch.rsqrt(((x - mean) ** 2).mean(-1, keepdim=True) + eps)
    return x * scale + (beta - mean * scale)


class GivenLayers(nn.Module):
    """The constructor of the stub of FeedForward."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)


class OneLine(GivenLayers):
    """Dropout before the ReLU: what is dropped is zero on both sides of it."""

    def forward(self, x):
        return self.linear2(F.relu(self.dropout(self.linear1(x))))


class ByEinsum(GivenLayers):
    """No layer is called."""

    def forward(self, x):
        hidden = torch.einsum("...d,fd->...f", x, self.linear1.weight) + self.linear1.bias
        return torch.einsum("...f,df->...d", self.dropout(hidden.clamp_min(0)), self.linear2.weight) + self.linear2.bias


class WordByWord(GivenLayers):
    """A loop over positions."""

    def forward(self, x):
        out = [self.linear2(self.dropout(torch.maximum(self.linear1(word), word.new_zeros(()))))
               for word in x.reshape(-1, x.shape[-1])]
        return torch.stack(out).reshape(x.shape)


class OwnDropout(GivenLayers):
    """Dropout by hand: a mask, and a division that makes up for it."""

    def forward(self, x):
        hidden = self.linear1(x).relu()
        if self.training and self.dropout.p < 1:
            hidden = hidden * (torch.rand_like(hidden) >= self.dropout.p) / (1 - self.dropout.p)
        return self.linear2(0 * hidden if self.training and self.dropout.p == 1 else hidden)


class UnitByUnit(GivenLayers):
    """A sum over hidden units, each one switch."""

    def forward(self, x):
        out = self.linear2.bias
        for w, b, back in zip(self.linear1.weight, self.linear1.bias, self.linear2.weight.T, strict=True):
            unit = (x @ w + b)[..., None]
            out = out + self.dropout(unit * (unit > 0)) * back
        return out


class AsSequential(GivenLayers):
    """The same layers under another name as well."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff, dropout)
        self.steps = nn.Sequential(self.linear1, nn.ReLU(), self.dropout, self.linear2)

    def forward(self, x):
        return self.steps(x)


class AsConvolution(GivenLayers):
    """Two convolutions with windows of one word, as the paper also puts it."""

    def forward(self, x):
        columns = x.reshape(1, -1, x.shape[-1]).transpose(1, 2)  # (1, d_model, positions)
        hidden = self.dropout(F.conv1d(columns, self.linear1.weight[..., None], self.linear1.bias).relu())
        return F.conv1d(hidden, self.linear2.weight[..., None], self.linear2.bias).transpose(1, 2).reshape(x.shape)


class GivenNorm(nn.Module):
    """The constructor of the stub of SublayerConnection."""

    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)


class Steps(GivenNorm):
    """One name for each step."""

    def forward(self, x, sublayer):
        said = sublayer(x)
        said = self.dropout(said)
        total = torch.add(said, x)
        return self.norm(total)


class ByHand(GivenNorm):
    """With a layer norm of one's own."""

    def forward(self, x, sublayer):
        return by_var_mean(self.dropout(sublayer(x)) + x, self.norm.weight, self.norm.bias, self.norm.eps)


class Functional(GivenNorm):
    """With functions instead of modules."""

    def forward(self, x, sublayer):
        said = F.dropout(sublayer(x), self.dropout.p, self.training)
        return F.layer_norm(x + said, self.norm.normalized_shape, self.norm.weight, self.norm.bias)


class Looped(GivenNorm):
    """Sum and norm position by position."""

    def forward(self, x, sublayer):
        total = x + self.dropout(sublayer(x))
        return by_loop(total, self.norm.weight, self.norm.bias)


class OnACopy(GivenNorm):
    """Writes, but into a copy of x."""

    def forward(self, x, sublayer):
        total = x.clone()
        total += self.dropout(sublayer(x))
        return self.norm(total)


RIGHT_ANSWERS = {
    "layer_norm": {
        "loop": by_loop,
        "built-in": lambda x, gamma, beta, eps=1e-5: F.layer_norm(x, (len(gamma),), gamma, beta, eps),
        "var_mean": by_var_mean,
        "einsum": by_einsum,
        "matrix": by_matrix,
        "scale and shift": by_scale_and_shift,
        "std": lambda x, gamma, beta, eps=1e-5: (
            x - x.mean(-1, True)) / (x.std(-1, correction=0, keepdim=True) ** 2 + eps) ** 0.5 * gamma + beta,
    },
    "FeedForward": {"one line": OneLine, "einsum": ByEinsum, "word by word": WordByWord, "unit by unit": UnitByUnit,
                    "sequential": AsSequential, "convolution": AsConvolution, "own dropout": OwnDropout},
    "SublayerConnection": {"steps": Steps, "by hand": ByHand, "functional": Functional, "loop": Looped,
                           "on a copy": OnACopy},
}
