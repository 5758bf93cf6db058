"""Lesson 11, the decoder and the whole: judged by torch's own Transformer and loss, and by loops over sentences."""

import functools
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import decoding, targets, transformer
from course_lib.attention import MultiHeadAttention
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import TINY, dropout_factor, random_mask, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.oracles import encoder_layer
from course_lib.wires import FeedForward


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


class Steps(nn.Module):
    """The decoder layer cut into steps, each a method, so that a mistake can override just one of them."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        h = self.first(x, memory, self.tgt(tgt_mask, memory_mask))  # (B, Tt, d_model)
        h = self.second(h, memory, self.src(tgt_mask, memory_mask), x)  # (B, Tt, d_model)
        return self.third(h, x)  # (B, Tt, d_model)

    def tgt(self, tgt_mask, memory_mask):
        return tgt_mask

    def src(self, tgt_mask, memory_mask):
        return memory_mask

    def first(self, x, memory, mask):
        return self.norm1(self.add(x, self.look_back(x, memory, mask), 1))

    def second(self, h, memory, mask, x):
        return self.norm2(self.add(h, self.look_across(h, memory, mask), 2))

    def third(self, h, x):
        return self.norm3(self.add(h, self.ff(h), 3))

    def look_back(self, x, memory, mask):
        return self.self_attn(x, x, x, mask)

    def look_across(self, h, memory, mask):
        return self.cross_attn(h, memory, memory, mask)

    def add(self, x, says, which):
        return x + self.dropout(says)


# Who asks whom


class queries_from_memory(Steps):
    """In the cross-attention the source asked and the target answered: one vector a source token comes out. Whose
    questions are they, and whose keys and values?"""

    def look_across(self, h, memory, mask):
        return self.cross_attn(memory, h, h, None if mask is None else mask[..., :1, :1])

    def second(self, h, memory, mask, x):
        return self.norm2(self.dropout(self.look_across(h, memory, mask)))


class values_from_the_decoder(Steps):
    """The second attention looked at the decoder's own tokens again: nothing of the source was read. Who wrote
    `memory`, and who should ask it?"""

    def look_across(self, h, memory, mask):
        return self.cross_attn(h, h, h)


class source_in_both_attentions(Steps):
    """The first attention asked the source, too, so that no target token saw another one. Where do keys and values of
    the first attention come from?"""

    def look_back(self, x, memory, mask):
        return self.self_attn(x, memory, memory)


class one_attention_for_both(Steps):
    """`self_attn` was used twice, and `cross_attn` never. The two ask different questions: why should they share
    their weights?"""

    def look_across(self, h, memory, mask):
        return self.self_attn(h, memory, memory, mask)


class attentions_swapped(Steps):
    """`cross_attn` looked at the target, and `self_attn` at the source. Fresh layers do not mind, but the weights of
    a trained one are named: which is which?"""

    def look_back(self, x, memory, mask):
        return self.cross_attn(x, x, x, mask)

    def look_across(self, h, memory, mask):
        return self.self_attn(h, memory, memory, mask)


class cross_attention_first(Steps):
    """The source was asked before the target had looked at itself. In the paper's figure, which of the two attentions
    is nearer to the input?"""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        h = self.norm1(self.add(x, self.look_across(x, memory, memory_mask), 2))
        return self.third(self.norm2(self.add(h, self.look_back(h, memory, tgt_mask), 1)), x)


class cross_attention_asks_with_the_input(Steps):
    """The queries of the cross-attention were the x that had come into the layer, not the one that has looked at
    itself. What is x by the time the source is asked?"""

    def second(self, h, memory, mask, x):
        return self.norm2(self.add(h, self.look_across(x, memory, mask), 2))


class first_token_of_memory_only(Steps):
    """Of the source only the first token was read. How many of its tokens may be looked at?"""

    def look_across(self, h, memory, mask):
        return self.cross_attn(h, memory[:, :1], memory[:, :1])


class first_source_for_all(Steps):
    """Every sentence of the batch read the first source. Which axis of `memory` says whose it is?"""

    def look_across(self, h, memory, mask):
        return self.cross_attn(h, *[memory[:1].expand(len(h), -1, -1)] * 2, mask)


# What is left out


class no_self_attention(Steps):
    """The target's tokens never saw each other: the layer began with the source. A decoder layer has three
    sublayers: which one is missing?"""

    def first(self, x, memory, mask):
        return x


class no_cross_attention(Steps):
    """The source was never read. That is a layer for a language model; a translator has a third sublayer. Which one
    is missing?"""

    def second(self, h, memory, mask, x):
        return h


class no_feed_forward(Steps):
    """The layer ended after the two attentions. A decoder layer has three sublayers: which one is missing?"""

    def third(self, h, x):
        return h


class feed_forward_between(Steps):
    """The feed-forward network came between the two attentions. In the paper's figure, which sublayer is the last?"""

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        h = self.first(x, memory, tgt_mask)
        h = self.norm2(self.add(h, self.ff(h), 3))
        return self.norm3(self.add(h, self.look_across(h, memory, memory_mask), 2))


# The masks


class ignores_the_target_mask(Steps):
    """`tgt_mask` never reached the self-attention: each token sees the words it is to guess. Which argument of
    `self_attn` is left?"""

    def tgt(self, tgt_mask, memory_mask):
        return None


class ignores_the_memory_mask(Steps):
    """`memory_mask` never reached the cross-attention, so the source's padding is read like words. Which argument of
    `cross_attn` is left?"""

    def src(self, tgt_mask, memory_mask):
        return None


class ignores_both_masks(Steps):
    """Neither mask reached its attention. Two attentions, two masks: which belongs to which?"""

    def tgt(self, tgt_mask, memory_mask):
        return None

    src = tgt


class target_mask_inverted(Steps):
    """`tgt_mask` was turned round with ~ on its way. Here and in `self_attn`, True means "may attend": is there
    anything to turn?"""

    def tgt(self, tgt_mask, memory_mask):
        return None if tgt_mask is None else ~tgt_mask


class memory_mask_inverted(Steps):
    """`memory_mask` was turned round with ~ on its way. Here and in `cross_attn`, True means "may attend": is there
    anything to turn?"""

    def src(self, tgt_mask, memory_mask):
        return None if memory_mask is None else ~memory_mask


class target_mask_for_both(Steps):
    """`tgt_mask` went to both attentions. Its last axis counts target tokens: whose tokens does `cross_attn` look
    at?"""

    def src(self, tgt_mask, memory_mask):
        return tgt_mask


class masks_swapped(Steps):
    """`memory_mask` went to the self-attention and `tgt_mask` to the cross-attention. The last axis of each says whose
    tokens it hides: which is which?"""

    def tgt(self, tgt_mask, memory_mask):
        return memory_mask

    def src(self, tgt_mask, memory_mask):
        return tgt_mask


class always_causal(Steps):
    """No token saw the ones after it, though no mask said so. Who decides what is hidden: this layer, or whoever
    calls it?"""

    def look_back(self, x, memory, mask):
        causal = past(x.shape[1]).to(x.device)
        return self.self_attn(x, x, x, causal if mask is None else causal & mask)


class source_read_causally(Steps):
    """Target token t saw only the first t source tokens, though no mask said so. The whole source is known before the
    first word is written: what is there to hide?"""

    def look_across(self, h, memory, mask):
        causal = torch.ones(h.shape[1], memory.shape[1], dtype=torch.bool, device=h.device).tril()
        return self.cross_attn(h, memory, memory, causal if mask is None else causal & mask)


# Skip connections and norms


class no_skip_around_self_attention(Steps):
    """The self-attention's answer replaced x instead of being added to it. How would a token then know which word it
    was itself?"""

    def add(self, x, says, which):
        return self.dropout(says) if which == 1 else super().add(x, says, which)


class no_skip_around_cross_attention(Steps):
    """What was read of the source replaced what was known of the target. What is carried around every sublayer?"""

    def add(self, x, says, which):
        return self.dropout(says) if which == 2 else super().add(x, says, which)


class no_skip_around_the_feed_forward(Steps):
    """The feed-forward network's answer replaced x instead of being added to it. What is carried around every
    sublayer?"""

    def add(self, x, says, which):
        return self.dropout(says) if which == 3 else super().add(x, says, which)


class no_skips(Steps):
    """Each sublayer's answer replaced x: nothing was carried around. What did lesson 08 find at depth without skip
    connections?"""

    def add(self, x, says, which):
        return self.dropout(says)


class second_skip_from_the_input(Steps):
    """The sum after the cross-attention took the x that had come into the layer, so the road around it misses what
    the self-attention had added. Which x goes around the second sublayer?"""

    def second(self, h, memory, mask, x):
        return self.norm2(self.add(x, self.look_across(h, memory, mask), 2))


class last_skip_from_the_input(Steps):
    """The last sum took the x that had come into the layer, so the road around it misses both attentions. Which x
    goes around the third sublayer?"""

    def third(self, h, x):
        return self.norm3(self.add(x, self.ff(h), 3))


