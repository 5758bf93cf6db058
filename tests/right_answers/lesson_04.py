"""Right answers of lesson 04 in other people's styles."""

import math

import torch
import torch.nn.functional as F

from tests.right_answers.loops import mix


def row_by_row(scores):
    """Python's own maximum and sum, one number at a time."""
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        e = [(s - max(row)).exp() for s in row]
        rows.append(torch.stack([value / sum(e) for value in e]))
    return torch.stack(rows).reshape(scores.shape)


def in_one_pass(scores):
    """A running maximum and a running sum, as fused kernels have them."""
    largest = torch.full_like(scores[..., 0], torch.finfo(scores.dtype).min)
    total = torch.zeros_like(largest)
    for s in scores.unbind(-1):
        new = torch.maximum(largest, s)
        total = total * torch.exp(largest - new) + torch.exp(s - new)
        largest = new
    return torch.exp(scores - largest[..., None]) / total[..., None]


def sorted_first(scores):
    """The maximum is the first of the sorted scores, and e a number with a power."""
    top = scores.sort(dim=-1, descending=True).values[..., :1].detach()
    powers = math.e ** (scores - top)
    return torch.einsum("...n,...->...n", powers, 1 / powers.sum(-1))


def axis_in_front(scores):
    """The last axis moved to the front, where no keepdim is needed."""
    s = scores.movedim(-1, 0)
    e = torch.exp(s - s.max(dim=0)[0])
    return (e / e.sum(0)).movedim(0, -1)


RIGHT_ANSWERS = {
    "softmax": {
        "row by row": row_by_row,
        "in one pass": in_one_pass,
        "sorted first": sorted_first,
        "axis in front": axis_in_front,
        "logarithms": lambda s: torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True)),
        "built-in": lambda s: torch.softmax(s, -1),
        "built-in method": lambda s: s.softmax(dim=-1),
        "built-in, with logarithms": lambda s: F.log_softmax(s, dim=-1).exp(),
    },
    "dot_product_attention": {
        "loop": lambda q, x: mix(torch.stack([row @ q for row in x]), x),
        "einsum": lambda q, x: torch.einsum("n,nd->d", torch.einsum("d,nd->n", q, x).softmax(0), x),
        "built-in": lambda q, x: F.scaled_dot_product_attention(q[None, None], x[None], x[None], scale=1.0)[0, 0],
        "columns": lambda q, x: (x.T @ torch.softmax((x @ q[:, None]), dim=0)).squeeze(1),
        "elementwise": lambda q, x: (torch.softmax((x * q).sum(-1), -1)[:, None] * x).sum(0),
        "logarithms": lambda q, x: torch.exp(torch.mv(x, q) - torch.logsumexp(torch.mv(x, q), 0)) @ x,
    },
    "scaled_dot_product_attention_single": {
        "loop": lambda q, x: mix(torch.stack([row @ q / len(q) ** 0.5 for row in x]), x),
        "einsum": lambda q, x: torch.einsum("n,nd->d", (torch.einsum("d,nd->n", q, x) * len(q) ** -0.5).softmax(0), x),
        "built-in": lambda q, x: F.scaled_dot_product_attention(q[None, None], x[None], x[None])[0, 0],
        "tensor root": lambda q, x: torch.softmax(x @ q / torch.sqrt(torch.tensor(q.shape[0])), 0) @ x,
        "scale both": lambda q, x: torch.softmax((x / len(q) ** 0.25) @ (q / len(q) ** 0.25), 0) @ x,
    },
}


def asked_often(attend):
    """Random sizes and numbers, against torch's own."""
    generator = torch.Generator().manual_seed(3)
    for N, D in ((2, 3), (5, 7), (3, 2), (6, 5)):
        query, inputs = torch.randn(D, generator=generator) * 2, torch.randn(N, D, generator=generator)
        expected = F.scaled_dot_product_attention(query[None, None], inputs[None], inputs[None])[0, 0]
        if not torch.allclose(attend(query, inputs), expected, atol=1e-4):
            return False
    return True


def by_hand(attend):
    """One example with whole scores: two inputs, nine channels."""
    query, inputs = torch.zeros(9), torch.zeros(2, 9)
    query[0] = inputs[0, 0] = 3.0  # scores 9 and 0, scaled 3 and 0
    share = 1 / (1 + torch.exp(torch.tensor(-3.0)))
    wanted = torch.zeros(9)
    wanted[0] = 3 * share
    return bool((attend(query, inputs) - wanted).abs().max() < 1e-4)


def by_a_loop(attend):
    """The definition, number by number, for one query."""
    query, inputs = [1.0, -2.0, 0.5], [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [3.0, 1.0, 0.0], [1.0, -1.0, 1.0]]
    e = [math.exp(sum(q * a for q, a in zip(query, row, strict=True)) / math.sqrt(3)) for row in inputs]
    wanted = [sum(w * row[d] for w, row in zip(e, inputs, strict=True)) / sum(e) for d in range(3)]
    got = attend(torch.tensor(query), torch.tensor(inputs)).tolist()
    return all(abs(a - b) < 1e-4 for a, b in zip(wanted, got, strict=True))


def two_widths(attend):
    """Version 2 at two widths and with a different number of inputs."""
    def holds(N, D):
        generator = torch.Generator().manual_seed(N)
        q, x = torch.randn(D, generator=generator), torch.randn(N, D, generator=generator)
        return torch.allclose(attend(q, x), torch.softmax(x @ q / D**0.5, 0) @ x, rtol=1e-3)

    return holds(7, 2) and holds(4, 6)


def solves_for_the_scale(attend):
    """From the weights that come out, the scale that went in."""
    q = torch.tensor([2.0, 0.0, 0.0, 0.0, 0.0])
    x = torch.tensor([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]])
    w = attend(q, x)[1:4]
    return bool(abs(w.sum() - 1) < 1e-4 and abs((w[0] / w[1]).log() - 2 / 5**0.5) < 1e-3)


RIGHT_ANSWERS["is_version_2"] = {f.__name__: f for f in (asked_often, by_hand, by_a_loop, two_widths,
                                                         solves_for_the_scale)}
