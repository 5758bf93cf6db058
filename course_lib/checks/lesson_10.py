"""Lesson 10: layer and classifier judged by `nn.TransformerEncoderLayer` with our weights, pooling text by text."""

import torch
import torch.nn.functional as F

from course_lib import classifier, transformer
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import padded_ids, random_mask, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import always, batch_is_its_rows, equivariant, invariant, rows_are_apart, sensitive
from course_lib.checks.engine.oracles import embedded, encoder_layer, encoder_layers

# --- EncoderLayer -----------------------------------------------------------------------------------------------


def make(generator, B, T, H, d_head, d_ff, mask=""):
    x = torch.randn(B, T, H * d_head, generator=generator)
    shapes = {"T T": (T, T), "B T T": (B, T, T), "B 1 T": (B, 1, T)}
    return (x, random_mask(generator, *shapes[mask])) if mask else (x,)


def build(B, T, H, d_head, d_ff, mask=""):
    return H * d_head, H, d_ff


def by_hand(x, mask=None, large=False):
    """One head, three tokens, four numbers each, and weights that can be done in the head."""
    one, zero = torch.eye(4), torch.zeros(4)
    weights = {"self_attn.W_q.weight": one if large else 0 * one, "self_attn.W_k.weight": one if large else 0 * one,
               "self_attn.W_v.weight": one, "self_attn.W_o.weight": 3 * one.roll(1, 0),
               "ff.linear1.weight": one, "ff.linear2.weight": 2 * one.flip(0), "norm1.weight": zero + 1,
               "norm1.bias": zero, "norm2.weight": zero + 10, "norm2.bias": zero + 1}
    weights |= {f"self_attn.W_{i}.bias": zero for i in "qkvo"} | {f"ff.linear{i}.bias": zero for i in (1, 2)}
    args = (torch.tensor([x]),) + (() if mask is None else (torch.tensor([[mask]]),))
    return Call(args, "large values" if large else "numbers to follow by hand: W_q = W_k = 0, W_v = I, W_o = 3·I "
                "moved on by one position, linear1 = I, linear2 = 2·I upside down, all biases 0; norm1 has gain 1 and "
                "bias 0, norm2 gain 10 and bias 1", build=(4, 1, 4), weights=weights)


TOKENS = [[1.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 1.0], [2.0, 0.0, -6.0, 0.0]]
EXAMPLES = (by_hand(TOKENS), by_hand(TOKENS, [True, True, False]))


def more_calls(generator):
    """Masks with an empty row, giants, and dropout: at 1.0 in train mode only the skip connections are left."""
    size = (2, 3, 2, 3, 5)
    (x,) = make(generator, *size)
    weights = random_weights(transformer.EncoderLayer(6, 2, 5), generator)
    empty = random_mask(generator, 3, 3)
    empty[1] = False
    whole = random_mask(generator, 2, 1, 3)
    whole[1] = False
    model = dict(build=(6, 2, 5), weights=weights)
    return [
        by_hand([[30.0, 20.0, -10.0, 0.0], [30.0, -10.0, 0.0, 20.0], [-20.0, -20.0, 60.0, 10.0]], large=True),
        Call((x, empty), "a token that may attend to nothing", **model),
        Call((x, whole), "a sentence of padding alone", **model),
        Call((x, empty | True), "a mask that allows everything", **model),
        Call((x, whole | True), "called twice", twice=True, **model),
        Call((x,), "dropout 0.5 in eval mode", build=(6, 2, 5, 0.5), weights=weights),
        Call((x,), "dropout 1.0 in train mode", build=(6, 2, 5, 1.0), weights=weights, train=True),
        tiny_dropout(x, build=(6, 2, 5), weights=weights),
    ]


FIRST = (2, 3, 2, 5, 7)  # B, T, H, d_head, d_ff


def tokens(generator, T):
    return torch.randn(1, T, FIRST[2] * FIRST[3], generator=generator)


def padding_has_no_say(output, generator):
    x = tokens(generator, 4)
    mask = torch.tensor([[[True, True, True, False]]])
    other = torch.cat([x[:, :3], tokens(generator, 1)], 1)
    return torch.allclose(output(x, mask)[:, :3], output(other, mask)[:, :3], atol=1e-3)


def tokens_meet(output, generator):
    x = tokens(generator, 3)
    return not torch.allclose(output(x)[:, :1], output(x[:, :1]), atol=1e-3)


def normalised(output, generator):
    x = tokens(generator, 5)
    return bool((output(1000 * x).abs() < 100).all())


# --- max_over_real_tokens ---------------------------------------------------------------------------------------


def maximum_by_loop(x, mask):
    """Each text by itself: its real tokens, and of these the maximum of each feature."""
    return torch.stack([vectors[real].amax(0) if real.any() else 0 * vectors[0]
                        for vectors, real in zip(x, mask, strict=True)])


def make_texts(generator, B, T, D):
    """Each text has a real token. In the first one all numbers are negative; padding has the largest, of any sign."""
    mask = torch.rand(B, T, generator=generator) < 0.6
    mask[torch.arange(B), torch.randint(T, (B,), generator=generator)] = True
    x = torch.randn(B, T, D, generator=generator)
    x[0] = -x[0].abs()
    padding = 4 * torch.randn(B, T, D, generator=generator)
    return torch.where(mask[..., None], x, padding), mask


