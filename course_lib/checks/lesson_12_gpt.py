"""Lesson 12, block and language model: judged by torch's own layers, which normalise first and see no future."""

import torch
import torch.nn.functional as F

from course_lib import language_model
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import random_mask, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import equivariant
from course_lib.checks.engine.oracles import embedded, encoder_layer, encoder_layers


def past(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


# --- Block ------------------------------------------------------------------------------------------------------


def torch_block(w, build, x, mask):
    """torch's encoder layer with its norms in front."""
    return encoder_layer(w, build, x, mask, norm_first=True)


def make_block(generator, B, T, H, d_head, d_ff, mask=""):
    x = torch.randn(B, T, H * d_head, generator=generator)
    shapes = {"T T": (T, T), "B T T": (B, T, T), "B 1 T": (B, 1, T)}
    return x, past(T) if mask == "past" else random_mask(generator, *shapes[mask]) if mask else None


def build_block(B, T, H, d_head, d_ff, mask=""):
    return H * d_head, H, d_ff


def block_by_hand(x, mask):
    """One head, two or three tokens of four numbers, and weights that can be done in the head."""
    one, zero = torch.eye(4), torch.zeros(4)
    weights = {f"self_attn.W_{i}.bias": zero for i in "qkvo"} | {f"ff.linear{i}.bias": zero for i in (1, 2)}
    weights |= {"self_attn.W_q.weight": 0 * one, "self_attn.W_k.weight": 0 * one, "self_attn.W_v.weight": one,
                "self_attn.W_o.weight": 3 * one.roll(1, 0), "ff.linear1.weight": one,
                "ff.linear2.weight": 2 * one.flip(0), "norm1.weight": zero + 1, "norm1.bias": zero,
                "norm2.weight": zero + 10, "norm2.bias": zero + 1}
    return Call((torch.tensor([x]), mask), "numbers to follow by hand: W_q = W_k = 0, W_v = I, W_o = 3·I moved on by "
                "one position, linear1 = I, linear2 = 2·I upside down, all biases 0; norm1 has gain 1 and bias 0, "
                "norm2 gain 10 and bias 1", build=(4, 1, 4), weights=weights)


def more_blocks(generator):
    """Masks with an empty row, large vectors, and dropout: at 1.0 in train mode x is all that is left."""
    size = (2, 3, 2, 3, 5)
    x, _ = make_block(generator, *size)
    weights = random_weights(language_model.Block(6, 2, 5), generator)
    empty = past(3)
    empty[1] = False
    model = dict(build=(6, 2, 5), weights=weights)
    return [
        Call((x, empty), "a token that may attend to nothing", **model),
        Call((1000 * x, past(3)), "large vectors", **model),
        Call((x, past(3)), "called twice", twice=True, **model),
        Call((x, past(3)), "dropout 0.5 in eval mode", build=(6, 2, 5, 0.5), weights=weights),
        Call((x, past(3)), "dropout 1.0 in train mode", build=(6, 2, 5, 1.0), weights=weights, train=True),
        tiny_dropout(x, past(3), build=(6, 2, 5), weights=weights),
    ]


FIRST = (2, 3, 2, 5, 7)  # B, T, H, d_head, d_ff


def vectors(generator, T):
    return torch.randn(1, T, FIRST[2] * FIRST[3], generator=generator), None


def block_never_looks_ahead(output, generator):
    x, _ = vectors(generator, 4)
    return torch.allclose(output(x, past(4))[:, :2], output(x[:, :2], past(2)), atol=1e-3)


def a_text_is_alone(output, generator):
    x = torch.cat([vectors(generator, 3)[0] for _ in range(2)])
    return torch.allclose(output(x, None)[:1], output(x[:1], None), atol=1e-3)


def x_is_carried_on(output, generator):
    """What is added has been normalised before: it stays as large as it was where x grows."""
    x, _ = vectors(generator, 3)
    return torch.allclose(output(1e4 * x, None) / 1e4, x, atol=0.1)


BLOCK = Exercise(
    lesson="12",
    asked="with `n = norm1(x)`, `x + dropout(self_attn(n, n, n, mask))`; then, of that, `x + dropout(ff(norm2(x)))`: "
    "shape `(B, T, d_model)`.",
    verified=language_model.Block,
    oracle=torch_block,
    examples=(block_by_hand([[1.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 1.0]], past(2)),
              block_by_hand([[1.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 1.0], [2.0, 0.0, -6.0, 0.0]], None)),
    sizes=(
        (*FIRST, "past"), (2, 4, 3, 2, 5, "T T"), (3, 4, 1, 5, 7, "B T T"), (3, 5, 2, 4, 3, "B 1 T"), (2, 5, 2, 3, 4),
        (4, 4, 2, 2, 4, "past"), (4, 4, 2, 2, 4, "B 1 T"), (2, 1, 2, 3, 4, "past"), (1, 1, 1, 2, 1),
    ),
    square_size=(2, 3, 3, 4, 5, "B T T"),
    make=make_block,
    build=build_block,
    heads=1,
    calls=more_blocks,
    properties=(
        ("An x that is 10,000 times as large does not come out nearly as it went in.", x_is_carried_on),
        ("With a causal mask, what comes later changes a token.", block_never_looks_ahead),
        ("Without a mask, the tokens in reverse order do not give the same vectors in reverse order.",
         equivariant(make_block, (1, 4, *FIRST[2:]), lambda x, mask: (x.flip(1), mask), lambda out: out.flip(1), 1e-3)),
        ("A text of the batch changes the result of another.", a_text_is_alone),
    ),
)


# --- LanguageModel ----------------------------------------------------------------------------------------------


def torch_language_model(w, build, ids):
    """torch's layers, one after the other, with the future hidden; sines and cosines one by one."""
    _, d_model, num_heads, d_ff, num_layers, dropout = (*build, 0.0)[:6]
    x = embedded(ids, w["table.weight"], dropout, times=1)
    x = encoder_layers(w, "blocks", num_layers, (d_model, num_heads, d_ff, dropout), x, past(ids.shape[1]), True)
    x = F.layer_norm(x, (d_model,), w["norm.weight"], w["norm.bias"])
    return F.linear(x, w["out.weight"], w["out.bias"])


def make_ids(generator, B, T, vocab, H, d_head, d_ff, layers):
    return (torch.randint(vocab, (B, T), generator=generator),)


def build_language_model(B, T, vocab, H, d_head, d_ff, layers):
    return vocab, H * d_head, H, d_ff, layers


def language_model_by_hand():
    """One block: each token takes in the mean of itself and what is before it; the feed-forward network adds 0."""
    one, zero = torch.eye(4), torch.zeros(4)
    weights = {"table.weight": torch.tensor([[1.0, 0, 0, 0], [0, -1, 2, 0], [-2, 0, 0, 3]]),
               "norm.weight": zero + 1, "norm.bias": zero,
               "out.weight": torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),
               "out.bias": torch.tensor([0.0, 10, 20])}
    for part in ("self_attn.W_q", "self_attn.W_k", "self_attn.W_v", "self_attn.W_o", "ff.linear1", "ff.linear2"):
        kept = part in ("self_attn.W_v", "self_attn.W_o")
        weights |= {f"blocks.0.{part}.weight": one * kept, f"blocks.0.{part}.bias": zero}
    for norm in ("norm1", "norm2"):
        weights |= {f"blocks.0.{norm}.weight": zero + 1, f"blocks.0.{norm}.bias": zero}
    says = ("numbers to follow by hand: the rows of table.weight are (1, 0, 0, 0), (0, -1, 2, 0) and (-2, 0, 0, 3); in "
            "the only block W_q = W_k = 0, W_v = W_o = I, the feed-forward network returns 0; all norms have gain 1 "
            "and bias 0; out reads the first three numbers, with bias (0, 10, 20)")
    return Call((torch.tensor([[2, 0, 1]]),), says, build=(3, 4, 1, 4, 1), weights=weights)


