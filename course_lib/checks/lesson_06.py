"""Lesson 06, version 6: `MultiHeadAttention`, judged by torch's own multi-head attention with our weights in it."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import attention
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.circumstances import random_mask
from course_lib.checks.engine.exercise import Exercise, random_weights

NOWHERE = float("-inf")


def torch_attention(w, build, query, key, value, mask=None):
    """torch's multi-head attention. A query that may attend to nothing gets NaN: any finite number is right there."""
    if mask is not None:
        mask = mask if mask.dim() == 3 else mask[None]
        mask = mask.expand(len(query), query.shape[1], key.shape[1]).repeat_interleave(build[1], 0)
        mask = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, NOWHERE)  # (B * H, Tq, Tk), added
    out, _ = F.multi_head_attention_forward(
        query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), *build,
        torch.cat([w["W_q.weight"], w["W_k.weight"], w["W_v.weight"]]),
        torch.cat([w["W_q.bias"], w["W_k.bias"], w["W_v.bias"]]), None, None, False, 0.0,
        w["W_o.weight"], w["W_o.bias"], training=False, attn_mask=mask)
    return out.transpose(0, 1)


class Steps(nn.Module):
    """Multi-head attention cut into steps, each a method, so that a mistake can override just one of them."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("the heads do not divide d_model")
        self.num_heads, self.d_head = num_heads, d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)  # (B, T, d_model) each
        q, k, v = self.split(q), self.split_key(k), self.split(v)  # (B, H, T, d_head) each
        scores = self.scores(q, k) * self.scale(q, k)  # (B, H, Tq, Tk)
        may = None if mask is None else self.for_all_heads(mask)  # (B, 1, Tq, Tk)
        if mask is not None:
            scores = self.masked(scores, may)
        weights = self.weights(scores, may)
        heads = self.mixed(weights, v)  # (B, H, Tq, d_head)
        return self.output(self.merged(heads), query, weights)

    def project(self, query, key, value):
        return self.W_q(query), self.W_k(key), self.W_v(value)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.d_head)).transpose(1, 2)

    def split_key(self, k):
        return self.split(k)

    def scores(self, q, k):
        return q @ k.transpose(-2, -1)

    def scale(self, q, k):
        return self.d_head**-0.5

    def for_all_heads(self, mask):
        return mask[:, None] if mask.dim() == 3 else mask

    def masked(self, scores, may):
        return scores.masked_fill(~may, torch.finfo(scores.dtype).min)

    def weights(self, scores, may):
        return self.softmax(scores)

    def softmax(self, scores):
        return torch.softmax(scores, -1)

    def mixed(self, weights, v):
        return weights @ v

    def merged(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def output(self, out, query, weights):
        return self.W_o(out)


# The projections


class no_output_projection(Steps):
    """The heads were put side by side and returned as they are. Which of the four weight matrices has not been
    used yet, and what could it do for heads that never met?"""

    def output(self, out, query, weights):
        return out


class query_not_projected(Steps):
    """The query went into the scores as it came, without W_q. How could two heads then ask different questions?"""

    def project(self, query, key, value):
        return query, self.W_k(key), self.W_v(value)


class key_not_projected(Steps):
    """The key went into the scores as it came, without W_k. Which matrix decides what a token answers to?"""

    def project(self, query, key, value):
        return self.W_q(query), key, self.W_v(value)


class value_not_projected(Steps):
    """The value was mixed as it came, without W_v. Which matrix decides what a token passes on?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_k(key), value


class one_projection_for_all(Steps):
    """W_q made queries, keys and values alike. Asking, answering and passing on are three jobs: how many matrices
    does `__init__` hold ready for them?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_q(key), self.W_q(value)


class keys_by_W_q(Steps):
    """The keys were made by W_q, so W_k is never used. Then "a asks b" gets the same score as "b asks a": is
    that wanted?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_q(key), self.W_v(value)


class values_by_W_k(Steps):
    """The values were made by W_k, so W_v is never used. Why did version 4 pull keys and values apart?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_k(key), self.W_k(value)


class W_k_and_W_v_swapped(Steps):
    """W_k made the values and W_v made the keys. Both have the right shape, so nothing complains: which one
    belongs where?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_v(key), self.W_k(value)


class only_the_query_is_used(Steps):
    """Keys and values were made from the query, and the other two arguments were never read. What would then
    become of a question to another sentence (version 4)?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_k(query), self.W_v(query)


class values_from_the_key(Steps):
    """The values were made from the argument `key`. In self-attention both are the same tensor and nobody
    notices: what is the argument `value` for?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_k(key), self.W_v(key)


