"""Right answers of lesson 11 in other people's styles. Modules keep the given parts; what they do with them differs."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward
from course_lib.positions import sinusoidal_positions
from course_lib.transformer import EncoderLayer


class Given(nn.Module):
    """The constructor of the stub of DecoderLayer."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)


class StepByStep(Given):
    """A name for every step, and keyword arguments."""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        looked_back = self.self_attn(query=x, key=x, value=x, mask=tgt_mask)
        after_looking_back = self.norm1(x + self.dropout(looked_back))
        read = self.cross_attn(query=after_looking_back, key=memory, value=memory, mask=memory_mask)
        after_reading = self.norm2(after_looking_back + self.dropout(read))
        thought = self.ff(after_reading)
        return self.norm3(after_reading + self.dropout(thought))


class SentenceBySentence(Given):
    """A slow loop over the batch, with the feed-forward network one token at a time."""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        def of(mask, b):
            return mask[b : b + 1] if mask is not None and mask.dim() == 3 else mask

        sentences = []
        for b in range(len(x)):
            one, source = x[b : b + 1], memory[b : b + 1]
            one = self.norm1(one + self.dropout(self.self_attn(one, one, one, of(tgt_mask, b))))
            one = self.norm2(one + self.dropout(self.cross_attn(one, source, source, of(memory_mask, b))))[0]
            sentences.append(torch.stack([self.norm3(token + self.dropout(self.ff(token))) for token in one]))
        return torch.stack(sentences)


class ListOfSublayers(Given):
    """The three sublayers in one loop."""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        sublayers = [(lambda y: self.self_attn(y, y, y, tgt_mask), self.norm1),
                     (lambda y: self.cross_attn(y, memory, memory, memory_mask), self.norm2), (self.ff, self.norm3)]
        for sublayer, norm in sublayers:
            x = norm(x + self.dropout(sublayer(x)))
        return x


class WordByWord(Given):
    """One target token at a time asks the tokens it may see."""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        def rows(mask, t):
            return None if mask is None else mask if mask.dim() == 3 and mask.shape[1] == 1 else mask[..., t : t + 1, :]

        out = []
        for t in range(x.shape[1]):
            now = x[:, t : t + 1]
            now = self.norm1(now + self.dropout(self.self_attn(now, x, x, rows(tgt_mask, t))))
            now = self.norm2(now + self.dropout(self.cross_attn(now, memory, memory, rows(memory_mask, t))))
            out.append(self.norm3(now + self.dropout(self.ff(now))))
        return torch.cat(out, 1)


def packed(attention):
    return {"in_proj_weight": torch.cat([attention.W_q.weight, attention.W_k.weight, attention.W_v.weight]),
            "in_proj_bias": torch.cat([attention.W_q.bias, attention.W_k.bias, attention.W_v.bias]),
            "out_proj.weight": attention.W_o.weight, "out_proj.bias": attention.W_o.bias}


class BuiltIn(Given):
    """torch's own layer, with our weights handed in at every call."""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        heads = self.self_attn.num_heads
        layer = nn.TransformerDecoderLayer(x.shape[-1], heads, len(self.ff.linear1.bias), self.dropout.p,
                                           batch_first=True, dtype=x.dtype)
        layer.self_attn.dropout = layer.multihead_attn.dropout = 0.0  # the course drops nothing within an attention
        own = {f"self_attn.{k}": v for k, v in packed(self.self_attn).items()}
        own |= {f"multihead_attn.{k}": v for k, v in packed(self.cross_attn).items()}
        own |= {f"{name}.{of}": getattr(part, of) for of in ("weight", "bias") for name, part in (
            ("linear1", self.ff.linear1), ("linear2", self.ff.linear2), ("norm1", self.norm1), ("norm2", self.norm2),
            ("norm3", self.norm3))}
        masks = []
        for mask, keys in ((tgt_mask, x), (memory_mask, memory)):
            if mask is not None:
                seen = mask.expand(len(x), x.shape[1], keys.shape[1])
                seen = seen | ~seen.any(-1, keepdim=True)  # a row that sees nothing may see anything: no NaN
                mask = ~seen.repeat_interleave(heads, 0)
            masks.append(mask)
        return torch.func.functional_call(layer.train(self.training), own, (x, memory, *masks))


