"""Lesson 16: what attention costs in bytes and in seconds, and what a model loses when its numbers get fewer bits."""

import copy
import os
import time

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.positions import cached_positions

# The processor's time, in which other programs are not; on Windows it ticks too slowly.
CLOCK = time.perf_counter if os.name == "nt" else time.thread_time


def kept_for_the_gradients(call, parameters=()):
    """Bytes that are held between the forward and the backward pass, each piece of memory counted once.

    call:       () -> a tensor with a gradient
    parameters: tensors that are there anyway, and do not count
    """
    pieces, there = {}, {parameter.untyped_storage().data_ptr() for parameter in parameters}

    def note(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in there:
            pieces[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        out = call()  # while it lives, nothing that it needs is written over
    return sum(pieces.values()) if out.requires_grad else 0


def fastest(step, rounds=15):
    """Seconds of the quickest of some runs."""
    return in_turn({"it": step}, rounds)["it"]


def in_turn(steps, rounds=5):
    """Seconds of the quickest run of each step, {name: seconds}; all run in turn, so that a busy moment hits all."""
    taken = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            start = CLOCK()
            step()
            taken[name].append(CLOCK() - start)
    return {name: min(seconds) for name, seconds in taken.items()}


def rates(work, sizes, width=256):
    """Numbers per second of several kinds of work, for arrays that grow: {name: [one for each size]}.

    work: {name: step(x, room)}, from an array (rows, width) into another of its shape
    """
    found = {name: [] for name in work}
    for size in sizes:
        x, room = torch.randn(size // width, width), torch.ones(size // width, width)
        for name, step in work.items():
            found[name].append(size / fastest(lambda step=step, x=x, room=room: step(x, room)))
    return found


def operations(call):
    """Multiplications and additions of all matrix products that a call makes, as torch counts them."""
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def this_machine(width=768, megabytes=64):
    """(operations per second of a matrix product, bytes per second of a copy, read and written), on the CPU."""
    one, other = torch.randn(2, width, width)
    x, room = torch.randn(2, megabytes * 2**18)
    return 2 * width**3 / fastest(lambda: one @ other, 5), 2 * 4 * x.numel() / fastest(lambda: room.copy_(x), 5)


def read_with(model, mask_of):
    """A LanguageModel whose tokens see what a mask allows: a function from ids (B, T) to logits (B, T, V).

    mask_of: mask_of(T) -> (T, T) bool, True = may attend
    """
    def read(ids):
        x = model.table(ids)
        x = x + cached_positions(*x.shape[1:], x.dtype, x.device)
        for block in model.blocks:
            x = block(x, mask_of(ids.shape[1]))
        return model.out(model.norm(x))

    return read


@torch.no_grad()
def with_bits(model, bits):
    """A copy whose matrices hold whole numbers of so many bits, times one number for each row.

    bits: 2 to 16; the largest of a row becomes the largest whole number, 2 ** (bits - 1) - 1
    """
    copied, most = copy.deepcopy(model), 2 ** (bits - 1) - 1
    for module in copied.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            scale = module.weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / most  # (out, 1)
            module.weight.copy_((module.weight / scale).round() * scale)
    return copied
