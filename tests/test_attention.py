"""Every version of attention against code nobody here wrote, and against theorems."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.attention import (
    MultiHeadAttention,
    additive_attention,
    attention_patterns,
    attention_query_matrix,
    bahdanau_context,
    cross_attention,
    dot_product_attention,
    reweight,
    scaled_dot_product_attention,
    scaled_dot_product_attention_single,
    self_attention,
    soft_max_pool,
    softmax,
    weighted_sum,
)
from course_lib.experiments import looking
from course_lib.fused import fused_attention
from course_lib.masks import causal_mask, padding_mask, padding_mask_from_ids
from course_lib.transformer import EncoderLayer

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


def bahdanau_by_torch(state, states, W_d, W_e, v):
    return torch.stack([additive_by_torch(s, h, W_d, W_e, v) for s, h in zip(state, states, strict=True)])


def cross_by_torch(queries, inputs, W_k, W_v):
    keys, values = F.linear(inputs, W_k.T), F.linear(inputs, W_v.T)
    return F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]


def pool_by_torch(x):
    return torch.cat([by_torch(torch.ones_like(x[0, :1]), channel[:, None], 2.0) for channel in x.T])


MASK = torch.rand(2, 7, 6, generator=torch.Generator().manual_seed(1)) > 0.4
MASK[..., 0] = True
PAIRS = {
    "softmax": (softmax, lambda s: F.softmax(s, -1), [(2, 7, 5)]),
    "soft max pool": (lambda x: soft_max_pool(x, 2.0), pool_by_torch, [(7, 5)]),
    "Bahdanau": (lambda *args: bahdanau_context(*args)[0], bahdanau_by_torch,
                 [(2, 3), (2, 7, 5), (3, 4), (5, 4), (4,)]),
    "version 3": (attention_query_matrix, lambda q, x: F.scaled_dot_product_attention(q[None], x[None], x[None])[0],
                  [(6, 5), (7, 5)]),
    "version 4": (cross_attention, cross_by_torch, [(6, 3), (7, 5), (5, 3), (5, 4)]),
    "version 5": (self_attention, lambda x, W_q, W_k, W_v: cross_by_torch(F.linear(x, W_q.T), x, W_k, W_v),
                  [(7, 5), (5, 3), (5, 3), (5, 4)]),
    "masked": (lambda q, k, v: scaled_dot_product_attention(q, k, v, MASK),
               lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=MASK),
               [(2, 7, 4), (2, 6, 4), (2, 6, 3)]),
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
            assert (one - two).abs().max() <= allowed * max(1, two.abs().max())


@theorem
@given(sizes, seeds, st.floats(-1e4, 1e4), st.floats(0, 1e4))
def test_softmax_is_torch_s_own_however_large_the_scores(N, seed, shift, spread):
    """An exponential that overflows, or a row whose exponentials are all 0."""
    scores = random(seed, (3, N), dtype=torch.float32)[0] * spread + shift
    scores[0, 1:] = -torch.inf
    assert torch.allclose(softmax(scores), F.softmax(scores, -1), rtol=0, atol=1e-6)


@theorem
@given(sizes, sizes, seeds)
def test_the_order_of_the_inputs_changes_nothing(N, D, seed):
    """Attention that reads positions into its inputs."""
    query, inputs = random(seed, (D,), (N, D))
    order = torch.randperm(N, generator=torch.Generator().manual_seed(seed))
    for version in (dot_product_attention, scaled_dot_product_attention_single):
        assert torch.allclose(version(query, inputs[order]), version(query, inputs), rtol=0, atol=1e-10)


@theorem
@given(sizes, sizes, seeds)
def test_permuting_tokens_permutes_the_reweighted_tokens(T, D, seed):
    """Self-attention whose rows are mixed up."""
    (x,) = random(seed, (T, D))
    order = torch.randperm(T, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(reweight(x[order]), reweight(x)[order], rtol=0, atol=1e-10)


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
    assert torch.allclose(scaled, dot_product_attention(query / D**0.5, inputs), rtol=0, atol=1e-10)


@theorem
@given(sizes, sizes, seeds)
def test_reweighting_is_version_1_with_every_token_as_the_query(T, D, seed):
    """A self-attention that is not the attention it is said to be."""
    (x,) = random(seed, (T, D))
    assert torch.allclose(reweight(x), torch.stack([dot_product_attention(row, x) for row in x]), rtol=0, atol=1e-10)


@theorem
@given(sizes, sizes, sizes, seeds)
def test_version_0_with_a_silent_query_asks_every_input_alike(N, D, A, seed):
    """Weights that come from anything but the scores."""
    query, inputs, W_q = random(seed, (D,), (N, D), (D, A))
    out = additive_attention(query, inputs, W_q, torch.zeros(D, A, dtype=torch.float64), torch.ones(A).double())
    assert torch.allclose(out, inputs.mean(0), rtol=0, atol=1e-10)


@theorem
@given(sizes, sizes, sizes, seeds)
def test_each_version_holds_the_one_before_it(M, N, D, seed):
    """A ladder with a broken rung: a query of version 3 is version 2, 4 with identities is 3, 5 is 4 of itself."""
    queries, inputs, W_q, W_k, W_v = random(seed, (M, D), (N, D), (D, D), (D, D), (D, 3))
    one = torch.eye(D, dtype=torch.float64)
    row_by_row = torch.stack([scaled_dot_product_attention_single(q, inputs) for q in queries])
    assert torch.allclose(attention_query_matrix(queries, inputs), row_by_row, rtol=0, atol=1e-10)
    third = attention_query_matrix(queries, inputs)
    assert torch.allclose(cross_attention(queries, inputs, one, one), third, rtol=0, atol=1e-10)
    fourth = cross_attention(inputs @ W_q, inputs, W_k, W_v)
    assert torch.allclose(self_attention(inputs, W_q, W_k, W_v), fourth, rtol=0, atol=1e-10)


def same_weights(d_model, num_heads, dtype):
    """Our multi-head attention and torch's, with the same weights."""
    ours = MultiHeadAttention(d_model, num_heads).to(dtype)
    theirs = torch.nn.MultiheadAttention(d_model, num_heads, batch_first=True).to(dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([W.weight for W in (ours.W_q, ours.W_k, ours.W_v)]))
        theirs.in_proj_bias.copy_(torch.cat([W.bias for W in (ours.W_q, ours.W_k, ours.W_v)]))
    theirs.out_proj.load_state_dict(ours.W_o.state_dict())
    return ours, theirs


