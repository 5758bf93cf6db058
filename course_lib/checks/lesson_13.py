"""Lesson 13: patches judged by `F.unfold`, their embedding by a strided convolution, the ViT by torch's encoder."""

import torch
import torch.nn.functional as F

from course_lib import vision
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import always, batch_is_its_rows, equivariant, sensitive
from course_lib.checks.engine.oracles import encoder_layers

REFUSALS = ("ValueError", "AssertionError", "RuntimeError")

# --- patchify ---------------------------------------------------------------------------------------------------


def unfolded(images, p):
    """torch's own windows, moved by a whole window each time."""
    return F.unfold(images, p, stride=p).transpose(1, 2)


def some_pictures(generator, B, C, rows, columns, p):
    return torch.randn(B, C, rows * p, columns * p, generator=generator), p


def pictures_that_cannot_be_cut(generator):
    """One pixel too many, below and to the right."""
    return [Call((torch.randn(2, 3, *size, generator=generator), 2), f"{size[0]} by {size[1]} pixels, p = 2",
                 must_raise=REFUSALS) for size in ((5, 4), (4, 5), (5, 3))]


WIDE = torch.tensor([[[[5.0, 1, 8, 2, 0, 7], [3, 9, 4, 6, 2, 1], [7, 0, 1, 5, 9, 3], [2, 6, 3, 8, 4, 0]]]])
TWO_CHANNELS = torch.tensor([[[[5.0, 1, 8, 2], [3, 9, 4, 6]], [[-5, -1, -8, -2], [-3, -9, -4, -6]]]])


def a_patch_is_one_row(output, generator):
    images = torch.zeros(1, 2, 4, 6)
    images[:, :, 2:4, 2:4] = 1
    patches = output(images, 2)[0]
    return int((patches != patches[0]).any(-1).sum()) == 1


# --- PatchEmbedding ---------------------------------------------------------------------------------------------


def strided_convolution(w, build, images, prefix=""):
    """The projection as torch's convolution that moves by a whole patch; then one row more, and a sum."""
    _, p, C, d_model = build[:4]
    kernels = w[f"{prefix}proj.weight"].reshape(d_model, C, p, p)
    tokens = F.conv2d(images, kernels, w[f"{prefix}proj.bias"], stride=p).flatten(2).transpose(1, 2)  # (B, N, d_model)
    rows = [torch.cat([w[f"{prefix}cls"][0], own]) + w[f"{prefix}pos"][0] for own in tokens]
    return torch.stack(rows)


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


def patches_do_not_meet(output, generator):
    p = EMBEDDING_FIRST[3]
    one, = square_pictures(generator, *EMBEDDING_FIRST)
    other = one.clone()
    other[..., :p, :p] += 1
    changed = (output(one) - output(other)).abs().amax(-1)[0] > 1e-3  # (N + 1,)
    return changed.tolist() == [i == 1 for i in range(len(changed))]


def places_matter(output, generator):
    out = output(torch.ones_like(*square_pictures(generator, *EMBEDDING_FIRST)))
    return not torch.allclose(out[0, 1], out[0, 2], atol=1e-3)


# --- ViT --------------------------------------------------------------------------------------------------------


def torch_vit(w, build, images):
    """A convolution, torch's encoder layers one after the other, and a linear map of the first token."""
    size, p, C, _, d_model, num_heads, d_ff, num_layers, *dropout = build
    dropped = float(dropout == [1.0])  # dropout 1.0 is only ever asked for in train mode
    x = F.dropout(strided_convolution(w, (size, p, C, d_model), images, "embed."), dropped)
    x = encoder_layers(w, "layers", num_layers, (d_model, num_heads, d_ff, *dropout), x)
    if num_layers == 1 and dropout == [0.5]:  # only asked for in train mode: it doubles the mean square under each norm
        x = x * 0.5**0.5
    return F.linear(x[:, 0], w["head.weight"], w["head.bias"])


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
            "the feed-forward networks return 0; norms have gain 1 in the first layer, 3 in the second; "
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