def more_language_models(generator):
    """Long texts, another length before, and dropout: at 1.0 in train mode no token is left."""
    build = (7, 8, 2, 5, 2)
    weights = random_weights(language_model.LanguageModel(*build), generator)
    ids, = make_ids(generator, 3, 5, 7, 2, 4, 5, 2)
    long, = make_ids(generator, 2, 130, 7, 2, 4, 5, 2)
    model = dict(build=build, weights=weights)
    shallow = dict(build=(7, 8, 2, 5, 1), weights={n: w for n, w in weights.items() if "blocks.1." not in n})
    return [
        Call((ids,), "called twice", twice=True, **model),
        Call((0 * ids,), "token 0 alone", **model),
        Call((long,), "long texts", **shallow),
        Call((ids,), "dropout 0.5 in eval mode", build=(*build, 0.5), weights=weights),
        tiny_dropout(ids[:, :1], **model),  # position 0 is exact in any precision
        Call((ids,), "dropout 1.0 in train mode", train=True, build=(*build, 1.0), weights=weights),
    ]


MODEL_FIRST = (3, 5, 9, 2, 4, 7, 2)  # B, T, vocab, heads, d_head, d_ff, layers


def some_tokens(generator, T):
    """Two texts without a repeated token."""
    return (torch.stack([torch.randperm(MODEL_FIRST[2], generator=generator)[:T] for _ in range(2)]),)


def the_future_never_matters(output, generator):
    ids, = some_tokens(generator, 6)
    return torch.allclose(output(ids)[:, :3], output(ids[:, :3]), atol=1e-3)


def the_past_matters(output, generator):
    ids, = some_tokens(generator, 4)
    other = ids.clone()
    other[:, 0] = (ids[:, 0] + 1) % MODEL_FIRST[2]
    return not torch.allclose(output(ids)[:, -1], output(other)[:, -1], atol=1e-4)


def order_matters(output, generator):
    ids, = some_tokens(generator, 4)
    return not torch.allclose(output(ids)[:, -1], output(ids[:, [1, 0, 2, 3]])[:, -1], atol=1e-4)


LANGUAGE_MODEL = Exercise(
    lesson="12",
    asked="`table(ids)` plus sinusoidal positions, dropout; every block once, with a causal mask; then `norm`, then "
    "`out`: logits `(B, T, vocab_size)`.",
    verified=language_model.LanguageModel,
    oracle=torch_language_model,
    examples=(language_model_by_hand(),),
    sizes=(
        MODEL_FIRST, (2, 6, 8, 3, 2, 4, 3), (4, 3, 7, 1, 8, 5, 1), (1, 7, 6, 2, 2, 9, 2), (4, 4, 8, 2, 2, 4, 2),
        (2, 1, 5, 2, 3, 4, 1), (1, 1, 2, 1, 2, 1, 1),
    ),
    square_size=(3, 1, 7, 2, 8, 5, 2),  # position 0 is exact in any precision
    make=make_ids,
    build=build_language_model,
    grows=(0, 1, 2, 3, 4, 5),  # and not the layers
    heads=2,
    calls=more_language_models,
    properties=(
        ("Tokens that come later change the logits of those before.", the_future_never_matters),
        ("The first of four tokens has no say in the logits of the last.", the_past_matters),
        ("Two earlier tokens, exchanged, give the last one the same logits.", order_matters),
    ),
)
EXERCISES = (BLOCK, LANGUAGE_MODEL)
