"""What lesson 11b measures with: BLEU, the tree of a beam, people as objects, patients."""

import random

import pytest
import sacrebleu
import torch

from course_lib.data.small_french import NAMES, PEOPLE, PRONOUNS, THINGS, people_as_objects, splits
from course_lib.decoding import beam_search
from course_lib.experiments import patients
from course_lib.experiments.beam_tree import traced
from course_lib.experiments.bleu import corpus_bleu
from tests.right_answers import RIGHT_ANSWERS


@pytest.mark.parametrize("seed", range(5))
def test_bleu_is_sacrebleu_s(seed):
    """A count that is not clipped, a penalty for what is long, a mean of means."""
    chance = random.Random(seed)
    references = [chance.choices("a b c d".split(), k=chance.randint(4, 12)) for _ in range(30)]
    said = [[word for word in words if chance.random() < 0.9] or ["a"] for words in references]
    said = [words + ["d"] * chance.randint(0, seed) for words in said]
    joined = [[" ".join(words) for words in lines] for lines in (said, references)]
    theirs = sacrebleu.corpus_bleu(joined[0], [joined[1]], tokenize="none").score
    assert corpus_bleu(said, references) == pytest.approx(theirs, abs=1e-9) and 5 < theirs < 100


def test_bleu_of_no_fours_is_zero():
    """A logarithm of zero."""
    assert corpus_bleu([["a", "b", "c"]], [["a", "b", "c"]]) == 0


FRUIT = ["<sos>", "<eos>", "a", "an", "pear", "plum", "fig", "apple"]


def after(prefixes):
    chances = torch.full((8, 8), 1e-9)
    chances[0, [2, 3]] = torch.tensor([0.6, 0.4])
    chances[2, [4, 5, 6]] = torch.tensor([0.4, 0.35, 0.25])
    chances[3, 7] = chances[4:, 1] = 1.0
    return chances[prefixes[:, -1]].log()


@pytest.mark.parametrize("beam", [beam_search, *RIGHT_ANSWERS["beam_search"].values()])
def test_the_tree_is_that_of_the_search_whoever_wrote_it(beam):
    """Nodes that the beam never held; a winner that is another one than the search's."""
    tree = traced(beam, after, FRUIT, 0, 1, 2, 5)
    assert [(step, word) for step, word, _, _, _, best in tree if best] == [
        (0, "<sos>"), (1, "an"), (2, "apple"), (3, "<eos>")]
    assert [word for step, word, _, _, kind, _ in tree if kind == "open"] == ["<sos>", "a", "an", "apple", "pear"]
    assert [round(score, 2) for _, _, _, score, kind, _ in tree if kind == "ended"] == [-0.92, -1.43]
    assert all(tree[parent][0] == step - 1 for step, _, parent, *_ in tree if parent is not None)


def test_people_as_objects_are_new_in_that_alone():
    """A word that training does not have, a sentence that it has, or a thing among the people."""
    train, pairs = splits()["train"], people_as_objects(200)
    known = {word for pair in train for word in pair.french}
    people = {form for noun, its in PEOPLE.items() for form in (noun, its.plural)}
    assert {word for pair in pairs for word in pair.french} <= known
    assert not {pair.french for pair in pairs} & {pair.french for pair in train}
    assert not {form for noun, its in THINGS.items() for form in (noun, its.plural)} & {
        word for pair in pairs for word in pair.french}
    subjects = {*NAMES, *PRONOUNS}  # where one of these does it, the person is the object
    done_to = [pair for pair in pairs if subjects & set(pair.french)]
    assert len(done_to) > 50 and all(people & set(pair.french) for pair in done_to)
    assert people_as_objects(3) == pairs[:3]


@pytest.mark.parametrize("letter", patients.WARD)
def test_each_patient_has_one_wrong_part(letter):
    """A patient that is healthy, or has two bugs."""
    parts, T = patients.admitted(letter), 4
    labels, x = torch.tensor([[5, 6, 7, 2]]), torch.randn(2, 3)
    given = {"mask": (T,), "shown": (labels,), "place": (T,), "join": (x, 2 * x), "query": (x,)}
    differ = [part for part, arguments in given.items() if not torch.equal(
        getattr(parts, part)(*arguments).float(), getattr(patients.HEALTHY, part)(*arguments).float())]
    assert differ == [patients.WARD[letter]]
