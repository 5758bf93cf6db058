"""Lesson 07: the trained translator on sentences that were filled up with padding, hidden from it or not."""

import copy

import torch

from course_lib.data.small_french import splits, written
from course_lib.data.vocabulary import BOS, EOS
from course_lib.decoding import greedy_decode


def translate(of, sentences, paddings, hidden=True):
    """French sentences with some paddings after each, in English.

    of:        shipped.translator()
    sentences: lists of words
    hidden:    whether the translator masks the padding, as it did when it was trained
    returns:   a list of sentences
    """
    model = of.model if hidden else copy.deepcopy(of.model)
    if not hidden:
        model.pad_id = -1  # no token has this number: its masks hide none
    english = [""] * len(sentences)
    for length in {len(words) for words in sentences}:  # sentences of one length at once: no other padding
        which = [n for n, words in enumerate(sentences) if len(words) == length]
        ids = of.french.encode([sentences[n] for n in which])  # (B, T)
        ids = torch.cat([ids, ids.new_full((len(which), paddings), of.model.pad_id)], 1)
        for n, written_ids in zip(which, greedy_decode(model, ids, BOS, EOS, 20), strict=True):
            english[n] = written(of.english.decode(written_ids))
    return english


def as_alone(of, paddings, hidden=True, how_many=100):
    """How many of the translator's test sentences are translated as they are without padding."""
    sentences = [pair.french for pair in splits()["fresh"][:how_many]]
    pairs = zip(translate(of, sentences, paddings, hidden), translate(of, sentences, 0), strict=True)
    return sum(one == other for one, other in pairs)