class pre_norm(Steps):
    """The norms came before the sublayers: x + sublayer(norm(x)). Lesson 08 calls that pre-norm. This layer is that of
    2017: which is the last thing that happens to x there, before the next sublayer gets it?"""

    def first(self, x, memory, mask):
        return self.add(x, self.look_back(self.norm1(x), memory, mask), 1)

    def second(self, h, memory, mask, x):
        return self.add(h, self.look_across(self.norm2(h), memory, mask), 2)

    def third(self, h, x):
        return self.add(h, self.ff(self.norm3(h)), 3)


class norms_only_what_is_added(Steps):
    """The answers of the sublayers were normalised, and then added to x as it was. What has to be normalised: what is
    added, or the sum?"""

    def first(self, x, memory, mask):
        return x + self.norm1(self.dropout(self.look_back(x, memory, mask)))

    def second(self, h, memory, mask, x):
        return h + self.norm2(self.dropout(self.look_across(h, memory, mask)))

    def third(self, h, x):
        return h + self.norm3(self.dropout(self.ff(h)))


class no_norms(Steps):
    """No norm was used at all. The constructor made three: what are they for?"""

    def first(self, x, memory, mask):
        return self.add(x, self.look_back(x, memory, mask), 1)

    def second(self, h, memory, mask, x):
        return self.add(h, self.look_across(h, memory, mask), 2)

    def third(self, h, x):
        return self.add(h, self.ff(h), 3)


class no_norm_after_cross_attention(Steps):
    """The sum after the cross-attention was not normalised. What follows each of the three sums?"""

    def second(self, h, memory, mask, x):
        return self.add(h, self.look_across(h, memory, mask), 2)


class no_norm_at_the_end(Steps):
    """The last sum was not normalised, so numbers grow from layer to layer. What follows each of the three sums?"""

    def third(self, h, x):
        return self.add(h, self.ff(h), 3)


class norm1_for_all(Steps):
    """norm1 was used after all three sublayers, so the other two never learn anything. Each norm has a gain and an
    offset of its own: which one belongs where?"""

    def second(self, h, memory, mask, x):
        return self.norm1(self.add(h, self.look_across(h, memory, mask), 2))

    def third(self, h, x):
        return self.norm1(self.add(h, self.ff(h), 3))


class norm2_twice(Steps):
    """norm2 was used after the cross-attention and again at the end, so norm3 never learns anything. How many norms
    did the constructor make?"""

    def third(self, h, x):
        return self.norm2(self.add(h, self.ff(h), 3))


class one_norm_at_the_end(Steps):
    """Only the last of the three sums was normalised. What follows each of them?"""

    def first(self, x, memory, mask):
        return self.add(x, self.look_back(x, memory, mask), 1)

    def second(self, h, memory, mask, x):
        return self.add(h, self.look_across(h, memory, mask), 2)


class first_norms_swapped(Steps):
    """norm2 came before norm1. A fresh layer does not show it, since all begin as the same: what will differ once
    they are trained?"""

    def first(self, x, memory, mask):
        return self.norm2(self.add(x, self.look_back(x, memory, mask), 1))

    def second(self, h, memory, mask, x):
        return self.norm1(self.add(h, self.look_across(h, memory, mask), 2))


class norms_swapped(Steps):
    """norm3 came before norm2. A fresh layer does not show it, since all begin as the same: what will differ once
    they are trained?"""

    def second(self, h, memory, mask, x):
        return self.norm3(self.add(h, self.look_across(h, memory, mask), 2))

    def third(self, h, x):
        return self.norm2(self.add(h, self.ff(h), 3))


class normalises_memory(Steps):
    """`memory` was normalised once more before it was read. The encoder's last norm has done that: what does this
    layer have to do to `memory`?"""

    def look_across(self, h, memory, mask):
        return super().look_across(h, F.layer_norm(memory, memory.shape[-1:]), mask)


# Dropout


class no_dropout(Steps):
    """In train mode, the sublayers' answers were added as they are, or what was not dropped of them was not divided by
    1 - p. The constructor made a `dropout` that does both: where does the paper use it (section 5.4)?"""

    def add(self, x, says, which):
        return x + says


class no_dropout_after_self_attention(Steps):
    """In train mode, nothing was dropped of what the self-attention said. After how many sublayers does dropout
    come?"""

    def add(self, x, says, which):
        return x + says if which == 1 else super().add(x, says, which)


class no_dropout_after_the_feed_forward(Steps):
    """In train mode, nothing was dropped of what the feed-forward network said. (The dropout within it is another
    one.) After how many sublayers does dropout come?"""

    def add(self, x, says, which):
        return x + says if which == 3 else super().add(x, says, which)


class no_dropout_within_the_feed_forward(Steps):
    """In train mode, nothing was dropped within the feed-forward network: it was built without the layer's dropout, or
    its own was passed by. What does FeedForward take as its third argument?"""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.ff = FeedForward(d_model, d_ff)


class drops_twice(Steps):
    """In train mode, dropout fell twice on what a sublayer said. How much of it is left if each time half of it
    goes?"""

    def add(self, x, says, which):
        return x + self.dropout(self.dropout(says))


class no_dropout_after_cross_attention(Steps):
    """In train mode, nothing was dropped of what was read of the source. After how many sublayers does dropout
    come?"""

    def add(self, x, says, which):
        return x + says if which == 2 else super().add(x, says, which)


class drops_the_sum(Steps):
    """Dropout fell on the sums, so that it tears holes into x itself. What may be missing for a while: x, or what a
    sublayer says about it?"""

    def add(self, x, says, which):
        return self.dropout(x + says)


class dropout_always_on(Steps):
    """Dropout was active in eval mode, too. `F.dropout` takes no notice of `model.eval()` unless you tell it: does
    `self.dropout` need to be told?"""

    def add(self, x, says, which):
        return x + F.dropout(says, self.dropout.p)


DECODER_MISTAKES = tuple(m for m in list(vars().values())
                         if isinstance(m, type) and issubclass(m, Steps) and m is not Steps)


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
                "on by one place and triples them; cross_attn turns their order round and takes them five times; ff "
                "turns it round and doubles them; norm1 has gain 1 and offset 0, norm2 2 and 1, norm3 10 and 2",
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


def tokens(generator, T, B=1):
    return torch.randn(B, T, FIRST[3] * FIRST[4], generator=generator)


def the_source_matters(output, generator):
    x = tokens(generator, 3)
    return not torch.allclose(output(x, tokens(generator, 4)), output(x, tokens(generator, 4)), atol=1e-3)


def the_past_stays(output, generator):
    x, memory = tokens(generator, 4), tokens(generator, 3)
    return torch.allclose(output(x, memory, past(4))[:, :2], output(x[:, :2], memory, past(2)), atol=1e-3)


def order_of_the_source_is_free(output, generator):
    x, memory = tokens(generator, 3), tokens(generator, 4)
    return torch.allclose(output(x, memory.flip(1)), output(x, memory), atol=1e-3)


def hidden_source_has_no_say(output, generator):
    x, memory = tokens(generator, 3), tokens(generator, 4)
    mask = torch.tensor([[[True, True, True, False]]])
    other = torch.cat([memory[:, :3], tokens(generator, 1)], 1)
    return torch.allclose(output(x, memory, None, mask), output(x, other, None, mask), atol=1e-3)


def decoder_normalises(output, generator):
    return bool((output(1000 * tokens(generator, 3), tokens(generator, 4)).abs() < 100).all())


# --- Transformer ------------------------------------------------------------------------------------------------


