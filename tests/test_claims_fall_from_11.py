"""The claims of lesson 11 and all after it, under the edits that refute them: as in test_claims_fall.py."""

import pytest

from course_lib.staff import refuting
from tests.refuted import falls_or_is_said_not_to
from tests.test_claims_fall import FROM_11

LATE = [pytest.param(edit, id=str(edit)) for edit in refuting.edits() if edit.stem >= FROM_11]


@pytest.mark.parametrize("edit", LATE)
def test_a_claim_falls_when_the_code_above_it_is_changed(edit, monkeypatch, tmp_path):
    """A condition that no run could have refuted, or an explanation that no run has told from a better one."""
    falls_or_is_said_not_to(edit, monkeypatch, tmp_path)
