"""Language models against counting by hand, torch's losses, and the frequencies of what they draw."""

from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention, attention_patterns
from course_lib.cache import WithCache
from course_lib.fused import CausalAttention
from course_lib.language_model import (
    BigramLM,
    LanguageModel,
    LongLanguageModel,
    bigram_probs,
    generate,
    get_batch,
    next_token_probs,
    perplexity,
    shift_labels,
    top_p_probs,
)
from course_lib.positions import sinusoidal_positions

IDS = torch.tensor([0, 1, 1, 2, 1, 0, 1])


def test_targets_are_the_next_tokens():
    """Pairs moved in the wrong direction, or not at all."""
    inputs, targets = shift_labels(IDS[None])
    assert inputs.tolist() == [[0, 1, 1, 2, 1, 0]] and targets.tolist() == [[1, 1, 2, 1, 0, 1]]


def test_bigrams_are_counted():
    """Columns for rows, a smoothing that is counted twice, NaN for a token that was never first."""
    pairs = Counter(zip(IDS.tolist(), IDS[1:].tolist(), strict=False))
    for alpha in (0.0, 0.5):
        probs = bigram_probs(IDS, 4, alpha)
        for i in range(4):
            total = sum(pairs[i, j] + alpha for j in range(4))
            for j in range(4):
                assert abs(probs[i, j] - ((pairs[i, j] + alpha) / total if total else 1 / 4)) < 1e-6


def test_the_bigram_model_looks_up_and_scores():
    """Logits that lose their shape where targets are given."""
    torch.manual_seed(0)
    model = BigramLM(5)
    idx, targets = torch.randint(5, (2, 2, 3))
    logits, nothing = model(idx)
    again, loss = model(idx, targets)
    assert nothing is None and torch.equal(logits, again) and torch.equal(logits, model.table.weight[idx])
    assert torch.allclose(loss, F.nll_loss(F.log_softmax(logits, -1).transpose(1, 2), targets))


def test_every_place_can_be_drawn():
    """A last piece that is never seen, or a piece that runs over the end."""
    torch.manual_seed(0)
    x, y = get_batch(torch.arange(10), 4, 600)
    assert torch.equal(y, x + 1) and x.shape == (600, 4)
    assert set(x[:, 0].tolist()) == set(range(6))


def test_probabilities_of_the_next_token():
    """A temperature that multiplies; a top_k that keeps too many, too few, or shares wrongly."""
    logits = torch.tensor([[2.0, 0, 1, -1], [0, 3, 1, 2]])
    assert torch.allclose(next_token_probs(logits, 0.5), F.softmax(2 * logits, -1))
    kept = next_token_probs(logits, 1.0, 2)
    assert (kept > 0).tolist() == [[True, False, True, False], [False, True, False, True]]
    assert torch.allclose(kept[0, [0, 2]], F.softmax(torch.tensor([2.0, 1]), -1))
    assert torch.equal(next_token_probs(logits, 1.0, 9), F.softmax(logits, -1))


def test_texts_grow_by_drawing_and_see_no_more_than_the_block():
    """Argmax for sampling, one draw shared by all rows, a context that grows beyond the block."""
    torch.manual_seed(0)
    lengths = []

    def model(context):
        lengths.append(context.shape[1])
        logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(*context.shape, 3)
        return logits

    begun = torch.zeros(2000, 3, dtype=torch.long)
    texts = generate(model, begun, 3, block_size=4)
    assert texts.shape == (2000, 6) and torch.equal(texts[:, :3], begun) and lengths == [3, 4, 4]
    shares = texts[:, 3:].flatten().bincount(minlength=3) / 6000
    assert torch.allclose(shares, torch.tensor([0.5, 0.3, 0.2]), atol=0.03)
    assert not torch.equal(texts[:1000, 3], texts[1000:, 3])


def test_a_perplexity_is_the_inverse_of_the_geometric_mean():
    """Padding that counts, a mean of perplexities, a target outside the vocabulary that is looked up."""
    probs = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]], [[0.25, 0.25, 0.5], [0.2, 0.2, 0.6]]])
    targets = torch.tensor([[1, 1], [2, -100]])
    assert torch.allclose(perplexity(probs.log(), targets, -100), torch.tensor(1 / (0.25 * 0.8 * 0.5)) ** (1 / 3))
    assert torch.allclose(perplexity(torch.zeros(1, 4, 7), torch.tensor([[0, 6, 3, 0]])), torch.tensor(7.0))


def test_the_nucleus_is_the_shortest_beginning_that_holds_p():
    """A token too few or too many, a row in falling order, a tail that is lost to rounding where all should stay."""
    probs = torch.tensor([[0.15, 0.5, 0.05, 0.3], [0.97, 0.01, 0.01, 0.01]])
    assert torch.allclose(top_p_probs(probs.log(), 0.75), torch.tensor([[0, 0.625, 0, 0.375], [1, 0, 0, 0]]))
    assert (top_p_probs(probs.log(), 0.81) > 0).tolist() == [[True, True, False, True], [True, False, False, False]]
    torch.manual_seed(0)
    logits = 3 * torch.randn(50, 2000)
    assert (top_p_probs(logits, 1.0) > 0).all() and torch.allclose(top_p_probs(logits, 1.0), logits.softmax(-1))


def tiny(dtype=torch.float32, Model=LanguageModel):
    """A model all of whose parameters are away from their initial values."""
    torch.manual_seed(0)
    model = Model(11, 16, 4, 24, 3, dropout=0.2).to(dtype).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model


