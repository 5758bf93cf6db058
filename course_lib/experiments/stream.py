"""Lesson 08: the residual stream of the trained translator: how large each write is, and what is lost without it."""

import copy

import torch

from course_lib.data.small_french import splits, written
from course_lib.data.vocabulary import BOS
from course_lib.experiments.filled_up import translate

PARTS = {"encoder": {"self_attn": "attention", "ff": "feed-forward"},
         "decoder": {"self_attn": "attention", "cross_attn": "cross", "ff": "feed-forward"}}
NAMES = {f"{side} {n} {called}": f"{side}.{n - 1}.{part}"
         for side, parts in PARTS.items() for n in (1, 2) for part, called in parts.items()}


def pairs(how_many):
    """Sentences that the translator was not trained on."""
    return splits()["fresh"][:how_many]


@torch.no_grad()
def writes(of, how_many=50):
    """What each sublayer adds to the stream, given these sentences and their translations.

    returns: {name: ((words, d) what it reads, (words, d) what it says)}, in the order of the stream
    """
    found = {name: ([], []) for name in NAMES}

    def keep(name):
        def hook(module, given, said):
            for kept, new in zip(found[name], (given[0], said), strict=True):
                kept.append(new[0])
        return hook

    hooks = [of.model.get_submodule(path).register_forward_hook(keep(name)) for name, path in NAMES.items()]
    for pair in pairs(how_many):
        target = torch.tensor([[BOS, *of.english.encode([pair.english], end=False)[0].tolist()]])
        of.model(of.french.encode([pair.french]), target)
    for hook in hooks:
        hook.remove()
    return {name: tuple(map(torch.cat, kept)) for name, kept in found.items()}


def right_without(of, *names, instead=None, how_many=50):
    """How many sentences it translates rightly where these sublayers write nothing, or always the same vector.

    instead: {name: (d,)}, what is written in place of nothing
    """
    model = copy.deepcopy(of.model)
    for name in names:
        new = 0.0 if instead is None else instead[name]
        model.get_submodule(NAMES[name]).register_forward_hook(lambda module, given, said, new=new: 0 * said + new)
    tested = pairs(how_many)
    english = translate(of._replace(model=model), [pair.french for pair in tested], 0)
    return sum(one == written(pair.english) for one, pair in zip(english, tested, strict=True))
