"""Lesson 08: `layer_norm`, `FeedForward` and `SublayerConnection`, judged by torch.nn.functional."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import wires
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import dropout_factor, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights

# layer_norm


def torch_layer_norm(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def centred(x):
    return x - x.mean(-1, keepdim=True)


def variance(x):
    return (centred(x) ** 2).mean(-1, keepdim=True)


def unbiased(x):
    """The variance divided by D - 1; for D = 1 it is NaN, as torch's is, without a warning."""
    return (centred(x) ** 2).sum(-1, keepdim=True) / (x.shape[-1] - 1)


def standard(x, eps):
    """Mean 0 and variance 1 at every position."""
    return centred(x) / (variance(x) + eps).sqrt()


def unbiased_variance(x, gamma, beta, eps=1e-5):
    """The variance was divided by D - 1, which is what `var` and `std` do by default. Here it is the plain mean of D
    squared deviations. Which argument of `var` decides that?"""
    return centred(x) / (unbiased(x) + eps).sqrt() * gamma + beta


def unbiased_std_plus_eps(x, gamma, beta, eps=1e-5):
    """This is (x - mean) / (std + eps), as a well-known text has it, and `std` divides by D - 1. There are two
    differences to the contract: by what is the sum of squares divided, and where does eps go?"""
    return centred(x) / (unbiased(x).sqrt() + eps) * gamma + beta


def unbiased_std_without_eps(x, gamma, beta, eps=1e-5):
    """The deviations were divided by `std` as it is, which divides by D - 1, and eps is never used. By what is the sum
    of squares divided in the contract, and what happens to a position whose numbers are all equal?"""
    return centred(x) / unbiased(x).sqrt() * gamma + beta


def over_axis_1(x, gamma, beta, eps=1e-5):
    """The mean runs over axis 1. For x of shape (T, D) that is the last axis; for (B, T, D) it runs over the words.
    Which number always means the last axis?"""
    mean = x.mean(1, keepdim=True)
    return (x - mean) / (((x - mean) ** 2).mean(1, keepdim=True) + eps).sqrt() * gamma + beta


def batch_norm(x, gamma, beta, eps=1e-5):
    """Every feature was normalised over all positions: that is batch norm. Here each position is normalised over its
    own features. Along which axis do those lie?"""
    flat = x.reshape(-1, x.shape[-1])
    return torch.addcmul(beta, standard(flat.T, eps).T, gamma).reshape(x.shape)


def one_mean_for_all(x, gamma, beta, eps=1e-5):
    """There is one mean and one variance for the whole tensor. Each position has its own: how many means should there
    be for x of shape (B, T, D)?"""
    return standard(x.reshape(-1), eps).reshape(x.shape) * gamma + beta


def one_mean_a_sentence(x, gamma, beta, eps=1e-5):
    """The mean runs over the last two axes, so the words of a sentence share their statistics. Would a word then get
    the same result alone as in company?"""
    both = x.flatten(-2) if x.dim() > 1 else x
    return standard(both, eps).reshape(x.shape) * gamma + beta


def no_eps(x, gamma, beta, eps=1e-5):
    """There is no eps under the root. What happens to a position whose numbers are all equal?"""
    return centred(x) / variance(x).sqrt() * gamma + beta


def eps_beside_the_root(x, gamma, beta, eps=1e-5):
    """eps was added to the standard deviation. The contract adds it to the variance: is that before or after the
    root?"""
    return centred(x) / (variance(x).sqrt() + eps) * gamma + beta


def eps_as_a_floor(x, gamma, beta, eps=1e-5):
    """The variance was kept from falling below eps. What does the contract do with eps where the variance is
    large?"""
    return centred(x) / variance(x).clamp_min(eps).sqrt() * gamma + beta


def fixed_eps(x, gamma, beta, eps=1e-5):
    """eps is always 1e-5 here, whatever is handed over. Where does the fourth argument go?"""
    return standard(x, 1e-5) * gamma + beta


def no_root(x, gamma, beta, eps=1e-5):
    """The deviations were divided by the variance. If x is doubled, how does its variance grow, and how its
    spread?"""
    return centred(x) / (variance(x) + eps) * gamma + beta


