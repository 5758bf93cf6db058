"""Lesson 15: reactions put together by a rule, which therefore knows where each atom of the product was before."""

import random
from functools import cache

from course_lib.experiments.atoms import Known
from course_lib.pretrained import reactions

# A group as it is written before its bond and after it; the digits number its atoms, alike where they cannot be told
# apart.
GROUPS = (("C", "1", "C", "1"), ("CC", "21", "CC", "12"), ("CCC", "321", "CCC", "123"),
          ("CCCC", "4321", "CCCC", "1234"), ("CC(C)", "212", "C(C)C", "122"), ("CC(C)(C)", "2122", "C(C)(C)C", "1222"),
          ("c1ccccc1", "234321", "c1ccccc1", "123432"), ("c1ccccc1C", "3454321", "Cc1ccccc1", "1234543"),
          ("COCC", "4321", "CCOC", "1234"), ("C=CC", "321", "CC=C", "123"),
          ("FC(F)(F)C", "32331", "CC(F)(F)F", "12333"), ("N#CC", "321", "CC#N", "123"),
          ("c1ccoc1", "23451", "c1ccco1", "12345"))
# What stands between two groups: at the end of the first reactant, at the end of the second, in the product, and in
# the product written from its other end; letters number the atoms, and - are atoms that leave.
KINDS = {"an acid chloride and an amine": ("C(=O)Cl", "xy-", "N", "z", "C(=O)N", "xyz", "NC(=O)", "zxy"),
         "an acid chloride and an alcohol": ("C(=O)Cl", "xy-", "O", "z", "C(=O)O", "xyz", "OC(=O)", "zxy"),
         "a sulfonyl chloride and an amine":
             ("S(=O)(=O)Cl", "xyy-", "N", "z", "S(=O)(=O)N", "xyyz", "NS(=O)(=O)", "zxyy"),
         "an isocyanate and an amine": ("N=C=O", "xyw", "N", "z", "NC(=O)N", "xywz", "NC(=O)N", "zywx"),
         "an aldehyde and an amine": ("C=O", "x-", "N", "z", "CN", "xz", "NC", "zx"),
         "a thiol and a bromide": ("S", "x", "Br", "-", "S", "x", "S", "x"),
         "an amine and a bromide": ("N", "x", "Br", "-", "N", "x", "N", "x")}


def _numbered(text, numbers, of):
    """Tokens with the names of their atoms: [(token, name or None)]."""
    names, tokens = iter(numbers), reactions.TOKEN.findall(text)
    return [(token, of + next(names)) if token[0].isalpha() else (token, None) for token in tokens]


def _one(chance):
    """(is the product written from its other end?, reactants, product), the two as numbered tokens."""
    first, first_names, second, second_names, *products = KINDS[chance.choice(list(KINDS))]
    a, b = chance.sample(GROUPS, 2)
    one = _numbered(*a[:2], "a") + _numbered(first, first_names, "core ")
    other = _numbered(second, second_names, "core ") + _numbered(*b[2:], "b")
    if chance.random() < 0.5:
        other = _numbered(*b[:2], "b") + _numbered(second, second_names, "core ")
    left = [one, other] if chance.random() < 0.5 else [other, one]
    if turned := chance.random() < 0.5:
        right = _numbered(*b[:2], "b") + _numbered(*products[2:], "core ") + _numbered(*a[2:], "a")
    else:
        right = _numbered(*a[:2], "a") + _numbered(*products[:2], "core ") + _numbered(*b[2:], "b")
    return turned, [*left[0], (".", None), *left[1]], right


@cache
def drawn(n=500, seed=0):
    """n different reactions: [(is the product written from its other end?, Known)]."""
    chance, found = random.Random(seed), {}
    while len(found) < n:
        turned, left, right = _one(chance)
        tokens, atom = zip(("[CLS]", None), *left, (">>", None), *right, ("[SEP]", None), strict=True)
        known = Known(list(tokens), reactions.numbers(tokens), list(atom), tokens.index(">>"))
        found.setdefault("".join(tokens), (turned, known))
    return list(found.values())