class keys_from_the_value(Steps):
    """The keys were made from the argument `value`. In self-attention both are the same tensor and nobody
    notices: what is the argument `key` for?"""

    def project(self, query, key, value):
        return self.W_q(query), self.W_k(value), self.W_v(value)


class no_biases(Steps):
    """The weights were used without their biases. What does a linear layer add after the product?"""

    def project(self, query, key, value):
        return query @ self.W_q.weight.T, key @ self.W_k.weight.T, value @ self.W_v.weight.T

    def output(self, out, query, weights):
        return out @ self.W_o.weight.T


class weights_not_transposed(Steps):
    """The weights were multiplied the wrong way round. nn.Linear keeps its weight as (out, in): what do you have
    to do to it before `x @ …`? Or could you just call the layer?"""

    def project(self, query, key, value):
        return [x @ W.weight + W.bias for W, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value))]

    def output(self, out, query, weights):
        return out @ self.W_o.weight + self.W_o.bias


class relu_in_the_projections(Steps):
    """The projections went through a ReLU, so no query or key has a negative number left. Is there any
    non-linear step in them?"""

    def project(self, query, key, value):
        return [F.relu(x) for x in super().project(query, key, value)]


class new_layers_in_forward(Steps):
    """New layers were made inside `forward`, with fresh random weights at every call. Which layers would an
    optimizer have to know, and where do they have to be made?"""

    def project(self, query, key, value):
        d = query.shape[-1]
        return [nn.Linear(d, d, dtype=x.dtype)(x) for x in (query, key, value)]


# Splitting into heads, and merging them


class splits_by_view(Steps):
    """The tensor was cut with `view(B, H, T, d_head)` or `reshape`. The shape is right, but each "head" now holds
    some tokens whole instead of a slice of every token. Which axis do you have to cut, and which two to swap?"""

    def split(self, x):
        return x.reshape(len(x), self.num_heads, x.shape[1], self.d_head)


class length_of_the_query_for_all(Steps):
    """The keys and values were brought to the length of the query. In self-attention both lengths are the same:
    what if 3 tokens ask 5 others?"""

    def project(self, query, key, value):
        self.length = query.shape[1]
        return super().project(query, key, value)

    def split(self, x):
        return x.view(len(x), self.length, self.num_heads, self.d_head).transpose(1, 2)


class heads_attend_to_heads(Steps):
    """The head axis was not moved in front of the tokens, so within each token the heads attended to each other,
    and no token saw another one. Which two axes must be last when scores are made?"""

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.d_head))

    def for_all_heads(self, mask):
        return super().for_all_heads(mask).transpose(-3, -2) if mask.dim() == 3 else mask[:, None]

    def merged(self, heads):
        return heads.flatten(2)


class every_h_th_feature(Steps):
    """Head i took the features i, i + H, i + 2H, … instead of a slice of neighbours. With weights that were trained
    so it would do, but all others (the paper, torch) give the first d_head features to the first head. Which of
    the two numbers comes first in the split?"""

    def split(self, x):
        return x.unflatten(-1, (self.d_head, self.num_heads)).movedim(-1, 1)

    def merged(self, heads):
        return heads.movedim(1, -1).flatten(2)


class only_one_head(Steps):
    """There was no split: it is a single head, d_model wide. How many sets of weights does each token need?"""

    def split(self, x):
        return x[:, None]

    def scale(self, q, k):
        return q.shape[-1] ** -0.5


class one_head_with_the_scale_of_many(Steps):
    """The scale is that of a head, √d_head, but nothing was split: one head attends with all features at once.
    What has to happen between the projections and the scores?"""

    def split(self, x):
        return x[:, None]


class every_head_the_first(Steps):
    """All heads worked on the first d_head features, so they all say the same. Does your slice move on with the
    number of the head?"""

    def split(self, x):
        return super().split(x)[:, :1].expand(-1, self.num_heads, -1, -1)


class key_axes_by_reshape(Steps):
    """The keys were brought to (…, d_head, Tk) by `view` or `reshape`, which reads the same numbers in another
    order and mixes up tokens and features. What swaps two axes?"""

    def scores(self, q, k):
        return q @ k.reshape(*k.shape[:2], k.shape[3], k.shape[2])


