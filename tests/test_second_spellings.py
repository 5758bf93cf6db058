"""Mistakes as other people write them: a mistake is kept as an edit, and is to be known in other words as well.

A module of tests/second_spellings holds three dicts, by exercise and by the id of a mistake:

SPELLINGS  answers that the engine knows by that id
UNNAMED    (answer, why): fair spellings that it does not know, and says nothing false of; and behind these two, the ids
           of the mistakes that it takes them for where two are made at once
MISNAMED   (answer, another id, why): fair spellings that it takes for another mistake; a module may do without this one
"""

import pkgutil
from importlib import import_module

import pytest

from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook.card import card_rows
from tests import second_spellings

MODULES = [import_module(f"{second_spellings.__name__}.{module.name}")
           for module in pkgutil.iter_modules(second_spellings.__path__) if module.name.startswith("lesson_")]


def entries(kind):
    """What the dicts of that name hold, as pytest's parameters (exercise, id of a mistake, entry)."""
    return [pytest.param(name, mistake, entry, id=f"{name}-{mistake}") for module in MODULES
            for name, of_exercise in getattr(module, kind, {}).items() for mistake, entry in of_exercise.items()]


def named(verdict):
    """Ids that a verdict gives: the mistakes that fit, two that were made together, or the closest one."""
    return [m.name for m in verdict.named]


def others_on_the_card(verdict, mistake):
    """Ids of mistakes, other than this one, that the card gives as a cause. Chance is none: it is seen, not guessed."""
    causes = [text for label, text in card_rows(verdict) if label in ("Likely cause", "Or", "One cause", "And another")]
    return [m.name for m in verdict.exercise.mistakes if m.says in causes and m.name != mistake]


@pytest.mark.parametrize("name, mistake, answer", entries("SPELLINGS"))
def test_a_mistake_in_other_words_is_named(name, mistake, answer):
    """A catalogue tested with its own edits alone, which knows them and nobody's code."""
    verdict = judge(EXERCISES[name], answer)
    assert verdict.status == "wrong"
    assert named(verdict) == [mistake]


@pytest.mark.parametrize("name, mistake, entry", entries("UNNAMED"))
def test_what_is_not_known_gets_no_other_name(name, mistake, entry):
    """A card that gives a false cause, for want of the true one."""
    answer, _, *both = entry
    verdict = judge(EXERCISES[name], answer)
    assert verdict.status == "wrong"
    assert {*others_on_the_card(verdict, mistake)} == {*both} - {mistake}


@pytest.mark.xfail(reason="these are taken for another mistake", strict=True)
@pytest.mark.parametrize("name, mistake, entry", entries("MISNAMED"))
def test_what_is_like_another_mistake_does_not_get_its_name(name, mistake, entry):
    """A cause on the card that is true of somebody else's answer; once it is gone, the spelling moves to the others."""
    answer, *_ = entry
    assert others_on_the_card(judge(EXERCISES[name], answer), mistake) == []


@pytest.mark.parametrize("name, mistake, entry", entries("MISNAMED"))
def test_a_false_name_is_the_one_that_is_written_down(name, mistake, entry):
    """A wrong answer that passes for right, or a false cause that has become another one unnoticed."""
    answer, other, _ = entry
    verdict = judge(EXERCISES[name], answer)
    assert verdict.status == "wrong"
    assert others_on_the_card(verdict, mistake) == [other]


def test_every_spelling_is_of_a_mistake_that_exists():
    """A renamed mistake, or a misspelt id, whose spelling could never be named."""
    every = [*entries("SPELLINGS"), *entries("UNNAMED"), *entries("MISNAMED")]
    ids = {name: {m.name for m in exercise.mistakes} for name, exercise in EXERCISES.items()}
    assert [p.id for p in every if p.values[1] not in ids[p.values[0]]] == []


def test_there_are_hundreds_of_spellings():
    """A folder that pkgutil no longer finds, so that nothing at all is tested."""
    assert len(entries("SPELLINGS")) >= 300