def torch_transformer(w, build, src, tgt):
    """torch's layers, one after the other; embeddings, positions and masks by loops."""
    d_model, num_heads, d_ff, num_layers, dropout, pad_id = (*build[2:], 0.0, 0)[:6]
    size = d_model, num_heads, d_ff, dropout

    def embedded(ids, table):
        where = torch.tensor([[(math.cos if j % 2 else math.sin)(t / 10000 ** (j // 2 * 2 / d_model))
                               for j in range(d_model)] for t in range(ids.shape[1])], dtype=table.dtype)
        return (F.embedding(ids, table) * math.sqrt(d_model) + where) * dropout_factor(dropout)

    def layer(side, i):
        return {name.removeprefix(f"{side}.{i}."): v for name, v in w.items() if name.startswith(f"{side}.{i}.")}

    src_mask, tgt_mask = (src != pad_id)[:, None], (tgt != pad_id)[:, None] & past(tgt.shape[1])
    memory, x = embedded(src, w["src_embed.weight"]), embedded(tgt, w["tgt_embed.weight"])
    for i in range(num_layers):
        memory = encoder_layer(layer("encoder", i), size, memory, src_mask)
    for i in range(num_layers):
        x = torch_decoder_layer(layer("decoder", i), size, x, memory, tgt_mask, src_mask)
    return F.linear(x, w["out.weight"], w["out.bias"])


class Whole(transformer.Transformer):
    """The Transformer cut into steps, each a method, so that a mistake can override just one of them."""

    def forward(self, src, tgt):
        src_mask = self.real(src)  # (B, 1, Ts)
        memory = self.encode(self.embed_source(src), src_mask)
        x = self.decode(self.embed_target(tgt), memory, self.target_mask(tgt), src_mask, tgt)
        return self.say(x)

    def real(self, ids):
        return (ids != self.pad_id)[:, None, :]

    def causal(self, tgt):
        return past(tgt.shape[1]).to(tgt.device)

    def target_mask(self, tgt):
        return self.real(tgt) & self.causal(tgt)

    def embed_source(self, src):
        return self.vectors(src, self.src_embed)

    def embed_target(self, tgt):
        return self.vectors(tgt, self.tgt_embed)

    def vectors(self, ids, table):
        return self.embed_dropout(self.scaled(table(ids)) + self.where(ids, table))

    def embed_dropout(self, x):
        return self.dropout(x)

    def scaled(self, x):
        return x * self.d_model**0.5

    def where(self, ids, table):
        return transformer.sinusoidal_positions(ids.shape[1], self.d_model).to(table.weight)

    def encode(self, x, mask):
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def decode(self, x, memory, mask, src_mask, tgt):
        for layer in self.decoder:
            x = layer(x, memory, mask, src_mask)
        return x

    def say(self, x):
        return self.out(x)


# Embeddings and positions


class no_scale_of_embeddings(Whole):
    """The embeddings were not multiplied by √d_model (section 3.4), so that the positions drown the words. What is
    done to a word's vector before its position is added?"""

    def scaled(self, x):
        return x


class scaled_by_d_model(Whole):
    """The embeddings were multiplied by d_model. Section 3.4 takes its root: which power of d_model is that?"""

    def scaled(self, x):
        return x * self.d_model


class divided_by_the_root(Whole):
    """The embeddings were divided by √d_model. That is what happens to scores; section 3.4 does the opposite to
    embeddings. What?"""

    def scaled(self, x):
        return x / self.d_model**0.5


class scales_positions_too(Whole):
    """The sum of embedding and position was multiplied by √d_model. Which of the two does section 3.4 scale?"""

    def where(self, ids, table):
        return super().where(ids, table) * self.d_model**0.5


class no_positions(Whole):
    """Nothing says where a word stands: shuffled sources give the same. What did lesson 09 add to the embeddings?"""

    def where(self, ids, table):
        return 0.0


class positions_for_the_source_only(Whole):
    """The target's words have no positions. Which of the two embeddings needs them?"""

    def where(self, ids, table):
        return super().where(ids, table) if table is self.src_embed else 0.0


class positions_for_the_target_only(Whole):
    """The source's words have no positions, so "dog bites man" and "man bites dog" are the same to the encoder. Which
    of the two embeddings needs them?"""

    def where(self, ids, table):
        return super().where(ids, table) if table is self.tgt_embed else 0.0


class every_word_at_position_zero(Whole):
    """Every word got the row of position 0. Which row of the table belongs to place t?"""

    def where(self, ids, table):
        return super().where(ids[:, :1], table)


class counts_from_one(Whole):
    """The first word got the row of position 1. Where does the table begin?"""

    def where(self, ids, table):
        return super().where(torch.cat([ids, ids[:, :1]], 1), table)[1:]


class positions_by_the_sentence(Whole):
    """The position followed the batch axis: all words of sentence b got row b. Which axis of (B, T, d_model) counts
    places?"""

    def where(self, ids, table):
        return super().where(ids.T, table)[:, None]


class target_goes_on_counting(Whole):
    """The target's positions went on where the source's had ended. Each side has places of its own: at which number
    does the target begin?"""

    def forward(self, src, tgt):
        self.before = src.shape[1]
        return super().forward(src, tgt)

    def where(self, ids, table):
        if table is self.src_embed:
            return super().where(ids, table)
        longer = torch.cat([ids[:, :1].expand(-1, self.before), ids], 1)
        return super().where(longer, table)[self.before:]


class one_table_for_both(Whole):
    """The target's numbers were looked up in the source's table. Two languages, two vocabularies: which table belongs
    to which?"""

    def embed_target(self, tgt):
        return self.vectors(tgt.clamp(max=self.src_embed.num_embeddings - 1), self.src_embed)


class no_dropout_on_embeddings(Whole):
    """In train mode, nothing was dropped of the sums of embedding and position (section 5.4). Where else than after
    the sublayers does dropout come?"""

    def embed_dropout(self, x):
        return x


class no_dropout_on_source_embeddings(Whole):
    """In train mode, nothing was dropped of the source's sum of embedding and position; of the target's it was. On
    which side does section 5.4 drop?"""

    def embed_source(self, src):
        return self.scaled(self.src_embed(src)) + self.where(src, self.src_embed)


class no_dropout_on_target_embeddings(Whole):
    """In train mode, nothing was dropped of the target's sum of embedding and position; of the source's it was. On
    which side does section 5.4 drop?"""

    def embed_target(self, tgt):
        return self.scaled(self.tgt_embed(tgt)) + self.where(tgt, self.tgt_embed)


class drops_embeddings_twice(Whole):
    """In train mode, dropout fell twice on the sum of embedding and position. How much of it is left if each time half
    of it goes?"""

    def embed_dropout(self, x):
        return self.dropout(self.dropout(x))


class drops_words_before_positions(Whole):
    """In train mode, dropout fell on the words before their positions were added. Section 5.4 drops of the sum: what
    comes first?"""

    def vectors(self, ids, table):
        return self.dropout(self.scaled(table(ids))) + self.where(ids, table)


class encoder_layers_without_dropout(Whole):
    """In train mode, nothing was dropped within the encoder layers. What does EncoderLayer take as its last
    argument?"""

    def __init__(self, src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, *more, **named):
        super().__init__(src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, *more, **named)
        self.encoder = nn.ModuleList(transformer.EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers))


class layers_without_dropout(encoder_layers_without_dropout):
    """In train mode, nothing was dropped within the layers of encoder and decoder. What do they take as their last
    argument?"""

    def __init__(self, src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, *more, **named):
        super().__init__(src_vocab, tgt_vocab, d_model, num_heads, d_ff, num_layers, *more, **named)
        self.decoder = nn.ModuleList(transformer.DecoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers))


class embedding_dropout_always_on(Whole):
    """Dropout of the embeddings was active in eval mode, too. `F.dropout` takes no notice of `model.eval()` unless
    you tell it: does `self.dropout` need to be told?"""

    def embed_dropout(self, x):
        return F.dropout(x, self.dropout.p)


class positions_in_every_layer(Whole):
    """The positions were added again before every layer. How often does the paper add them?"""

    def encode(self, x, mask):
        for i, layer in enumerate(self.encoder):
            x = layer(x + self.where(x[..., 0], self.src_embed) * (i > 0), mask)
        return x

    def decode(self, x, memory, mask, src_mask, tgt):
        for i, layer in enumerate(self.decoder):
            x = layer(x + self.where(tgt, self.tgt_embed) * (i > 0), memory, mask, src_mask)
        return x


class table_of_64_positions(Whole):
    """The table of positions ended before the sentence did. Which lengths does the contract promise?"""

    def where(self, ids, table):
        return super().where(ids[:, :64], table)


# The stacks


class encoder_skipped(Whole):
    """The decoder read the source's embeddings: no encoder layer ran. What is `memory`?"""

    def encode(self, x, mask):
        return x


class first_encoder_layer_only(Whole):
    """Only the first encoder layer ran. Who calls the others?"""

    def encode(self, x, mask):
        return self.encoder[0](x, mask)


class encoder_layers_start_anew(Whole):
    """Every encoder layer got the embeddings, so only the last one counts. What does a layer of a stack read?"""

    def encode(self, x, mask):
        return self.encoder[-1](x, mask)


class first_encoder_layer_again_and_again(Whole):
    """The first encoder layer ran num_layers times, and the others never learn anything. Where does your loop say
    which layer it is at?"""

    def encode(self, x, mask):
        for _ in self.encoder:
            x = self.encoder[0](x, mask)
        return x


class first_decoder_layer_only(Whole):
    """Only the first decoder layer ran. Who calls the others?"""

    def decode(self, x, memory, mask, src_mask, tgt):
        return self.decoder[0](x, memory, mask, src_mask)


class first_decoder_layer_again_and_again(Whole):
    """The first decoder layer ran num_layers times, and the others never learn anything. Where does your loop say
    which layer it is at?"""

    def decode(self, x, memory, mask, src_mask, tgt):
        for _ in self.decoder:
            x = self.decoder[0](x, memory, mask, src_mask)
        return x


class layer_reads_its_own_height(Whole):
    """Decoder layer i read encoder layer i. Every decoder layer reads what comes out of the encoder's end: how is
    `memory` passed on from layer to layer?"""

    def encode(self, x, mask):
        heights = []
        for layer in self.encoder:
            x = layer(x, mask)
            heights.append(x)
        return heights

    def decode(self, x, memory, mask, src_mask, tgt):
        for layer, height in zip(self.decoder, memory, strict=True):
            x = layer(x, height, mask, src_mask)
        return x


class memory_in_the_first_layer_only(Whole):
    """Only the first decoder layer read the encoder's output; the others read the target instead. How many layers
    read `memory`?"""

    def decode(self, x, memory, mask, src_mask, tgt):
        x = self.decoder[0](x, memory, mask, src_mask)
        for layer in self.decoder[1:]:
            x = layer(x, x, mask, mask)
        return x