def every_patch_has_a_say(output, generator):
    (images,), p = vit_pictures(generator, 8, *VIT_FIRST[1:]), VIT_FIRST[3]
    for top in range(0, images.shape[-2], p):
        for left in range(0, images.shape[-1], p):
            other = images.clone()
            other[..., top : top + p, left : left + p] += 3
            if torch.allclose(output(other), output(images), atol=1e-4):
                return False
    return True


EXERCISES = (
    Exercise(
        lesson="13",
        asked="the patches as rows, left to right and then down; inside a patch channel by channel, each of them row "
        "by row: shape (B, N, C·p·p).",
        verified=vision.patchify,
        oracle=unfolded,
        examples=((WIDE, 2), (TWO_CHANNELS, 2)),
        sizes=((3, 1, 2, 5, 2), (2, 3, 4, 5, 6), (4, 3, 2, 5, 1), (2, 5, 1, 3, 4), (2, 3, 4, 1, 2), (3, 2, 1, 1, 4),
               (2, 2, 2, 2, 2), (3, 3, 3, 3, 3), (1, 1, 1, 1, 1)),
        make=some_pictures,
        calls=pictures_that_cannot_be_cut,
        properties=(
            ("Some pixels are missing, occur twice or were changed.",
             always(some_pictures, (1, 2, 2, 3, 2),
                    lambda out, x, p: torch.equal(out.flatten().sort().values, x.flatten().sort().values))),
            ("The pixels of one square are spread over several rows.", a_patch_is_one_row),
            ("A picture of the batch changes the patches of another.",
             equivariant(some_pictures, (2, 2, 2, 3, 2), lambda images, p: (images[:1], p), lambda out: out[:1])),
        ),
    ),
    Exercise(
        lesson="13",
        asked="the patches through `proj`; the class token `cls` in front of them; `pos` added once to all: shape "
        "`(B, N + 1, d_model)`.",
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
        properties=(
            ("The first token differs from picture to picture.",
             always(square_pictures, EMBEDDING_FIRST,
                    lambda out, images: torch.allclose(out[0, 0], out[1, 0], atol=1e-4))),
            ("A change in the first patch does not change just the token at index 1.", patches_do_not_meet),
            ("Two equal patches at different positions become equal tokens.", places_matter),
            ("A picture of the batch changes the tokens of another.",
             batch_is_its_rows(square_pictures, EMBEDDING_FIRST)),
        ),
    ),
    Exercise(
        lesson="13",
        asked="the embedding, dropout, every layer once, one after the other, and the head on the class token: logits "
        "of shape `(B, num_classes)`.",
        verified=vision.ViT,
        oracle=torch_vit,
        examples=(logits_by_hand(),),
        sizes=(VIT_FIRST, (3, 1, 3, 2, 4, 1, 5, 6, 3), (4, 2, 2, 1, 3, 3, 2, 5, 1), (2, 1, 2, 1, 3, 2, 2, 3, 4),
               (2, 2, 2, 2, 2, 2, 2, 2, 2), (1, 1, 1, 2, 3, 2, 2, 3, 1),
               (1, 1, 1, 1, 1, 1, 1, 1, 1)),
        grows=(0, 1, 3, 4, 5, 6, 7),  # and not the grid, whose square is the number of tokens
        square_size=(2, 3, 2, 2, 5, 2, 4, 7, 1),
        make=vit_pictures,
        build=vit_build,
        heads=5,
        calls=more_vits,
        properties=(
            ("A picture of the batch changes the logits of another.",
             batch_is_its_rows(vit_pictures, VIT_FIRST)),
            ("There are patches that change no logit.", every_patch_has_a_say),
            ("The patches in other positions give the same logits.",
             sensitive(vit_pictures, (8, *VIT_FIRST[1:]), lambda images: (images.roll(VIT_FIRST[3], -1),))),
        ),
    ),
)
