"""Lesson 12b: what a language model writes when its tokens are drawn in one way or another."""

import torch
from torch import nn


class Tuned(nn.Module):
    """A language model whose next token is drawn in another way, for a `generate` that draws from its logits.

    model: ids (B, T) -> logits (B, T, V)
    how:   how(logits (B, V)) -> probabilities (B, V)
    """

    def __init__(self, model, how):
        super().__init__()
        self.model, self.how = model, how

    def forward(self, context):
        """(B, T) -> (B, 1, V): the logarithm of a probability is as good a logit as any."""
        return self.how(self.model(context)[:, -1]).log()[:, None]


def unknown(texts, known):
    """The share of words that are not among the known ones; the first and the last word of a text may be cut off."""
    words = [word for text in texts for word in text.split()[1:-1]]
    return sum(word not in known for word in words) / len(words)


def said_before(rows, n=8):
    """The share of pieces of n tokens that stood in the same row before: (B, T) -> a number from 0 to 1."""
    again = total = 0
    for row in rows.tolist():
        seen = set()
        for t in range(len(row) - n + 1):
            piece = tuple(row[t : t + n])
            again, total = again + (piece in seen), total + 1
            seen.add(piece)
    return again / total


@torch.no_grad()
def frames(model, contexts, encode, spelled, temperatures, cuts, show=12):
    """What the instrument "sampling" is given.

    contexts: beginnings of a text
    encode:   encode(text) -> (T,) token numbers
    spelled:  what each token stands for
    cuts:     {name: cut(logits (B, V)) -> probabilities (B, V)}, of logits that have been divided by the temperature
    """
    found = {}
    for text in contexts:
        logits = model(encode(text)[None])[:, -1]  # (1, V)
        order = logits[0].argsort(descending=True)[:show]
        probs = torch.stack([torch.stack([cut(logits / t)[0] for cut in cuts.values()]) for t in temperatures])
        names = [spelled[i].replace(" ", "␣").replace("\n", "↵") for i in order]
        found[f"{text}…"] = names, probs[..., order], (probs > 0).sum(-1)
    return {"contexts": found, "temperatures": temperatures, "cuts": list(cuts)}
