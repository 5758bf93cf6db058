"""Lesson 15: which atom of the reactants became which of the product, by the looks of a real model's heads.

Sixteen reactions of the textbooks, whose answers were written down before any head was asked; none was left out.
"""

import difflib
import re
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F

from course_lib.attention import attention_patterns
from course_lib.experiments.plan import Plan, grid
from course_lib.pretrained import reactions

# Atoms with one number after the colon are the same atom, or one that cannot be told from it.
MAPPED = {
    "an acid and an alcohol":
        "[CH3:1][C:2](=[O:3])[OH:9].[CH3:5][CH2:6][OH:7]>>[CH3:5][CH2:6][O:7][C:2]([CH3:1])=[O:3]",
    "an acid chloride and an amine":
        "[CH3:1][CH2:2][C:3](=[O:4])[Cl:9].[NH2:5][CH2:6][c:7]1[cH:8][cH:10][cH:11][cH:10][cH:8]1>>"
        "[CH3:1][CH2:2][C:3](=[O:4])[NH:5][CH2:6][c:7]1[cH:8][cH:10][cH:11][cH:10][cH:8]1",
    "a thiol and a bromide":
        "[CH3:1][CH2:2][SH:3].[CH3:4][CH2:5][CH2:6][Br:9]>>[CH3:4][CH2:5][CH2:6][S:3][CH2:2][CH3:1]",
    "a phenol and an iodide":
        "[OH:1][c:2]1[cH:3][cH:4][c:5]([CH3:6])[cH:4][cH:3]1.[CH3:7][I:8]>>"
        "[CH3:7][O:1][c:2]1[cH:3][cH:4][c:5]([CH3:6])[cH:4][cH:3]1",
    "an aldehyde and an amine":
        "[O:1]=[CH:2][c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1.[NH2:7][CH:8]([CH3:9])[CH3:9]>>"
        "[CH3:9][CH:8]([CH3:9])[NH:7][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1",
    "two rings coupled (Suzuki)":
        "[OH:20][B:21]([OH:20])[c:1]1[cH:2][cH:3][cH:4][cH:3][cH:2]1.[Br:22][c:5]1[cH:6][cH:7][n:8][cH:9][cH:10]1>>"
        "[c:1]1(-[c:5]2[cH:6][cH:7][n:8][cH:9][cH:10]2)[cH:2][cH:3][cH:4][cH:3][cH:2]1",
    "a protecting group taken off":
        "[CH3:20][C:21]([CH3:20])([CH3:20])[O:22][C:23](=[O:24])[NH:1][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1."
        "[O:25]=[C:26]([OH:27])[C:28]([F:29])([F:29])[F:29]>>[NH2:1][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1",
    "a nitro group reduced":
        "[CH3:1][c:2]1[cH:3][cH:4][c:5]([N+:6](=[O:20])[O-:21])[cH:4][cH:3]1>>"
        "[CH3:1][c:2]1[cH:3][cH:4][c:5]([NH2:6])[cH:4][cH:3]1",
    "an ester and water":
        "[CH3:20][CH2:21][O:22][C:1](=[O:2])[c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1.[OH2:7]>>"
        "[O:2]=[C:1]([OH:7])[c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1",
    "a ketone reduced":
        "[CH3:1][C:2](=[O:3])[CH2:4][CH2:5][CH3:6].[BH4-:20].[Na+:21]>>[CH3:6][CH2:5][CH2:4][CH:2]([CH3:1])[OH:3]",
    "a ring closed (Diels–Alder)":
        "[CH2:1]=[CH:2][CH:3]=[CH2:4].[CH2:5]=[CH:6][C:7](=[O:8])[O:9][CH3:10]>>"
        "[CH3:10][O:9][C:7](=[O:8])[CH:6]1[CH2:1][CH:2]=[CH:3][CH2:4][CH2:5]1",
    "a sulfonyl chloride and an amine":
        "[CH3:1][S:2](=[O:3])(=[O:3])[Cl:20].[NH2:4][CH2:5][CH2:6][CH3:7]>>"
        "[CH3:7][CH2:6][CH2:5][NH:4][S:2]([CH3:1])(=[O:3])=[O:3]",
    "an amine that is also an alcohol":
        "[NH2:1][CH2:2][CH2:3][OH:4].[CH3:5][C:6](=[O:7])[Cl:20]>>[CH3:5][C:6](=[O:7])[NH:1][CH2:2][CH2:3][OH:4]",
    "one of two fluorines replaced":
        "[CH3:1][CH:2]([CH3:1])[SH:4].[F:20][c:5]1[n:6][cH:7][cH:8][cH:9][c:10]1[F:11]>>"
        "[CH3:1][CH:2]([CH3:1])[S:4][c:5]1[n:6][cH:7][cH:8][cH:9][c:10]1[F:11]",
    "an epoxide opened":
        "[CH3:1][NH:2][CH3:1].[CH2:3]1[O:4][CH:5]1[CH3:6]>>[CH3:6][CH:5]([OH:4])[CH2:3][N:2]([CH3:1])[CH3:1]",
    "a ketone and a Grignard reagent":
        "[CH3:1][CH2:2][Mg:20][Br:21].[O:3]=[C:4]1[CH2:5][CH2:6][CH2:7][CH2:6][CH2:5]1>>"
        "[CH3:1][CH2:2][C:4]1([OH:3])[CH2:5][CH2:6][CH2:7][CH2:6][CH2:5]1",
}
ATOM = re.compile(r"\[([A-Z][a-z]?|[a-z])(H\d?)?([+-]?):(\d+)\]")
BARE = "B C N O P S F I Cl Br b c n o p s".split()  # atoms that need no brackets


