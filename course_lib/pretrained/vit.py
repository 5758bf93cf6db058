"""ViT-S/14, a real Vision Transformer of 22 million parameters, trained by others to find what a photo is of."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.data import fetch
from course_lib.pretrained.minilm import GeluFeedForward
from course_lib.shipped.photographs import squared
from course_lib.vision import PatchEmbedding

IMAGE, PATCH, D_MODEL, NUM_HEADS, D_FF, NUM_LAYERS = 224, 14, 384, 6, 1536, 12
EPS = 1e-6  # of every layer norm
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of the channels red, green, blue in its training photos

# What a part of a block is called in the file.
NAMES = {
    "norm1": "norm1",
    "attention.W_q": "attention.attention.query",
    "attention.W_k": "attention.attention.key",
    "attention.W_v": "attention.attention.value",
    "attention.W_o": "attention.output.dense",
    "norm2": "norm2",
    "ff.linear1": "mlp.fc1",
    "ff.linear2": "mlp.fc2",
}


class ViTBlock(nn.Module):
    """A pre-norm encoder block where each sublayer's answer is scaled channel by channel before it is added.

    attention: the class of its attention: the course's MultiHeadAttention, or a learner's

    Dosovitskiy et al. 2021, arXiv:2010.11929, equations 2 and 3; the scales: Touvron et al. 2021, arXiv:2103.17239.
    """

    def __init__(self, attention):
        super().__init__()
        self.norm1 = nn.LayerNorm(D_MODEL, EPS)
        self.attention = attention(D_MODEL, NUM_HEADS)
        self.scale1 = nn.Parameter(torch.ones(D_MODEL))
        self.norm2 = nn.LayerNorm(D_MODEL, EPS)
        self.ff = GeluFeedForward(D_MODEL, D_FF)
        self.scale2 = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x):
        """Attention, then feed-forward: (B, N + 1, 384) -> (B, N + 1, 384)."""
        h = self.norm1(x)
        x = x + self.scale1 * self.attention(h, h, h)
        return x + self.scale2 * self.ff(self.norm2(x))


class PretrainedViT(nn.Module):
    """ViT-S/14 without a head: one vector for the photo, and one for each of its 16 by 16 patches.

    embedding: the class that makes tokens of a photo, with the attributes of lesson 13: proj, cls, pos
    attention: the class of its attention

    Oquab et al. 2023 ("DINOv2"), arXiv:2304.07193; the weights: github.com/julesGoueffon/jgo_saliency, MIT.
    """

    def __init__(self, embedding=PatchEmbedding, attention=MultiHeadAttention):
        super().__init__()
        self.embed = embedding(IMAGE, PATCH, 3, D_MODEL)
        self.blocks = nn.ModuleList(ViTBlock(attention) for _ in range(NUM_LAYERS))
        self.norm = nn.LayerNorm(D_MODEL, EPS)

    def forward(self, images):
        """Read photos: (B, 3, 224, 224), prepared by `prepare`, -> (B, 257, 384), the class token first."""
        x = self.embed(images)  # (B, 257, 384)
        for block in self.blocks:
            x = block(x)  # (B, 257, 384)
        return self.norm(x)


def load(embedding=PatchEmbedding, attention=MultiHeadAttention):
    """Get the ViT with its real weights, in eval mode.

    embedding, attention: classes of the course, or a learner's
    returns:              PretrainedViT
    raises:               course_lib.data.Missing, in one sentence, where the weights cannot be had
    """
    import onnx
    from onnx.numpy_helper import to_array

    graph = onnx.load(fetch("vit")).graph
    stored = {tensor.name: torch.from_numpy(to_array(tensor).copy()) for tensor in graph.initializer}
    for node in graph.node:  # matrices have no names of their own there: the product that uses one tells which it is
        if node.op_type == "MatMul" and node.input[1] in stored:
            stored[node.name.strip("/").replace("/", ".").replace(".MatMul", ".weight")] = stored[node.input[1]].T
    model = PretrainedViT(embedding, attention)
    state = {f"norm.{of}": stored[f"backbone.layernorm.{of}"] for of in ("weight", "bias")}
    for i in range(NUM_LAYERS):
        at = f"backbone.encoder.layer.{i}"
        state |= {f"blocks.{i}.{ours}.{of}": stored[f"{at}.{theirs}.{of}"]
                  for ours, theirs in NAMES.items() for of in ("weight", "bias")}
        state |= {f"blocks.{i}.scale{k}": stored[f"{at}.layer_scale{k}.lambda1"] for k in (1, 2)}
    patches = "backbone.embeddings.patch_embeddings.projection"
    state |= {"embed.proj.weight": stored[f"{patches}.weight"].flatten(1), "embed.proj.bias": stored[f"{patches}.bias"],
              "embed.cls": stored["backbone.embeddings.cls_token"], "embed.pos": _positions(graph, stored)}
    model.load_state_dict(state)
    return model.eval()


def _positions(graph, stored):
    """The positions (1, 257, 384): the class token's, then a table of 37 by 37 places that is resized to 16 by 16."""
    first = stored[next(n.input[0] for n in graph.node if n.op_type == "Concat" and n.input[0] in stored
                        and stored[n.input[0]].shape == (1, 1, D_MODEL) and "cls_token" not in n.input[0])]
    table = stored[next(n.input[0] for n in graph.node if n.op_type == "Reshape" and n.input[0] in stored
                        and stored[n.input[0]].shape == (1, 37 * 37, D_MODEL))]
    side = IMAGE // PATCH
    square = table.unflatten(1, (37, 37)).permute(0, 3, 1, 2)  # (1, 384, 37, 37)
    resized = F.interpolate(square, size=(side, side), mode="bicubic", align_corners=False)  # (1, 384, 16, 16)
    return torch.cat([first, resized.flatten(2).transpose(1, 2)], dim=1)


def prepare(photos):
    """Bring photos to the size and the scale of the training photos.

    photos:  as for `squared`
    returns: (N, 3, 224, 224)
    """
    mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
    return (squared(photos) - mean) / std
