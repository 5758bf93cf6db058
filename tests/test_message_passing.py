"""Patterns of connections against the layers they stand for, and steps on graphs against torch's attention."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.message_passing import attention_on_graph, convolution_pattern, message_passing, recurrence_pattern


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def doubles(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(("K", "T"), [(1, 4), (3, 7), (5, 3), (7, 7), (3, 1)])
def test_a_convolution_is_its_pattern(generator, K, T):
    """A kernel turned round, a band one column off, or a wrong idea of what lies beyond the ends."""
    kernel, x = doubles(generator, K), doubles(generator, T)
    layer = nn.Conv1d(1, 1, K, padding=K // 2, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(kernel[None, None])
        assert torch.allclose(convolution_pattern(kernel, T) @ x, layer(x[None, None])[0, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("T", [1, 2, 9])
def test_a_recurrence_is_its_pattern(generator, T):
    """A gate too many or too few; a gate of zero that makes NaN."""
    gates, x = doubles(generator, T), doubles(generator, T)
    gates[T // 2] = 0
    h, states = torch.zeros((), dtype=torch.float64), []
    for a, news in zip(gates, x, strict=True):
        h = a * h + news
        states.append(h)
    assert torch.allclose(recurrence_pattern(gates) @ x, torch.stack(states), rtol=0, atol=1e-12)


def test_a_gate_of_zero_has_a_gradient(generator):
    """Quotients of running products: right values, and a gradient of NaN."""
    gates = torch.tensor([1.0, 0.0, 2.0, -1.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(recurrence_pattern, (gates,))


def test_the_same_weight_on_every_edge_is_a_product_with_the_adjacency(generator):
    """Edges read the wrong way round."""
    x, adjacency = doubles(generator, 6, 3), torch.rand(6, 6, generator=generator) < 0.4
    out = message_passing(x, adjacency, lambda receiver, sender: sender + 0 * receiver, lambda x, gathered: gathered)
    assert torch.allclose(out, adjacency.double() @ x, rtol=0, atol=1e-12)


def test_who_hears_nobody_gathers_zeros(generator):
    """An update that is skipped, or a NaN, where a row of the adjacency is empty."""
    x, nobody = doubles(generator, 4, 3), torch.zeros(4, 4, dtype=torch.bool)
    out = message_passing(x, nobody, lambda receiver, sender: receiver * sender, lambda x, gathered: x + gathered)
    assert torch.equal(out, x)
    assert torch.equal(attention_on_graph(x, nobody, *doubles(generator, 3, 3, 2)), torch.zeros(4, 2).double())


def test_on_the_complete_graph_it_is_version_5(generator):
    """A mask that hides something although all edges are there."""
    x, W_q, W_k, W_v = (doubles(generator, *shape) for shape in ((5, 3), (3, 4), (3, 4), (3, 2)))
    expected = F.scaled_dot_product_attention((x @ W_q)[None], (x @ W_k)[None], (x @ W_v)[None])[0]
    assert torch.allclose(attention_on_graph(x, torch.ones(5, 5).bool(), W_q, W_k, W_v), expected, rtol=0, atol=1e-12)


def test_a_lonely_node_does_not_spoil_the_gradients(generator):
    """A softmax over nothing: finite values, NaN on the way back."""
    x, W_q, W_k, W_v = (doubles(generator, *shape).requires_grad_() for shape in ((3, 2), (2, 2), (2, 2), (2, 2)))
    adjacency = torch.tensor([[False, True, True], [False, False, False], [True, True, True]])
    assert torch.autograd.gradcheck(lambda *a: attention_on_graph(a[0], adjacency, *a[1:]), (x, W_q, W_k, W_v))