class norm_after_the_encoder(Whole):
    """The encoder's output was normalised once more. `nn.Transformer` does that by default, the paper does not: what
    does each layer end with?"""

    def encode(self, x, mask):
        return F.layer_norm(super().encode(x, mask), (self.d_model,))


class norm_after_the_decoder(Whole):
    """The decoder's output was normalised once more before the last linear map. `nn.Transformer` does that by
    default, the paper does not: what does each layer end with?"""

    def say(self, x):
        return self.out(F.layer_norm(x, (self.d_model,)))


# The masks


class no_causal_mask(Whole):
    """Every target token saw the ones after it: in training, the very words it has to guess. Which mask of lesson 07
    hides them?"""

    def causal(self, tgt):
        return torch.ones_like(past(tgt.shape[1])).to(tgt.device)


class causal_mask_of_the_wrong_side(Whole):
    """The target saw itself and the future, and not the past. Which triangle may be seen?"""

    def causal(self, tgt):
        return past(tgt.shape[1]).T.to(tgt.device)


class no_target_padding_mask(Whole):
    """The target's padding was read like words. The causal mask alone does not hide it: which mask has to be joined
    to it?"""

    def target_mask(self, tgt):
        return self.causal(tgt).expand(len(tgt), -1, -1)


class always_sees_itself(Whole):
    """Every target place was allowed to look at itself, padding, too. Padding is hidden from every place: does the
    contract make an exception?"""

    def target_mask(self, tgt):
        return super().target_mask(tgt) | torch.eye(tgt.shape[1], dtype=torch.bool, device=tgt.device)


class padding_sees_nothing(Whole):
    """The target's padding was not allowed to look at anything. A mask says which *keys* are hidden: does it matter
    what a padded place itself makes of them?"""

    def target_mask(self, tgt):
        return super().target_mask(tgt) & self.real(tgt).mT


class counts_real_words(Whole):
    """The first so many places were taken for real, as many as there are words. Which places are padding is told by
    the tokens: what if padding stands in front?"""

    def real(self, ids):
        count = (ids != self.pad_id).sum(1)[:, None, None]
        return torch.arange(ids.shape[1], device=ids.device) < count


class either_mask_will_do(Whole):
    """The two target masks were joined with "or". A place may be seen if it is no padding *and* not in the future:
    which sign is that?"""

    def target_mask(self, tgt):
        return self.real(tgt) | self.causal(tgt)


class masks_in_the_first_layer_only(Whole):
    """The first decoder layer had its target mask, the others had none. What does every layer of the stack need?"""

    def decode(self, x, memory, mask, src_mask, tgt):
        for layer in self.decoder:
            x = layer(x, memory, mask, src_mask)
            mask = None
        return x


class padding_in_the_encoder(Whole):
    """In the encoder, words looked at padding. Padding is hidden wherever the source is read: in how many places is
    that?"""

    def encode(self, x, mask):
        return super().encode(x, None)


class padding_in_cross_attention(Whole):
    """The cross-attention looked at the source's padding. Padding is hidden wherever the source is read: in how many
    places is that?"""

    def decode(self, x, memory, mask, src_mask, tgt):
        return super().decode(x, memory, mask, None, tgt)


class no_source_mask(Whole):
    """The source's padding was read like words, in the encoder and in the cross-attention. Which mask of lesson 07
    hides it?"""

    def encode(self, x, mask):
        return super().encode(x, None)

    def decode(self, x, memory, mask, src_mask, tgt):
        return super().decode(x, memory, mask, None, tgt)


class padding_is_zero(Whole):
    """Padding was taken to be 0. The constructor keeps the number that stands for it: under which name?"""

    def real(self, ids):
        return (ids != 0)[:, None, :]


class source_mask_inverted(Whole):
    """The source's masks are the wrong way round: only padding is read. What does True mean in a mask of this
    course?"""

    def encode(self, x, mask):
        return super().encode(x, ~mask)

    def decode(self, x, memory, mask, src_mask, tgt):
        return super().decode(x, memory, mask, ~src_mask, tgt)


class causal_encoder(Whole):
    """The encoder read its sentence from left to right only. The whole source is there from the start: what is there
    to hide besides padding?"""

    def encode(self, x, mask):
        return super().encode(x, mask & past(x.shape[1]).to(x.device))


# What comes out


class softmax_at_the_end(Whole):
    """Probabilities came out. The loss of this course takes logits, and makes its own softmax: what would two of them
    in a row do?"""

    def say(self, x):
        return torch.softmax(self.out(x), dim=-1)


class log_softmax_at_the_end(Whole):
    """Log-probabilities came out. The contract asks for logits, as they leave the last linear map: what comes after
    `self.out`?"""

    def say(self, x):
        return torch.log_softmax(self.out(x), dim=-1)


class last_place_only(Whole):
    """Only the last place's logits came out. That is enough for writing, but training asks every place: which shape
    does the docstring promise?"""

    def say(self, x):
        return self.out(x)[:, -1]


class no_output_layer(Whole):
    """The vectors of the last layer came out, d_model numbers each. What turns a vector into one number for each word
    of the vocabulary?"""

    def say(self, x):
        return x


class hands_back_memory(Whole):
    """What came out belongs to the source's tokens: the last linear map read the encoder's output. Whose next word is
    asked for?"""

    def decode(self, x, memory, mask, src_mask, tgt):
        return memory


TRANSFORMER_MISTAKES = tuple(m for m in list(vars().values())
                             if isinstance(m, type) and issubclass(m, Whole) and m is not Whole)


def some_ids(generator, B, T, vocab, pad_id=0, shortest=1):
    """Random token numbers; sentence b is real up to a length of its own and padding after that."""
    ids = torch.randint(1, vocab, (B, T), generator=generator)
    ids = torch.where(ids == pad_id, torch.zeros(()).long(), ids) if pad_id else ids
    lengths = torch.randint(min(shortest, T), T + 1, (B, 1), generator=generator)
    lengths[0] = max(1, T - 1)
    return ids.masked_fill(torch.arange(T) >= lengths, pad_id)


def make_transformer(generator, B, Ts, Tt, src_vocab, tgt_vocab, H, d_head, d_ff, layers, pad_id=0):
    return some_ids(generator, B, Ts, src_vocab, pad_id), some_ids(generator, B, Tt, tgt_vocab, pad_id)


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
    src, tgt = some_ids(generator, 3, 4, 7), some_ids(generator, 3, 5, 6)
    nothing = torch.cat([src[:2], torch.zeros(1, 4, dtype=torch.int64)])
    model = dict(build=(7, 6, 8, 2, 5, 2), weights=weights)
    shallow = dict(build=(7, 6, 8, 2, 5, 1), weights={n: w for n, w in weights.items() if "coder.1." not in n})
    return [
        Call((nothing, tgt), "a source of padding alone", **model),
        Call((torch.tensor([[0, 2, 0, 3, 4], [2, 0, 0, 3, 1]]), torch.tensor([[1, 0, 4, 3], [2, 5, 0, 1]])),
             "padding in front of words and between them", **model),
        Call((some_ids(generator, 1, 130, 7), some_ids(generator, 1, 70, 6)), "a long source and target", **shallow),
        Call((src, tgt), "dropout 0.5 in eval mode", **(shallow | dict(build=(*shallow["build"], 0.5)))),
        tiny_dropout(src[:, :1], tgt[:, :1], **shallow),  # position 0 is exact in any precision
        Call((src[:1, :2], tgt[:1, :2]), "dropout 1.0 in train mode", train=True,
             **(shallow | dict(build=(*shallow["build"], 1.0)))),
    ]


def words(generator, T, vocab):
    return torch.randint(1, vocab, (1, T), generator=generator)


def nothing_leaks_from_the_future(output, generator):
    src, tgt = words(generator, 3, 7), words(generator, 5, 6)
    other = torch.cat([tgt[:, :2], words(generator, 3, 6)], 1)
    return torch.allclose(output(src, tgt)[:, :2], output(src, other)[:, :2], atol=2e-5)


def source_matters(output, generator):
    tgt = words(generator, 3, 6)
    return not torch.allclose(output(words(generator, 4, 7), tgt), output(words(generator, 4, 7), tgt), atol=2e-5)


def order_of_the_source_matters(output, generator):
    src, tgt = torch.tensor([[1, 2, 3, 4]]), words(generator, 3, 6)
    return not torch.allclose(output(src.flip(1), tgt), output(src, tgt), atol=2e-5)


def padding_changes_nothing(output, generator):
    src, tgt = words(generator, 3, 7), words(generator, 3, 6)
    return torch.allclose(output(torch.cat([src, 0 * src], 1), tgt), output(src, tgt), atol=2e-5)


# --- shift_right ------------------------------------------------------------------------------------------------


def shifted_by_loop(labels, bos_id):
    """One place at a time."""
    shifted = torch.zeros_like(labels)
    for b, sentence in enumerate(labels.tolist()):
        for t in range(len(sentence)):
            shifted[b, t] = bos_id if t == 0 else sentence[t - 1]
    return shifted