class Known(NamedTuple):
    """A reaction whose answer is known.

    tokens: list of str, with the two marks
    ids:    (1, T)
    atom:   list of str, T long: the number of each atom, None for all other tokens
    arrow:  the place of >>
    """

    tokens: list
    ids: torch.Tensor
    atom: list
    arrow: int

    def was(self, i, j):
        """Is the token at place i the atom of the reactants that the product's atom at place j was?"""
        return i < self.arrow and self.atom[i] == self.atom[j]

    def product(self):
        """The places of the product's atoms."""
        return [j for j in range(self.arrow, len(self.tokens)) if self.atom[j]]

    def reactants(self):
        """The places of the reactants' atoms."""
        return [i for i in range(self.arrow) if self.atom[i]]


def _known(mapped):
    numbered = []

    def bare(match):
        name, hydrogens, charge, number = match.groups()
        numbered.append(number)
        return name if not charge and name in BARE else f"[{name}{hydrogens or ''}{charge}]"

    tokens = reactions.tokens(ATOM.sub(bare, mapped))
    numbers = iter(numbered)
    atom = [next(numbers) if re.match(r"\[[A-Z][a-zH\d]*[+-]?\]$|[A-Za-z]", token) and token not in ("[CLS]", "[SEP]")
            else None for token in tokens]
    return Known(tokens, reactions.numbers(tokens), atom, tokens.index(">>"))


@cache
def known():
    """The sixteen reactions, {name: Known}."""
    return {name: _known(mapped) for name, mapped in MAPPED.items()}


@torch.no_grad()
def looks(model, ids):
    """Where each head looks each time the layer is applied: ids (1, T) -> (12, H, T, T)."""
    x, seen = model.embed(ids), []
    for _ in range(reactions.DEPTH):
        seen.append(next(iter(attention_patterns(model.layer, x).values()))[0])
        x = model.layer(x)
    return torch.stack(seen)


def right(choose, among=None):
    """The share of the 139 product atoms for which an atom of the reactants is chosen that it was.

    choose: choose(reaction, j) -> the place chosen for the product's atom at place j
    among:  names of reactions, all as a rule
    """
    hits = [one.was(choose(one, j), j) for name, one in known().items() if not among or name in among
            for j in one.product()]
    return sum(hits) / len(hits)


