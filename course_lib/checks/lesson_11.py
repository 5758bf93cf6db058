"""Lesson 11, the decoder and the whole: judged by torch's own Transformer and loss, and by loops over sentences."""

import functools
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import decoding, targets, transformer
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import TINY, padded_ids, random_mask, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.laws import always, invariant, sensitive
from course_lib.checks.engine.oracles import embedded, encoder_layers


def past(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


# --- DecoderLayer -----------------------------------------------------------------------------------------------


def named_as_torchs(w):
    """Our weights of a decoder layer under torch's names."""
    theirs = {}
    for of in ("weight", "bias"):
        for ours, their in (("self_attn", "self_attn"), ("cross_attn", "multihead_attn")):
            theirs[f"{their}.in_proj_{of}"] = torch.cat([w[f"{ours}.W_{i}.{of}"] for i in "qkv"])
            theirs[f"{their}.out_proj.{of}"] = w[f"{ours}.W_o.{of}"]
        theirs |= {f"linear{i}.{of}": w[f"ff.linear{i}.{of}"] for i in (1, 2)}
        theirs |= {f"norm{i}.{of}": w[f"norm{i}.{of}"] for i in (1, 2, 3)}
    return theirs


@functools.cache
def unweighted_decoder_layer(d_model, num_heads, d_ff, dropout):
    """torch's decoder layer in train mode, without numbers: its own weights are never used."""
    with torch.device("meta"):
        layer = nn.TransformerDecoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)
    layer.self_attn.dropout = layer.multihead_attn.dropout = 0.0  # torch's has more, within its attentions
    return layer


def torch_decoder_layer(w, build, x, memory, tgt_mask=None, memory_mask=None):
    """torch's decoder layer. A token that may attend to nothing gets NaN: any finite number is right there."""
    d_model, num_heads, d_ff, *dropout = build
    p = dropout[0] if dropout in ([1.0], [TINY]) else 0.0  # these two are only ever asked for in train mode
    layer = unweighted_decoder_layer(d_model, num_heads, d_ff, p)
    known, hidden = torch.ones(()), []
    for mask, keys in ((tgt_mask, x), (memory_mask, memory)):
        if mask is not None:
            mask = mask.expand(len(x), x.shape[1], keys.shape[1])
            known = known * torch.ones(()).masked_fill(~mask.any(-1, keepdim=True), float("nan"))  # (B, Tt, 1)
            mask = ~mask.repeat_interleave(num_heads, 0)  # (B * H, Tt, Tk), True = hidden
        hidden.append(mask)
    return torch.func.functional_call(layer, named_as_torchs(w), (x, memory, *hidden)) * known


def make_decoder_layer(generator, B, Tt, Ts, H, d_head, d_ff, tgt="", src=""):
    x, memory = (torch.randn(B, T, H * d_head, generator=generator) for T in (Tt, Ts))
    shapes = {"Tt Tt": (Tt, Tt), "B Tt Tt": (B, Tt, Tt), "B 1 Tt": (B, 1, Tt), "Tt Ts": (Tt, Ts),
              "B Tt Ts": (B, Tt, Ts), "B 1 Ts": (B, 1, Ts)}
    masks = [random_mask(generator, *shapes[which]) if which else None for which in (tgt, src)]
    return (x, memory, *masks) if src else (x, memory, masks[0]) if tgt else (x, memory)


def build_decoder_layer(B, Tt, Ts, H, d_head, d_ff, tgt="", src=""):
    return H * d_head, H, d_ff


