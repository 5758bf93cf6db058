"""Lesson 12: models of the next character, by counting and by attention, on texts that grow."""

import ast
import math
import sysconfig
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F

from course_lib import shipped
from course_lib.data.byte_pairs import LETTERS, learn_pairs, numbers, written_in
from course_lib.experiments.plan import Plan
from course_lib.language_model import LanguageModel, get_batch
from course_lib.training import fit

# --- Texts ------------------------------------------------------------------------------------------------------


class Texts(NamedTuple):
    """What a model is trained on, what chooses among models, and what is asked once, at the end."""

    train: str
    validation: str
    test: str


def manual():
    """Python's manual, which ships with the course, as Texts."""
    return Texts(**shipped.manual())


def new_paragraphs(text, seen):
    """The paragraphs that are not in `seen` yet, which then holds them, too."""
    new = []
    for paragraph in text.split("\n\n"):
        if paragraph.strip() and paragraph not in seen:
            seen.add(paragraph)
            new.append("".join(c if c in LETTERS else "?" for c in paragraph))
    return "\n\n".join(new)


def docstrings(texts):
    """What the standard library says in its docstrings, without paragraphs that stand in one of these texts."""
    seen, found = {p for text in texts for p in text.split("\n\n")}, []
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        folders = path.relative_to(library).parts[:-1]
        if {"site-packages", "test", "tests", "idlelib", "pydoc_data", "lib2to3"} & set(folders):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                found.append(new_paragraphs(ast.get_docstring(node) or "", seen))
    return "\n\n".join(filter(None, found))


def longer(texts):
    """The same Texts, with the docstrings before what is trained on."""
    return texts._replace(train=docstrings(texts) + "\n\n" + texts.train)


# --- Counting ---------------------------------------------------------------------------------------------------


def counted(text, n):
    """How often each token followed a context of n - 1 tokens; and for each shorter
    context, after how many different longer ones: {context: (counts, their sum)}."""
    follow = {}
    for t, token in enumerate(text):
        follow.setdefault(text[max(0, t - n + 1) : t], Counter())[token] += 1
    for k in range(n - 1, 0, -1):
        for context in [c for c in follow if len(c) == k]:
            follow.setdefault(context[1:], Counter()).update(follow[context].keys())
    return {context: (counts, counts.total()) for context, counts in follow.items()}


def discounts(follow, n):
    """What counts of 0, of 1, of 2, and of 3 or more give away, for contexts of 0, 1,
    ... n - 1 tokens.

    Chen and Goodman 1998, TR-10-98, section 3: i - (i + 1) Y n[i + 1] / n[i], where
    n[i] counts are i, and Y = n[1] / (n[1] + 2 n[2]).
    """
    seen = [Counter() for _ in range(n)]
    for context, (counts, _) in follow.items():
        seen[len(context)].update(counts.values())
    give = []
    for s in seen:
        y = s[1] / max(1, s[1] + 2 * s[2])
        of = [i - (i + 1) * y * s[i + 1] / max(1, s[i]) for i in (1, 2, 3)]
        give.append([0.0, *(max(0.0, d) for d in of)])
    return give


def bits_by_counting(follow, text, n, V):
    """Bits for all tokens of a text, from contexts of at most n - 1 tokens."""
    give, given, bits = discounts(follow, n), {}, 0.0
    for t, token in enumerate(text):
        p = 1 / V
        for k in range(min(n - 1, t) + 1):  # the shortest context first
            if (context := text[t - k : t]) not in follow:
                break
            counts, c = follow[context]
            if context not in given:
                given[context] = sum(give[k][min(3, one)] for one in counts.values())
            kept = counts[token] - give[k][min(3, counts[token])]
            p = (kept + given[context] * p) / c
        bits -= math.log2(p)
    return bits


# --- Attention --------------------------------------------------------------------------------------------------


@torch.no_grad()
def bits_by_reading(read, tokens, V, window):
    """Bits for all tokens (T,), by read(ids) -> logits; all but the first ones see
    half a window or more."""
    total, done = math.log2(V), 1  # before the first token nothing is known
    for start in range(0, len(tokens), window // 2):
        piece = tokens[start : start + window + 1][None]  # (1, up to window + 1)
        loss = F.cross_entropy(read(piece[:, :-1])[0], piece[0, 1:], reduction="none")
        total += loss[done - start - 1 :].sum().item() / math.log(2)  # the new ones
        done = start + piece.shape[1]
        if done == len(tokens):
            return total


def trained(tokens, steps, seed, width=96, window=32, dropout=0.05, V=512, Model=LanguageModel):
    """The lesson's Transformer after so many steps of 512 tokens, and its losses."""
    torch.manual_seed(seed)
    model = Model(V, width, 4, 4 * width, 2, dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, steps, pct_start=0.1)
    batches = [get_batch(tokens, window, 512 // window) for _ in range(steps)]

    def loss_of(model, x, y):
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    losses = fit(model, loss_of, batches, optimizer, schedule, clip=1.0, progress="reading")
    return model.eval(), losses


# --- The plan ---------------------------------------------------------------------------------------------------

TEXTS = {"the manual": lambda texts: texts, "the manual and docstrings": longer}
SHORT, LONG = TEXTS
COUNTING = dict(model="counting", text=SHORT, n=0, width=0, window=0, dropout=0, steps=0)
BASE = dict(model="Transformer", text=SHORT, n=0, width=96, window=32, dropout=0.05, steps=2000)
GROWN = [BASE, *(BASE | change for change in (
    dict(width=192), dict(window=128), dict(dropout=0.3), dict(steps=8000), dict(steps=8000, dropout=0.3),
    *(dict(text=LONG, steps=steps) for steps in (500, 1000, 2000, 4000, 8000, 16000)),
    dict(text=LONG, steps=8000, width=192), dict(text=LONG, steps=8000, width=192, window=128)))]


def measure(model, text, n, width, window, dropout, steps, seed):
    """Bits per character of the validation and the test text, and of as much of what was trained on."""
    texts = TEXTS[text](manual())
    asked = {"validation loss": texts.validation, "test loss": texts.test,
             "training loss": texts.train[-len(texts.test):]}
    if model == "counting":
        follow = counted(texts.train, n)
        return {name: bits_by_counting(follow, of, n, len(LETTERS)) / len(of) for name, of in asked.items()}
    pairs = learn_pairs(texts.train, 512)
    of, _ = trained(numbers(written_in(pairs, texts.train)), steps, seed, width, window, dropout)
    return {name: bits_by_reading(of, numbers(written_in(pairs, of_it)), 512, window) / len(of_it)
            for name, of_it in asked.items()}


PLANS = {
    "12-growing": Plan(
        about="bits per character of counting and of a small Transformer, where one thing grows, or several",
        minutes=95, points=[COUNTING | dict(text=text, n=n, seed=0) for text in TEXTS for n in (4, 6, 8, 10, 12)]
        + [point | dict(seed=seed) for point in GROWN for seed in range(3)], measure=measure,
        near={"validation loss": 0.02, "test loss": 0.02},
        sides=(COUNTING | dict(n=6, seed=0), BASE | dict(seed=0))),
}
