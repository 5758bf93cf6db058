"""Lesson 12: the next token, read off a language model after each of its blocks."""

import copy

import torch
import torch.nn.functional as F

from course_lib.training import fit


@torch.no_grad()
def stream(model, ids):
    """What the first block of a LanguageModel reads, and what each block hands on: a list of (B, T, d_model)."""
    seen = []
    hooks = [model.blocks[0].register_forward_pre_hook(lambda block, given: seen.append(given[0]))]
    hooks += [block.register_forward_hook(lambda block, given, out: seen.append(out)) for block in model.blocks]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def read_after(model, blocks):
    """The model as if it ended after so many blocks: a function from ids (B, T) to logits (B, T, V)."""
    def read(ids):
        return model.out(model.norm(stream(model, ids)[blocks]))

    return read


def own_reader(model, blocks, batches):
    """The same, with a last norm and a last map that were trained to read at this height; the blocks stay.

    batches: of (ids, the ids that follow them)
    """
    reader = torch.nn.Sequential(copy.deepcopy(model.norm), copy.deepcopy(model.out))
    heights = [(stream(model, ids)[blocks], following) for ids, following in batches]

    def loss_of(reader, x, following):
        return F.cross_entropy(reader(x).flatten(0, 1), following.flatten())

    fit(reader, loss_of, heights, torch.optim.Adam(reader.parameters(), lr=1e-3), progress=f"reading after {blocks}")
    return lambda ids: reader.eval()(stream(model, ids)[blocks])
