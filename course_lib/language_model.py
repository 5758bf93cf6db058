"""Language models: what comes next, from counting pairs to sampling from a Transformer."""

import torch
import torch.nn.functional as F
from torch import nn


def shift_labels(ids):
    """Make inputs and targets of next-token prediction out of the same tokens.

    ids:     (B, T) integers
    returns: inputs (B, T - 1) and targets (B, T - 1): targets[:, t] is the token that follows inputs[:, t]
    """
    return ids[:, :-1], ids[:, 1:]


def bigram_probs(ids, vocab_size, alpha=0.0):
    """Count which token follows which, and make probabilities of the counts.

    ids:        (T,) integers below vocab_size
    vocab_size: V
    alpha:      added to every count, so that nothing is impossible
    returns:    (V, V) float, row i: the probabilities of what follows token i, in sum one; a row without any count
                is uniform, 1 / V
    """
    pairs = ids[:-1] * vocab_size + ids[1:]  # (T - 1,), each pair as one number
    counts = torch.bincount(pairs, minlength=vocab_size**2).unflatten(0, (vocab_size, vocab_size)) + alpha  # (V, V)
    total = counts.sum(dim=1, keepdim=True)  # (V, 1)
    return torch.where(total > 0, counts / total.clamp(min=1e-30), 1 / vocab_size)


class BigramLM(nn.Module):
    """A language model that sees one token: it looks its successors up in a table, and learns the table.

    vocab_size: V
    """

    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        """Logits of the next token at every place, and the loss where the right ones are given.

        idx:     (B, T) integers
        targets: (B, T) integers, the token after each of idx; None where they are not known
        returns: logits (B, T, V), and the mean cross-entropy as a scalar, or None
        """
        logits = self.table(idx)  # (B, T, V)
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def get_batch(data, block_size, batch_size):
    """Draw pieces of a long text, each with its next tokens as targets.

    data:       (N,) integers
    block_size: tokens a piece
    batch_size: number of pieces, drawn with replacement from all N - block_size places where one can begin
    returns:    x (batch_size, block_size), and y, the same moved on by one token; drawn by torch's global random state
    """
    starts = torch.randint(len(data) - block_size, (batch_size, 1))  # (B, 1)
    places = (starts + torch.arange(block_size)).to(data.device)  # (B, block_size)
    return data[places], data[places + 1]


def next_token_probs(logits, temperature=1.0, top_k=None):
    """Turn logits into the probabilities that the next token is drawn from.

    logits:      (B, V)
    temperature: above 0; below 1 it sharpens, above 1 it flattens
    top_k:       only the top_k largest logits of each row keep a probability; None, or V and more, keeps all
    returns:     (B, V)  softmax(logits / temperature), every row in sum one
    """
    if top_k is not None and top_k < logits.shape[-1]:
        smallest = logits.topk(top_k, dim=-1).values[:, -1:]  # (B, 1), the last that is kept
        logits = logits.masked_fill(logits < smallest, float("-inf"))
    return torch.softmax(logits / temperature, dim=-1)


@torch.no_grad()
def generate(model, idx, max_new_tokens, block_size):
    """Let a language model write on, one drawn token at a time.

    model:          model(context) -> logits (B, t, V); left in the mode it was in
    idx:            (B, T) integers, how the texts begin
    max_new_tokens: how many tokens each text grows by
    block_size:     the longest context: no more than the last block_size tokens go to the model
    returns:        (B, T + max_new_tokens); each token is drawn from the softmax of the logits at the last place,
                    by torch's global random state
    """
    for _ in range(max_new_tokens):
        probs = torch.softmax(model(idx[:, -block_size:])[:, -1], dim=-1)  # (B, V)
        idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)  # (B, t + 1)
    return idx
