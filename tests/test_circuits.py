"""Opening a model changes nothing but what was asked for: against weights set to zero, gradients, torch's layers."""

import pytest
import torch
from torch import nn

from course_lib.attention import MultiHeadAttention, attention_patterns
from course_lib.circuits import ablate_head, compose, direct_logit_attribution, patch, run
from course_lib.experiments.depth import stream
from course_lib.experiments.inside import contrasts, dictionary, in_signs, rewritten, shuffling
from course_lib.experiments.repeats import (
    MODELS,
    T,
    V,
    again,
    attention_only,
    loss_again,
    repeating,
    that_opens,
    train,
)
from course_lib.language_model import LanguageModel


@pytest.fixture
def model():
    torch.manual_seed(0)
    return attention_only(norms=True).eval().requires_grad_(False)


@pytest.fixture
def ids():
    return repeating(3, seed=0)[0]


def test_a_run_without_edits_is_the_model(model, ids):
    """Hooks that change what they watch."""
    logits, said = run(model, ids)
    assert torch.equal(logits, model(ids)) and [tuple(z.shape) for z in said] == [(3, T, 4, 16)] * 2
    written = nn.functional.linear(said[0].flatten(2), model.blocks[0].self_attn.W_o.weight)
    n = model.blocks[0].norm1(stream(model, ids)[0])
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    bias = model.blocks[0].self_attn.W_o.bias
    assert torch.allclose(written + bias, model.blocks[0].self_attn(n, n, n, mask), atol=1e-5)


def test_no_hook_is_left_behind(model, ids):
    """An edit that fails in a learner's cell, and a model that is cut from then on."""
    whole = model(ids)
    with pytest.raises(ZeroDivisionError):
        run(model, ids, {1: lambda said: 1 / 0})
    run(model, ids, {0: torch.zeros_like})
    assert torch.equal(model(ids), whole)


@pytest.mark.parametrize("block", [0, 1])
def test_an_ablated_head_is_one_whose_columns_of_w_o_are_zero(model, ids, block):
    """Theorem: what W_o does not read is as good as not said."""
    cut, _ = run(model, ids, {block: lambda said: ablate_head(said, 2)})
    model.blocks[block].self_attn.W_o.weight[:, 32:48] = 0
    assert torch.allclose(cut, model(ids), atol=1e-5)


def test_a_patch_of_all_heads_and_places_is_the_other_run(model, ids):
    """A patch that carries less than all there is."""
    other = ids.roll(1, 0)
    whole, said = run(model, other)

    def all_of_it(mine):
        for head in range(4):
            for place in range(T):
                mine = patch(mine, said[1], head, torch.full((3,), place))
        return mine

    patched, _ = run(model, ids, {1: all_of_it})
    _, before, after = stream(model, other)
    own_up_to_block_2 = after - before + stream(model, ids)[1]
    assert torch.allclose(patched, model.out(model.norm(own_up_to_block_2)), atol=1e-4)


def test_the_direct_share_is_the_gradient_times_what_is_said(ids):
    """Theorem: without norms the logit is linear in what the last block says, so its gradient says the share."""
    torch.manual_seed(1)
    model, answers = attention_only(layers=1), ids.roll(-1, 1)
    for weight in model.parameters():
        weight.requires_grad_(False)
    kept = []

    def keep(_, given):
        kept.append(given[0].requires_grad_())
        return (kept[0],)

    hook = model.blocks[0].self_attn.W_o.register_forward_pre_hook(keep)
    logits = model(ids)
    hook.remove()
    (logits.gather(-1, answers[..., None])[..., 0] - logits.mean(-1)).sum().backward()
    share = (kept[0] * kept[0].grad).unflatten(-1, (4, 16)).sum(-1)  # (B, T, H)
    ours = direct_logit_attribution(kept[0].detach().unflatten(-1, (4, 16)), model.blocks[0].self_attn.W_o.weight,
                                    model.out.weight, answers)
    assert torch.allclose(ours, share.detach(), atol=1e-5)


def test_random_matrices_compose_by_one_over_the_root_of_the_width():
    """The number beside which all others are read."""
    generator = torch.Generator().manual_seed(0)
    for D in (16, 64, 256):
        mean = torch.stack([compose(*torch.randn(4, D, D, generator=generator), 4) for _ in range(20)]).mean()
        assert mean * D**0.5 == pytest.approx(1, abs=0.04)


def test_a_head_that_reads_what_another_writes_composes_fully():
    """Theorem: where all that is written lies in the one direction that keys read, the product keeps both norms."""
    W_q, W_k, W_v, W_o = torch.zeros(4, 4, 4)
    W_q[0, 1] = W_k[0, 2] = W_v[0, 3] = W_o[2, 0] = 1  # head 0 of 1 number: reads 3, writes 2; keys read 2
    W_q[1, 1] = W_k[1, 0] = W_v[1, 3] = W_o[1, 1] = 1  # head 1: writes 1; keys read 0
    assert torch.equal(compose(W_q[:2], W_k[:2], W_v[:2], W_o[:, :2], 2), torch.tensor([[1.0, 0.0], [0.0, 0.0]]))


