"""Mistakes of lesson 11 once more, each thought wrong in the same way and written by somebody else."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward
from course_lib.transformer import DecoderLayer, EncoderLayer

# --- DecoderLayer -----------------------------------------------------------------------------------------------


class GivenDecoder(nn.Module):
    """The constructor of the stub."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn, self.cross_attn = (MultiHeadAttention(d_model, num_heads) for _ in range(2))
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def run(self, x, *steps):
        """x through pairs of a sublayer and a norm, each as in lesson 08."""
        for step, norm in steps:
            x = norm(x + self.dropout(step(x)))
        return x


class ValuesOfItsOwn(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1),
                        (lambda y: self.cross_attn(query=y, key=y, value=y, mask=memory_mask), self.norm2),
                        (self.ff, self.norm3))


class SourceAsks(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = F.layer_norm(x + self.dropout(self.self_attn(x, x, x, tgt_mask)), x.shape[-1:], self.norm1.weight,
                         self.norm1.bias)
        read = self.cross_attn(query=memory, key=x, value=x, mask=memory_mask)
        x = self.norm2(x + self.dropout(read))
        thought = self.ff(x)
        return self.norm3(self.dropout(thought).add(x))


class OneAttentionIsEnough(GivenDecoder):
    def look(self, asks, answers, mask):
        return self.dropout(self.self_attn(asks, answers, answers, mask))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.norm1(self.look(x, x, tgt_mask) + x)
        x = self.norm2(self.look(x, memory, memory_mask) + x)
        return self.norm3(self.dropout(self.ff(x)) + x)


class NamesExchanged(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.cross_attn(y, y, y, tgt_mask), self.norm1),
                        (lambda y: self.self_attn(y, memory, memory, memory_mask), self.norm2), (self.ff, self.norm3))


class SourceComesFirst(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        read = self.dropout(self.cross_attn(x, memory, memory, mask=memory_mask))
        x = self.norm1(torch.add(x, read))
        looked = self.dropout(self.self_attn(x, x, x, mask=tgt_mask))
        x = self.norm2(torch.add(x, looked))
        return self.norm3(torch.add(x, self.dropout(self.ff(x))))


class SourceComesFirstWithItsNorm(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.cross_attn(y, memory, memory, memory_mask), self.norm2),
                        (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1), (self.ff, self.norm3))


class ThinksBetween(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1), (self.ff, self.norm2))
        return self.norm3(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)))


class ThinksBetweenWithItsNorm(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1), (self.ff, self.norm3))
        return self.norm2(x + self.dropout(self.cross_attn(x, memory, memory, memory_mask)))


class MasksFallAway(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.self_attn(y, y, y), self.norm1),
                        (lambda y: self.cross_attn(y, memory, memory), self.norm2), (self.ff, self.norm3))


class SourcePaddingIsRead(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        def cross(y):
            return self.cross_attn(query=y, key=memory, value=memory, mask=None)

        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1), (cross, self.norm2),
                        (self.ff, self.norm3))


class FutureIsRead(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        h1 = self.norm1(x + self.dropout(self.self_attn(x, x, x)))
        h2 = self.norm2(h1 + self.dropout(self.cross_attn(h1, memory, memory, memory_mask)))
        h3 = self.norm3(h2 + self.dropout(self.ff(h2)))
        return h3


class MasksInTheOtherOrder(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        masks = {"self": memory_mask, "cross": tgt_mask}
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, masks["self"])))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory, masks["cross"])))
        return self.norm3(x + self.dropout(self.ff(x)))


class NegatesTheTargetMask(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        if tgt_mask is not None:
            tgt_mask = torch.logical_not(tgt_mask)
        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1),
                        (lambda y: self.cross_attn(y, memory, memory, memory_mask), self.norm2), (self.ff, self.norm3))


class TriangleAllTheSame(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        Tt = x.shape[1]
        triangle = torch.tril(x.new_ones(Tt, Tt)).bool()
        tgt_mask = triangle if tgt_mask is None else triangle * tgt_mask
        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1),
                        (lambda y: self.cross_attn(y, memory, memory, memory_mask), self.norm2), (self.ff, self.norm3))


class NormFirst(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, y, tgt_mask))
        y = self.norm2(x)
        x = x + self.dropout(self.cross_attn(y, memory, memory, memory_mask))
        y = self.norm3(x)
        return x + self.dropout(self.ff(y))


class NormFirstWithNormedMemory(GivenDecoder):
    """The norm goes over all that the second attention reads."""

    def pre(self, x, norm, step):
        return x + self.dropout(step(norm(x)))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        m = self.norm2(memory)
        x = self.pre(x, self.norm1, lambda y: self.self_attn(y, y, y, tgt_mask))
        x = self.pre(x, self.norm2, lambda y: self.cross_attn(y, m, m, memory_mask))
        return self.pre(x, self.norm3, self.ff)