def front(labels, bos_id):
    return torch.full_like(labels[:, :1], bos_id)


def not_shifted(labels, bos_id):
    """The labels came back as they were: every place is shown the very word it has to say. What should place t be
    shown?"""
    return labels.clone()


def shifted_left(labels, bos_id):
    """The labels moved to the left: place t is shown the word after the one it has to say. Which word was written
    just before?"""
    return torch.cat([labels[:, 1:], front(labels, bos_id)], 1)


def rolled(labels, bos_id):
    """The last label came round to the front. What does every sentence begin with instead?"""
    return labels.roll(1, 1)


def nothing_dropped(labels, bos_id):
    """bos_id stands in front, and all labels after it: one place too many. Who would be shown the last label?"""
    return torch.cat([front(labels, bos_id), labels], 1)


def no_beginning(labels, bos_id):
    """The last label is gone, and nothing was put in front: one place too few. What is the first place shown?"""
    return labels[:, :-1].clone()


def overwrites_the_first(labels, bos_id):
    """bos_id took the place of the first label instead of pushing it on. Which label is missing now, and which one
    should be?"""
    return torch.cat([front(labels, bos_id), labels[:, 1:]], 1)


def overwrites_the_last(labels, bos_id):
    """bos_id took the place of the last label. At which end does a sentence begin?"""
    return torch.cat([labels[:, :-1], front(labels, bos_id)], 1)


def shifted_by_two(labels, bos_id):
    """The labels moved by two places. How far back is the word before?"""
    return torch.cat([front(labels, bos_id), front(labels, bos_id), labels], 1)[:, : labels.shape[1]]


def shifts_the_batch(labels, bos_id):
    """The labels moved along the batch: sentence b was shown sentence b - 1. Which axis of (B, T) counts places?"""
    return torch.cat([torch.full_like(labels[:1], bos_id), labels[:-1]], 0)


def zero_in_front(labels, bos_id):
    """A 0 stands in front. That is padding as a rule: which argument says what a sentence begins with?"""
    return torch.cat([front(labels, 0), labels[:, :-1]], 1)


def one_in_front(labels, bos_id):
    """A 1 stands in front, whatever bos_id is. Does every vocabulary use the same number?"""
    return torch.cat([front(labels, 1), labels[:, :-1]], 1)


def first_sentence_for_all(labels, bos_id):
    """Every row is the first sentence. Which axis of (B, T) says whose labels they are?"""
    return shifted_by_loop(labels, bos_id)[:1].repeat(len(labels), 1)


def bos_for_everything(labels, bos_id):
    """Every place holds bos_id: nothing of what was written is shown. What stands behind it?"""
    return torch.full_like(labels, bos_id)


SHIFT_MISTAKES = (not_shifted, shifted_left, rolled, nothing_dropped, no_beginning, overwrites_the_first,
                  overwrites_the_last, shifted_by_two, shifts_the_batch, zero_in_front, one_in_front,
                  first_sentence_for_all, bos_for_everything)


def make_labels(generator, B, T, vocab):
    return torch.randint(3, vocab, (B, T), generator=generator), vocab


def asked_twice(generator):
    return [Call((torch.tensor([[7, 8, 2]]), 9), "called twice", twice=True),
            Call((torch.tensor([[7, 8, 2]], dtype=torch.int32), 9), "labels of another integer type"),
            Call((torch.tensor([[2**40 + 1, 2**30 + 1, 2**24 + 1]]), 2**40 + 3), "huge numbers")]


def begins_with_bos(output, generator):
    return output(torch.tensor([[4, 5, 6], [6, 5, 4]]), 9)[:, 0].tolist() == [9, 9]


def word_before(output, generator):
    return output(torch.tensor([[4, 5, 6]]), 9)[:, 1:].tolist() == [[4, 5]]


# --- masked_cross_entropy ---------------------------------------------------------------------------------------


def loss_by_loop(logits, targets, pad_id=0):
    """torch's own negative log-likelihood of one token at a time, and the mean over those that count."""
    each = [F.nll_loss(torch.log_softmax(logits[b, t], 0), targets[b, t])
            for b, t in itertools.product(*map(range, targets.shape)) if targets[b, t] != pad_id]
    return torch.stack(each).mean()


def surprise(logits, targets):
    """-log p of every target: (B, T)."""
    return -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]


def padding_counts(logits, targets, pad_id=0):
    """Padding counts as if it were a word to be guessed. Which targets belong in the mean?"""
    return surprise(logits, targets).mean()


def divided_by_all_places(logits, targets, pad_id=0):
    """The surprise of padding was set to zero, but the mean was still taken over all places, so padding dilutes it.
    How many tokens count?"""
    return (surprise(logits, targets) * (targets != pad_id)).mean()


def mean_of_sentences(logits, targets, pad_id=0):
    """The mean was taken within each sentence first, then over sentences: a word of a short sentence weighs more than
    one of a long sentence. Do all tokens count equally?"""
    real = (targets != pad_id).to(logits.dtype)
    return ((surprise(logits, targets) * real).sum(1) / real.sum(1)).mean()


def mean_of_places(logits, targets, pad_id=0):
    """The mean was taken over the batch at each place first, then over places: a word at a place that few sentences
    reach weighs more. Do all tokens count equally?"""
    real = (targets != pad_id).to(logits.dtype)
    means = (surprise(logits, targets) * real).sum(0) / real.sum(0)
    return means[real.any(0)].mean()


def counts_real_targets(logits, targets, pad_id=0):
    """The first so many places of a sentence were taken for real, as many as it has real tokens. Which places are
    padding is told by the targets: what if padding stands in front?"""
    count = (targets != pad_id).sum(1, keepdim=True)
    real = torch.arange(targets.shape[1], device=targets.device) < count
    return surprise(logits, targets)[real].mean()


def summed(logits, targets, pad_id=0):
    """The surprises were added up. What turns a sum into a mean?"""
    return (surprise(logits, targets) * (targets != pad_id)).sum()


def divided_by_sentences(logits, targets, pad_id=0):
    """The sum was divided by the number of sentences. The mean is over tokens: how many are there?"""
    return summed(logits, targets, pad_id) / len(targets)


def each_token(logits, targets, pad_id=0):
    """One number a token came out. A loss is one number: what is left to do?"""
    return surprise(logits, targets) * (targets != pad_id)


def only_padding(logits, targets, pad_id=0):
    """The mean is over padding alone: the mask is the wrong way round. Which places are real?"""
    padding = targets == pad_id
    return (surprise(logits, targets) * padding).sum() / padding.sum().clamp(min=1)


def padding_is_zero_here(logits, targets, pad_id=0):
    """0 was taken to be padding, whatever pad_id is. Which argument says what padding is?"""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)


def not_negative(logits, targets, pad_id=0):
    """The sign is wrong: a better guess gives a larger loss. What stands before the logarithm?"""
    return -loss_by_loop(logits, targets, pad_id)


def probability(logits, targets, pad_id=0):
    """The probabilities of the right tokens were averaged, without a logarithm. What is -log p for a sure and right
    guess, and what for a sure and wrong one?"""
    real = (targets != pad_id).to(logits.dtype)
    return -(torch.exp(-surprise(logits, targets)) * real).sum() / real.sum()


def no_softmax(logits, targets, pad_id=0):
    """The logits of the right tokens were averaged as they are. Adding 1 to all logits would change that loss: what
    turns logits into probabilities?"""
    real = (targets != pad_id).to(logits.dtype)
    return -(logits.gather(-1, targets[..., None])[..., 0] * real).sum() / real.sum()


def softmax_twice(logits, targets, pad_id=0):
    """Softmax was taken twice: once by hand, and once inside F.cross_entropy. What does F.cross_entropy expect?"""
    return loss_by_loop(torch.softmax(logits, -1), targets, pad_id)


def softmax_over_places(logits, targets, pad_id=0):
    """The softmax went over the places instead of the vocabulary. Which axis of (B, T, V) holds the possible next
    tokens?"""
    real = (targets != pad_id).to(logits.dtype)
    picked = torch.log_softmax(logits, 1).gather(-1, targets[..., None])[..., 0]
    return -(picked * real).sum() / real.sum()


def vocabulary_on_the_wrong_axis(logits, targets, pad_id=0):
    """`F.cross_entropy` got (B, T, V) as it is, and takes axis 1 for the vocabulary. Where does it expect the
    classes, if there are more than two axes?"""
    return F.cross_entropy(logits, targets, ignore_index=pad_id)


def shifts_again(logits, targets, pad_id=0):
    """Logits and targets were shifted against each other once more. The caller has done that: which target belongs to
    the logits of place t?"""
    if targets.shape[1] < 2:
        return logits.sum() * 0
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=pad_id)


def averages_the_logits(logits, targets, pad_id=0):
    """The log of the mean probability was taken, not the mean of the logs. Which comes first?"""
    real = (targets != pad_id).to(logits.dtype)
    return -torch.log((torch.exp(-surprise(logits, targets)) * real).sum() / real.sum())


def base_two(logits, targets, pad_id=0):
    """The loss is in bits: its logarithm has base 2. Which one does -log mean here?"""
    return loss_by_loop(logits, targets, pad_id) / math.log(2)


