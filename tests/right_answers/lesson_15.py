"""Right answers of lessons 15 and 15b in other people's styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def pool_by_loop(hidden, mask):
    rows = []
    for b in range(hidden.shape[0]):
        total = 0
        for t in range(hidden.shape[1]):
            if mask[b, t]:
                total = total + hidden[b, t]
        rows.append(total / total.pow(2).sum().sqrt())
    return torch.stack(rows)


def pool_with_zeros(hidden, mask):
    kept = torch.where(mask.unsqueeze(2), hidden, torch.zeros_like(hidden))
    mean = kept.sum(1) / mask.float().sum(1, keepdim=True).to(hidden)
    return mean / mean.norm(dim=1, keepdim=True)


def pool_by_nanmean(hidden, mask):
    return F.normalize(hidden.masked_fill(~mask[:, :, None], float("nan")).nanmean(dim=1))


def search_by_loop(query, vectors, k):
    cosines = torch.stack([v @ query / (v.norm() * query.norm()) for v in vectors])
    found = []
    for _ in range(k):
        best = cosines.argmax()
        found.append(best)
        cosines = cosines.masked_fill(torch.arange(len(vectors), device=cosines.device) == best, -2.0)
    return torch.stack(found)


def norm_by_loop(x, gain, eps=1e-5):
    rows = [row / torch.sqrt(sum(v * v for v in row) / len(row) + eps) * gain for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


def rope_by_loop(x, base=10000.0):
    T, d = x.shape[-2:]
    columns = []
    for i in range(d // 2):
        angles = [t / base ** (2 * i / d) for t in range(T)]
        cos = x.new_tensor([math.cos(a) for a in angles])
        sin = x.new_tensor([math.sin(a) for a in angles])
        columns += [x[..., 2 * i] * cos - x[..., 2 * i + 1] * sin, x[..., 2 * i] * sin + x[..., 2 * i + 1] * cos]
    return torch.stack(columns, dim=-1)


def rope_in_float32(x, base=10000.0):
    d = x.shape[-1]
    angle = torch.outer(torch.arange(x.shape[-2]).float(), base ** (-torch.arange(0, d, 2).float() / d)).to(x.device)
    angle = angle.repeat_interleave(2, dim=-1)
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(x.shape)
    return (x * angle.cos() + turned * angle.sin()).to(x.dtype)


def rope_by_complex_numbers(x, base=10000.0):
    T, d = x.shape[-2:]
    angle = torch.arange(T, device=x.device)[:, None] / base ** (torch.arange(0, d, 2, device=x.device) / d)
    pairs = torch.complex(x[..., ::2], x[..., 1::2])
    turn = torch.complex(angle.cos(), angle.sin()).to(pairs.dtype)
    return torch.view_as_real(pairs * turn).reshape(x.shape)


def rope_by_matrices(x, base=10000.0):
    T, d = x.shape[-2:]
    rows = []
    for t in range(T):
        blocks = []
        for i in range(d // 2):
            a = t * base ** (-2 * i / d)
            blocks.append(x.new_tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]))
        rows.append(x[..., t, :] @ torch.block_diag(*blocks).T)
    return torch.stack(rows, dim=-2)


def rope_by_a_swap(x, base=10000.0):
    T, d = x.shape[-2:]
    angle = torch.arange(T)[:, None].double() * base ** (-torch.arange(0, d, 2).double() / d)
    angle = angle.repeat_interleave(2, dim=-1)  # (T, d)
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return x * angle.cos().to(x) + turned * angle.sin().to(x)


class SwiGLUBase(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)


class ByHand(SwiGLUBase):
    def forward(self, x):
        z = self.gate(x)
        return self.down(z / (1 + torch.exp(-z)) * self.up(x))


class ByMatrices(SwiGLUBase):
    def forward(self, x):
        z = x @ self.gate.weight.T
        return (torch.sigmoid(z) * z * (x @ self.up.weight.T)) @ self.down.weight.T


class ByModule(SwiGLUBase):
    def forward(self, x):
        return self.down(self.up(x).mul(nn.SiLU()(self.gate(x))))


class ByWeights(SwiGLUBase):
    def forward(self, x):
        gate = x @ self.gate.weight.mT
        return F.linear(gate / (1 + torch.exp(-gate)) * F.linear(x, self.up.weight), self.down.weight)


class ByChunks(SwiGLUBase):
    def forward(self, x):
        z, u = F.linear(x, torch.cat([self.gate.weight, self.up.weight])).chunk(2, dim=-1)
        return F.linear(u * F.silu(z), self.down.weight)


def groups_by_loop(query, key, value):
    B, H, T, d = query.shape
    share = H // key.shape[1]
    heads = []
    for h in range(H):
        k, v = key[:, h // share], value[:, h // share]
        rows = []
        for t in range(T):
            scores = (k[:, : t + 1] * query[:, h, t, None]).sum(-1) / d**0.5
            rows.append((torch.softmax(scores, 1)[..., None] * v[:, : t + 1]).sum(1))
        heads.append(torch.stack(rows, dim=1))
    return torch.stack(heads, dim=1)


def groups_by_einsum(query, key, value):
    G, T = key.shape[1], query.shape[2]
    q = query.reshape(query.shape[0], G, -1, T, query.shape[-1])
    scores = torch.einsum("bgstd,bgud->bgstu", q, key) / math.sqrt(query.shape[-1])
    future = torch.ones(T, T, dtype=torch.bool, device=query.device).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return torch.einsum("bgstu,bgud->bgstd", weights, value).reshape(query.shape)


def groups_by_expanding(query, key, value):
    B, H, T, d = query.shape
    G = key.shape[1]
    k = key[:, :, None].expand(B, G, H // G, T, d).reshape(B, H, T, d)
    v = value[:, :, None].expand(B, G, H // G, T, d).reshape(B, H, T, d)
    bias = torch.full((T, T), float("-inf"), device=query.device, dtype=query.dtype).triu(1)
    return torch.softmax(q_k(query, k) + bias, dim=-1) @ v


def q_k(query, key):
    return torch.matmul(query * query.shape[-1] ** -0.5, key.mT)


def rows_by_loop(weight, num_heads):
    new = torch.empty_like(weight)
    d = weight.size(0) // num_heads
    for h in range(num_heads):
        for i in range(d // 2):
            new[h * d + 2 * i] = weight[h * d + i]
            new[h * d + 2 * i + 1] = weight[h * d + d // 2 + i]
    return new


def rows_by_index(weight, num_heads):
    d = len(weight) // num_heads
    order = torch.stack([torch.arange(d // 2), torch.arange(d // 2) + d // 2], 1).flatten()
    return weight[(torch.arange(num_heads)[:, None] * d + order).flatten()]


def rows_by_stack(weight, num_heads):
    """As in the scripts that convert such files."""
    d = weight.shape[0] // num_heads
    first, second = weight.view(num_heads, 2, d // 2, -1).unbind(1)
    return torch.stack((first, second), dim=2).flatten(0, 2)


def rows_by_matrix(weight, num_heads):
    """A permutation matrix, head by head."""
    d = weight.shape[0] // num_heads
    P = torch.zeros(d, d).to(weight)
    for i in range(d // 2):
        P[2 * i, i] = P[2 * i + 1, i + d // 2] = 1
    return torch.cat([P @ head for head in weight.chunk(num_heads)])


def rows_by_swapping_axes(weight, num_heads):
    """Reshape, swap, reshape: the line of Hugging Face's script, the other way round."""
    out, dim = weight.shape
    return weight.reshape(num_heads, 2, out // num_heads // 2, dim).swapaxes(1, 2).reshape(out, dim)


RIGHT_ANSWERS = {
    "halves_to_neighbours": {
        "loop": rows_by_loop,
        "index": rows_by_index,
        "stack": rows_by_stack,
        "matrix": rows_by_matrix,
        "swapped axes": rows_by_swapping_axes,
    },
    "mean_pool": {
        "loop": pool_by_loop,
        "zeros for padding": pool_with_zeros,
        "nanmean": pool_by_nanmean,
        "one matrix product": lambda h, m: F.normalize((m.to(h)[:, None] @ h)[:, 0], dim=-1),
        "einsum, without a division": lambda h, m: F.normalize(torch.einsum("btd,bt->bd", h, m.to(h)), dim=1),
        "attention with even weights": lambda h, m: F.normalize(F.scaled_dot_product_attention(
            torch.zeros_like(h[:, :1]), h, h, m[:, None])[:, 0], dim=-1),
    },
    "cosine_search": {
        "loop": search_by_loop,
        "argsort": lambda q, v, k: torch.cosine_similarity(v, q, dim=1).argsort(descending=True)[:k],
        "sort": lambda q, v, k: torch.sort((v @ q) / v.norm(dim=1), descending=True)[1][:k],
        "topk": lambda q, v, k: torch.topk(F.normalize(v) @ q, k)[1],
        "python's own": lambda q, v, k: torch.tensor(sorted(range(len(v)), key=lambda i: -(
            v[i] @ q / v[i].norm()).item())[:k], device=q.device),
    },
    "rms_norm": {
        "loop": norm_by_loop,
        "built-in": lambda x, gain, eps=1e-5: F.rms_norm(x, (x.shape[-1],), weight=gain, eps=eps),
        "rsqrt": lambda x, gain, eps=1e-5: gain * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)),
        "by length": lambda x, gain, eps=1e-5: x / (x.norm(dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps) ** 0.5
        * gain,
        "einsum": lambda x, gain, eps=1e-5: torch.einsum(
            "...d,...,d->...d", x, (torch.einsum("...d,...d->...", x, x) / x.shape[-1] + eps) ** -0.5, gain),
    },
    "apply_rope": {
        "loop": rope_by_loop,
        "float32 angles, as in many programs": rope_in_float32,
        "complex numbers": rope_by_complex_numbers,
        "matrices": rope_by_matrices,
        "a quarter turn beside it": rope_by_a_swap,
    },
    "SwiGLU": {"by hand": ByHand, "matrices": ByMatrices, "nn.SiLU": ByModule, "one product, then halves": ByChunks,
               "sigmoid by hand": ByWeights},
    "grouped_query_attention": {
        "loop": groups_by_loop,
        "einsum": groups_by_einsum,
        "expanding": groups_by_expanding,
        "built-in": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        "built-in, repeated": lambda q, k, v: F.scaled_dot_product_attention(
            q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // v.shape[1], 1),
            is_causal=True),
    },
}
