"""The shipped translator, opened: how far its attention scores spread, and what becomes of it with other divisors."""

import copy

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention, attention_patterns
from course_lib.data.small_french import splits
from course_lib.data.vocabulary import BOS, PAD
from course_lib.shipped.models import TRANSLATOR
from course_lib.targets import shift_right
from course_lib.transformer import Transformer


def new_pairs(n):
    """Pairs of sentences that the translator was not trained on."""
    return splits()["fresh"][:n]


def before_training(of, seed=0):
    """A model like the translator's as its training begins: Xavier's initialization, as in lesson 11."""
    torch.manual_seed(seed)
    model = Transformer(len(of.french), len(of.english), **TRANSLATOR)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return model.eval()


def attentions(model):
    """{name: module} of all its multi-head attentions, from the input to the output."""
    return {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}


def silenced(of, part=""):
    """The same trained translator, but whatever some of its attentions find, nothing of it comes out.

    part: of the names of these attentions, such as "encoder" or "cross_attn"; all have ""
    """
    model = copy.deepcopy(of.model)
    for name, attention in attentions(model).items():
        if part in name:
            with torch.no_grad():
                attention.W_o.weight.zero_()  # its last step multiplies by this matrix
                attention.W_o.bias.zero_()
    return of._replace(model=model)


def encoded(of, sentence):
    """A French sentence as token numbers, (1, Ts)."""
    return of.french.encode([of.words(sentence)])


def begun(of, english):
    """An English translation so far, as the decoder gets it: the token that begins, then its words, (1, Tt)."""
    return shift_right(of.english.encode([english.split()]), BOS)


def where_it_looks(of, sentence):
    """Where the last layer of the decoder looks in the French words before it writes each English one.

    returns: (weights (Tt, Ts), the mean of the heads, English words, French words), both with the end of the sentence
    """
    source, english = encoded(of, sentence), of.translate(sentence).split()
    target = of.english.encode([english])
    found = attention_patterns(of.model, source, shift_right(target, BOS))
    (last,) = [weights for name, weights in found.items() if name.endswith("1.cross_attn")]
    return last[0].mean(0), [*english, "(end)"], [*of.words(sentence), "(end)"]


def with_divisor(of, divisor):
    """The same trained translator, its scores divided by another number than √d_head: nothing is trained again."""
    model = copy.deepcopy(of.model)
    for attention in attentions(model).values():
        d_head = attention.W_q.weight.shape[0] // attention.num_heads
        with torch.no_grad():
            for parameter in attention.W_q.parameters():
                parameter *= d_head**0.5 / divisor
    return of._replace(model=model)


def largest_weights(of, pairs):
    """The largest weight that a query gives: the median over all queries that are words, {attention: (heads,)}."""
    source, target = of.french.encode([p.french for p in pairs]), of.english.encode([p.english for p in pairs])
    found = {}
    for name, weights in attention_patterns(of.model, source, shift_right(target, BOS)).items():
        words = (source if name.startswith("encoder") else target) != PAD  # (B, Tq)
        found[name] = weights.amax(-1).transpose(1, 2)[words].median(0).values
    return found


@torch.no_grad()
def score_spreads(model, of, pairs):
    """The standard deviation of one query's scores, divided by √d_head: the median over the queries that see three
    keys or more.

    model:   the translator's model, or one with other weights
    of:      the translator, for its vocabularies
    returns: {name of the attention: (heads,)}
    """
    found, hooks = {}, []

    def look(name):
        def hook(attention, given, named, _):
            query, key, mask = given[0], given[1], given[3] if len(given) > 3 else named.get("mask")
            heads = [projected.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)
                     for projected in (attention.W_q(query), attention.W_k(key))]  # (B, H, T, d_head) each
            scores = heads[0] @ heads[1].mT / heads[0].shape[-1] ** 0.5  # (B, H, Tq, Tk)
            seen = torch.ones_like(scores, dtype=bool) if mask is None else mask[..., None, :, :].expand_as(scores)
            n = seen.sum(-1)
            mean = (scores * seen).sum(-1) / n.clamp(min=1)
            spread = (((scores - mean[..., None]) ** 2 * seen).sum(-1) / n.clamp(min=1)) ** 0.5  # (B, H, Tq)
            found[name] = torch.stack([spread[:, h][n[:, h] > 2].median() for h in range(attention.num_heads)])
        return hook

    source, target = of.french.encode([p.french for p in pairs]), of.english.encode([p.english for p in pairs])
    for name, attention in attentions(model).items():
        hooks.append(attention.register_forward_hook(look(name), with_kwargs=True))
    model.eval()(source, shift_right(target, BOS))
    for hook in hooks:
        hook.remove()
    return found
