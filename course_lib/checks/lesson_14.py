"""Lesson 14: patterns judged by torch's convolution and by a loop, steps on graphs by loops over their edges."""

import torch
import torch.nn.functional as F

from course_lib import message_passing as graphs
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import always, equivariant, invariant


# ---- convolution_pattern -------------------------------------------------------------------------------------------
def slide(kernel, T):
    """torch's conv1d of the T unit vectors: column s is what position s alone causes."""
    units = torch.eye(T, dtype=kernel.dtype)[:, None]  # (T, 1, T)
    return F.conv1d(units, kernel[None, None], padding=len(kernel) // 2)[:, 0].T


def make_kernel(generator, K, T):
    return torch.randn(K, generator=generator), T


def one_row_is_the_kernel(output, generator):
    kernel, T = make_kernel(generator, 3, 6)
    M = output(kernel, T)
    return all(torch.allclose(M[t, t - 1:t + 2], kernel, atol=1e-4) for t in range(1, 5))


# ---- recurrence_pattern --------------------------------------------------------------------------------------------
def run_the_loop(gates):
    """The recurrence itself, run on the T unit vectors at once: column s is what x[s] alone causes."""
    x = torch.eye(len(gates), dtype=gates.dtype)
    h = [x[0]]
    for t in range(1, len(gates)):
        h.append(gates[t] * h[-1] + x[t])
    return torch.stack(h)


def make_gates(generator, T):
    return (torch.randn(T, generator=generator),)


def nearly_closed_gates(generator):
    """The product of all these gates is zero in float32, or is zero indeed."""
    return [Call((torch.full((40,), 0.03),), "40 gates of 0.03"), Call((torch.zeros(8),), "8 gates of 0")]


def a_closed_gate_forgets(output, generator):
    gates = make_gates(generator, 6)[0]
    gates[3] = 0
    return bool((output(gates)[3:, :3].abs() < 1e-4).all())


# ---- what messages and updates the checks use ----------------------------------------------------------------------
class Says:
    """A callable that a card can show: two arguments, and what it makes of them in words."""

    def __init__(self, words, function):
        self.words, self.function = words, function

    def __call__(self, first, second):
        return self.function(first, second)

    def __repr__(self):
        return self.words


def both(receiver, sender):
    return receiver + 10 * sender


def product(receiver, sender):
    return receiver * sender**2 - sender


def one_number(receiver, sender):
    return (receiver**2 * sender).sum(-1, keepdim=True) + 1


def ten_senders(receiver, sender):
    return 10 * sender


def squared_receiver(receiver, sender):
    return receiver**2


def new_and_old(x, gathered):
    return gathered - 100 * x


def new_with_old(x, gathered):
    return gathered * 2 + x.sum(-1, keepdim=True) ** 2


BOTH = Says("receiver + 10 * sender", both)
PRODUCT = Says("receiver * sender**2 - sender", product)
ONE_NUMBER = Says("(receiver**2 * sender).sum(-1, keepdim=True) + 1", one_number)
NEW_AND_OLD = Says("gathered - 100 * x", new_and_old)
NEW_WITH_OLD = Says("gathered * 2 + x.sum(-1, keepdim=True) ** 2", new_with_old)


def one_way_streets(generator, N):
    """A random graph in which somebody hears nobody (where there are others), and somebody hears themselves."""
    adjacency = torch.rand(N, N, generator=generator) < 0.5
    if N > 2:
        adjacency[0, 1:3] = True
        adjacency[1, 0] = adjacency[0, 0] = False
        adjacency[1, 1] = adjacency[2, 0] = True
        adjacency[-1] = False
    return adjacency


ORDER = [3, 0, 4, 1, 2]


def in_another_order(x, adjacency, *rest):
    return x[ORDER], adjacency[ORDER][:, ORDER], *rest


def no_edge_no_news(make, size):
    """A law: node 2 gets the same whatever node 1 holds, where there is no edge between them."""
    def without_the_edge(generator, *size):
        x, adjacency, *rest = make(generator, *size)
        adjacency[2, 1], adjacency[2, 3] = False, True
        return x, adjacency, *rest

    louder = torch.tensor([1.0, 3, 1, 1, 1])[:, None]
    return invariant(without_the_edge, size, lambda x, *others: (louder * x, *others), lambda out: out[2], 1e-3)


# ---- message_passing -----------------------------------------------------------------------------------------------
def edge_by_edge(x, adjacency, message, update):
    """One edge after the other; nobody's new value is seen before the end."""
    nothing = torch.zeros_like(message(x[0], x[0]))
    out = []
    for i in range(len(x)):
        gathered = nothing
        for j in range(len(x)):
            if adjacency[i, j]:
                gathered = gathered + message(x[i], x[j])
        out.append(update(x[i], gathered))
    return torch.stack(out)


def make_step(generator, N, D):
    return torch.randn(N, D, generator=generator), one_way_streets(generator, N), PRODUCT, NEW_WITH_OLD


def step(x, adjacency, message=BOTH, update=NEW_AND_OLD):
    return torch.tensor(x), torch.tensor(adjacency), message, update


def other_messages(generator):
    """A message of another width; and what only one end decides has an axis of size one where the other end stands."""
    x, adjacency, _, update = make_step(generator, 4, 3)
    return [Call(step([[1.0, 2.0, 0.0], [-1.0, 3.0, 2.0], [2.0, 1.0, 1.0], [4.0, 0.0, -2.0]],
                      [[False, True, True, False], [True, True, False, True], [False] * 4, [True] * 4],
                      ONE_NUMBER, NEW_WITH_OLD)),
            Call((x, adjacency, Says("10 * sender", ten_senders), update),
                 "a message that the sender alone decides"),
            Call((x, adjacency, Says("receiver**2", squared_receiver), update),
                 "a message that the receiver alone decides")]


# ---- attention_on_graph --------------------------------------------------------------------------------------------
def torch_among_neighbours(x, adjacency, W_q, W_k, W_v):
    """torch's attention, one node at a time, over those it hears and nobody else."""
    query, key, value = x @ W_q, x @ W_k, x @ W_v
    rows = [F.scaled_dot_product_attention(query[None, i:i + 1], key[None, heard], value[None, heard])[0, 0]
            if heard.any() else query.sum() * 0 + torch.zeros(W_v.shape[1], dtype=x.dtype)
            for i, heard in enumerate(adjacency)]
    return torch.stack(rows)


def make_nodes(generator, N, D_x, D_k, D_v):
    x, W_q, W_k, W_v = (torch.randn(*shape, generator=generator)
                        for shape in ((N, D_x), (D_x, D_k), (D_x, D_k), (D_x, D_v)))
    return x, one_way_streets(generator, N), W_q, W_k, W_v


def nodes(x, adjacency, W_q, W_k, W_v):
    return tuple(torch.tensor(part) for part in (x, adjacency, W_q, W_k, W_v))


def complete(generator, N=5):
    x, _, *weights = make_nodes(generator, N, 3, 4, 2)
    return x, torch.ones(N, N, dtype=torch.bool), *weights


def weights_sum_to_one(output, generator):
    x, adjacency, W_q, W_k, W_v = complete(generator)
    ones = torch.ones(5, 1)
    out = output(torch.cat([x[:, :2], ones], 1), adjacency, W_q, W_k, torch.eye(3)[:, 1:])
    return torch.allclose(out[:, 1:], ones, atol=1e-4)


EXERCISES = (
    Exercise(
        lesson="14",
        asked="the (T, T) matrix M for which `M @ x` is x with the kernel slid along it: the kernel's middle weight on "
        "the diagonal, its other weights beside it in their order, zeros elsewhere.",
        verified=graphs.convolution_pattern,
        oracle=slide,
        examples=((torch.tensor([1.0, 2.0, 4.0]), 4), (torch.tensor([1.0, 0.0, 3.0, -2.0, 5.0]), 3)),
        sizes=((5, 7), (3, 6), (7, 3), (5, 5), (7, 2), (5, 1), (3, 1), (1, 3), (1, 1)),
        make=make_kernel,
        calls=lambda generator: [Call(make_kernel(generator, 67, 67), "a long kernel and many tokens")],
        properties=(
            ("A row in the middle does not hold the kernel as it is.", one_row_is_the_kernel),
            ("An entry where the kernel does not reach is not 0.",
             always(make_kernel, (3, 6), lambda M, *args: (M.triu(2) == 0).all() and (M.tril(-2) == 0).all())),
            ("A kernel twice as large does not give a pattern twice as large.",
             equivariant(make_kernel, (3, 6), lambda kernel, T: (2 * kernel, T), lambda M: 2 * M)),
        ),
    ),
    Exercise(
        lesson="14",
        asked="the (T, T) matrix M for which `M @ x` is what the loop `h[t] = gates[t] * h[t - 1] + x[t]` makes, "
        "beginning with `h[0] = x[0]`.",
        verified=graphs.recurrence_pattern,
        oracle=run_the_loop,
        examples=((torch.tensor([7.0, 2.0, 3.0]),), (torch.tensor([5.0, 0.5, 0.0, -2.0]),)),
        sizes=((5,), (7,), (2,), (1,)),
        make=make_gates,
        calls=nearly_closed_gates,
        properties=(
            ("An entry above the diagonal is not 0.",
             always(make_gates, (6,), lambda M, gates: (M.triu(1).abs() < 1e-4).all())),
            ("An entry on the diagonal is not 1.",
             always(make_gates, (6,), lambda M, gates: (M.diagonal() - 1).abs().max() < 1e-4)),
            ("With gates[3] = 0 an entry from row 3 on, in the first three columns, is not 0.", a_closed_gate_forgets),
        ),
    ),
    Exercise(
        lesson="14",
        asked="for every node i, `update(x[i], gathered)`, where `gathered` is the sum of `message(x[i], x[j])` over "
        "all j with `adjacency[i, j]`: (N, U).",
        verified=graphs.message_passing,
        oracle=edge_by_edge,
        examples=(
            step([[1.0], [2.0], [4.0]], [[False, True, True], [True, False, False], [False, False, True]]),
            step([[1.0, 0.0], [2.0, 3.0]], [[False, True], [False, False]]),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        make=make_step,
        calls=other_messages,
        properties=(
            ("With the nodes in another order, the results are not just in another order.",
             equivariant(make_step, (5, 3), in_another_order, lambda out: out[ORDER], 1e-3)),
            ("x[j] changes the result of node i although adjacency[i, j] is False.",
             no_edge_no_news(make_step, (5, 3))),
        ),
    ),
    Exercise(
        lesson="14",
        asked="version 5 in which node i attends to the nodes j with `adjacency[i, j]` and to nobody else; zeros for "
        "a node that hears nobody: `(N, D_v)`.",
        verified=graphs.attention_on_graph,
        oracle=torch_among_neighbours,
        examples=(
            nodes([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]],
                  [[False, True, True], [True, False, False], [False, False, True]],
                  [[2.0], [1.0]], [[1.0], [-1.0]], [[1.0, 0.0], [0.0, 3.0]]),
            nodes([[1.0, 2.0], [3.0, 0.0]], [[False, True], [False, False]],
                  [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]], [[1.0], [2.0]]),
        ),
        sizes=((5, 3, 4, 2), (3, 7, 2, 5), (4, 4, 4, 4), (1, 3, 2, 5), (3, 1, 1, 1), (1, 1, 1, 1)),
        square_size=(5, 3, 4, 2),
        make=make_nodes,
        extremes=(nodes([[40.0, 0.0], [0.0, 40.0], [40.0, 40.0]],
                        [[True, True, True], [True, True, False], [False] * 3],
                        [[1.5], [0.0]], [[1.0], [0.0]], [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]),
                  nodes([[10.0, 1.0], [-10.0, 3.0]], [[False, True], [True, False]],
                        [[20.0], [0.0]], [[20.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]])),
        properties=(
            ("On the complete graph a feature that is 1 in every value does not stay 1.", weights_sum_to_one),
            ("With the nodes in another order, the results are not just in another order.",
             equivariant(make_nodes, (5, 3, 4, 2), in_another_order, lambda out: out[ORDER])),
            ("x[j] changes the result of node i although adjacency[i, j] is False.",
             no_edge_no_news(make_nodes, (5, 3, 4, 2))),
        ),
    ),
)
