"""The matrix products inside each model, bare: what is left when everything else costs nothing."""

import torch


def attention(size, B, T):
    """QKᵀ and PV of every head, as (batch, m, k, n): m by k times k by n."""
    d_head = size.d_model // size.num_heads
    return [(B * size.num_heads, T, d_head, T), (B * size.num_heads, T, T, d_head)]


def mha(size, B, T):
    """The four projections, and the attention."""
    return [(1, B * T, size.d_model, size.d_model)] * 4 + attention(size, B, T)


def feed_forward(size, B, T):
    """Out to d_ff, and back."""
    return [(1, B * T, size.d_model, size.d_ff), (1, B * T, size.d_ff, size.d_model)]


def encoder(size, B, T):
    """One encoder layer."""
    return mha(size, B, T) + feed_forward(size, B, T)


def transformer(size, B, T):
    """Encoder and decoder layers, source and target of one length, and the last linear map."""
    decoder = 2 * mha(size, B, T) + feed_forward(size, B, T)
    return size.num_layers * (encoder(size, B, T) + decoder) + [(1, B * T, size.d_model, size.vocab)]


def vit(size, B, T):
    """T - 1 patches and a class token."""
    patches = (1, B * (T - 1), 3 * size.patch**2, size.d_model)
    return [patches] + size.num_layers * encoder(size, B, T) + [(1, B, size.d_model, size.classes)]


def lm(size, B, T):
    """All T by T scores, also those that a causal mask hides: a kernel that skips them can be faster than this."""
    return size.num_layers * encoder(size, B, T) + [(1, B * T, size.d_model, size.vocab)]


PRODUCTS = {"attention": attention, "mha": mha, "encoder": encoder, "transformer": transformer, "vit": vit, "lm": lm}


def flops(products):
    """Two for every multiplication, one of them the addition."""
    return sum(2 * batch * m * k * n for batch, m, k, n in products)


def with_backward(products):
    """Each product C = AB, and the two of its backward pass: dA = dC Bᵀ and dB = Aᵀ dC."""
    return [p for batch, m, k, n in products for p in ((batch, m, k, n), (batch, m, n, k), (batch, k, m, n))]


class Factors(dict):
    """{(batch, m, k, n): two random factors of a product of that shape}, made when they are first asked for."""

    def __init__(self, device, dtype):
        super().__init__()
        self.like = {"device": device, "dtype": dtype}

    def __missing__(self, shape):
        batch, m, k, n = shape
        lead = () if batch == 1 else (batch,)
        self[shape] = torch.randn(*lead, m, k, **self.like), torch.randn(*lead, k, n, **self.like)
        return self[shape]


class Bare:
    """All products of a list, one after the other; products of one shape share their factors."""

    def __init__(self, products, factors):
        self.products, self.factors = products, factors

    @torch.no_grad()
    def __call__(self):
        for shape in self.products:
            left, right = self.factors[shape]
            out = left @ right
        return out