def no_variance(x, gamma, beta, eps=1e-5):
    """The mean was taken off, and nothing was divided. What keeps the spread at 1?"""
    return centred(x) * gamma + beta


def no_mean(x, gamma, beta, eps=1e-5):
    """x was divided by its standard deviation, but its mean was not taken off. What is the mean of the result
    supposed to be, before gamma and beta?"""
    return x / (variance(x) + eps).sqrt() * gamma + beta


def rms_norm(x, gamma, beta, eps=1e-5):
    """x was divided by the root of its mean square, and its mean was left in: that is RMS norm, a later cousin.
    Which of the two statistics is missing?"""
    return x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() * gamma + beta


def squares_not_centred(x, gamma, beta, eps=1e-5):
    """The deviations were divided by the root of the mean of x squared. The variance is the mean square of something
    else: of what?"""
    return centred(x) / ((x**2).mean(-1, keepdim=True) + eps).sqrt() * gamma + beta


def unit_length(x, gamma, beta, eps=1e-5):
    """Each position was brought to length 1. The variance is a mean, not a sum: how long is a vector of D numbers
    with variance 1?"""
    return centred(x) / ((centred(x) ** 2).sum(-1, keepdim=True) + eps).sqrt() * gamma + beta


def mean_absolute_deviation(x, gamma, beta, eps=1e-5):
    """The deviations were divided by the mean of their absolute values. The variance is the mean of their squares:
    which large deviations count more in it?"""
    return centred(x) / (centred(x).abs().mean(-1, keepdim=True) + eps) * gamma + beta


def between_zero_and_one(x, gamma, beta, eps=1e-5):
    """Each position was stretched from its smallest to its largest number. Where do mean and variance come in?"""
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low + eps) * gamma + beta


def no_gamma(x, gamma, beta, eps=1e-5):
    """gamma is never used. With which operation does a gain act?"""
    return standard(x, eps) + beta


def no_beta(x, gamma, beta, eps=1e-5):
    """beta is never used. How can the result get a mean other than 0?"""
    return standard(x, eps) * gamma


def no_gamma_and_no_beta(x, gamma, beta, eps=1e-5):
    """The normalised numbers were returned as they are. What are the second and the third argument for?"""
    return standard(x, eps)


def gamma_and_beta_swapped(x, gamma, beta, eps=1e-5):
    """The result was multiplied by beta and gamma was added. Which of them is the gain?"""
    return standard(x, eps) * beta + gamma


def beta_before_gamma(x, gamma, beta, eps=1e-5):
    """beta was added first, and then multiplied by gamma along with the rest. What comes first, stretching or
    shifting?"""
    return (standard(x, eps) + beta) * gamma


def one_plus_gamma(x, gamma, beta, eps=1e-5):
    """The gain is 1 + gamma here. What should gamma = 1 do to the numbers?"""
    return standard(x, eps) * (1 + gamma) + beta


def stretches_first(x, gamma, beta, eps=1e-5):
    """gamma and beta went to x before it was normalised. What is left of a stretch and a shift after
    normalising?"""
    return standard(x * gamma + beta, eps)


def adds_x(x, gamma, beta, eps=1e-5):
    """x was added to the normalised numbers. That is a skip connection: is it part of this function?"""
    return x + standard(x, eps) * gamma + beta


def keepdim_missing(x, gamma, beta, eps=1e-5):
    """The mean lost its last axis, so it lines up with the features instead of the positions. It runs only where
    both are equally many, and is wrong there. How does a mean keep its axis?"""
    deviation = x - x.mean(-1)
    return deviation / ((deviation**2).mean(-1) + eps).sqrt() * gamma + beta


def gamma_along_positions(x, gamma, beta, eps=1e-5):
    """gamma and beta were stood up as a column, so they lie along the positions. Each is one number a feature: along
    which axis of x should they lie?"""
    return standard(x, eps) * gamma[:, None] + beta[:, None]


def mean_of_squares_minus_square(x, gamma, beta, eps=1e-5):
    """The variance was taken as the mean of the squares minus the square of the mean. Far from zero these are two
    huge numbers, and their difference is rounding. What can be subtracted *before* squaring?"""
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / ((x**2).mean(-1, keepdim=True) - mean**2 + eps).sqrt() * gamma + beta


