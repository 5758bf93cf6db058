"""Lesson 10: what has an encoder learned? It is asked with other words, other positions, and by a probe."""

import torch

from course_lib.classifier import EncoderClassifier, max_over_real_tokens
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.shifted import moved, short_enough
from course_lib.experiments.twins import (
    BAD,
    GOOD,
    NUMBER,
    SIZES,
    as_tensors,
    entering,
    opinion_vectors,
    split_of_twins,
    to_ids,
    token_vectors,
    trained,
)


@torch.no_grad()
def verdicts(model, texts):
    """The class that a model chooses for each text: (N,)."""
    return model.eval()(to_ids(texts)).argmax(-1)


def flipped(model, texts, word, other):
    """The share of verdicts that change where `other` stands in the place of `word`, of all texts with such a word
    that is not the first."""
    texts = [text for text in texts if f" {word} " in text]
    edited = [text.replace(f" {word} ", f" {other} ") for text in texts]
    return (verdicts(model, texts) != verdicts(model, edited)).float().mean().item()


@torch.no_grad()
def accuracy_at(positions, model, split):
    """Accuracy, where the words stand at these positions: (T,) or (B, T)."""
    ids, labels = as_tensors(split)
    x = token_vectors(model.eval(), ids, positions=positions)  # (B, T, d_model)
    verdict = model.head(max_over_real_tokens(x, ids != model.pad_id)).argmax(-1)
    return (verdict == labels).float().mean().item()


def first_opinion_or_although(ids):
    """Where X stands, and a word "although": bool (B, T)."""
    opinions = torch.isin(ids, torch.tensor([NUMBER[word] for word in GOOD + BAD]))
    return (opinions & (opinions.cumsum(1) == 1)) | (ids == NUMBER["although"])


def probed(read, learned, asked):
    """The accuracy of a logistic regression that reads vectors of opinion words: does this one count?

    read: read(ids (B, T)) -> (B, T, d_model)
    """
    from sklearn.linear_model import LogisticRegression

    probe = LogisticRegression(max_iter=1000).fit(*opinion_vectors(read, learned))
    return probe.score(*opinion_vectors(read, asked))


def measure(seed):
    """Train an encoder as in the lesson, and ask it."""
    splits = split_of_twins(seed)
    training, validation, test = map(as_tensors, splits)
    model = trained(EncoderClassifier, training, validation, seed)
    numbers = {f"{a} to {b}": flipped(model, splits[2][0], a, b)
               for a, b in (("but", "although"), ("but", "the"), ("but", "garden"), ("although", "the"))}
    fit, front, t = short_enough(splits[2]), moved(splits[2]), torch.arange(25)
    key, by = first_opinion_or_although(to_ids(fit[0])), t[:to_ids(fit[0]).shape[1]]
    numbers |= {"usual": accuracy_at(by, model, fit), "words in front": accuracy_at(t, model, front),
                "positions + 4": accuracy_at(by + 4, model, fit),
                "words in front, old positions": accuracy_at((t - 4) % 25, model, front),
                "first opinion and although + 4": accuracy_at(by + 4 * key, model, fit),
                "all others + 4": accuracy_at(by + 4 * ~key, model, fit)}
    torch.manual_seed(99 + seed)
    fresh, some = EncoderClassifier(**SIZES).eval(), [part[:1000] for part in training]
    readers = {"embedding": model.embed, "entering": lambda ids: entering(model, ids),
               "untrained": lambda ids: token_vectors(fresh, ids), "trained": lambda ids: token_vectors(model, ids)}
    return numbers | {f"probe {name}": probed(read, some, test) for name, read in readers.items()}


PLANS = {"10-asked": Plan(
    about="an encoder of twin reviews: verdicts that one word flips, accuracy at other positions, and four probes",
    minutes=15, points=grid(seed=range(60)), measure=measure,
    near={"but to although": 0.02, "words in front": 0.02, "words in front, old positions": 0.02,
          "probe entering": 0.02}, sides=(dict(seed=0),))}