@pytest.mark.parametrize(("dtype", "allowed"), DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("shape", [(7, 6), (2, 7, 6), (2, 1, 6)], ids=str)
def test_multi_head_attention_is_torch_s_own(dtype, allowed, shape):
    """Heads that are split, scaled, masked or merged in another way; gradients that stop at a projection."""
    ours, theirs = same_weights(12, 3, dtype)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) > 0.4
    mask[..., 0] = True
    query, key, value = [t.requires_grad_() for t in random(3, (2, 7, 12), (2, 6, 12), (2, 6, 12), dtype=dtype)]
    mine = ours(query, key, value, mask)
    forbidden = ~(mask if mask.dim() == 2 else mask.expand(2, 7, 6).repeat_interleave(3, 0))
    other = theirs(query, key, value, attn_mask=forbidden, need_weights=False)[0]
    assert (mine - other).abs().max() <= allowed
    for a, b in zip(torch.autograd.grad(mine.cos().sum(), (query, key, value)),
                    torch.autograd.grad(other.cos().sum(), (query, key, value)), strict=True):
        assert (a - b).abs().max() <= 10 * allowed


def test_a_query_with_nothing_to_attend_to_gets_zeros():
    """One padded sentence that turns the whole batch, and every gradient, into NaN; or reads all that is hidden."""
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[1, 2] = False
    x = torch.randn(2, 3, 4, requires_grad=True)
    heads = MultiHeadAttention(4, 2)
    for out, nothing in ((scaled_dot_product_attention(x, x, x, mask), torch.zeros(4)),
                         (heads(x, x, x, mask), heads.W_o.bias)):
        assert torch.equal(out[1, 2], nothing) and torch.isfinite(out).all()
        assert torch.isfinite(torch.autograd.grad(out.sum(), x)[0]).all()


@theorem
@given(st.integers(2, 9), sizes, seeds)
def test_with_a_causal_mask_no_output_depends_on_what_comes_later(T, D, seed):
    """A mask that is off by one, or not used."""
    (x,) = random(seed, (1, T, D))
    x.requires_grad_()
    out = scaled_dot_product_attention(x, x, x, causal_mask(T))
    for t in range(T):
        (slope,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True)
        assert (slope[0, t + 1 :] == 0).all()


@theorem
@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), seeds)
def test_a_padded_sentence_attends_as_if_it_were_alone(lengths, seed):
    """Padding that gets weight."""
    mask = padding_mask(torch.tensor(lengths))
    assert torch.equal(mask, torch.tensor([[t < n for t in range(max(lengths))] for n in lengths]))
    ids = torch.where(mask, 7, 0)
    assert torch.equal(padding_mask_from_ids(ids)[:, 0], mask)
    (x,) = random(seed, (len(lengths), max(lengths), 3))
    together = scaled_dot_product_attention(x, x, x, padding_mask_from_ids(ids))
    for b, n in enumerate(lengths):
        alone = scaled_dot_product_attention(x[b : b + 1, :n], x[b : b + 1, :n], x[b : b + 1, :n])
        assert torch.allclose(together[b, :n], alone[0], rtol=0, atol=1e-10)


