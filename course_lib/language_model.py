"""Language models: what comes next, from counting pairs to sampling from a Transformer."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.fused import CausalAttention
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask
from course_lib.positions import cached_positions, sinusoidal_positions


def shift_labels(ids):
    """Make inputs and targets of next-token prediction out of the same tokens.

    ids:     (B, T) integers
    returns: inputs (B, T - 1) and targets (B, T - 1): targets[:, t] is the token that
             follows inputs[:, t]
    """
    return ids[:, :-1], ids[:, 1:]


def bigram_probs(ids, vocab_size, alpha=0.0):
    """Count which token follows which, and make probabilities of the counts.

    ids:        (T,) integers below vocab_size
    vocab_size: V
    alpha:      added to every count, so that nothing is impossible
    returns:    (V, V) float, row i: the probabilities of what follows token i,
                in sum one; a row without any count is uniform, 1 / V
    """
    pairs = ids[:-1] * vocab_size + ids[1:]  # (T - 1,), each pair as one number
    counts = (
        torch.bincount(pairs, minlength=vocab_size**2)
        .unflatten(0, (vocab_size, vocab_size))
        + alpha
    )  # (V, V)
    total = counts.sum(dim=1, keepdim=True)  # (V, 1)
    return torch.where(total > 0, counts / total.clamp(min=1e-30), 1 / vocab_size)


class BigramLM(nn.Module):
    """A language model that sees one token, and learns a table of what follows each.

    vocab_size: V
    """

    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        """Logits of the next token everywhere, and the loss where targets are given.

        idx:     (B, T) integers
        targets: (B, T) integers, the token after each of idx;
                 None where they are not known
        returns: logits (B, T, V), and the mean cross-entropy as a scalar, or None
        """
        logits = self.table(idx)  # (B, T, V)
        loss = (
            None
            if targets is None
            else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        )
        return logits, loss


def perplexity(logits, targets, pad_id=None):
    """Among how many equally likely tokens would a choice be as hard as here?

    logits:  (B, T, V)
    targets: (B, T) integers, the token that really came at each position
    pad_id:  a target that does not count, also one outside the vocabulary;
             None: all count. At least one counts.
    returns: scalar, exp of the mean of -log softmax(logits)[target]; for a model that
             knows nothing, V; it is stable for large logits

    Jelinek et al. 1977, J. Acoust. Soc. Am. 62, S63.
    """
    logp = torch.log_softmax(logits, dim=-1)  # (B, T, V)
    real = torch.ones_like(targets, dtype=torch.bool)  # (B, T)
    if pad_id is not None:
        real = targets != pad_id
    index = targets.masked_fill(~real, 0)[..., None]  # (B, T, 1)
    surprise = -logp.gather(-1, index).squeeze(-1)  # (B, T)
    return surprise[real].mean().exp()


def get_batch(data, block_size, batch_size):
    """Draw pieces of a long text, each with its next tokens as targets.

    data:       (N,) integers
    block_size: tokens per piece
    batch_size: number of pieces, drawn with replacement from all N - block_size
                positions where one can begin
    returns:    x (batch_size, block_size), and y, the same moved on by one token;
                drawn by torch's global random state
    """
    starts = torch.randint(len(data) - block_size, (batch_size, 1))  # (B, 1)
    places = (starts + torch.arange(block_size)).to(data.device)  # (B, block_size)
    return data[places], data[places + 1]


def next_token_probs(logits, temperature=1.0, top_k=None):
    """Turn logits into the probabilities that the next token is drawn from.

    logits:      (B, V)
    temperature: above 0; below 1 it sharpens, above 1 it flattens
    top_k:       only the top_k largest logits of each row keep a probability;
                 None, or V and more, keeps all
    returns:     (B, V)  softmax(logits / temperature), every row in sum one
    """
    if top_k is not None and top_k < logits.shape[-1]:
        smallest = logits.topk(top_k, dim=-1).values[:, -1:]  # (B, 1), the last kept
        logits = logits.masked_fill(logits < smallest, float("-inf"))
    return torch.softmax(logits / temperature, dim=-1)


def top_p_probs(logits, p):
    """Keep the most probable tokens until they hold a share p, and drop the tail.

    logits:  (B, V)
    p:       above 0, at most 1
    returns: (B, V), every row in sum one: by falling probability, the shortest
             beginning whose sum is at least p, renormalised; all others are exactly 0

    Holtzman et al. 2020, arXiv:1904.09751, equations 2 and 3 ("nucleus sampling").
    """
    probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)
    before = probs.cumsum(dim=-1) - probs  # (B, V), what the more probable ones hold
    tail = (before >= p) & (p < 1)  # where all are kept, rounding drops none
    kept = probs.masked_fill(tail, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)  # in the order of the logits


@torch.no_grad()
def generate(model, idx, max_new_tokens, block_size):
    """Let a language model write on, one drawn token at a time.

    model:          model(context) -> logits (B, t, V); left in the mode it was in
    idx:            (B, T) integers, how the texts begin
    max_new_tokens: how many tokens each text grows by
    block_size:     the longest context: no more than the last block_size tokens
                    go to the model
    returns:        (B, T + max_new_tokens); each token is drawn from the softmax of the
                    logits at the last position, by torch's global random state
    """
    for _ in range(max_new_tokens):
        probs = torch.softmax(model(idx[:, -block_size:])[:, -1], dim=-1)  # (B, V)
        idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)  # (B, t + 1)
    return idx


class Block(nn.Module):
    """A decoder-only Transformer's block: a token looks back, then thinks for itself.

    d_model:   width of inputs and outputs
    num_heads: heads of the attention
    d_ff:      width of the hidden layer of the feed-forward network
    dropout:   dropout probability: after each sublayer, and inside the feed-forward
               network

    Radford et al. 2019 ("GPT-2"), section 2.3: norms come before the sublayers
    ("pre-norm").
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        """Each sublayer reads a norm of x; what it says is added to x itself.

        x:       (B, T, d_model)
        mask:    bool (T, T), (B, T, T) or (B, 1, T), True = may attend, or None
        returns: (B, T, d_model): x + dropout(self_attn(norm1(x))), where queries, keys
                 and values come from the same norm1(x); then x + dropout(ff(norm2(x)))
        """
        n = self.norm1(x)  # (B, T, d_model)
        x = x + self.dropout(self.self_attn(n, n, n, mask))
        return x + self.dropout(self.ff(self.norm2(x)))  # (B, T, d_model)


