"""The parts of today's decoders, against torch's own and against complex numbers."""

import torch
import torch.nn.functional as F

from course_lib.llama import Llama, SwiGLU, apply_rope, grouped_query_attention, rms_norm


def test_rms_norm_is_torchs():
    """The mean taken off, as layer norm does, or the sum in place of the mean."""
    x, gain = torch.randn(2, 3, 5) + 2, torch.randn(5)
    assert torch.allclose(rms_norm(x, gain, 1e-3), F.rms_norm(x, (5,), gain, 1e-3), atol=1e-6)


def test_rope_is_a_product_of_complex_numbers():
    """Pairs turned the wrong way, or the wrong pairs."""
    x = torch.randn(2, 3, 7, 6, dtype=torch.float64)
    frequency = 500.0 ** (-torch.arange(0, 6, 2).double() / 6)
    turn = torch.polar(torch.ones(7, 3).double(), torch.arange(7)[:, None] * frequency)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (3, 2))) * turn).flatten(-2)
    assert torch.allclose(apply_rope(x, 500.0), expected, rtol=0, atol=1e-12)


def test_after_rope_a_score_depends_on_the_distance_alone():
    """The theorem that rotary positions are made for."""
    q, k = torch.randn(2, 8, dtype=torch.float64)
    scores = apply_rope(q.expand(20, 8)) @ apply_rope(k.expand(20, 8)).T
    for distance in range(-19, 20):
        same = scores.diagonal(distance)
        assert torch.allclose(same, same[:1].expand_as(same), rtol=0, atol=1e-12)


def test_grouped_queries_are_torchs():
    """Key heads shared by the wrong queries, or a future that leaks."""
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert torch.allclose(grouped_query_attention(q, k, v), expected, atol=1e-6)


def test_swiglu_gates_one_view_by_the_other():
    """The gate and the other view exchanged."""
    layer, x = SwiGLU(3, 5), torch.randn(2, 3)
    gate, up = x @ layer.gate.weight.T, x @ layer.up.weight.T
    assert torch.allclose(layer(x), (gate * torch.sigmoid(gate) * up) @ layer.down.weight.T, atol=1e-6)


def test_no_token_of_a_llama_sees_what_comes_after_it():
    """A future that leaks through any of its parts."""
    torch.manual_seed(0)
    model = Llama(11, 8, 4, 2, 12, 2)
    ids = torch.tensor([[3, 5, 2, 9, 1]])
    other = ids.clone()
    other[0, 3] = 4
    got, changed = model(ids), model(other)
    assert torch.allclose(got[:, :3], changed[:, :3], atol=1e-6)
    assert not torch.allclose(got[:, 3:], changed[:, 3:], atol=1e-3)


def test_a_learners_own_parts_run_in_the_place_of_the_courses():
    """Parts that were taken and never called."""
    called = []

    def noted(part):
        def own(*args):
            called.append(part.__name__)
            return part(*args)

        return own

    parts = {part.__name__: noted(part) for part in (rms_norm, apply_rope, grouped_query_attention)}

    class Own(SwiGLU):
        def forward(self, x):
            called.append("SwiGLU")
            return super().forward(x)

    Llama(11, 8, 4, 2, 12, 1, **parts, SwiGLU=Own)(torch.tensor([[3, 5]]))
    assert sorted(set(called)) == ["SwiGLU", "apply_rope", "grouped_query_attention", "rms_norm"]
    assert called.count("rms_norm") == 3