def test_heads_that_do_not_divide_the_width_are_refused():
    """A silent rounding of the head width."""
    with pytest.raises(ValueError, match="10 cannot be split into 4 heads"):
        MultiHeadAttention(10, 4)


def test_the_patterns_of_a_model_are_those_of_torch():
    """A map that is drawn for other weights, another mask or another head than the model used."""
    torch.manual_seed(0)
    layer = EncoderLayer(12, 3, 8)
    x, mask = torch.randn(2, 5, 12), padding_mask_from_ids(torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]))
    patterns = attention_patterns(layer, x, mask)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        attn = layer.self_attn
        theirs.in_proj_weight.copy_(torch.cat([attn.W_q.weight, attn.W_k.weight, attn.W_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([attn.W_q.bias, attn.W_k.bias, attn.W_v.bias]))
    _, expected = theirs(x, x, x, key_padding_mask=~mask[:, 0], average_attn_weights=False)
    assert list(patterns) == ["self_attn"]
    assert torch.allclose(patterns["self_attn"], expected, atol=1e-6)
    assert not layer.self_attn._forward_pre_hooks


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_patterns_of_an_attention_with_a_flag_follow_it(is_causal):
    """Somebody's own attention says `self.is_causal = True`, and the map raises: a bool cannot be called."""
    attention, x = MultiHeadAttention(6, 2), torch.randn(1, 4, 6)
    attention.is_causal = is_causal
    pattern = attention_patterns(attention, x, x, x)[""]
    assert bool(pattern.triu(1).any()) is not is_causal
    assert torch.allclose(pattern.sum(-1), torch.ones(1, 2, 4))


def test_where_heads_look_can_be_read_off_their_results():
    """Heads in another order, or the weights of another word."""
    attention, x = MultiHeadAttention(12, 3), torch.randn(2, 4, 12)
    expected = attention_patterns(attention, x, x, x)[""]
    assert torch.allclose(looking.patterns(attention, x), expected, atol=1e-6)
    with pytest.raises(IndexError):
        looking.patterns(attention, torch.randn(1, 5, 12))  # more words than a head has places


@pytest.mark.parametrize("shape", [None, (5, 7), (2, 5, 7), (2, 1, 7)])
def test_the_fused_path_is_the_textbook_path(shape):
    """A kernel that scales, masks or orders its heads otherwise than the formula."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3)
    query, key, value = torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 12)
    mask = None if shape is None else torch.rand(shape) < 0.7
    heads = (layer.W_q(query), layer.W_k(key), layer.W_v(value))
    q, k, v = (t.unflatten(-1, (3, 4)).transpose(1, 2) for t in heads)
    wide = mask[:, None] if mask is not None and mask.dim() == 3 else mask
    textbook = layer.W_o(scaled_dot_product_attention(q, k, v, wide).transpose(1, 2).flatten(2))
    sees = torch.ones(2, 5, dtype=torch.bool) if mask is None else mask.expand(2, 5, 7).any(-1)
    assert sees.any() and torch.allclose(layer(query, key, value, mask)[sees], textbook[sees], atol=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("keys", [None, [1, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]])
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_kernel_with_a_mask_of_keys_is_the_textbook_with_a_mask_of_pairs(keys, is_causal, dtype, error):
    """A hidden key that a large score makes visible, a scale of the wrong width, NaN where nothing is to be seen."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 6, 5, dtype=dtype).requires_grad_() for _ in range(3))
    mask = None if keys is None else torch.tensor([[keys], [[1] * 6]]).bool()
    pairs = torch.ones(2, 6, 6, dtype=torch.bool) if mask is None else mask.expand(2, 6, 6)
    pairs = pairs & causal_mask(6) if is_causal else pairs
    seen = pairs.any(-1)
    outs = [scaled_dot_product_attention(q, 20 * k, v, pairs), fused_attention(q, 20 * k, v, mask, is_causal)]
    one, other = (torch.autograd.grad(out[seen].square().sum(), (q, k, v)) for out in outs)
    assert torch.allclose(outs[1][seen], outs[0][seen], rtol=0, atol=10 * error) and outs[1].isfinite().all()
    assert all(torch.allclose(a, b, rtol=0, atol=1e3 * error) for a, b in zip(one, other, strict=True))