class merges_by_reshape(Steps):
    """The heads were merged by `reshape` while the head axis was still in front of the tokens: a token gets pieces
    of other tokens. What did you do on the way in that has to be undone first?"""

    def merged(self, heads):
        return heads.reshape(len(heads), heads.shape[2], -1)


class merges_feature_by_feature(Steps):
    """When the heads were merged, the first features of all heads came first, then all second ones. W_o expects
    head after head: which axis comes right before the features?"""

    def merged(self, heads):
        return heads.movedim(1, -1).flatten(2)


class adds_the_heads(Steps):
    """The heads were added up instead of put side by side: their sum is d_head wide, and W_o needs d_model. Could
    anybody tell from a sum which head said what?"""

    def merged(self, heads):
        return heads.sum(1)


class averages_the_heads(Steps):
    """The heads were averaged and the average was repeated. Their answers differ, and W_o has to get each one in a
    place of its own: which operation joins them without loss?"""

    def merged(self, heads):
        return heads.mean(1).repeat(1, 1, self.num_heads)


class one_map_for_all_heads(Steps):
    """The attention weights were averaged over the heads before they mixed the values. Then all heads look to the
    same places: what are they for?"""

    def weights(self, scores, may):
        return self.softmax(scores).mean(1, keepdim=True).expand_as(scores)


class returns_the_heads(Steps):
    """These are the heads, (B, H, Tq, d_head). They still have to be put side by side and go through W_o."""

    def merged(self, heads):
        return heads

    def output(self, out, query, weights):
        return out


class returns_the_weights_too(Steps):
    """The attention weights were returned as well. They are good to look at, but the contract asks for the output
    alone: how could the next layer use a pair?"""

    def output(self, out, query, weights):
        return self.W_o(out), weights


# The scores


class no_scale(Steps):
    """The scores were not divided by √d_head, so the weights are sharper than they should be. How large does a dot
    product of d_head numbers get?"""

    def scale(self, q, k):
        return 1.0


class scale_by_root_d_model(Steps):
    """The scores were divided by √d_model. How many numbers does the dot product of one head add up?"""

    def scale(self, q, k):
        return (self.num_heads * self.d_head) ** -0.5


class scale_by_d_head(Steps):
    """The scores were divided by d_head instead of its root, at once or by its root in two places. Their variance
    grows like d_head: by which factor does their standard deviation grow?"""

    def scale(self, q, k):
        return 1 / self.d_head


class scale_by_root_num_heads(Steps):
    """The scores were divided by √num_heads. What makes a dot product large: how many heads there are, or how wide
    each of them is?"""

    def scale(self, q, k):
        return self.num_heads**-0.5


class scale_by_root_tk(Steps):
    """The scores were divided by the root of the number of keys. Which axis of the keys is summed over in a dot
    product?"""

    def scale(self, q, k):
        return k.shape[2] ** -0.5


class hard_coded_8(Steps):
    """The scores were divided by 8, which is √d_head in the paper's model only. Where does this layer keep the width
    of its heads?"""

    def scale(self, q, k):
        return 1 / 8


class multiplies_by_the_root(Steps):
    """The scores were multiplied by √d_head, which makes a large spread larger still. What was the scale for?"""

    def scale(self, q, k):
        return self.d_head**0.5


class scales_the_weights(Steps):
    """The division by √d_head came after the softmax: the weights no longer sum to one. What has to be small before
    the softmax sees it?"""

    def scale(self, q, k):
        return 1.0

    def weights(self, scores, may):
        return self.softmax(scores) / self.d_head**0.5


# The softmax


class softmax_over_queries(Steps):
    """The softmax ran over the queries (dim=-2). Each query has to share out one whole among the keys: which axis
    are the keys on?"""

    def softmax(self, scores):
        return torch.softmax(scores, -2)


class softmax_over_heads(Steps):
    """The softmax ran over the heads (dim=1), so they compete with each other. Each head has to weigh the keys by
    itself: which axis are the keys on?"""

    def softmax(self, scores):
        return torch.softmax(scores, 1)


class softmax_over_the_batch(Steps):
    """The softmax ran over the batch (dim=0), so the sentences compete with each other. Which axis are the keys
    on?"""

    def softmax(self, scores):
        return torch.softmax(scores, 0)


class softmax_over_all_pairs(Steps):
    """The softmax ran over queries and keys together: all weights of a sentence sum to one, not those of each
    query. How many softmaxes does a map with Tq rows need?"""

    def softmax(self, scores):
        return torch.softmax(scores.flatten(2), -1).view_as(scores)


