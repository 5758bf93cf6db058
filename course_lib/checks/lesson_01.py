"""Lesson 01, attention before networks: `soft_max_pool`, judged by torch's own attention, one channel at a time."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise


def channel_by_channel(x, beta):
    """torch's attention once for each channel: the query is 1, keys and values are the channel, the scale is beta."""
    query = torch.ones_like(x[:1, :1])  # (1, 1)
    channels = [x[None, :, d : d + 1] for d in range(x.shape[1])]  # D times (1, N, 1)
    return torch.cat([F.scaled_dot_product_attention(query[None], c, c, scale=beta)[0, 0] for c in channels])


def weights_of(x, beta):
    return torch.softmax(beta * x, 0)


def ignores_beta(x, beta):
    """The softmax was taken of x itself: beta is not used. What should happen to the weights when beta is 0?"""
    return (torch.softmax(x, 0) * x).sum(0)


def divides_by_beta(x, beta):
    """The values were divided by beta. Then a large beta makes the weights even, and beta = 0 divides by zero. Which
    of the two should a large beta do, even out or sharpen?"""
    return (torch.softmax(x / beta, 0) * x).sum(0)


def wrong_axis(x, beta):
    """The softmax ran along the rows, so that the channels of one input compete. Which numbers compete in a
    max-pooling: those of one input, or those of one channel?"""
    return (torch.softmax(beta * x, 1) * x).sum(0)


def softmax_over_everything(x, beta):
    """One softmax ran over all N · D numbers, so only all channels together have a weight of one. How much weight
    should each channel have to give away?"""
    return (torch.softmax((beta * x).flatten(), 0).view_as(x) * x).sum(0)


def one_score_per_input(x, beta):
    """Every input got one weight for all its channels, from the sum of its numbers. How many weights does each
    channel need, if its largest number may stand in another row than its neighbour's?"""
    return torch.softmax(beta * x.sum(1), 0) @ x


def first_channel_decides(x, beta):
    """The weights of the first channel were used for all channels. Where does each channel have its own largest
    number?"""
    return torch.softmax(beta * x[:, 0], 0) @ x


def no_softmax(x, beta):
    """beta * x was used as weights as it is. Weights have to be positive and sum to one: what turns any numbers into
    such weights?"""
    return (beta * x * x).sum(0)


def divides_by_the_sum(x, beta):
    """The numbers were divided by their sum, without the exponential: beta cancels out, and a negative number gets a
    negative weight. What makes every number positive first?"""
    scores = beta * x
    return (scores / scores.sum(0) * x).sum(0)


def not_normalised(x, beta):
    """The exponentials were used as weights as they are, and they do not sum to one. What do you have to divide them
    by?"""
    return (torch.exp(beta * x) * x).sum(0)


def sigmoid(x, beta):
    """Each number went through a sigmoid by itself. The weights of a channel have to compete and sum to one: which
    function sees all of them?"""
    return (torch.sigmoid(beta * x) * x).sum(0)


def beta_after_the_softmax(x, beta):
    """The weights were multiplied by beta after the softmax, so they no longer sum to one. Where can beta stand, so
    that it changes how sharp they are and not how large?"""
    return (beta * torch.softmax(x, 0) * x).sum(0)


def mixes_the_scores(x, beta):
    """What was mixed is beta * x, so the result is beta times too large. beta decides the weights; what do the
    weights mix?"""
    return (weights_of(x, beta) * beta * x).sum(0)


def softmax_twice(x, beta):
    """The weights went through a softmax a second time, which makes them nearly even. Once is enough: do they sum to
    one already?"""
    return (torch.softmax(weights_of(x, beta), 0) * x).sum(0)


def hard_max(x, beta):
    """This is the plain maximum, whatever beta is. How much of the second largest number should come through when
    beta is small?"""
    return x.amax(0)


def largest_with_its_place(x, beta):
    """x.max(dim=0) gives two things, the largest numbers and where they stand, and beta is not used. How much of the
    second largest number should come through when beta is small?"""
    return x.max(0)


def mean_or_maximum(x, beta):
    """Only the two ends are there: the mean at 0 and the maximum everywhere else. What lies between them, for a beta
    of 1?"""
    return x.mean(0) if beta == 0 else x.amax(0)


