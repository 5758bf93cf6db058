"""Byte pairs: a text of characters as tokens, each of which stands for one or more of them."""

import torch

LETTERS = "\n" + "".join(map(chr, range(32, 127)))  # all others become question marks


def numbers(text):
    """A string of tokens, token i written as chr(i), as a tensor of their numbers (T,)."""
    return torch.frombuffer(bytearray(text.encode("utf-32-le")), dtype=torch.int32).long()


def learn_pairs(text, V):
    """Join the most frequent pair until there are V tokens."""
    text, pairs = "".join(chr(LETTERS.index(c)) for c in text), []
    for new in range(len(LETTERS), V):
        ids = numbers(text)
        counts = torch.bincount(ids[:-1] * V + ids[1:])
        first, second = divmod(counts.argmax().item(), V)
        pairs.append(chr(first) + chr(second))
        text = text.replace(pairs[-1], chr(new))
    return pairs


def written_in(pairs, text):
    """A text in tokens, by the same joins in the same order."""
    text = "".join(chr(LETTERS.index(c)) for c in text)
    for new, pair in enumerate(pairs, len(LETTERS)):
        text = text.replace(pair, chr(new))
    return text
