"""Lesson 15b: the parts of a decoder of today, judged by torch.nn.functional and, for rotations, by complex numbers."""

import torch
import torch.nn.functional as F

from course_lib import llama
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import a_constant_stays, always, invariant, rows_are_apart

# rms_norm


def torch_rms_norm(x, gain, eps=1e-5):
    return F.rms_norm(x, x.shape[-1:], gain, eps)


def make_norm(generator, *size):
    return torch.randn(*size, generator=generator) + 0.5, torch.randn(size[-1], generator=generator) + 0.3


def norm_example(x, gain, *eps):
    return torch.tensor(x), torch.tensor(gain), *eps


def mean_square_is_one(output, generator):
    x, _ = make_norm(generator, 4, 6)
    return torch.allclose(output(x, torch.ones(6)).square().mean(-1), torch.ones(4), atol=1e-3)


RMS_NORM = Exercise(
    lesson="15b",
    asked="every vector along the last axis divided by √(mean of its squares + eps), then times the gain.",
    verified=llama.rms_norm,
    oracle=torch_rms_norm,
    examples=(
        norm_example([[1.0, 7.0], [0.0, 4.0], [3.0, -3.0]], [1.0, 2.0]),
        norm_example([[1.0, 7.0, 0.0, 0.0]], [1.0, 2.0, 1.0, 3.0]),
        norm_example([[[2.0, 1.0], [0.0, 4.0]], [[1.0, 1.0], [5.0, 1.0]], [[1.0, 0.0], [3.0, 1.0]]], [1.0, 2.0]),
        norm_example([3.0, 4.0, 0.0], [1.0, 2.0, 1.0]),
        norm_example([[0.0, 0.0], [1.0, 7.0]], [1.0, 2.0]),
        norm_example([[0.001, 0.002]], [1.0, 2.0]),
        norm_example([[1.0, 7.0]], [1.0, 2.0], 2.0),
    ),
    sizes=((3, 5), (2, 3, 4), (2, 5, 3, 6), (7,), (4, 4), (3, 3, 3), (1, 4), (3, 1), (1, 1)),
    square_size=(2, 3, 4),
    make=make_norm,
    extremes=(norm_example([[30000.0, 40000.0]], [1.0, 2.0]),),
    properties=(
        ("A vector twice as long gives another result.",
         invariant(make_norm, (4, 6), lambda x, gain: (2 * x, gain), atol=1e-3)),
        ("With a gain of 1 the mean square of the result is not 1.", mean_square_is_one),
        ("A position changes the result of another one.", rows_are_apart(make_norm, (4, 6))),
    ),
)


# apply_rope


def complex_turn(x, base=10000.0):
    """Each pair is a complex number, and turning is multiplying by e^(i angle)."""
    T, d = x.shape[-2:]
    frequency = torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)
    angle = torch.arange(T).double()[:, None] * frequency
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)


def make_rope(generator, *size):
    return (torch.randn(*size, generator=generator),)


def rope_calls(generator):
    """Other bases; judged in float32 only, since angles in float32 are as right as needed."""
    x = torch.randn(4, 8, generator=generator)
    return [Call((torch.randn(2, 3, 5, 6, generator=generator), 100000.0)),
            Call((x, 50.0)),
            Call((x,), "called before with another base", earlier=((x, 50.0),))]


def lengths_stay(output, generator):
    (x,) = make_rope(generator, 2, 5, 6)
    pairs = lambda t: t.unflatten(-1, (-1, 2)).norm(dim=-1).sort(-1).values  # noqa: E731
    return torch.allclose(pairs(output(x)), pairs(x), atol=1e-4)


def scores_depend_on_the_distance(output, generator):
    q, k = torch.randn(2, 6, generator=generator)
    scores = output(q.expand(5, 6)) @ output(k.expand(5, 6)).T
    return all(torch.allclose(s, s[:1].expand_as(s), atol=1e-3) for s in (scores.diagonal(i) for i in range(-3, 4)))