class GivenWhole(nn.Module):
    """The constructor of the stub of Transformer."""

    def __init__(self, src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, dropout=0.0, pad_id=0):
        super().__init__()
        self.d_model, self.pad_id = d_model, pad_id
        self.src_embed, self.tgt_embed = nn.Embedding(src_vocab, d_model), nn.Embedding(tgt_vocab, d_model)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.decoder = nn.ModuleList(StepByStep(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.out = nn.Linear(d_model, tgt_vocab)
        self.dropout = nn.Dropout(dropout)


class PositionsByLoop(GivenWhole):
    """Sines and cosines one by one, in double precision, and no method but forward."""

    def forward(self, src, tgt):
        def waves(T, like):
            table = [[math.sin(t / 10000 ** (i / self.d_model)) if i % 2 == 0
                      else math.cos(t / 10000 ** ((i - 1) / self.d_model)) for i in range(self.d_model)]
                     for t in range(T)]
            return torch.tensor(table, dtype=like.dtype, device=like.device)

        x, y = self.src_embed(src) * math.sqrt(self.d_model), self.tgt_embed(tgt) * math.sqrt(self.d_model)
        x, y = self.dropout(x + waves(src.size(1), x)), self.dropout(y + waves(tgt.size(1), y))
        T = tgt.size(1)
        real_src = src.ne(self.pad_id).unsqueeze(1)
        seen = tgt.ne(self.pad_id).unsqueeze(1) & torch.ones(T, T, dtype=torch.bool, device=tgt.device).tril()
        for layer in self.encoder:
            x = layer(x, real_src)
        for layer in self.decoder:
            y = layer(y, x, seen, real_src)
        return self.out(y)


class OneHot(GivenWhole):
    """Embeddings as products with one-hot rows, and the output layer as an einsum."""

    def vectors(self, ids, table):
        x = F.one_hot(ids, table.num_embeddings).to(table.weight) @ table.weight * self.d_model**0.5
        t = torch.arange(ids.shape[1], device=ids.device).to(x)[:, None]
        angle = t / 10000 ** (torch.arange(0, self.d_model, 2, device=ids.device).to(x) / self.d_model)
        where = torch.empty(ids.shape[1], self.d_model).to(x)
        where[:, 0::2], where[:, 1::2] = angle.sin(), angle.cos()
        return F.dropout(x + where, self.dropout.p, self.training)

    def forward(self, src, tgt):
        i = torch.arange(tgt.shape[1], device=tgt.device)
        src_mask, tgt_mask = (src != self.pad_id)[:, None], (tgt != self.pad_id)[:, None] & (i[:, None] >= i)
        memory, x = self.vectors(src, self.src_embed), self.vectors(tgt, self.tgt_embed)
        for n in range(len(self.encoder)):
            memory = self.encoder[n](memory, src_mask)
        for n in range(len(self.decoder)):
            x = self.decoder[n](x, memory, tgt_mask=tgt_mask, memory_mask=src_mask)
        return torch.einsum("btd,vd->btv", x, self.out.weight) + self.out.bias


class PrefixByPrefix(PositionsByLoop):
    """Every place is asked for by itself, with the target cut behind it: there is no future to mask."""

    def forward(self, src, tgt):
        whole = super().forward
        return torch.cat([whole(src, tgt[:, : t + 1])[:, -1:] for t in range(tgt.shape[1])], 1)


class InTwoMethods(GivenWhole):
    """Encode, then decode; masks spelled out for every query; the course's own positions."""

    def enter(self, ids, table):
        x = table(ids).mul(self.d_model**0.5)
        return self.dropout(x + sinusoidal_positions(ids.shape[1], self.d_model).to(x))

    def encode(self, src):
        x = self.enter(src, self.src_embed)
        seen = (src != self.pad_id)[:, None].expand(-1, src.shape[1], -1)  # (B, Ts, Ts)
        for layer in self.encoder:
            x = layer(x, seen)
        return x

    def decode(self, memory, src, tgt):
        x, B, T = self.enter(tgt, self.tgt_embed), *tgt.shape
        seen = torch.ones(B, T, T, dtype=torch.bool, device=tgt.device).tril() & (tgt != self.pad_id)[:, None]
        source = (src != self.pad_id)[:, None].expand(-1, T, -1)  # (B, Tt, Ts)
        for layer in self.decoder:
            x = layer(x, memory, seen, source)
        return x

    def forward(self, src, tgt):
        return self.out(self.decode(self.encode(src), src, tgt))


class SentenceAfterSentence(PositionsByLoop):
    """A loop over the batch. The padding stays where it is."""

    def forward(self, src, tgt):
        whole = super().forward
        return torch.cat([whole(src[b : b + 1], tgt[b : b + 1]) for b in range(len(src))])


def stacked(labels, bos_id):
    return torch.stack([torch.cat([row.new_tensor([bos_id]), row[:-1]]) for row in labels])


def shifted_by_loop(labels, bos_id):
    out = labels.clone()
    for t in range(labels.shape[1] - 1, 0, -1):
        out[:, t] = labels[:, t - 1]
    out[:, 0] = bos_id
    return out


def rolled(labels, bos_id):
    out = torch.roll(labels, 1, dims=1)
    out[:, 0] = bos_id
    return out


def padded(labels, bos_id):
    return F.pad(labels, (1, 0), value=bos_id)[:, :-1]


def filled(labels, bos_id):
    out = torch.full_like(labels, bos_id)
    out[:, 1:] = labels[:, :-1]
    return out


def loss_by_hand(logits, targets, pad_id=0):
    log_p = logits - logits.logsumexp(-1, keepdim=True)
    picked = log_p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    real = targets != pad_id
    return -(picked * real).sum() / real.sum()


def loss_of_those_that_count(logits, targets, pad_id=0):
    real = targets != pad_id
    return F.cross_entropy(logits[real], targets[real])


def loss_token_by_token(logits, targets, pad_id=0):
    total, count = 0.0, 0
    for b in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            if targets[b, t].item() != pad_id:
                total, count = total - F.log_softmax(logits[b, t], dim=-1)[targets[b, t]], count + 1
    return total / count


def loss_one_hot(logits, targets, pad_id=0):
    real = (targets != pad_id).to(logits.dtype)
    one_hot = F.one_hot(targets, logits.shape[-1]).to(logits.dtype) * real[..., None]
    return -torch.einsum("btv,btv->", one_hot, torch.log_softmax(logits, -1)) / real.sum()


def loss_along_axis_one(logits, targets, pad_id=0):
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=pad_id, reduction="sum") / (
        targets != pad_id).sum()


@torch.no_grad()
def greedy_in_a_table(model, src, bos_id, eos_id, max_len, pad_id=0):
    """A table of padding that is filled column by column."""
    ys = src.new_full((src.shape[0], max_len), pad_id)
    ys[:, 0] = bos_id
    alive = torch.ones(src.shape[0], dtype=torch.bool, device=src.device)
    t = 1
    while t < max_len and alive.any():
        best = model(src, ys[:, :t])[:, t - 1].max(-1).indices
        ys[:, t] = torch.where(alive, best, ys[:, t])
        alive = alive & (ys[:, t] != eos_id)
        t += 1
    return ys[:, :t]


def greedy_one_sentence_at_a_time(model, src, bos_id, eos_id, max_len, pad_id=0):
    rows = []
    for one in src.split(1):
        ys = one.new_full((1, 1), bos_id)
        for _ in range(max_len - 1):
            ys = torch.cat([ys, model(one, ys)[:, -1].argmax(-1, keepdim=True)], -1)
            if ys[0, -1] == eos_id:
                break
        rows.append(ys[0])
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)


