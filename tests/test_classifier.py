"""The classifier of texts against torch's own encoder, and what padding must never do to it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.classifier import EncoderClassifier, max_over_real_tokens
from course_lib.positions import sinusoidal_positions

TEXTS = torch.tensor([[5, 3, 8, 8, 1], [7, 2, 0, 0, 0], [4, 4, 6, 0, 0]])


def some_model(pad_id=0):
    """Two layers in float64, whose norms and biases are not those of a fresh one."""
    torch.manual_seed(0)
    model = EncoderClassifier(9, 8, 2, 12, 2, 3, pad_id=pad_id).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def torch_layer(layer):
    """torch's own layer with our weights."""
    attention = layer.self_attn
    theirs = nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True).double()
    packed = [attention.W_q, attention.W_k, attention.W_v]
    theirs.load_state_dict({
        "self_attn.in_proj_weight": torch.cat([w.weight for w in packed]),
        "self_attn.in_proj_bias": torch.cat([w.bias for w in packed]),
        **{f"{name}.{of}": getattr(part, of) for name, part in {
            "self_attn.out_proj": attention.W_o, "linear1": layer.ff.linear1, "linear2": layer.ff.linear2,
            "norm1": layer.norm1, "norm2": layer.norm2}.items() for of in ("weight", "bias")}})
    return theirs


def test_the_classifier_is_torchs_layers_between_embedding_and_head():
    """A layer left out or used twice, a mask lost on the way, or a maximum over padding."""
    model, real = some_model(), TEXTS != 0
    x = model.embed(TEXTS) * 8**0.5 + sinusoidal_positions(5, 8)
    for layer in map(torch_layer, model.layers):
        x = layer(x, src_key_padding_mask=~real)
    pooled = torch.stack([tokens[own].amax(0) for tokens, own in zip(x, real, strict=True)])
    assert torch.allclose(model(TEXTS), model.head(pooled), rtol=0, atol=1e-9)


@pytest.mark.parametrize("pad_id", [0, 6])
def test_padding_never_changes_the_logits(pad_id):
    """A text that gets another class in a longer batch."""
    model, text = some_model(pad_id), torch.tensor([[5, 3, 8]])
    alone = model(text)
    for more in (1, 2, 20):
        assert torch.allclose(model(F.pad(text, (0, more), value=pad_id)), alone, rtol=0, atol=1e-12)


def test_a_text_of_padding_alone_harms_nobody():
    """An empty text that makes NaN of its batch's gradients."""
    model = some_model()
    logits = model(torch.cat([TEXTS, 0 * TEXTS[:1]]))
    assert logits.isfinite().all() and torch.allclose(logits[:3], model(TEXTS), rtol=0, atol=1e-12)
    gradients = torch.autograd.grad(logits.sum(), list(model.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_embeddings_begin_as_large_as_positions():
    """Words that drown in their positions, or positions that drown in words."""
    embed = EncoderClassifier(2000, 64, 4, 8, 1, 2).embed.weight
    assert abs(embed.std().item() * 8 - 1) < 0.02


def test_the_head_reads_all_of_the_maximum_while_training():
    """Dropout before the head, which no docstring promises."""
    model = EncoderClassifier(9, 8, 2, 12, 1, 3, dropout=0.5).train()
    model.dropout.p = model.layers[0].dropout.p = model.layers[0].ff.dropout.p = 0.0
    read = []
    model.head.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    model(TEXTS)
    assert not (read[0] == 0).any()


def test_the_gradient_of_a_maximum_goes_to_those_that_have_it():
    """A gradient for padding or for a smaller token; NaN where there is no token."""
    x = torch.tensor([[[1.0], [3.0], [3.0], [9.0]], [[1.0], [2.0], [3.0], [4.0]]], requires_grad=True)
    mask = torch.tensor([[True, True, True, False], [False, False, False, False]])
    out = max_over_real_tokens(x, mask)
    assert out.tolist() == [[3.0], [0.0]]
    gradient, = torch.autograd.grad(out.sum(), x)
    assert gradient[0, :, 0].tolist()[::3] == [0, 0] and gradient[0].sum() == 1 and not gradient[1].any()