class LanguageModel(nn.Module):
    """A decoder-only Transformer: after every token it says what should come next.

    vocab_size: V
    num_layers: number of blocks; the other arguments are those of a Block

    Radford et al. 2018 ("GPT"), section 3.1, with pre-norm and sinusoids, so that no
    table limits the length.
    """

    def __init__(
        self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0
    ):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            Block(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        """Logits of the next token at every position, blind to what comes later.

        ids:     (B, T) integers, for any T
        returns: (B, T, V) logits: out(norm(what the last block gives)), where the first
                 block reads dropout(table(ids) + sinusoidal positions); the table is
                 not multiplied by anything
        """
        x = self.table(ids)  # (B, T, d_model)
        positions = sinusoidal_positions(*x.shape[1:]).to(x)  # (T, d_model)
        x = self.dropout(x + positions)
        mask = causal_mask(ids.shape[1]).to(ids.device)
        for block in self.blocks:
            x = block(x, mask)  # (B, T, d_model)
        return self.out(self.norm(x))  # (B, T, V)


class LongLanguageModel(LanguageModel):
    """The same language model for long texts: it keeps no matrix of T times T, not even of its mask."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__(vocab_size, d_model, num_heads, d_ff, num_layers, dropout)
        for block in self.blocks:
            block.self_attn = CausalAttention(d_model, num_heads)

    # LanguageModel.forward over again but for its mask: that one is an exercise, which a learner writes in one piece.
    def forward(self, ids):
        """As in LanguageModel; the attention looks back by itself."""
        x = self.table(ids)  # (B, T, d_model)
        x = self.dropout(x + cached_positions(*x.shape[1:], x.dtype, x.device))
        for block in self.blocks:
            x = block(x, None)  # (B, T, d_model)
        return self.out(self.norm(x))  # (B, T, V)