APPLY_ROPE = Exercise(
    lesson="15b",
    asked="each pair `(x[t, 2i], x[t, 2i+1])` turned counter-clockwise by $t / base^(2i / d)$ radians.",
    verified=llama.apply_rope,
    oracle=complex_turn,
    examples=(
        (torch.tensor([[1.0, 2.0, 3.0, 0.0], [1.0, 0.0, 0.0, 2.0]]), 100.0),
        (torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 2.0, 1.0]]),),
        (torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]]),),
    ),
    sizes=((2, 3, 5, 4), (5, 6), (2, 4, 8), (4, 4), (4, 4, 4, 4), (66, 2), (3, 2), (1, 2)),
    square_size=(2, 3, 1, 4),
    make=make_rope,
    calls=rope_calls,
    extremes=((torch.tensor([[1000.0, 2000.0], [3000.0, 1000.0]]),),),
    properties=(
        ("At position 0 the vector is changed.",
         always(make_rope, (2, 5, 6), lambda out, x: torch.allclose(out[:, 0], x[:, 0], atol=1e-4))),
        ("The pairs change their lengths.", lengths_stay),
        ("The score of two tokens depends on more than their distance.", scores_depend_on_the_distance),
    ),
)


# SwiGLU


def torch_swiglu(w, build, x):
    gate, up = F.linear(x, w["gate.weight"]), F.linear(x, w["up.weight"])
    return F.linear(F.silu(gate) * up, w["down.weight"])


def make_swiglu(generator, d_model, d_ff, *positions):
    return (2 * torch.randn(*positions, d_model, generator=generator),)


def zero_stays_zero(output, generator):
    return torch.allclose(output(torch.zeros(2, 3)), torch.zeros(2, 3), atol=1e-4)


def is_not_linear(output, generator):
    x = torch.randn(4, 3, generator=generator)
    return not torch.allclose(output(2 * x), 2 * output(x), atol=1e-3)


GATES = {"gate.weight": torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 0.5]]),
         "up.weight": torch.tensor([[0.0, 1.0], [2.0, 0.0], [1.0, -1.0]]),
         "down.weight": torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]])}
SWIGLU = Exercise(
    lesson="15b",
    asked="`down(silu(gate(x)) * up(x))`, with $silu(z) = z · sigmoid(z)$; what comes out is as wide as x.",
    verified=llama.SwiGLU,
    oracle=torch_swiglu,
    examples=(
        Call((torch.tensor([[2.0, 3.0], [-1.0, 1.0]]),), build=(2, 3), weights=GATES),
        Call((torch.tensor([2.0, 3.0]),), build=(2, 3), weights=GATES),
    ),
    sizes=((3, 5, 2, 4), (5, 3, 4), (4, 6, 2, 3, 5), (3, 7), (4, 4, 3), (4, 4, 4, 4), (2, 1, 3, 1), (1, 1, 1)),
    square_size=(4, 6, 2, 3),
    build=lambda d_model, d_ff, *positions: (d_model, d_ff),
    make=make_swiglu,
    calls=lambda generator: [Call((torch.tensor([[200.0, 300.0], [-300.0, 200.0]]),), "large values", build=(2, 3),
                                  weights=GATES)],
    properties=(
        ("A position changes the result of another one.",
         invariant(make_swiglu, (3, 5, 2, 4), lambda x: (torch.cat([x[:, :1], 2 * x[:, 1:]], 1),),
                   lambda out: out[:, 0])),
        ("Zeros do not give zeros.", zero_stays_zero),
        ("Twice x gives twice the result.", is_not_linear),
    ),
)


# grouped_query_attention