def decoder_by_hand(*masks, large=1):
    """One head, three target tokens, two source tokens, four numbers each, and weights that can be done in the head."""
    one, zero = torch.eye(4), torch.zeros(4)
    even = 0 * one if large == 1 else one
    weights = {f"{a}.W_{i}.bias": zero for a in ("self_attn", "cross_attn") for i in "qkvo"}
    weights |= {f"{a}.W_{i}.weight": even for a in ("self_attn", "cross_attn") for i in "qk"}
    weights |= {"self_attn.W_v.weight": one, "self_attn.W_o.weight": 3 * one.roll(1, 0),
                "cross_attn.W_v.weight": 5 * one, "cross_attn.W_o.weight": one.flip(0),
                "ff.linear1.weight": one, "ff.linear2.weight": 2 * one.flip(0)}
    weights |= {f"ff.linear{i}.bias": zero for i in (1, 2)}
    for i, (gain, offset) in enumerate(((1, 0), (2, 1), (10, 2)), 1):
        weights |= {f"norm{i}.weight": zero + gain, f"norm{i}.bias": zero + offset}
    x = torch.tensor([[[1.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 1.0], [2.0, 0.0, -6.0, 0.0]]])
    memory = torch.tensor([[[0.0, 1.0, 4.0, 0.0], [3.0, 0.0, 0.0, 0.0]]])
    return Call((large * x, large * memory, *masks), "large values" if large > 1 else "numbers to follow by hand: "
                "W_q = W_k = 0 in both attentions, so all that may be seen counts alike; self_attn moves the features "
                "on by one position and triples them; cross_attn turns their order round and takes them five times; ff "
                "turns it round and doubles them; norm1 has gain 1 and bias 0, norm2 2 and 1, norm3 10 and 2",
                build=(4, 1, 4), weights=weights)


def more_decoder_layers(generator):
    """Masks with an empty row, giants, and dropout: at 1.0 in train mode only the skip connections are left."""
    size = (2, 3, 4, 2, 3, 5)
    x, memory = make_decoder_layer(generator, *size)
    weights = random_weights(transformer.DecoderLayer(6, 2, 5), generator)
    empty_tgt, empty_src = random_mask(generator, 3, 3), random_mask(generator, 2, 1, 4)
    empty_tgt[1], empty_src[1] = False, False
    model = dict(build=(6, 2, 5), weights=weights)
    return [
        decoder_by_hand(past(3), torch.tensor([[[True, False]]]), large=10),
        Call((x, memory, None, random_mask(generator, 2, 1, 4)), "a source mask alone", **model),
        Call((x, memory, empty_tgt), "a token that may attend to nothing", **model),
        Call((x, memory, past(3), empty_src), "a source of padding alone", **model),
        Call((x, memory, past(3), empty_src | True), "called twice", twice=True, **model),
        Call((x, memory), "dropout 0.5 in eval mode", build=(6, 2, 5, 0.5), weights=weights),
        Call((x, memory), "dropout 1.0 in train mode", build=(6, 2, 5, 1.0), weights=weights, train=True),
        tiny_dropout(x, memory, build=(6, 2, 5), weights=weights),
    ]


FIRST = (2, 3, 4, 2, 5, 7)  # B, Tt, Ts, H, d_head, d_ff


def tokens(generator, T):
    return torch.randn(1, T, FIRST[3] * FIRST[4], generator=generator)


def the_past_stays(output, generator):
    x, memory = tokens(generator, 4), tokens(generator, 3)
    return torch.allclose(output(x, memory, past(4))[:, :2], output(x[:, :2], memory, past(2)), atol=1e-3)


def decoder_normalises(output, generator):
    return bool((output(1000 * tokens(generator, 3), tokens(generator, 4)).abs() < 100).all())


# --- Transformer ------------------------------------------------------------------------------------------------


def torch_transformer(w, build, src, tgt):
    """torch's layers, one after the other; embeddings, positions and masks by loops."""
    d_model, num_heads, d_ff, num_layers, dropout, pad_id = (*build[2:], 0.0, 0)[:6]
    size = d_model, num_heads, d_ff, dropout
    src_mask, tgt_mask = (src != pad_id)[:, None], (tgt != pad_id)[:, None] & past(tgt.shape[1])
    memory = encoder_layers(w, "encoder", num_layers, size, embedded(src, w["src_embed.weight"], dropout), src_mask)
    x = embedded(tgt, w["tgt_embed.weight"], dropout)
    for i in range(num_layers):
        own = {name.removeprefix(f"decoder.{i}."): v for name, v in w.items() if name.startswith(f"decoder.{i}.")}
        x = torch_decoder_layer(own, size, x, memory, tgt_mask, src_mask)
    return F.linear(x, w["out.weight"], w["out.bias"])


