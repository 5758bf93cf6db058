"""A claim that cannot fail is worse than none: edits of the code above it, rivals among them, and the claim that falls.
"""

import functools

import pytest

from course_lib.experiments import language, training_loop, twins
from course_lib.staff import claims, refuting
from course_lib.staff.lesson_text import ROOT, lesson_stems, read_lesson

FITTED = functools.cache(twins.fitted)  # of the same reviews it is the same each time; to fit it takes 7 seconds
LEARNED = {}  # what came out of a training of lessons 11 and 12, which takes half a minute, by all that went in
NEW_FORM = [stem for stem in lesson_stems()
            if "\nclaim(" in (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")]


def learned(loop, model, batches, optimizer, schedule, says="", whole=training_loop.losses_of):
    """As losses_of: the same training is not run twice."""
    given = (len(batches), loop.__code__.co_code, loop.__code__.co_names,
             *(tensor.double().sum().item() for tensor in (*model.parameters(), *next(iter(batches)))))
    if given not in LEARNED:
        losses = whole(loop, model, batches, optimizer, schedule)
        LEARNED[given] = losses, {name: value.clone() for name, value in model.state_dict().items()}
    losses, weights = LEARNED[given]
    model.load_state_dict(weights)
    return losses


def read(tokens, steps, seed, *sizes, whole=language.trained, **named):
    """As language.trained: the same training is not run twice."""
    given = (tokens.double().std().item(), steps, seed, sizes, tuple(named.items()))
    if given not in LEARNED:
        LEARNED[given] = whole(tokens, steps, seed, *sizes, **named)
    return LEARNED[given]


@pytest.mark.parametrize("edit", [pytest.param(edit, id=str(edit)) for edit in refuting.edits()])
def test_a_claim_falls_when_the_code_above_it_is_changed(edit, monkeypatch, tmp_path):
    """A condition that no run could have refuted, or an explanation that no run has told from a better one."""
    monkeypatch.setattr(twins, "fitted", FITTED)
    monkeypatch.setattr(training_loop, "losses_of", learned)
    monkeypatch.setattr(language, "trained", read)
    monkeypatch.chdir(tmp_path)
    assert refuting.falls(edit) is (edit.said is None)
    text = " ".join(" ".join(cell.source.split()) for cell in read_lesson(edit.stem).cells if cell.kind == "markdown")
    assert edit.said is None or edit.said in text, "the lesson does not say so"


@pytest.mark.parametrize("stem", NEW_FORM)
def test_half_of_the_claims_and_all_verdicts_of_training_meet_their_rival(stem):
    """A lesson whose claims nobody has tried to refute but by breaking its code."""
    made = {says for _, says in claims.claims_in(read_lesson(stem))}
    met = {edit.claim for edit in refuting.edits() if edit.stem == stem and edit.rival}
    assert met <= made
    assert len(met) >= len(made) / 2, sorted(made - met)
    assert not [says for says in made - met if refuting.is_a_verdict_of_training(stem, says)]


DIFF = """About the file.

== it holds
  - x = 1
  + x = 2
rival: it is two
  - x = 1
  + x = 3
said: we cannot tell

== another one
rival: nothing
  - y
  + z
"""


def test_an_edit_is_read_with_its_rival_and_what_the_lesson_says(tmp_path):
    """A rival taken for broken code, or an edit that is silently left out."""
    (tmp_path / "04.diff").write_text(DIFF, encoding="utf-8")
    stem = "04_scaling"
    assert refuting.edits(tmp_path) == [
        refuting.Edit(stem, "it holds", "x = 1", "x = 2"),
        refuting.Edit(stem, "it holds", "x = 1", "x = 3", "it is two", "we cannot tell"),
        refuting.Edit(stem, "another one", "y", "z", "nothing")]


@pytest.mark.parametrize(("said", "status"), [(None, 1), ("we cannot tell", 0)])
def test_a_claim_that_stands_under_its_rival_is_listed(monkeypatch, capsys, said, status):
    """A blind claim that nobody hears of."""
    edit = refuting.Edit("04_scaling", "it holds", "1", "2", "it is two", said)
    monkeypatch.setattr(refuting, "edits", lambda: [edit, edit._replace(rival=None)])
    monkeypatch.setattr(refuting, "falls", lambda edit: False)
    assert claims.main(["--blind"]) == status
    out = capsys.readouterr().out
    assert "04: it holds | it is two: " in out and "1 claims stand" in out and (said or "does not say so") in out


def test_an_edit_that_cannot_be_made_is_one_line():
    """A traceback for a slip of an author."""
    for claim, out in (("no such claim", "x"), ("the stone scores below 0", "no such line")):
        with pytest.raises(refuting.RefutingError) as error:
            refuting.falls(refuting.Edit("04_scaling", claim, out, ""))
        assert "\n" not in str(error.value)