def perplexity(logits, targets, pad_id=0):
    """The exponential of the loss came out, which is the perplexity. What is the loss itself?"""
    return loss_by_loop(logits, targets, pad_id).exp()


def overflows(logits, targets, pad_id=0):
    """It is right for small logits and infinite or NaN for large ones: exp was taken before the logarithm. Which
    function of torch does both in one step?"""
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    real = (targets != pad_id).to(logits.dtype)
    return -(p.gather(-1, targets[..., None])[..., 0].log() * real).sum() / real.sum()


LOSS_MISTAKES = (
    padding_counts, divided_by_all_places, mean_of_sentences, mean_of_places, counts_real_targets, summed,
    divided_by_sentences, each_token, only_padding, padding_is_zero_here, not_negative, probability, no_softmax,
    softmax_twice, softmax_over_places, vocabulary_on_the_wrong_axis, shifts_again, averages_the_logits, base_two,
    perplexity, overflows)


def make_loss(generator, B, T, V, pad_id=None):
    targets = some_ids(generator, B, T, V, pad_id or 0)
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


def padded_places_have_no_say(output, generator):
    logits = torch.randn(1, 3, 5, generator=generator)
    other = torch.cat([logits[:, :2], torch.randn(1, 1, 5, generator=generator)], 1)
    target = torch.tensor([[1, 2, 0]])
    return torch.allclose(output(logits, target), output(other, target), atol=1e-4)


def nothing_is_cut_off(output, generator):
    return abs(output(torch.tensor([[[0.0, 0.0, 1000.0]]]), torch.tensor([[1]])).item() - 1000) < 1


def all_logits_may_move(output, generator):
    logits, target = torch.randn(1, 3, 5, generator=generator), torch.tensor([[1, 2, 3]])
    return torch.allclose(output(logits + 3, target), output(logits, target), atol=1e-4)


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


@torch.no_grad()
def write(model, src, bos_id, eos_id, max_len, pad_id, *, shown=lambda ys: ys,
          pick=lambda logits: logits[:, -1].argmax(-1), until="all", go_on="pad"):
    """Greedy decoding with the parts that mistakes are made in as arguments."""
    ys = torch.full_like(src[:, :1], bos_id)
    finished = torch.zeros_like(ys, dtype=torch.bool)
    while ys.shape[1] < max_len:
        best = pick(model(src, shown(ys)))[:, None]
        after = {"pad": torch.full_like(best, pad_id), "eos": torch.full_like(best, eos_id), "write": best}[go_on]
        ys = torch.cat([ys, torch.where(finished, after, best)], 1)
        finished = finished | (best == eos_id)
        if {"all": finished.all(), "any": finished.any(), "at once": (ys[:, -1] == eos_id).all(),
                "never": False}[until]:
            break
    return ys


def stops_with_the_first(model, src, bos_id, eos_id, max_len, pad_id=0):
    """It stopped as soon as one sentence was finished, and cut the others short. Until when does it go on?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, until="any")


def stops_when_all_end_at_once(model, src, bos_id, eos_id, max_len, pad_id=0):
    """It stopped only if all sentences wrote eos in the same step; else it went on to max_len. Where is it kept that a
    sentence has ended before?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, until="at once")


def never_stops(model, src, bos_id, eos_id, max_len, pad_id=0):
    """All sentences were finished, and it went on to max_len. When is there nothing left to write?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, until="never")


def writes_after_the_end(model, src, bos_id, eos_id, max_len, pad_id=0):
    """A sentence went on after its eos, since others of the batch were not finished. What stands in its row there?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, go_on="write")


def ends_again_and_again(model, src, bos_id, eos_id, max_len, pad_id=0):
    """A finished sentence was filled up with eos. With which number does the docstring fill it up?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, go_on="eos")


def fills_with_zero(model, src, bos_id, eos_id, max_len, pad_id=0):
    """A finished sentence was filled up with 0, whatever pad_id is. Does every vocabulary use the same number?"""
    return write(model, src, bos_id, eos_id, max_len, 0)


def one_token_more(model, src, bos_id, eos_id, max_len, pad_id=0):
    """max_len tokens were written after bos, so there is one too many. Does max_len count bos?"""
    return write(model, src, bos_id, eos_id, max_len + 1, pad_id)


def one_token_less(model, src, bos_id, eos_id, max_len, pad_id=0):
    """It stopped one token before max_len. Is your comparison < or <=?"""
    return write(model, src, bos_id, eos_id, max(1, max_len - 1), pad_id)


def without_bos(model, src, bos_id, eos_id, max_len, pad_id=0):
    """bos is not in the result. It was shown to the model: does the docstring take it away again?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id)[:, 1:]


def without_eos(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The eos was overwritten by padding. Does the docstring keep it?"""
    ys = write(model, src, bos_id, eos_id, max_len, pad_id)
    return ys.masked_fill(ys == eos_id, pad_id)


def first_place(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The next token was read off at the first place, which only knows bos. Which place has seen all that is
    written?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, pick=lambda logits: logits[:, 0].argmax(-1))


def shows_the_last_token_only(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The model was shown the newest token alone, so to it every token is the first. What does the docstring show
    it?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, shown=lambda ys: ys[:, -1:])


def shows_everything_but_the_newest(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The newest token was not shown to the model. Which tokens are written so far?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, shown=lambda ys: ys[:, : max(1, ys.shape[1] - 1)])


def shows_no_bos(model, src, bos_id, eos_id, max_len, pad_id=0):
    """bos was shown for the first step only, and left out after it. What does every prefix begin with?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, shown=lambda ys: ys[:, 1:] if ys.shape[1] > 1 else ys)


def begins_with_eos(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The target begins with eos. Which argument says what it begins with?"""
    return write(model, src, eos_id, eos_id, max_len, pad_id)


def least_likely(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The least likely token was taken. Which end of the logits is the good one?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id, pick=lambda logits: logits[:, -1].argmin(-1))


def second_best(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The second-best token was taken. At which index does a sorted list begin?"""
    return write(model, src, bos_id, eos_id, max_len, pad_id,
                 pick=lambda logits: logits[:, -1].argsort(-1, descending=True)[:, 1])


def samples(model, src, bos_id, eos_id, max_len, pad_id=0):
    """The next token was drawn by chance. That is lesson 12: greedy takes the likeliest one, always."""
    def draw(logits):
        chance = torch.Generator().manual_seed(int(src.sum()))
        return torch.multinomial(torch.softmax(logits[:, -1], -1), 1, generator=chance)[:, 0]

    return write(model, src, bos_id, eos_id, max_len, pad_id, pick=draw)


def first_sentence_writes_for_all(model, src, bos_id, eos_id, max_len, pad_id=0):
    """Every row is the translation of the first source. Which axis of the logits (B, t, V) says whose they are?"""
    return write(model, src[:1].expand(len(src), -1), bos_id, eos_id, max_len, pad_id)


GREEDY_MISTAKES = (stops_with_the_first, stops_when_all_end_at_once, never_stops, writes_after_the_end,
                   ends_again_and_again, fills_with_zero, one_token_more, one_token_less, without_bos, without_eos,
                   first_place, shows_the_last_token_only, shows_everything_but_the_newest, shows_no_bos,
                   begins_with_eos, least_likely, second_best, samples, first_sentence_writes_for_all)

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


def begins_as_told(output, generator):
    return output(Reader(6), torch.tensor([[3, 4], [5, 6]]), 1, 2, 5)[:, 0].tolist() == [1, 1]


def no_longer_than_allowed(output, generator):
    return output(Reader(6), torch.tensor([[3, 4], [5, 6]]), 1, 99, 5).shape[1] <= 5


def goes_on_as_it_began(output, generator):
    src = torch.tensor([[3, 4], [5, 6]])
    long, short = (output(Reader(6), src, 1, 99, n) for n in (6, 4))
    return torch.equal(long[:, : short.shape[1]], short)


# --- beam_search ------------------------------------------------------------------------------------------------


class Table:
    """A step_fn that looks at the last token only: its logits stand in a table."""

    def __init__(self, **logits):
        self.logits = {int(token[1:]): row for token, row in logits.items()}

    def __repr__(self):
        return "a table: " + "; ".join(f"after {token} the logits are {row}" for token, row in self.logits.items())

    def __call__(self, prefixes):
        return torch.tensor([self.logits[token] for token in prefixes[:, -1].tolist()])


class Guesser:
    """A step_fn whose logits follow from the whole prefix; eos (2) gets more likely as it grows."""

    def __init__(self, vocab, seed, eager=0.0):
        self.vocab, self.seed, self.eager = vocab, seed, eager

    def __repr__(self):
        return f"a step_fn with {self.vocab} words, whose logits depend on the whole prefix"

    def __call__(self, prefixes):
        places = torch.arange(1, prefixes.shape[1] + 1)
        read = (places * (prefixes + 1) ** 2).sum(1, keepdim=True) + self.seed  # (K, 1)
        word = torch.arange(self.vocab)
        logits = 2 * torch.cos(1.3 * read * (word + 1) + 0.7 * word**2) + 3  # (K, V), around 3: no log-probabilities
        return logits + self.eager * (word == 2) * prefixes.shape[1]


def beam_by_loop(step_fn, bos_id, eos_id, beam_size, max_len):
    """Lists and sums of Python numbers: nothing is done at once."""
    beam, finished = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        candidates = []
        for score, tokens in beam:
            logits = step_fn(torch.tensor([tokens]))[0].double()
            for token, log_p in enumerate((logits - logits.logsumexp(0)).tolist()):
                candidates.append((score + log_p, [*tokens, token]))
        beam = []
        for score, tokens in sorted(candidates, reverse=True)[:beam_size]:
            (finished if tokens[-1] == eos_id else beam).append((score, tokens))
    score, tokens = max(finished + beam)
    return tokens, score


def search(step_fn, bos_id, eos_id, beam_size, max_len, *, total=lambda score, log_p: score + log_p,
           worth=lambda score, tokens: score, log=lambda logits: torch.log_softmax(logits, -1), each=False,
           ends_leave=True, until="none", cut=True, shown=lambda prefixes: prefixes, sieve=lambda group: group,
           width=lambda beam_size, finished: beam_size):
    """Beam search with the parts that mistakes are made in as arguments; every score is a Python number."""
    beam, finished = [([bos_id], 0.0)], []
    while beam and len(beam[0][0]) < max_len:
        says = log(step_fn(shown(torch.tensor([tokens for tokens, _ in beam])))).tolist()
        groups = [[([*tokens, v], total(score, log_p)) for v, log_p in enumerate(row)]
                  for (tokens, score), row in zip(beam, says, strict=True)]
        groups = groups if each else [sum(groups, [])]
        best = []
        for group in groups:
            group = sieve(sorted(group, key=lambda h: worth(h[1], h[0]), reverse=True))
            best += group[: width(beam_size, len(finished))]
        if ends_leave:
            finished += [h for h in best if h[0][-1] == eos_id]
            best = [h for h in best if h[0][-1] != eos_id]
        beam = best
        if until == "first" and finished or until == "full" and len(finished) >= beam_size:
            break
    return finished + beam if cut or not finished else finished


def the_best(hypotheses, worth=lambda score, tokens: score):
    return max(hypotheses, key=lambda h: worth(h[1], h[0]))


def greedy_instead(step_fn, bos_id, eos_id, beam_size, max_len):
    """Only one beginning was kept open, or all that were kept are the same one: that is greedy search. How many
    different candidates survive each step, and with how many hypotheses does the search begin?"""
    return the_best(search(step_fn, bos_id, eos_id, 1, max_len))


def one_too_wide(step_fn, bos_id, eos_id, beam_size, max_len):
    """The beam held one candidate more than beam_size. How many survive each step, those that end included?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size + 1, max_len))


def beam_for_each(step_fn, bos_id, eos_id, beam_size, max_len):
    """beam_size candidates were kept of every open hypothesis, so the beam grows. Among which candidates are the best
    beam_size chosen?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, each=True))


