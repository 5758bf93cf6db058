"""Lesson 05: which relations W_q and W_k learn, in a task of four kinds of words and in the shipped translator."""

import math

import torch
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit

LOOKS_FOR = torch.tensor([1, 0, 1, 2])  # person, action, place, time: whose content it should receive


def sentences(how_many, generator):
    """Four words each, one of every kind: the words (B, 4, 6), kind and content, and the content alone (B, 4, 2)."""
    content = torch.randn(how_many, 4, 2, generator=generator)
    return torch.cat([2 * torch.eye(4).expand(how_many, 4, 4), content], -1), content


def error(matrices, x, content):
    """The mean squared error of what each word receives."""
    W_q, W_k, W_v = matrices
    scores = x @ W_q @ (x @ W_k).mT / W_q.shape[1] ** 0.5  # (B, 4, 4)
    received = torch.softmax(scores, -1) @ x @ W_v  # (B, 4, 2)
    return ((received - content[:, LOOKS_FOR]) ** 2).mean()


def train(seed=0, steps=300, std=0.5):
    """W_q (6, 4), W_k (6, 4) and W_v (6, 2), from random numbers with this standard deviation, trained by Adam."""
    generator = torch.Generator().manual_seed(seed)
    matrices = nn.ParameterList(std * torch.randn(6, width, generator=generator) for width in (4, 4, 2))
    batches = (sentences(32, generator) for _ in range(steps))
    fit(matrices, error, batches, torch.optim.Adam(matrices.parameters(), lr=0.03))
    return [W.detach() for W in matrices]


def wanted(matrices):
    """What the product W_q W_kᵀ says of the four kinds, each row less its mean: (4, 4)."""
    product = (matrices[0] @ matrices[1].T)[:4, :4]
    return product - product.mean(1, keepdim=True)


def _likeness(a, b):
    return torch.cosine_similarity(a.flatten(), b.flatten(), dim=0).item()


def by_hand():
    """The matrices that ask exactly these questions: each kind wants the one that it should receive from."""
    W_q = 2 * nn.functional.one_hot(LOOKS_FOR, 4).float()
    return [torch.cat([W_q, torch.zeros(2, 4)]), torch.eye(6)[:, :4], torch.eye(6)[:, 4:]]


def measure(std, steps, seed):
    """Train; the smallest weight on the right word, how much W_q and the product are like those made by hand, and how
    many zeros the error begins with.
    """
    matrices = train(seed, steps, std)
    x, content = sentences(500, torch.Generator().manual_seed(98))
    W_q, W_k, _ = matrices
    weights = torch.softmax(x @ W_q @ (x @ W_k).mT / W_q.shape[1] ** 0.5, -1).mean(0)  # (4, 4)
    return {"least": weights[range(4), LOOKS_FOR].min().item(), "like_W_q": abs(_likeness(matrices[0], by_hand()[0])),
            "like_product": _likeness(wanted(matrices), wanted(by_hand())),
            "digits": -math.log10(error(matrices, x, content).item())}


@torch.no_grad()
def wants(of, head, asking, asked):
    """The scores of words with words, as a head of the encoder's first layer makes them; positions are left out.

    head:          which one, counted from 1
    asking, asked: French words
    returns:       (len(asking), len(asked)), each row less its mean over all French words: only differences count
    """
    attention, everything = of.model.encoder[0].self_attn, list(of.french.ids)
    words = of.model.src_embed.weight[[of.french.ids[word] for word in [*asking, *everything]]] * of.model.d_model**0.5
    queries, keys = (projected(words).unflatten(-1, (attention.num_heads, -1))[:, head - 1]  # (words, d_head)
                     for projected in (attention.W_q, attention.W_k))
    scores = queries[: len(asking)] @ keys[len(asking):].T / keys.shape[1] ** 0.5  # (asking, French words)
    return (scores - scores.mean(1, keepdim=True))[:, [everything.index(word) for word in asked]]


PLANS = {"05-relations": Plan(
    about="words that should receive the content of another kind: the relations found, from small and large beginnings",
    minutes=5, points=grid(std=[0.1, 0.5, 1.0], steps=[300, 1500], seed=range(50)), measure=measure,
    near={"least": 0.02, "like_W_q": 0.02, "like_product": 0.02, "digits": 0.15},
    sides=({"std": 0.5, "steps": 300, "seed": 0},))}
