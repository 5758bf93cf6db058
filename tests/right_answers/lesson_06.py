"""Right answers of lesson 06 in other people's styles. All keep the four layers; what they do with them differs."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.right_answers.loops import mix


class Given(nn.Module):
    """The constructor of the stub."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "the heads have to divide d_model"
        self.num_heads, self.d_head = num_heads, d_model // num_heads
        self.W_q, self.W_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_v, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def fused(self):
        """One weight (3d, d) and one bias (3d,) for all three projections."""
        layers = self.W_q, self.W_k, self.W_v
        return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])

    def slices(self):
        return [slice(h * self.d_head, (h + 1) * self.d_head) for h in range(self.num_heads)]


def batched(mask):
    """A mask with room for the heads."""
    return mask if mask is None or mask.dim() == 2 else mask.unsqueeze(1)


class Loops(Given):
    """Sentence by sentence, head by head, query by query."""

    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        B, Tq, Tk = len(q), q.shape[1], k.shape[1]
        may = torch.ones(B, Tq, Tk, dtype=torch.bool, device=q.device) if mask is None else mask.expand(B, Tq, Tk)
        return self.W_o(torch.stack([torch.stack([torch.cat([
            mix(torch.stack([q[b, i, s] @ k[b, j, s] / self.d_head**0.5 if may[b, i, j] else q.new_tensor(-1e9)
                             for j in range(Tk)]), v[b, :, s])
            for s in self.slices()]) for i in range(Tq)]) for b in range(B)]))


class LoopOverHeads(Given):
    """A list of single heads, then torch.cat."""

    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        heads = []
        for s in self.slices():
            scores = torch.bmm(q[..., s], k[..., s].transpose(1, 2)) / self.d_head**0.5
            if mask is not None:
                scores = torch.where(mask, scores, -1e9)
            heads.append(scores.softmax(2).bmm(v[..., s]))
        return self.W_o(torch.cat(heads, 2))


class Einsum(Given):
    """No transpose anywhere."""

    def forward(self, query, key, value, mask=None):
        B, H = len(query), self.num_heads
        q, k, v = (f(x).view(B, -1, H, self.d_head)
                   for f, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d_head**0.5
        if mask is not None:
            scores = scores.masked_fill(batched(mask).logical_not(), -1e9)
        return self.W_o(torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).reshape(B, -1, H * self.d_head))


class WeightsByEinsum(Given):
    """Every head has its own matrices, cut out of the four layers; no layer is ever called."""

    def forward(self, query, key, value, mask=None):
        H, d = self.num_heads, self.d_head
        q, k, v = (torch.einsum("btm,hdm->bhtd", x, f.weight.view(H, d, -1)) + f.bias.view(H, 1, d)
                   for f, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = (q / d**0.5) @ k.mT
        if mask is not None:
            scores = scores + (~batched(mask)).to(scores.dtype) * -1e9
        out = torch.softmax(scores, -1) @ v  # (B, H, Tq, d)
        return torch.einsum("bhtd,mhd->btm", out, self.W_o.weight.view(-1, H, d)) + self.W_o.bias


class Fused(Given):
    """One product for all three projections of all heads, as large models do it."""

    def forward(self, query, key, value, mask=None):
        weight, bias = self.fused()
        everything = torch.cat([query, key, value], 1) @ weight.T + bias
        Tq, Tk = query.shape[1], key.shape[1]
        q, k, v = everything.chunk(3, -1)
        q, k, v = q[:, :Tq], k[:, Tq : Tq + Tk], v[:, Tq + Tk :]
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).permute(0, 2, 1, 3) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=batched(mask))
        return self.W_o(out.permute(0, 2, 1, 3).flatten(-2))


class HeadsInTheBatch(Given):
    """The heads become more sentences: (B * H, T, d_head)."""

    def forward(self, query, key, value, mask=None):
        B, H = len(query), self.num_heads
        fold = lambda x: torch.cat(x.chunk(H, -1), 0)  # noqa: E731  (H * B, T, d_head)
        q, k, v = fold(self.W_q(query)), fold(self.W_k(key)), fold(self.W_v(value))
        scores = torch.baddbmm(q.new_zeros(()), q, k.transpose(1, 2), beta=0, alpha=self.d_head**-0.5)
        if mask is not None:
            allowed = mask if mask.dim() == 2 else mask.repeat(H, 1, 1)
            scores = scores.masked_fill(allowed == 0, torch.finfo(scores.dtype).min)
        return self.W_o(torch.cat((F.softmax(scores, -1) @ v).split(B), -1))


class BuiltIn(Given):
    """torch's own function, with an additive mask."""

    def forward(self, query, key, value, mask=None):
        weight, bias = self.fused()
        if mask is not None:
            full = mask.expand(len(query), query.shape[1], key.shape[1]).repeat_interleave(self.num_heads, 0)
            mask = torch.zeros_like(full, dtype=query.dtype).masked_fill(~full, -1e9)
        out, _ = F.multi_head_attention_forward(
            query.mT.permute(2, 0, 1), key.mT.permute(2, 0, 1), value.mT.permute(2, 0, 1), query.shape[-1],
            self.num_heads, weight, bias, None, None, False, 0.0, self.W_o.weight, self.W_o.bias,
            training=self.training, attn_mask=mask, need_weights=False)
        return out.transpose(0, 1)