def by_torch(model, idx):
    """The same weights in torch's own pre-norm layers."""
    layer = nn.TransformerEncoderLayer(16, 4, 24, 0.0, batch_first=True, norm_first=True, dtype=torch.float64)
    stack = nn.TransformerEncoder(layer, 3, norm=model.norm, enable_nested_tensor=False).eval()
    for ours, theirs in zip(model.blocks, stack.layers, strict=True):
        with torch.no_grad():
            for name, part in {"norm1": ours.norm1, "norm2": ours.norm2, "linear1": ours.ff.linear1,
                               "linear2": ours.ff.linear2, "self_attn.out_proj": ours.self_attn.W_o}.items():
                theirs.get_submodule(name).load_state_dict(part.state_dict())
            W = (ours.self_attn.W_q, ours.self_attn.W_k, ours.self_attn.W_v)
            theirs.self_attn.in_proj_weight.copy_(torch.cat([w.weight for w in W]))
            theirs.self_attn.in_proj_bias.copy_(torch.cat([w.bias for w in W]))
    future = torch.ones(idx.shape[1], idx.shape[1], dtype=torch.bool).triu(1)
    x = model.table(idx) + sinusoidal_positions(idx.shape[1], 16).double()
    return model.out(stack(x, mask=future))


def test_the_model_is_torch_s():
    """A norm in the wrong place, or a mask the wrong way round."""
    model = tiny(torch.float64)
    idx = torch.randint(11, (2, 7))
    assert torch.allclose(model(idx), by_torch(model, idx), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype, allowed", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_the_path_without_a_mask_is_the_path_with_one(dtype, allowed):
    """A fused attention that looks at what is to come, or gradients and patterns that only the mask gets right."""
    quick, slow = tiny(dtype, LongLanguageModel), tiny(dtype)
    quick.load_state_dict(slow.state_dict())
    idx = torch.randint(11, (2, 37))
    outs = [model(idx) for model in (quick, slow)]
    grads = [torch.autograd.grad(out.square().mean(), list(model.parameters()))
             for out, model in zip(outs, (quick, slow), strict=True)]
    patterns = [attention_patterns(model, idx) for model in (quick, slow)]
    assert torch.allclose(*outs, rtol=0, atol=allowed)
    assert all(torch.allclose(*pair, rtol=0, atol=allowed) for pair in zip(*grads, strict=True))
    assert patterns[0].keys() == patterns[1].keys() and len(patterns[0]) == 3
    assert all(torch.allclose(patterns[0][path], patterns[1][path], rtol=0, atol=allowed) for path in patterns[0])


def test_an_attention_that_looks_back_still_keeps_to_a_mask():
    """A mask that is given and not read."""
    attention = CausalAttention(12, 3).double()
    x, mask = torch.randn(2, 5, 12).double(), (torch.rand(5, 5) < 0.5) | torch.eye(5, dtype=torch.bool)
    assert torch.equal(attention(x, x, x, mask), MultiHeadAttention.forward(attention, x, x, x, mask))
    assert not torch.allclose(attention(x, x, x, mask), attention(x, x, x))
    back, real = torch.ones(5, 5, dtype=torch.bool).tril(), torch.tensor([[[1, 1, 0, 1, 0]], [[1, 0, 1, 1, 1]]]).bool()
    expected = MultiHeadAttention.forward(attention, x, x, x, back & real)
    assert torch.allclose(attention(x, x, x, real), expected, rtol=0, atol=1e-12)
    assert not torch.allclose(attention(x, x, x), expected)


def test_any_length_is_read_and_the_future_never():
    """A positions table that ends, or a model that sees the token it predicts."""
    model = tiny()
    idx = torch.randint(11, (1, 1500))
    logits = model(idx)
    assert logits.shape == (1, 1500, 11)
    assert torch.allclose(model(idx[:, :40]), logits[:, :40], atol=1e-5)


def test_positions_count():
    """A model for which order does not matter: two tokens before the last one, exchanged."""
    model = tiny()
    one, other = model(torch.tensor([[1, 2, 3], [2, 1, 3]]))[:, -1]
    assert not torch.allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("steps", [[1] * 9, [4, 1, 1, 3], [9]])
def test_the_cache_changes_no_logit(steps):
    """Keys in the wrong order, a position that starts anew at each step, a mask that is cut at the wrong end."""
    model = tiny()
    cached, idx = WithCache(model), torch.randint(11, (2, 9))
    ends = torch.tensor(steps).cumsum(0).tolist()
    logits = torch.cat([cached(idx[:, :end]) for end in ends], dim=1)
    assert torch.allclose(logits, model(idx), atol=1e-5)


def test_the_cache_forgets_when_the_text_is_another():
    """Keys of an old text that answer for a new one; the same text again; a window that has moved; a smaller batch."""
    model = tiny()
    cached, idx = WithCache(model), torch.randint(11, (2, 9))
    for context in (idx, idx, idx.flip(0), idx[:, 1:], idx[:, :4], idx[:1], idx[:1, :5], idx):
        assert torch.allclose(cached(context)[:, -1], model(context)[:, -1], atol=1e-5)


def test_generating_with_the_cache_gives_the_same_text_and_reads_every_token_once():
    """A cache that is right and reads everything again."""
    model, begun = tiny(), torch.randint(11, (1, 4))
    read = []
    model.blocks[0].ff.register_forward_hook(lambda block, args, out: read.append(args[0].shape[1]))
    texts, tokens = [], []
    for reader in (model, WithCache(model)):
        read.clear()
        torch.manual_seed(0)
        texts.append(generate(reader, begun, 250, block_size=300))
        tokens.append(sum(read))
    assert torch.equal(*texts) and tokens == [sum(range(4, 254)), 253]
