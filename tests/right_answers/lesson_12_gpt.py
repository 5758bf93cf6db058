"""Right answers of lesson 12, perplexity, block and language model, in other people's styles."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.fused import CausalAttention
from course_lib.language_model import Block
from course_lib.layers import FeedForward
from course_lib.positions import sinusoidal_positions

# --- perplexity -------------------------------------------------------------------------------------------------


def perplexity_by_cross_entropy(logits, targets, pad_id=None):
    flat = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return torch.exp(F.cross_entropy(*flat, ignore_index=-100 if pad_id is None else pad_id))


def perplexity_by_selection(logits, targets, pad_id=None):
    if pad_id is not None:
        real = targets.ne(pad_id)
        logits, targets = logits[real], targets[real]
    else:
        logits, targets = logits.flatten(0, -2), targets.flatten()
    return F.nll_loss(F.log_softmax(logits, -1), targets).exp()


def perplexity_by_loop(logits, targets, pad_id=None):
    total, count = logits.new_zeros(()), 0
    for b in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            right = int(targets[b, t])
            if right == pad_id:
                continue
            total = total + torch.logsumexp(logits[b, t], 0) - logits[b, t, right]
            count += 1
    return torch.exp(total / count)


def perplexity_in_bits(logits, targets, pad_id=None):
    """2 to the power of the bits."""
    weights = torch.ones_like(targets) if pad_id is None else (targets != pad_id).long()
    logp = logits - torch.logsumexp(logits, -1, keepdim=True)
    bits = -logp.gather(2, (targets * weights).unsqueeze(2))[..., 0] / math.log(2)
    return 2 ** ((bits * weights).sum() / weights.sum())


def perplexity_by_one_hot(logits, targets, pad_id=None):
    vocab = torch.arange(logits.shape[-1], device=logits.device)
    real = torch.full_like(targets, True, dtype=torch.bool) if pad_id is None else targets != pad_id
    hot = (targets[..., None] == vocab) & real[..., None]
    logp = F.log_softmax(logits, dim=-1)
    return (-torch.where(hot, logp, 0.0).sum() / real.sum()).exp()


def perplexity_as_a_geometric_mean(logits, targets, pad_id=None):
    """One over the geometric mean of what the right tokens got."""
    kept = [(row, target) for text, of in zip(logits, targets, strict=True)
            for row, target in zip(text, of, strict=True) if pad_id is None or target != pad_id]
    rows, right = torch.stack([row for row, _ in kept]), torch.stack([target for _, target in kept])
    return (-torch.distributions.Categorical(logits=rows).log_prob(right)).mean().exp()


def perplexity_by_transposing(logits, targets, pad_id=None):
    losses = F.cross_entropy(logits.transpose(1, 2), targets.clamp(0, logits.shape[-1] - 1), reduction="none")
    if pad_id is None:
        return losses.mean().exp()
    return torch.exp(losses.masked_select(targets != pad_id).mean())


# --- Block ------------------------------------------------------------------------------------------------------


class GivenBlock(nn.Module):
    """The constructor that a learner is given."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class BlockAsKarpathy(GivenBlock):
    """minGPT's lines."""

    def forward(self, x, mask):
        normed = self.norm1(x)
        x = x + self.dropout(self.self_attn(normed, normed, normed, mask))
        x = x + self.dropout(self.ff(self.norm2(x)))
        return x


class BlockWithAHelper(GivenBlock):
    """One helper for both sublayers."""

    def add(self, x, norm, sublayer):
        return x + self.dropout(sublayer(norm(x)))

    def forward(self, x, mask):
        x = self.add(x, self.norm1, lambda n: self.self_attn(n, n, n, mask))
        return self.add(x, self.norm2, self.ff)


class BlockWithNormsByHand(GivenBlock):
    """Layer norm written out."""

    @staticmethod
    def normed(x, norm):
        centred = x - x.mean(-1, keepdim=True)
        return centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + norm.eps) * norm.weight + norm.bias

    def forward(self, x, mask):
        n = self.normed(x, self.norm1)
        attended = self.dropout(self.self_attn(query=n, key=n, value=n, mask=mask))
        x = torch.add(x, attended)
        return torch.add(x, self.dropout(self.ff(self.normed(x, self.norm2))))


class BlockTextByText(GivenBlock):
    """Each text of the batch by itself."""

    def forward(self, x, mask):
        out = []
        for b in range(len(x)):
            own = mask if mask is None or mask.dim() == 2 else mask[b : b + 1]
            one = x[b : b + 1]
            n = self.norm1(one)
            one = one + self.dropout(self.self_attn(n, n, n, own))
            out.append(one + self.dropout(self.ff(self.norm2(one))))
        return torch.cat(out, dim=0)


class BlockInPlaceOnACopy(GivenBlock):
    """Adds into a stream of its own."""

    def forward(self, x, mask):
        stream = x.clone()
        n = self.norm1(x)
        stream += self.dropout(self.self_attn(n, n, n, mask))
        return stream + self.dropout(self.ff(self.norm2(stream)))


