"""Lesson 15b: what SmolLM2 says with one wrong part at a time, and behind which block its answer can be read off."""

import math
from functools import cache

import torch
import torch.nn.functional as F

from course_lib.data import Missing
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.tables import ResultsError
from course_lib.llama import apply_rope, grouped_query_attention, rms_norm
from course_lib.pretrained import smollm2

WIDE, BLOCK = 64, 24  # numbers of a head; the block one of whose heads fetches the country
CAPITAL = "The capital of France is"
TEXTS = ("The lighthouse keeper wrote a letter to his sister, who lived in the harbour town.",
         "Water boils at a lower temperature on a high mountain, because the air presses on it with less force.",
         "The committee will meet again on Thursday to discuss the budget, the new library and the state of the roads.",
         "When the bell rang, the children put away their books, took their coats and ran out into the snow.",
         "To make bread you need flour, water, salt and yeast, a warm place, and the patience to wait for an hour.")
CAPITALS = dict(France="Paris", Italy="Rome", Germany="Berlin", Spain="Madrid", Japan="Tokyo", Russia="Moscow",
                England="London", Egypt="Cairo", Greece="Athens", China="Beijing")


def halves(x, base=10000.0):
    """Rotary positions on the pairs (i, i + d/2), each a complex number."""
    T, d = x.shape[-2:]
    frequency = base ** (-torch.arange(0, d, 2) / d)  # (d/2,)
    angle = torch.arange(T)[:, None] * frequency  # (T, d/2)
    pairs = torch.complex(*x.unflatten(-1, (2, -1)).unbind(-2))  # (..., T, d/2)
    pairs = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def _from_1(x, base):
    return apply_rope(torch.cat([x[..., :1, :], x], dim=-2), base)[..., 1:, :]


def _in_turn(query, key, value):
    """Heads of keys given out as 1, 2, 3, 1, 2, 3 …"""
    times = 1, query.shape[1] // len(key[0]), 1, 1
    return grouped_query_attention(query, key.repeat(times), value.repeat(times))


WRONG = {"nothing wrong": {}, "layer norm": {"rms_norm": lambda x, gain: F.layer_norm(x, x.shape[-1:], gain)},
         "places from 1": {"apply_rope": _from_1}, "halves as pairs": {"apply_rope": halves},
         "no RoPE": {"apply_rope": lambda x, base: x}, "heads in turn": {"grouped_query_attention": _in_turn}}


def _ids(speaker, text):
    return torch.tensor([speaker.encode(text).ids])


@torch.no_grad()
def next_token(writer, speaker, text):
    """The probabilities of all 49,152 tokens to come next after a text."""
    return writer(_ids(speaker, text))[0, -1].softmax(-1)


def _bits(writer, ids):
    return F.cross_entropy(writer(ids)[0, :-1], ids[0, 1:]).item() / math.log(2)


@torch.no_grad()
def tried(writer, speaker, wrong):
    """With other parts in all blocks: how sure it is of Paris, how many of ten capitals come first, bits per token.

    wrong: one of WRONG
    """
    old = [dict(block.parts) for block in writer.blocks]
    for block in writer.blocks:
        block.parts.update(WRONG[wrong])
    try:
        first = [next_token(writer, speaker, f"The capital of {land} is").argmax().item() ==
                 speaker.encode(f" {city}").ids[0] for land, city in CAPITALS.items()]
        paris = next_token(writer, speaker, CAPITAL)[speaker.encode(" Paris").ids[0]].item()
        short = [_bits(writer, _ids(speaker, text)) for text in TEXTS]
        return {"p of Paris": paris, "capitals": sum(first), "bits, short texts": sum(short) / len(short),
                "bits, all as one": _bits(writer, _ids(speaker, " ".join(TEXTS)))}
    finally:
        for block, parts in zip(writer.blocks, old, strict=True):
            block.parts.update(parts)


@torch.no_grad()
def lens(writer, speaker, head=0):
    """What would come next, read behind each block by the last norm and the table: (30, 49152), a logit lens.

    head: the head of BLOCK that is cut, counted from 1; 0 cuts none
    """
    def silent(_, given):
        x = given[0].clone()  # (1, T, H * 64)
        x[..., WIDE * (head - 1) : WIDE * head] = 0
        return (x,)

    hook = writer.blocks[BLOCK - 1].W_o.register_forward_pre_hook(silent) if head else None
    x, behind = writer.embed(_ids(speaker, CAPITAL)), []
    for block in writer.blocks:
        x = block(x)  # (1, T, 576)
        behind.append((rms_norm(x[0, -1], writer.norm) @ writer.embed.weight.T).softmax(-1))
    if hook:
        hook.remove()
    return torch.stack(behind)


@cache
def _model():
    try:
        return smollm2.load().requires_grad_(False), smollm2.load_tokenizer()
    except Missing as missing:
        raise ResultsError(str(missing)) from missing


@cache
def _lens(head):
    writer, speaker = _model()
    read, paris = lens(writer, speaker, head), speaker.encode(" Paris").ids[0]
    return read[:, paris].tolist(), ((read > read[:, [paris]]).sum(1) + 1).tolist()


def measured(part):
    """`tried` with one wrong part."""
    return tried(*_model(), part)


def read_off(head, block):
    """What the lens says of Paris behind a block: its probability, and its rank among all tokens."""
    probabilities, ranks = _lens(head)
    return {"p of Paris": probabilities[block - 1], "rank of Paris": ranks[block - 1]}


PLANS = {
    "15b-parts": Plan(
        about="SmolLM2 with one wrong part at a time: the answer Paris, ten capitals, bits per token (needs weights)",
        minutes=2, measure=measured, points=grid(part=list(WRONG)),
        near={"p of Paris": 0.001, "bits, all as one": 0.001},
        sides=tuple(grid(part=["nothing wrong", "halves as pairs"]))),
    "15b-lens": Plan(
        about="a logit lens on SmolLM2: what it says of Paris behind each block, with a head of block 24 cut, or none, "
              "0 (needs the weights)", minutes=0.5, measure=read_off,
        points=grid(head=range(10), block=range(20, 31)), near={"p of Paris": 0.001},
        sides=(dict(head=0, block=30), dict(head=5, block=30)))}
