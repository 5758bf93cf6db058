"""Lesson 15b: symbols said twice, learned by a small model of today's parts and by its rivals."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.language_model import LanguageModel
from course_lib.llama import Llama
from course_lib.training import fit

TEN, MIXED, UNTURNED = "always ten", "five to eleven", "five to eleven, without RoPE"


def said_twice(rows, n, seed):
    """n different symbols out of 16 in random order, twice: (rows, 2 n)."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(rows, 16, generator=generator).argsort(1)
    return order[:, :n].repeat(1, 2)


def second_half(model, ids):
    """The loss of predicting the second half."""
    n = ids.shape[1] // 2
    return F.cross_entropy(model(ids)[:, n:-1].flatten(0, 1), ids[:, n + 1 :].flatten())


def small_llama(spread=32**-0.5, **parts):
    """Two blocks, 32 wide, with four query heads that share two heads of keys and values."""
    model = Llama(16, 32, 4, 2, 80, 2, **parts)
    nn.init.normal_(model.embed.weight, std=spread)
    return model


def of_2017():
    """Lesson 12's language model, with as many blocks of the same width."""
    return LanguageModel(16, 32, 4, 128, 2)


def without_rope():
    """small_llama, with queries and keys as they are."""
    return small_llama(apply_rope=lambda x, base: x)


# How each model is made, and its learning rate.
MAKERS = {"your four parts": (small_llama, 3e-3), "without RoPE": (without_rope, 3e-3),
          "the parts of 2017": (of_2017, 3e-3), "four parts, table of 2017": (lambda: small_llama(1.0), 3e-3),
          "2017, rate 0.01": (of_2017, 1e-2)}


@torch.no_grad()
def copied(model, n, back=None):
    """On 200 new rows of n symbols: how often the answer is the next symbol, or the one that stood `back` before it."""
    ids = said_twice(200, n, seed=999_999)
    return (model(ids)[:, n:-1].argmax(-1) == ids[:, n + 1 - (back or 0) : 2 * n - (back or 0)]).float().mean().item()


def train(model, seed, steps, lengths=TEN, rate=3e-3):
    """Train on rows of ten symbols, or of five to eleven; the loss of every step."""
    generator = torch.Generator().manual_seed(seed)
    n = torch.full((steps,), 10) if lengths == TEN else torch.randint(5, 12, (steps,), generator=generator)
    batches = [(said_twice(64, n[step].item(), 10_000 * seed + step),) for step in range(steps)]
    return fit(model, second_half, batches, torch.optim.AdamW(model.parameters(), rate))


def race(model, seed):
    """The mean loss of the last ten steps, after every 20 of 200 steps and after 1,000."""
    torch.manual_seed(seed)
    make, rate = MAKERS[model]
    losses = train(make(), seed, 1000, rate=rate)
    return {f"loss at {step}": losses[step - 10 : step].mean().item() for step in (*range(20, 201, 20), 1000)}


def lengths(trained, seed):
    """How often 10, 12, 16 and 3 symbols are copied rightly, and how often what stood ten before is said, of 12."""
    torch.manual_seed(seed)
    model = without_rope() if trained == UNTURNED else small_llama()
    train(model, seed, 1500, trained)
    return {"of 10": copied(model, 10), "of 12": copied(model, 12), "ten before, of 12": copied(model, 12, back=10),
            "of 16": copied(model, 16), "of 3": copied(model, 3)}


PLANS = {
    "15b-copies": Plan(
        about="ten symbols said twice: the loss of five small models over 200 steps, and after 1,000", minutes=8,
        points=grid(model=list(MAKERS), seed=range(5)), measure=race, near={"loss at 100": 0.02, "loss at 200": 0.02},
        sides=tuple(grid(model=["your four parts", "without RoPE"], seed=[0]))),
    "15b-lengths": Plan(
        about="symbols said twice, trained on ten or on five to eleven, asked for 10, 12, 16 and 3", minutes=2.5,
        points=grid(trained=[TEN, MIXED, UNTURNED], seed=range(3)), measure=lengths,
        near={"of 10": 0.02, "of 12": 0.02}, sides=tuple(grid(trained=[TEN, MIXED], seed=[0])))}
