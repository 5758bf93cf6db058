"""Lesson 09: twins, two sentences of the same six words, read with positions and without."""

import torch
import torch.nn.functional as F

from course_lib.experiments.reader import Reader, trained_parameters
from course_lib.training import fit, shuffled

THINGS = "soup tea water bath room coat".split()
GOOD = "hot fresh clean soft sweet bright".split()
BAD = "cold stale dirty hard bitter dull".split()
WORDS = ["the", "was", "not", *THINGS, *GOOD, *BAD]


def split_of_twins():
    """All 216 pairs, as ids: 150 to train on and 66 to test, (P, 2, 6) each. The first of a pair is pleasant."""
    pairs = [[f"the {t} was {g} not {b}", f"the {t} was {b} not {g}"] for t in THINGS for g in GOOD for b in BAD]
    ids = torch.tensor([[[WORDS.index(word) for word in text.split()] for text in pair] for pair in pairs])
    order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(0))
    return ids[order[:150]], ids[order[150:]]


def read_twins(table, mask=None, seed=0, factor=1.0):
    """Train on 150 pairs, test on 66 others.

    table:   positions (n, 32) to add to the words; None: learned ones
    mask:    (6, 6), True = may attend; None: each word sees all words
    factor:  by which the words are multiplied at the start
    returns: losses (steps,), logits (66, 2) for "pleasant", and the Reader
    """
    training, test = split_of_twins()
    torch.manual_seed(seed)
    reader = Reader(len(WORDS), 1, 4, table)
    with torch.no_grad():
        reader.embed.weight *= factor

    def loss(model, ids, labels):
        yes = model(ids, mask).mean((1, 2))  # (B,), positive for pleasant
        return F.binary_cross_entropy_with_logits(yes, labels)

    labels = torch.tensor([1.0, 0.0]).repeat(len(training))
    batches = shuffled(training.flatten(0, 1), labels, batch_size=20, epochs=8, seed=seed)
    losses = fit(reader, loss, batches, torch.optim.Adam(trained_parameters(reader), lr=5e-3))
    with torch.no_grad():
        answers = reader(test.flatten(0, 1), mask).mean((1, 2)).view(-1, 2)
    return losses, answers, reader


def accuracy(answers):
    """The share of right answers among logits (P, 2) whose first column is pleasant."""
    return ((answers > 0) == torch.tensor([True, False])).float().mean().item()