def make_transformer(generator, B, Ts, Tt, src_vocab, tgt_vocab, H, d_head, d_ff, layers, pad_id=0):
    return padded_ids(generator, B, Ts, src_vocab, pad_id), padded_ids(generator, B, Tt, tgt_vocab, pad_id)


def build_transformer(B, Ts, Tt, src_vocab, tgt_vocab, H, d_head, d_ff, layers, pad_id=0):
    sizes = src_vocab, tgt_vocab, H * d_head, H, d_ff, layers
    return (*sizes, 0.0, pad_id) if pad_id else sizes


def small_transformer():
    """A word of padding behind three, two behind three others; four numbers a word, one head, one layer."""
    weights = random_weights(transformer.Transformer(5, 5, 4, 1, 4, 1), torch.Generator().manual_seed(3))
    ids = torch.tensor([[3, 1, 4, 0]]), torch.tensor([[1, 3, 2, 0, 0]])
    return Call(ids, build=(5, 5, 4, 1, 4, 1), weights=weights)


def more_transformers(generator):
    """A source of padding alone, padding in front and between, long sentences, and dropout: at 1.0 in train mode no
    word is left."""
    weights = random_weights(transformer.Transformer(7, 6, 8, 2, 5, 2), generator)
    src, tgt = padded_ids(generator, 3, 4, 7), padded_ids(generator, 3, 5, 6)
    nothing = torch.cat([src[:2], torch.zeros(1, 4, dtype=torch.int64)])
    model = dict(build=(7, 6, 8, 2, 5, 2), weights=weights)
    shallow = dict(build=(7, 6, 8, 2, 5, 1), weights={n: w for n, w in weights.items() if "coder.1." not in n})
    return [
        Call((nothing, tgt), "a source of padding alone", **model),
        Call((torch.tensor([[0, 2, 0, 3, 4], [2, 0, 0, 3, 1]]), torch.tensor([[1, 0, 4, 3], [2, 5, 0, 1]])),
             "padding in front of words and between them", **model),
        Call((padded_ids(generator, 1, 130, 7), padded_ids(generator, 1, 70, 6)), "a long source and target",
             **shallow),
        Call((src, tgt), "dropout 0.5 in eval mode", **(shallow | dict(build=(*shallow["build"], 0.5)))),
        tiny_dropout(src[:, :1], tgt[:, :1], **shallow),  # position 0 is exact in any precision
        Call((src[:1, :2], tgt[:1, :2]), "dropout 1.0 in train mode", train=True,
             **(shallow | dict(build=(*shallow["build"], 1.0)))),
    ]


def words(generator, Ts, Tt):
    """Sentences without padding; the words of the source all differ."""
    return torch.randperm(6, generator=generator)[None, :Ts] + 1, torch.randint(1, 6, (1, Tt), generator=generator)


# --- shift_right ------------------------------------------------------------------------------------------------


def shifted_by_loop(labels, bos_id):
    """One position at a time."""
    shifted = torch.zeros_like(labels)
    for b, sentence in enumerate(labels.tolist()):
        for t in range(len(sentence)):
            shifted[b, t] = bos_id if t == 0 else sentence[t - 1]
    return shifted


def make_labels(generator, B, T, vocab):
    return torch.randint(3, vocab, (B, T), generator=generator), vocab


def asked_twice(generator):
    return [Call((torch.tensor([[7, 8, 2]]), 9), "called twice", twice=True),
            Call((torch.tensor([[7, 8, 2]], dtype=torch.int32), 9), "labels of another integer type"),
            Call((torch.tensor([[2**40 + 1, 2**30 + 1, 2**24 + 1]]), 2**40 + 3), "huge numbers")]


# --- masked_cross_entropy ---------------------------------------------------------------------------------------


def loss_by_loop(logits, targets, pad_id=0):
    """torch's own negative log-likelihood of one token at a time, and the mean over those that count."""
    each = [F.nll_loss(torch.log_softmax(logits[b, t], 0), targets[b, t])
            for b, t in itertools.product(*map(range, targets.shape)) if targets[b, t] != pad_id]
    return torch.stack(each).mean()


