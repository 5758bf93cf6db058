"""Language models: what comes next, from counting pairs to sampling from a Transformer."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.fused import CausalAttention
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask
from course_lib.positions import cached_positions


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
    """One block of a decoder-only Transformer: a token looks back, then thinks for itself.

    d_model:      width of inputs and outputs
    num_heads:    heads of the attention
    d_ff:         width of the hidden layer of the feed-forward network
    dropout:      dropout probability: after each sublayer, and inside the feed-forward
                  network
    attention:    the class of the attention, so that it may be your own
    feed_forward: the class of the feed-forward network, likewise

    Radford et al. 2019 ("GPT-2"), section 2.3: norms come before the sublayers
    ("pre-norm").
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, attention=CausalAttention, feed_forward=FeedForward):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attn = attention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = feed_forward(d_model, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        """Attention, then feed-forward; each is asked with a norm of x, and its answer is added to x itself.

        x:       (B, T, d_model)
        mask:    (T, T) bool, True = may attend; None where the attention is one that
                 looks back by itself
        returns: (B, T, d_model)
        """
        h = self.norm1(x)  # (B, T, d_model)
        x = x + self.dropout(self.attn(h, h, h, mask))
        return x + self.dropout(self.ff(self.norm2(x)))


class LanguageModel(nn.Module):
    """A decoder-only Transformer: reads tokens, and says at every position what should come next.

    vocab_size: V
    num_layers: number of blocks; the other arguments are those of a Block

    Radford et al. 2018 ("GPT"), section 3.1, with pre-norm and sinusoids, so that no
    table limits the length.
    """

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, dropout=0.0, **parts):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, d_ff, dropout, **parts) for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def embed(self, idx, start=0):
        """Token numbers to vectors that also say where they stand.

        idx:     (B, T) integers
        start:   the position of the first one
        returns: (B, T, d_model)
        """
        x = self.table(idx)  # (B, T, d_model)
        positions = cached_positions(start + idx.shape[1], x.shape[-1], x.dtype, x.device)[start:]  # (T, d_model)
        return self.dropout(x + positions)

    def predict(self, x):
        """Read the next token off the vectors after the last block, or between two blocks.

        x:       (B, T, d_model)
        returns: (B, T, V) logits
        """
        return self.out(self.norm(x))

    def forward(self, idx):
        """Logits of the next token at every position; a position sees itself and what is before it.

        idx:     (B, T) integers, any T
        returns: (B, T, V)
        """
        x, mask = self.embed(idx), self.mask(idx)
        for block in self.blocks:
            x = block(x, mask)
        return self.predict(x)  # (B, T, V)

    def mask(self, idx):
        """Who may see whom: itself and what is before it, (T, T) bool; None where the attention knows it by itself."""
        if all(isinstance(block.attn, CausalAttention) for block in self.blocks):
            return None
        return causal_mask(idx.shape[1]).to(idx.device)


class WithCache(nn.Module):
    """A LanguageModel that keeps the keys and values of all it has read, and reads only what is new.

    model: in eval mode: nothing is dropped out here

    Called as the model is, so that `generate` need not know of it. A context that does
    not begin with the last one is read from its beginning: another text, or a window
    that has moved, in which every token has a new position.
    """

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.seen = None

    @torch.no_grad()
    def forward(self, context):
        """Logits of the next token after each new token of a context.

        context: (B, T) integers
        returns: (B, t, V) for the last t tokens, those that are new; its last position
                 is the last of the context
        """
        old = self._known(context)
        x = self.model.embed(context[:, old:], start=old)  # (B, t, d_model)
        mask = causal_mask(context.shape[1])[old:].to(context.device)  # (t, T)
        for i, block in enumerate(self.model.blocks):
            x = x + self._attend(i, block.attn, block.norm1(x), mask)
            x = x + block.ff(block.norm2(x))
        self.seen = context.clone()
        return self.model.predict(x)

    def _known(self, context):
        """How many tokens at the beginning of a context have been read; where it is another text, forget them."""
        old = 0 if self.seen is None else self.seen.shape[1]
        if old < context.shape[1] and old and torch.equal(self.seen, context[:, :old]):
            return old
        self.kept = [None] * len(self.model.blocks)
        return 0

    def _attend(self, i, attn, x, mask):
        """The attention of block i: queries of the new tokens alone, keys and values of all."""
        q, k, v = (W(x).unflatten(-1, (attn.num_heads, -1)).transpose(1, 2) for W in (attn.W_q, attn.W_k, attn.W_v))
        if self.kept[i] is not None:
            k, v = (torch.cat(both, dim=2) for both in zip(self.kept[i], (k, v), strict=True))  # (B, H, T, d_head)
        self.kept[i] = k, v
        out = scaled_dot_product_attention(q, k, v, mask)  # (B, H, t, d_head)
        return attn.W_o(out.transpose(1, 2).flatten(2))  # (B, t, d_model)
