"""Lesson 10: does an encoder understand what stands four words further on than in training?"""

import random

from course_lib.classifier import EncoderClassifier
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.twins import PHRASES, accuracy, as_tensors, split_of_twins, trained

REMARK = "as we had feared"


def short_enough(split):
    """Those reviews that are short enough for four words in front: (texts, labels)."""
    return tuple(zip(*[pair for pair in zip(*split, strict=True) if len(pair[0].split()) <= 21], strict=True))


def moved(split):
    """Reviews that are short enough, with four words in front: no word and no position is new: (texts, labels)."""
    texts, labels = short_enough(split)
    return tuple(f"{REMARK} {text}" for text in texts), labels


def with_remarks(split, seed):
    """The same reviews, half of them with a phrase in front that is not REMARK: (texts, labels)."""
    rng, others = random.Random(seed), [phrase for phrase in PHRASES if phrase != REMARK]
    texts = [f"{rng.choice(others)} {text}" if rng.random() < 0.5 else text for text in split[0]]
    return texts, split[1]


def measure(training, seed):
    """Train with or without remarks in front, and ask about usual reviews and about moved ones."""
    splits = split_of_twins(seed)
    learned, chosen = (with_remarks(split, seed) if training == "with remarks" else split for split in splits[:2])
    model = trained(EncoderClassifier, as_tensors(learned), as_tensors(chosen), seed)
    return {name: accuracy(model, as_tensors(split))
            for name, split in {"usual": splits[2], "moved": moved(splits[2])}.items()}


PLANS = {"10-shifted": Plan(
    about="accuracy of an encoder on twin reviews with four words in front, trained without such remarks and with some",
    minutes=2, points=grid(training=["as usual", "with remarks"], seed=range(5)), measure=measure,
    near={"usual": 0.01, "moved": 0.02}, sides=tuple(grid(training=["as usual", "with remarks"], seed=[0])))}
