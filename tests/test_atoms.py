"""Lesson 15's reactions: answers that are possible, rivals that do what they say, copies with one mistake each."""

import pytest
import torch

from course_lib.experiments import atoms
from course_lib.experiments.drawn_reactions import GROUPS, KINDS, drawn
from course_lib.pretrained import reactions


def test_each_atom_of_a_product_was_an_atom_of_the_same_element():
    """A number mistyped in one of sixteen answers, or an atom that comes from nowhere."""
    assert len(atoms.known()) == 16 and sum(len(one.product()) for one in atoms.known().values()) == 139
    for name, one in atoms.known().items():
        assert reactions.vocabulary().index("[UNK]") not in one.ids
        before = {(one.atom[i], one.tokens[i].strip("[]")[:1].upper()) for i in one.reactants()}
        before_bare = [one.atom[i] for i in one.reactants()]
        for j in one.product():
            assert (one.atom[j], one.tokens[j].strip("[]")[:1].upper()) in before, (name, one.tokens[j])
            assert [one.atom[k] for k in one.product()].count(one.atom[j]) <= before_bare.count(one.atom[j]), name


def test_the_same_mapping_as_the_published_program():
    """An answer of our own that chemists do not share: the one reaction that is in the program's own tests, too."""
    one = atoms.known()["one of two fluorines replaced"]
    assert "".join(one.tokens[1:-1]) == "CC(C)S.Fc1ncccc1F>>CC(C)Sc1ncccc1F"
    weights = atoms.looks(reactions.load(), one.ids)[10, 5]
    for j in one.product():
        assert one.atom[max(one.reactants(), key=lambda i, j=j: weights[j, i].item())] == one.atom[j]


def test_rivals_without_a_model():
    """A rival that takes an atom twice, or that finds nothing: too easy to beat."""
    one = atoms.known()["an acid chloride and an amine"]  # the product is written in the order of the reactants
    assert atoms.right(atoms.by_text, ["an acid chloride and an amine"]) == 1
    chosen = [atoms.by_text(one, j) for j in one.product()]
    assert len(set(chosen)) == len(chosen)
    assert atoms.right(lambda one, j: 0) == 0
    assert atoms.right(lambda one, j: next(i for i in one.reactants() if one.atom[i] == one.atom[j])) == 1
    assert atoms.right(atoms.in_order) < atoms.right(atoms.by_text) < 0.9


@pytest.mark.parametrize("letter", list(atoms.COPIES))
def test_each_copy_departs_first_where_its_mistake_is(letter):
    """A copy that is right, or two with the same mistake: nothing to find."""
    first = {"eps": "first norm", "norms": "first norm", "heads": "attention", "exchanged": "queries",
             "ReLU": "feed-forward", "tanh": "feed-forward"}
    off = atoms.departs(atoms.copy_of(letter))
    assert next(stage for stage, far in off.items() if far > 1e-6) == first[atoms.COPIES[letter]]
    assert atoms.gap(atoms.copy_of(letter)) > 1e-5 > atoms.gap(reactions.load())


def test_guesses_are_counted_by_letter():
    """All found, though two are exchanged."""
    right = list(atoms.COPIES.values())
    assert atoms.healed(right) == list("ABCDEF")
    assert atoms.healed([right[3], *right[1:3], right[0], *right[4:]]) == list("BCEF")


def test_a_cut_reaches_the_times_that_are_named_and_is_undone():
    """A hook that counts on from one batch to the next, or stays."""
    model = reactions.load()
    whole = atoms.hidden_tokens(model)
    assert atoms.without(model, 6, []) == whole
    assert atoms.without(model, 6, [12])[1] != whole[1] and atoms.without(model, 6)[0] < whole[0] - 0.1
    assert atoms.hidden_tokens(model) == whole


def test_a_look_is_right_only_at_its_own_atom():
    """Shares that count a look at any carbon."""
    model = reactions.load()
    shares, among_atoms = atoms.share_by_head(model), atoms.share_by_head(model, atoms_only=True)
    assert shares.shape == (12, 8) and torch.all(among_atoms >= shares - 1e-6)
    assert shares[10, 5] > 0.7 > 0.1 > shares[10, 0]
    assert atoms.right(lambda one, j: j) == 0, "an atom of the product is no atom of the reactants"


def test_drawn_reactions_lose_and_gain_no_atom():
    """A group that is numbered otherwise behind its bond than before it, so that a right look counts as wrong."""
    for before, names, after, names_after in GROUPS:
        assert sorted(names) == sorted(names_after) and sorted(before) == sorted(after)
    many = drawn()
    assert len({"".join(one.tokens) for _, one in many}) == 500 and 200 < sum(turned for turned, _ in many) < 300
    for _, one in many:
        before = sorted((one.atom[i], one.tokens[i].upper()) for i in one.reactants())
        after = sorted((one.atom[j], one.tokens[j].upper()) for j in one.product())
        left = [atom for atom in before if atom not in after]
        assert all(atom in before for atom in after) and all(name.startswith("core") for name, _ in left), one.tokens


def test_a_product_from_its_other_end_begins_with_the_other_group():
    """Both halves of the test written in the same order."""
    for turned, one in drawn(60, seed=1):
        named = [name[0] for name in (one.atom[j] for j in one.product()) if name[0] in "ab"]
        assert named == sorted(named, reverse=turned), one.tokens
    assert len(KINDS) == 7 and len(GROUPS) == 13


def test_the_head_is_ahead_of_the_text_on_other_draws_as_well():
    """A verdict of one seed."""
    look = atoms.most_looked_at(reactions.load(), 11, 6)
    for seed in (1, 2):
        both = [[atoms.share_of(one, way) for _, one in drawn(60, seed)] for way in (look, atoms.by_text)]
        head, text = (sum(shares) / 60 for shares in both)
        assert head > 0.85 and head > text + 0.1