def norm_arguments(generator, *shape):
    """Where D is 1, the variance is 0 and eps alone decides: x is small there, or every rounding would be 300 times as
    large."""
    D = shape[-1]
    x = (2 * torch.randn(shape, generator=generator) + 1) * (0.01 if D == 1 else 1.0)
    return (x, 0.5 + torch.rand(D, generator=generator),
            torch.randn(D, generator=generator))


def norm_example(x, gamma, beta, *eps):
    return torch.tensor(x), torch.tensor(gamma), torch.tensor(beta), *eps


def plain_output(output, generator, *shape):
    """The result for random x, with gain 1 and offset 0."""
    x = norm_arguments(generator, *shape)[0]
    return x, output(x, torch.ones(shape[-1]), torch.zeros(shape[-1]))


def mean_is_zero(output, generator):
    _, out = plain_output(output, generator, 3, 4, 6)
    return bool(out.mean(-1).abs().max() < 1e-4)


def variance_is_one(output, generator):
    _, out = plain_output(output, generator, 3, 4, 6)
    return bool((out.var(-1, correction=0) - 1).abs().max() < 1e-3)


def positions_are_apart(output, generator):
    x, gamma, beta = norm_arguments(generator, 4, 6)
    other = torch.cat([x[:3], x[3:] * 3 + 1])
    return torch.allclose(output(x, gamma, beta)[:3], output(other, gamma, beta)[:3], atol=1e-4)


def shift_does_not_matter(output, generator):
    x, gamma, beta = norm_arguments(generator, 4, 6)
    return torch.allclose(output(x, gamma, beta), output(x + 5, gamma, beta), atol=1e-3)