def plain_mean(x, beta):
    """This is the plain mean, whatever beta is. Which number should count more when beta grows?"""
    return x.mean(0)


def takes_the_smallest(x, beta):
    """The sign is wrong: the smallest numbers got the largest weights. What does the exponential do to a negative
    number?"""
    return (torch.softmax(-beta * x, 0) * x).sum(0)


def ignores_signs(x, beta):
    """The signs were dropped before the softmax, so a large negative number got a large weight. Which of −3 and 1 is
    the larger?"""
    return (torch.softmax(beta * x.abs(), 0) * x).sum(0)


def log_sum_exp(x, beta):
    """This is the logarithm of the summed exponentials, divided by beta. It comes near the maximum, too, but from
    above, and at beta = 0 it is no number. Where is the weighted sum?"""
    return torch.logsumexp(beta * x, 0) / beta


def scaled_by_root_d(x, beta):
    """The numbers were divided by √D before the softmax. That belongs to a later lesson: how many numbers does a score
    add up here?"""
    return (torch.softmax(beta * x / x.shape[1] ** 0.5, 0) * x).sum(0)


def averages_the_products(x, beta):
    """The weighted numbers were averaged, so they were divided by N once more. The weights sum to one already: what is
    left to do but add?"""
    return (weights_of(x, beta) * x).mean(0)


def returns_weights(x, beta):
    """These are the weights, (N, D). What do they have to be multiplied with, and which axis disappears then?"""
    return weights_of(x, beta)


def sums_the_weights(x, beta):
    """The weights themselves were added up, and that is 1 for every channel. What should each weight be multiplied
    with first?"""
    return weights_of(x, beta).sum(0)


def takes_the_largest_weight(x, beta):
    """This is the largest weight of each channel. What should each weight be multiplied with, before anything is
    pooled?"""
    return weights_of(x, beta).amax(0)


def takes_the_largest_product(x, beta):
    """Of the weighted numbers only the largest was kept. The weights have chosen already: what makes a weighted sum of
    the products?"""
    return (weights_of(x, beta) * x).amax(0)


def no_sum(x, beta):
    """Each number was multiplied by its weight, but they were not added up: (N, D) is left instead of (D,). Over which
    axis does a pooling add?"""
    return weights_of(x, beta) * x


def sums_the_channels(x, beta):
    """The sum ran along each input: (N,) numbers are left, one an input. How many numbers should be left, one for each
    input or one for each channel?"""
    return (weights_of(x, beta) * x).sum(1)


def sums_everything(x, beta):
    """The sum ran over inputs and channels: a single number is left. Which axis has to stay?"""
    return (weights_of(x, beta) * x).sum()


def product_of_matrices(x, beta):
    """A matrix product let the weights of each channel mix all channels: (D, D). Only its diagonal was asked for: which
    operation meets every number with its own weight alone?"""
    return weights_of(x, beta).T @ x


def product_that_does_not_fit(x, beta):
    """The weights are (N, D) and so is x: in weights @ x the D channels of one would have to meet the N inputs of the
    other. Which operation meets every number with its own weight alone?"""
    return weights_of(x, beta) @ x


def keeps_a_row_axis(x, beta):
    """The result is a matrix with one row, (1, D). A vector (D,) is asked for: what does keepdim=True keep?"""
    return (weights_of(x, beta) * x).sum(0, keepdim=True)


def squeezes_everything(x, beta):
    """squeeze() without an axis takes away every axis of length 1: where there is one channel only, more goes than was
    meant. Which axis did you want to lose?"""
    return (weights_of(x, beta) * x).sum(0, keepdim=True).squeeze()


def overflows(x, beta):
    """With large numbers the exponential becomes infinite, and infinity divided by infinity is NaN. Which number could
    you subtract from a whole channel first, without changing any weight?"""
    weights = torch.exp(beta * x)
    return (weights / weights.sum(0) * x).sum(0)


def one_number_subtracted_from_all(x, beta):
    """The largest number of the whole table was subtracted before the exponential. A channel far below it becomes all
    zeros, and zero divided by zero is NaN. Whose largest number should each channel lose?"""
    weights = torch.exp(beta * (x - x.max()))
    return (weights / weights.sum(0) * x).sum(0)