def texts_without_a_token(generator):
    """One among others, with gradients as well, and nothing else."""
    x, mask = make_texts(generator, 3, 4, 2)
    mask[1] = False
    return [Call((x, mask), "a text without a real token"),
            Call((-x.abs(), mask), "a text without a real token, gradients", gradients=True),
            Call((x, mask & False), "texts without any real token")]


POOLING_EXAMPLES = (
    (torch.tensor([[[1.0, 5.0], [3.0, -2.0], [9.0, 9.0]]]), torch.tensor([[True, True, False]])),
    (torch.tensor([[[-2.0, -5.0], [-4.0, -1.0], [0.0, 0.0]], [[7.0, 7.0], [2.0, -6.0], [1.0, -3.0]]]),
     torch.tensor([[True, True, False], [False, True, True]])),
)
LARGE_TEXT = (torch.tensor([[[-30000.0, 20000.0], [-40000.0, 50000.0], [-90000.0, 900000.0]]]),
              torch.tensor([[True, True, False]]))
SMALLEST_IS_REAL = (torch.tensor([[[-3e8, 5.0], [1.0, 2.0]]]), torch.tensor([[True, False]]))  # minus 1, the same float


# --- EncoderClassifier ------------------------------------------------------------------------------------------


def torch_classifier(w, build, ids):
    """torch's layers, one after the other; then each text by itself. Of padding alone, any finite number is right."""
    _, d_model, num_heads, d_ff, num_layers, _, dropout, pad_id = (*build, 0.0, 0)[:8]
    real = ids != pad_id  # (B, T)
    x = embedded(ids, w["embed.weight"], dropout)
    x = encoder_layers(w, "layers", num_layers, (d_model, num_heads, d_ff, dropout), x, real[:, None])
    pooled = torch.stack([tokens[own].amax(0) if own.any() else tokens[0] * float("nan")
                          for tokens, own in zip(x, real, strict=True)])  # (B, d_model)
    return F.linear(pooled, w["head.weight"], w["head.bias"])


def make_ids(generator, B, T, vocab, H, d_head, d_ff, layers, classes, pad_id=0):
    return (padded_ids(generator, B, T, vocab, pad_id),)


def build_classifier(B, T, vocab, H, d_head, d_ff, layers, classes, pad_id=0):
    sizes = vocab, H * d_head, H, d_ff, layers, classes
    return (*sizes, 0.0, pad_id) if pad_id else sizes


def classified_by_hand():
    """One layer: each token takes in the mean of all real ones, and the feed-forward network adds nothing."""
    one, zero = torch.eye(4), torch.zeros(4)
    weights = {"embed.weight": torch.tensor([[9.0, 9, -9, -9], [1, 0, 0, 0], [0, -1, 2, 0], [-2, 0, 0, 3]]),
               "head.weight": one, "head.bias": torch.tensor([0.0, 10, 20, 30])}
    for part in ("self_attn.W_q", "self_attn.W_k", "self_attn.W_v", "self_attn.W_o", "ff.linear1", "ff.linear2"):
        kept = part in ("self_attn.W_v", "self_attn.W_o")
        weights |= {f"layers.0.{part}.weight": one * kept, f"layers.0.{part}.bias": zero}
    for norm in ("norm1", "norm2"):
        weights |= {f"layers.0.{norm}.weight": zero + 1, f"layers.0.{norm}.bias": zero}
    says = ("numbers to follow by hand: the rows of embed.weight are (9, 9, -9, -9) for padding, (1, 0, 0, 0), "
            "(0, -1, 2, 0) and (-2, 0, 0, 3); in the only layer W_q = W_k = 0, W_v = W_o = I, the feed-forward network "
            "returns 0, the norms have gain 1 and bias 0; head.weight = I, head.bias = (0, 10, 20, 30)")
    return Call((torch.tensor([[3, 1, 2], [2, 1, 0]]),), says, build=(4, 4, 1, 4, 1, 4), weights=weights)


def more_classifiers(generator):
    """Padding alone, another number for padding, long texts, and dropout: at 1.0 in train mode no token is left."""
    build = (7, 8, 2, 5, 2, 3)
    weights = random_weights(classifier.EncoderClassifier(*build), generator)
    ids = padded_ids(generator, 3, 5, 7)
    nothing = torch.cat([ids[:2], 0 * ids[:1]])
    model = dict(build=build, weights=weights)
    shallow = dict(build=(7, 8, 2, 5, 1, 3), weights={n: w for n, w in weights.items() if "layers.1." not in n})
    return [
        Call((nothing,), "a text of padding alone", **model),
        Call((0 * nothing,), "texts of padding alone", **model),
        Call((ids,), "called twice", twice=True, **model),
        Call((torch.cat([ids, 0 * ids], dim=1),), "as much padding again", **model),
        Call((padded_ids(generator, 2, 130, 7),), "long texts", **shallow),
        Call((ids,), "dropout 0.5 in eval mode", build=(*build, 0.5), weights=weights),
        tiny_dropout(1 + ids[:, :1] % 6, **model),  # position 0 is exact in any precision
        Call((ids,), "dropout 1.0 in train mode", train=True, build=(*build, 1.0), weights=weights),
    ]


