"""Lesson 10: `EncoderLayer`, judged by `nn.TransformerEncoderLayer` with our weights in it."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import transformer
from course_lib.attention import MultiHeadAttention
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import random_mask, tiny_dropout
from course_lib.checks.engine.exercise import Exercise, random_weights
from course_lib.checks.engine.oracles import encoder_layer
from course_lib.wires import FeedForward


class Steps(nn.Module):
    """The encoder layer cut into steps, each a method, so that a mistake can override just one of them."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        h = self.first(x, self.seen(mask, x))  # (B, T, d_model)
        return self.second(h, x)  # (B, T, d_model)

    def seen(self, mask, x):
        return mask

    def first(self, x, mask):
        return self.norm1(self.add1(x, self.attend(x, mask)))

    def second(self, h, x):
        return self.norm2(self.add2(h, self.think(h)))

    def attend(self, x, mask):
        return self.self_attn(x, x, x, mask)

    def think(self, h):
        return self.ff(h)

    def add1(self, x, says):
        return self.add(x, says)

    def add2(self, x, says):
        return self.add(x, says)

    def add(self, x, says):
        return x + self.dropout(says)


# The norms


class pre_norm(Steps):
    """The norm came before the sublayer: x + sublayer(norm(x)). Lesson 08 calls that pre-norm. This layer is that of
    2017: which is the last thing that happens to x there, before the next sublayer gets it?"""

    def first(self, x, mask):
        return self.add(x, self.attend(self.norm1(x), mask))

    def second(self, h, x):
        return self.add(h, self.ff(self.norm2(h)))


class norms_only_what_is_added(Steps):
    """The answer of the sublayer was normalised, and then added to x as it was. What has to be normalised: what is
    added, or the sum?"""

    def first(self, x, mask):
        return x + self.norm1(self.dropout(self.attend(x, mask)))

    def second(self, h, x):
        return h + self.norm2(self.dropout(self.ff(h)))


class norm_before_and_after(Steps):
    """Every sublayer got a normalised x, and the sum was normalised once more. How often does each norm run in one
    layer?"""

    def first(self, x, mask):
        return self.norm1(self.add(x, self.attend(self.norm1(x), mask)))

    def second(self, h, x):
        return self.norm2(self.add(h, self.ff(self.norm2(h))))


class norm1_for_both(Steps):
    """norm1 was used after both sublayers, so norm2 never learns anything. Each norm has a gain and an offset of its
    own: which one belongs after the feed-forward network?"""

    def second(self, h, x):
        return self.norm1(self.add(h, self.ff(h)))


class norm2_for_both(Steps):
    """norm2 was used after both sublayers, so norm1 never learns anything. Each norm has a gain and an offset of its
    own: which one belongs after the attention?"""

    def first(self, x, mask):
        return self.norm2(self.add(x, self.attend(x, mask)))


class norms_swapped(Steps):
    """norm2 came after the attention and norm1 after the feed-forward network. A fresh layer does not show it, since
    both begin as the same: what will differ once they are trained?"""

    def first(self, x, mask):
        return self.norm2(self.add(x, self.attend(x, mask)))

    def second(self, h, x):
        return self.norm1(self.add(h, self.ff(h)))


class no_norm_after_attention(Steps):
    """The sum after the attention was not normalised. What follows each of the two sums?"""

    def first(self, x, mask):
        return self.add(x, self.attend(x, mask))


class no_norm_after_the_feed_forward(Steps):
    """The sum after the feed-forward network was not normalised, so numbers grow from layer to layer. What follows
    each of the two sums?"""

    def second(self, h, x):
        return self.add(h, self.ff(h))


class no_norms(Steps):
    """No norm was used at all. The constructor made two: what are they for?"""

    def first(self, x, mask):
        return self.add(x, self.attend(x, mask))

    def second(self, h, x):
        return self.add(h, self.ff(h))


class norms_without_gain_and_offset(Steps):
    """The norms have neither gain nor offset: were they made anew, or written out by hand without their weights? The
    constructor made two that can learn. What do they do to the normalised numbers?"""

    def first(self, x, mask):
        return F.layer_norm(self.add(x, self.attend(x, mask)), x.shape[-1:])

    def second(self, h, x):
        return F.layer_norm(self.add(h, self.ff(h)), h.shape[-1:])


# The skip connections


class no_skip_around_attention(Steps):
    """The attention's answer replaced x instead of being added to it. How would a token then know which word it was
    itself?"""

    def add1(self, x, says):
        return self.dropout(says)


