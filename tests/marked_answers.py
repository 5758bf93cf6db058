"""Wrong answers as learners and language models write them, their wrong lines marked with `#!`.

ODD holds those that no mistake of the catalogue was written for, DOUBLE those with two mistakes, KNOWN the rest, with
the ids of the mistakes that they are. Of FALSE another line was told once, with which nothing is wrong.
"""

import math
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.language_model import LanguageModel
from course_lib.layers import FeedForward
from course_lib.positions import sinusoidal_positions
from course_lib.vision import patchify


def softmax_1(scores):
    shifted = scores - scores.max()  #!
    powers = shifted.exp()
    return powers / powers.sum(-1, keepdim=True)


def softmax_2(scores):
    top = scores.max(dim=-1, keepdim=True).values
    powers = torch.exp(scores - top)
    total = torch.sum(powers, dim=0, keepdim=True)  #!
    return powers / total


def softmax_3(scores):
    top = torch.amax(scores, -1, keepdim=True)
    powers = torch.exp2(scores - top)  #!
    return powers / powers.sum(-1, keepdim=True)


def softmax_4(scores):
    top = torch.amax(scores, -1, keepdim=True)
    powers = torch.exp(scores - top)
    normed = powers / powers.norm(dim=-1, keepdim=True)  #!
    return normed


def softmax_5(scores):
    z = scores - scores.mean(-1, keepdim=True)  #!
    p = z.clamp(max=20).exp()  #!
    return p / p.sum(-1, keepdim=True)


def dot_product_attention_1(query, inputs):
    scores = (inputs * query).mean(dim=1)  #!
    weights = F.softmax(scores, dim=0)
    return (weights.unsqueeze(1) * inputs).sum(0)


def dot_product_attention_2(query, inputs):
    scores = torch.matmul(inputs, query)
    probs = F.softmax(scores, dim=0)
    probs = F.softmax(probs, dim=0)  #!
    return torch.matmul(probs, inputs)


def dot_product_attention_3(query, inputs):
    sims = F.cosine_similarity(inputs, query[None], dim=1)  #!
    w = sims.softmax(0)
    return w @ inputs


def scaled_dot_product_attention_single_1(query, inputs):
    d = inputs.size(0)  #!
    scores = inputs @ query / math.sqrt(d)
    return F.softmax(scores, dim=0) @ inputs


def scaled_dot_product_attention_single_2(query, inputs):
    d = query.size(0)
    scores = inputs @ query
    scores = scores / math.log(d + 1)  #!
    return F.softmax(scores, dim=0) @ inputs


def scaled_dot_product_attention_single_3(query, inputs):
    scale = 1 / math.sqrt(query.size(0))
    scores = torch.mv(inputs, query) * scale
    weights = torch.exp(scores) / (1 + torch.exp(scores).sum())  #!
    return torch.mv(inputs.t(), weights)


def scaled_dot_product_attention_single_4(query, inputs):
    scores = torch.mv(inputs, query) / query.size(0)  #!
    weights = F.log_softmax(scores, 0)  #!
    return weights @ inputs


def attention_query_matrix_1(queries, inputs):
    d = queries.shape[-1]
    scores = queries @ inputs.T / math.sqrt(d)
    weights = F.softmax(scores, dim=0)  #!
    return weights @ inputs


def attention_query_matrix_2(queries, inputs):
    scores = queries @ inputs.T
    scores = scores / scores.std()  #!
    weights = F.softmax(scores, dim=-1)
    return weights @ inputs


def cross_attention_1(queries, inputs, W_k, W_v):
    keys, values = inputs @ W_k, inputs @ W_v
    d = values.shape[-1]  #!
    a = F.softmax(queries @ keys.T / d ** 0.5, dim=-1)
    return a @ values


def cross_attention_2(queries, inputs, W_k, W_v):
    keys, values = inputs @ W_k, inputs @ W_v
    a = F.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    a = a / a.max(dim=-1, keepdim=True).values  #!
    return a @ values


def self_attention_1(inputs, W_q, W_k, W_v):
    q, k, v = inputs @ W_q, inputs @ W_k, inputs @ W_v
    s = k @ q.T / q.shape[-1] ** 0.5  #!
    return s.softmax(-1) @ v


def self_attention_2(inputs, W_q, W_k, W_v):
    q = inputs @ W_q
    k = inputs @ W_k
    v = inputs @ W_v
    s = q @ k.T / math.sqrt(inputs.shape[-1])  #!
    return F.softmax(s, dim=1) @ v