def greedy_with_a_mask(model, src, bos_id, eos_id, max_len, pad_id=0):
    ys = torch.full((len(src), 1), bos_id, dtype=torch.long, device=src.device)
    open_ = torch.ones(len(src), dtype=torch.bool, device=src.device)
    while open_.any() and ys.shape[1] < max_len:
        best = model(src, ys)[:, -1].argmax(dim=1)
        ys = torch.cat([ys, torch.where(open_, best, pad_id)[:, None]], dim=1)
        open_ = open_ & (best != eos_id)
    return ys


def greedy_with_lists(model, src, bos_id, eos_id, max_len, pad_id=0):
    written, done = [[bos_id] for _ in range(len(src))], [False] * len(src)
    for _ in range(max_len - 1):
        if all(done):
            break
        best = model(src, torch.tensor(written, device=src.device))[:, -1].softmax(-1).argmax(-1).tolist()
        for b, token in enumerate(best):
            written[b].append(pad_id if done[b] else token)
            done[b] = done[b] or token == eos_id
    return torch.tensor(written, device=src.device)


def greedy_mended_afterwards(model, src, bos_id, eos_id, max_len, pad_id=0):
    """Write on for everybody, then put padding behind each first eos."""
    ys = torch.full((len(src), 1), bos_id, device=src.device)
    while ys.shape[1] < max_len and not (ys[:, 1:] == eos_id).any(1).all():
        ys = torch.cat([ys, model(src, ys)[:, -1:].argmax(-1)], 1)
    ended = (ys == eos_id).long().cumsum(1) - (ys == eos_id).long() > 0
    return ys.masked_fill(ended, pad_id)


