"""Patches, their embedding and the Vision Transformer, against convolution, unfold and torch's own encoder."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.vision import PatchEmbedding, ViT, patchify


def test_patches_are_those_of_unfold():
    """Patches in another order, or the numbers of a patch: the channels last."""
    images = torch.randn(2, 3, 6, 8)
    assert torch.equal(patchify(images, 2), F.unfold(images, 2, stride=2).transpose(1, 2))


def test_pictures_that_cannot_be_cut_are_refused():
    """A right column of pixels that silently fell off."""
    with pytest.raises(ValueError, match="6 by 7 pixels cannot be cut into patches of 2 by 2"):
        patchify(torch.zeros(1, 1, 6, 7), 2)
    with pytest.raises(ValueError):
        PatchEmbedding(7, 2, 1, 4)


def test_the_projection_is_a_strided_convolution():
    """Weights that fit no pretrained model."""
    embed = PatchEmbedding(6, 2, 3, 5)
    conv = nn.Conv2d(3, 5, 2, stride=2)
    with torch.no_grad():
        conv.weight.copy_(embed.proj.weight.unflatten(1, (3, 2, 2)))
        conv.bias.copy_(embed.proj.bias)
        embed.cls.normal_()
    images = torch.randn(2, 3, 6, 6)
    tokens = embed(images) - embed.pos
    assert torch.allclose(tokens[:, 1:], conv(images).flatten(2).transpose(1, 2), atol=1e-6)
    assert torch.allclose(tokens[:, 0], embed.cls[0].expand(2, -1))


def test_the_vit_is_torchs_encoder_between_embedding_and_head():
    """A layer left out or used twice, or a head on the wrong token; in gradients, too."""
    torch.manual_seed(0)
    model = ViT(6, 2, 1, 4, 8, 2, 12, 3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    theirs = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True), 3,
                                   enable_nested_tensor=False).double()
    for layer, ours in zip(theirs.layers, model.layers, strict=True):
        attention = ours.self_attn
        packed = [attention.W_q, attention.W_k, attention.W_v]
        layer.load_state_dict({
            "self_attn.in_proj_weight": torch.cat([w.weight for w in packed]),
            "self_attn.in_proj_bias": torch.cat([w.bias for w in packed]),
            **{f"{name}.{of}": getattr(part, of) for name, part in {
                "self_attn.out_proj": attention.W_o, "linear1": ours.ff.linear1, "linear2": ours.ff.linear2,
                "norm1": ours.norm1, "norm2": ours.norm2}.items() for of in ("weight", "bias")}})
    images = torch.randn(2, 1, 6, 6).double()
    got, expected = model(images), model.head(theirs(model.embed(images))[:, 0])
    assert torch.allclose(got, expected, rtol=0, atol=1e-9)
    gradients = [torch.autograd.grad(out.square().sum(), model.embed.pos)[0] for out in (got, expected)]
    assert torch.allclose(*gradients, rtol=0, atol=1e-9)
