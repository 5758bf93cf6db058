"""Mistakes of lesson 13, each as somebody else would make it who never saw the course's own spelling."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.transformer import EncoderLayer
from course_lib.vision import PatchEmbedding, patchify

# patchify


def refuse(images, p):
    if images.shape[2] % p != 0 or images.shape[3] % p != 0:
        raise ValueError("the patch size has to divide the height and the width")


def squares(images, p):
    """The patches as they stand in the picture: (B, C, rows, columns, p, p)."""
    refuse(images, p)
    return images.unfold(2, p, p).unfold(3, p, p)


def patches_column_by_column(images, p):
    refuse(images, p)
    rows = []
    for left in range(0, images.shape[3], p):
        for top in range(0, images.shape[2], p):
            rows.append(images[:, :, top : top + p, left : left + p].flatten(1))
    return torch.stack(rows, dim=1)


def patches_channels_last(images, p):
    refuse(images, p)
    rows = []
    for top in range(0, images.shape[2], p):
        for left in range(0, images.shape[3], p):
            patch = images[:, :, top : top + p, left : left + p]
            rows.append(patch.movedim(1, -1).flatten(1))
    return torch.stack(rows, dim=1)


def patches_on_their_side(images, p):
    grid = squares(images, p)
    return torch.einsum("bcijhw->bijcwh", grid).flatten(3).flatten(1, 2)


def patches_only_reshaped(images, p):
    refuse(images, p)
    B, C, H, W = images.shape
    return images.contiguous().view(B, (H // p) * (W // p), C * p * p)


def patches_in_one_list(images, p):
    refuse(images, p)
    rows = [
        picture[:, top : top + p, left : left + p].flatten()
        for picture in images
        for top in range(0, images.shape[2], p)
        for left in range(0, images.shape[3], p)
    ]
    return torch.stack(rows)


def patches_channel_after_channel(images, p):
    return squares(images, p).reshape(len(images), -1, images.shape[1] * p * p)


def patches_a_row_for_each_channel(images, p):
    return squares(images, p).permute(0, 2, 3, 1, 4, 5).flatten(4).flatten(1, 3)


def patches_p_by_p(images, p):
    refuse(images, p)
    h, w = images.shape[2] // p, images.shape[3] // p
    rows = []
    for i in range(p):
        for j in range(p):
            rows.append(images[:, :, i * h : (i + 1) * h, j * w : (j + 1) * w].flatten(1))
    return torch.stack(rows, dim=1)


def patches_every_so_many_pixels(images, p):
    refuse(images, p)
    rows, columns = images.shape[2] // p, images.shape[3] // p
    found = [images[:, :, i::rows, j::columns].flatten(1) for i in range(rows) for j in range(columns)]
    return torch.stack(found, dim=1)


def patches_of_square_pictures(images, p):
    refuse(images, p)
    B, C, H, _ = images.shape
    n = H // p
    grid = images.view(B, C, n, p, n, p)
    return torch.einsum("bcnpmq->bnmcpq", grid).reshape(B, n * n, C * p * p)


def patches_overlapping(images, p):
    refuse(images, p)
    return images.unfold(2, p, 1).unfold(3, p, 1).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


def patches_in_columns(images, p):
    refuse(images, p)
    return F.unfold(images, kernel_size=p, stride=p)


def patches_not_flattened(images, p):
    grid = squares(images, p).permute(0, 2, 3, 1, 4, 5)
    return grid.flatten(1, 2)


def patches_in_their_grid(images, p):
    return squares(images, p).movedim(1, 3).flatten(3)


def patches_without_the_last(images, p):
    refuse(images, p)
    rows = []
    for top in range(0, images.shape[2] - p, p):
        for left in range(0, images.shape[3] - p, p):
            rows.append(images[:, :, top : top + p, left : left + p].flatten(1))
    return torch.stack(rows, dim=1)


def patches_of_grey(images, p):
    return patchify(images.mean(dim=1, keepdim=True), p)


def patches_of_the_first_channel(images, p):
    refuse(images, p)
    return F.unfold(images[:, :1], p, stride=p).mT


def patches_as_one_number(images, p):
    refuse(images, p)
    return F.avg_pool2d(images, p).flatten(2).transpose(1, 2)


def patches_of_a_square_in_the_corner(images, p):
    refuse(images, p)
    n = images.shape[2] // p
    found = [images[:, :, i * p : (i + 1) * p, j * p : (j + 1) * p].flatten(1) for i in range(n) for j in range(n)]
    return torch.stack(found, dim=1)


def patches_with_height_and_width_exchanged(images, p):
    refuse(images, p)
    _, _, W, H = images.shape
    rows = []
    for top in range(0, H, p):
        for left in range(0, W, p):
            rows.append(images[:, :, top : top + p, left : left + p].flatten(1))
    return torch.stack(rows, dim=1)


def patches_of_one_picture(images, p):
    return squares(images, p)[0].permute(1, 2, 0, 3, 4).flatten(2).flatten(0, 1)


# PatchEmbedding


class Embedding(nn.Module):
    """Equation 1 in three steps; each of the classes below gets one of them wrong."""

    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__()
        if image_size % patch_size != 0:
            raise ValueError("the patch size has to divide the image size")
        self.p = patch_size
        n = image_size // patch_size
        self.proj = nn.Linear(in_channels * patch_size * patch_size, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(0.02 * torch.randn(1, n * n + 1, d_model))

    def cut(self, images):
        return F.unfold(images, self.p, stride=self.p).transpose(1, 2)

    def with_class_token(self, tokens):
        B = tokens.shape[0]
        return torch.cat((self.cls.repeat(B, 1, 1), tokens), dim=1)

    def placed(self, tokens):
        return tokens.add(self.pos)

    def forward(self, images):
        return self.placed(self.with_class_token(self.proj(self.cut(images))))


class EmbedsColumnByColumn(Embedding):
    def cut(self, images):
        columns = images.split(self.p, dim=3)
        patches = [patch.flatten(1) for column in columns for patch in column.split(self.p, dim=2)]
        return torch.stack(patches, dim=1)


class EmbedsChannelsLast(Embedding):
    def cut(self, images):
        B = len(images)
        squares = images.permute(0, 2, 3, 1).unfold(1, self.p, self.p).unfold(2, self.p, self.p)
        return squares.permute(0, 1, 2, 4, 5, 3).reshape(B, -1, self.proj.in_features)


class EmbedsLines(Embedding):
    def cut(self, images):
        return images.reshape(images.shape[0], -1, self.proj.in_features)


class EmbedsByAReshapedConvolution(Embedding):
    def forward(self, images):
        d_model = self.proj.out_features
        kernels = self.proj.weight.view(d_model, images.shape[1], self.p, self.p)
        maps = F.conv2d(images, kernels, self.proj.bias, stride=self.p)
        return self.placed(self.with_class_token(maps.reshape(len(images), -1, d_model)))


class EmbedsWithoutBias(Embedding):
    def forward(self, images):
        tokens = torch.einsum("bnp,dp->bnd", self.cut(images), self.proj.weight)
        return self.placed(self.with_class_token(tokens))


class EmbedsWithReLU(Embedding):
    def forward(self, images):
        return self.placed(self.with_class_token(self.proj(self.cut(images)).clamp(min=0)))


class EmbedsTimesRoot(Embedding):
    def forward(self, images):
        tokens = self.proj(self.cut(images)) * math.sqrt(self.cls.shape[-1])
        return self.placed(self.with_class_token(tokens))


class ClassTokenAtTheEnd(Embedding):
    def with_class_token(self, tokens):
        return torch.cat([tokens, self.cls.expand(tokens.size(0), 1, tokens.size(2))], dim=1)


class ClassTokenOfZeros(Embedding):
    def with_class_token(self, tokens):
        return F.pad(tokens, (0, 0, 1, 0))


class ClassTokenDrawnAnew(Embedding):
    def with_class_token(self, tokens):
        cls = torch.empty_like(tokens[:, :1]).normal_(std=0.02)
        return torch.cat([cls, tokens], dim=1)


class ClassTokenNotExpanded(Embedding):
    def with_class_token(self, tokens):
        return torch.hstack([self.cls, tokens])


class NoClassToken(Embedding):
    def with_class_token(self, tokens):
        return tokens

    def placed(self, tokens):
        return tokens + self.pos[:, 1:]


class ClassTokenAdded(Embedding):
    def forward(self, images):
        tokens = self.proj(self.cut(images)) + self.cls
        return tokens + self.pos.narrow(1, 1, tokens.shape[1])


class ClassTokenIsTheMean(Embedding):
    def with_class_token(self, tokens):
        return torch.cat([tokens.mean(1, keepdim=True), tokens], 1)


class NoPositions(Embedding):
    def placed(self, tokens):
        return tokens


class ClassTokenWithoutPosition(Embedding):
    def placed(self, tokens):
        cls, patches = tokens[:, :1], tokens[:, 1:]
        return torch.cat([cls, patches + self.pos[:, 1:]], dim=1)


class PositionsOneTooEarly(Embedding):
    def forward(self, images):
        tokens = self.proj(self.cut(images))
        tokens = tokens + self.pos[:, : tokens.shape[1]]
        return self.with_class_token(tokens)


class PositionsBeforeTheClassToken(Embedding):
    def forward(self, images):
        patches = self.proj(self.cut(images))
        return self.with_class_token(self.placed(patches))


class PositionsTwice(Embedding):
    def forward(self, images):
        return self.placed(super().forward(images))


class PatchPositionsTwice(Embedding):
    def with_class_token(self, tokens):
        n = tokens.shape[1]
        return super().with_class_token(tokens + self.pos[:, -n:])


class OnePositionForAll(Embedding):
    def placed(self, tokens):
        return torch.stack([token + self.pos[:, 0] for token in tokens.unbind(1)], dim=1)


class PositionsMultiplied(Embedding):
    def placed(self, tokens):
        return torch.einsum("bnd,nd->bnd", tokens, self.pos[0])


class PositionsBeside(Embedding):
    def placed(self, tokens):
        return torch.cat([tokens, self.pos.repeat(tokens.shape[0], 1, 1)], dim=2)


class NormAtTheEnd(Embedding):
    def placed(self, tokens):
        tokens = tokens + self.pos
        return F.layer_norm(tokens, (tokens.shape[-1],))


class ClassTokenAddedBesideFirstPositions(Embedding):
    def forward(self, images):
        tokens = self.proj(self.cut(images)) + self.cls
        return tokens + self.pos[:, : tokens.shape[1]]


class PositionsDrawnAnew(Embedding):
    def placed(self, tokens):
        return tokens + 0.02 * torch.randn(tokens.shape[1:], device=tokens.device)


# ViT


class Classifier(nn.Module):
    """The model in three steps; each of the classes below gets one of them wrong."""

    def __init__(self, image_size, patch_size, in_channels, num_classes,
                 d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.embed = PatchEmbedding(image_size, patch_size, in_channels, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)])
        self.head = nn.Linear(d_model, num_classes)

    def embedded(self, images):
        return self.dropout(self.embed(images))

    def encoded(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x

    def logits(self, x):
        cls, _ = x.split([1, x.shape[1] - 1], dim=1)
        return self.head(cls.squeeze(1))

    def forward(self, images):
        return self.logits(self.encoded(self.embedded(images)))


class HeadOnTheMean(Classifier):
    def logits(self, x):
        return self.head(torch.einsum("bnd->bd", x) / x.shape[1])


class HeadOnTheMeanOfPatches(Classifier):
    def logits(self, x):
        patches = x.unbind(1)[1:]
        return self.head(sum(patches) / len(patches))


class HeadOnTheLargest(Classifier):
    def logits(self, x):
        return self.head(F.adaptive_max_pool1d(x.transpose(1, 2), 1).squeeze(-1))


class HeadOnTheSum(Classifier):
    def logits(self, x):
        total = torch.zeros_like(x[:, 0])
        for token in x.unbind(dim=1):
            total = total + token
        return self.head(total)


class HeadOnTheLastToken(Classifier):
    def logits(self, x):
        return self.head(x.select(1, x.shape[1] - 1))


class HeadOnTheFirstPatch(Classifier):
    def logits(self, x):
        _, first, *_ = x.unbind(1)
        return self.head(first)


class HeadOnEveryToken(Classifier):
    def logits(self, x):
        return torch.stack([self.head(token) for token in x.unbind(1)], dim=1)


class HeadOnTheFirstPicture(Classifier):
    def logits(self, x):
        first, *_ = x
        return self.head(first)


class ClassTokenThrownAway(Classifier):
    def embedded(self, images):
        return super().embedded(images).narrow(1, 1, self.embed.pos.shape[1] - 1)

    def logits(self, x):
        return self.head(x[:, 0, :])


class SoftmaxInTheEnd(Classifier):
    def logits(self, x):
        scores = super().logits(x)
        e = (scores - scores.max(dim=-1, keepdim=True).values).exp()
        return e / e.sum(dim=-1, keepdim=True)


class LogSoftmaxInTheEnd(Classifier):
    def logits(self, x):
        scores = super().logits(x)
        return scores - torch.logsumexp(scores, dim=1, keepdim=True)


class SaysTheClass(Classifier):
    def logits(self, x):
        return super().logits(x).max(dim=1).indices


class NoHead(Classifier):
    def logits(self, x):
        return x[:, 0]


class ReLUBeforeTheHead(Classifier):
    def logits(self, x):
        return super().logits(x.clamp(min=0))


class NormBeforeTheHead(Classifier):
    def logits(self, x):
        return super().logits(F.layer_norm(x, x.shape[-1:]))


class OneLayerAgainAndAgain(Classifier):
    def encoded(self, x):
        for _ in self.layers:
            x = self.layers[0](x)
        return x


class FirstLayerOnly(Classifier):
    def encoded(self, x):
        for layer in self.layers:
            x = layer(x)
            return x


class EveryLayerReadsTheEmbedding(Classifier):
    def encoded(self, x):
        outputs = [layer(x) for layer in self.layers]
        return outputs[-1]


class LastLayerMissing(Classifier):
    def encoded(self, x):
        i = 0
        while i < len(self.layers) - 1:
            x = self.layers[i](x)
            i += 1
        return x


class LayersBackwards(Classifier):
    def encoded(self, x):
        for i in range(len(self.layers) - 1, -1, -1):
            x = self.layers[i](x)
        return x


class NoLayers(Classifier):
    def encoded(self, x):
        for layer in self.layers:
            layer(x)
        return x


class OneSkipMore(Classifier):
    def encoded(self, x):
        for layer in self.layers:
            before = x
            x = layer(before)
            x = torch.add(before, x)
        return x


class NormsBeforeTheSublayers(Classifier):
    def encoded(self, x):
        for layer in self.layers:
            y = layer.norm1(x)
            x = x + layer.dropout(layer.self_attn(y, y, y))
            y = layer.norm2(x)
            x = x + layer.dropout(layer.ff(y))
        return x


class PositionsOnceMore(Classifier):
    def embedded(self, images):
        tokens = self.embed(images)
        return self.dropout(tokens + self.embed.pos.expand_as(tokens))


class ClassTokenSeesItselfOnly(Classifier):
    def encoded(self, x):
        mask = torch.eye(x.shape[1], dtype=torch.bool)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class NoDropout(Classifier):
    def embedded(self, images):
        return self.embed(images)


class DropoutAlwaysOn(Classifier):
    def embedded(self, images):
        return F.dropout(self.embed(images), p=self.dropout.p)


class DroppedTwice(Classifier):
    def embedded(self, images):
        return self.dropout(super().embedded(images))


class DropoutBeforeTheHead(Classifier):
    def logits(self, x):
        return super().logits(self.dropout(x))


class LastNormOnceMore(Classifier):
    def logits(self, x):
        return super().logits(self.layers[-1].norm2(x))


SPELLINGS = {
    "patchify": {
        "column-by-column": patches_column_by_column,
        "channels-last": patches_channels_last,
        "patches-on-their-side": patches_on_their_side,
        "reshaped-only": patches_only_reshaped,
        "reshaped-over-all": patches_in_one_list,
        "channels-before-the-grid": patches_channel_after_channel,
        "a-row-for-each-channel": patches_a_row_for_each_channel,
        "p-is-the-number-of-patches": patches_p_by_p,
        "every-so-many-pixels": patches_every_so_many_pixels,
        "square-pictures-only": patches_of_square_pictures,
        "overlapping": patches_overlapping,
        "patches-in-columns": patches_in_columns,
        "not-flattened": patches_not_flattened,
        "grid-is-kept": patches_in_their_grid,
        "last-row-and-column-missing": patches_without_the_last,
        "grey": patches_of_grey,
        "first-channel-only": patches_of_the_first_channel,
        "one-number-each": patches_as_one_number,
        "first-picture-only": patches_of_one_picture,
    },
    "PatchEmbedding": {
        "embeds-column-by-column": EmbedsColumnByColumn,
        "embeds-channels-last": EmbedsChannelsLast,
        "embeds-lines": EmbedsLines,
        "convolution-reshaped": EmbedsByAReshapedConvolution,
        "no-bias": EmbedsWithoutBias,
        "relu-after-the-projection": EmbedsWithReLU,
        "times-root-d-model": EmbedsTimesRoot,
        "class-token-at-the-end": ClassTokenAtTheEnd,
        "class-token-of-zeros": ClassTokenOfZeros,
        "class-token-not-expanded": ClassTokenNotExpanded,
        "no-class-token": NoClassToken,
        "class-token-added": ClassTokenAdded,
        "class-token-is-the-mean": ClassTokenIsTheMean,
        "no-positions": NoPositions,
        "class-token-without-position": ClassTokenWithoutPosition,
        "positions-one-too-early": PositionsOneTooEarly,
        "positions-before-the-class-token": PositionsBeforeTheClassToken,
        "positions-twice": PositionsTwice,
        "patch-positions-twice": PatchPositionsTwice,
        "one-position-for-all": OnePositionForAll,
        "positions-multiplied": PositionsMultiplied,
        "positions-beside": PositionsBeside,
        "a-norm-at-the-end": NormAtTheEnd,
        "positions-drawn-anew": PositionsDrawnAnew,
        "class-token-drawn-anew": ClassTokenDrawnAnew,
    },
    "ViT": {
        "head-on-the-mean": HeadOnTheMean,
        "head-on-the-mean-of-patches": HeadOnTheMeanOfPatches,
        "head-on-the-largest": HeadOnTheLargest,
        "head-on-the-sum": HeadOnTheSum,
        "head-on-the-last-token": HeadOnTheLastToken,
        "head-on-the-first-patch": HeadOnTheFirstPatch,
        "head-on-every-token": HeadOnEveryToken,
        "head-on-the-first-picture": HeadOnTheFirstPicture,
        "class-token-thrown-away": ClassTokenThrownAway,
        "softmax-in-the-end": SoftmaxInTheEnd,
        "log-softmax-in-the-end": LogSoftmaxInTheEnd,
        "says-the-class": SaysTheClass,
        "no-head": NoHead,
        "relu-before-the-head": ReLUBeforeTheHead,
        "a-norm-before-the-head": NormBeforeTheHead,
        "one-layer-used-again-and-again": OneLayerAgainAndAgain,
        "first-layer-only": FirstLayerOnly,
        "every-layer-reads-the-embedding": EveryLayerReadsTheEmbedding,
        "last-layer-missing": LastLayerMissing,
        "layers-backwards": LayersBackwards,
        "no-layers": NoLayers,
        "one-skip-more": OneSkipMore,
        "norms-before-the-sublayers": NormsBeforeTheSublayers,
        "positions-once-more": PositionsOnceMore,
        "class-token-sees-itself-only": ClassTokenSeesItselfOnly,
        "no-dropout": NoDropout,
        "dropout-always-on": DropoutAlwaysOn,
        "dropped-twice-or-not-scaled": DroppedTwice,
        "dropout-before-the-head": DropoutBeforeTheHead,
    },
}


MISNAMED = {
    "patchify": {
        "height-and-width-exchanged": (
            patches_with_height_and_width_exchanged, "square-pictures-only",
            "for every oblong picture both are errors that mention a size; the edit mixes pixels instead",
        ),
    },
}
