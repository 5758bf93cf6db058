"""Lesson 11: a Transformer watched while it writes."""

import torch

from course_lib.attention import attention_patterns
from course_lib.data.vocabulary import BOS, EOS

CANDIDATES, LONGEST, NUMBERS = 4, 16, 4


def step_by_step(model, src, english, T):
    """The first T steps of writing a translation: what the first head of the last decoder layer has at each.

    model:   a Transformer of the course's or a learner's
    src:     (1, Ts)
    english: the Vocabulary of the target
    returns: (steps, shapes): for each step a dict of the words so far, the first numbers of q, k and v (t, 4) and the
             weights (t, t); and the shapes of all weights of this layer, in self-attention and across
    """
    attention, given = model.decoder[-1].self_attn, {}
    hook = attention.register_forward_pre_hook(
        lambda _, args, kwargs: given.update(x=[*args, *kwargs.values()][0]), with_kwargs=True)
    ys, steps, shapes, last = torch.full_like(src[:, :1], BOS), [], [], f"decoder.{len(model.decoder) - 1}"
    for _ in range(T):
        patterns = attention_patterns(model, src, ys)
        numbers = {name: getattr(attention, f"W_{name}")(given["x"])[0, :, :NUMBERS].detach() for name in "qkv"}
        words = [english.words[i] for i in ys[0].tolist()]
        steps.append({"words": words, "weights": patterns[f"{last}.self_attn"][0, 0]} | numbers)
        shapes.append(tuple(tuple(patterns[f"{last}.{name}"].shape) for name in ("self_attn", "cross_attn")))
        with torch.no_grad():
            ys = torch.cat([ys, model(src, ys)[:, -1].argmax(-1, keepdim=True)], 1)
    hook.remove()
    return steps, shapes


@torch.no_grad()
def written(model, french, english, words):
    """A translation for the instrument "writing": (words read, the candidates of each step, where it looked)."""
    src, steps, rows = french.encode([words]), [], []
    ys = torch.full_like(src[:, :1], BOS)
    while len(steps) < LONGEST and ys[0, -1] != EOS:
        p, best = model(src, ys)[0, -1].softmax(-1).topk(CANDIDATES)
        steps.append([(english.words[i], share) for i, share in zip(best.tolist(), p.tolist(), strict=True)])
        patterns = attention_patterns(model, src, ys)[f"decoder.{len(model.decoder) - 1}.cross_attn"]
        rows.append(patterns[0, :, -1].mean(0))
        ys = torch.cat([ys, best[None, :1]], 1)
    return [*words, "<eos>"], steps, torch.stack(rows)
