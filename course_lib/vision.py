"""The Vision Transformer: a picture cut into patches, read like a sentence."""

import torch
from torch import nn

from course_lib.transformer import EncoderLayer


def patchify(images, p):
    """Cut pictures into square patches and write each patch out as one row of numbers.

    images:  (B, C, H, W)
    p:       side of a patch in pixels; it divides H and W
    returns: (B, N, C*p*p)  N = (H/p) * (W/p) patches, left to right and then down;
                            inside a patch channel by channel, each row by row
    raises:  ValueError where p does not divide H and W

    Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1.
    """
    B, C, H, W = images.shape
    if H % p or W % p:
        raise ValueError(
            f"pictures of {H} by {W} pixels cannot be cut into patches of {p} by {p}"
        )
    grid = images.reshape(B, C, H // p, p, W // p, p)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * p * p)  # (B, N, C*p*p)


class PatchEmbedding(nn.Module):
    """Turn a picture into tokens: its patches, and one that stands for the whole.

    image_size:  side of the pictures in pixels
    patch_size:  side of a patch in pixels; it divides image_size
    in_channels: 1 for grey, 3 for colour
    d_model:     width of a token
    raises:      ValueError where patch_size does not divide image_size

    Dosovitskiy et al. 2021, arXiv:2010.11929, equation 1.
    """

    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__()
        if image_size % patch_size:
            raise ValueError(
                f"a picture of {image_size} pixels "
                f"cannot be cut into patches of {patch_size}"
            )
        self.patch_size = patch_size
        N = (image_size // patch_size) ** 2
        self.proj = nn.Linear(in_channels * patch_size**2, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.randn(1, N + 1, d_model) * 0.2)

    def forward(self, images):
        """Project the patches, put the class token in front, add the positions.

        images:  (B, in_channels, image_size, image_size)
        returns: (B, N + 1, d_model)  the class token is at index 0
        """
        tokens = self.proj(patchify(images, self.patch_size))  # (B, N, d_model)
        cls = self.cls.expand(len(images), -1, -1)  # (B, 1, d_model), the same for all
        return torch.cat([cls, tokens], dim=1) + self.pos  # (B, N + 1, d_model)


class ViT(nn.Module):
    """Classify pictures: an encoder, and a linear head on what the class token read.

    image_size, patch_size, in_channels: as in PatchEmbedding
    num_classes:                         number of logits
    d_model, num_heads, d_ff:            of every EncoderLayer
    num_layers:                          number of them
    dropout:                             dropout probability: after the embedding,
                                         and in layers

    Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1, with this course's post-norm
    layers in place of pre-norm.
    """

    def __init__(self, image_size, patch_size, in_channels, num_classes,
                 d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.embed = PatchEmbedding(image_size, patch_size, in_channels, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, images):
        """Read the patches, ask the class token.

        images:  (B, in_channels, image_size, image_size)
        returns: (B, num_classes) logits
        """
        x = self.dropout(self.embed(images))  # (B, N + 1, d_model)
        for layer in self.layers:
            x = layer(x)  # (B, N + 1, d_model)
        return self.head(x[:, 0])  # (B, num_classes)