def make(generator, N, D):
    x = torch.randn(N, D, generator=generator)
    return x, torch.randint(3, 9, (), generator=generator).item() / 2  # 1.5, 2.0, ... 4.0


def example(x, beta):
    return torch.tensor(x), beta


def stays_within_each_channel(output, generator):
    x, beta = make(generator, 5, 3)
    out = output(x, beta)
    return bool((out <= x.amax(0) + 1e-4).all() and (out >= x.amin(0) - 1e-4).all())


def a_constant_channel_stays(output, generator):
    x, beta = make(generator, 5, 3)
    return abs(output(torch.cat([x, torch.ones(5, 1)], 1), beta)[-1] - 1) < 1e-4


def at_zero_it_is_the_mean(output, generator):
    x, _ = make(generator, 5, 3)
    return torch.allclose(output(x, 0.0), x.mean(0), atol=1e-4)


def in_the_end_it_is_the_maximum(output, generator):
    x, _ = make(generator, 5, 3)
    return torch.allclose(output(x.sort(0).values + torch.arange(5.0)[:, None], 60.0), x.amax(0) + 4, atol=1e-3)


def more_beta_gives_more(output, generator):
    x, _ = make(generator, 5, 3)
    return bool((output(x, 1.5) > output(x, 0.5)).all())


def channels_are_apart(output, generator):
    x, beta = make(generator, 5, 3)
    other = torch.cat([x[:, :1], make(generator, 5, 2)[0]], 1)
    return torch.allclose(output(other, beta)[0], output(x, beta)[0], atol=1e-4)


def order_is_free(output, generator):
    x, beta = make(generator, 5, 3)
    return torch.allclose(output(x.flip(0), beta), output(x, beta), atol=1e-4)


EXERCISES = (
    Exercise(
        name="soft_max_pool",
        lesson="01",
        asked="for every channel a softmax over the N inputs of beta times its numbers, and with these weights the "
        "weighted sum of the same numbers: one vector (D,).",
        verified=attention.soft_max_pool,
        oracle=channel_by_channel,
        examples=(
            example([[0.0, 3.0], [2.0, 1.0], [0.0, -1.0]], 0.5),
            example([[1.0, 0.0, -3.0], [2.0, 0.0, 1.0]], 2.0),
            example([[3.0, -1.0], [0.0, 1.0], [0.0, 3.0]], 0.0),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        square_size=(5, 4),
        make=make,
        extremes=(
            example([[40.0, -60.0], [40.0, 8.0], [12.0, 24.0]], 8.0),
            example([[40.0, -40.0], [24.0, -60.0], [12.0, -60.0]], 4.0),
            example([[0.5, -0.25], [0.5078125, 0.75], [0.0, 0.7578125]], 128.0),  # a steep one that is no maximum
            example([[256.0, 0.0], [0.0, -64.0], [192.0, 128.0]], 1 / 64),  # a flat one of large numbers
        ),
        by_hand=(ignores_beta, divides_by_beta, wrong_axis, softmax_over_everything, one_score_per_input,
                  first_channel_decides, no_softmax, divides_by_the_sum, not_normalised, sigmoid,
                  beta_after_the_softmax, mixes_the_scores, softmax_twice, hard_max, largest_with_its_place,
                  mean_or_maximum, plain_mean, takes_the_smallest, ignores_signs, log_sum_exp, scaled_by_root_d,
                  averages_the_products, returns_weights, sums_the_weights, takes_the_largest_weight,
                  takes_the_largest_product, no_sum, sums_the_channels, sums_everything, product_of_matrices,
                  product_that_does_not_fit, keeps_a_row_axis, squeezes_everything, overflows,
                  one_number_subtracted_from_all),
        properties=(
            ("A channel that is 1 in every input does not stay 1: its weights do not sum to one.",
             a_constant_channel_stays),
            ("The result lies outside the range of its channel: it is not a mix of it.", stays_within_each_channel),
            ("With beta = 0 the result is not the mean.", at_zero_it_is_the_mean),
            ("With a large beta the result does not come near the maximum.", in_the_end_it_is_the_maximum),
            ("A larger beta does not give a larger result.", more_beta_gives_more),
            ("A channel changes when only the other channels are changed.", channels_are_apart),
            ("The order of the inputs changes the result.", order_is_free),
        ),
    ),
)
