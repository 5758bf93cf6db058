"""Lesson 11b: BLEU by hand, for whole tests of one reference each."""

import math
from collections import Counter


def ngrams(words, n):
    """How often each run of n words occurs: a Counter."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def clipped_hits(said, reference, n):
    """How many n-grams of a translation stand in its reference, each at most as often as it stands there."""
    return (ngrams(said, n) & ngrams(reference, n)).total()


def corpus_bleu(said, references):
    """BLEU of many translations, lists of words, 0 to 100: hits and lengths are added up over all of them.

    Papineni et al. 2002, https://aclanthology.org/P02-1040, section 2.3
    """
    pairs, logs = list(zip(said, references, strict=True)), []
    for n in (1, 2, 3, 4):
        hits = sum(clipped_hits(words, reference, n) for words, reference in pairs)
        tried = sum(max(len(words) - n + 1, 0) for words in said)
        if not hits:
            return 0.0
        logs.append(math.log(hits / tried))
    c, r = (sum(map(len, sentences)) for sentences in (said, references))
    return 100 * min(1.0, math.exp(1 - r / c)) * math.exp(sum(logs) / 4)
