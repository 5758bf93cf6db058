"""Right answers of lesson 10 in other people's styles. All keep the given parts; what they do with them differs."""

import functools
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


class StepByStep(Given):
    """A name for every step, and keyword arguments."""

    def forward(self, x, mask=None):
        looked_up = self.self_attn(query=x, key=x, value=x, mask=mask)
        looked_up = self.dropout(looked_up)
        after_attention = self.norm1(looked_up + x)
        thought = self.ff(after_attention)
        thought = self.dropout(thought)
        return self.norm2(thought + after_attention)


class SentenceBySentence(Given):
    """A slow loop: one sentence at a time, and the feed-forward network one token at a time."""

    def forward(self, x, mask=None):
        sentences = []
        for b in range(len(x)):
            own = mask[b : b + 1] if mask is not None and mask.dim() == 3 else mask
            one = x[b : b + 1]  # (1, T, d_model)
            h = self.norm1(one + self.dropout(self.self_attn(one, one, one, own)))[0]  # (T, d_model)
            sentences.append(torch.stack([self.norm2(token + self.dropout(self.ff(token))) for token in h]))
        return torch.stack(sentences)


class ListOfSublayers(Given):
    """Both sublayers in one loop."""

    def forward(self, x, mask=None):
        sublayers = [(lambda y: self.self_attn(y, y, y, mask), self.norm1), (self.ff, self.norm2)]
        for sublayer, norm in sublayers:
            x = norm(x + self.dropout(sublayer(x)))
        return x


class NormsByHand(Given):
    """Layer norm by mean and variance, the feed-forward network by einsum, dropout by its function."""

    def normed(self, x, norm):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + norm.eps) * norm.weight + norm.bias

    def forward(self, x, mask=None):
        p, on = self.dropout.p, self.training
        h = self.normed(x + F.dropout(self.self_attn(x, x, x, mask), p, on), self.norm1)
        hidden = torch.einsum("btd,fd->btf", h, self.ff.linear1.weight) + self.ff.linear1.bias
        says = torch.einsum("btf,df->btd", F.dropout(hidden.clamp(min=0), p, on), self.ff.linear2.weight)
        return self.normed(h + F.dropout(says + self.ff.linear2.bias, p, on), self.norm2)


class BuiltIn(Given):
    """torch's own layer, with our weights handed in at every call."""

    def forward(self, x, mask=None):
        a, d_model = self.self_attn, x.shape[-1]
        layer = nn.TransformerEncoderLayer(d_model, a.num_heads, len(self.ff.linear1.bias), self.dropout.p,
                                           batch_first=True, dtype=x.dtype)
        layer.self_attn.dropout = 0.0  # the course drops nothing within the attention
        own = {f"{name}.{of}": getattr(part, of) for of in ("weight", "bias") for name, part in (
            ("self_attn.out_proj", a.W_o), ("linear1", self.ff.linear1), ("linear2", self.ff.linear2),
            ("norm1", self.norm1), ("norm2", self.norm2))}
        own["self_attn.in_proj_weight"] = torch.cat([a.W_q.weight, a.W_k.weight, a.W_v.weight])
        own["self_attn.in_proj_bias"] = torch.cat([a.W_q.bias, a.W_k.bias, a.W_v.bias])
        hidden = None
        if mask is not None:
            hidden = ~mask.expand(len(x), x.shape[1], x.shape[1]).repeat_interleave(a.num_heads, 0)
        return torch.func.functional_call(layer.train(self.training), own, (x, hidden))


class AddsInPlace(Given):
    """In-place operations on fresh tensors only, and functional norms."""

    def forward(self, x, mask=None):
        out = self.dropout(self.self_attn(x, x, x, mask)).add(x)
        out = F.layer_norm(out, self.norm1.normalized_shape, self.norm1.weight, self.norm1.bias, self.norm1.eps)
        more = self.dropout(self.ff(out))
        more += out
        return F.layer_norm(more, (more.size(-1),), self.norm2.weight, self.norm2.bias)


def text_by_text(x, mask):
    """Only the real tokens of each text, one text at a time."""
    rows = []
    for vectors, real in zip(x, mask, strict=True):
        tokens = vectors[real]  # (n, D)
        rows.append(tokens.max(dim=0).values if len(tokens) else torch.zeros_like(vectors[0]))
    return torch.stack(rows)


def number_by_number(x, mask):
    """The largest so far, in three loops."""
    B, T, D = x.shape
    out = []
    for b in range(B):
        for d in range(D):
            largest = None
            for t in range(T):
                if mask[b, t] and (largest is None or x[b, t, d] > largest):
                    largest = x[b, t, d]
            out.append(0 * x[b, 0, d] if largest is None else largest)
    return torch.stack(out).reshape(B, D)


def smallest_number_there_is(x, mask):
    """The smallest number instead of minus infinity, and a choice at the end."""
    real = mask.unsqueeze(-1)
    largest, _ = torch.max(torch.where(real, x, torch.finfo(x.dtype).min), dim=1)
    return torch.where(real.any(1), largest, torch.zeros_like(largest))


def sorted_tokens(x, mask):
    """The last of each sorted feature; minus infinity is replaced at the end."""
    ordered = torch.sort(x + torch.zeros_like(x).masked_fill(~mask[:, :, None], -torch.inf), dim=1)[0]
    last = ordered[:, -1]
    return last.masked_fill(last == -torch.inf, 0)