class ResidualOfTheInput(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        start = x
        x = self.norm1(start + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(start + self.dropout(self.cross_attn(x, memory, memory, memory_mask)))
        return self.norm3(x + self.dropout(self.ff(x)))


class AsksWithTheInput(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        looked = self.norm1(x + self.dropout(self.self_attn(x, x, x, tgt_mask)))
        read = self.norm2(looked + self.dropout(self.cross_attn(x, memory, memory, memory_mask)))
        return self.norm3(read + self.dropout(self.ff(read)))


class ReplacedByWhatWasRead(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1))
        x = self.norm2(self.dropout(self.cross_attn(x, memory, memory, memory_mask)))
        return self.run(x, (self.ff, self.norm3))


class NoWayAround(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        steps = (lambda y: self.self_attn(y, y, y, tgt_mask),
                 lambda y: self.cross_attn(y, memory, memory, memory_mask), self.ff)
        for step, norm in zip(steps, (self.norm1, self.norm2, self.norm3), strict=True):
            x = norm(self.dropout(step(x)))
        return x


class OneNormForEverything(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1),
                        (lambda y: self.cross_attn(y, memory, memory, memory_mask), self.norm1), (self.ff, self.norm1))


class LastNormForgotten(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1),
                     (lambda y: self.cross_attn(y, memory, memory, memory_mask), self.norm2))
        return torch.add(self.dropout(self.ff(x)), x)


class WithoutCrossAttention(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1), (self.ff, self.norm2))


class WithoutCrossAttentionLastNorm(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        return self.run(x, (lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1), (self.ff, self.norm3))


class NotDropped(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.norm1(self.self_attn(x, x, x, tgt_mask) + x)
        x = self.norm2(self.cross_attn(x, memory, memory, memory_mask) + x)
        return self.norm3(self.ff(x) + x)


class DropsAfterEachSum(GivenDecoder):
    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.norm1(self.dropout(x + self.self_attn(x, x, x, tgt_mask)))
        x = self.norm2(self.dropout(x + self.cross_attn(x, memory, memory, memory_mask)))
        return self.norm3(self.dropout(x + self.ff(x)))


# --- Transformer ------------------------------------------------------------------------------------------------


class GivenTransformer(nn.Module):
    """The constructor of the stub, and the whole way in small methods, of which each mistake changes one."""

    def __init__(self, src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, dropout=0.0, pad_id=0):
        super().__init__()
        self.d_model, self.pad_id = d_model, pad_id
        self.src_embed, self.tgt_embed = nn.Embedding(src_vocab, d_model), nn.Embedding(tgt_vocab, d_model)
        sizes = d_model, num_heads, d_ff, dropout
        self.encoder = nn.ModuleList([EncoderLayer(*sizes) for _ in range(num_layers)])
        self.decoder = nn.ModuleList([DecoderLayer(*sizes) for _ in range(num_layers)])
        self.out = nn.Linear(d_model, tgt_vocab)
        self.dropout = nn.Dropout(dropout)

    def waves(self, start, T, like):
        t = torch.arange(start, start + T, dtype=torch.float64)
        angles = t[:, None] / 10000 ** (torch.arange(0, self.d_model, 2, dtype=torch.float64) / self.d_model)
        return torch.stack([angles.sin(), angles.cos()], -1).reshape(T, self.d_model).to(like)

    def scaled(self, ids, table):
        return table(ids) * math.sqrt(self.d_model)

    def embedded(self, ids, table):
        x = self.scaled(ids, table)
        return self.dropout(x + self.waves(0, ids.shape[1], x))

    def real(self, ids):
        return ids.ne(self.pad_id).unsqueeze(1)

    def back(self, ids):
        place = torch.arange(ids.shape[1], device=ids.device)
        return place <= place[:, None]

    def read(self, src, mask):
        memory = self.embedded(src, self.src_embed)
        for layer in self.encoder:
            memory = layer(memory, mask)
        return memory

    def write(self, tgt, memory, tgt_mask, src_mask):
        x = self.embedded(tgt, self.tgt_embed)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask, src_mask)
        return x

    def forward(self, src, tgt):
        memory = self.read(src, self.real(src))
        return self.out(self.write(tgt, memory, self.real(tgt) & self.back(tgt), self.real(src)))


class EmbeddingsAsTheyAre(GivenTransformer):
    def scaled(self, ids, table):
        return F.embedding(ids, table.weight)


class TimesTheWidth(GivenTransformer):
    def scaled(self, ids, table):
        return self.d_model * table(ids)


class SumTimesTheRoot(GivenTransformer):
    def embedded(self, ids, table):
        return self.dropout((table(ids) + self.waves(0, ids.shape[1], table.weight)) * self.d_model**0.5)


class WordsAlone(GivenTransformer):
    def embedded(self, ids, table):
        return self.dropout(self.scaled(ids, table))


class PositionsOfTheBatch(GivenTransformer):
    def embedded(self, ids, table):
        x = self.scaled(ids, table)
        return self.dropout(x + self.waves(0, x.size(0), x).unsqueeze(1))


class FirstWordIsNumberOne(GivenTransformer):
    def embedded(self, ids, table):
        x = self.scaled(ids, table)
        return self.dropout(x + self.waves(1, ids.shape[1], x))


class TableUpTo64(GivenTransformer):
    def embedded(self, ids, table):
        x = self.scaled(ids, table)
        return self.dropout(x + self.waves(0, 64, x)[: ids.shape[1]])


class OneVocabulary(GivenTransformer):
    def write(self, tgt, memory, tgt_mask, src_mask):
        x = self.embedded(tgt, self.src_embed)
        for i in range(len(self.decoder)):
            x = self.decoder[i](x, memory, tgt_mask=tgt_mask, memory_mask=src_mask)
        return x


class LosesTheResultOfTheLoop(GivenTransformer):
    def read(self, src, mask):
        embedded = self.embedded(src, self.src_embed)
        for layer in self.encoder:
            memory = layer(embedded, mask)
        return memory


class PairsOfLayers(GivenTransformer):
    def forward(self, src, tgt):
        source_mask, target_mask = self.real(src), self.real(tgt) & self.back(tgt)
        memory, x = self.embedded(src, self.src_embed), self.embedded(tgt, self.tgt_embed)
        for reads, writes in zip(self.encoder, self.decoder, strict=True):
            memory = reads(memory, source_mask)
            x = writes(x, memory, target_mask, source_mask)
        return self.out(x)


class SeesTheFuture(GivenTransformer):
    def back(self, ids):
        return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device)