def test_written_otherwise_is_the_same_function(model, ids):
    """A constant that is taken off at another place than where it was put on."""
    other = rewritten(model, 1, 2, torch.full((16,), 3.0))
    assert torch.allclose(other(ids), model(ids), atol=1e-3)
    means = [run(one, ids, {1: lambda said: ablate_head(said, 2, True)})[0] for one in (model, other)]
    zeros = [run(one, ids, {1: lambda said: ablate_head(said, 2)})[0] for one in (model, other)]
    assert torch.allclose(*means, atol=1e-3) and not torch.allclose(*zeros, atol=0.1)


def test_shuffled_weights_are_the_same_weights_on_other_keys(model, ids):
    """A shuffle that looks into the future, or that changes the other heads."""
    _, said = run(model, ids)
    _, other = run(model, ids, shuffling(model, ids, 0, [1, 2]))
    assert torch.allclose(other[0][:, :, [0, 3]], said[0][:, :, [0, 3]])
    assert torch.allclose(other[0][:, 0], said[0][:, 0], atol=1e-5), "the first token sees itself alone"
    assert not torch.allclose(other[0][:, 5:, 1], said[0][:, 5:, 1], atol=1e-3)


def test_rows_say_the_same_again_and_contrasts_differ_in_one_token():
    """A row without an answer, or a contrast that changes the question as well."""
    ids, n = repeating(50, seed=3)
    for row, length in zip(ids.tolist(), n[:, 0].tolist(), strict=True):
        assert len(set(row[:length])) == length and all(row[t] == row[t - length] for t in range(length, T))
    assert again(n).sum(1).tolist() == (T - 1 - n[:, 0]).tolist() and len(set(in_signs(torch.arange(V)))) == V
    clean, others, place = contrasts(50, seed=4)
    for name, back in (("A exchanged", 1), ("B exchanged", 0)):
        changed = (others[name] != clean).nonzero()
        assert changed[:, 1].tolist() == (place - back).tolist() and len(changed) == 50
    rows = torch.arange(50)
    assert torch.equal(clean[rows, place - 1], clean[:, -1]) and ((clean == clean[:, -1:]).sum(1) == 2).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_rival_is_a_language_model_that_does_not_see_the_future(name):
    """A rival that wins because it was shown the answer."""
    torch.manual_seed(0)
    make, lengths = MODELS[name]
    model, ids = make(), repeating(2, 0, *lengths)[0]
    other = ids.clone()
    other[:, 20:] = (other[:, 20:] + 1) % V
    assert torch.allclose(model(ids)[:, :20], model(other)[:, :20], atol=1e-5)
    losses = train(model, 0, steps=2, lengths=lengths, every=1)
    assert list(losses) == [0, 1, 2] and losses[2] == loss_again(model, lengths)


def test_a_class_whose_heads_cannot_be_cut_is_not_run(capsys):
    """A learner's attention that goes past W_o as a module: cuts would cost nothing, and all be wrong."""
    class PastW_o(MultiHeadAttention):
        def forward(self, query, key, value, mask=None):
            q, k, v = (W(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                       for W, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
            out = nn.functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
            return nn.functional.linear(out, self.W_o.weight, self.W_o.bias)

    class Past(LanguageModel):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            for block in self.blocks:
                block.self_attn = PastW_o(*sizes[1:3])

    class Renamed(LanguageModel):
        pass

    assert that_opens(Past) is LanguageModel and that_opens(lambda *sizes: 1 / 0) is LanguageModel
    assert capsys.readouterr().out.startswith("Your Past cannot be opened here: what its heads say has to go through")
    assert that_opens(Renamed) is Renamed and capsys.readouterr().out == ""


def test_a_dictionary_explains_what_it_was_trained_on_with_few_entries():
    """An autoencoder that explains nothing, or everything with all of its entries."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(40, 16, generator=generator)
    active = (torch.rand(4000, 40, generator=generator) < 0.05).float()
    entries, explained = dictionary(active @ features, entries=80, steps=300)
    assert explained > 0.5 and (entries(active @ features) > 1e-3).float().sum(1).mean() < 20


def test_patterns_of_a_model_are_those_that_its_heads_use(model, ids):
    """Scores of weights that belong to another run."""
    weights = list(attention_patterns(model, ids).values())
    assert len(weights) == 2 and torch.allclose(weights[1].sum(-1), torch.ones(3, 4, T), atol=1e-5)
