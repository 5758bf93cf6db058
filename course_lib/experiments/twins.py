"""Lesson 10: reviews that come in twins, the same words in another order; who can tell them apart, and how far?"""

import random

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.masks import padding_mask_from_ids
from course_lib.positions import sinusoidal_positions
from course_lib.training import fit, keep_the_best, shuffled

THINGS = "room garden view bath bed breakfast coffee pool staff price".split()
GOOD = "brilliant lovely excellent charming delightful superb pleasant wonderful".split()
BAD = "dreadful awful horrible shabby terrible miserable dirty poor".split()
FORMS = ("the {a} was {x} but the {b} was {y}", "although the {a} was {x} the {b} was {y}",
         "the {a} was {x} although the {b} was {y}")
AFTER_THINGS = ("", "in this house", "that we had booked")
AFTER_OPINIONS = ("", "this time", "as we had feared")
PHRASES = (*AFTER_THINGS[1:], *AFTER_OPINIONS[1:])
LONGEST = 25  # words of a review that was trained on
WORDS = sorted({word for text in (*FORMS, *THINGS, *GOOD, *BAD, *PHRASES)
                for word in text.format(a="", b="", x="", y="").split()})
NUMBER = {word: i for i, word in enumerate(WORDS, 1)}  # 0 is padding


def one_pair(rng, gap=None):
    """Two reviews with the same words, each with its label: 1 where the opinion
    that counts is a good one.

    rng: random.Random
    gap: gap(rng) -> what follows the first opinion, where it is not the usual
    """
    form, good, bad = rng.randrange(3), rng.choice(GOOD), rng.choice(BAD)
    a, b = (f"{thing} {rng.choice(AFTER_THINGS)}" for thing in rng.sample(THINGS, 2))
    after_x = rng.choice(AFTER_OPINIONS) if gap is None else gap(rng)
    after_y, pair = rng.choice(AFTER_OPINIONS), []
    for x, y in ((good, bad), (bad, good)):
        text = FORMS[form].format(a=a, b=b, x=f"{x} {after_x}", y=f"{y} {after_y}")
        counts = x if form == 2 else y
        pair.append((" ".join(text.split()), int(counts == good)))
    return pair


def phrases(rng, gap):
    """A gap of so many words, made of phrases that occur in training, though not there; one of up to 4 occurs there."""
    if gap <= 4:
        return AFTER_OPINIONS[gap // 2]
    while True:
        chosen = [rng.choice(PHRASES)]
        while sum(len(phrase.split()) for phrase in chosen) < gap:
            chosen.append(rng.choice([phrase for phrase in PHRASES if phrase != chosen[-1]]))
        if sum(len(phrase.split()) for phrase in chosen) == gap:
            return " ".join(chosen)


def split_of_twins(seed, sizes=(2000, 500, 1000)):
    """Training, validation and test: (texts, labels) each. Twins stay together, and no review occurs twice."""
    rng, seen, splits = random.Random(seed), set(), []
    for pairs in sizes:
        split = []
        while len(split) < 2 * pairs:
            pair = one_pair(rng)
            if pair[0][0] not in seen:
                seen |= {text for text, _ in pair}
                split += pair
        splits.append(tuple(zip(*split, strict=True)))
    return splits


def with_a_gap(gap, seed, pairs=500):
    """Reviews in which so many words follow the first opinion: (texts, labels).

    Where the gap allows it, none is longer than those of training: then no position is new.
    """
    rng, found = random.Random(seed), []
    while len(found) < 2 * pairs:
        pair = one_pair(rng, lambda rng: phrases(rng, gap))
        if gap > 12 or len(pair[0][0].split()) <= LONGEST:
            found += pair
    return tuple(zip(*found, strict=True))


def to_ids(texts):
    """Texts -> token numbers (B, T), padded with 0 to the longest."""
    rows = [torch.tensor([NUMBER[word] for word in text.split()]) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def as_tensors(split):
    """(texts, labels) -> token numbers (B, T) and labels (B,)."""
    texts, labels = split
    return to_ids(texts), torch.tensor(labels)


def entering(model, ids, positions=None):
    """What enters the first layer of an EncoderClassifier: embeddings with positions.

    ids:       (B, T)
    positions: (T,) or (B, T), the position of each token; None where it is counted from 0
    returns:   (B, T, d_model)
    """
    x = model.embed(ids)  # (B, T, d_model)
    table = sinusoidal_positions(64, x.shape[-1])
    return x * x.shape[-1] ** 0.5 + table[torch.arange(ids.shape[1]) if positions is None else positions]


def token_vectors(model, ids, near=None, positions=None):
    """What an EncoderClassifier makes of each token, before it pools.

    ids:       (B, T)
    near:      bool (T, T), True = near enough to attend to; None where distance
               does not matter
    positions: (T,) or (B, T), where they are not 0, 1, 2 …
    returns:   (B, T, d_model)
    """
    mask = padding_mask_from_ids(ids, model.pad_id)  # (B, 1, T)
    x = entering(model, ids, positions)
    for layer in model.layers:
        x = layer(x, mask if near is None else mask & near)
    return x


@torch.no_grad()
def opinion_vectors(read, data):
    """The vectors of all opinion words, and for each whether it is the one that counts: (N, d_model), (N,).

    read: read(ids (B, T)) -> (B, T, d_model)
    data: ids, labels
    """
    ids, labels = data
    good, bad = (torch.isin(ids, torch.tensor([NUMBER[word] for word in words])) for words in (GOOD, BAD))
    counts = good == (labels[:, None] == 1)  # a good one in a good review, a bad one in a bad review
    return read(ids)[good | bad].numpy(), counts[good | bad].numpy()


def fitted(features, training):
    """Logistic regression on the counts of features: right(texts, labels) -> accuracy; right.features is their number.

    features: such as ordered_pairs, or n, for runs of up to n words
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    choice = {"analyzer": features} if callable(features) else {"ngram_range": (1, features)}
    counts = CountVectorizer(**choice)
    model = LogisticRegression(max_iter=1000).fit(counts.fit_transform(training[0]), training[1])

    def right(split):
        return model.score(counts.transform(split[0]), split[1])

    right.features = len(counts.vocabulary_)
    return right


@torch.no_grad()
def accuracy(model, data):
    """The share of texts that a classifier gets right, in eval mode."""
    ids, labels = data
    return (model.eval()(ids).argmax(-1) == labels).float().mean().item()


def loss_of(model, ids, labels):
    """The cross-entropy of a classifier."""
    return F.cross_entropy(model(ids), labels)


SIZES = dict(vocab_size=len(WORDS) + 1, d_model=64, num_heads=4, d_ff=128, num_layers=2, num_classes=2)


def trained(kind, training, validation, seed, epochs=6):
    """An EncoderClassifier of this kind, by RMSprop; the epoch that was best on the validation reviews."""
    torch.manual_seed(seed)
    model = kind(**SIZES)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.001)

    def train_epoch(model, epoch):
        fit(model, loss_of, shuffled(*training, batch_size=64, seed=100 * seed + epoch), optimizer)

    keep_the_best(model, train_epoch, accuracy, validation, validation, epochs)
    return model