class no_softmax(Steps):
    """The scores mixed the values as they are. What makes them positive, with a sum of one?"""

    def weights(self, scores, may):
        return scores if may is None else scores.masked_fill(~may, 0)


class sigmoid(Steps):
    """Each score went through a sigmoid by itself. Do the weights of a query sum to one then?"""

    def softmax(self, scores):
        return torch.sigmoid(scores)


class overflows(Steps):
    """With large scores the exponential becomes infinite, and infinity divided by infinity is NaN. What does
    torch.softmax subtract before it takes the exponential?"""

    def softmax(self, scores):
        return torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)


class one_maximum_for_all(Steps):
    """The exponentials are safe, but the number subtracted first is the largest score of the whole table. A query
    whose scores all lie far below it is left with zeros, and 0 / 0. Whose maximum does each row need?"""

    def softmax(self, scores):
        shares = torch.exp(scores - scores.amax((-2, -1), keepdim=True))
        return shares / shares.sum(-1, keepdim=True)


# The mask


class ignores_the_mask(Steps):
    """The mask was not used: every query attends to every key. Where is the last moment to take a key out?"""

    def masked(self, scores, may):
        return scores


class mask_inverted(Steps):
    """The mask was read the wrong way round: what may be attended to was hidden. What does True stand for in this
    course? (Some libraries have it the other way.)"""

    def masked(self, scores, may):
        return super().masked(scores, ~may)


class hides_with_zero(Steps):
    """A masked score was set to 0, but the exponential of 0 is 1: the key still gets a weight. Which score has an
    exponential of 0?"""

    def masked(self, scores, may):
        return scores.masked_fill(~may, 0)


class hides_with_a_large_number(Steps):
    """A masked score was set to a large positive number, so the hidden keys get all the weight. Which sign makes an
    exponential vanish?"""

    def masked(self, scores, may):
        return scores.masked_fill(~may, torch.finfo(scores.dtype).max)


class adds_the_mask(Steps):
    """The mask was added to the scores, and True counts as 1: allowed keys got a little more weight, the hidden
    ones kept theirs. What has to be added so that nothing is left of a key?"""

    def masked(self, scores, may):
        return scores + may


class masks_after_the_softmax(Steps):
    """The mask was used after the softmax: the hidden keys had already taken their share, and the weights no longer
    sum to one. What if they were taken out before?"""

    def masked(self, scores, may):
        return scores

    def weights(self, scores, may):
        return self.softmax(scores) * (1 if may is None else may)


class shares_out_afterwards(Steps):
    """The hidden keys were taken out after the softmax and the rest was divided by its sum. If a hidden key had the
    largest score by far, that sum is 0, and 0 / 0 is NaN. What if they were taken out before?"""

    def masked(self, scores, may):
        return scores

    def weights(self, scores, may):
        kept = self.softmax(scores) * (1 if may is None else may)
        return kept / kept.sum(-1, keepdim=True)


class mask_lies_on_its_side(Steps):
    """The mask was turned: its rows met the keys and its columns the queries. In (Tq, Tk), which one asks?"""

    def for_all_heads(self, mask):
        return super().for_all_heads(mask.transpose(-2, -1))


class mask_without_a_head_axis(Steps):
    """A mask (B, Tq, Tk) met scores (B, H, Tq, Tk) as it was. torch lines shapes up from the right, so its batch axis
    met the heads, which goes unnoticed where B = H. Where does the mask need one more axis?"""

    def for_all_heads(self, mask):
        return mask


class mask_with_one_axis_too_many(Steps):
    """A mask (Tq, Tk) got one more axis as if it had a batch axis: in (Tq, 1, Tk) its rows meet the heads. Which masks
    need the axis, and what does torch do with a missing one in front?"""

    def for_all_heads(self, mask):
        return mask.unsqueeze(1)


class mask_of_the_first_sentence(Steps):
    """The mask of the first sentence was used for all of them. Which axis of a mask (B, Tq, Tk) says whose it is?"""

    def for_all_heads(self, mask):
        return mask[0] if mask.dim() == 3 else mask


class mask_on_one_head_only(Steps):
    """Only the first head heeded the mask. What has to happen to the others?"""

    def masked(self, scores, may):
        return torch.cat([super().masked(scores, may)[:, :1], scores[:, 1:]], 1)


class takes_rows_for_sentences(Steps):
    """A mask (Tq, Tk) was taken for one with a row for each sentence, (B, Tk), which goes unnoticed where B = Tq. What
    are the rows of a mask with two axes?"""

    def for_all_heads(self, mask):
        return mask[:, None] if mask.dim() == 3 else mask[:, None, None]