def kept_before_the_cut(step_fn, bos_id, eos_id, beam_size, max_len):
    """A candidate that ended was kept before it had survived: only the beam_size best of all candidates survive, those
    that end included. Where does your code sort out the finished ones, before or after the cut?"""
    finished = []

    def without_ends(group):
        finished.extend(h for h in group if h[0][-1] == eos_id)
        return [h for h in group if h[0][-1] != eos_id]

    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, sieve=without_ends) + finished)


def one_for_each_last_token(step_fn, bos_id, eos_id, beam_size, max_len):
    """Of all candidates with the same last token only the best was kept. Two hypotheses that end alike may have begun
    differently: is one of them lost?"""
    def one_each(group):
        best = {h[0][-1]: h for h in reversed(group)}
        return [h for h in group if h is best[h[0][-1]]]

    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, sieve=one_each))


def narrower_with_each_end(step_fn, bos_id, eos_id, beam_size, max_len):
    """With each hypothesis that ended, fewer open ones were kept. How many of the candidates survive each step, however
    many have ended before?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, until="full",
                           width=lambda beam_size, finished: beam_size - finished))


def last_step_alone(step_fn, bos_id, eos_id, beam_size, max_len):
    """The score is the log-probability of the last token: what came before is forgotten. What is the probability of a
    whole sentence?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, total=lambda score, log_p: log_p))


def sums_logits(step_fn, bos_id, eos_id, beam_size, max_len):
    """The logits were added up as they are. Two prefixes have logits on different scales: what makes them
    comparable?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, log=lambda logits: logits))


def sums_probabilities(step_fn, bos_id, eos_id, beam_size, max_len):
    """The probabilities were added up, so longer is always better. Probabilities are multiplied: what is added
    instead?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len,
                           log=lambda logits: torch.softmax(logits, -1)))


def multiplies_logs(step_fn, bos_id, eos_id, beam_size, max_len):
    """The log-probabilities were multiplied. Probabilities are: what happens to their logarithms?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len,
                           total=lambda score, log_p: (score or 1.0) * log_p))


def softmax_over_the_beam(step_fn, bos_id, eos_id, beam_size, max_len):
    """The softmax went over the hypotheses instead of the vocabulary. Which axis of (K, V) holds the possible next
    tokens?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len,
                           log=lambda logits: torch.log_softmax(logits, 0)))


def mean_of_log_probabilities(step_fn, bos_id, eos_id, beam_size, max_len):
    """The score was divided by the number of tokens. That is length normalisation, which often helps; does this
    docstring ask for it?"""
    tokens, score = the_best(search(step_fn, bos_id, eos_id, beam_size, max_len), lambda s, t: s / (len(t) - 1 or 1))
    return tokens, score / (len(tokens) - 1 or 1)


def picks_by_the_mean(step_fn, bos_id, eos_id, beam_size, max_len):
    """The score is the sum, but the winner was chosen by its mean for each token. Which of the two decides?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len), lambda s, t: s / (len(t) - 1 or 1))


def probability_as_score(step_fn, bos_id, eos_id, beam_size, max_len):
    """The score is a probability. The docstring asks for the sum of log-probabilities: which function is one too
    many?"""
    tokens, score = the_best(search(step_fn, bos_id, eos_id, beam_size, max_len))
    return tokens, math.exp(score)


def negated_score(step_fn, bos_id, eos_id, beam_size, max_len):
    """The score has the wrong sign: a cost came out. Is the logarithm of a probability positive or negative?"""
    tokens, score = the_best(search(step_fn, bos_id, eos_id, beam_size, max_len))
    return tokens, -score


def keeps_the_worst(step_fn, bos_id, eos_id, beam_size, max_len):
    """The candidates with the smallest sums survived. Is a log-probability of -1 better or worse than one of -3?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, worth=lambda s, t: -s), lambda s, t: -s)


def loses_finished_ones(step_fn, bos_id, eos_id, beam_size, max_len):
    """A hypothesis that had ended was thrown away, and only those cut at max_len were left. Where are finished ones
    kept?"""
    found = search(step_fn, bos_id, eos_id, beam_size, max_len)
    return the_best([h for h in found if h[0][-1] != eos_id] or found)


def loses_cut_ones(step_fn, bos_id, eos_id, beam_size, max_len):
    """Hypotheses that reached max_len without eos were thrown away. What does the docstring say about them?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, cut=False))


def first_end_wins(step_fn, bos_id, eos_id, beam_size, max_len):
    """The search stopped at the first step where a hypothesis ended. May an open one still end with a larger sum?
    When is nothing left to extend?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, until="first", cut=False))


def stops_when_enough_have_ended(step_fn, bos_id, eos_id, beam_size, max_len):
    """The search stopped as soon as beam_size hypotheses had ended. May an open one still be better than all of them?
    When does the docstring stop?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, until="full", cut=False))


def newest_finished(step_fn, bos_id, eos_id, beam_size, max_len):
    """The hypothesis that ended last was returned. Which of the finished ones is asked for?"""
    return search(step_fn, bos_id, eos_id, beam_size, max_len)[-1]


def goes_on_after_the_end(step_fn, bos_id, eos_id, beam_size, max_len):
    """Hypotheses were extended after their eos. What happens to a candidate that ends?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, ends_leave=False))


def finished_ones_stay_in_the_beam(step_fn, bos_id, eos_id, beam_size, max_len):
    """A hypothesis that had ended stayed in the beam, and was pushed out by longer ones that looked better for a
    while. Where is it safe?"""
    beam = [([bos_id], 0.0)]
    while any(tokens[-1] != eos_id and len(tokens) < max_len for tokens, _ in beam):
        grown = [(tokens, score) for tokens, score in beam if tokens[-1] == eos_id]
        for tokens, score in beam:
            if tokens[-1] != eos_id:
                log_p = torch.log_softmax(step_fn(torch.tensor([tokens]))[0], -1).tolist()
                grown += [([*tokens, v], score + p) for v, p in enumerate(log_p)]
        beam = sorted(grown, key=lambda h: h[1], reverse=True)[:beam_size]
    return the_best(beam)