class no_skip_around_the_feed_forward(Steps):
    """The feed-forward network's answer replaced x instead of being added to it. What is carried around every
    sublayer?"""

    def add2(self, x, says):
        return self.dropout(says)


class no_skips(Steps):
    """Each sublayer's answer replaced x: nothing was carried around. What did lesson 08 find at depth without skip
    connections?"""

    def add(self, x, says):
        return self.dropout(says)


class second_skip_from_the_input(Steps):
    """The second sum took the x that had come into the layer, so what the attention had added is lost on that way.
    What is x by the time the feed-forward network runs?"""

    def second(self, h, x):
        return self.norm2(self.add(x, self.ff(h)))


class feed_forward_reads_the_input(Steps):
    """The feed-forward network read the x that had come into the layer, not the one the attention has worked on. Two
    sublayers one after the other: what does the second one get?"""

    def second(self, h, x):
        return self.norm2(self.add(h, self.ff(x)))


class skip_counted_twice(Steps):
    """x was added twice: once to the sublayer's answer, and once more to the sum. How often is it carried around?"""

    def add(self, x, says):
        return x + x + self.dropout(says)


# The sublayers


class no_feed_forward(Steps):
    """The layer ended after the attention and its norm. An encoder layer has two sublayers: which one is missing?"""

    def second(self, h, x):
        return h


class second_norm_alone(Steps):
    """After the attention there is a second norm, but no feed-forward network before it. What is it that norm2
    normalises?"""

    def second(self, h, x):
        return self.norm2(h)


class attention_is_lost(Steps):
    """What the attention said is not in the result: the second half began with the x that had come into the layer.
    Under which name did you keep the first half, and which name does the second half read?"""

    def second(self, h, x):
        return self.norm2(self.add(x, self.ff(x)))


class feed_forward_first(Steps):
    """The feed-forward network came first, then the attention. Look around, then think: which of the two is looking
    around?"""

    def forward(self, x, mask=None):
        h = self.second(x, x)
        return self.first(h, mask)


class side_by_side(Steps):
    """Attention and feed-forward network both read x, and one sum took them all. Some models do that, but this layer
    has two steps: what does each of them end with?"""

    def forward(self, x, mask=None):
        return self.norm2(self.norm1(x + self.dropout(self.attend(x, mask)) + self.dropout(self.ff(x))))


class attention_twice(Steps):
    """The second sublayer was the attention again. Which part of the layer lets every token think for itself?"""

    def forward(self, x, mask=None):
        h = self.first(x, mask)
        return self.norm2(self.add(h, self.attend(h, mask)))


class feed_forward_twice(Steps):
    """The feed-forward network ran twice, and no token ever saw another one. Which part of the layer lets them look
    around?"""

    def first(self, x, mask):
        return self.norm1(self.add(x, self.ff(x)))


# The mask


class ignores_the_mask(Steps):
    """The mask never reached the attention, so padding is read like words. Which argument of `self_attn` is left?"""

    def seen(self, mask, x):
        return None


class mask_inverted(Steps):
    """The mask was turned round with ~ on its way. Here and in `self_attn`, True means "may attend": is there
    anything to turn?"""

    def seen(self, mask, x):
        return None if mask is None else ~mask


class always_causal(Steps):
    """No token saw the ones after it, though nobody asked for that. Who decides what is hidden? (An encoder may read
    its sentence in both directions.)"""

    def seen(self, mask, x):
        past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        return past if mask is None else past & mask


class mask_of_the_first_sentence(Steps):
    """The mask of the first sentence was used for all of them. Which axis of a mask (B, 1, T) says whose it is?"""

    def seen(self, mask, x):
        return mask[0] if mask is not None and mask.dim() == 3 else mask


def of_the_real_tokens(x, mask):
    """x with zeros where a mask (B, 1, T) hides the token."""
    one_row = mask is not None and mask.dim() == 3 and mask.shape[1] == 1
    return x.masked_fill(~mask.transpose(1, 2), 0) if one_row else x


class zeroes_hidden_tokens_first(Steps):
    """Hidden tokens were set to zero before the attention. The mask says who may be read, and that is all it says. Who
    takes care of it, once it is handed on?"""

    def forward(self, x, mask=None):
        return super().forward(of_the_real_tokens(x, mask), mask)


class zeroes_hidden_tokens_at_the_end(Steps):
    """Hidden tokens came out as zeros. The mask says who may be read: a hidden token may still read the others, and
    what it becomes harms nobody. Does the docstring ask for zeros?"""

    def forward(self, x, mask=None):
        return of_the_real_tokens(super().forward(x, mask), mask)