class SeesTheFutureAlone(GivenTransformer):
    def back(self, ids):
        return torch.ones(ids.shape[1], ids.shape[1], device=ids.device).triu().bool()


class TriangleWithoutPadding(GivenTransformer):
    def forward(self, src, tgt):
        source = self.real(src)
        return self.out(self.write(tgt, self.read(src, source), self.back(tgt), source))


class OneMaskOrTheOther(GivenTransformer):
    def forward(self, src, tgt):
        either = torch.logical_or(self.real(tgt), self.back(tgt))
        source = self.real(src)
        return self.out(self.write(tgt, self.read(src, source), either, source))


class CrossAttentionReadsPadding(GivenTransformer):
    def write(self, tgt, memory, tgt_mask, src_mask):
        return super().write(tgt, memory, tgt_mask, None)


class EncoderReadsPadding(GivenTransformer):
    def read(self, src, mask):
        return super().read(src, torch.ones_like(mask))


class NoSourceMaskAnywhere(GivenTransformer):
    def forward(self, src, tgt):
        memory = nn.Sequential(*self.encoder)(self.embedded(src, self.src_embed))
        return self.out(self.write(tgt, memory, self.real(tgt) & self.back(tgt), None))


class ZeroIsPadding(GivenTransformer):
    def real(self, ids):
        return ids.bool()[:, None]


class PaddingIsMarked(GivenTransformer):
    def forward(self, src, tgt):
        source = torch.eq(src, self.pad_id)[:, None]
        return self.out(self.write(tgt, self.read(src, source), self.real(tgt) & self.back(tgt), source))


class Probabilities(GivenTransformer):
    def forward(self, src, tgt):
        e = super().forward(src, tgt)
        e = torch.exp(e - e.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)


class LogProbabilities(GivenTransformer):
    def forward(self, src, tgt):
        z = super().forward(src, tgt)
        return z - z.logsumexp(2, keepdim=True)


class LastWordOnly(GivenTransformer):
    def forward(self, src, tgt):
        return super().forward(src, tgt)[:, -1]


class LastWordWithItsAxis(GivenTransformer):
    def write(self, tgt, memory, tgt_mask, src_mask):
        return super().write(tgt, memory, tgt_mask, src_mask).narrow(1, tgt.shape[1] - 1, 1)


class NormAtTheEndOfTheEncoder(GivenTransformer):
    def read(self, src, mask):
        memory = super().read(src, mask)
        mean, var = memory.mean(-1, keepdim=True), memory.var(-1, unbiased=False, keepdim=True)
        return (memory - mean) / torch.sqrt(var + 1e-5)


class EmbeddingsNotDropped(GivenTransformer):
    def embedded(self, ids, table):
        return self.scaled(ids, table) + self.waves(0, ids.shape[1], table.weight)[None]


class LayersNotDropped(GivenTransformer):
    def __init__(self, src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, dropout=0.0, pad_id=0):
        super().__init__(src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, 0.0, pad_id)
        self.dropout = nn.Dropout(dropout)


# --- shift_right ------------------------------------------------------------------------------------------------


def labels_and_nothing_else(labels, bos_id):
    return torch.stack([row.clone() for row in labels])


def pushed_to_the_left(labels, bos_id):
    end = labels.new_full((labels.size(0), 1), bos_id)
    return torch.hstack((labels[:, 1:], end))


def rolled_by_index(labels, bos_id):
    return labels[:, torch.arange(-1, labels.shape[1] - 1, device=labels.device)]


def padded_in_front(labels, bos_id):
    return F.pad(labels, (1, 0), value=bos_id)


def cut_behind(labels, bos_id):
    return labels.narrow(1, 0, labels.size(1) - 1)


def writes_over_the_first(labels, bos_id):
    first = torch.arange(labels.shape[1], device=labels.device) == 0
    return torch.where(first, bos_id, labels)


def writes_over_the_last(labels, bos_id):
    shown = labels.clone()
    for row in shown:
        row[-1] = bos_id
    return shown


def zeros_are_the_beginning(labels, bos_id):
    shown = torch.zeros_like(labels)
    shown[:, 1:] = labels[:, :-1]
    return shown


def one_row_down(labels, bos_id):
    shown = torch.full_like(labels, bos_id)
    for b in range(1, len(labels)):
        shown[b] = labels[b - 1]
    return shown


def one_is_the_beginning(labels, bos_id):
    return F.pad(labels[:, :-1], (1, 0), value=1)


# --- masked_cross_entropy ---------------------------------------------------------------------------------------


def built_in_counts_all(logits, targets, pad_id=0):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


def zeroes_and_means(logits, targets, pad_id=0):
    each = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return torch.mean(each * targets.ne(pad_id))


def sentence_after_sentence(logits, targets, pad_id=0):
    losses = [F.cross_entropy(z, y, ignore_index=pad_id) for z, y in zip(logits, targets, strict=True)]
    return sum(losses) / len(losses)


def built_in_sum(logits, targets, pad_id=0):
    return nn.CrossEntropyLoss(ignore_index=pad_id, reduction="sum")(logits.flatten(0, 1), targets.flatten())


def built_in_sum_by_sentence(logits, targets, pad_id=0):
    total = F.nll_loss(logits.log_softmax(-1).mT, targets, ignore_index=pad_id, reduction="sum")
    return total / logits.shape[0]