def share_of(one, choose):
    """The share of a reaction's product atoms for which the right atom of the reactants is chosen: as for `right`."""
    return sum(one.was(choose(one, j), j) for j in one.product()) / len(one.product())


def most_looked_at(model, application, head):
    """A way to choose: the reactants' atom that has most weight of a head, both counted from 1."""
    @cache
    def of(tokens):
        return looks(model, reactions.numbers(tokens))[application - 1, head - 1]

    def choose(one, j):
        weights = of(tuple(one.tokens))[j]
        return max(one.reactants(), key=lambda i: weights[i].item())

    return choose


def share_by_head(model, atoms_only=False):
    """The share of product atoms that look most at the atom they were: (12, H), for each application and head.

    atoms_only: choose among the reactants' atoms, and not among all tokens
    """
    hits = []
    for one in known().values():
        weights = looks(model, one.ids)[:, :, one.product()]  # (12, H, P, T)
        if atoms_only:
            away = [i for i in range(len(one.tokens)) if i not in one.reactants()]
            weights[..., away] = -1
        most = weights.argmax(-1)
        hits.append(torch.stack([torch.tensor([[one.was(i, j) for i in row] for row in heads.tolist()])
                                 for heads, j in zip(most.permute(2, 0, 1), one.product(), strict=True)]))
    return torch.cat(hits).float().mean(0)


def in_order(one, j):
    """A rival without a model: the k-th carbon of the product was the k-th carbon of the reactants."""
    nth = [k for k in one.product() if one.tokens[k] == one.tokens[j]].index(j)
    alike = [i for i in one.reactants() if one.tokens[i] == one.tokens[j]]
    return alike[nth] if nth < len(alike) else 0


@cache
def _aligned(tokens, arrow):
    """The place of each product token in the reactants, by the longest pieces of text that both have."""
    left, right, place = list(tokens[:arrow]), list(tokens[arrow + 1:]), {}
    while (piece := difflib.SequenceMatcher(None, left, right, autojunk=False).find_longest_match()).size:
        for k in range(piece.size):
            place[arrow + 1 + piece.b + k] = piece.a + k
            left[piece.a + k], right[piece.b + k] = object(), object()  # each only once
    return place


def by_text(one, j):
    """A stronger rival: the longest piece of text that both sides have, then the next longest, each used once."""
    return _aligned(tuple(one.tokens), one.arrow).get(j, 0)


# Six mistakes that raise no error, as changes of a layer that is loaded

def _other_eps(layer):
    layer.norm1.eps = layer.norm2.eps = 1e-5


def _other_heads(layer):
    layer.self_attn.num_heads, layer.self_attn.d_head = 4, 64


def _exchanged(layer):
    layer.self_attn.W_q, layer.self_attn.W_k = layer.self_attn.W_k, layer.self_attn.W_q


def _other_norms(layer):
    layer.norm1, layer.norm2 = layer.norm2, layer.norm1


def _nonlinearity(between):
    def change(layer):
        layer.ff.forward = lambda x: layer.ff.linear2(between(layer.ff.linear1(x)))
    return change


MISTAKES = {"eps": _other_eps, "heads": _other_heads, "exchanged": _exchanged, "norms": _other_norms,
            "ReLU": _nonlinearity(F.relu), "tanh": _nonlinearity(lambda h: F.gelu(h, approximate="tanh"))}
COPIES = {"A": "tanh", "B": "heads", "C": "norms", "D": "ReLU", "E": "eps", "F": "exchanged"}


def copy_of(letter):
    """A copy of the reader that somebody else has loaded, with one of the six mistakes."""
    model = reactions.load()
    MISTAKES[COPIES[letter]](model.layer)
    return model


