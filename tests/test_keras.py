"""`MultiHeadAttention` beside the layer of the same name in Keras, which is no part of the course."""

import importlib.util
import os

import pytest
import torch

from course_lib.attention import MultiHeadAttention

pytestmark = pytest.mark.skipif(importlib.util.find_spec("keras") is None,
                                reason="keras is not installed: `pip install keras` runs this comparison")


def keras_layer(width, num_heads, key_dim):
    """A built layer, on torch and on the CPU."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    import keras

    if keras.backend.backend() != "torch":
        pytest.skip(f"keras is set up for {keras.backend.backend()}: KERAS_BACKEND=torch runs this comparison")
    layer = keras.layers.MultiHeadAttention(num_heads=num_heads, key_dim=key_dim)
    layer.build((None, None, width), (None, None, width), (None, None, width))
    return layer


def ours_in_keras(ours):
    """Our four layers as Keras keeps them: (width, heads, key_dim) in, (heads, key_dim, width) back."""
    heads = (ours.num_heads, ours.d_head)
    arrays = []
    for layer in (ours.W_q, ours.W_k, ours.W_v):
        arrays += [layer.weight.T.unflatten(-1, heads), layer.bias.unflatten(-1, heads)]
    arrays += [ours.W_o.weight.T.unflatten(0, heads), ours.W_o.bias]
    return [array.detach().numpy() for array in arrays]


def test_key_dim_is_the_width_of_one_head():
    """A lesson that takes `key_dim=256` at width 256 for torch's layer with four heads."""
    torch_has = sum(p.numel() for p in torch.nn.MultiheadAttention(256, 4).parameters())
    assert keras_layer(256, 4, 256).count_params() == 1_051_904
    assert keras_layer(256, 4, 64).count_params() == torch_has == 263_168


@pytest.mark.parametrize("masked", [False, True])
def test_the_same_weights_give_the_same_result(masked):
    """Heads that are cut in another order, and a mask that is read the other way round."""
    torch.manual_seed(0)
    ours, theirs = MultiHeadAttention(24, 4), keras_layer(24, 4, 6)
    theirs.set_weights(ours_in_keras(ours))
    query, key, value = torch.randn(2, 3, 24), torch.randn(2, 5, 24), torch.randn(2, 5, 24)
    mask = torch.rand(2, 3, 5) < 0.6 if masked else None
    if masked:
        mask[..., 0] = True
    with torch.no_grad():
        result = theirs(query=query, value=value, key=key, attention_mask=mask)
        assert (ours(query, key, value, mask) - result).abs().max() < 1e-6
