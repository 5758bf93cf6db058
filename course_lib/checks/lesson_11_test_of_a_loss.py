"""Lesson 11, the test of a loss: judged by whom it lets through and whom it accuses."""

import math

import torch
import torch.nn.functional as F

from course_lib import proofs
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.suspects import Suspect, line_up


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
                 added_up, softmax_twice, logarithm_of_a_softmax, in_bits, first_tokens, wrong_sign)
RIGHT_LOSSES = {mean_of_tokens, one_by_one, built_in}
TWO_LENGTHS = torch.tensor([[3, 1, 4, 2], [2, 4, 0, 0]])


def agrees(loss, targets=TWO_LENGTHS, strength=2.0, pad_id=0, wanted=mean_of_tokens):
    """Does it give the right loss of these targets, for random logits of five words?"""
    logits = strength * torch.randn(*targets.shape, 5, generator=torch.Generator().manual_seed(0))
    return torch.allclose(loss(logits, targets, pad_id), wanted(logits, targets, pad_id), rtol=1e-4)


def other_padding(loss):
    """The same targets, where another word fills up, and 0 is a word like the others."""
    return agrees(loss, torch.tensor([[3, 1, 0, 2], [2, 0, 4, 4]]), pad_id=4)


def only_a_scalar(loss):
    """Your test looks at no number: everybody whose loss is a scalar gets through. What should the number be?"""
    return loss(torch.zeros(2, 4, 5), TWO_LENGTHS).shape == ()


def accuses_everyone(loss):
    """Your test finds everybody wrong. Does it compare with the right loss, and does it forgive rounding?"""
    return False


def nothing_is_padding(loss):
    """In your example nothing is padding. Most mistakes with a loss are mistakes with padding: what would they do with
    a batch of sentences of different length?"""
    return agrees(loss, TWO_LENGTHS[:, :2]) and agrees(loss, strength=200.0, targets=TWO_LENGTHS[:, :2])


def sentences_of_one_length(loss):
    """Your sentences all have the same number of real tokens. Then the mean over tokens is the mean over sentences, and
    you cannot tell the two apart. Which lengths would?"""
    same = torch.tensor([[3, 1, 4, 0], [2, 4, 1, 0]])
    other = torch.tensor([[3, 1, 0, 4], [2, 0, 1, 4]])
    return agrees(loss, same) and agrees(loss, same, strength=200.0) and agrees(loss, other, pad_id=4)


def all_words_equally_likely(loss):
    """Your logits are all equal, so every token costs the same, log V. Then it does not matter which tokens are
    counted. Which logits would make it matter?"""
    return agrees(loss, strength=0.0)


def padding_is_always_zero(loss):
    """You ask with pad_id 0 only. Who ignores the argument and takes 0 for padding is right there. What else could
    padding be?"""
    return agrees(loss) and agrees(loss, strength=200.0)


def small_logits(loss):
    """Your logits are small. exp(100) is more than a float32 can hold: whose loss is then infinite, or no number at
    all?"""
    return agrees(loss) and other_padding(loss)


def the_sum_for_the_mean(loss):
    """You compare with the sum of the losses. The mean was asked for: what is it divided by?"""
    return agrees(loss, wanted=added_up)


def the_mean_over_all_places(loss):
    """You compare with a mean in which padding counts as a place. How many questions were asked?"""
    return agrees(loss, wanted=divided_by_all)


def the_mean_of_the_sentences(loss):
    """You compare with the mean over sentences of the mean over their tokens. Does a word of a short sentence then
    count as much as a word of a long one?"""
    return agrees(loss, wanted=by_sentence)


def either_sign(loss):
    """Your test takes no notice of the sign. Whoever forgets the minus before the logarithm gets through: is a better
    guess then still a smaller loss?"""
    def size(*args):
        return loss(*args).abs()

    return agrees(size) and other_padding(size) and agrees(size, strength=200.0)


def right_to_the_last_bit(loss):
    """You ask for equality in every bit. The same sum in another order differs in the last digits, and is right."""
    logits = torch.randn(9, 23, 13, generator=torch.Generator().manual_seed(0))
    targets = torch.randint(0, 13, (9, 23), generator=torch.Generator().manual_seed(1))
    return bool(loss(logits, targets) == one_by_one(logits, targets))


def stops_instead(loss):
    """Your test stops with an AssertionError when it finds a wrong loss. It was to say so: return False."""
    assert agrees(loss) and other_padding(loss) and agrees(loss, strength=200.0)
    return True


def under_other_letters(generator):
    """A letter says nothing about what an implementation does."""
    exchanged = {"B": by_sentence, "A": mean_of_tokens, "F": added_up, "H": built_in}
    return [Call((Suspect(letter, loss),), "under other letters") for letter, loss in exchanged.items()]


EXERCISES = (Exercise(
    name="is_token_mean",
    lesson="11",
    asked="True for every function that computes the mean loss over all real tokens, whatever its style, and False for "
    "every other: five of them have letters, the check knows more.",
    verified=proofs.is_token_mean,
    oracle=lambda loss: loss.function in RIGHT_LOSSES,
    examples=tuple((suspect,) for suspect in LOSSES[:5]),
    sizes=tuple((i,) for i in range(5, len(LOSSES))),
    make=lambda generator, i: (LOSSES[i],),
    calls=under_other_letters,
    by_hand=(only_a_scalar, accuses_everyone, nothing_is_padding, sentences_of_one_length, all_words_equally_likely,
              padding_is_always_zero, small_logits, the_sum_for_the_mean, the_mean_over_all_places,
              the_mean_of_the_sentences, either_sign, right_to_the_last_bit, stops_instead),
),)


