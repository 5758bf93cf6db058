"""Lesson 08: `layer_norm`, `FeedForward` and `SublayerConnection`, judged by torch.nn.functional."""

import torch
import torch.nn.functional as F

from course_lib import layers
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import dropout_factor, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import always, equivariant, invariant, rows_are_apart, sensitive

# layer_norm


def torch_layer_norm(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def norm_arguments(generator, *shape):
    """Where D is 1, the variance is 0 and eps alone decides: x is small there, or every rounding would be 300 times as
    large."""
    D = shape[-1]
    x = (2 * torch.randn(shape, generator=generator) + 1) * (0.01 if D == 1 else 1.0)
    return (x, 0.5 + torch.rand(D, generator=generator),
            torch.randn(D, generator=generator))


def norm_example(x, gamma, beta, *eps):
    return torch.tensor(x), torch.tensor(gamma), torch.tensor(beta), *eps


def plain(generator, *shape):
    """Random x, with gain 1 and bias 0."""
    return norm_arguments(generator, *shape)[0], torch.ones(shape[-1]), torch.zeros(shape[-1])


LAYER_NORM = Exercise(
    lesson="08",
    asked="at every position by itself, over the last axis: $(x - mean) / √(variance + eps) · gamma + beta$, where the "
    "variance is the mean of the squared deviations.",
    verified=layers.layer_norm,
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
    properties=(
        ("With gamma = 1 and beta = 0 the mean of a position is not 0.",
         always(plain, (3, 4, 6), lambda out, *args: out.mean(-1).abs().max() < 1e-4)),
        ("With gamma = 1 and beta = 0 the variance of a position is not 1.",
         always(plain, (3, 4, 6), lambda out, *args: (out.var(-1, correction=0) - 1).abs().max() < 1e-3)),
        ("A position changes the result of another one.", rows_are_apart(norm_arguments, (4, 6))),
        ("The same number added to all of x changes the result.",
         invariant(norm_arguments, (4, 6), lambda x, *others: (x + 5, *others), atol=1e-3)),
    ),
)


# FeedForward


def torch_feed_forward(w, build, x):
    return F.linear(dropout_factor(*build[2:]) * F.relu(F.linear(x, w["linear1.weight"], w["linear1.bias"])),
                    w["linear2.weight"], w["linear2.bias"])


def feed_forward_weights(d_model, d_ff, generator):
    return random_weights(layers.FeedForward(d_model, d_ff), generator)


def words(generator, d_model, d_ff, *positions):
    return (torch.randn(*positions, d_model, generator=generator),)


def large_and_with_dropout(generator):
    """Large hidden numbers; and dropout: at 1.0 in train mode the second bias is all that is left.

    The first one is positive: otherwise the nonlinearity could hide that x, and not the hidden layer, was dropped.
    """
    x, weights = words(generator, 3, 5, 2), feed_forward_weights(3, 5, generator)
    weights["linear1.bias"] = weights["linear1.bias"].abs() + 0.1
    large = torch.tensor([[[200.0, -100.0], [12.0, -7.0]]])
    return [Call((large,), "large values", build=(2, 3, 0.0), weights=HAND_MADE),
            Call(x, "dropout 1.0 in train mode", build=(3, 5, 1.0), weights=weights, train=True),
            Call(x, "train mode, built without a dropout", build=(3, 5), weights=weights, train=True),
            tiny_dropout(*x, build=(3, 5), weights=weights)]


def is_not_linear(output, generator):
    a, b = torch.randn(2, 2, 4, 3, generator=generator)
    return not torch.allclose(output(a + b) + output(0 * a), output(a) + output(b), atol=1e-4)


HAND_MADE = {"linear1.weight": torch.tensor([[1.0, 0.0], [-1.0, 1.0], [2.0, 1.0]]),
             "linear1.bias": torch.tensor([0.0, 1.0, -1.0]),
             "linear2.weight": torch.tensor([[1.0, 2.0, 0.0], [-1.0, 1.0, 1.0]]),
             "linear2.bias": torch.tensor([0.5, -4.0])}
FEED_FORWARD = Exercise(
    lesson="08",
    asked="at every position by itself: `linear1`, ReLU, dropout, `linear2`. What comes out is as wide as x.",
    verified=layers.FeedForward,
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
    properties=(
        ("A word changes the result of another word.",
         invariant(words, (3, 5, 2, 4), lambda x: (torch.cat([x[:, :1], 2 * x[:, 1:]], 1),), lambda out: out[:, 0])),
        ("Words in another order do not give the same results in that order.",
         equivariant(words, (3, 5, 2, 4), lambda x: (x.flip(1),), lambda out: out.flip(1))),
        ("The result is linear in x.", is_not_linear),
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
    return F.layer_norm(x + dropout_factor(*build[1:]) * sublayer(x), x.shape[-1:], w["norm.weight"], w["norm.bias"])


def x_and_sublayer(generator, d_model, *positions):
    return torch.randn(*positions, d_model, generator=generator) + 0.5, NeighbourPlusTwo()


def other_circumstances(generator):
    """At a dropout of 1.0 in train mode the norm of x is left; and an answer written into would change x."""
    weights = random_weights(layers.SublayerConnection(5), generator)
    x, sublayer = x_and_sublayer(generator, 5, 2)
    return [Call((x, sublayer), "dropout 1.0 in train mode", build=(5, 1.0), weights=weights, train=True),
            Call((x, sublayer), "train mode, built without a dropout", build=(5,), weights=weights, train=True),
            tiny_dropout(x, sublayer, build=(5,), weights=weights),
            Call((x, ItsArgument()), "a sublayer that returns its argument", build=(5, 0.0), weights=weights)]


def x_comes_through(output, generator):
    x, _ = x_and_sublayer(generator, 5, 2, 3)
    return not torch.allclose(output(x, torch.zeros_like), output(-x, torch.zeros_like), atol=1e-4)


def size_does_not_matter(output, generator):
    x, _ = x_and_sublayer(generator, 5, 2, 3)
    return torch.allclose(output(x, ItsArgument()), output(4 * x, ItsArgument()), atol=1e-3)


def gain_and_offset(gain, offset):
    return {"norm.weight": torch.tensor(gain), "norm.bias": torch.tensor(offset)}


SUBLAYER_CONNECTION = Exercise(
    lesson="08",
    asked="`norm(x + dropout(sublayer(x)))`: the sublayer is called once, with x itself, and its answer is added to x.",
    verified=layers.SublayerConnection,
    oracle=torch_add_and_norm,
    examples=(
        Call((torch.tensor([2.0, -1.0, 0.0]), NeighbourPlusTwo()), build=(3, 0.0),
             weights=gain_and_offset([1.0, 2.0, 1.0], [0.0, 0.5, 1.0])),
        Call((torch.tensor([[2.0, -1.0, 0.0], [1.0, 1.0, 3.0]]), NeighbourPlusTwo()), build=(3, 0.5),
             weights=gain_and_offset([1.0, 2.0, 1.0], [0.0, 0.5, 1.0])),
        Call((torch.tensor([0.02, -0.01, 0.0]), NeighbourPlusTwo()), build=(3, 0.0),  # of so small an x, eps tells 2x
             weights=gain_and_offset([1.0, 2.0, 1.0], [0.0, 0.5, 1.0])),
    ),
    sizes=((5, 2, 3), (3, 4), (4, 2, 3, 5), (6,), (3, 3), (3, 3, 3), (4, 1, 1), (2, 3)),
    square_size=(4, 2, 3),
    build=lambda d_model, *positions: (d_model, 0.0 if d_model == 5 else 0.5),
    make=x_and_sublayer,
    calls=other_circumstances,
    properties=(
        ("Another sublayer gives the same result.",
         sensitive(x_and_sublayer, (5, 2, 3), lambda x, sublayer: (x, ItsArgument()))),
        ("With a sublayer that returns zeros, x and -x give the same result.", x_comes_through),
        ("With a sublayer that returns its argument, x and 4 x give different results.", size_does_not_matter),
    ),
)
EXERCISES = (LAYER_NORM, FEED_FORWARD, SUBLAYER_CONNECTION)