CLASSIFIER_FIRST = (3, 5, 9, 2, 3, 7, 2, 4)  # B, T, vocab, heads, d_head, d_ff, layers, classes


def some_words(generator, T):
    return (torch.randint(1, CLASSIFIER_FIRST[2], (4, T), generator=generator),)


def classified_alone(output, generator):
    ids, = some_words(generator, 4)
    ids[1:, 2:] = 0
    return torch.allclose(output(ids)[1:], output(ids[1:]), atol=1e-3)


EXERCISES = (
    Exercise(
        lesson="10",
        asked="self-attention of x with the mask, dropout, added to x, then `norm1`; of what that gives, "
        "feed-forward, dropout, added to it, then `norm2`: shape `(B, T, d_model)`.",
        verified=transformer.EncoderLayer,
        oracle=encoder_layer,
        examples=EXAMPLES,
        sizes=(
            FIRST, (2, 4, 3, 2, 5, "T T"), (3, 4, 1, 5, 7, "B T T"), (3, 5, 2, 4, 3, "B 1 T"), (4, 4, 2, 2, 4),
            (4, 4, 2, 2, 4, "T T"), (4, 4, 2, 2, 4, "B 1 T"), (2, 1, 2, 3, 4), (1, 1, 1, 1, 1),
        ),
        square_size=(2, 3, 3, 4, 5, "B T T"),
        make=make,
        build=build,
        heads=1,
        calls=more_calls,
        properties=(
            ("An x that is 1,000 times as large gives numbers above 100.", normalised),
            ("A token gets the same result alone as among others.", tokens_meet),
            ("The tokens in reverse order do not give the same vectors in reverse order.",
             equivariant(make, (1, 4, *FIRST[2:]), lambda x: (x.flip(1),), lambda out: out.flip(1), 1e-3)),
            ("A sentence of the batch changes the result of another.", batch_is_its_rows(make, FIRST)),
            ("A token that is hidden by the mask changes the others.", padding_has_no_say, "mask"),
        ),
    ),
    Exercise(
        lesson="10",
        asked="for each text and each feature the maximum over the positions where mask is True; zeros for a text "
        "without any: shape (B, D).",
        verified=classifier.max_over_real_tokens,
        oracle=maximum_by_loop,
        examples=POOLING_EXAMPLES,
        sizes=((2, 4, 3), (3, 5, 7), (5, 2, 4), (4, 4, 4), (3, 3, 2), (1, 6, 3), (2, 1, 3), (1, 1, 1)),
        square_size=(2, 4, 3),
        make=make_texts,
        extremes=(LARGE_TEXT, SMALLEST_IS_REAL),
        calls=texts_without_a_token,
        properties=(
            ("What stands at padding changes the result.",
             invariant(make_texts, (3, 4, 5), lambda x, mask: (x + 20 * ~mask[..., None], mask))),
            ("A text changes the vector of another text.",
             rows_are_apart(make_texts, (3, 4, 5))),
            ("The tokens in another order give another result.",
             invariant(make_texts, (3, 4, 5), lambda x, mask: (x.flip(1), mask.flip(1)))),
            ("There are numbers in the result that no real token has.",
             always(make_texts, (3, 4, 5), lambda out, x, mask: ((out[:, None] == x) & mask[..., None]).any(1).all())),
        ),
    ),
    Exercise(
        lesson="10",
        asked="embeddings times $√d_model$ plus sinusoidal positions, dropout; every layer once, padding hidden; the "
        "maximum over the real tokens; the head: logits `(B, num_classes)`.",
        verified=classifier.EncoderClassifier,
        oracle=torch_classifier,
        examples=(classified_by_hand(),),
        sizes=(
            CLASSIFIER_FIRST, (2, 6, 8, 3, 2, 4, 3, 5, 5), (4, 3, 7, 1, 8, 5, 1, 2), (1, 7, 6, 2, 2, 9, 2, 3),
            (4, 4, 8, 2, 2, 4, 2, 4), (2, 1, 5, 2, 3, 4, 1, 3), (1, 1, 2, 1, 2, 1, 1, 1),
        ),
        square_size=(3, 1, 7, 2, 8, 5, 2, 4),  # position 0 is exact in any precision
        make=make_ids,
        build=build_classifier,
        grows=(0, 1, 2, 3, 4, 5, 7),  # and not the layers
        heads=2,
        calls=more_classifiers,
        properties=(
            ("Padding behind the texts changes the logits.",
             invariant(some_words, (4,), lambda ids: (torch.cat([ids, 0 * ids], 1),), atol=1e-3)),
            ("A text of the batch changes the logits of another.", classified_alone),
            ("The tokens in reverse order give the same logits.",
             sensitive(some_words, (5,), lambda ids: (ids.flip(1),))),
        ),
    ),
)
