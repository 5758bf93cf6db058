"""Lesson 15: sentences in other words, padding in the mean, and a search through the course, read by MiniLM."""

from functools import cache

import torch
import torch.nn.functional as F

from course_lib import shipped
from course_lib.data import Missing
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.tables import ResultsError
from course_lib.pretrained import minilm

PAIRS = (("The doctor cured the child.", "A physician healed a little boy."),
         ("It rained all afternoon.", "Water fell from the clouds for hours."),
         ("She bought a cheap car.", "Her new automobile cost very little money."),
         ("He was too tired to work.", "Exhausted, the man could not do his job."),
         ("The film bored everyone.", "Nobody in the cinema enjoyed that movie."),
         ("The king died last night.", "Our monarch passed away yesterday evening."),
         ("Prices rise every year.", "Things get more expensive all the time."),
         ("They married in June.", "Their wedding was early in summer."),
         ("The soup is too hot to eat.", "Let your meal cool down first."),
         ("A thief stole my wallet.", "Somebody robbed me of my purse."),
         ("The students passed the test.", "Everybody in the class did well in the exam."),
         ("The ship sank in a storm.", "Bad weather sent their boat to the bottom of the sea."))
SENTENCES, TWINS = ([pair[side] for pair in PAIRS] for side in (0, 1))


def careless(pool=minilm.mean_pool):
    """A pooling that takes padding for tokens."""
    return lambda hidden, real: pool(hidden, torch.ones_like(real))


@torch.no_grad()
def of_the_cat(model, places, pool=minilm.mean_pool):
    """The vector of the first sentence of the reference, filled up to so many places: (384,)."""
    ids = torch.tensor([minilm.reference()[0]["ids"]])
    real = torch.arange(places)[None] < ids.shape[1]  # (1, T)
    return pool(model(F.pad(ids, (0, places - ids.shape[1])), real), real)[0]


@torch.no_grad()
def of_the_kitten(model, pool=minilm.mean_pool):
    """The vector of the second sentence of the reference, (384,)."""
    ids = torch.tensor([minilm.reference()[1]["ids"]])
    return pool(model(ids), torch.ones_like(ids, dtype=torch.bool))[0]


@torch.no_grad()
def bare(model, tokenizer, texts):
    """A rival without a layer: the mean of the word vectors, as they come out of the table. (N, 384)"""
    ids = [torch.tensor(tokenizer.encode(text).ids[1:-1]) for text in texts]
    return F.normalize(torch.stack([model.words.weight[one].mean(0) for one in ids]), dim=1)


def found(vectors):
    """Which of twelve twins is nearest to each of twelve sentences: vectors (24, D) -> (12,)."""
    return (vectors[:12] @ vectors[12:].T).argmax(1)


@cache
def _model():
    try:
        return minilm.load(), minilm.load_tokenizer()
    except Missing as missing:
        raise ResultsError(str(missing)) from missing


@cache
def _read(bare_words=False):
    model, tokenizer = _model()
    texts = [*SENTENCES, *TWINS]
    return bare(model, tokenizer, texts) if bare_words else minilm.sentence_vectors(model, tokenizer, texts)


def _twins(sentence):
    """The cosines of a sentence, counted from 1, with the twelve twins, and which is nearest by bare word vectors."""
    alike = _read()[sentence - 1] @ _read()[12:].T
    nearest = found(_read(bare_words=True))[sentence - 1].item() + 1
    return {f"twin {n}": cosine for n, cosine in enumerate(alike.tolist(), 1)} | {"nearest by bare words": nearest}


def _padding(places):
    """The cosine of a sentence alone with itself in a batch, pooled with care and without, and with the kitten's."""
    model, _ = _model()
    alone = of_the_cat(model, 9)
    return {"careful": (alone @ of_the_cat(model, places)).item(),
            "careless": (alone @ of_the_cat(model, places, careless())).item(),
            "kitten": (alone @ of_the_kitten(model)).item()}


@cache
def _hits():
    """The paragraph found first for each question, with careful pooling and without: two lists."""
    paragraphs, asked = shipped.paragraphs()
    both = []
    for pool in (minilm.mean_pool, careless()):
        questions, texts = (minilm.sentence_vectors(*_model(), list(texts), pool=pool) for texts in
                            (next(zip(*asked, strict=True)), [text for _, text in paragraphs]))
        both.append((questions @ texts.T).argmax(1).tolist())
    return both


def _search(question):
    """The paragraphs, counted from 0, that a search by meaning finds first for a question, counted from 0."""
    careful, without_care = _hits()
    return {"by meaning": careful[question], "careless": without_care[question]}


PLANS = {
    "15-twins": Plan(
        about="MiniLM's cosines of twelve sentences with the same in other words (needs the weights)",
        minutes=0.1, measure=_twins, near={"twin 1": 0.001, "twin 2": 0.001}, points=grid(sentence=range(1, 13)),
        sides=(dict(sentence=1), dict(sentence=2))),
    "15-padding": Plan(
        about="a sentence alone and filled up with padding, read by MiniLM: cosine with itself (needs the weights)",
        minutes=0.1, measure=_padding, near={"careful": 0.001, "careless": 0.001},
        points=grid(places=(9, 12, 20, 40, 80, 128)), sides=(dict(places=12), dict(places=128))),
    "15-search": Plan(
        about="which paragraph of this course MiniLM finds first for a question of this course (needs the weights)",
        minutes=2, measure=_search, near={"by meaning": 0.5, "careless": 0.5},
        points=grid(question=range(len(shipped.paragraphs()[1]))), sides=(dict(question=0), dict(question=1)))}