@torch.inference_mode()
def greedy_as_with_a_real_model(model, src, bos_id, eos_id, max_len, pad_id=0):
    """In eval mode, on the device of the model's weights."""
    model.eval()
    device = next(model.parameters()).device
    ys = torch.full((len(src), 1), bos_id, device=device)
    ended = torch.zeros(len(src), 1, dtype=torch.bool, device=device)
    while ys.shape[1] < max_len and not ended.all():
        best = model(src.to(device), ys)[:, -1:].argmax(-1).masked_fill(ended, pad_id)
        ys, ended = torch.cat([ys, best], 1), ended | (best == eos_id)
    return ys


RIGHT_ANSWERS = {
    "DecoderLayer": {
        "step by step": StepByStep,
        "sentence by sentence": SentenceBySentence,
        "a list of sublayers": ListOfSublayers,
        "word by word": WordByWord,
        "built-in": BuiltIn,
    },
    "Transformer": {
        "positions by a loop": PositionsByLoop,
        "one-hot rows": OneHot,
        "prefix by prefix": PrefixByPrefix,
        "in two methods": InTwoMethods,
        "sentence after sentence": SentenceAfterSentence,
    },
    "shift_right": {"a loop": shifted_by_loop, "rolled": rolled, "padded": padded, "filled": filled,
                    "stacked": stacked},
    "masked_cross_entropy": {
        "by hand": loss_by_hand,
        "of those that count": loss_of_those_that_count,
        "token by token": loss_token_by_token,
        "one-hot": loss_one_hot,
        "classes on axis one": loss_along_axis_one,
    },
    "greedy_decode": {
        "in a table": greedy_in_a_table,
        "one sentence at a time": greedy_one_sentence_at_a_time,
        "with lists": greedy_with_lists,
        "mended afterwards": greedy_mended_afterwards,
        "with a mask": greedy_with_a_mask,
        "as with a real model": greedy_as_with_a_real_model,
    },
}