class KeysWithoutBias(Given):
    """A bias on the keys moves all scores of a query alike: the softmax does not see it, and so it may be left out."""

    def forward(self, query, key, value, mask=None):
        split = lambda x: x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # noqa: E731
        q, k, v = split(self.W_q(query)), split(key @ self.W_k.weight.mT), split(self.W_v(value))
        scores = q @ k.transpose(2, 3) / self.d_head**0.5
        if mask is not None:
            scores = scores.masked_fill(~batched(mask), -1e9)
        exp = torch.exp(scores - scores.amax(-1, keepdim=True))
        return self.W_o((exp / exp.sum(-1, keepdim=True) @ v).transpose(1, 2).flatten(2))


class EmptyRowsAreZero(Given):
    """-inf under the mask, and zero weights where nothing is left. masked_fill lets no NaN back to the scores."""

    def forward(self, query, key, value, mask=None):
        parts = [torch.stack(f(x).chunk(self.num_heads, -1))  # (H, B, T, d_head)
                 for f, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value))]
        scores = parts[0] @ parts[1].mT / self.d_head**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.W_o(torch.cat(tuple(torch.softmax(scores, -1).nan_to_num() @ parts[2]), -1))


class Packed(nn.Module):
    """One linear layer for all three projections, other names, no bias at the end."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.heads = num_heads
        self.into = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def project(self, query, key, value):
        of_q, of_k, of_v = self.into.weight.chunk(3)
        b_q, b_k, b_v = self.into.bias.chunk(3)
        return (F.linear(x, w, b).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for x, w, b in ((query, of_q, b_q), (key, of_k, b_k), (value, of_v, b_v)))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        return self.out(self.mixed(q, k, v, batched(mask)).transpose(1, 2).flatten(2))

    def mixed(self, q, k, v, mask):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -1e9), -1) @ v


class PackedHeadByHead(Packed):
    """One linear layer, of which each head has its query, key and value rows side by side."""

    def project(self, query, key, value):
        all_three = [self.into(x).unflatten(-1, (self.heads, 3, -1)).transpose(1, 2) for x in (query, key, value)]
        return (x[:, :, :, i] for i, x in enumerate(all_three))


class AllFourByNumber(Packed):
    """All four matrices in one parameter, and all four biases, which are as large as a matrix where d is small."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        del self.into, self.out
        self.W = nn.Parameter(torch.randn(4, d_model, d_model) / d_model**0.5)
        self.b = nn.Parameter(torch.zeros(4, d_model))

    def project(self, query, key, value):
        return ((x @ self.W[i] + self.b[i]).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for i, x in enumerate((query, key, value)))

    def out(self, x):
        return x @ self.W[3] + self.b[3]


class EinsumWeights(nn.Module):
    """Weights with an axis for the heads, multiplied by einsum."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        d_head, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("the heads have to divide d_model")
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(num_heads, d_model, d_head) / d_model**0.5)
                                     for _ in range(3))
        self.bq = nn.Parameter(torch.zeros(num_heads, 1, d_head))
        self.wo = nn.Parameter(torch.randn(num_heads, d_head, d_model) / d_model**0.5)

    def forward(self, query, key, value, mask=None):
        q = torch.einsum("btd,hde->bhte", query, self.wq) + self.bq
        k, v = torch.einsum("btd,hde->bhte", key, self.wk), torch.einsum("btd,hde->bhte", value, self.wv)
        scores = torch.einsum("bhie,bhje->bhij", q, k) / q.shape[-1] ** 0.5
        scores = scores if mask is None else torch.where(batched(mask), scores, -1e9)
        return torch.einsum("bhij,bhje,hed->bid", scores.softmax(-1), v, self.wo)


class OneHead(nn.Module):
    """A single head, with layers of its own."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.ask, self.offer, self.give = (nn.Linear(d_model, d_head) for _ in range(3))

    def forward(self, query, key, value, mask=None):
        scores = self.ask(query) @ self.offer(key).mT / self.ask.out_features**0.5
        return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -1e9), -1) @ self.give(value)


class ListOfHeads(nn.Module):
    """A module for each head, and their results side by side."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.heads = nn.ModuleList(OneHead(d_model, d_model // num_heads) for _ in range(num_heads))
        self.together = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        return self.together(torch.cat([head(query, key, value, mask) for head in self.heads], -1))


RIGHT_ANSWERS = {
    "MultiHeadAttention": {
        "loops": Loops,
        "a list of heads": LoopOverHeads,
        "einsum": Einsum,
        "weights by einsum": WeightsByEinsum,
        "fused projection": Fused,
        "heads in the batch": HeadsInTheBatch,
        "built-in": BuiltIn,
        "keys without bias": KeysWithoutBias,
        "empty rows are zero": EmptyRowsAreZero,
        "packed, with other names": Packed,
        "packed head by head": PackedHeadByHead,
        "all four by number": AllFourByNumber,
        "weights with an axis for heads": EinsumWeights,
        "a module for each head": ListOfHeads,
    },
}