def torch_grouped(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def make_groups(generator, B, H, G, T, d):
    return (torch.randn(B, H, T, d, generator=generator), torch.randn(B, G, T, d, generator=generator),
            torch.randn(B, G, T, d, generator=generator))


def grouped_calls(generator):
    return [Call(make_groups(generator, 2, 6, 3, 5, 4), "called before with fewer heads of keys and values",
                 earlier=(make_groups(generator, 2, 6, 2, 5, 4),)),
            Call(make_groups(generator, 1, 4, 2, 7, 3), "on a GPU, called before on the CPU", on_gpu=True,
                 earlier=(make_groups(generator, 1, 4, 2, 7, 3),)),
            Call(make_groups(generator, 1, 130, 65, 3, 2), "sixty-five heads of keys and values")]


LATE = torch.arange(5)[:, None] >= 3
# Four query heads, two heads of keys and values; values tell at a glance whose they are.
SMALL_GROUPS = (torch.tensor([[[[1.0], [2.0]], [[0.0], [1.0]], [[2.0], [-1.0]], [[1.0], [3.0]]]]),
                torch.tensor([[[[1.0], [0.0]], [[-1.0], [1.0]]]]),
                torch.tensor([[[[1.0], [2.0]], [[10.0], [20.0]]]]))
GROUPED = Exercise(
    lesson="15b",
    asked="causal $softmax(query key^T / √d) value$ in every one of the H heads; query heads 0 to $H/G - 1$ read key "
    "and value head 0, the next $H/G$ head 1, and so on.",
    verified=llama.grouped_query_attention,
    oracle=torch_grouped,
    examples=(
        SMALL_GROUPS,
        (torch.tensor([[[[1.0, 0.0], [1.0, 2.0]], [[0.0, 1.0], [2.0, 1.0]]]]),
         torch.tensor([[[[1.0, 2.0], [0.0, 1.0]]]]), torch.tensor([[[[1.0, 0.0], [0.0, 5.0]]]])),
    ),
    sizes=((2, 6, 3, 5, 4), (3, 6, 2, 4, 5), (1, 4, 1, 3, 2), (2, 3, 3, 5, 4), (4, 4, 2, 4, 4), (1, 1, 1, 66, 1),
           (2, 2, 1, 1, 3), (1, 1, 1, 1, 1)),
    square_size=(2, 6, 3, 5, 4),
    make=make_groups,
    calls=grouped_calls,
    extremes=((torch.tensor([[[[40.0], [60.0]], [[50.0], [30.0]]]]), torch.tensor([[[[30.0], [40.0]]]]),
               torch.tensor([[[[1.0], [2.0]]]])),
              (torch.tensor([[[[200.0], [100.0]]]]), torch.tensor([[[[-200.0], [100.0]]]]),
               torch.tensor([[[[1.0], [2.0]]]]))),
    properties=(
        ("A later key or value changes the result of an earlier query.",
         invariant(make_groups, (2, 4, 2, 5, 3), lambda q, k, v: (q, k + LATE, v + 9 * LATE),
                   lambda out: out[:, :, :3])),
        ("A feature that is 1 in every value does not stay 1.",
         a_constant_stays(make_groups, (2, 4, 2, 5, 3), inputs=2)),
        ("The values of another group change the result.",
         invariant(make_groups, (2, 4, 2, 5, 3), lambda q, k, v: (q, k, torch.cat([v[:, :1], v[:, 1:] + 9], 1)),
                   lambda out: out[:, :2])),
    ),
)

# halves_to_neighbours


def row_by_row(weight, num_heads):
    """The old place of each new row, one after the other."""
    d, rows = len(weight) // num_heads, []
    for head in range(num_heads):
        for i in range(d // 2):
            rows += [weight[head * d + i], weight[head * d + i + d // 2]]
    return torch.stack(rows)


def make_projection(generator, H, half, D):
    return torch.randn(H * 2 * half, D, generator=generator), H


def turned_halves(x):
    """torch's complex numbers turn the pairs (i, i + d/2) of (H, T, d)."""
    T, d = x.shape[-2:]
    angle = torch.arange(T)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)  # (T, d/2)
    pairs = torch.complex(*x.unflatten(-1, (2, -1)).unbind(-2)) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([pairs.real, pairs.imag], -1)


def scores_stay(output, generator):
    """Queries and keys of two heads, 6 wide, in their own layout, and in the other after both were brought over."""
    x = torch.randn(7, 5, generator=generator)
    W_q, W_k = (make_projection(generator, 2, 3, 5)[0] for _ in range(2))

    def scores(maps, turn):
        q, k = ((x @ W.T).unflatten(-1, (2, -1)).transpose(0, 1) for W in maps)  # (2, 7, 6)
        return turn(q) @ turn(k).mT

    return torch.allclose(scores([output(W_q, 2), output(W_k, 2)], complex_turn),
                          scores([W_q, W_k], turned_halves), atol=1e-3)


HALVES = Exercise(
    lesson="15b",
    asked="in each head of d rows, row i and row i + d/2 come to stand at 2i and 2i + 1: (out, in), the heads in their "
    "old order.",
    verified=llama.halves_to_neighbours,
    oracle=row_by_row,
    examples=((torch.arange(6.0)[:, None], 1), (torch.arange(12.0)[:, None], 2)),
    sizes=((2, 3, 5), (3, 4, 2), (1, 5, 3), (4, 3, 7), (3, 3, 6), (2, 1, 3), (1, 1, 1)),
    make=make_projection,
    properties=(
        ("Some rows are missing, occur twice or were changed.",
         always(make_projection, (2, 3, 4), lambda out, weight, H: torch.equal(out.sort(0).values,
                                                                              weight.sort(0).values))),
        ("After both projections were brought over, the scores are not what they were.", scores_stay),
    ),
)
EXERCISES = (RMS_NORM, APPLY_ROPE, HALVES, SWIGLU, GROUPED)
