"""Lesson 15b: fifty random tokens, said twice, read by SmolLM2 with each of its 270 heads cut, or replaced."""

from functools import cache

import torch
import torch.nn.functional as F

from course_lib.data import Missing
from course_lib.experiments.copies import second_half
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.tables import ResultsError
from course_lib.llama import grouped_query_attention
from course_lib.pretrained import smollm2

WIDE, COPY = 64, 50  # numbers of a head; tokens that are said twice
PROSE = """The ferry leaves the old harbour at six in the morning, when the cafés are still closed and the fishermen are
washing their boats. It takes two hours to reach the island. Most of the passengers sleep. A few of them stand at the
rail, drink coffee from paper cups and watch the coast become smaller. On the island there is one road, one school and
a shop that sells everything from bread to batteries. In winter the ferry runs twice a week, and people plan their
lives around it."""


@cache
def _model():
    """SmolLM2, which keeps the weights of its attention (H, T, T) in `kept`."""
    kept = []

    def watched(query, key, value):
        everywhere = torch.eye(query.shape[2]).expand(1, key.shape[1], -1, -1)  # as values: what comes out is weights
        kept.append(grouped_query_attention(query, key, everywhere)[0])
        return grouped_query_attention(query, key, value)

    try:
        return smollm2.load(grouped_query_attention=watched).requires_grad_(False), kept
    except Missing as missing:
        raise ResultsError(str(missing)) from missing


def rows():
    """Three rows of tokens, (1, 100) each: whoever looks back one copy knows the second half."""
    return [torch.randint(49152, (1, COPY), generator=torch.Generator().manual_seed(seed)).repeat(1, 2)
            for seed in range(3)]


@torch.no_grad()
def patterns(ids):
    """The attention of every block while it reads ids (1, T): a list of (1, H, T, T)."""
    model, kept = _model()
    kept.clear()
    model(ids)
    return [weights[None] for weights in kept]


@cache
def _looked():
    """(uncut losses (3,), weights on the token after the copy (blocks, H), on the token before (blocks, H))."""
    model, kept = _model()
    t, losses, after, before = torch.arange(COPY, 2 * COPY - 1), [], 0, 0
    for row in rows():
        kept.clear()
        losses.append(second_half(model, row).item())
        looks = torch.stack(kept)  # (blocks, H, T, T)
        after, before = after + looks[:, :, t, t - COPY + 1].mean(-1) / 3, before + looks[:, :, t, t - 1].mean(-1) / 3
    return torch.tensor(losses), after, before


@cache
def _prose():
    """The tokens of PROSE, (1, T)."""
    return torch.tensor([smollm2.load_tokenizer().encode(PROSE).ids])


def _on_prose(model):
    """The loss on a text in which hardly anything is said twice."""
    return F.cross_entropy(model(_prose())[0, :-1], _prose()[0, 1:]).item()


@cache
def _prose_uncut():
    return _on_prose(_model()[0])


def _zeros(said, _):
    return torch.zeros_like(said)


def _noise(said, generator):
    """Random numbers, as long as what was said of each token."""
    random = F.normalize(torch.randn(said.shape, generator=generator), dim=-1)
    return random * said.norm(dim=-1, keepdim=True)


def _mean(said, _):
    """What the head says on average, at every token."""
    return said.mean(1, keepdim=True).expand_as(said)


def cost(block, head, instead, prose=False, seed=0):
    """By how much the loss on the second half, or on prose, rises with something else in the place of a head.

    instead: (what the head says (1, T, 64), generator) -> the same shape
    """
    model, kept = _model()
    generator, part = torch.Generator().manual_seed(seed), slice(WIDE * head, WIDE * head + WIDE)

    def replaced(module, given):
        x = given[0].clone()  # (1, T, H * 64)
        x[..., part] = instead(x[..., part], generator)
        return (x,)

    uncut = _prose_uncut() if prose else _looked()[0].mean().item()
    hook = model.blocks[block].W_o.register_forward_pre_hook(replaced)
    loss = _on_prose(model) if prose else sum(second_half(model, row).item() for row in rows()) / 3
    hook.remove()
    kept.clear()
    return loss - uncut


def measured(block, head):
    """What a head, both counted from 1, looks at, and what it costs to do without it."""
    _, after, before = _looked()
    at = block - 1, head - 1
    return {"after the copy": after[at].item(), "on the token before": before[at].item(),
            "loss without": cost(*at, _zeros),
            "loss with noise": sum(cost(*at, _noise, seed=seed) for seed in range(3)) / 3,
            "loss with its mean": cost(*at, _mean), "loss on prose without": cost(*at, _zeros, prose=True)}


PLANS = {"15b-heads": Plan(
    about="SmolLM2 reads fifty random tokens twice: where each head looks in the second half, and by how much the loss "
          "there rises without the head, with noise of equal length in its place, and with what it says on average; "
          "and on prose without it (needs the weights)",
    minutes=35, measure=measured, near={"loss without": 0.1}, points=grid(block=range(1, 31), head=range(1, 10)),
    sides=tuple(grid(block=[17, 19], head=[1])))}