def one_token_too_many(step_fn, bos_id, eos_id, beam_size, max_len):
    """max_len tokens were written after bos. Does max_len count bos?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len + 1))


def one_token_too_few(step_fn, bos_id, eos_id, beam_size, max_len):
    """The search stopped one token before max_len. Is your comparison < or <=?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max(1, max_len - 1)))


def tokens_without_bos(step_fn, bos_id, eos_id, beam_size, max_len):
    """bos is not in the result. It was shown to step_fn: does the docstring take it away again?"""
    tokens, score = the_best(search(step_fn, bos_id, eos_id, beam_size, max_len))
    return tokens[1:], score


def tokens_without_eos(step_fn, bos_id, eos_id, beam_size, max_len):
    """The eos is not in the result. Does the docstring keep it?"""
    tokens, score = the_best(search(step_fn, bos_id, eos_id, beam_size, max_len))
    return [t for t in tokens if t != eos_id], score


def shows_the_newest_token_only(step_fn, bos_id, eos_id, beam_size, max_len):
    """step_fn was shown the newest token of each hypothesis alone. What does the docstring show it?"""
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len, shown=lambda prefixes: prefixes[:, -1:]))


def more_than_there_are(step_fn, bos_id, eos_id, beam_size, max_len):
    """`topk` was asked for more candidates than there are: with a wide beam and few words, the first step has fewer
    than beam_size. How many can survive at most?"""
    step_fn(torch.tensor([[bos_id]]))[0].topk(beam_size)
    return the_best(search(step_fn, bos_id, eos_id, beam_size, max_len))


BEAM_MISTAKES = (
    greedy_instead, one_too_wide, beam_for_each, kept_before_the_cut, one_for_each_last_token, narrower_with_each_end,
    last_step_alone, sums_logits, sums_probabilities, multiplies_logs,
    softmax_over_the_beam, mean_of_log_probabilities, picks_by_the_mean, probability_as_score, negated_score,
    keeps_the_worst, loses_finished_ones, loses_cut_ones, first_end_wins, stops_when_enough_have_ended,
    newest_finished, goes_on_after_the_end, finished_ones_stay_in_the_beam, one_token_too_many, one_token_too_few,
    tokens_without_bos, tokens_without_eos, shows_the_newest_token_only, more_than_there_are)

# After <bos>, 3 looks better than 4; but what follows 3 is a guess between three, and 4 is surely the last word.
BEAM_EXAMPLES = ((Table(_1=[-9.0, -9.0, -9.0, 0.5, 0.0], _3=[-9.0, -9.0, 1.0, 1.2, 1.1], _4=[-9.0, -9.0, 9.0, 1.0, 0.0],
                        _0=[0.0] * 5, _2=[0.0] * 5), 1, 2, 2, 4),)


def make_beam(generator, vocab, beam_size, max_len, eager=0.0):
    return Guesser(vocab, int(torch.randint(1000, (), generator=generator)), eager), 1, 2, beam_size, max_len


# vocab, seed, eager, beam_size, max_len: searches that were looked for, so that any two mistakes differ in two of them
TELLING = ((8, 943, 0.0, 3, 6), (8, 537, 0.3, 2, 6), (5, 19, 0.0, 3, 3), (4, 768, 1.0, 3, 3), (5, 652, 1.0, 3, 6),
           (4, 143, 0.6, 2, 6), (8, 115, 0.0, 2, 6), (4, 418, 0.3, 4, 5), (8, 752, 0.0, 2, 8), (8, 247, 0.2, 6, 5),
           (8, 288, 0.0, 2, 4), (6, 621, 0.3, 6, 5))


def more_beams(generator):
    return [*(Call((Guesser(*guesser), 1, 2, beam_size, max_len)) for *guesser, beam_size, max_len in TELLING),
            Call((Guesser(5, 3), 1, 2, 3, 1), "room for bos only"),
            Call((Guesser(4, 5), 1, 2, 40, 4), "a beam wider than all there is"),
            Call((Guesser(6, 7), 4, 0, 2, 5), "other numbers for bos and eos")]


EXERCISES = (
    Exercise(
        name="DecoderLayer",
        lesson="11",
        asked="self-attention of x with tgt_mask; cross-attention, queries from x, keys and values from memory, with "
        "memory_mask; feed-forward. After each: dropout, added to x, then norm1, norm2, norm3. Shape (B, Tt, d_model).",
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
        calls=more_decoder_layers,
        by_hand=DECODER_MISTAKES,
        properties=(
            ("Large numbers in x come out large: what leaves the layer is not normalised.", decoder_normalises),
            ("Another source gives the same result: memory is not read.", the_source_matters),
            ("With a causal mask, a later token changes an earlier one.", the_past_stays),
            ("When the source's tokens change places, the result changes.", order_of_the_source_is_free),
            ("A source token that is hidden by memory_mask changes the result.", hidden_source_has_no_say),
        ),
    ),
    Exercise(
        name="Transformer",
        lesson="11",
        asked="logits (B, Tt, tgt_vocab): embeddings times √d_model plus sinusoidal positions, dropout; all encoder "
        "layers (source padding hidden); all decoder layers (future and target padding hidden from themselves, source "
        "padding hidden from the cross-attention, each reads the encoder's end); out.",
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
        calls=more_transformers,
        by_hand=TRANSFORMER_MISTAKES,
        properties=(
            ("A later target token changes an earlier place: the future leaks.", nothing_leaks_from_the_future),
            ("Another source gives the same logits.", source_matters),
            ("A source in another order gives the same logits: positions do not reach the encoder.",
             order_of_the_source_matters),
            ("Padding behind the source changes the logits.", padding_changes_nothing),
        ),
    ),
    Exercise(
        name="shift_right",
        lesson="11",
        asked="bos_id in front of every row, the last label dropped: shape (B, T), like labels.",
        verified=targets.shift_right,
        oracle=shifted_by_loop,
        examples=((torch.tensor([[5, 8, 6, 2], [7, 9, 2, 0]]), 1), (torch.tensor([[4, 3]]), 9)),
        sizes=((3, 5, 11), (2, 7, 9), (5, 3, 7), (4, 4, 8), (3, 1, 6), (1, 1, 5)),
        make=make_labels,
        calls=asked_twice,
        by_hand=SHIFT_MISTAKES,
        properties=(("The first place of some row is not bos_id.", begins_with_bos),
                    ("Behind it, place t does not hold the label of place t - 1.", word_before)),
    ),
    Exercise(
        name="masked_cross_entropy",
        lesson="11",
        asked="one number: the mean of -log softmax(logits)[target] over all places whose target is not pad_id.",
        verified=targets.masked_cross_entropy,
        oracle=loss_by_loop,
        examples=LOSS_EXAMPLES,
        sizes=((3, 5, 7), (2, 6, 4, 3), (4, 3, 6, 0), (5, 4, 9), (4, 4, 4), (4, 4, 4, 2), (3, 1, 5), (1, 1, 2)),
        square_size=(2, 3, 16),
        extremes=((torch.tensor([[[1000.0, 0, -1000], [-2000, 2000, 0]], [[3000, 1000, 2000], [0, 5, 10]]]),
                   torch.tensor([[2, 1], [1, 0]])),),
        make=make_loss,
        by_hand=LOSS_MISTAKES,
        properties=(("Eight words that are equally likely do not give log 8.", many_classes_are_a_guess),
                    ("Other logits at a padded place change the loss.", padded_places_have_no_say),
                    ("A guess that is wrong by 1000 does not cost 1000: is a probability kept from being 0?",
                     nothing_is_cut_off),
                    ("Adding 3 to all logits changes the loss.", all_logits_may_move)),
    ),
    Exercise(
        name="greedy_decode",
        lesson="11",
        asked="each row begins with bos_id and goes on with the likeliest token after all that is written; after its "
        "eos_id a row is filled with pad_id; it ends when all rows have ended, or at max_len tokens, bos included.",
        verified=decoding.greedy_decode,
        oracle=greedy_by_loop,
        examples=GREEDY_EXAMPLES,
        sizes=((3, 4, 7, 8), (4, 3, 5, 9), (5, 2, 6, 7, 6), (2, 6, 4, 5), (6, 6, 6, 6), (4, 5, 5, 10, 3),
               (1, 3, 4, 12), (1, 1, 3, 2)),
        make=make_greedy,
        calls=more_greedy,
        by_hand=GREEDY_MISTAKES,
        properties=(("A row does not begin with bos_id.", begins_as_told),
                    ("It writes more than max_len tokens.", no_longer_than_allowed),
                    ("With more room it writes another beginning.", goes_on_as_it_began)),
    ),
    Exercise(
        name="beam_search",
        lesson="11",
        asked="(tokens, score): the finished hypothesis with the largest sum of log-probabilities; each step keeps the "
        "beam_size best of all candidates, and those that end with eos_id leave the beam; those cut at max_len tokens, "
        "bos included, count as finished.",
        verified=decoding.beam_search,
        oracle=beam_by_loop,
        examples=BEAM_EXAMPLES,
        sizes=((5, 2, 6), (7, 3, 4), (6, 1, 6, 0.3), (4, 4, 4), (3, 2, 2)),
        make=make_beam,
        calls=more_beams,
        by_hand=BEAM_MISTAKES,
    ),
)
