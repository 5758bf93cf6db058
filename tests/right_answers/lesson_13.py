"""Right answers of lesson 13 in other people's styles. The modules keep the given parts; what they do differs."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.transformer import EncoderLayer
from course_lib.vision import PatchEmbedding, patchify


def nested_loops(images, p):
    """Slow, and hard to doubt: patch by patch."""
    B, C, H, W = images.shape
    assert H % p == 0 and W % p == 0
    rows = []
    for top in range(0, H, p):
        for left in range(0, W, p):
            rows.append(images[:, :, top : top + p, left : left + p].reshape(B, -1))
    return torch.stack(rows, dim=1)


def number_by_number(images, p):
    """Every single pixel by its index."""
    B, C, H, W = images.shape
    if H % p != 0 or W % p != 0:
        raise ValueError("cannot cut")
    rows = images.new_empty(B, (H // p) * (W // p), C * p * p)
    for n in range(rows.shape[1]):
        for i in range(rows.shape[2]):
            c, r, s = i // (p * p), i // p % p, i % p
            rows[:, n, i] = images[:, c, n // (W // p) * p + r, n % (W // p) * p + s]
    return rows


def unfold_function(images, p):
    """torch's windows."""
    if images.shape[2] % p or images.shape[3] % p:
        raise RuntimeError("cannot cut")
    return F.unfold(images, kernel_size=p, stride=p).transpose(1, 2)


def unfold_method(images, p):
    """Views of windows, first down, then to the right."""
    assert not (images.shape[-1] % p or images.shape[-2] % p), "cannot cut"
    windows = images.unfold(2, p, p).unfold(3, p, p)  # (B, C, H/p, W/p, p, p)
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


def einsum(images, p):
    """einsum only to exchange axes."""
    B, C, H, W = images.shape
    return torch.einsum("bchpwq->bhwcpq", images.view(B, C, H // p, p, W // p, p)).reshape(B, H // p * (W // p), -1)


def chunks(images, p):
    """Split into strips, and strips into squares."""
    if sum(side % p for side in images.shape[2:]):
        raise AssertionError
    strips = images.split(p, dim=2)
    return torch.cat([square.flatten(1)[:, None] for strip in strips for square in strip.split(p, dim=3)], 1)


def convolution(images, p):
    """A convolution whose kernels pick one pixel each."""
    if images.shape[2] % p or images.shape[3] % p:
        raise ValueError("cannot cut")
    n = images.shape[1] * p * p
    kernels = torch.eye(n, dtype=images.dtype, device=images.device).reshape(n, images.shape[1], p, p)
    return F.conv2d(images, kernels, stride=p).flatten(2).mT


class GivenEmbedding(nn.Module):
    """The constructor of the stub."""

    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__()
        if image_size % patch_size:
            raise ValueError
        self.patch_size = patch_size
        N = (image_size // patch_size) ** 2
        self.proj = nn.Linear(in_channels * patch_size**2, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.randn(1, N + 1, d_model) * 0.2)


class AsConvolution(GivenEmbedding):
    """The projection as a strided convolution."""

    def forward(self, images):
        p = self.patch_size
        x = F.conv2d(images, self.proj.weight.view(-1, images.shape[1], p, p), self.proj.bias, stride=p)
        x = x.flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.repeat(x.shape[0], 1, 1), x), dim=1)
        return x + self.pos


class PositionsInTwoParts(GivenEmbedding):
    """The class token and the patches each get their positions before they are joined."""

    def forward(self, images):
        patches = self.proj(patchify(images, self.patch_size)) + self.pos[:, 1:]
        first = self.cls + self.pos[:, :1]
        return torch.cat([first.expand(images.size(0), 1, first.size(-1)), patches], 1)


class PictureByPicture(GivenEmbedding):
    """A slow loop over pictures and over patches."""

    def forward(self, images):
        out = []
        for picture in images:
            tokens = [self.cls[0, 0]] + [self.proj(row) for row in nested_loops(picture[None], self.patch_size)[0]]
            out.append(torch.stack([token + place for token, place in zip(tokens, self.pos[0], strict=True)]))
        return torch.stack(out)


class FillsATable(GivenEmbedding):
    """A table of positions, and the tokens added into it."""

    def forward(self, images):
        table = self.pos.repeat(len(images), 1, 1)
        table[:, 1:] += torch.einsum("bni,di->bnd", patchify(images, self.patch_size), self.proj.weight)
        table[:, 1:] += self.proj.bias
        table[:, 0] += self.cls[0, 0]
        return table


class PadsInFront(GivenEmbedding):
    """A row of zeros in front, then everything that is the same for all pictures."""

    def forward(self, images):
        x = F.pad(self.proj(patchify(images, self.patch_size)), (0, 0, 1, 0))
        return x + self.pos + F.pad(self.cls, (0, 0, 0, self.pos.shape[1] - 1))


class GivenModel(nn.Module):
    """The constructor of the stub."""

    def __init__(self, image_size, patch_size, in_channels, num_classes,
                 d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.embed = PatchEmbedding(image_size, patch_size, in_channels, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.head = nn.Linear(d_model, num_classes)


class StepByStep(GivenModel):
    """A name for every step."""

    def forward(self, images):
        tokens = self.embed(images)
        tokens = self.dropout(tokens)
        for i in range(len(self.layers)):
            tokens = self.layers[i](tokens, None)
        cls_token, _ = tokens.split([1, tokens.shape[1] - 1], dim=1)
        return self.head(cls_token.squeeze(1))


class HeadEverywhere(GivenModel):
    """Logits of every token, and only the first are kept."""

    def forward(self, images):
        x = F.dropout(self.embed(images), self.dropout.p, self.training)
        for layer in self.layers:
            x = layer(x)
        return self.head(x).select(1, 0)


class OneAtATime(GivenModel):
    """A slow loop over pictures."""

    def forward(self, images):
        return torch.cat([self.logits(picture) for picture in images.split(1)])

    def logits(self, picture):
        x = self.dropout(self.embed(picture))
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


class Sequential(GivenModel):
    """The layers as one function, the head by einsum."""

    def forward(self, images):
        x = nn.Sequential(self.dropout, *self.layers)(self.embed(images))
        return torch.einsum("bd,cd->bc", x[:, 0], self.head.weight) + self.head.bias


class MaskOfTrue(GivenModel):
    """A mask that hides nothing."""

    def forward(self, images):
        x = self.dropout(self.embed(images))
        everyone = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        for layer in self.layers:
            x = layer(x, everyone)
        return F.linear(x.transpose(0, 1)[0], self.head.weight, self.head.bias)


RIGHT_ANSWERS = {
    "patchify": {
        "nested loops": nested_loops,
        "number by number": number_by_number,
        "F.unfold": unfold_function,
        "Tensor.unfold": unfold_method,
        "einsum": einsum,
        "strips and squares": chunks,
        "convolution": convolution,
    },
    "PatchEmbedding": {
        "a strided convolution": AsConvolution,
        "positions in two parts": PositionsInTwoParts,
        "picture by picture": PictureByPicture,
        "fills a table": FillsATable,
        "pads in front": PadsInFront,
    },
    "ViT": {
        "step by step": StepByStep,
        "head everywhere": HeadEverywhere,
        "one at a time": OneAtATime,
        "sequential": Sequential,
        "a mask of True": MaskOfTrue,
    },
}
