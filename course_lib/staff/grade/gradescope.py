"""The one submission of a Gradescope autograder, in the form of its results.json."""

import json

from course_lib.staff.grade.markup import MARKS
from course_lib.staff.grade.policy import PolicyError
from course_lib.staff.grade.tables import one_line, whole_file


def write_results_json(rows, path):
    """Write a test for each exercise, with the points and what the student is told.

    rows:   the Rows of the report
    path:   such as results.json in the folder where Gradescope looks for it
    raises: PolicyError, where there is more than one student
    """
    rows = list(rows)
    students = {row.student for row in rows}
    if len(students) != 1:
        raise PolicyError(f"--gradescope is for the one submission of an autograder, and this report has "
                          f"{len(students)} students: give it a report of its own with -o.")
    tests = [{"name": row.exercise, "score": row.points, "max_score": row.max_points,
              "output": one_line(f"{MARKS[row.verdict][1]}. {row.reason}".strip(), 1000)} for row in rows]
    with whole_file(path) as file:
        json.dump({"tests": tests}, file, indent=1, ensure_ascii=False)