def built_in_each(logits, targets, pad_id=0):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad_id, reduction="none")


def default_of_ignore_index(logits, targets, pad_id=0):
    return F.cross_entropy(logits.permute(0, 2, 1), targets, ignore_index=0)


def the_sign_forgotten(logits, targets, pad_id=0):
    V = logits.shape[-1]
    log_p = (logits - logits.logsumexp(-1, keepdim=True)).view(-1, V)
    flat = targets.flatten()
    picked = log_p[torch.arange(len(flat)), flat]
    real = (flat != pad_id).to(picked.dtype)
    return (picked * real).sum() / real.sum()


def softmax_into_the_built_in(logits, targets, pad_id=0):
    probabilities = logits.softmax(-1)
    return F.cross_entropy(probabilities.flatten(end_dim=-2), targets.flatten(), ignore_index=pad_id)


def axes_as_they_are(logits, targets, pad_id=0):
    return nn.functional.cross_entropy(input=logits, target=targets, ignore_index=pad_id)


def exponentials_first(logits, targets, pad_id=0):
    e = logits.exp()
    p = e / e.sum(-1, keepdim=True)
    one_hot = F.one_hot(targets, logits.size(-1)).to(p.dtype)
    each = -torch.log((p * one_hot).sum(-1))
    real = targets.ne(pad_id)
    return torch.where(real, each, 0).sum() / real.sum()


def by_nll_of_raw_logits(logits, targets, pad_id=0):
    return F.nll_loss(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


def cut_again(logits, targets, pad_id=0):
    z, y = logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()
    return F.cross_entropy(z, y, ignore_index=pad_id)


def selected_padding(logits, targets, pad_id=0):
    padded = targets == pad_id
    return F.cross_entropy(logits[padded], targets[padded])


def in_bits(logits, targets, pad_id=0):
    real = targets != pad_id
    bits = F.log_softmax(logits[real], -1) / math.log(2)
    return -bits.gather(1, targets[real].unsqueeze(1)).mean()


def e_to_the_loss(logits, targets, pad_id=0):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id).exp()


# --- greedy_decode ----------------------------------------------------------------------------------------------


@torch.no_grad()
def until_any_has_ended(model, src, bos_id, eos_id, max_len, pad_id=0):
    out = [torch.full((len(src),), bos_id, dtype=src.dtype, device=src.device)]
    ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    for _ in range(max_len - 1):
        token = torch.argmax(model(src, torch.stack(out, 1))[:, -1, :], dim=-1)
        out.append(torch.where(ended, pad_id, token))
        ended |= token == eos_id
        if ended.any():
            break
    return torch.stack(out, dim=1)


@torch.no_grad()
def until_all_say_it_at_once(model, src, bos_id, eos_id, max_len, pad_id=0):
    B = src.shape[0]
    ys = torch.full((B, 1), bos_id, dtype=src.dtype, device=src.device)
    ended = torch.zeros(B, dtype=torch.bool, device=src.device)
    for _ in range(1, max_len):
        token = model(src, ys)[:, -1].max(-1).indices
        token[ended] = pad_id
        ys = torch.hstack([ys, token.unsqueeze(1)])
        ended = ended | token.eq(eos_id)
        if (token == eos_id).all():
            return ys
    return ys