def make_loss(generator, B, T, V, pad_id=None):
    targets = padded_ids(generator, B, T, V, pad_id or 0)
    logits = 2 * torch.randn(B, T, V, generator=generator)
    return (logits, targets) if pad_id is None else (logits, targets, pad_id)


LOSS_EXAMPLES = (
    (torch.tensor([[[0.0, 1, 2], [3, 0, 1], [0, 2, 0]], [[1.0, 0, 0], [0, 3, 1], [2, 0, 1]]]),
     torch.tensor([[1, 2, 1], [2, 0, 0]])),
    (torch.tensor([[[0.0, 1, 2], [3, 0, 1], [0, 2, 0]], [[1.0, 0, 0], [0, 3, 1], [2, 0, 1]]]),
     torch.tensor([[1, 0, 1], [0, 0, 2]])),
    (torch.tensor([[[0.0, 1, 2], [3, 0, 1]]]), torch.tensor([[0, 2]]), 2),
)


def many_classes_are_a_guess(output, generator):
    return abs(output(torch.zeros(2, 3, 8), torch.ones(2, 3, dtype=torch.int64)).item() - math.log(8)) < 1e-4


def nothing_is_cut_off(output, generator):
    return abs(output(torch.tensor([[[0.0, 0.0, 1000.0]]]), torch.tensor([[1]])).item() - 1000) < 1


# --- greedy_decode ----------------------------------------------------------------------------------------------


class Script(nn.Module):
    """A model that writes sentence src[b, 0] of a script, whatever has been written so far."""

    def __init__(self, *sentences):
        super().__init__()
        self.sentences, self.weight = sentences, nn.Parameter(torch.zeros(1))  # as a model has one

    def __repr__(self):
        return "a model that says, after <bos>, " + "; ".join(
            f"{list(s)} if the source begins with {i}" for i, s in enumerate(self.sentences))

    def forward(self, src, ys):
        lines = torch.tensor([self.sentences[i] for i in src[:, 0].tolist()], device=src.device)  # (B, longest)
        vocab = max(map(max, self.sentences)) + 1
        return 5 * F.one_hot(lines[:, : ys.shape[1]], vocab).float()  # (B, t, V)


class Reader(nn.Module):
    """A model whose next token follows from the whole source, from every token of the prefix and from its length: it
    is not fooled by a prefix that is filled up with padding."""

    def __init__(self, vocab):
        super().__init__()
        self.vocab, self.weight = vocab, nn.Parameter(torch.zeros(1))

    def __repr__(self):
        return f"a model with {self.vocab} words, whose next word depends on the whole source and the whole prefix"

    def forward(self, src, ys):
        source, places = (torch.arange(1, ids.shape[1] + 1, device=ids.device) for ids in (src, ys))
        read = (source**2 * src).sum(1, keepdim=True) + (places * (ys + 1)).cumsum(1) + ys.shape[1]  # (B, t)
        word = torch.arange(self.vocab, device=src.device)
        return torch.cos(1.7 * read[..., None] * (word + 1) + 0.9 * word**2)  # (B, t, V)


def greedy_by_loop(model, src, bos_id, eos_id, max_len, pad_id=0):
    """One sentence after the other, token by token; then all are filled up to the longest."""
    written = []
    for sentence in src:
        tokens = [bos_id]
        while len(tokens) < max_len and tokens[-1] != eos_id:
            logits = model(sentence[None], torch.tensor([tokens]))[0, -1].tolist()
            tokens.append(logits.index(max(logits)))
        written.append(tokens)
    longest = max(map(len, written))
    return torch.tensor([tokens + [pad_id] * (longest - len(tokens)) for tokens in written])


THREE_SENTENCES = Script((5, 4, 2, 6, 6, 6), (2, 4, 6, 5, 4, 4), (4, 4, 6, 2, 5, 5))
GREEDY_EXAMPLES = (
    (THREE_SENTENCES, torch.tensor([[0, 7], [1, 7], [2, 7]]), 1, 2, 9),
    (THREE_SENTENCES, torch.tensor([[0, 7], [1, 7], [2, 7]]), 1, 2, 3, 9),
)


