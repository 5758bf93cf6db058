"""Mistakes of lesson 12's perplexity, block, language model and nucleus, as other people write them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.language_model import Block as CoursesBlock
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_positions

# perplexity


def flat_loss(logits, targets, pad_id=None, **more):
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1),
                           ignore_index=-100 if pad_id is None else pad_id, **more)


def ppl_is_the_loss(logits, targets, pad_id=None):
    return flat_loss(logits, targets, pad_id)


def ppl_base_two(logits, targets, pad_id=None):
    return torch.pow(torch.tensor(2.0, dtype=logits.dtype), flat_loss(logits, targets, pad_id))


def ppl_of_bits_to_e(logits, targets, pad_id=None):
    return torch.exp(flat_loss(logits, targets, pad_id) / math.log(2))


def ppl_of_the_sum(logits, targets, pad_id=None):
    return torch.exp(flat_loss(logits, targets, pad_id, reduction="sum"))


def ppl_each(logits, targets, pad_id=None):
    return torch.exp(flat_loss(logits, targets, pad_id, reduction="none")).view_as(targets)


def ppl_mean_of_exp(logits, targets, pad_id=None):
    each = flat_loss(logits, targets, pad_id, reduction="none")
    if pad_id is not None:
        each = each[targets.reshape(-1) != pad_id]
    return each.exp().mean()


def ppl_negative(logits, targets, pad_id=None):
    return torch.exp(-flat_loss(logits, targets, pad_id))


def ppl_pads_too(logits, targets, pad_id=None):
    safe = targets.clamp(0, logits.size(-1) - 1)
    return torch.exp(flat_loss(logits, safe))


def ppl_over_all_places(logits, targets, pad_id=None):
    return torch.exp(flat_loss(logits, targets, pad_id, reduction="sum") / targets.numel())


def ppl_zero_is_padding(logits, targets, pad_id=0):
    return torch.exp(flat_loss(logits, targets, 0 if pad_id is None else pad_id))


def ppl_of_probabilities(logits, targets, pad_id=None):
    return torch.exp(flat_loss(logits.softmax(-1), targets, pad_id))


def ppl_shifted_again(logits, targets, pad_id=None):
    return torch.exp(flat_loss(logits[:, :-1], targets[:, 1:], pad_id))


def ppl_by_text(logits, targets, pad_id=None):
    each = []
    for text, right in zip(logits, targets, strict=True):
        keep = right != pad_id if pad_id is not None else torch.ones_like(right).bool()
        if keep.any():
            each.append(F.cross_entropy(text[keep], right[keep]).exp())
    return sum(each) / len(each)


# top_p_probs


def put_back(kept, order):
    out = torch.empty_like(kept)
    for b in range(len(kept)):
        out[b, order[b]] = kept[b]
    return out


def nucleus(logits, keep, renormalise=True):
    """keep(sorted probabilities, their running sum) -> which stay."""
    p, order = torch.sort(F.softmax(logits, -1), dim=-1, descending=True)
    kept = p * keep(p, p.cumsum(-1)).to(p)
    return put_back(kept / kept.sum(-1, keepdim=True) if renormalise else kept, order)


def top_p_stops_before(logits, p):
    return nucleus(logits, lambda probs, sums: sums < p)


def top_p_stops_before_but_one(logits, p):
    def keep(probs, sums):
        stay = sums <= p
        stay[:, 0] = True
        return stay
    return nucleus(logits, keep)


def top_p_compares_each(logits, p):
    probs = logits.softmax(-1)
    kept = torch.where(probs >= p, probs, torch.zeros_like(probs))
    return kept / kept.sum(-1, keepdim=True)


def top_p_is_min_p(logits, p):
    probs = logits.softmax(-1)
    kept = probs * (probs >= p * probs.max(-1, keepdim=True).values)
    return kept / kept.sum(-1, keepdim=True)


def top_p_forgets_to_share(logits, p):
    return nucleus(logits, lambda probs, sums: (sums - probs < p) | (p == 1), renormalise=False)


def top_p_left_sorted(logits, p):
    probs = F.softmax(logits, -1).sort(-1, descending=True).values
    kept = torch.where((probs.cumsum(-1) - probs < p) | (p == 1), probs, 0.0)
    return kept / kept.sum(-1, keepdim=True)


def top_p_counts_tokens(logits, p):
    k = max(1, round(p * logits.shape[-1]))
    return nucleus(logits, lambda probs, sums: torch.arange(probs.shape[-1]) < k)


def top_p_sums_from_below(logits, p):
    probs, order = torch.softmax(logits, -1).sort(-1)
    before = probs.cumsum(-1) - probs
    kept = torch.where((before < p) | (p >= 1), probs, torch.zeros_like(probs))
    return put_back(kept / kept.sum(-1, keepdim=True), order)


def top_p_keeps_everything(logits, p):
    return F.softmax(logits, dim=-1)


def top_p_is_greedy(logits, p):
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits)


# Block


class Given(nn.Module):
    """What the stub hands out."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class BlockOf2017(Given):
    """The encoder layer once more."""

    def forward(self, x, mask):
        attended = self.self_attn(x, x, x, mask)
        x = self.norm1(x + self.dropout(attended))
        return self.norm2(x + self.dropout(self.ff(x)))


