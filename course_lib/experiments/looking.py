"""Where the heads of an attention look, read off its own results; and what the translator loses without some."""

import copy

import torch

from course_lib.data.small_french import splits, written
from course_lib.data.vocabulary import BOS


@torch.no_grad()
def patterns(attention, x, mask=None):
    """Where each head looks in a self-attention: the value of a word says where it stands.

    attention: the course's MultiHeadAttention, or one with the same attributes
    x:         (B, N, d_model), N at most the width of a head
    mask:      as attention takes it
    returns:   (B, H, N, N) weights
    """
    bare, (B, N, d_model), H = copy.deepcopy(attention), x.shape, attention.num_heads
    for layer in (bare.W_v, bare.W_o):
        layer.weight.copy_(torch.eye(d_model))
        layer.bias.zero_()
    places = torch.zeros(N, H, d_model // H)
    places[range(N), :, range(N)] = 1  # in each head a one at its own place
    mixed = bare(x, x, places.flatten(1).expand(B, N, d_model), mask)
    return mixed.unflatten(-1, (H, -1))[..., :N].movedim(2, 1)


def heads_of_encoder(of, sentence):
    """Where each head of the translator's encoder looks in a French sentence.

    returns: (words, the end of the sentence among them; {name of the layer: (H, N, N) weights})
    """
    words = of.words(sentence)  # raises before anything is hooked
    given, layers = {}, {f"layer {n}": layer.self_attn for n, layer in enumerate(of.model.encoder, 1)}
    hooks = [layer.register_forward_pre_hook(lambda _, inputs, name=name: given.update({name: inputs[0]}))
             for name, layer in layers.items()]
    of.translate(sentence)
    for hook in hooks:
        hook.remove()
    return [*words, "(end)"], {name: patterns(layers[name], x)[0] for name, x in given.items()}


def heads_of_decoder(of, french, english):
    """Where each head of the translator's decoder looks among English words that it is given.

    returns: (words, the start among them; {name of the layer: (H, N, N) weights}; its mask (N, N))
    """
    source, words = of.french.encode([of.words(french)]), ["(start)", *english.split()]
    given, layers = {}, {f"layer {n}": layer.self_attn for n, layer in enumerate(of.model.decoder, 1)}
    hooks = [layer.register_forward_pre_hook(lambda _, inputs, name=name: given.update({name: inputs}))
             for name, layer in layers.items()]
    target = torch.tensor([[BOS, *of.english.encode([words[1:]], end=False)[0].tolist()]])
    of.model(source, target)
    for hook in hooks:
        hook.remove()
    found = {name: patterns(layers[name], x, mask)[0] for name, (x, _, _, mask) in given.items()}
    return words, found, given["layer 1"][3][0]


def without_heads(of, name, heads):
    """The same trained translator, but nothing comes out of some heads, counted from 1, of the attention of a name."""
    model = copy.deepcopy(of.model)
    attention = model.get_submodule(name)
    for head in heads:
        with torch.no_grad():  # the columns of W_o, a matrix (out, in), that this head's numbers meet
            attention.W_o.weight[:, attention.d_head * (head - 1) : attention.d_head * head] = 0
    return of._replace(model=model)


def negated(n):
    """Pairs with “ne … pas” that the translator was not trained on."""
    return [pair for pair in splits()["fresh"] if "pas" in pair.french][:n]


def right(of, pairs):
    """How many of these sentences it translates without a mistake."""
    return sum(of.translate(written(pair.french)) == written(pair.english) for pair in pairs)