def scattered(x, mask):
    """All real tokens of the batch in one row, each sent to its own text."""
    text = mask.nonzero()[:, :1].expand(-1, x.shape[-1])  # (real tokens, D)
    return torch.zeros_like(x[:, 0]).scatter_reduce(0, text, x[mask], "amax", include_self=False)


def pooled_by_torch(x, mask):
    """torch's own pooling, over features as channels."""
    hidden = x.masked_fill(mask.logical_not()[..., None], -1e9).transpose(1, 2)  # (B, D, T)
    return F.max_pool1d(hidden, hidden.shape[-1])[..., 0] * mask.any(1)[:, None]


def gathered(x, mask):
    """First where each maximum stands, and then what stands there."""
    where = x.detach().masked_fill(~mask[..., None], -torch.inf).argmax(1, keepdim=True)  # (B, 1, D)
    return x.gather(1, where)[:, 0].masked_fill(~mask.any(1, keepdim=True), 0.0)


class GivenClassifier(nn.Module):
    """The constructor of the stub."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, num_classes, dropout=0.0, pad_id=0):
        super().__init__()
        self.pad_id = pad_id
        self.embed = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embed.weight, std=d_model**-0.5)
        self.layers = nn.ModuleList(EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(d_model, num_classes)


def waves(T, like):
    """Positions in double precision, one number at a time."""
    d = like.shape[-1]
    rows = [[(math.cos if i % 2 else math.sin)(t * 10000.0 ** -((i - i % 2) / d)) for i in range(d)] for t in range(T)]
    return torch.tensor(rows, dtype=like.dtype, device=like.device)


class ClassifierInSteps(GivenClassifier):
    """A name for every step."""

    def forward(self, ids):
        is_word = ids.ne(self.pad_id)
        words = math.sqrt(self.embed.embedding_dim) * self.embed(ids)
        read = self.dropout(words + waves(ids.size(1), words)[None])
        for i in range(len(self.layers)):
            read = self.layers[i](read, mask=is_word.unsqueeze(1))
        text = smallest_number_there_is(read, is_word)
        logits = self.head(text)
        return logits


class TextAfterText(GivenClassifier):
    """Each text by itself and without its padding: nothing is left to hide. Of padding alone, one position is read."""

    def forward(self, ids):
        logits = []
        for text in ids:
            n = max(1, int((text != self.pad_id).sum()))
            x = self.embed(text[None, :n]) * self.embed.embedding_dim**0.5
            x = self.dropout(x + waves(n, x))
            for layer in self.layers:
                x = layer(x)
            logits.append(self.head(x.max(dim=1).values))
        return torch.cat(logits)


class OneHotClassifier(GivenClassifier):
    """Embedding and head as products with matrices, the layers as a fold, padding far below all others."""

    def forward(self, ids):
        table, real = self.embed.weight, ids != self.pad_id
        x = F.one_hot(ids, len(table)).to(table) @ (table * table.shape[1] ** 0.5)
        x = F.dropout(x + waves(ids.shape[1], x), self.dropout.p, self.training)
        x = functools.reduce(lambda h, layer: layer(h, real[:, None]), self.layers, x)
        largest = torch.where(real[..., None], x, torch.full_like(x, -1e6)).amax(-2)
        return torch.einsum("bd,cd->bc", largest, self.head.weight) + self.head.bias


class PaddingSeesNothing(GivenClassifier):
    """A mask for each query, in which padding looks at nothing; the pooling is torch's."""

    def entered(self, ids):
        x = self.embed(ids)
        d = x.shape[-1]
        angle = torch.arange(ids.shape[1], device=ids.device)[:, None] / 10000 ** (
            torch.arange(d, device=ids.device) // 2 * 2 / d)
        even = torch.arange(d, device=ids.device) % 2 == 0
        return self.dropout(x * d**0.5 + torch.where(even, angle.sin(), angle.cos()).to(x))

    def forward(self, ids):
        real = (ids != self.pad_id)[:, :, None]  # (B, T, 1)
        x = self.entered(ids)
        for layer in self.layers:
            x = layer(x, real & real.transpose(1, 2))
        return self.head(pooled_by_torch(x, real[..., 0]))


class ShortestBatch(GivenClassifier):
    """Columns in which every text is padding are cut off first."""

    def forward(self, ids):
        real = ids != self.pad_id
        ids = ids[:, : max(1, int(real.sum(1).max()))]
        real = real[:, : ids.shape[1]]
        x = self.embed(ids).mul(self.embed.weight.shape[1] ** 0.5)
        x = self.dropout(x.add(waves(ids.shape[1], x)))
        for layer in self.layers:
            x = layer(x, real[:, None, :])
        return F.linear(gathered(x, real), self.head.weight, self.head.bias)


RIGHT_ANSWERS = {
    "EncoderLayer": {
        "step by step": StepByStep,
        "sentence by sentence": SentenceBySentence,
        "a list of sublayers": ListOfSublayers,
        "norms by hand": NormsByHand,
        "built-in": BuiltIn,
        "adds in place": AddsInPlace,
    },
    "max_over_real_tokens": {
        "text by text": text_by_text,
        "number by number": number_by_number,
        "smallest number there is": smallest_number_there_is,
        "sorted tokens": sorted_tokens,
        "scattered": scattered,
        "pooled by torch": pooled_by_torch,
        "gathered": gathered,
    },
    "EncoderClassifier": {
        "in steps": ClassifierInSteps,
        "text after text": TextAfterText,
        "one-hot": OneHotClassifier,
        "padding sees nothing": PaddingSeesNothing,
        "shortest batch": ShortestBatch,
    },
}