# Dropout


class no_dropout(Steps):
    """In train mode, the sublayers' answers were added as they are, or what was not dropped of them was not divided by
    1 - p. The constructor made a `dropout` that does both: where does the paper use it (section 5.4)?"""

    def add(self, x, says):
        return x + says


class no_dropout_after_attention(Steps):
    """In train mode, nothing was dropped of what the attention said. After how many sublayers does dropout come?"""

    def add1(self, x, says):
        return x + says


class no_dropout_after_the_feed_forward(Steps):
    """In train mode, nothing was dropped of what the feed-forward network said. (The dropout within it is another
    one.) After how many sublayers does dropout come?"""

    def add2(self, x, says):
        return x + says


class no_dropout_within_the_feed_forward(Steps):
    """In train mode, nothing was dropped within the feed-forward network: it was built without the layer's dropout, or
    its own was passed by. What does FeedForward take as its third argument?"""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__(d_model, num_heads, d_ff, dropout)
        self.ff = FeedForward(d_model, d_ff)


class drops_twice(Steps):
    """In train mode, dropout fell twice on what a sublayer said. How much of it is left if each time half of it
    goes?"""

    def add(self, x, says):
        return x + self.dropout(self.dropout(says))


class drops_the_sum(Steps):
    """Dropout fell on the sum, so that it tears holes into x itself. What may be missing for a while: x, or what a
    sublayer says about it?"""

    def add(self, x, says):
        return self.dropout(x + says)


class drops_after_the_norm(Steps):
    """Dropout came after the norm, so that it tears holes into x itself. What may be missing for a while: x, or what a
    sublayer says about it?"""

    def add(self, x, says):
        return x + says

    def first(self, x, mask):
        return self.dropout(super().first(x, mask))

    def second(self, h, x):
        return self.dropout(super().second(h, x))


class drops_what_the_sublayer_reads(Steps):
    """Dropout fell on what goes into the sublayers. On which side of them does it belong?"""

    def add(self, x, says):
        return x + says

    def attend(self, x, mask):
        return super().attend(self.dropout(x), mask)

    def think(self, h):
        return super().think(self.dropout(h))


class dropout_always_on(Steps):
    """Dropout was active in eval mode, too. `F.dropout` takes no notice of `model.eval()` unless you tell it: does
    `self.dropout` need to be told?"""

    def add(self, x, says):
        return x + F.dropout(says, self.dropout.p)


MISTAKES = tuple(m for m in list(vars().values()) if isinstance(m, type) and issubclass(m, Steps) and m is not Steps)


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
                "moved on by one place, linear1 = I, linear2 = 2·I upside down, all biases 0; norm1 has gain 1 and "
                "offset 0, norm2 gain 10 and offset 1", build=(4, 1, 4), weights=weights)


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


def no_chance_in_eval_mode(output, generator):
    x = tokens(generator, 4).expand(2, -1, -1)
    first, second = output(x.contiguous())
    return torch.allclose(first, second, atol=1e-3)


def unless_by_chance(holds):
    """A property that says nothing about an answer that throws dice."""
    return lambda output, generator: not no_chance_in_eval_mode(output, generator) or holds(output, generator)


@unless_by_chance
def tokens_move_together(output, generator):
    x = tokens(generator, 4)
    return torch.allclose(output(x.flip(1)), output(x).flip(1), atol=1e-3)


@unless_by_chance
def sentences_do_not_meet(output, generator):
    x = torch.cat([tokens(generator, 3), tokens(generator, 3)])
    return torch.allclose(output(x)[:1], output(x[:1]), atol=1e-3)


@unless_by_chance
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


EXERCISES = (
    Exercise(
        name="EncoderLayer",
        lesson="10",
        asked="self-attention of x with the mask, dropout, added to x, then norm1; of what that gives, feed-forward, "
        "dropout, added to it, then norm2: shape (B, T, d_model).",
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
        calls=more_calls,
        by_hand=MISTAKES,
        properties=(
            ("Two equal sentences in one batch come out different, in eval mode: is there dropout that never stops?",
             no_chance_in_eval_mode),
            ("Large numbers in x come out large: what leaves the layer is not normalised.", normalised),
            ("A token does not notice the others: no attention reaches the result.", tokens_meet),
            ("When the tokens change places, their vectors do not simply move along.", tokens_move_together),
            ("A sentence of the batch changes the result of another.", sentences_do_not_meet),
            ("A token that is hidden by the mask changes the others.", padding_has_no_say),
        ),
    ),
)