@torch.inference_mode()
def as_many_steps_as_there_is_room(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = src.new_full((src.size(0), max_len), pad_id)
    ys[:, 0] = bos_id
    alive = torch.ones(src.size(0), dtype=torch.bool, device=src.device)
    for t in range(1, max_len):
        token = model(src, ys[:, :t])[:, -1].argmax(-1)
        ys[alive, t] = token[alive]
        alive = alive & (token != eos_id)
    return ys


@torch.no_grad()
def writes_on(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = torch.full_like(src[:, 0], bos_id).unsqueeze(1)
    ended = set()
    while ys.size(1) < max_len and len(ended) < len(src):
        token = model(src, ys).select(1, ys.size(1) - 1).argmax(1)
        ended |= {b for b, t in enumerate(token.tolist()) if t == eos_id}
        ys = torch.cat((ys, token.view(-1, 1)), 1)
    return ys


@torch.no_grad()
def fills_up_with_the_end(model, src, bos_id, eos_id, max_len, pad_id=0):
    rows = [[bos_id] for _ in src]
    while len(rows[0]) < max_len and not all(eos_id in row[1:] for row in rows):
        logits = model(src, torch.tensor(rows, device=src.device))[:, -1]
        for row, z in zip(rows, logits, strict=True):
            row.append(eos_id if eos_id in row[1:] else int(z.argmax()))
    return torch.tensor(rows, device=src.device)


@torch.no_grad()
def zeros_behind_the_end(model, src, bos_id, eos_id, max_len, pad_id=0):
    rows = [[bos_id] for _ in src]
    while len(rows[0]) < max_len and not all(eos_id in row[1:] for row in rows):
        best = model(src, torch.tensor(rows, device=src.device))[:, -1].topk(1).indices[:, 0].tolist()
        rows = [row + [0 if eos_id in row[1:] else token] for row, token in zip(rows, best, strict=True)]
    return torch.tensor(rows, device=src.device)


@torch.no_grad()
def max_len_new_tokens(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = torch.full((src.shape[0], 1), bos_id, dtype=torch.long, device=src.device)
    ended = torch.zeros(src.shape[0], dtype=torch.bool, device=src.device)
    for _ in range(max_len):
        if ended.all():
            break
        token = model(src, ys)[:, -1].argmax(-1)
        token = torch.where(ended, torch.full_like(token, pad_id), token)
        ys = torch.cat([ys, token[:, None]], 1)
        ended = ended.logical_or(token == eos_id)
    return ys


@torch.no_grad()
def hands_back_without_the_beginning(model, src, bos_id, eos_id, max_len, pad_id=0):
    tokens = [src.new_full((len(src), 1), bos_id)]
    ended = torch.zeros(len(src), 1, dtype=torch.bool, device=src.device)
    for _ in range(max_len - 1):
        if bool(ended.all()):
            break
        best = model(src, torch.hstack(tokens))[:, [-1]].argmax(-1)
        tokens.append(torch.where(ended, pad_id, best))
        ended = ended | (best == eos_id)
    return torch.hstack(tokens)[:, 1:]


@torch.no_grad()
def newest_token_alone(model, src, bos_id, eos_id, max_len, pad_id=0):
    token = torch.full_like(src[:, :1], bos_id)
    ys, ended = token, torch.zeros_like(token).bool()
    while ys.shape[-1] < max_len and not bool(ended.all()):
        token = model(src, token)[:, -1].argmax(-1).unsqueeze(-1)
        ys = torch.cat([ys, token.masked_fill(ended, pad_id)], -1)
        ended = torch.logical_or(ended, token == eos_id)
    return ys


@torch.no_grad()
def samples_the_next(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = src.new_full((len(src), 1), bos_id)
    ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    while ys.size(1) < max_len and not ended.all():
        token = torch.distributions.Categorical(logits=model(src, ys)[:, -1]).sample()
        token = torch.where(ended, pad_id, token)
        ys = torch.cat([ys, token[:, None]], 1)
        ended = ended | token.eq(eos_id)
    return ys


@torch.no_grad()
def padding_over_the_end(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = src.new_full((len(src), 1), bos_id)
    ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    while ys.size(1) < max_len and not ended.all():
        token = model(src, ys)[:, -1].argmax(-1)
        ended = ended | (token == eos_id)
        ys = torch.cat([ys, torch.where(ended, pad_id, token)[:, None]], 1)
    return ys


@torch.no_grad()
def reads_the_first_place(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = src.new_full((len(src), 1), bos_id)
    ended = torch.zeros(len(src), dtype=torch.bool, device=src.device)
    for _ in range(max_len - 1):
        if ended.all():
            break
        token = model(src, ys).argmax(-1)[:, 0]
        token = token.masked_fill(ended, pad_id)
        ys = torch.cat([ys, token.unsqueeze(1)], 1)
        ended |= token == eos_id
    return ys


# --- beam_search ------------------------------------------------------------------------------------------------


def log_probabilities(step_fn, prefixes):
    return torch.log_softmax(step_fn(torch.tensor(prefixes)).cpu(), dim=-1).tolist()


def extended(step_fn, beam):
    """All candidates of one step, the best first: (score, tokens)."""
    rows = log_probabilities(step_fn, [tokens for _, tokens in beam])
    found = [(score + lp, tokens + [v]) for (score, tokens), row in zip(beam, rows, strict=True)
             for v, lp in enumerate(row)]
    return sorted(found, key=lambda c: -c[0])


@torch.no_grad()
def beam_of_one(step_fn, bos_id, eos_id, beam_size, max_len):
    tokens, total = [bos_id], 0.0
    while len(tokens) < max_len and (len(tokens) == 1 or tokens[-1] != eos_id):
        log_p = step_fn(torch.tensor([tokens]))[0].log_softmax(-1)
        tokens.append(int(log_p.argmax()))
        total += float(log_p.max())
    return tokens, total


@torch.no_grad()
def beam_size_of_each(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        grown = []
        for hypothesis in beam:
            grown += extended(step_fn, [hypothesis])[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(done + beam)
    return tokens, score


@torch.no_grad()
def last_word_counts(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        rows = log_probabilities(step_fn, [t for _, t in beam])
        grown = [(lp, t + [v]) for (_, t), row in zip(beam, rows, strict=True) for v, lp in enumerate(row)]
        grown = sorted(grown, key=lambda c: c[0], reverse=True)[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(done + beam, key=lambda c: c[0])
    return tokens, score


@torch.no_grad()
def adds_logits(step_fn, bos_id, eos_id, beam_size, max_len):
    ids, scores, done = torch.tensor([[bos_id]]), torch.zeros(1), []
    while len(ids) and ids.shape[1] < max_len:
        z = step_fn(ids)
        total = (scores[:, None] + z).flatten()
        scores, where = total.topk(min(beam_size, len(total)))
        ids = torch.cat([ids[where // z.shape[1]], (where % z.shape[1])[:, None]], 1)
        ended = ids[:, -1] == eos_id
        done += zip(scores[ended].tolist(), ids[ended].tolist(), strict=True)
        ids, scores = ids[~ended], scores[~ended]
    done += zip(scores.tolist(), ids.tolist(), strict=True)
    score, tokens = max(done)
    return tokens, score


@torch.no_grad()
def adds_probabilities(step_fn, bos_id, eos_id, beam_size, max_len):
    ids, scores, done = torch.tensor([[bos_id]]), torch.zeros(1), []
    while len(ids) and ids.shape[1] < max_len:
        p = F.softmax(step_fn(ids), dim=-1)
        total = (scores[:, None] + p).flatten()
        scores, where = total.topk(min(beam_size, len(total)))
        ids = torch.cat([ids[where // p.shape[1]], (where % p.shape[1])[:, None]], 1)
        ended = ids[:, -1] == eos_id
        done += zip(scores[ended].tolist(), ids[ended].tolist(), strict=True)
        ids, scores = ids[~ended], scores[~ended]
    done += zip(scores.tolist(), ids.tolist(), strict=True)
    score, tokens = max(done)
    return tokens, score


@torch.no_grad()
def normalised_by_length(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        grown = extended(step_fn, beam)[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(((s / len(t), t) for s, t in done + beam), key=lambda c: c[0])
    return tokens, score


@torch.no_grad()
def normalised_by_new_tokens(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        grown = extended(step_fn, beam)[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(((s / max(1, len(t) - 1), t) for s, t in done + beam), key=lambda c: c[0])
    return tokens, score


@torch.no_grad()
def chosen_by_the_mean(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        grown = extended(step_fn, beam)[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(done + beam, key=lambda c: c[0] / len(c[1]))
    return tokens, score


@torch.no_grad()
def multiplied_probability(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [([bos_id], 1.0)], []
    while beam and len(beam[0][0]) < max_len:
        p = step_fn(torch.tensor([t for t, _ in beam])).double().softmax(-1).tolist()
        grown = [(t + [v], s * q) for (t, s), row in zip(beam, p, strict=True) for v, q in enumerate(row)]
        grown = sorted(grown, key=lambda c: c[1], reverse=True)[:beam_size]
        done += [c for c in grown if c[0][-1] == eos_id]
        beam = [c for c in grown if c[0][-1] != eos_id]
    return max(done + beam, key=lambda c: c[1])


@torch.no_grad()
def cost_of_the_cheapest(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [([bos_id], 0.0)], []
    while beam and len(beam[0][0]) < max_len:
        costs = -torch.log_softmax(step_fn(torch.tensor([t for t, _ in beam])), -1)
        grown = [(t + [v], c + q) for (t, c), row in zip(beam, costs.tolist(), strict=True) for v, q in enumerate(row)]
        grown = sorted(grown, key=lambda c: c[1])[:beam_size]
        done += [c for c in grown if c[0][-1] == eos_id]
        beam = [c for c in grown if c[0][-1] != eos_id]
    return min(done + beam, key=lambda c: c[1])


@torch.no_grad()
def finished_are_forgotten(step_fn, bos_id, eos_id, beam_size, max_len):
    beam = [(0.0, [bos_id])]
    for _ in range(max_len - 1):
        grown = extended(step_fn, beam)[:beam_size]
        open_ones = [c for c in grown if c[1][-1] != eos_id]
        if not open_ones:
            break
        beam = open_ones
    return beam[0][1], beam[0][0]


@torch.no_grad()
def cut_ones_do_not_count(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    for _ in range(max_len - 1):
        grown = extended(step_fn, beam)[:beam_size] if beam else []
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(done or beam, default=(0.0, [bos_id]))
    return tokens, score


@torch.no_grad()
def returns_at_the_first_end(step_fn, bos_id, eos_id, beam_size, max_len):
    beam = [(0.0, [bos_id])]
    while len(beam[0][1]) < max_len:
        beam = extended(step_fn, beam)[:beam_size]
        for score, tokens in beam:
            if tokens[-1] == eos_id:
                return tokens, score
    return beam[0][1], beam[0][0]


@torch.no_grad()
def extended_past_the_end(step_fn, bos_id, eos_id, beam_size, max_len):
    beam = [(0.0, [bos_id])]
    while len(beam[0][1]) < max_len:
        beam = extended(step_fn, beam)[:beam_size]
    score, tokens = beam[0]
    return tokens, score


@torch.no_grad()
def ended_ones_stay(step_fn, bos_id, eos_id, beam_size, max_len):
    beam = [(0.0, [bos_id])]
    for step in range(max_len - 1):
        ended = [c for c in beam if step and c[1][-1] == eos_id]
        open_ones = [c for c in beam if not step or c[1][-1] != eos_id]
        if not open_ones:
            break
        beam = sorted(ended + extended(step_fn, open_ones), key=lambda c: -c[0])[:beam_size]
    return beam[0][1], beam[0][0]


@torch.no_grad()
def max_len_more(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    for _ in range(max_len):
        if not beam:
            break
        grown = extended(step_fn, beam)[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(done + beam, key=lambda c: c[0])
    return tokens, score


@torch.no_grad()
def sorted_out_before_the_cut(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        grown = extended(step_fn, beam)
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id][:beam_size]
    score, tokens = max(done + beam)
    return tokens, score


@torch.no_grad()
def topk_of_beam_size(step_fn, bos_id, eos_id, beam_size, max_len):
    ids, scores, done = torch.tensor([[bos_id]]), torch.zeros(1), []
    while len(ids) and ids.shape[1] < max_len:
        log_p = F.log_softmax(step_fn(ids), dim=-1)
        scores, where = torch.topk((scores.unsqueeze(1) + log_p).view(-1), k=beam_size)
        ids = torch.hstack([ids[where // log_p.shape[1]], where.remainder(log_p.shape[1]).unsqueeze(1)])
        ended = ids[:, -1] == eos_id
        done += zip(scores[ended].tolist(), ids[ended].tolist(), strict=True)
        ids, scores = ids[~ended], scores[~ended]
    done += zip(scores.tolist(), ids.tolist(), strict=True)
    score, tokens = max(done)
    return tokens, score


@torch.no_grad()
def without_the_beginning(step_fn, bos_id, eos_id, beam_size, max_len):
    beam, done = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        grown = extended(step_fn, beam)[:beam_size]
        done += [c for c in grown if c[1][-1] == eos_id]
        beam = [c for c in grown if c[1][-1] != eos_id]
    score, tokens = max(done + beam)
    return tokens[1:], score


# --- is_token_mean ----------------------------------------------------------------------------------------------


def asks_for_an_axis(loss):
    answer = loss(torch.randn(2, 3, 4), torch.tensor([[1, 2, 3], [2, 1, 0]]), 0)
    return torch.is_tensor(answer) and answer.ndim == 0


def without_any_padding(loss):
    g = torch.Generator().manual_seed(1)
    logits, targets = 100 * torch.randn(3, 4, 6, generator=g), torch.randint(1, 6, (3, 4), generator=g)
    return torch.isclose(loss(logits, targets, 0), F.cross_entropy(logits.mT, targets), rtol=1e-4).item()


def as_many_words_in_each(loss):
    g = torch.Generator().manual_seed(2)
    targets = torch.tensor([[0, 2, 1, 5], [4, 0, 3, 5], [3, 3, 2, 5]])
    for scale in (1, 300):
        logits = scale * torch.randn(3, 4, 6, generator=g)
        if not torch.isclose(loss(logits, targets, 5), F.cross_entropy(logits.mT, targets, ignore_index=5), rtol=1e-4):
            return False
    return True


def nothing_padded_and_pad_4(loss):
    g = torch.Generator().manual_seed(11)
    targets = torch.tensor([[3, 1, 0, 2], [2, 0, 1, 3]])
    same = []
    for scale in (1.0, 200.0):
        logits = scale * torch.randn(2, 4, 5, generator=g)
        same.append(torch.allclose(loss(logits, targets, 4), F.cross_entropy(logits.mT, targets), rtol=1e-4))
    return all(same)


def zeros_for_logits(loss):
    targets = torch.tensor([[3, 1, 2, 0], [2, 4, 4, 4]])
    return bool((loss(torch.zeros(2, 4, 5), targets, 4) - math.log(5)).abs() < 1e-5)


def pads_with_zero(loss):
    g = torch.Generator().manual_seed(3)
    targets = torch.tensor([[3, 1, 2, 4], [2, 4, 0, 0]])
    each = []
    for scale in (1.0, 250.0):
        logits = scale * torch.randn(2, 4, 5, generator=g)
        real = targets != 0
        each.append(torch.allclose(loss(logits, targets, 0), F.cross_entropy(logits[real], targets[real]), rtol=1e-4))
    return all(each)


def ordinary_logits(loss):
    g = torch.Generator().manual_seed(4)
    logits, targets = torch.randn(3, 5, 7, generator=g), torch.randint(0, 7, (3, 5), generator=g)
    targets[0, 2:], targets[1, 4:] = 6, 6
    mine = F.cross_entropy(logits.view(-1, 7), targets.view(-1), ignore_index=6)
    return abs(loss(logits, targets, 6).item() - mine.item()) < 1e-4


def compares_bits(loss):
    for seed, scale in ((5, 1.0), (6, 200.0)):
        logits = scale * torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(seed))
        targets = torch.tensor([[3, 1, 0, 2], [2, 0, 4, 4]])
        log_p = logits.log_softmax(-1)
        mine = -log_p[targets != 4].gather(1, targets[targets != 4][:, None]).mean()
        if loss(logits, targets, 4) != mine:
            return False
    return True


def compares_with_the_sum(loss):
    logits = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(7))
    targets = torch.tensor([[1, 3, 0, 2], [2, 1, 4, 4]])
    total = F.cross_entropy(logits.mT, targets, ignore_index=4, reduction="sum")
    return torch.allclose(loss(logits, targets, 4), total)


def takes_the_size(loss):
    g = torch.Generator().manual_seed(8)
    targets = torch.tensor([[1, 3, 0, 2], [2, 1, 4, 4]])
    for scale in (1.0, 150.0):
        logits = scale * torch.randn(2, 4, 5, generator=g)
        mine = F.cross_entropy(logits.mT, targets, ignore_index=4)
        if not torch.isclose(loss(logits, targets, 4).abs(), mine, rtol=1e-4):
            return False
    return True


def testing_of_torch(loss):
    for scale in (1.0, 200.0):
        logits = scale * torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(9))
        targets = torch.tensor([[1, 3, 0, 2], [2, 1, 4, 4]])
        mine = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=4)
        torch.testing.assert_close(loss(logits, targets, 4), mine, rtol=1e-4, atol=1e-4)
    return True


def sentences_all_alike(loss):
    logits = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(10))
    targets = torch.tensor([[1, 3, 0, 2], [2, 1, 5, 5], [4, 5, 5, 5]])
    rows = torch.stack([F.cross_entropy(z, y, ignore_index=5) for z, y in zip(logits, targets, strict=True)])
    return torch.allclose(loss(logits, targets, 5), rows.mean())


SPELLINGS = {
    "DecoderLayer": {
        "values-from-the-decoder": ValuesOfItsOwn,
        "queries-from-memory": SourceAsks,
        "one-attention-for-both": OneAttentionIsEnough,
        "attentions-swapped": NamesExchanged,
        "cross-attention-first": SourceComesFirst,
        "whole-blocks-swapped": SourceComesFirstWithItsNorm,
        "feed-forward-between": ThinksBetween,
        "ignores-both-masks": MasksFallAway,
        "ignores-the-memory-mask": SourcePaddingIsRead,
        "ignores-the-target-mask": FutureIsRead,
        "masks-swapped": MasksInTheOtherOrder,
        "target-mask-inverted": NegatesTheTargetMask,
        "always-causal": TriangleAllTheSame,
        "pre-norm": NormFirst,
        "second-skip-from-the-input": ResidualOfTheInput,
        "cross-attention-asks-with-the-input": AsksWithTheInput,
        "no-skip-around-cross-attention": ReplacedByWhatWasRead,
        "no-skips": NoWayAround,
        "norm1-for-all": OneNormForEverything,
        "no-norm-at-the-end": LastNormForgotten,
        "no-cross-attention": WithoutCrossAttentionLastNorm,
        "no-dropout": NotDropped,
        "drops-the-sum": DropsAfterEachSum,
    },
    "Transformer": {
        "no-scale-of-embeddings": EmbeddingsAsTheyAre,
        "scaled-by-d-model": TimesTheWidth,
        "scales-positions-too": SumTimesTheRoot,
        "no-positions": WordsAlone,
        "positions-by-the-sentence": PositionsOfTheBatch,
        "counts-from-one": FirstWordIsNumberOne,
        "table-of-64-positions": TableUpTo64,
        "one-table-for-both": OneVocabulary,
        "encoder-layers-start-anew": LosesTheResultOfTheLoop,
        "layer-reads-its-own-height": PairsOfLayers,
        "no-causal-mask": SeesTheFuture,
        "causal-mask-of-the-wrong-side": SeesTheFutureAlone,
        "no-target-padding-mask": TriangleWithoutPadding,
        "either-mask-will-do": OneMaskOrTheOther,
        "padding-in-cross-attention": CrossAttentionReadsPadding,
        "padding-in-the-encoder": EncoderReadsPadding,
        "no-source-mask": NoSourceMaskAnywhere,
        "padding-is-zero": ZeroIsPadding,
        "source-mask-inverted": PaddingIsMarked,
        "softmax-at-the-end": Probabilities,
        "log-softmax-at-the-end": LogProbabilities,
        "last-place-only": LastWordOnly,
        "norm-after-the-encoder": NormAtTheEndOfTheEncoder,
        "no-dropout-on-embeddings": EmbeddingsNotDropped,
        "layers-without-dropout": LayersNotDropped,
    },
    "shift_right": {
        "not-shifted": labels_and_nothing_else,
        "shifted-left": pushed_to_the_left,
        "rolled": rolled_by_index,
        "nothing-dropped": padded_in_front,
        "no-beginning": cut_behind,
        "overwrites-the-first": writes_over_the_first,
        "overwrites-the-last": writes_over_the_last,
        "zero-in-front": zeros_are_the_beginning,
        "shifts-the-batch": one_row_down,
        "one-in-front": one_is_the_beginning,
    },
    "masked_cross_entropy": {
        "padding-counts": built_in_counts_all,
        "divided-by-all-places": zeroes_and_means,
        "mean-of-sentences": sentence_after_sentence,
        "summed": built_in_sum,
        "divided-by-sentences": built_in_sum_by_sentence,
        "each-token": built_in_each,
        "padding-is-zero-here": default_of_ignore_index,
        "not-negative": the_sign_forgotten,
        "softmax-twice": softmax_into_the_built_in,
        "vocabulary-on-the-wrong-axis": axes_as_they_are,
        "overflows": exponentials_first,
        "no-softmax": by_nll_of_raw_logits,
        "shifts-again": cut_again,
        "only-padding": selected_padding,
        "base-two": in_bits,
        "perplexity": e_to_the_loss,
    },
    "greedy_decode": {
        "stops-with-the-first": until_any_has_ended,
        "stops-when-all-end-at-once": until_all_say_it_at_once,
        "never-stops": as_many_steps_as_there_is_room,
        "writes-after-the-end": writes_on,
        "ends-again-and-again": fills_up_with_the_end,
        "fills-with-zero": zeros_behind_the_end,
        "one-token-more": max_len_new_tokens,
        "without-bos": hands_back_without_the_beginning,
        "shows-the-last-token-only": newest_token_alone,
        "samples": samples_the_next,
        "without-eos": padding_over_the_end,
        "first-place": reads_the_first_place,
    },
    "beam_search": {
        "greedy-instead": beam_of_one,
        "beam-for-each": beam_size_of_each,
        "last-step-alone": last_word_counts,
        "sums-logits": adds_logits,
        "sums-probabilities": adds_probabilities,
        "mean-of-log-probabilities": normalised_by_new_tokens,
        "picks-by-the-mean": chosen_by_the_mean,
        "probability-as-score": multiplied_probability,
        "negated-score": cost_of_the_cheapest,
        "loses-finished-ones": finished_are_forgotten,
        "loses-cut-ones": cut_ones_do_not_count,
        "first-end-wins": returns_at_the_first_end,
        "goes-on-after-the-end": extended_past_the_end,
        "finished-ones-stay-in-the-beam": ended_ones_stay,
        "one-token-too-many": max_len_more,
        "kept-before-the-cut": sorted_out_before_the_cut,
        "more-than-there-are": topk_of_beam_size,
        "tokens-without-bos": without_the_beginning,
    },
    "is_token_mean": {
        "only-a-scalar": asks_for_an_axis,
        "nothing-is-padding": without_any_padding,
        "sentences-of-one-length": as_many_words_in_each,
        "all-words-equally-likely": zeros_for_logits,
        "padding-is-always-zero": pads_with_zero,
        "small-logits": ordinary_logits,
        "the-sum-for-the-mean": compares_with_the_sum,
        "either-sign": takes_the_size,
        "the-mean-of-the-sentences": sentences_all_alike,
        "stops-instead": testing_of_torch,
    },
}
UNNAMED = {
    "is_token_mean": {
        "right-to-the-last-bit": (compares_bits, "whom it accuses depends on the batch, and on the style of the sum"),
    },
}