class BlockAddsToTheNorm(Given):
    """x is overwritten by its norm, and then added to."""

    def forward(self, x, mask):
        x = self.norm1(x)
        x = x + self.dropout(self.self_attn(x, x, x, mask))
        x = self.norm2(x)
        return x + self.dropout(self.ff(x))


class BlockOneNorm(Given):
    """The same norm twice."""

    def forward(self, x, mask):
        for sublayer in (lambda n: self.self_attn(n, n, n, mask), self.ff):
            x = x + self.dropout(sublayer(self.norm1(x)))
        return x


class BlockWithoutSkips(Given):
    """A chain."""

    def forward(self, x, mask):
        n = self.norm1(x)
        y = self.dropout(self.self_attn(n, n, n, mask))
        return self.dropout(self.ff(self.norm2(y)))


class BlockSideBySide(Given):
    """GPT-J's way."""

    def forward(self, x, mask):
        n = self.norm1(x)
        a = self.dropout(self.self_attn(n, n, n, mask))
        f = self.dropout(self.ff(self.norm2(x)))
        return x + a + f


class BlockWithoutItsMask(Given):
    """A mask that is taken and never used."""

    def forward(self, x, mask=None):
        h = self.norm1(x)
        h = x + self.dropout(self.self_attn(h, h, h))
        return h + self.dropout(self.ff(self.norm2(h)))


class BlockMakesItsOwnMask(Given):
    """Always causal, whatever it is handed."""

    def forward(self, x, mask):
        n = self.norm1(x)
        x = x + self.dropout(self.self_attn(n, n, n, causal_mask(x.size(1)).to(x.device)))
        return x + self.dropout(self.ff(self.norm2(x)))


class BlockNormsQueriesAlone(Given):
    """Keys and values of x itself."""

    def forward(self, x, mask):
        x = x + self.dropout(self.self_attn(self.norm1(x), x, x, mask))
        return x + self.dropout(self.ff(self.norm2(x)))


class BlockDropsX(Given):
    """Dropout behind the sum."""

    def forward(self, x, mask):
        n = self.norm1(x)
        x = self.dropout(x + self.self_attn(n, n, n, mask))
        return self.dropout(x + self.ff(self.norm2(x)))


class BlockForgetsAttention(Given):
    """The second half begins with what came in."""

    def forward(self, x, mask):
        n = self.norm1(x)
        attended = x + self.dropout(self.self_attn(n, n, n, mask))
        thought = self.dropout(self.ff(self.norm2(attended)))
        return x + thought


# LanguageModel


