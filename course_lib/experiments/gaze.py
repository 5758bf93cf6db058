"""Lesson 13b: what a trained Vision Transformer can do without, and where it looks."""

from functools import cache

import torch
import torch.nn.functional as F

from course_lib.attention import attention_patterns
from course_lib.experiments.digits import Reader, accuracy, fresh, halves, trained
from course_lib.experiments.plan import Plan, grid
from course_lib.rollout import rollout
from course_lib.vision import ViT, patchify


def without(what, epochs, seed):
    """A ViT after one thing was taken from it or from its training."""
    training, test = halves(seed)
    model = fresh(Reader, seed, 0.0 if what == "positions" else 1.0)
    model.embed.pos.requires_grad_(what == "nothing")
    return {"right": accuracy(trained(model, training, epochs, seed), *test)}


@cache
def _read_for_long(seed):
    """(a ViT after 45 epochs, its training pictures, its test pictures)."""
    training, test = halves(seed)
    return trained(fresh(ViT, seed), training, 45, seed), training, test


def maps(model, images):
    """The attention of all layers: (L, B, H, N + 1, N + 1)."""
    return torch.stack(list(attention_patterns(model, images).values()))


def scores_of(measure, model, training, images):
    """How much each patch counts by a measure: (B, N)."""
    if measure == "rollout":
        return rollout(maps(model, images))[:, 0, 1:]
    if measure == "last layer":
        return maps(model, images)[-1].mean(1)[:, 0, 1:]
    if measure == "rollout, one map for all":
        return rollout(maps(model, training[0]))[:, 0, 1:].mean(0).expand(len(images), -1)
    if measure == "variance, no model":
        return patchify(training[0], 2).var(0).sum(-1).expand(len(images), -1)
    return torch.rand(len(images), 16, generator=torch.Generator().manual_seed(1))  # at random


def most(scores, many):
    """The `many` largest of each row: (B, N) -> bool (B, N)."""
    return scores.argsort(1).argsort(1) >= scores.shape[1] - many


@torch.no_grad()
def accuracy_without(model, left_out, images, labels):
    """The accuracy when no token may look at the patches left out: bool (B, N)."""
    mask = F.pad(~left_out, (1, 0), value=True)[:, None]  # (B, 1, N + 1), the class token stays
    x = model.embed(images)
    for layer in model.layers:
        x = layer(x, mask)
    return (model.head(x[:, 0]).argmax(-1) == labels).float().mean().item()


def left_out(measure, many, seed):
    """The accuracy without the `many` patches that a measure puts last, and first."""
    model, training, test = _read_for_long(seed)
    scores = scores_of(measure, model, training, test[0])
    return {"without the least": accuracy_without(model, most(-scores, many), *test),
            "without the most": accuracy_without(model, most(scores, many), *test)}


def paper(seed):
    """The accuracy without the patches that have no ink, and without as many others at random."""
    model, _, test = _read_for_long(seed)
    blank = (patchify(test[0], 2) == test[0].min()).all(-1)  # (B, N)
    rank = torch.rand(blank.shape, generator=torch.Generator().manual_seed(seed)).argsort(1).argsort(1)
    others = rank < blank.sum(1, keepdim=True)
    return {"without paper": accuracy_without(model, blank, *test),
            "without as many": accuracy_without(model, others, *test), "with all": accuracy(model, *test),
            "blank": blank.sum(1).float().mean().item()}


PLANS = {
    "13b-without": Plan(
        about="accuracy of a ViT on digits when its positions are not trained, or are not there",
        minutes=9, measure=without, near={"right": 0.01},
        sides=tuple(grid(what=["nothing", "positions"], epochs=[20], seed=[0])),
        points=grid(what=["nothing", "learning of positions", "positions"], epochs=[20, 100], seed=range(3))),
    "13b-left-out": Plan(
        about="accuracy of a ViT on digits without the patches that a measure puts last, and without the first",
        minutes=8, measure=left_out, near={"without the least": 0.02, "without the most": 0.02},
        sides=tuple(grid(measure=["rollout", "at random"], many=[8], seed=[0])),
        points=grid(measure=["rollout", "last layer", "rollout, one map for all", "variance, no model", "at random"],
                    many=[2, 4, 6, 8, 10, 12], seed=range(20))),
    "13b-paper": Plan(
        about="accuracy of a ViT on digits without the patches that have no ink, and without as many at random",
        minutes=2, measure=paper, near={"without paper": 0.02, "without as many": 0.02},
        sides=tuple(grid(seed=[0])),
        points=grid(seed=range(5)), apart=False)}