def self_attention_3(inputs, W_q, W_k, W_v):
    q = inputs @ W_q
    k = inputs @ W_k
    v = torch.tanh(inputs @ W_v)  #!
    s = q @ k.T / math.sqrt(q.shape[-1])
    return F.softmax(s, dim=1) @ v


def self_attention_4(inputs, W_q, W_k, W_v):
    q = F.normalize(inputs @ W_q, dim=-1)  #!
    k = inputs @ W_k
    v = F.relu(inputs @ W_v)  #!
    s = q @ k.T / math.sqrt(q.shape[-1])
    return F.softmax(s, dim=1) @ v


def scaled_dot_product_attention_1(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)  #!
    return F.softmax(scores, dim=-1) @ value


def scaled_dot_product_attention_2(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask  #!
    return weights @ value


def scaled_dot_product_attention_3(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + mask.to(scores.dtype).log().clamp(min=-3)  #!
    return F.softmax(scores, dim=-1) @ value


def scaled_dot_product_attention_4(query, key, value, mask=None):
    scores = torch.cdist(query, key).neg()  #!
    scores = scores / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return F.softmax(scores, dim=-1) @ value


def scaled_dot_product_attention_5(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)  #!
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-2)  #!
    return weights @ value


class MultiHeadAttention_1(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.dk = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        q = self.W_q(query).view(B, -1, self.h, self.dk).transpose(1, 2)
        k = self.W_k(key).view(B, -1, self.h, self.dk).transpose(1, 2)
        v = self.W_v(value).view(B, -1, self.h, self.dk).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / math.sqrt(D)  #!
        if mask is not None:
            m = mask.unsqueeze(1) if mask.dim() == 3 else mask
            s = s.masked_fill(m == 0, -1e9)
        a = s.softmax(-1)
        out = (a @ v).transpose(1, 2).reshape(B, T, D)
        return self.W_o(out)


class MultiHeadAttention_2(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.dk = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(x.size(0), -1, self.h, self.dk).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        q, k, v = self.split(self.W_q(query)), self.split(self.W_k(key)), self.split(self.W_v(value))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.dk)
        if mask is not None:
            m = mask.unsqueeze(1) if mask.dim() == 3 else mask
            s = s.masked_fill(m == 0, -1e9)
        a = s.softmax(-1)
        out = (a @ v).reshape(B, T, D)  #!
        return self.W_o(out)


class MultiHeadAttention_3(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.dk = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        q = self.W_q(query).view(B, -1, self.h, self.dk).transpose(1, 2)
        k = self.W_k(key).view(B, -1, self.h, self.dk).transpose(1, 2)
        v = self.W_v(value).view(B, -1, self.h, self.dk).transpose(1, 2)
        s = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.dk)
        if mask is not None:
            m = mask.unsqueeze(1) if mask.dim() == 3 else mask
            s = s.masked_fill(m == 0, -1e9)
        a = s.softmax(-1)
        a = a.flip(1)  #!
        out = (a @ v).transpose(1, 2).reshape(B, T, D)
        return self.W_o(out)


def causal_mask_1(T):
    return torch.triu(torch.ones(T, T)).bool()  #!


def causal_mask_2(T):
    i = torch.arange(T)
    return i[:, None] > i[None, :]  #!


def padding_mask_from_ids_1(ids, pad_id=0):
    return (ids != pad_id)  #!


def layer_norm_1(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)  #!
    return gamma * (x - mean) / (std + eps) + beta  #!


def layer_norm_2(x, gamma, beta, eps=1e-5):
    mean = x.median(-1, keepdim=True).values  #!
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


def layer_norm_3(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) * torch.rsqrt(var + eps)
    return gamma * y + beta * y.abs()  #!


def layer_norm_4(x, gamma, beta, eps=1e-5):
    mean = x.mean(0, keepdim=True)  #!
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) * torch.rsqrt(var + eps)
    return gamma * y - beta  #!


class FeedForward_1(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear2(self.dropout(F.gelu(self.linear1(x))))  #!


class FeedForward_2(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = torch.relu(self.linear1(x))
        h = h / (h.sum(-1, keepdim=True) + 1e-6)  #!
        return self.linear2(self.dropout(h))


def sinusoidal_positions_1(n, d):
    pos = torch.arange(n).float()[:, None]
    i = torch.arange(d // 2).float()
    angle = pos / 10000 ** (i / d)  #!
    out = torch.zeros(n, d)
    out[:, 0::2] = angle.sin()
    out[:, 1::2] = angle.cos()
    return out


def sinusoidal_positions_2(n, d):
    pos = torch.arange(n).float()[:, None]
    i = torch.arange(d // 2).float()
    angle = pos / 10000 ** (2 * i / d)
    return torch.cat([angle.sin(), angle.cos()], dim=1)  #!


def sinusoidal_positions_3(n, d):
    pos = torch.arange(n).float()[:, None]
    i = torch.arange(d // 2).float()
    angle = pos / 10000 ** (2 * i / d)
    angle = angle % math.pi  #!
    out = torch.zeros(n, d)
    out[:, 0::2] = angle.sin()
    out[:, 1::2] = angle.cos()
    return out


def shift_right_1(tgt, bos_id):
    out = torch.roll(tgt, 1, dims=0)  #!
    out[:, 0] = bos_id
    return out


def masked_cross_entropy_1(logits, labels, pad_id=0):
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    real = labels.flatten() != pad_id
    return (loss * real).mean()  #!


def masked_cross_entropy_2(logits, labels, pad_id=0):
    logp = logits.log_softmax(dim=1)  #!
    picked = logp.gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return -(picked * real).sum() / real.sum()


def rms_norm_1(x, gain, eps=1e-6):
    rms = x.pow(2).mean(-1, keepdim=True).sqrt()
    return x / (rms + eps) * gain  #!


def rms_norm_2(x, gain, eps=1e-6):
    rms = (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return x / rms * (1 + gain)  #!


def mean_pool_1(states, mask):
    summed = (states * mask[..., None]).sum(1)
    return F.normalize(summed / states.shape[1] + 1, dim=-1)  #!


class SublayerConnection_1(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))  #!


class EncoderLayer_1(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        a = self.self_attn(x, x, x, mask)
        x = self.norm1(x + self.dropout(a))
        f = self.ff(a)  #!
        return self.norm2(x + self.dropout(f))


class EncoderLayer_2(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        a = self.self_attn(x, x, x)  #!
        x = self.norm1(x + self.dropout(a))
        f = self.ff(x)
        return self.norm1(x + self.dropout(f))  #!


def patchify_1(images, p):
    B, C, H, W = images.shape
    x = images.reshape(B, C, H // p, p, W // p, p)
    x = x.permute(0, 4, 2, 3, 5, 1)  #!
    return x.reshape(B, -1, p * p * C)


def patchify_2(images, p):
    B, C, H, W = images.shape
    return images.unfold(2, p, p).unfold(3, p, p).reshape(B, -1, C * p * p)  #!


def embed_tokens_1(ids, table):
    onehot = F.one_hot(ids, table.shape[0]).float()
    return onehot @ table / table.shape[1] ** 0.5  #!


def weighted_sum_1(weights, x):
    w = weights / weights.sum()  #!
    return w @ x


def reweight_1(x):
    s = x @ x.T
    s = s - torch.diag(s.diag())  #!
    return F.softmax(s, dim=-1) @ x


def soft_max_pool_1(x, beta):
    w = torch.softmax(x * beta, dim=1)  #!
    return (w * x).sum(dim=0)


def soft_max_pool_2(x, beta):
    w = torch.softmax(x * beta, dim=0)
    picked = w * x
    return picked.sum(dim=0) / w.amax(dim=0)  #!


def soft_max_pool_3(x, beta):
    w = torch.softmax(x + beta, dim=0)  #!
    return torch.einsum("nd,nd->d", w, x.abs())  #!


def additive_attention_1(query, inputs, W_q, W_x, v):
    hidden = F.relu(query @ W_q + inputs @ W_x)  #!
    weights = F.softmax(hidden @ v, dim=0)
    return weights @ inputs


def additive_attention_2(query, inputs, W_q, W_x, v):
    q = query @ W_q
    x = inputs @ W_x
    hidden = torch.tanh(q) + torch.tanh(x)  #!
    energies = hidden @ v
    weights = F.softmax(energies, dim=0)
    return (weights[:, None] * inputs).sum(0)


def additive_attention_3(query, inputs, W_q, W_x, v):
    hidden = torch.tanh(query @ W_q * (inputs @ W_x))  #!
    weights = F.softmax(hidden @ v, dim=0)
    return weights @ inputs


def bahdanau_context_1(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    hidden = torch.tanh((decoder_state @ W_d)[:, None] + encoder_states @ W_e)
    energies = hidden @ v
    if src_mask is not None:
        energies = energies.masked_fill(src_mask == 0, -1e9)
    weights = energies.softmax(dim=0)  #!
    context = (weights[..., None] * encoder_states).sum(1)
    return context, weights


def padding_mask_1(lengths, max_len=None):
    T = int(lengths.max()) if max_len is None else max_len
    positions = torch.arange(1, T + 1, device=lengths.device)
    return positions[None] < lengths[:, None]  #!


def binary_positions_1(n, dims):
    positions = torch.arange(n)[:, None]
    bits = torch.arange(dims).flip(0)  #!
    return ((positions >> bits) & 1).float()


def binary_positions_2(n, dims):
    positions = torch.arange(n)[:, None]
    gray = positions ^ (positions >> 1)  #!
    return ((gray >> torch.arange(dims)) & 1).float()


def shift_matrix_1(k, d):
    freq = 10000 ** (-torch.arange(0, d, 2) / d)
    M = torch.zeros(d, d)
    for i, w in enumerate(freq):
        c, s = torch.cos(k * w), torch.sin(k * w)
        M[2 * i, 2 * i], M[2 * i, 2 * i + 1] = c, -s  #!
        M[2 * i + 1, 2 * i], M[2 * i + 1, 2 * i + 1] = s, c  #!
    return M


def max_over_real_tokens_1(x, mask):
    hidden = ~mask[..., None]
    largest = x.masked_fill(hidden, 0.0).amax(dim=1)  #!
    return largest.masked_fill(hidden.all(dim=1), 0.0)


def max_over_real_tokens_2(x, mask):
    x = x.abs()  #!
    hidden = ~mask[..., None]
    largest = x.masked_fill(hidden, -torch.inf).amax(dim=1)
    return largest.masked_fill(hidden.all(dim=1), 0.0)


def bigram_probs_1(ids, vocab_size, alpha=0.0):
    counts = torch.zeros(vocab_size, vocab_size, device=ids.device)
    one = torch.ones(len(ids) - 1, device=ids.device)
    counts.index_put_((ids[1:], ids[:-1]), one, accumulate=True)  #!
    counts = counts + alpha
    total = counts.sum(1, keepdim=True)
    return torch.where(total > 0, counts / total.clamp(min=1e-9), 1 / vocab_size)


def bigram_probs_2(ids, vocab_size, alpha=0.0):
    pairs = ids[:-1] * vocab_size + ids[1:]
    counts = torch.bincount(pairs, minlength=vocab_size ** 2).view(vocab_size, vocab_size).float()
    counts = counts + alpha / vocab_size  #!
    total = counts.sum(1, keepdim=True)
    return torch.where(total > 0, counts / total.clamp(min=1e-9), 1 / vocab_size)


def perplexity_1(logits, targets, pad_id=None):
    logp = logits.log_softmax(-1)
    real = torch.ones_like(targets, dtype=torch.bool) if pad_id is None else targets != pad_id
    picked = logp.gather(-1, targets.where(real, 0)[..., None])[..., 0]
    return torch.exp2(-picked[real].mean())  #!


def perplexity_2(logits, targets, pad_id=None):
    logp = logits.log_softmax(-1)
    real = torch.ones_like(targets, dtype=torch.bool) if pad_id is None else targets != pad_id
    picked = logp.gather(-1, targets.where(real, 0)[..., None])[..., 0]
    each = torch.exp(-picked[real])  #!
    return each.mean()  #!


def next_token_probs_1(logits, temperature=1.0, top_k=None):
    logits = logits * temperature  #!
    if top_k is not None:
        bottom = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < bottom, -torch.inf)
    return logits.softmax(-1)


def next_token_probs_2(logits, temperature=1.0, top_k=None):
    probs = (logits / temperature).softmax(-1)
    if top_k is not None:
        bottom = probs.topk(top_k, dim=-1).values[..., -1:]
        probs = probs.masked_fill(probs < bottom, 0)  #!
    return probs


def top_p_probs_1(logits, p):
    probs, order = logits.softmax(-1).sort(-1, descending=True)
    total = probs.cumsum(-1)
    kept = probs * (total <= p)  #!
    kept = kept / kept.sum(-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def top_p_probs_2(logits, p):
    probs, order = logits.softmax(-1).sort(-1, descending=True)
    before = probs.cumsum(-1) - probs
    kept = probs * (before < p)
    kept = kept / kept.sum(-1, keepdim=True)
    return kept.gather(-1, order)  #!


def convolution_pattern_1(kernel, T):
    M = torch.zeros(T, T, dtype=kernel.dtype, device=kernel.device)
    middle = len(kernel) // 2
    for t in range(T):
        for k in range(len(kernel)):
            s = t - (k - middle)  #!
            if 0 <= s < T:
                M[t, s] = kernel[k]
    return M


def attention_on_graph_1(x, adjacency, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ k.T / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~adjacency, -torch.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    weights = weights / adjacency.sum(-1, keepdim=True).clamp(min=1)  #!
    return weights @ v


def cosine_search_1(query, vectors, k):
    cosines = vectors @ query / vectors.norm(dim=0, keepdim=True).sum()  #!
    return cosines.topk(k).indices


def apply_rope_1(x, base=10000.0):
    T, d = x.shape[-2:]
    w = base ** (-torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d)
    angle = torch.arange(T, device=x.device, dtype=x.dtype)[:, None] * w
    even, odd = x[..., 0::2], x[..., 1::2]
    first = even * angle.cos() - odd * angle.sin()
    second = even * angle.sin() - odd * angle.cos()  #!
    return torch.stack([first, second], dim=-1).flatten(-2)


def apply_rope_2(x, base=10000.0):
    T, d = x.shape[-2:]
    w = base ** (-torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d)
    angle = torch.arange(T, device=x.device, dtype=x.dtype)[:, None] * w
    angle = torch.tanh(angle)  #!
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], dim=-1)
    return turned.flatten(-2)


class SwiGLU_1(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))  #!
        return self.down(gate * self.up(x))


class SwiGLU_2(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = F.silu(self.gate(x))
        both = torch.maximum(gate, self.up(x))  #!
        return self.down(both)


def grouped_query_attention_1(query, key, value):
    B, H, T, d = query.shape
    each = H // key.shape[1]
    key = key.repeat(1, each, 1, 1)  #!
    value = value.repeat(1, each, 1, 1)  #!
    scores = query @ key.transpose(-2, -1) / d ** 0.5
    seen = torch.ones(T, T, dtype=torch.bool, device=query.device).tril()
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ value


def grouped_query_attention_2(query, key, value):
    B, H, T, d = query.shape
    each = H // key.shape[1]
    key = key.repeat_interleave(each, 1)
    value = value.repeat_interleave(each, 1)
    scores = query @ key.transpose(-2, -1) / d ** 0.5
    seen = torch.ones(T, T, dtype=torch.bool, device=query.device).tril()
    weights = scores.softmax(-1) * seen  #!
    return weights @ value


class DecoderLayer_1(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        a = self.self_attn(x, x, x, tgt_mask)
        x = self.norm1(x + self.dropout(a))
        c = self.cross_attn(x, memory, memory, memory_mask)
        y = self.norm2(c + self.dropout(c))  #!
        f = self.ff(y)
        return self.norm3(y + self.dropout(f))


class Block_1(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        n = self.norm1(x)
        a = self.self_attn(n, n, x, mask)  #!
        x = x + self.dropout(a)
        m = self.norm2(x)
        return x + self.dropout(self.ff(m))


class PatchEmbedding_1(nn.Module):
    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__()
        if image_size % patch_size:
            raise ValueError("patches of this size do not fit")
        self.patch_size = patch_size
        n = (image_size // patch_size) ** 2
        self.proj = nn.Linear(in_channels * patch_size**2, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.randn(1, n + 1, d_model) * 0.2)

    def forward(self, images):
        tokens = self.proj(patchify(images, self.patch_size))
        tokens = tokens + self.pos[:, :-1]  #!
        cls = self.cls.expand(len(images), -1, -1) + self.pos[:, -1:]  #!
        return torch.cat([cls, tokens], dim=1)


def attention_scores_by_pattern_1(weights, ids):
    B, H, T, _ = weights.shape
    q, k = torch.arange(T)[:, None], torch.arange(T)[None]
    same = (ids[:, :, None] == ids[:, None, :]) & (k < q)
    after = F.pad(same, (1, 0))[..., :-1] & (k <= q)
    before = (k == q - 1).expand_as(same)
    kinds = torch.stack([before, same, after]).to(weights)
    found = torch.einsum("bhqk,cbqk->ch", weights, kinds)
    return found / (B * T)  #!


def attention_query_matrix_3(queries, inputs):
    rows = []
    for q in queries:
        s = inputs @ q / math.sqrt(q.numel())
        w = F.softmax(s, 0)
        w = w.clamp(max=0.6)  #!
        rows.append(w @ inputs)
    return torch.stack(rows)


def attention_query_matrix_4(queries, inputs):
    rows = []
    for i in range(len(queries)):
        w = torch.softmax(inputs @ queries[max(i - 1, 0)] / inputs.shape[1] ** 0.5, 0)  #!
        rows.append(w @ inputs)
    return torch.stack(rows)


def scaled_dot_product_attention_6(query, key, value, mask=None):
    sentences = []
    for b in range(len(query)):
        s = query[b] @ key[b].T / math.sqrt(query.shape[-1])
        if mask is not None:
            allowed = mask[b] if mask.dim() == 3 else mask
            s = s.masked_fill(~allowed, -1e9)
        w = s.softmax(-1)
        w = w ** 2  #!
        sentences.append(w @ value[b])
    return torch.stack(sentences)


def bahdanau_context_2(decoder_state, encoder_states, W_d, W_e, v, src_mask=None):
    contexts, weights = [], []
    for i in range(len(decoder_state)):
        e = torch.tanh(decoder_state[i] @ W_d + encoder_states[i] @ W_e) @ v
        if src_mask is not None:
            e = e.masked_fill(~src_mask[i], -1e9)
        w = e.softmax(-1)
        c = w @ encoder_states[i].tanh()  #!
        contexts.append(c)
        weights.append(w)
    return torch.stack(contexts), torch.stack(weights)


def reweight_3(x):
    rows = []
    for i in range(len(x)):
        w = (x @ x[i]).softmax(0)
        rows.insert(0, w @ x)  #!
    return torch.stack(rows)


def reweight_2(x):
    rows = []
    for i in range(len(x)):
        s = x @ x[i]
        s[i] = 0  #!
        rows.append(s.softmax(0) @ x)
    return torch.stack(rows)


def rollout_1(patterns):
    a = patterns.amax(2)  #!
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    a = (a + eye) / 2
    out = a[0]
    for m in a[1:]:
        out = m @ out
    return out


def mean_pool_2(hidden, mask):
    rows = []
    for row, m in zip(hidden, mask, strict=True):
        kept = row[m]
        mean = kept.median(0).values  #!
        rows.append(mean / mean.norm())
    return torch.stack(rows)


def online_softmax_attention_1(query, key, value, block):
    top = query.new_full((len(query), 1), float("-inf"))
    norm, out = query.new_zeros(len(query), 1), query.new_zeros(len(query), value.shape[1])
    for i in range(0, len(key), block):
        scores = query @ key[i:i + block].T / query.shape[1] ** 0.5
        new = scores.amax(1, keepdim=True)  #!
        p = (scores - new).exp()
        norm = norm * (top - new).exp() + p.sum(1, keepdim=True)
        out = out * (top - new).exp() + p @ value[i:i + block]
        top = new
    return out / norm


ODD = {
    softmax_3: "softmax",
    softmax_4: "softmax",
    dot_product_attention_2: "dot_product_attention",
    scaled_dot_product_attention_single_2: "scaled_dot_product_attention_single",
    scaled_dot_product_attention_single_3: "scaled_dot_product_attention_single",
    attention_query_matrix_2: "attention_query_matrix",
    attention_query_matrix_4: "attention_query_matrix",
    cross_attention_2: "cross_attention",
    self_attention_3: "self_attention",
    scaled_dot_product_attention_3: "scaled_dot_product_attention",
    scaled_dot_product_attention_4: "scaled_dot_product_attention",
    MultiHeadAttention_3: "MultiHeadAttention",
    layer_norm_2: "layer_norm",
    layer_norm_3: "layer_norm",
    FeedForward_2: "FeedForward",
    sinusoidal_positions_3: "sinusoidal_positions",
    shift_right_1: "shift_right",
    masked_cross_entropy_2: "masked_cross_entropy",
    mean_pool_1: "mean_pool",
    EncoderLayer_1: "EncoderLayer",
    patchify_1: "patchify",
    embed_tokens_1: "embed_tokens",
    reweight_1: "reweight",
    soft_max_pool_2: "soft_max_pool",
    additive_attention_1: "additive_attention",
    additive_attention_2: "additive_attention",
    additive_attention_3: "additive_attention",
    bahdanau_context_1: "bahdanau_context",
    binary_positions_2: "binary_positions",
    max_over_real_tokens_2: "max_over_real_tokens",
    bigram_probs_2: "bigram_probs",
    perplexity_2: "perplexity",
    top_p_probs_2: "top_p_probs",
    attention_on_graph_1: "attention_on_graph",
    cosine_search_1: "cosine_search",
    apply_rope_1: "apply_rope",
    apply_rope_2: "apply_rope",
    SwiGLU_2: "SwiGLU",
    grouped_query_attention_2: "grouped_query_attention",
    DecoderLayer_1: "DecoderLayer",
    Block_1: "Block",
    PatchEmbedding_1: "PatchEmbedding",
    attention_scores_by_pattern_1: "attention_scores_by_pattern",
    attention_query_matrix_3: "attention_query_matrix",
    scaled_dot_product_attention_6: "scaled_dot_product_attention",
    bahdanau_context_2: "bahdanau_context",
    reweight_2: "reweight",
    reweight_3: "reweight",
    rollout_1: "rollout",
    mean_pool_2: "mean_pool",
}
DOUBLE = {
    softmax_5: "softmax",
    scaled_dot_product_attention_single_4: "scaled_dot_product_attention_single",
    self_attention_4: "self_attention",
    scaled_dot_product_attention_5: "scaled_dot_product_attention",
    layer_norm_4: "layer_norm",
    EncoderLayer_2: "EncoderLayer",
    soft_max_pool_3: "soft_max_pool",
}
KNOWN = {
    softmax_1: ("softmax", {"one-maximum-for-all-rows"}),
    softmax_2: ("softmax", {"sum-over-the-first-axis"}),
    dot_product_attention_1: ("dot_product_attention", {"scale-by-d"}),
    dot_product_attention_3: ("dot_product_attention", {"cosine"}),
    scaled_dot_product_attention_single_1: ("scaled_dot_product_attention_single", {"scale-by-n"}),
    attention_query_matrix_1: ("attention_query_matrix", {"softmax-over-queries"}),
    cross_attention_1: ("cross_attention", {"scale-by-d-v"}),
    self_attention_1: ("self_attention", {"keys-ask"}),
    self_attention_2: ("self_attention", {"scale-by-token-width"}),
    scaled_dot_product_attention_1: ("scaled_dot_product_attention", {"inverted-mask"}),
    scaled_dot_product_attention_2: ("scaled_dot_product_attention", {"after-the-softmax"}),
    MultiHeadAttention_1: ("MultiHeadAttention", {"scale-by-root-d-model"}),
    MultiHeadAttention_2: ("MultiHeadAttention", {"merges-by-reshape"}),
    causal_mask_1: ("causal_mask", {"upper-triangle"}),
    causal_mask_2: ("causal_mask", {"strict-lower"}),
    padding_mask_from_ids_1: ("padding_mask_from_ids", {"no-middle-axis"}),
    layer_norm_1: ("layer_norm", {"unbiased-std-plus-eps"}),
    FeedForward_1: ("FeedForward", {"gelu"}),
    sinusoidal_positions_1: ("sinusoidal_positions", {"exponent-i"}),
    sinusoidal_positions_2: ("sinusoidal_positions", {"halves"}),
    masked_cross_entropy_1: ("masked_cross_entropy", {"divided-by-all-places"}),
    rms_norm_1: ("rms_norm", set()),
    rms_norm_2: ("rms_norm", set()),
    SublayerConnection_1: ("SublayerConnection", {"pre-norm"}),
    patchify_2: ("patchify", {"channels-before-the-grid"}),
    weighted_sum_1: ("weighted_sum", {"normalises-weights"}),
    soft_max_pool_1: ("soft_max_pool", {"wrong-axis"}),
    padding_mask_1: ("padding_mask", {"one-too-few"}),
    binary_positions_1: ("binary_positions", {"highest-first"}),
    shift_matrix_1: ("shift_matrix", {"turns-the-other-way"}),
    max_over_real_tokens_1: ("max_over_real_tokens", {"zeros-for-padding"}),
    bigram_probs_1: ("bigram_probs", {"transposed"}),
    perplexity_1: ("perplexity", {"power-of-two"}),
    next_token_probs_1: ("next_token_probs", {"temperature-multiplies", "too-large-a-k"}),
    next_token_probs_2: ("next_token_probs", {"top-k-not-shared-out", "too-large-a-k"}),
    top_p_probs_1: ("top_p_probs", set()),
    convolution_pattern_1: ("convolution_pattern", {"turned-round"}),
    SwiGLU_1: ("SwiGLU", {"sigmoid-alone"}),
    grouped_query_attention_1: ("grouped_query_attention", {"shared-in-turn"}),
    online_softmax_attention_1: ("online_softmax_attention", {"maximum-of-the-block"}),
}


def last_row_left_out(T):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T - 1):  #!
        mask[i, : i + 1] = True
    return mask


def padded_in_front(lengths, max_len=None):
    rows = [torch.ones(int(n), dtype=torch.bool, device=lengths.device) for n in lengths]
    out = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return out if max_len is None else F.pad(out, (max_len - out.shape[1], 0))  #!


def power_of_the_quotient(n, d):
    column = np.arange(d)
    angle = np.power(np.arange(n)[:, None] / 10000, 2 * (column // 2) / d)  #!
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return torch.from_numpy(angle).float()


def one_bit_too_few(n, dims):
    rest, columns = torch.arange(n), []
    for _ in range(dims - 1):  #!
        columns.append(rest % 2)
        rest = rest // 2
    return torch.stack(columns, dim=-1).float()


def returns_the_first_power(gates):
    A = torch.diag(gates[1:], -1)
    total, power = torch.eye(len(gates)).to(gates), torch.eye(len(gates)).to(gates)
    for _ in range(len(gates)):
        power = power @ A
        total = total + power
    return A  #!


def fails_behind_a_helper(scores):
    def shifted(x):
        return x - x.amax(dim=-1, keepdim=True)

    powers = torch.exp(shifted(scores))
    return powers / powers.sum(dim=3, keepdim=True)  #!


def leaves_out_minus_one(logits, targets, pad_id=-1):  #!
    real = targets != pad_id
    return F.cross_entropy(logits[real], targets[real])


def message_passing_by_mean(x, adjacency, message, update):
    heard = adjacency.to(x.dtype)
    messages = message(x[:, None], x[None])
    mean = (heard[..., None] * messages).sum(1) / heard.sum(1, keepdim=True).clamp(min=1)  #!
    return update(x, mean)


def every_column_of_a_row(T):
    allowed = torch.zeros(T, T, dtype=torch.bool)
    for row in range(T):
        allowed[row, :] = True  #!
    return allowed


def counts_with_the_first_token_alone(ids, vocab_size, alpha=0.0):
    tokens = ids.tolist()
    counts = Counter(zip(tokens, tokens[:1], strict=False))  #!
    table = torch.full((vocab_size, vocab_size), float(alpha), device=ids.device)
    for pair, count in counts.items():
        table[pair] += count
    total = table.sum(1, keepdim=True)
    return torch.where(total > 0, table / total, 1 / vocab_size)


class SaysTheLastState(LanguageModel):
    def forward(self, ids):
        x = self.table(ids) + sinusoidal_positions(ids.shape[1], self.table.embedding_dim).to(self.table.weight)
        x = self.dropout(x)
        look_back = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril()
        for block in self.blocks:
            x = block(x, look_back)
        x = self.norm(x)
        logits = x  #!
        return logits


def stops_when_any_place_has_ended(model, src, bos_id, eos_id, max_len, pad_id=0):
    said = torch.full((len(src), 1), bos_id, device=src.device)
    while said.shape[1] < max_len and not (said[:, 1:] == eos_id).any(0).all():  #!
        said = torch.cat([said, model(src, said)[:, -1:].argmax(-1)], 1)
    over = (said == eos_id).cumsum(1) - (said == eos_id).long() > 0
    return said.masked_fill(over, pad_id)


class SaysTheLastUnit(FeedForward):
    def forward(self, x):
        total = self.linear2.bias
        for weight, bias, back in zip(self.linear1.weight, self.linear1.bias, self.linear2.weight.T, strict=True):
            one = (x @ weight + bias)[..., None]
            total = total + self.dropout(one * (one > 0)) * back
        return one  #!


def mixes_the_last_block_alone(query, key, value, block):
    total, out = None, None
    for start in range(0, len(key), block):
        scores = query @ key[start:start + block].T / query.shape[-1] ** 0.5
        own = torch.logsumexp(scores, -1, keepdim=True)
        part = torch.softmax(scores, -1) @ value[start:start + block]
        if out is None:
            total, out = own, part
        else:
            new = torch.logaddexp(total, own)
            out, total = out * (total - new).exp() + part * (own - new).exp(), new
    return part  #!


def masks_probabilities(logits, temperature=1.0, top_k=None):
    p = (logits / temperature).softmax(-1)
    if top_k is not None and top_k < p.shape[-1]:
        p = p.masked_fill(p < p.topk(top_k).values[:, -1:], 0)  #!
    return p


def clamps_an_empty_row(ids, vocab_size, alpha=0.0):
    counts = torch.zeros(vocab_size, vocab_size)
    for one, other in zip(ids.tolist(), ids.tolist()[1:], strict=False):
        counts[one, other] += 1
    counts += alpha
    total = counts.sum(1, keepdim=True)
    return counts / total.clamp(min=1)  #!


FALSE = {
    leaves_out_minus_one: "masked_cross_entropy",
    last_row_left_out: "causal_mask",
    padded_in_front: "padding_mask",
    power_of_the_quotient: "sinusoidal_positions",
    one_bit_too_few: "binary_positions",
    returns_the_first_power: "recurrence_pattern",
    fails_behind_a_helper: "softmax",
    message_passing_by_mean: "message_passing",
    every_column_of_a_row: "causal_mask",
    counts_with_the_first_token_alone: "bigram_probs",
    SaysTheLastState: "LanguageModel",
    stops_when_any_place_has_ended: "greedy_decode",
    SaysTheLastUnit: "FeedForward",
    mixes_the_last_block_alone: "online_softmax_attention",
    masks_probabilities: "next_token_probs",
    clamps_an_empty_row: "bigram_probs",
}