class always_causal(Steps):
    """Each query saw only the keys up to its own place, though nobody asked for it. Who decides what is hidden?"""

    def scores(self, q, k):
        past = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril()
        return super().scores(q, k).masked_fill(~past, torch.finfo(q.dtype).min)


class nan_where_nothing_is_allowed(Steps):
    """A query that may attend to nothing became NaN: all its scores are -inf, and a softmax of those is 0 / 0. Is
    there a finite number that is small enough?"""

    def masked(self, scores, may):
        return scores.masked_fill(~may, NOWHERE)


class nan_in_the_gradient(Steps):
    """The NaN of a query that may attend to nothing was replaced after the softmax. The values are fine, but on the
    way back the gradient meets the NaN that the softmax has kept. Can you see to it that none arises?"""

    def masked(self, scores, may):
        return scores + torch.zeros_like(scores).masked_fill(~may, NOWHERE)

    def softmax(self, scores):
        return torch.nan_to_num(torch.softmax(scores, -1))


# Around it


class adds_the_query(Steps):
    """The query was added to the result. That is a skip connection, and it comes in lesson 08; what is asked for is
    the attention alone. Which line adds it?"""

    def output(self, out, query, weights):
        return query + self.W_o(out)


class splits_the_lengths(Steps):
    """The tokens were dealt out to the heads, a part of the sentence for each. What is split: the sentence, or the
    vector of every token?"""

    def mixed(self, weights, v):
        turn = torch.arange(weights.shape[-1], device=v.device) * self.num_heads // weights.shape[-1]
        mine = turn == torch.arange(self.num_heads, device=v.device)[:, None, None]  # (H, 1, Tk)
        kept = weights * mine
        return kept / kept.sum(-1, keepdim=True).clamp_min(1e-9) @ v


MISTAKES = tuple(m for m in list(vars().values()) if isinstance(m, type) and issubclass(m, Steps) and m is not Steps)


def make(generator, B, Tq, Tk, H, d_head, mask=""):
    d = H * d_head
    args = tuple(torch.randn(B, T, d, generator=generator) for T in (Tq, Tk, Tk))
    shapes = {"Tq Tk": (Tq, Tk), "B Tq Tk": (B, Tq, Tk), "B 1 Tk": (B, 1, Tk)}
    return (*args, random_mask(generator, *shapes[mask])) if mask else args


def build(B, Tq, Tk, H, d_head, mask=""):
    return H * d_head, H