class BlockWithTwoParts(GivenBlock):
    """The two halves as methods."""

    def look_back(self, x, mask):
        n = F.layer_norm(x, self.norm1.normalized_shape, self.norm1.weight, self.norm1.bias, self.norm1.eps)
        return self.dropout(self.self_attn(n, n, n, mask=mask))

    def think(self, x):
        return F.dropout(self.ff(self.norm2(x)), self.dropout.p, training=self.training)

    def forward(self, x, mask):
        after = self.look_back(x, mask) + x
        return self.think(after) + after


# --- LanguageModel ----------------------------------------------------------------------------------------------


class GivenModel(nn.Module):
    """The constructor that a learner is given."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab_size)
        self.dropout = nn.Dropout(dropout)


def back(T, device):
    return torch.arange(T, device=device)[:, None] >= torch.arange(T, device=device)


class ModelInSteps(GivenModel):
    """One line after the other."""

    def forward(self, ids):
        _, T = ids.shape
        tok = self.table(ids)
        pos = sinusoidal_positions(T, tok.shape[-1]).to(tok.device, tok.dtype)
        x = self.dropout(tok + pos)
        mask = torch.tril(torch.ones(T, T, device=ids.device)).bool()
        for block in self.blocks:
            x = block(x, mask)
        x = self.norm(x)
        logits = self.out(x)
        return logits


class ModelAsAFold(GivenModel):
    """The blocks as a fold, the mask from comparing positions."""

    def forward(self, ids):
        x = self.table(ids)
        x = self.dropout(x + sinusoidal_positions(*x.shape[-2:]).to(x)[None])
        mask = back(ids.shape[1], ids.device)
        return self.out(self.norm(functools.reduce(lambda h, block: block(h, mask), self.blocks, x)))


class ModelOneHot(GivenModel):
    """Embedding and head as products with matrices; a mask for each text."""

    def forward(self, ids):
        B, T = ids.shape
        x = F.one_hot(ids, self.table.num_embeddings).to(self.table.weight) @ self.table.weight
        x = self.dropout(x + sinusoidal_positions(T, x.shape[-1]).to(x))
        mask = back(T, ids.device).expand(B, T, T)
        for block in self.blocks:
            x = block(x, mask)
        return torch.einsum("btd,vd->btv", self.norm(x), self.out.weight) + self.out.bias


class ModelWithWavesByHand(GivenModel):
    """Sines and cosines worked out where they are needed."""

    def waves(self, T, like):
        d = like.shape[-1]
        angle = torch.arange(T, device=like.device)[:, None] / 10000 ** (
            torch.arange(0, d, 2, device=like.device) / d)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).to(like)

    def forward(self, ids):
        x = F.embedding(ids, self.table.weight)
        x = F.dropout(x + self.waves(ids.shape[1], x), self.dropout.p, self.training)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, back(ids.shape[1], ids.device))
        return self.out(self.norm(x))


class ModelTextByText(GivenModel):
    """One text at a time."""

    def forward(self, ids):
        mask = ~torch.triu(torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device), diagonal=1)
        rows = []
        for text in ids:
            x = self.table(text)[None]
            x = self.dropout(x + sinusoidal_positions(len(text), x.shape[-1]).to(x))
            for block in self.blocks:
                x = block(x, mask)
            rows.append(self.out(self.norm(x)))
        return torch.cat(rows)


class ModelWithoutAMask(GivenModel):
    """An attention that looks back by itself."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__(vocab_size, d_model, num_heads, d_ff, num_layers, dropout)
        for block in self.blocks:
            block.self_attn = CausalAttention(d_model, num_heads)

    def forward(self, ids):
        x = self.table(ids)
        x = self.dropout(x + sinusoidal_positions(ids.shape[1], x.shape[2]).to(x))
        for block in self.blocks:
            x = block(x, None)
        return self.out(self.norm(x))


class ModelWithItsOwnPositions(GivenModel):
    """A table of positions that is kept, and grows where a text is longer."""

    kept = None

    def positions(self, T, like):
        if self.kept is None or len(self.kept) < T or self.kept.shape[1] != like.shape[-1]:
            self.kept = sinusoidal_positions(2 * T, like.shape[-1])
        return self.kept[:T].to(like)

    def forward(self, ids):
        x = self.table(ids)
        x = self.dropout(x + self.positions(ids.shape[1], x))
        for block in self.blocks:
            x = block(x, back(ids.shape[1], ids.device)[None])
        return F.linear(self.norm(x), self.out.weight, self.out.bias)


RIGHT_ANSWERS = {
    "perplexity": {
        "cross entropy": perplexity_by_cross_entropy,
        "selection": perplexity_by_selection,
        "loop": perplexity_by_loop,
        "bits": perplexity_in_bits,
        "one-hot": perplexity_by_one_hot,
        "geometric mean": perplexity_as_a_geometric_mean,
        "transposed": perplexity_by_transposing,
    },
    "Block": {
        "minGPT": BlockAsKarpathy,
        "a helper": BlockWithAHelper,
        "norms by hand": BlockWithNormsByHand,
        "text by text": BlockTextByText,
        "in place": BlockInPlaceOnACopy,
        "two parts": BlockWithTwoParts,
    },
    "LanguageModel": {
        "in steps": ModelInSteps,
        "a fold": ModelAsAFold,
        "one-hot": ModelOneHot,
        "waves by hand": ModelWithWavesByHand,
        "text by text": ModelTextByText,
        "no mask": ModelWithoutAMask,
        "own positions": ModelWithItsOwnPositions,
    },
}
