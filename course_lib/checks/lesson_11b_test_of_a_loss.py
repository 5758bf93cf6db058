"""Lesson 11b, the test of a loss: judged by whom it lets through and whom it accuses."""

import math

import torch
import torch.nn.functional as F

from course_lib import black_box_tests
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.suspects import WITH_LETTERS, Suspect, line_up


def token_losses(logits, targets, pad_id=0):
    return -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0], targets != pad_id


def mean_of_tokens(logits, targets, pad_id=0):
    each, real = token_losses(logits, targets, pad_id)
    return each[real].mean()


def one_by_one(logits, targets, pad_id=0):
    total, count = 0.0, 0
    for row, ids in zip(logits.flatten(0, 1), targets.flatten(), strict=True):
        if ids != pad_id:
            total, count = total + torch.logsumexp(row, 0) - row[ids], count + 1
    return total / count


def built_in(logits, targets, pad_id=0):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)


def by_powers_of_two(logits, targets, pad_id=0):
    """In bits, and back: right up to rounding, which differs."""
    bits = logits / math.log(2)
    bits = bits - bits.amax(-1, keepdim=True)
    each = bits.exp2().sum(-1, keepdim=True).log2() - bits
    return math.log(2) * each.gather(-1, targets[..., None])[..., 0][targets != pad_id].mean()


def counted_padding(logits, targets, pad_id=0):
    return token_losses(logits, targets)[0].mean()


def divided_by_all(logits, targets, pad_id=0):
    each, real = token_losses(logits, targets, pad_id)
    return (each * real).sum() / real.numel()


def by_sentence(logits, targets, pad_id=0):
    each, real = token_losses(logits, targets, pad_id)
    return ((each * real).sum(1) / real.sum(1)).mean()


def added_up(logits, targets, pad_id=0):
    each, real = token_losses(logits, targets, pad_id)
    return each[real].sum()


def softmax_twice(logits, targets, pad_id=0):
    return mean_of_tokens(torch.softmax(logits, -1), targets, pad_id)


def zero_is_padding(logits, targets, pad_id=0):
    return mean_of_tokens(logits, targets)


def logarithm_of_a_softmax(logits, targets, pad_id=0):
    e = logits.exp()
    each = -(e / e.sum(-1, keepdim=True)).gather(-1, targets[..., None])[..., 0].log()
    return each[targets != pad_id].mean()


def in_bits(logits, targets, pad_id=0):
    return mean_of_tokens(logits, targets, pad_id) / math.log(2)


def first_tokens(logits, targets, pad_id=0):
    return token_losses(logits, targets, pad_id)[0][:, 0].mean()


def wrong_sign(logits, targets, pad_id=0):
    return -mean_of_tokens(logits, targets, pad_id)


LOSSES = line_up(by_sentence, mean_of_tokens, zero_is_padding, one_by_one, counted_padding, built_in, divided_by_all,
                 added_up, softmax_twice, logarithm_of_a_softmax, in_bits, first_tokens, wrong_sign, by_powers_of_two)
RIGHT_LOSSES = {mean_of_tokens, one_by_one, built_in, by_powers_of_two}


def under_other_letters(generator):
    """A letter says nothing about what an implementation does."""
    exchanged = {"B": by_sentence, "A": mean_of_tokens, "D": added_up, "E": built_in}
    return [Call((Suspect(letter, loss),), "under other letters") for letter, loss in exchanged.items()]


EXERCISES = (Exercise(
    lesson="11b",
    asked="True for every function that computes the mean loss over all real tokens, whatever its style, and False for "
    "every other: five of them have letters, the check knows more.",
    verified=black_box_tests.is_token_mean,
    oracle=lambda loss: loss.function in RIGHT_LOSSES,
    examples=tuple((suspect,) for suspect in LOSSES[:WITH_LETTERS]),
    sizes=tuple((i,) for i in range(WITH_LETTERS, len(LOSSES))),
    make=lambda generator, i: (LOSSES[i],),
    calls=under_other_letters,
),)
