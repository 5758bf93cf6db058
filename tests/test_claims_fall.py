"""A claim that cannot fail is worse than none: edits of the code above it, rivals among them, and the claim that falls.
"""

import pytest

from course_lib.staff import claims, refuting
from course_lib.staff.lesson_text import ROOT, lesson_stems, read_lesson
from tests import refuted
from tests.refuted import falls_or_is_said_not_to

FROM_11 = "11"  # these have a file of their own, so that two processes share the work
NEW_FORM = [stem for stem in lesson_stems()
            if "\nclaim(" in (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")]


EARLY = [pytest.param(edit, id=str(edit)) for edit in refuting.edits() if edit.stem < FROM_11]


@pytest.mark.parametrize("edit", EARLY)
def test_a_claim_falls_when_the_code_above_it_is_changed(edit, monkeypatch, tmp_path):
    """A condition that no run could have refuted, or an explanation that no run has told from a better one."""
    falls_or_is_said_not_to(edit, monkeypatch, tmp_path)


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


@pytest.mark.parametrize(("mark", "tried"), [("as it is", 0), ("as it was", 2)])
def test_a_rival_is_tried_where_something_has_changed(monkeypatch, mark, tried):
    """A list of blind claims that is out of date, or that takes a quarter of an hour each time."""
    falling = refuting.Edit("04_scaling", "it holds", "1", "2", "it is two")
    standing = falling._replace(claim="and so", said="we cannot tell")
    monkeypatch.setattr(refuting, "edits", lambda: [falling, standing])
    monkeypatch.setattr(refuting, "seen", lambda: {
        str(edit): refuting.Seen(mark, str(edit), "quick") for edit in (falling, standing)})
    monkeypatch.setattr(refuting, "fingerprint", lambda edit: "as it is")
    asked = []
    monkeypatch.setattr(refuting, "falls", lambda edit: asked.append(edit) or edit == falling)
    assert [edit for edit, _ in refuting.blind()] == [standing]
    assert len(asked) == tried


def test_an_edit_that_cannot_be_made_is_one_line():
    """A traceback for a slip of an author."""
    for claim, out in (("no such claim", "x"), ("the stone scores below 0", "no such line")):
        with pytest.raises(refuting.RefutingError) as error:
            refuting.falls(refuting.Edit("04_scaling", claim, out, ""))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("pace", ["slow", "quick"])
def test_an_edit_is_tried_again_as_soon_as_something_changes(pace, monkeypatch, tmp_path):
    """An edit that was seen to fall once, under other code, other data or another torch, and was never tried again."""
    edits = {str(edit): edit for edit in refuting.edits()}
    assert set(refuting.seen()) <= set(edits), "run python -m tests.refuted"
    edit = next(edits[name] for name, found in refuting.seen().items() if found.pace == pace and not edits[name].said)
    tried, mark = [], refuting.fingerprint(edit)
    assert refuting.fingerprint(edit._replace(into=edit.into + "  # more")) != mark
    assert refuting.fingerprint(edit._replace(said="it may stand")) != mark
    with monkeypatch.context() as other:
        other.setattr(refuting, "_data", lambda: {})
        assert refuting.fingerprint(edit) != mark
    with monkeypatch.context() as other:
        other.setattr(refuting.torch, "__version__", "0")
        assert refuting.fingerprint(edit) != mark
    with monkeypatch.context() as other:
        other.setattr(refuting, "_syntax", lambda path: "changed")
        assert refuting.fingerprint(edit) != mark
    monkeypatch.setattr(refuting, "falls", lambda edit: tried.append(edit) or True)
    monkeypatch.setattr(refuting, "seen", lambda: {str(edit): refuting.Seen(mark, str(edit), pace)})
    monkeypatch.setattr(refuted, "is_due", lambda name: False)
    with pytest.raises(pytest.skip.Exception):
        falls_or_is_said_not_to(edit, monkeypatch, tmp_path)
    monkeypatch.setenv("COURSE_REFUTE_ALL", "1")
    falls_or_is_said_not_to(edit, monkeypatch, tmp_path)
    monkeypatch.delenv("COURSE_REFUTE_ALL")
    monkeypatch.setattr(refuting, "seen", lambda: {str(edit): refuting.Seen("another", str(edit), pace)})
    falls_or_is_said_not_to(edit, monkeypatch, tmp_path)
    monkeypatch.setattr(refuting, "seen", lambda: {str(edit): refuting.Seen(mark, str(edit), "quick")})
    monkeypatch.setattr(refuted, "is_due", lambda name: True)
    falls_or_is_said_not_to(edit, monkeypatch, tmp_path)
    assert tried == [edit] * 3