@torch.no_grad()
def gap(model):
    """The largest difference to Hugging Face's vectors of three reactions."""
    ends = []
    for row in reactions.reference():
        hidden = model(torch.tensor([row["ids"]]))[0]
        ends += [hidden[0] - row["first"], hidden[-1] - row["last"]]
    return torch.stack(ends).abs().max().item()


@torch.no_grad()
def stages(model):
    """What the first application of the layer makes of a reaction, step by step: {stage: tensor}."""
    layer, x = model.layer, model.embed(torch.tensor([reactions.reference()[1]["ids"]]))
    attended = layer.self_attn(x, x, x)
    middle = layer.norm1(x + attended)
    return {"queries": layer.self_attn.W_q(x), "attention": attended, "first norm": middle,
            "feed-forward": layer.ff(middle), "second norm": layer.norm2(middle + layer.ff(middle))}


def departs(model):
    """How far a copy is from a right one after each stage: {stage: largest difference}, on values of about one."""
    right = stages(reactions.load())
    return {stage: (value - right[stage]).abs().max().item() for stage, value in stages(model).items()}


def healed(names):
    """The letters of the copies that the guesses name rightly: names, a list, of A to F."""
    return [letter for letter, name in zip(COPIES, names, strict=True) if COPIES[letter] == name]


# Heads cut

@torch.no_grad()
def hidden_tokens(model):
    """Hide each token of each product, one at a time: (share guessed rightly, mean loss)."""
    losses, hits = [], []
    mask = reactions.vocabulary().index("[MASK]")
    for one in known().values():
        places = torch.arange(one.arrow + 1, len(one.tokens) - 1)
        ids, rows = one.ids.repeat(len(places), 1), torch.arange(len(places))
        ids[rows, places] = mask
        logits = model.guess(ids)[rows, places]  # (P, 591)
        losses.append(F.cross_entropy(logits, one.ids[0, places], reduction="none"))
        hits.append(logits.argmax(-1) == one.ids[0, places])
    return torch.cat(hits).float().mean().item(), torch.cat(losses).mean().item()


def without(model, head, times=range(1, 13), noise=False):
    """What `hidden_tokens` says without a head, counted from 1.

    times: in which of the twelve applications it is cut, counted from 1
    noise: random numbers of the same length per token in its place, and not zeros
    """
    wide, at = reactions.D_MODEL // reactions.NUM_HEADS, [0]
    part, generator = slice(wide * (head - 1), wide * head), torch.Generator().manual_seed(0)

    def instead(_, given):
        at[0] = at[0] % reactions.DEPTH + 1
        if at[0] not in times:
            return None
        x = given[0].clone()  # (B, T, 256)
        random = F.normalize(torch.randn(x[..., part].shape, generator=generator), dim=-1).to(x)
        x[..., part] = noise * random * x[..., part].norm(dim=-1, keepdim=True)
        return (x,)

    hook = model.layer.self_attn.W_o.register_forward_pre_hook(instead)
    try:
        return hidden_tokens(model)
    finally:
        hook.remove()


@cache
def _model():
    return reactions.load()


@cache
def _looked():
    return share_by_head(_model())


def measured(application, head):
    """Without a head in one application, or in all twelve of them (0)."""
    times = [application] if application else range(1, 13)
    (guessed, loss), (_, with_noise) = (without(_model(), head, times, noise) for noise in (False, True))
    looked = _looked()[application - 1, head - 1] if application else _looked()[:, head - 1].max()
    return {"finds the atom": looked.item(), "guessed without": guessed, "loss without": loss,
            "loss with noise": with_noise}


PLANS = {"15-cuts": Plan(
    about="a reader of reactions: the share of atoms at which each head looks rightly, and its guesses of hidden "
          "tokens without the head, or with noise of equal length in its place; application 0 stands for all twelve",
    minutes=4, measure=measured, near={"loss without": 0.01, "loss with noise": 0.02},
    points=grid(application=range(13), head=range(1, 9)),
    sides=(dict(application=0, head=6), dict(application=0, head=7)))}
