"""List all claims of the course, each with the line that proves it.

    python -m course_lib.staff.claims [LESSON ...]
    python -m course_lib.staff.claims --blind         the claims that a rival explanation leaves standing
"""

import sys

from course_lib.staff import refuting
from course_lib.staff.lesson_text import lesson_stems, number_of, read_lesson
from course_lib.staff.syllabus import claims_of


def main(numbers):
    """Print the claims of these lessons, or of all, or those that cannot tell a rival apart."""
    if numbers == ["--blind"]:
        return _blind()
    unknown = set(numbers) - {number_of(stem) for stem in lesson_stems()}
    if unknown:
        print(*(f"there is no lesson {n} in solutions/" for n in sorted(unknown)), sep="\n", file=sys.stderr)
        return 1
    lessons = [read_lesson(stem) for stem in lesson_stems() if not numbers or number_of(stem) in numbers]
    found = [(lesson.where(cell), says) for lesson in lessons for cell, says in claims_in(lesson)]
    print(*(f"{where}: {says}" for where, says in found), f"{len(found)} claims", sep="\n")
    return 0


def claims_in(lesson):
    """[(cell, claim)] in the order of the lesson; a claim is a sentence, or in an older lesson a name."""
    return [(cell, says) for cell in lesson.cells if cell.kind == "code" for says in claims_of(cell.source)]


def _blind():
    """Run every rival. The exit status is 1 where a lesson is silent about one that it cannot tell apart."""
    found = refuting.blind()
    print(*(f"{edit}: {why}" for edit, why in found), f"{len(found)} claims stand under a rival", sep="\n")
    return 1 if any(not edit.said for edit, _ in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