def make_greedy(generator, B, Ts, vocab, max_len, pad_id=None):
    src = torch.randint(3, 50, (B, Ts), generator=generator)
    ids = (1, 2) if pad_id is None else (pad_id + 1, pad_id + 2)
    return (Reader(vocab), src, *ids, max_len) + (() if pad_id is None else (pad_id,))


def more_greedy(generator):
    src = torch.randint(3, 50, (4, 3), generator=generator)
    return [Call((Reader(5), src, 1, 2, 1), "room for bos only"), Call((Reader(5), src, 1, 2, 7), "called twice",
                                                                      twice=True)]


def no_longer_than_allowed(output, generator):
    return output(Reader(6), torch.tensor([[3, 4], [5, 6]]), 1, 99, 5).shape[1] <= 5


def goes_on_as_it_began(output, generator):
    src = torch.tensor([[3, 4], [5, 6]])
    long, short = (output(Reader(6), src, 1, 99, n) for n in (6, 4))
    return torch.equal(long[:, : short.shape[1]], short)


EXERCISES = (
    Exercise(
        lesson="11",
        asked="self-attention of x with `tgt_mask`; cross-attention, queries from x, keys and values from memory, "
        "with `memory_mask`; feed-forward. After each: dropout, added to x, then `norm1`, `norm2`, `norm3`. Shape "
        "`(B, Tt, d_model)`.",
        verified=transformer.DecoderLayer,
        oracle=torch_decoder_layer,
        examples=(decoder_by_hand(), decoder_by_hand(past(3), torch.tensor([[[True, False]]]))),
        sizes=(
            FIRST, (2, 5, 3, 3, 2, 4, "Tt Tt", "B 1 Ts"), (3, 2, 4, 1, 5, 7, "B Tt Tt", "B Tt Ts"),
            (3, 4, 6, 2, 4, 3, "B 1 Tt", "Tt Ts"), (4, 4, 4, 2, 2, 4, "B 1 Tt", "B 1 Ts"), (2, 1, 3, 2, 3, 4),
            (1, 1, 1, 1, 1, 1),
        ),
        square_size=(2, 3, 5, 3, 4, 5, "B Tt Tt", "B 1 Ts"),
        make=make_decoder_layer,
        build=build_decoder_layer,
        heads=1,
        calls=more_decoder_layers,
        properties=(
            ("An x that is 1,000 times as large gives numbers above 100.", decoder_normalises),
            ("Another memory gives the same result.",
             sensitive(make_decoder_layer, (1, *FIRST[1:]), lambda x, memory: (x, 1 - 2 * memory), 1e-3)),
            ("With a causal mask, a later token changes an earlier one.", the_past_stays, "tgt_mask"),
            ("The tokens of memory in reverse order change the result.",
             invariant(make_decoder_layer, (1, *FIRST[1:]), lambda x, memory: (x, memory.flip(1)), atol=1e-3)),
            ("A source token that is hidden by memory_mask changes the result.",
             invariant(make_decoder_layer, (1, *FIRST[1:], "Tt Tt", "B 1 Ts"),
                       lambda x, memory, tgt, src: (x, memory + 3 * ~src.mT, tgt, src), atol=1e-3),
             "memory_mask"),
        ),
    ),
    Exercise(
        lesson="11",
        asked="logits `(B, Tt, tgt_vocab)`: embeddings times $√d_model$ plus sinusoidal positions, dropout; all "
        "encoder layers (source padding hidden); all decoder layers (future and target padding hidden from "
        "themselves, source padding hidden from the cross-attention, each reads the encoder's end); out.",
        verified=transformer.Transformer,
        oracle=torch_transformer,
        examples=(small_transformer(),),
        sizes=(
            (3, 5, 4, 9, 7, 2, 4, 5, 2), (2, 3, 6, 7, 8, 3, 2, 4, 2, 5), (4, 4, 4, 8, 8, 2, 4, 8, 2),
            (1, 1, 1, 2, 2, 1, 2, 1, 1),
        ),
        square_size=(3, 1, 1, 6, 7, 2, 8, 5, 2),  # position 0 is exact in any precision
        make=make_transformer,
        build=build_transformer,
        grows=(0, 1, 2, 3, 4, 5, 6, 7),  # and not the layers
        heads=3,
        calls=more_transformers,
        properties=(
            ("A later target token changes the logits at an earlier position.",
             invariant(words, (3, 5), lambda src, tgt: (src, torch.cat([tgt[:, :2], tgt[:, 2:] % 5 + 1], 1)),
                       lambda out: out[:, :2], 2e-5)),
            ("Another source gives the same logits.",
             sensitive(words, (4, 3), lambda src, tgt: (src % 6 + 1, tgt), 2e-5)),
            ("A source in another order gives the same logits.",
             sensitive(words, (4, 3), lambda src, tgt: (src.flip(1), tgt), 2e-5)),
            ("Padding behind the source changes the logits.",
             invariant(words, (3, 3), lambda src, tgt: (torch.cat([src, 0 * src], 1), tgt), atol=2e-5)),
        ),
    ),
    Exercise(
        lesson="11",
        asked="`bos_id` in front of every row, the last label dropped: shape (B, T), like labels.",
        verified=targets.shift_right,
        oracle=shifted_by_loop,
        examples=((torch.tensor([[5, 8, 6, 2], [7, 9, 2, 0]]), 1), (torch.tensor([[4, 3]]), 9)),
        sizes=((3, 5, 11), (2, 7, 9), (5, 3, 7), (4, 4, 8), (3, 1, 6), (1, 1, 5)),
        make=make_labels,
        calls=asked_twice,
        properties=(("A row does not begin with bos_id.",
                     always(make_labels, (2, 3, 9), lambda out, labels, bos_id: (out[:, 0] == bos_id).all())),
                    ("Position t does not hold the label of position t - 1.",
                     always(make_labels, (2, 3, 9),
                            lambda out, labels, bos_id: torch.equal(out[:, 1:], labels[:, :-1])))),
    ),
    Exercise(
        lesson="11",
        asked="one number: the mean of $-log softmax(logits)[target]$ over all positions whose target is not `pad_id`.",
        verified=targets.masked_cross_entropy,
        oracle=loss_by_loop,
        examples=LOSS_EXAMPLES,
        sizes=((3, 5, 7), (2, 6, 4, 3), (4, 3, 6, 0), (5, 4, 9), (4, 4, 4), (4, 4, 4, 2), (3, 1, 5), (1, 1, 2)),
        grows=(0, 1, 2),  # padding is one of the tokens
        square_size=(2, 3, 16),
        extremes=((torch.tensor([[[1000.0, 0, -1000], [-2000, 2000, 0]], [[3000, 1000, 2000], [0, 5, 10]]]),
                   torch.tensor([[2, 1], [1, 0]])),),
        make=make_loss,
        properties=(("Eight words that are equally probable do not give log 8.", many_classes_are_a_guess),
                    ("Other logits at a padded position change the loss.",
                     invariant(make_loss, (2, 3, 5), lambda logits, ids: (logits * (1 + (ids[..., None] == 0)), ids))),
                    ("A logit of 0 for the right token, beside one of 1000, does not cost 1000.", nothing_is_cut_off),
                    ("Adding 3 to all logits changes the loss.",
                     invariant(make_loss, (1, 3, 5), lambda logits, ids: (logits + 3, ids)))),
    ),
    Exercise(
        lesson="11",
        asked="each row begins with `bos_id` and goes on with the most probable token after all that is written; "
        "after its `eos_id` a row is filled with `pad_id`; it ends when all rows have ended, or at `max_len` tokens, "
        "bos included.",
        verified=decoding.greedy_decode,
        oracle=greedy_by_loop,
        examples=GREEDY_EXAMPLES,
        sizes=((3, 4, 7, 8), (4, 3, 5, 9), (5, 2, 6, 7, 6), (2, 6, 4, 5), (6, 6, 6, 6), (4, 5, 5, 10, 3),
               (1, 3, 4, 12), (1, 1, 3, 2)),
        make=make_greedy,
        calls=more_greedy,
        properties=(("A row does not begin with bos_id.",
                     always(make_greedy, (2, 2, 6, 5), lambda out, *args: (out[:, 0] == 1).all())),
                    ("It writes more than max_len tokens.", no_longer_than_allowed),
                    ("With a larger max_len it writes another beginning.", goes_on_as_it_began)),
    ),
)
