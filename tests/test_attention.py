"""Every version of attention against code nobody here wrote, and against theorems."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import (
    additive_attention,
    dot_product_attention,
    reweight,
    scaled_dot_product_attention_single,
    weighted_sum,
)

DTYPES = [(torch.float64, 1e-10), (torch.float32, 1e-5)]
sizes = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)
theorem = settings(max_examples=40, deadline=None)


def random(seed, *shapes, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def by_torch(query, inputs, scale):
    return F.scaled_dot_product_attention(query[None, None], inputs[None], inputs[None], scale=scale)[0, 0]


def additive_by_torch(query, inputs, W_q, W_x, v):
    """Version 0 from torch's own layers: two linear maps, a tanh, a linear map to one number."""
    hidden = torch.tanh(F.linear(query, W_q.T) + F.linear(inputs, W_x.T))
    return F.linear(F.softmax(F.linear(hidden, v[None])[:, 0], 0), inputs.T)


PAIRS = {
    "weighted_sum": (weighted_sum, lambda w, x: F.linear(x.T, w[None])[:, 0], [(7,), (7, 5)]),
    "reweight": (reweight, lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0)[0], [(7, 5)]),
    "version 0": (additive_attention, additive_by_torch, [(3,), (7, 5), (3, 4), (5, 4), (4,)]),
    "version 1": (dot_product_attention, lambda q, x: by_torch(q, x, 1.0), [(5,), (7, 5)]),
    "version 2": (scaled_dot_product_attention_single, lambda q, x: by_torch(q, x, 5**-0.5), [(5,), (7, 5)]),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("dtype", "allowed"), DTYPES, ids=["float64", "float32"])
def test_values_and_gradients_are_torch_s_own(name, dtype, allowed):
    """A textbook line with a slip in it, or one that loses a gradient on its way."""
    ours, theirs, shapes = PAIRS[name]
    for seed in range(5):
        args = [t.requires_grad_() for t in random(seed, *shapes, dtype=dtype)]
        mine, other = ours(*args), theirs(*args)
        assert mine.dtype == dtype and (mine - other).abs().max() <= allowed
        mix = torch.randn(mine.shape, dtype=dtype, generator=torch.Generator().manual_seed(9))
        for one, two in zip(torch.autograd.grad((mine * mix).sum(), args),
                            torch.autograd.grad((other * mix).sum(), args), strict=True):
            assert (one - two).abs().max() <= allowed


@theorem
@given(sizes, sizes, seeds)
def test_the_order_of_the_inputs_changes_nothing(N, D, seed):
    """Attention that reads positions into its inputs."""
    query, inputs = random(seed, (D,), (N, D))
    order = torch.randperm(N, generator=torch.Generator().manual_seed(seed))
    for version in (dot_product_attention, scaled_dot_product_attention_single):
        assert torch.allclose(version(query, inputs[order]), version(query, inputs), atol=1e-10)


@theorem
@given(sizes, sizes, seeds)
def test_permuting_tokens_permutes_the_reweighted_tokens(T, D, seed):
    """Self-attention whose rows are mixed up."""
    (x,) = random(seed, (T, D))
    order = torch.randperm(T, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(reweight(x[order]), reweight(x)[order], atol=1e-10)


@theorem
@given(sizes, sizes, seeds)
def test_every_output_is_a_mix_of_the_inputs(N, D, seed):
    """Weights that are negative or do not sum to one."""
    query, inputs = random(seed, (D,), (N, D))
    tagged = torch.cat([inputs[:, :-1], torch.ones(N, 1, dtype=torch.float64)], 1)
    for version in (dot_product_attention, scaled_dot_product_attention_single):
        out = version(query, inputs)
        assert (out <= inputs.amax(0) + 1e-10).all() and (out >= inputs.amin(0) - 1e-10).all()
        assert abs(version(query, tagged)[-1] - 1) < 1e-10


@theorem
@given(sizes, sizes, seeds)
def test_version_2_is_version_1_with_a_shorter_query(N, D, seed):
    """A scale other than the square root of D."""
    query, inputs = random(seed, (D,), (N, D))
    scaled = scaled_dot_product_attention_single(query, inputs)
    assert torch.allclose(scaled, dot_product_attention(query / D**0.5, inputs), atol=1e-10)


@theorem
@given(sizes, sizes, seeds)
def test_reweighting_is_version_1_with_every_token_as_the_query(T, D, seed):
    """A self-attention that is not the attention it is said to be."""
    (x,) = random(seed, (T, D))
    assert torch.allclose(reweight(x), torch.stack([dot_product_attention(row, x) for row in x]), atol=1e-10)


@theorem
@given(sizes, sizes, sizes, seeds)
def test_version_0_with_a_silent_query_asks_every_input_alike(N, D, A, seed):
    """Weights that come from anything but the scores."""
    query, inputs, W_q = random(seed, (D,), (N, D), (D, A))
    out = additive_attention(query, inputs, W_q, torch.zeros(D, A, dtype=torch.float64), torch.ones(A).double())
    assert torch.allclose(out, inputs.mean(0), atol=1e-10)