class GivenModel(nn.Module):
    """What the stub hands out, and the steps that most answers share."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList([CoursesBlock(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def enter(self, ids):
        x = self.table(ids)
        return self.dropout(x + sinusoidal_positions(ids.shape[1], x.shape[-1]).to(x.device, x.dtype))

    def climb(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return x


class ModelTimesTheRoot(GivenModel):
    """As in 2017."""

    def forward(self, ids):
        d = self.table.embedding_dim
        x = self.dropout(self.table(ids) * math.sqrt(d) + sinusoidal_positions(ids.shape[1], d).to(self.table.weight))
        return self.out(self.norm(self.climb(x, causal_mask(ids.shape[1]).to(ids.device))))


class ModelWithoutPositions(GivenModel):
    """Tokens alone."""

    def forward(self, ids):
        x = self.climb(self.dropout(self.table(ids)), causal_mask(ids.shape[1]).to(ids.device))
        return self.out(self.norm(x))


class ModelSeesTheFuture(GivenModel):
    """No mask at all."""

    def forward(self, ids):
        return self.out(self.norm(self.climb(self.enter(ids), mask=None)))


class ModelMaskUpsideDown(GivenModel):
    """triu for tril."""

    def forward(self, ids):
        T = ids.shape[1]
        mask = torch.triu(torch.ones(T, T, device=ids.device)).bool()
        return self.out(self.norm(self.climb(self.enter(ids), mask)))


class ModelWithoutTheLastNorm(GivenModel):
    """Straight to the head."""

    def forward(self, ids):
        return self.out(self.climb(self.enter(ids), causal_mask(ids.shape[1]).to(ids.device)))


class ModelTied(GivenModel):
    """The table for a head."""

    def forward(self, ids):
        x = self.norm(self.climb(self.enter(ids), causal_mask(ids.shape[1]).to(ids.device)))
        return F.linear(x, self.table.weight)


class ModelGivesProbabilities(GivenModel):
    """A softmax at the end."""

    def forward(self, ids):
        x = self.climb(self.enter(ids), causal_mask(ids.shape[1]).to(ids.device))
        return F.softmax(self.out(self.norm(x)), dim=-1)


class ModelLastPlaceAlone(GivenModel):
    """For writing, not for training."""

    def forward(self, ids):
        x = self.climb(self.enter(ids), causal_mask(ids.shape[1]).to(ids.device))
        return self.out(self.norm(x[:, -1:]))


class ModelNormsEachTime(GivenModel):
    """The last norm in the loop."""

    def forward(self, ids):
        x, mask = self.enter(ids), causal_mask(ids.shape[1]).to(ids.device)
        for block in self.blocks:
            x = self.norm(block(x, mask))
        return self.out(x)


class ModelHidesZero(GivenModel):
    """Padding that nobody has."""

    def forward(self, ids):
        T = ids.shape[1]
        mask = causal_mask(T).to(ids.device)[None] & ids.ne(0)[:, None, :]
        return self.out(self.norm(self.climb(self.enter(ids), mask)))


class ModelBackwards(GivenModel):
    """The blocks from the top."""

    def forward(self, ids):
        x, mask = self.enter(ids), causal_mask(ids.shape[1]).to(ids.device)
        for block in self.blocks[::-1]:
            x = block(x, mask)
        return self.out(self.norm(x))


SPELLINGS = {
    "perplexity": {
        "no-exponential": ppl_is_the_loss, "power-of-two": ppl_base_two, "in-bits-and-e": ppl_of_bits_to_e,
        "sum-for-mean": ppl_of_the_sum, "mean-of-perplexities": ppl_mean_of_exp, "sign": ppl_negative,
        "padding-is-divided-by": ppl_over_all_places, "zero-is-always-padding": ppl_zero_is_padding,
        "softmax-twice": ppl_of_probabilities, "shifts-once-more": ppl_shifted_again, "mean-of-texts": ppl_by_text,
        "one-per-token": ppl_each, "padding-counts": ppl_pads_too,
    },
    "top_p_probs": {
        "one-too-few": top_p_stops_before, "one-too-few-but-the-first": top_p_stops_before_but_one,
        "threshold-on-each": top_p_compares_each, "threshold-beside-the-largest": top_p_is_min_p,
        "no-renormalisation": top_p_forgets_to_share, "stays-sorted": top_p_left_sorted,
        "share-of-the-vocabulary": top_p_counts_tokens, "least-probable-first": top_p_sums_from_below,
        "keeps-all": top_p_keeps_everything, "only-the-most-probable": top_p_is_greedy,
    },
    "Block": {
        "post-norm": BlockOf2017, "both-skips-from-the-norm": BlockAddsToTheNorm, "norm1-for-both": BlockOneNorm,
        "no-skips": BlockWithoutSkips, "side-by-side": BlockSideBySide, "ignores-the-mask": BlockWithoutItsMask,
        "always-causal": BlockMakesItsOwnMask, "queries-alone-are-normed": BlockNormsQueriesAlone,
        "drops-the-sum": BlockDropsX, "second-skip-from-the-input": BlockForgetsAttention,
    },
    "LanguageModel": {
        "scaled-embeddings": ModelTimesTheRoot, "no-positions": ModelWithoutPositions, "no-mask": ModelSeesTheFuture,
        "looks-ahead": ModelMaskUpsideDown, "no-last-norm": ModelWithoutTheLastNorm, "tied-head": ModelTied,
        "returns-probabilities": ModelGivesProbabilities, "last-position-only": ModelLastPlaceAlone,
        "norm-after-every-block": ModelNormsEachTime, "zero-is-padding": ModelHidesZero,
        "blocks-in-reverse": ModelBackwards,
    },
}