def by_hand(query, key, value, mask=None):
    """Two heads, one sentence, and weights that can be done in the head: nothing but the steps is to be seen."""
    d = len(query[0])
    one = torch.eye(d)
    weights = {"W_q.weight": 2 * one, "W_k.weight": -one, "W_v.weight": 10 * one, "W_o.weight": one.roll(d // 2, 0)}
    weights |= {f"W_{x}.bias": torch.zeros(d) for x in "qkvo"}
    args = tuple(torch.tensor([x]) for x in (query, key, value)) + (() if mask is None else (torch.tensor(mask),))
    return Call(args, "numbers to follow by hand: W_q = 2·I, W_k = −I, W_v = 10·I, W_o swaps the halves, biases 0",
                build=(d, 2), weights=weights)


ASK = [[1.0, 0.0, 0.0, 1.0], [0.0, -1.0, 1.0, 0.0]]
ANSWER = [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0], [-1.0, 1.0, 1.0, 0.0]]
TELL = [[1.0, 0.0, 0.0, 2.0], [2.0, 2.0, 1.0, 0.0], [0.0, 5.0, 0.0, -1.0]]
EXAMPLES = (
    by_hand(ASK, ANSWER, TELL),
    by_hand(ASK, ANSWER, TELL, mask=[[True, True, False], [False, True, True]]),
)


def more_calls(generator):
    """Masks with an empty row, huge_scores under a mask, and a number of heads that does not fit."""
    size = (2, 3, 4, 2, 3)
    args = make(generator, *size)
    weights = random_weights(attention.MultiHeadAttention(6, 2), generator)
    empty = random_mask(generator, 3, 4)
    empty[1] = False
    whole = random_mask(generator, 2, 1, 4)
    whole[1] = False
    model = dict(build=(6, 2), weights=weights)
    large = ([[300.0, 200.0], [0.5, -0.25]], [[-30.0, 20.0], [30.0, -10.0], [-20.0, -20.0]],
             [[1.0, 5.0], [2.0, 7.0], [4.0, 9.0]])  # one query with scores of 18,000, one with scores of 30
    huge_scores = [by_hand(*large), by_hand(*large, mask=[[False, True, False], [True, False, True]])]
    huge_scores = [Call(c.args, "large values", build=c.build, weights=c.weights) for c in huge_scores]
    return [
        *huge_scores,
        Call((*args, empty), "a query that may attend to no key", gradients=True, **model),
        Call((*args, whole), "a sentence that may not be attended to at all", gradients=True, **model),
        Call((*args, torch.ones(3, 4, dtype=torch.bool)), "a mask that allows everything", **model),
        Call((*args, empty | True), "called twice", twice=True, **model),
        Call(args, "6 features and 4 heads", must_raise=("ValueError", "AssertionError"), build=(6, 4)),
    ]


FIRST = (2, 3, 5, 4, 6)  # B, Tq, Tk, H, d_head


def tokens(generator, T):
    return torch.randn(1, T, FIRST[3] * FIRST[4], generator=generator)


def order_of_keys_is_free(output, generator):
    q, k, v = (tokens(generator, T) for T in (2, 4, 4))
    return torch.allclose(output(q, k.flip(1), v.flip(1)), output(q, k, v), atol=1e-3)


def queries_do_not_meet(output, generator):
    q, k, v = (tokens(generator, T) for T in (3, 4, 4))
    return torch.allclose(output(q, k, v)[:, 1:2], output(q[:, 1:2], k, v), atol=1e-3)


def sentences_do_not_meet(output, generator):
    q, k, v = (torch.cat([tokens(generator, T), tokens(generator, T)]) for T in (3, 4, 4))
    return torch.allclose(output(q, k, v)[:1], output(q[:1], k[:1], v[:1]), atol=1e-3)


def equal_values_come_through(output, generator):
    q, k = (tokens(generator, T) for T in (2, 4))
    v = tokens(generator, 1)
    return torch.allclose(output(q, k, v.expand_as(k).contiguous()), output(q[:, :1], v, v), atol=1e-3)


def hidden_keys_have_no_say(output, generator):
    q, k, v = (tokens(generator, T) for T in (2, 4, 4))
    mask = torch.tensor([[True, True, False, True]] * 2)
    elsewhere = torch.tensor([0.0, 0, 1, 0])[None, :, None]
    return torch.allclose(output(q, k + elsewhere, v - 9 * elsewhere, mask), output(q, k, v, mask), atol=1e-3)


EXERCISES = (
    Exercise(
        name="MultiHeadAttention",
        lesson="06",
        asked="W_q, W_k, W_v; split into num_heads heads, each d_head wide; scaled dot-product attention in each (a "
        "masked key gets no weight); the heads side by side; W_o: shape (B, Tq, d_model).",
        verified=attention.MultiHeadAttention,
        oracle=torch_attention,
        examples=EXAMPLES,
        sizes=(
            FIRST, (3, 5, 2, 2, 3), (2, 3, 5, 4, 3, "Tq Tk"), (3, 4, 5, 2, 3, "B Tq Tk"), (3, 2, 4, 2, 5, "B 1 Tk"),
            (2, 4, 3, 1, 5, "B Tq Tk"), (3, 2, 4, 5, 1, "Tq Tk"), (3, 3, 3, 3, 3), (3, 3, 3, 3, 3, "Tq Tk"),
            (2, 2, 2, 2, 2, "B Tq Tk"), (4, 4, 4, 2, 2, "B 1 Tk"), (2, 1, 1, 2, 2), (1, 1, 1, 1, 1),
            (1, 3, 4, 2, 3, "B Tq Tk"), (1, 3, 4, 2, 2, "B 1 Tk"), (2, 3, 1, 2, 3, "Tq Tk"),
        ),
        square_size=(2, 3, 5, 3, 4, "B Tq Tk"),
        make=make,
        build=build,
        calls=more_calls,
        any_layout=True,
        by_hand=MISTAKES,
        properties=(
            ("With the same value everywhere, that value should come through: the weights do not sum to one.",
             equal_values_come_through),
            ("The order of the keys and values changes the result.", order_of_keys_is_free),
            ("The answer to a query depends on the other queries.", queries_do_not_meet),
            ("A sentence of the batch changes the result of another.", sentences_do_not_meet),
            ("A key that is hidden by the mask changes the result.", hidden_keys_have_no_say),
        ),
    ),
)