LAYER_NORM = Exercise(
    name="layer_norm",
    lesson="08",
    asked="at every position by itself, over the last axis: (x - mean) / √(variance + eps) * gamma + beta, where the "
    "variance is the mean of the squared deviations.",
    verified=wires.layer_norm,
    oracle=torch_layer_norm,
    examples=(
        norm_example([[0.0, 0.0, 4.0, 8.0], [3.0, 1.0, 1.0, 0.0]], [1.0, 2.0, 1.0, 0.5], [0.0, 1.0, 2.0, 0.0]),
        norm_example([[[0.0, 4.0, 8.0], [3.0, 1.0, 1.0]], [[2.0, 5.0, 0.0], [1.0, 6.0, 2.0]]],
                     [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]),
        norm_example([0.0, 0.0, 4.0, 8.0], [1.0, 2.0, 1.0, 0.5], [0.0, 1.0, 2.0, 0.0]),
        norm_example([[1.0, 3.0, 8.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [1.0, 2.0, 3.0, 1.0], [0.0, 1.0, -1.0, 2.0]),
        norm_example([[0.001, 0.003, 0.008]], [1.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
        norm_example([[1.0, 3.0, 8.0]], [1.0, 2.0, 1.0], [0.0, 1.0, 0.0], 2.0),
        norm_example([[0.001, 0.003, 0.008]], [1.0, 1.0, 2.0], [0.0, 1.0, 0.0], 0.0),
    ),
    sizes=((2, 3, 5), (4, 7), (2, 3, 4, 6), (5,), (3, 3), (3, 3, 3), (1, 4), (3, 1), (1, 1)),
    square_size=(2, 3, 4),
    make=norm_arguments,
    extremes=(norm_example([[10000.0, 10002.0, 10004.0, 10010.0]], [1.0, 2.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0]),),
    by_hand=(unbiased_variance, unbiased_std_plus_eps, unbiased_std_without_eps, over_axis_1, batch_norm,
              one_mean_for_all, one_mean_a_sentence, no_eps, eps_beside_the_root, eps_as_a_floor, fixed_eps, no_root,
              no_variance, no_mean, rms_norm, squares_not_centred, unit_length, mean_absolute_deviation,
              between_zero_and_one, no_gamma, no_beta, no_gamma_and_no_beta,
              gamma_and_beta_swapped, beta_before_gamma, one_plus_gamma, stretches_first, adds_x, keepdim_missing,
              gamma_along_positions, mean_of_squares_minus_square),
    properties=(
        ("With gamma = 1 and beta = 0 the mean of a position is not 0.", mean_is_zero),
        ("With gamma = 1 and beta = 0 the variance of a position is not 1.", variance_is_one),
        ("A position changes the result of another one.", positions_are_apart),
        ("The same number added to all of x changes the result.", shift_does_not_matter),
    ),
)


# FeedForward


def torch_feed_forward(w, build, x):
    return F.linear(dropout_factor(build[2]) * F.relu(F.linear(x, w["linear1.weight"], w["linear1.bias"])),
                    w["linear2.weight"], w["linear2.bias"])


class TwoLayers(nn.Module):
    """The given constructor, and a forward cut into steps, so that a mistake can override just one of them."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.second(self.drop(self.switch(self.first(x))))

    def first(self, x):
        return self.linear1(x)

    def switch(self, hidden):
        return hidden.relu()

    def drop(self, hidden):
        return self.dropout(hidden)

    def second(self, hidden):
        return self.linear2(hidden)


class no_relu(TwoLayers):
    """There is no switch between the two layers. What can two linear maps in a row do that one cannot?"""

    def switch(self, hidden):
        return hidden


class relu_at_the_end(TwoLayers):
    """The ReLU came after the second layer instead of before it. Can the result then ever be negative?"""

    def switch(self, hidden):
        return hidden

    def second(self, hidden):
        return self.linear2(hidden).relu()


class two_relus(TwoLayers):
    """There is a second ReLU at the end. Which half of all numbers can then never come out?"""

    def second(self, hidden):
        return self.linear2(hidden).relu()


class relu_before_the_first(TwoLayers):
    """The ReLU went over x, before the first layer. Between which two steps does it stand in the formula?"""

    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x.relu())))


class gelu(TwoLayers):
    """The switch is a GELU, as in later models. Which one does the formula of 2017 name?"""

    def switch(self, hidden):
        return F.gelu(hidden)


class tanh(TwoLayers):
    """The switch is a tanh, which bends large numbers. What does max(0, h) do with h = 5?"""

    def switch(self, hidden):
        return hidden.tanh()


class sigmoid(TwoLayers):
    """The switch is a sigmoid. What does max(0, h) do with h = 5, and with h = -5?"""

    def switch(self, hidden):
        return hidden.sigmoid()


class leaky_relu(TwoLayers):
    """A little of the negative numbers comes through the switch. What is max(0, -2)?"""

    def switch(self, hidden):
        return F.leaky_relu(hidden)


class absolute_value(TwoLayers):
    """Negative numbers came through the switch with their sign turned. What is max(0, -2)?"""

    def switch(self, hidden):
        return hidden.abs()


class keeps_the_negative(TwoLayers):
    """The switch lets the negative numbers through and stops the positive ones. Is it max or min?"""

    def switch(self, hidden):
        return hidden.clamp(max=0)


class capped_at_one(TwoLayers):
    """Numbers above 1 were cut to 1 by the switch. On which side does max(0, h) cut?"""

    def switch(self, hidden):
        return hidden.clamp(0, 1)


class capped_at_six(TwoLayers):
    """Numbers above 6 were cut to 6: that is ReLU6. Does max(0, h) have an upper end?"""

    def switch(self, hidden):
        return F.relu6(hidden)


class softmax_as_switch(TwoLayers):
    """The hidden numbers went through a softmax. That makes them compete: does max(0, h) look at other numbers
    than h?"""

    def switch(self, hidden):
        return hidden.softmax(-1)


class adds_x_at_the_end(TwoLayers):
    """x was added to the result. That is the skip connection, which goes *around* this network: who adds it?"""

    def forward(self, x):
        return x + super().forward(x)


class normalises(TwoLayers):
    """The result was normalised. The norm stands outside this network: which exercise is it part of?"""

    def forward(self, x):
        return F.layer_norm(super().forward(x), x.shape[-1:])


class returns_hidden(TwoLayers):
    """These are the hidden numbers, (..., d_ff). What brings them back to the width d_model?"""

    def second(self, hidden):
        return hidden


class no_hidden_layer(TwoLayers):
    """The first layer was left out, and the second one cannot take what is d_model wide. Which layer makes d_ff
    numbers of d_model?"""

    def first(self, x):
        return x


class layers_swapped(TwoLayers):
    """linear2 came first. It takes d_ff numbers, so this runs only where d_ff = d_model. Which of the two widens?"""

    def first(self, x):
        try:
            return self.linear2(x)
        except RuntimeError as error:
            raise LayersSwapped(str(error)) from None

    def second(self, hidden):
        return self.linear1(hidden)


class LayersSwapped(RuntimeError):
    """So that two mistakes that raise can be told apart."""


class weights_not_transposed(TwoLayers):
    """x was multiplied by `linear1.weight` as it lies there. nn.Linear keeps its weight as (out, in): what has to be
    done with it first?"""

    def first(self, x):
        return x @ self.linear1.weight + self.linear1.bias

    def second(self, hidden):
        return hidden @ self.linear2.weight + self.linear2.bias


class no_first_bias(TwoLayers):
    """b_1 is never added. Where would every switch then flip?"""

    def first(self, x):
        return x @ self.linear1.weight.T


class no_second_bias(TwoLayers):
    """b_2 is never added. What should come out where all switches are off?"""

    def second(self, hidden):
        return hidden @ self.linear2.weight.T


class new_weights_each_time(TwoLayers):
    """`forward` made a new layer, with new random weights, at every call. Which of its two layers can then learn?"""

    def first(self, x):
        layer = nn.Linear(self.linear1.in_features, self.linear1.out_features, dtype=x.dtype)
        return layer(x) + 0 * self.linear1(x)


class mixes_positions(TwoLayers):
    """The hidden numbers were averaged over the positions. A word should get the same result alone as in company:
    does it?"""

    def switch(self, hidden):
        hidden = hidden.relu()
        return hidden.mean(-2, keepdim=True).expand_as(hidden) if hidden.dim() > 1 else hidden


class one_position_only(TwoLayers):
    """Only the last position was worked on. How many positions come out where T go in?"""

    def first(self, x):
        return self.linear1(x[..., -1:, :] if x.dim() > 1 else x)


class three_axes_only(TwoLayers):
    """x was taken apart into B, T and D, so it must have three axes. Which axes does nn.Linear leave alone by
    itself?"""

    def first(self, x):
        B, T, D = x.shape
        return self.linear1(x.reshape(B * T, D)).reshape(B, T, -1)


class dropout_forgotten(TwoLayers):
    """In train mode, dropout does two things to the hidden numbers: some become 0, and the others are divided by 1 - p.
    One of the two, or both, did not happen. Who does both for you, as long as it is in train mode?"""

    def drop(self, hidden):
        return hidden


class drops_twice(TwoLayers):
    """In train mode, dropout fell on the hidden numbers twice. How many of them are left if each time half of them
    go?"""

    def drop(self, hidden):
        return self.dropout(self.dropout(hidden))


class dropout_always_on(TwoLayers):
    """Numbers were dropped outside training, too. Who knows whether the module is in train or in eval mode?"""

    def drop(self, hidden):
        return F.dropout(hidden, self.dropout.p)


class dropout_on_x(TwoLayers):
    """Dropout went over x, before the first layer. Which numbers does the contract drop?"""

    def first(self, x):
        return self.linear1(self.dropout(x))

    def drop(self, hidden):
        return hidden


class dropout_on_the_result(TwoLayers):
    """Dropout went over the result. The sum with x has a dropout of its own (exercise 3): which numbers should this
    one drop?"""

    def drop(self, hidden):
        return hidden

    def second(self, hidden):
        return self.dropout(self.linear2(hidden))


def feed_forward_weights(d_model, d_ff, generator):
    return random_weights(nn.ModuleDict({"linear1": nn.Linear(d_model, d_ff), "linear2": nn.Linear(d_ff, d_model)}),
                          generator)


def words(generator, d_model, d_ff, *positions):
    return (torch.randn(*positions, d_model, generator=generator),)


def large_and_with_dropout(generator):
    """Large hidden numbers; and dropout: at 1.0 in train mode the second bias is all that is left.

    The first one is positive: otherwise the switch could hide that x, and not the hidden layer, was dropped.
    """
    x, weights = words(generator, 3, 5, 2), feed_forward_weights(3, 5, generator)
    weights["linear1.bias"] = weights["linear1.bias"].abs() + 0.1
    large = torch.tensor([[[200.0, -100.0], [12.0, -7.0]]])
    return [Call((large,), "large values", build=(2, 3, 0.0), weights=HAND_MADE),
            Call(x, "dropout 1.0 in train mode", build=(3, 5, 1.0), weights=weights, train=True),
            tiny_dropout(*x, build=(3, 5), weights=weights)]


def equal_words_are_equal(output, generator):
    x = torch.randn(3, generator=generator).expand(2, 4, 3)
    return torch.allclose(output(x), output(x)[:1, :1].expand(2, 4, 3), atol=1e-4)


def positions_do_not_meet(output, generator):
    x = torch.randn(2, 4, 3, generator=generator)
    other = torch.cat([x[:, :1], 2 * x[:, 1:]], dim=1)
    return torch.allclose(output(x)[:, 0], output(other)[:, 0], atol=1e-4)


def order_follows(output, generator):
    x = torch.randn(2, 4, 3, generator=generator)
    return torch.allclose(output(x.flip(1)), output(x).flip(1), atol=1e-4)


def is_not_linear(output, generator):
    a, b = torch.randn(2, 2, 4, 3, generator=generator)
    return not torch.allclose(output(a + b) + output(0 * a), output(a) + output(b), atol=1e-4)


HAND_MADE = {"linear1.weight": torch.tensor([[1.0, 0.0], [-1.0, 1.0], [2.0, 1.0]]),
             "linear1.bias": torch.tensor([0.0, 1.0, -1.0]),
             "linear2.weight": torch.tensor([[1.0, 2.0, 0.0], [-1.0, 1.0, 1.0]]),
             "linear2.bias": torch.tensor([0.5, -4.0])}
FEED_FORWARD = Exercise(
    name="FeedForward",
    lesson="08",
    asked="at every position by itself: linear1, ReLU, dropout, linear2. What comes out is as wide as x.",
    verified=wires.FeedForward,
    oracle=torch_feed_forward,
    examples=(
        Call((torch.tensor([[[2.0, -1.0], [-3.0, 2.0]]]),), build=(2, 3, 0.0), weights=HAND_MADE),
        Call((torch.tensor([2.0, -1.0]),), build=(2, 3, 0.0), weights=HAND_MADE),
    ),
    sizes=((3, 5, 2, 4), (5, 3, 4), (4, 6, 2, 3, 5), (3, 7), (4, 4, 3), (4, 4, 4, 4), (2, 1, 3, 1), (1, 1, 1)),
    square_size=(4, 16, 2, 3),
    build=lambda d_model, d_ff, *positions: (d_model, d_ff, 0.0 if (d_model, d_ff) == (3, 5) else 0.5),
    make=words,
    calls=large_and_with_dropout,
    by_hand=(no_relu, relu_at_the_end, two_relus, relu_before_the_first, gelu, tanh, sigmoid, leaky_relu,
              absolute_value, keeps_the_negative, capped_at_one, capped_at_six, softmax_as_switch, adds_x_at_the_end,
              normalises, returns_hidden, no_hidden_layer, layers_swapped, weights_not_transposed, no_first_bias,
              no_second_bias, new_weights_each_time, mixes_positions, one_position_only, three_axes_only,
              dropout_forgotten, drops_twice, dropout_always_on, dropout_on_x, dropout_on_the_result),
    properties=(
        ("Equal words do not get equal results: is dropout at work outside training?", equal_words_are_equal),
        ("A word changes the result of another word: the positions are not apart.", positions_do_not_meet),
        ("Words in another order do not give the same results in that order.", order_follows),
        ("The result is linear in x: no switch is at work.", is_not_linear),
    ),
)


# SublayerConnection


class CalledTwice(Exception):
    """The sublayer was called a second time."""


class CalledWithMore(Exception):
    """The sublayer was called with more than x."""


class NeighbourPlusTwo:
    """A sublayer that looks at x and may be called once, with nothing but x."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x, *more, **named):
        self.calls += 1
        if more or named:
            raise CalledWithMore("the sublayer takes one argument")
        if self.calls > 1:
            raise CalledTwice("the sublayer may be called once only")
        return x.roll(1, dims=-1) * x.abs() + 2 * x.flip(-1)

    def __repr__(self):
        return "a callable: sublayer(x) = x.roll(1, dims=-1) * x.abs() + 2 * x.flip(-1); may be called once"


class ItsArgument(NeighbourPlusTwo):
    """A sublayer that hands back the very tensor it was given."""

    def __call__(self, x):
        return x

    def __repr__(self):
        return "a callable: sublayer(x) returns x itself"


def torch_add_and_norm(w, build, x, sublayer):
    return F.layer_norm(x + dropout_factor(build[1]) * sublayer(x), x.shape[-1:], w["norm.weight"], w["norm.bias"])


def x_and_sublayer(generator, d_model, *positions):
    return torch.randn(*positions, d_model, generator=generator) + 0.5, NeighbourPlusTwo()


def other_circumstances(generator):
    """At a dropout of 1.0 in train mode the norm of x is left; and an answer written into would change x."""
    weights = random_weights(wires.SublayerConnection(5), generator)
    x, sublayer = x_and_sublayer(generator, 5, 2)
    return [Call((x, sublayer), "dropout 1.0 in train mode", build=(5, 1.0), weights=weights, train=True),
            tiny_dropout(x, sublayer, build=(5,), weights=weights),
            Call((x, ItsArgument()), "a sublayer that returns its argument", build=(5, 0.0), weights=weights)]


def sublayer_matters(output, generator):
    x, sublayer = x_and_sublayer(generator, 5, 2, 3)
    return not torch.allclose(output(x, sublayer), output(x, ItsArgument()), atol=1e-4)


def x_comes_through(output, generator):
    x, _ = x_and_sublayer(generator, 5, 2, 3)
    return not torch.allclose(output(x, torch.zeros_like), output(-x, torch.zeros_like), atol=1e-4)


def size_does_not_matter(output, generator):
    x, _ = x_and_sublayer(generator, 5, 2, 3)
    return torch.allclose(output(x, ItsArgument()), output(4 * x, ItsArgument()), atol=1e-3)


def gain_and_offset(gain, offset):
    return {"norm.weight": torch.tensor(gain), "norm.bias": torch.tensor(offset)}


SUBLAYER_CONNECTION = Exercise(
    name="SublayerConnection",
    lesson="08",
    asked="norm(x + dropout(sublayer(x))): the sublayer is called once, with x itself, and its answer is added to x.",
    verified=wires.SublayerConnection,
    oracle=torch_add_and_norm,
    examples=(
        Call((torch.tensor([2.0, -1.0, 0.0]), NeighbourPlusTwo()), build=(3, 0.0),
             weights=gain_and_offset([1.0, 2.0, 1.0], [0.0, 0.5, 1.0])),
        Call((torch.tensor([[2.0, -1.0, 0.0], [1.0, 1.0, 3.0]]), NeighbourPlusTwo()), build=(3, 0.5),
             weights=gain_and_offset([1.0, 2.0, 1.0], [0.0, 0.5, 1.0])),
    ),
    sizes=((5, 2, 3), (3, 4), (4, 2, 3, 5), (6,), (3, 3), (3, 3, 3), (4, 1, 1), (2, 3)),
    square_size=(4, 2, 3),
    build=lambda d_model, *positions: (d_model, 0.0 if d_model == 5 else 0.5),
    make=x_and_sublayer,
    calls=other_circumstances,
    properties=(
        ("It does not matter what the sublayer says.", sublayer_matters),
        ("Where the sublayer says nothing but zeros, x does not come through.", x_comes_through),
        ("A sum four times as large gives another result: it is not normalised.", size_does_not_matter),
    ),
)
EXERCISES = (LAYER_NORM, FEED_FORWARD, SUBLAYER_CONNECTION)
