"""What lessons 12b and 16 measure with, and the two functions of 16, against sums that can be done by hand."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.cache import attend_with_cache
from course_lib.experiments import costs, draws, many_processes
from course_lib.experiments.todays_parts import WithoutPositions, put_into, small_llama
from course_lib.language_model import LanguageModel
from course_lib.online_softmax import online_softmax_attention


def test_steps_with_a_cache_are_one_causal_pass_and_change_no_earlier_cache():
    """A key in the wrong place, or a cache that is written over while somebody else still holds it."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 3, 7, 4).double()
    kept, outs, caches = None, [], []
    for t in range(7):
        out, kept = attend_with_cache(*(x[:, :, t : t + 1] for x in (q, k, v)), kept)
        outs.append(out)
        caches.append([part.clone() for part in kept])
    assert torch.allclose(torch.cat(outs, 2), F.scaled_dot_product_attention(q, k, v, is_causal=True))
    assert torch.equal(kept[0], k) and torch.equal(kept[1], v)
    assert all(torch.equal(part, whole[:, :, : t + 1]) for t, cache in enumerate(caches)
               for part, whole in zip(cache, (k, v), strict=True))


@pytest.mark.parametrize("block", [1, 2, 5, 9, 40])
def test_attention_in_blocks_is_the_textbook_s(block):
    """A last block that is lost, a maximum of one block, a sum that is not shrunk."""
    torch.manual_seed(0)
    q, k, v = 30 * torch.randn(6, 4).double(), torch.randn(9, 4).double(), torch.randn(9, 3).double()
    expected = (q @ k.T / 2).softmax(-1) @ v
    assert torch.allclose(online_softmax_attention(q, k, v, block), expected)


def test_new_parts_turn_a_language_model_without_positions_into_a_llama():
    """A norm that is left out, a head that is not the table, a mask that is given twice."""
    llama, ids = small_llama(), torch.randint(50, (2, 9))
    with torch.no_grad():
        assert torch.allclose(put_into(WithoutPositions(50, 32, 4, 80, 2), llama)(ids), llama(ids), atol=1e-4)
        assert not torch.allclose(put_into(LanguageModel(50, 32, 4, 80, 2), llama)(ids), llama(ids), atol=1e-2)


def test_unknown_words_and_repetitions_are_counted():
    """The words at the ends, which may be cut off; a piece that overlaps with itself."""
    assert draws.unknown(["x the cat y", "a dgo b"], {"the", "cat"}) == 1 / 3
    assert draws.said_before(torch.tensor([[1, 2, 3, 1, 2, 3]]), n=3) == 1 / 4
    assert draws.said_before(torch.tensor([[1, 2, 3], [1, 2, 3]]), n=3) == 0


def test_a_model_that_is_drawn_from_otherwise_says_so_in_its_logits():
    """Probabilities taken for logits."""
    model = draws.Tuned(lambda ids: torch.zeros(*ids.shape, 3), lambda logits: torch.tensor([[0.5, 0.5, 0.0]]))
    assert torch.allclose(model(torch.zeros(1, 4))[:, -1].softmax(-1), torch.tensor([0.5, 0.5, 0.0]))


def test_memory_for_the_gradients_counts_each_piece_once_and_no_parameter():
    """Views counted twice; weights, which are there anyway."""
    x, w = torch.randn(1000, requires_grad=True), torch.randn(1000, requires_grad=True)
    assert costs.kept_for_the_gradients(lambda: (x * w).sum()) == 8000
    assert costs.kept_for_the_gradients(lambda: (x * w).sum(), [w]) == 4000
    assert costs.kept_for_the_gradients(lambda: x.view(10, 100).sin() + x.view(10, 100).cos()) == 4000


def test_fewer_bits_are_fewer_values():
    """A scale for the whole matrix, or one value more than the bits allow."""
    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(400, 5, bias=False))
    with torch.no_grad():
        layer[0].weight[1] *= 100
    for bits in (2, 3, 8):
        weight = costs.with_bits(layer, bits)[0].weight
        assert all(len(row.unique()) <= 2**bits - 1 for row in weight)
        assert torch.allclose(weight.abs().amax(1), layer[0].weight.abs().amax(1))
    assert (costs.with_bits(layer, 8)[0].weight - layer[0].weight).abs().max() < 0.05


def test_where_processes_cannot_be_started_there_are_no_losses(monkeypatch):
    """A traceback in a lesson that goes on without them."""
    monkeypatch.setattr(many_processes.sys, "executable", "no-such-python")
    assert many_processes.losses(2) is None


def test_operations_and_views():
    """A product that counts twice, a view that looks ahead, a view of everything that is another model."""
    torch.manual_seed(0)
    model, ids = LanguageModel(9, 16, 4, 24, 2).eval(), torch.randint(9, (2, 7))
    assert costs.operations(lambda: torch.ones(3, 4) @ torch.ones(4, 5)) == 2 * 3 * 4 * 5
    with torch.no_grad():
        everything = costs.read_with(model, lambda T: torch.ones(T, T, dtype=torch.bool).tril())(ids)
        itself = costs.read_with(model, lambda T: torch.eye(T, dtype=torch.bool))(ids)
        assert torch.allclose(everything, model(ids), atol=1e-5)
        assert torch.allclose(itself[:, :1], model(ids)[:, :1], atol=1e-5)
        assert not torch.allclose(itself, model(ids), atol=1e-3)
