"""Lesson 13: patches judged by `F.unfold`, their embedding by a strided convolution, the ViT by torch's encoder."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import vision
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.oracles import encoder_layer
from course_lib.transformer import EncoderLayer

REFUSALS = ("ValueError", "AssertionError", "RuntimeError")

# --- patchify ---------------------------------------------------------------------------------------------------


def unfolded(images, p):
    """torch's own windows, moved by a whole window each time."""
    return F.unfold(images, p, stride=p).transpose(1, 2)


def cut(images, p):
    """The picture with two axes more: (B, C, rows of patches, p, columns of patches, p)."""
    B, C, H, W = images.shape
    if H % p or W % p:
        raise ValueError
    return images.reshape(B, C, H // p, p, W // p, p)


def in_rows(ordered, numbers):
    """(B, ...) -> (B, N, numbers of a patch)."""
    return ordered.reshape(len(ordered), -1, numbers)


def numbers_of(images, p):
    return images.shape[1] * p * p


def column_by_column(images, p):
    """The patches go down first and then to the right. We read a picture like a page: which of the two grid axes has
    to come first?"""
    return in_rows(cut(images, p).permute(0, 4, 2, 1, 3, 5), numbers_of(images, p))


def channels_last(images, p):
    """Inside a patch all channels of one pixel stand together. They are to stand channel by channel: which axis has to
    come first inside a patch?"""
    return in_rows(cut(images, p).permute(0, 2, 4, 3, 5, 1), numbers_of(images, p))


def patches_on_their_side(images, p):
    """Each patch is written out column by column. It is to be row by row: in which order do the two axes of length p
    stand?"""
    return in_rows(cut(images, p).permute(0, 2, 4, 1, 5, 3), numbers_of(images, p))


def reshaped_only(images, p):
    """The numbers were taken in the order in which they lie in memory, C·p·p at a time. So a row holds a stretch of
    whole lines of the picture, not a square: which axes have to change places before the last reshape?"""
    cut(images, p)
    return in_rows(images, numbers_of(images, p))


def reshaped_over_all(images, p):
    """The axes were put in the right order, but the batch was not kept apart: there is one long list of patches. Which
    axis of the result says whose patch it is?"""
    return cut(images, p).permute(0, 2, 4, 1, 3, 5).reshape(-1, numbers_of(images, p))


def channels_before_the_grid(images, p):
    """All patches of the first channel come before those of the second one. A patch is to hold all its channels: where
    does the channel axis belong?"""
    return in_rows(cut(images, p).permute(0, 1, 2, 4, 3, 5), numbers_of(images, p))


def a_row_for_each_channel(images, p):
    """Every channel of a patch got a row of its own, so there are C times too many rows. How many numbers does one
    patch have?"""
    return in_rows(cut(images, p).permute(0, 2, 4, 1, 3, 5), p * p)


def p_is_the_number_of_patches(images, p):
    """The picture was cut into p by p patches. p is the side of one patch in pixels: how many of them fit into H?"""
    B, C, H, W = images.shape
    cut(images, p)
    grid = images.reshape(B, C, p, H // p, p, W // p).permute(0, 2, 4, 1, 3, 5)
    return grid.reshape(B, p * p, -1)


def every_so_many_pixels(images, p):
    """A patch holds pixels from all over the picture, each a few pixels from the last. The axis of height H was split
    as (p, H/p): which of the two numbers has to come last, for neighbours to stay together?"""
    B, C, H, W = images.shape
    cut(images, p)
    grid = images.reshape(B, C, p, H // p, p, W // p).permute(0, 3, 5, 1, 2, 4)
    return in_rows(grid, numbers_of(images, p))


def square_pictures_only(images, p):
    """It was counted on height alone how many patches fit, so only square pictures can be cut. Which number of patches
    belongs to the width?"""
    B, C, H, W = images.shape
    cut(images, p)
    return in_rows(images.reshape(B, C, H // p, p, H // p, p).permute(0, 2, 4, 1, 3, 5), numbers_of(images, p))


def height_and_width_exchanged(images, p):
    """The number of patches of the width was used for the height, and the other way round. With square pictures nobody
    notices. Which of the four axes is the height?"""
    B, C, H, W = images.shape
    cut(images, p)
    return in_rows(images.reshape(B, C, W // p, p, H // p, p).permute(0, 2, 4, 1, 3, 5), numbers_of(images, p))


def overlapping(images, p):
    """The window moved by one pixel at a time, so the patches overlap. How far has it to move for every pixel to be in
    just one patch?"""
    cut(images, p)
    return F.unfold(images, p).transpose(1, 2)


def patches_in_columns(images, p):
    """Each column is a patch: (B, C·p·p, N). `F.unfold` gives it like that. One row is to be one patch."""
    cut(images, p)
    return F.unfold(images, p, stride=p)


def not_flattened(images, p):
    """The patches are still squares with channels. What does a linear layer want of each patch?"""
    return cut(images, p).permute(0, 2, 4, 1, 3, 5).flatten(1, 2)


def grid_is_kept(images, p):
    """The patches still stand in a grid of rows and columns. A Transformer reads a sequence: how many axes does the
    result have?"""
    return cut(images, p).permute(0, 2, 4, 1, 3, 5).flatten(3)


def last_row_and_column_missing(images, p):
    """The patches at the right and the lower edge are missing. Where does the last patch begin, and does your range
    still contain that number?"""
    grid = cut(images, p).permute(0, 2, 4, 1, 3, 5)[:, :-1, :-1]
    return grid.reshape(len(images), grid.shape[1] * grid.shape[2], numbers_of(images, p))


def grey(images, p):
    """The channels were averaged, so a colour picture turned grey. How many numbers does a patch have in the
    docstring?"""
    return in_rows(cut(images.mean(1, keepdim=True), p).permute(0, 2, 4, 1, 3, 5), p * p)


def first_channel_only(images, p):
    """Only the first channel was cut. How many numbers does a patch have in the docstring?"""
    return in_rows(cut(images[:, :1], p).permute(0, 2, 4, 1, 3, 5), p * p)


def one_number_each(images, p):
    """Each patch has become its mean, one number for each channel. That throws away what is in it: which numbers does
    the docstring ask for?"""
    return cut(images, p).mean((3, 5)).flatten(2).transpose(1, 2)


def lines_of_pixels(images, p):
    """The channels came together, the squares did not: a row of the result holds stretches of whole lines of the
    picture. How far does a patch reach to the right?"""
    cut(images, p)
    return in_rows(images.transpose(1, 2), numbers_of(images, p))


def from_the_bottom(images, p):
    """The patches begin at the bottom of the picture. Row 0 of a tensor is drawn at the top: where does reading
    begin?"""
    return in_rows(cut(images, p).permute(0, 2, 4, 1, 3, 5).flip(1), numbers_of(images, p))


def first_picture_only(images, p):
    """Only the first picture of the batch was cut. How long is the first axis of the result?"""
    return in_rows(cut(images[:1], p).permute(0, 2, 4, 1, 3, 5), numbers_of(images, p))


PATCHIFY_MISTAKES = (
    column_by_column, channels_last, patches_on_their_side, reshaped_only, reshaped_over_all, channels_before_the_grid,
    a_row_for_each_channel, p_is_the_number_of_patches, every_so_many_pixels, square_pictures_only,
    height_and_width_exchanged, overlapping, patches_in_columns, not_flattened, grid_is_kept,
    last_row_and_column_missing, grey, first_channel_only, one_number_each, lines_of_pixels, from_the_bottom,
    first_picture_only,
)


def some_pictures(generator, B, C, rows, columns, p):
    return torch.randn(B, C, rows * p, columns * p, generator=generator), p


def pictures_that_cannot_be_cut(generator):
    """One pixel too many, below and to the right."""
    return [Call((torch.randn(2, 3, *size, generator=generator), 2), f"{size[0]} by {size[1]} pixels, p = 2",
                 must_raise=REFUSALS) for size in ((5, 4), (4, 5), (5, 3))]


WIDE = torch.tensor([[[[5.0, 1, 8, 2, 0, 7], [3, 9, 4, 6, 2, 1], [7, 0, 1, 5, 9, 3], [2, 6, 3, 8, 4, 0]]]])
TWO_CHANNELS = torch.tensor([[[[5.0, 1, 8, 2], [3, 9, 4, 6]], [[-5, -1, -8, -2], [-3, -9, -4, -6]]]])


def one_small_picture(generator):
    return torch.randn(1, 2, 4, 6, generator=generator)


def nothing_is_lost(output, generator):
    images = one_small_picture(generator)
    return torch.equal(output(images, 2).flatten().sort().values, images.flatten().sort().values)


def a_patch_is_one_row(output, generator):
    images = torch.zeros(1, 2, 4, 6)
    images[:, :, 2:4, 2:4] = 1
    patches = output(images, 2)[0]
    return int((patches != patches[0]).any(-1).sum()) == 1


def pictures_stay_apart(output, generator):
    images = torch.cat([one_small_picture(generator), one_small_picture(generator)])
    return torch.equal(output(images, 2)[:1], output(images[:1], 2))


# --- PatchEmbedding ---------------------------------------------------------------------------------------------


def strided_convolution(w, build, images, prefix=""):
    """The projection as torch's convolution that moves by a whole patch; then one row more, and a sum."""
    _, p, C, d_model = build[:4]
    kernels = w[f"{prefix}proj.weight"].reshape(d_model, C, p, p)
    tokens = F.conv2d(images, kernels, w[f"{prefix}proj.bias"], stride=p).flatten(2).transpose(1, 2)  # (B, N, d_model)
    rows = [torch.cat([w[f"{prefix}cls"][0], own]) + w[f"{prefix}pos"][0] for own in tokens]
    return torch.stack(rows)


class Embedding(nn.Module):
    """The embedding cut into steps, each a method, so that a mistake can override just one of them."""

    def __init__(self, image_size, patch_size, in_channels, d_model):
        super().__init__()
        self.patch_size = patch_size
        N = (image_size // patch_size) ** 2
        self.proj = nn.Linear(in_channels * patch_size**2, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.zeros(1, N + 1, d_model))

    def forward(self, images):
        tokens = self.project(self.patches(images))  # (B, N, d_model)
        return self.place(self.join(self.class_token(tokens), tokens))  # (B, N + 1, d_model)

    def patches(self, images):
        return F.unfold(images, self.patch_size, stride=self.patch_size).mT

    def project(self, patches):
        return self.proj(patches)

    def class_token(self, tokens):
        return self.cls.expand(len(tokens), -1, -1)

    def join(self, first, tokens):
        return torch.cat([first, tokens], 1)

    def place(self, x):
        return x + self.pos


# The patches


class embeds_column_by_column(Embedding):
    """The patches went down first and then to the right. The position that is learned for "top right" then belongs to
    another place in other people's models: in which order does `patchify` cut?"""

    def patches(self, images):
        return column_by_column(images, self.patch_size)


class embeds_channels_last(Embedding):
    """Inside a patch, the channels of one pixel stood together. Loaded weights then meet the wrong pixels: in which
    order does `patchify` write out a patch?"""

    def patches(self, images):
        return channels_last(images, self.patch_size)


class embeds_patches_on_their_side(Embedding):
    """Each patch was written out column by column. In which order does `patchify` do it?"""

    def patches(self, images):
        return patches_on_their_side(images, self.patch_size)


class embeds_lines(Embedding):
    """The picture was reshaped, not cut: a row held a stretch of whole lines of pixels. What did exercise 1 do besides
    reshaping?"""

    def patches(self, images):
        return reshaped_only(images, self.patch_size)


class convolution_reshaped(Embedding):
    """The numbers after the projection were mixed up: a result of shape (B, d_model, N) was read as (B, N, d_model)
    by a reshape. Which of the two operations exchanges axes: reshape or transpose?"""

    def project(self, patches):
        tokens = self.proj(patches)  # (B, N, d_model)
        return tokens.transpose(1, 2).reshape(tokens.shape)


class no_bias(Embedding):
    """The projection has lost its bias. A linear map of `nn.Linear` has two parts: which one is left, when you multiply
    by its weight?"""

    def project(self, patches):
        return patches @ self.proj.weight.T


class relu_after_the_projection(Embedding):
    """Negative numbers were cut off after the projection. It is to be linear: is there a switch in equation 1 of the
    paper?"""

    def project(self, patches):
        return self.proj(patches).relu()


class times_root_d_model(Embedding):
    """The tokens were multiplied by √d_model. That is what the Transformer of 2017 does with embeddings of words. Does
    the docstring say so here?"""

    def project(self, patches):
        return self.proj(patches) * self.cls.shape[-1] ** 0.5


# The class token


class class_token_at_the_end(Embedding):
    """The class token stands behind the patches. Index 0 belongs to it: in which order do the two stand in
    `torch.cat`?"""

    def join(self, first, tokens):
        return torch.cat([tokens, first], 1)


class class_token_of_zeros(Embedding):
    """What stands at index 0 is zeros, or only a position, so nothing the class token could learn is ever used. The
    constructor made one that can learn: what is its name?"""

    def class_token(self, tokens):
        return torch.zeros_like(tokens[:, :1])


class class_token_of_ones(Embedding):
    """The class token is made anew, of ones, so nothing it could learn is ever used. The constructor made one that can
    learn: what is its name?"""

    def class_token(self, tokens):
        return torch.ones_like(tokens[:, :1])


class class_token_drawn_anew(Embedding):
    """The class token is drawn at random in every call. It is to be learned: where do things live that are
    learned?"""

    def class_token(self, tokens):
        return torch.randn(1, 1, tokens.shape[-1], device=tokens.device, dtype=tokens.dtype).expand_as(tokens[:, :1])


class class_token_not_expanded(Embedding):
    """There is one class token and there are several pictures, and `torch.cat` does not broadcast. (With a single
    picture it works.) How do you get a row for each of them without a copy?"""

    def class_token(self, tokens):
        return self.cls


class as_many_class_tokens_as_patches(Embedding):
    """There is a class token for every patch. How many does a picture need?"""

    def class_token(self, tokens):
        return self.cls.expand_as(tokens)


class no_class_token(Embedding):
    """The class token is missing, and its position, too. How many tokens does a picture of N patches have?"""

    def forward(self, images):
        return self.project(self.patches(images)) + self.pos[:, 1:]


class class_token_added(Embedding):
    """The class token was added to every patch. It is to be a token of its own: how long is the sequence?"""

    def forward(self, images):
        return self.project(self.patches(images)) + self.cls + self.pos[:, 1:]


class class_token_is_the_mean(Embedding):
    """The first token is the mean of the patches, another one for each picture. The class token is the same for all of
    them: it has not looked at anything yet. Who lets it look?"""

    def class_token(self, tokens):
        return tokens.mean(1, keepdim=True)


class mean_added_to_the_class_token(Embedding):
    """The class token differs from picture to picture: something of the patches was added to it. It has not looked at
    anything yet. Who lets it look?"""

    def class_token(self, tokens):
        return self.cls + tokens.mean(1, keepdim=True)


# The positions


class no_positions(Embedding):
    """No positions were added. What would an encoder make of the same patches in another order (lesson 09)?"""

    def place(self, x):
        return x


class class_token_without_position(Embedding):
    """The patches got a position each, the class token none. How many rows does `pos` have?"""

    def place(self, x):
        return torch.cat([x[:, :1], x[:, 1:] + self.pos[:, 1:]], 1)


class positions_one_too_early(Embedding):
    """The positions were added before the class token was put in front, so every patch has the row of its left
    neighbour, and the class token none. To how many tokens does `pos` belong?"""

    def place(self, x):
        return torch.cat([x[:, :1], x[:, 1:] + self.pos[:, :-1]], 1)


class positions_before_the_class_token(Embedding):
    """The positions were added when there were only the patches: N tokens, and N + 1 rows. What has to stand in front
    before the two fit?"""

    def forward(self, images):
        tokens = self.project(self.patches(images)) + self.pos
        return self.join(self.class_token(tokens), tokens)


class positions_one_too_late(Embedding):
    """Row 0 of `pos` went to the last token: the rows have moved by one place. Which token does row 0 belong to?"""

    def place(self, x):
        return x + self.pos.roll(-1, 1)


class positions_twice(Embedding):
    """The positions were added twice to every token. Once is enough."""

    def place(self, x):
        return x + 2 * self.pos


class patch_positions_twice(Embedding):
    """The patches got their positions twice: once by themselves, and once more together with the class token. Where in
    your code is the sequence complete?"""

    def place(self, x):
        return x + torch.cat([self.pos[:, :1], 2 * self.pos[:, 1:]], 1)


class positions_by_picture(Embedding):
    """The rows of `pos` went to the pictures: all tokens of picture b got row b. Which axis of (B, N + 1, d_model)
    is the place?"""

    def place(self, x):
        return x + self.pos[0, : len(x), None]


class one_position_for_all(Embedding):
    """All tokens got the first row of `pos`. Then nobody can tell where a patch was. How many rows does it have?"""

    def place(self, x):
        return x + self.pos[:, :1]


class positions_multiplied(Embedding):
    """The tokens were multiplied by the positions. What does "add" do to a token whose position is near zero, and what
    does "multiply" do?"""

    def place(self, x):
        return x * self.pos


class positions_beside(Embedding):
    """The positions were put beside the tokens, so each token is twice as wide. Equation 1 adds them."""

    def place(self, x):
        return torch.cat([x, self.pos.expand_as(x)], -1)


class positions_drawn_anew(Embedding):
    """The positions are drawn at random in every call, so no place ever becomes known. Which attribute is there to be
    learned?"""

    def place(self, x):
        return x + torch.randn_like(x[:1])


class a_norm_at_the_end(Embedding):
    """The tokens were normalised at the end. The norms are in the layers that come next: does the docstring speak of
    one?"""

    def place(self, x):
        return F.layer_norm(x + self.pos, x.shape[-1:])


EMBEDDING_MISTAKES = tuple(m for m in list(vars().values())
                           if isinstance(m, type) and issubclass(m, Embedding) and m is not Embedding)


def square_pictures(generator, B, C, side, p, d_model):
    return (torch.randn(B, C, side * p, side * p, generator=generator),)


def embedding_build(B, C, side, p, d_model):
    return side * p, p, C, d_model


def tokens_by_hand(images):
    """Two patches in a row would be no square: four of them, two pixels a side, and weights that pick two pixels."""
    weights = {"proj.weight": torch.tensor([[1.0, 0, 0, 0], [0, 10, 0, 0]]), "proj.bias": torch.tensor([100.0, 0]),
               "cls": torch.tensor([[[-1.0, -2]]]), "pos": torch.tensor([[[0.1, 0], [0.2, 0], [0.3, 0], [0.5, 0],
                                                                          [0.8, 0]]])}
    says = ("numbers to follow by hand: proj.weight = [[1, 0, 0, 0], [0, 10, 0, 0]], proj.bias = [100, 0], "
            "cls = [-1, -2], the rows of pos are [0.1, 0], [0.2, 0], [0.3, 0], [0.5, 0] and [0.8, 0]")
    return Call((torch.tensor(images)[:, None],), says, build=(4, 2, 1, 2), weights=weights)


PICTURE = [[5.0, 1, 8, 2], [3, 9, 4, 6], [7, 0, 1, 5], [2, 6, 3, 8]]
EMBEDDING_EXAMPLES = (tokens_by_hand([PICTURE]),)


def more_embeddings(generator):
    build = (6, 2, 3, 5)
    weights = random_weights(vision.PatchEmbedding(*build), generator)
    images = square_pictures(generator, 2, 3, 3, 2, 5)
    return [Call(images, "called twice", twice=True, build=build, weights=weights)]


EMBEDDING_FIRST = (2, 1, 3, 4, 5)  # B, C, side of the grid, p, d_model


def a_picture(generator, size=EMBEDDING_FIRST):
    _, C, side, p = size[:4]
    return torch.randn(1, C, side * p, side * p, generator=generator)


def class_token_is_blind(output, generator):
    images = torch.cat([a_picture(generator), a_picture(generator)])
    out = output(images)
    return torch.allclose(out[0, 0], out[1, 0], atol=1e-4)


def patches_do_not_meet(output, generator):
    p = EMBEDDING_FIRST[3]
    one = a_picture(generator)
    other = one.clone()
    other[..., :p, :p] += 1
    changed = (output(one) - output(other)).abs().amax(-1)[0] > 1e-3  # (N + 1,)
    return changed.tolist() == [i == 1 for i in range(len(changed))]


def places_matter(output, generator):
    out = output(torch.ones_like(a_picture(generator)))
    return not torch.allclose(out[0, 1], out[0, 2], atol=1e-3)


def embeddings_of_pictures_do_not_meet(output, generator):
    images = torch.cat([a_picture(generator), a_picture(generator)])
    return torch.allclose(output(images)[:1], output(images[:1]), atol=1e-3)


# --- ViT --------------------------------------------------------------------------------------------------------


def torch_vit(w, build, images):
    """A convolution, torch's encoder layers one after the other, and a linear map of the first token."""
    size, p, C, _, d_model, num_heads, d_ff, num_layers, *dropout = build
    dropped = float(dropout == [1.0])  # dropout 1.0 is only ever asked for in train mode
    x = F.dropout(strided_convolution(w, (size, p, C, d_model), images, "embed."), dropped)
    for i in range(num_layers):
        at = f"layers.{i}."
        own = {name.removeprefix(at): value for name, value in w.items() if name.startswith(at)}
        x = encoder_layer(own, (d_model, num_heads, d_ff, *dropout), x)
    if num_layers == 1 and dropout == [0.5]:  # only asked for in train mode: it doubles the mean square under each norm
        x = x * 0.5**0.5
    return F.linear(x[:, 0], w["head.weight"], w["head.bias"])


class Model(nn.Module):
    """The ViT cut into steps, each a method, so that a mistake can override just one of them."""

    def __init__(self, image_size, patch_size, in_channels, num_classes,
                 d_model, num_heads, d_ff, num_layers, dropout=0.0):
        super().__init__()
        self.embed = Embedding(image_size, patch_size, in_channels, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
        self.head = nn.Linear(d_model, num_classes)

    def forward(self, images):
        return self.answer(self.encode(self.drop(self.embed(images))))

    def drop(self, x):
        return self.dropout(x)

    def encode(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def answer(self, x):
        return self.head(self.read(x))

    def read(self, x):
        return x[:, 0]


# Which token the head reads


class head_on_the_mean(Model):
    """The head read the mean of all tokens. That works in some models. Here one token was put in front to gather what
    is needed: which index has it?"""

    def read(self, x):
        return x.mean(1)


class head_on_the_mean_of_patches(Model):
    """The head read the mean of the patches, so the class token was put in for nothing. Which index has it?"""

    def read(self, x):
        return x[:, 1:].mean(1)


class head_on_the_largest(Model):
    """The head read the maximum over all tokens, as the classifier of lesson 10 did. Here one token was put in front to
    gather what is needed: which index has it?"""

    def read(self, x):
        return x.amax(1)


class head_on_the_sum(Model):
    """The head read the sum of all tokens. Here one token was put in front to gather what is needed: which index has
    it?"""

    def read(self, x):
        return x.sum(1)


class head_on_the_last_token(Model):
    """The head read the last token: the patch at the bottom right. Where did the embedding put the class token?"""

    def read(self, x):
        return x[:, -1]


class head_on_the_first_patch(Model):
    """The head read index 1: the patch at the top left. Where did the embedding put the class token?"""

    def read(self, x):
        return x[:, 1]


class head_on_every_token(Model):
    """Every token got logits of its own. One answer is wanted for a picture: which token gives it?"""

    def read(self, x):
        return x


class head_on_the_first_picture(Model):
    """The head read all tokens of the first picture: x[0]. Which axis is the tokens'?"""

    def read(self, x):
        return x[0]


class class_token_thrown_away(Model):
    """The class token was cut off before the layers, so it never looked at the picture, and the head read the patch at
    the top left. At what point is it needed?"""

    def encode(self, x):
        return super().encode(x[:, 1:])


# What comes out


class softmax_in_the_end(Model):
    """A softmax came after the head. Logits are wanted: cross-entropy makes probabilities of them by itself, and would
    do so a second time."""

    def answer(self, x):
        return super().answer(x).softmax(-1)


class log_softmax_in_the_end(Model):
    """A log-softmax came after the head. Logits are wanted: cross-entropy does that step by itself."""

    def answer(self, x):
        return super().answer(x).log_softmax(-1)


class says_the_class(Model):
    """It returned the number of the likeliest class. Training needs all logits: how would a gradient get through an
    argmax?"""

    def answer(self, x):
        return super().answer(x).argmax(-1)


class no_head(Model):
    """What came out is the class token itself, d_model wide. Which part of the constructor turns it into logits?"""

    def answer(self, x):
        return self.read(x)


class relu_before_the_head(Model):
    """Negative numbers were cut off before the head. It is linear on the class token: is there a switch in the
    docstring?"""

    def read(self, x):
        return x[:, 0].relu()


class a_norm_before_the_head(Model):
    """One norm too many: the class token was normalised once more before the head. In this course's layers, what is the
    last step of each?"""

    def read(self, x):
        return F.layer_norm(x[:, 0], x.shape[-1:])


# The layers


class one_layer_used_again_and_again(Model):
    """The first layer ran num_layers times, so the others never learn. What does your loop run over?"""

    def encode(self, x):
        for _ in self.layers:
            x = self.layers[0](x)
        return x


class first_layer_only(Model):
    """Only the first layer ran. Does the `return` stand inside the loop?"""

    def encode(self, x):
        return self.layers[0](x)


class every_layer_reads_the_embedding(Model):
    """Each layer got the embedding, so all but the last one ran for nothing. What does a layer read, and where does
    its result go?"""

    def encode(self, x):
        return self.layers[-1](x)


class last_layer_missing(Model):
    """The last layer did not run. Is there a `- 1` in your loop?"""

    def encode(self, x):
        for layer in self.layers[:-1]:
            x = layer(x)
        return x


class layers_backwards(Model):
    """The layers ran from the last to the first. Which one is next to the embedding?"""

    def encode(self, x):
        for layer in reversed(self.layers):
            x = layer(x)
        return x


class no_layers(Model):
    """No layer has a say: the head read the class token as the embedding made it, the same for every picture. What does
    each layer return, and under which name does the head find it?"""

    def encode(self, x):
        return x


class one_skip_more(Model):
    """x was added once more after each layer. The layers have their own skip connections inside: what is left to
    do outside?"""

    def encode(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


class norms_before_the_sublayers(Model):
    """The layers were taken apart, and each norm came before its sublayer: that is pre-norm, as in the paper. The
    layers are to be used as they are: what does calling one do?"""

    def encode(self, x):
        for layer in self.layers:
            h = layer.norm1(x)
            x = x + layer.dropout(layer.self_attn(h, h, h))
            x = x + layer.dropout(layer.ff(layer.norm2(x)))
        return x


class positions_before_every_layer(Model):
    """The positions were added again before every layer. The embedding has done it: how often does equation 1 of the
    paper?"""

    def encode(self, x):
        for layer in self.layers:
            x = layer(x + self.embed.pos)
        return x


class positions_once_more(Model):
    """The positions were added once more after the embedding. What has `self.embed` done already?"""

    def drop(self, x):
        return self.dropout(x + self.embed.pos)


class class_token_sees_itself_only(Model):
    """The layers ran, but the class token saw no patch, so every picture gets the same logits. Did a mask hide the
    patches, or have the axes of batch and tokens changed places?"""

    def encode(self, x):
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        for layer in self.layers:
            x = layer(x, mask)
        return x


# Dropout


class no_dropout(Model):
    """In train mode, nothing was dropped from the class token after the embedding. The constructor made a `dropout`:
    where does its docstring want it, and for which tokens?"""

    def drop(self, x):
        return x


class dropout_always_on(Model):
    """Dropout was active in eval mode, too. `F.dropout` takes no notice of `model.eval()` unless you tell it: does
    `self.dropout` need to be told?"""

    def drop(self, x):
        return F.dropout(x, self.dropout.p)


class dropped_twice_or_not_scaled(Model):
    """In train mode, what dropout leaves does not weigh what it should: it was not scaled, or dropped twice. By what
    does dropout multiply what it keeps, and how often is it called here?"""

    def drop(self, x):
        return x * (torch.rand_like(x) >= self.dropout.p) if self.training else x


class dropout_before_the_head(Model):
    """In train mode, dropout fell on what the head reads. It has one place in this model: where does the docstring want
    it?"""

    def read(self, x):
        return self.dropout(x[:, 0])


VIT_MISTAKES = tuple(m for m in list(vars().values())
                     if isinstance(m, type) and issubclass(m, Model) and m is not Model)


def vit_pictures(generator, B, C, side, p, num_classes, num_heads, d_head, d_ff, num_layers):
    return square_pictures(generator, B, C, side, p, None)


def vit_build(B, C, side, p, num_classes, num_heads, d_head, d_ff, num_layers):
    return side * p, p, C, num_classes, num_heads * d_head, num_heads, d_ff, num_layers


VIT_FIRST = (2, 3, 2, 2, 5, 2, 3, 7, 2)  # B, C, side of the grid, p, classes, heads, d_head, d_ff, layers


def logits_by_hand():
    """Four patches of one pixel, a class token that can only take in their mean, and norms that give plus or minus."""
    one, zero = torch.eye(2), torch.zeros(2)
    weights = {"embed.cls": torch.zeros(1, 1, 2), "embed.pos": torch.zeros(1, 5, 2),
               "embed.proj.weight": torch.tensor([[1.0], [0.0]]), "embed.proj.bias": zero,
               "head.weight": torch.tensor([[1.0, 0], [0, 1], [1, 1]]), "head.bias": torch.tensor([0.0, 10, 20])}
    weights["embed.pos"][0, 0, 1] = 4
    for i, gain in enumerate((1.0, 3.0)):
        at = f"layers.{i}."
        for part in ("self_attn.W_q", "self_attn.W_k", "ff.linear1", "ff.linear2"):
            weights |= {f"{at}{part}.weight": 0 * one, f"{at}{part}.bias": zero}
        for part in ("self_attn.W_v", "self_attn.W_o"):
            weights |= {f"{at}{part}.weight": one, f"{at}{part}.bias": zero}
        for norm in ("norm1", "norm2"):
            weights |= {f"{at}{norm}.weight": zero + gain, f"{at}{norm}.bias": zero}
    says = ("numbers to follow by hand: a token is (pixel, 0), the class token (0, 4); W_q = W_k = 0, W_v = W_o = I, "
            "the feed-forward networks say 0; norms have gain 1 in the first layer, 3 in the second; "
            "head.weight = [[1, 0], [0, 1], [1, 1]], head.bias = [0, 10, 20]")
    images = torch.tensor([[[[9.0, 5], [8, 3]]], [[[-1.0, 2], [0, 1]]]])
    return Call((images,), says, build=(2, 1, 1, 3, 2, 1, 2, 2), weights=weights)


def half_of_many_dropped():
    """One layer in which 800 numbers of the class token meet as many others, both of them dropped by half.

    Of what is left after the norms, the head takes the share of the class token: .58, give or take .012, where dropout
    doubles what it keeps; .41 where it does not, .45 where it is called twice. The second logit is large and sets the
    tolerance: .05.
    """
    d_model, build = 800, (1, 1, 1, 2, 800, 1, 1, 1, 0.5)
    weights = random_weights(vision.ViT(*build), torch.Generator())
    weights = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    own = torch.tensor([1.0, -1]).repeat(d_model // 2)
    weights |= {"embed.cls": own[None, None], "layers.0.norm1.weight": torch.ones(d_model),
                "layers.0.norm2.weight": torch.ones(d_model), "head.bias": torch.tensor([0.0, 2000.0]),
                "layers.0.self_attn.W_o.bias": torch.tensor([0.7, 0.7, -0.7, -0.7]).repeat(d_model // 4),
                "head.weight": torch.stack([own / d_model, 0 * own])}
    return Call((torch.ones(2, 1, 1, 1),), "dropout 0.5 in train mode, and a head that takes the mean of 800 numbers",
                build=build, weights=weights, train=True)


def more_vits(generator):
    """Dropout: at 1.0 in train mode no picture reaches the head."""
    build = vit_build(*VIT_FIRST)
    images = vit_pictures(generator, *VIT_FIRST)
    weights = random_weights(vision.ViT(*build), generator)
    return [
        Call(images, "called twice", twice=True, build=build, weights=weights),
        Call(images, "dropout 0.5 in eval mode", build=(*build, 0.5), weights=weights),
        Call(images, "dropout 1.0 in train mode", build=(*build, 1.0), weights=weights, train=True),
        half_of_many_dropped(),
    ]


def no_chance_in_eval_mode(output, generator):
    images = a_picture(generator, VIT_FIRST).expand(2, -1, -1, -1).contiguous()
    first, second = output(images)
    return torch.allclose(first, second, atol=1e-3)


def pictures_do_not_meet(output, generator):
    images = torch.cat([a_picture(generator, VIT_FIRST), a_picture(generator, VIT_FIRST)])
    return not no_chance_in_eval_mode(output, generator) or torch.allclose(output(images)[:1], output(images[:1]),
                                                                           atol=1e-3)


def every_patch_has_a_say(output, generator):
    images, p = torch.cat([a_picture(generator, VIT_FIRST) for _ in range(8)]), VIT_FIRST[3]
    for top in range(0, images.shape[-2], p):
        for left in range(0, images.shape[-1], p):
            other = images.clone()
            other[..., top : top + p, left : left + p] += 3
            if torch.allclose(output(other), output(images), atol=1e-4):
                return False
    return True


def places_of_patches_matter(output, generator):
    images = torch.cat([a_picture(generator, VIT_FIRST) for _ in range(8)])
    return not torch.allclose(output(images.roll(VIT_FIRST[3], -1)), output(images), atol=1e-4)


EXERCISES = (
    Exercise(
        name="patchify",
        lesson="13",
        asked="the patches as rows, left to right and then down; inside a patch channel by channel, each of them row "
        "by row: shape (B, N, C·p·p).",
        verified=vision.patchify,
        oracle=unfolded,
        examples=((WIDE, 2), (TWO_CHANNELS, 2)),
        sizes=((3, 1, 2, 5, 2), (2, 3, 4, 5, 6), (4, 3, 2, 5, 1), (2, 5, 1, 3, 4), (2, 3, 4, 1, 2), (3, 2, 1, 1, 4),
               (2, 2, 2, 2, 2), (3, 3, 3, 3, 3), (1, 1, 1, 1, 1)),
        make=some_pictures,
        by_hand=PATCHIFY_MISTAKES,
        calls=pictures_that_cannot_be_cut,
        properties=(
            ("Some pixels are missing, occur twice or were changed.", nothing_is_lost),
            ("The pixels of one square are spread over several rows.", a_patch_is_one_row),
            ("A picture of the batch changes the patches of another.", pictures_stay_apart),
        ),
    ),
    Exercise(
        name="PatchEmbedding",
        lesson="13",
        asked="the patches through `proj`; the class token `cls` in front of them; `pos` added once to all: shape "
        "(B, N + 1, d_model).",
        verified=vision.PatchEmbedding,
        oracle=strided_convolution,
        examples=EMBEDDING_EXAMPLES,
        sizes=(EMBEDDING_FIRST, (3, 2, 4, 1, 7), (2, 3, 4, 2, 5), (4, 1, 2, 3, 5), (5, 2, 3, 1, 4), (3, 4, 1, 2, 5),
               (4, 4, 2, 2, 4),
               (3, 3, 3, 3, 3), (5, 1, 2, 2, 5), (1, 1, 1, 1, 1)),
        square_size=(2, 3, 2, 2, 4),
        make=square_pictures,
        build=embedding_build,
        calls=more_embeddings,
        by_hand=EMBEDDING_MISTAKES,
        properties=(
            ("The first token differs from picture to picture: it is to be the class token, the same for all.",
             class_token_is_blind),
            ("A change in the first patch does not change just the token at index 1.", patches_do_not_meet),
            ("Two equal patches at two places become equal tokens: the positions are lost.", places_matter),
            ("A picture of the batch changes the tokens of another.", embeddings_of_pictures_do_not_meet),
        ),
    ),
    Exercise(
        name="ViT",
        lesson="13",
        asked="the embedding, dropout, every layer once, one after the other, and the head on the class token: logits "
        "of shape (B, num_classes).",
        verified=vision.ViT,
        oracle=torch_vit,
        examples=(logits_by_hand(),),
        sizes=(VIT_FIRST, (3, 1, 3, 2, 4, 1, 5, 6, 3), (4, 2, 2, 1, 3, 3, 2, 5, 1), (2, 1, 2, 1, 3, 2, 2, 3, 4),
               (2, 2, 2, 2, 2, 2, 2, 2, 2),
               (1, 1, 1, 1, 1, 1, 1, 1, 1)),
        square_size=(2, 3, 2, 2, 5, 2, 4, 7, 1),
        make=vit_pictures,
        build=vit_build,
        calls=more_vits,
        by_hand=VIT_MISTAKES,
        properties=(
            ("Two equal pictures in one batch come out different, in eval mode: is there dropout that never stops?",
             no_chance_in_eval_mode),
            ("A picture of the batch changes the logits of another.", pictures_do_not_meet),
            ("There are patches that change nothing: the answer does not see the whole picture.",
             every_patch_has_a_say),
            ("Patches may change places, and nothing happens: the positions are lost.", places_of_patches_matter),
        ),
    ),
)
