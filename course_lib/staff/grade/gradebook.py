"""A gradebook that a platform has exported, filled in: the same file with our points, to be imported as it is."""

import csv
import re
from collections import Counter
from contextlib import suppress
from io import StringIO

from course_lib.staff.grade.grades import columns
from course_lib.staff.grade.policy import PolicyError
from course_lib.staff.grade.tables import number, whole_file

FILLED, KINDS = "gradebook_filled", (".csv", ".xls", ".tsv", ".txt")
EXCUSED = "EX"  # Canvas's word where a student need not hand in
# The titles by which platforms say whose a line is, and what the roster calls that.
WHO = {"id": ("canvas_id",), "sis user id": ("sis_id", "id"), "sis login id": ("username", "id"),  # Canvas
       "username": ("username", "id"), "student id": ("sis_id", "id"),  # Blackboard
       "orgdefinedid": ("org_id", "id"),  # Brightspace
       "github_username": ("github", "id"), "roster_identifier": ("id", "email", "name"),  # GitHub Classroom
       "id number": ("id",), "email address": ("email",), "email": ("email",)}  # Moodle
# What a column is worth at Blackboard and Brightspace.
WORTH = re.compile(r"\[Total Pts: (?:up to )?([0-9.]+)|<Numeric MaxPoints:([0-9.]+)")
# What stands around its name: Moodle's kind, Blackboard's points and number, Brightspace's kind, Canvas's number.
AROUND = re.compile(r"^Assignment: | \[Total Pts: [^\]]*\](?: \|\d+)?$| Points Grade(?: <[^>]*>)?$| \(\d+\)$")


def fill(graded, worth, settings, folder):
    """Write the filled gradebook into a folder, where the settings name one; one that no longer holds is removed.

    graded, worth: as grades_of gives them
    returns:       sentences for the instructor
    raises:        PolicyError, where the gradebook cannot be used
    """
    there = [folder / f"{FILLED}{kind}" for kind in KINDS]
    exported = settings.gradebook
    new, said = None, []
    if exported:
        kind = exported.suffix.lower()
        new = folder / f"{FILLED}{kind if kind in KINDS else '.csv'}"
        said = _fill(graded, worth, settings, exported, new)
    for old in there:
        if old != new:
            old.unlink(missing_ok=True)
    return said


def _fill(graded, worth, settings, exported, new):
    if exported.resolve() == new.resolve():
        raise PolicyError(f"{exported} is what was filled in: give [gradebook] file the table that your platform has "
                          "exported.")
    text, encoding = _read(exported)
    first, delimiter = text.partition("\n")[0], _delimiter(text)
    try:
        header, *lines = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        raise PolicyError(f"{exported} is no table: export it from your platform again.") from None
    whose = _whose(header, graded, exported)
    places = _places(header, columns(settings, worth), exported, bool(settings.columns))
    seen = set()
    for line in lines:
        if (found := whose(line)) is not None:
            seen.add(found.student)
            for place, parts in places.items():
                points = found.of(parts)
                if points != "" and place < len(line) and line[place].strip().upper() != EXCUSED:
                    line[place] = number(points)
    every_cell_quoted = first.count('"') >= 2 * len(header)
    out = StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if first.endswith("\r") else "\n",
               quoting=csv.QUOTE_ALL if every_cell_quoted else csv.QUOTE_MINIMAL).writerows([header, *lines])
    with whole_file(new, binary=True) as file:
        file.write(out.getvalue().encode(encoding))
    ours = {place: sum(worth[part] for part in parts) for place, parts in places.items()}
    return [*_said(new, exported, [g.student for g in graded], seen),
            *_worth_something_else(header, lines, ours, exported)]


def _read(path):
    """The text of a table, and the encoding that writes it as it was."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"[gradebook] file: {path} cannot be read: {error.strerror}.") from None
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else \
        "utf-8-sig" if data[:3] == b"\xef\xbb\xbf" else "utf-8"
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        raise PolicyError(f"[gradebook] file: {path} is neither in UTF-8 nor in UTF-16: export it from your platform "
                          "again, and do not save it with a spreadsheet.") from None


def _delimiter(text):
    first = text.partition("\n")[0]
    return max("\t,;", key=first.count)


def _whose(header, graded, path):
    """A function that says whose a line is: a Graded, or None."""
    known = {place: _by_name(graded, WHO[title.strip().lower()]) for place, title in enumerate(header)
             if title.strip().lower() in WHO}
    if not known:
        raise PolicyError(f"{path}: no column says whose a line is. There is to be one of Username, Student ID, SIS "
                          "Login ID, OrgDefinedId, github_username, Email address.")

    def whose(line):
        cells = ((names, line[place].strip().lstrip("#").casefold()) for place, names in known.items()
                 if place < len(line))
        return next((names[cell] for names, cell in cells if cell in names), None)

    return whose


def _by_name(graded, keys):
    """{what a platform may write: the student it can only be}; what the first key says counts most."""
    found = {}
    for key in reversed(keys):
        names = Counter(g.known[key].casefold() for g in graded)
        found |= {name: g for g in graded if (name := g.known[key].casefold()) and names[name] == 1}
    return found


def _places(header, titles, path, all_of_them):
    """{number of a column: the exercises and items whose points it holds}."""
    whole = [title.strip() for title in header]
    names = [AROUND.sub("", title) for title in whole]
    places = {}
    for title, parts in titles.items():
        found = [i for i, name in enumerate(whole) if name == title] or \
            [i for i, name in enumerate(names) if name == title]
        if len(found) > 1:
            raise PolicyError(f"{path} has {len(found)} columns named {title}: write the whole title of the right one "
                              f"in [gradebook] columns, such as {whole[found[0]]!r}.")
        if not found and all_of_them:
            raise PolicyError(f"{path} has no column {title}, which [gradebook] columns names; it has "
                              f"{', '.join(names)}.")
        places |= {place: parts for place in found}
    if not places:
        raise PolicyError(f"{path} has no column named after an exercise: say in [gradebook] columns what its columns "
                          f"are to hold; it has {', '.join(names)}.")
    return places


def _said(new, exported, students, seen):
    missing = [student for student in students if student not in seen]
    some = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    return [f"Written: {new}, with the points of {len(seen)} students.",
            *([f"Not in {exported.name}, so without points there: {some}."] if missing else [])]


def _worth_something_else(header, lines, ours, exported):
    """A sentence for each column that is worth more or less on the platform than here."""
    of_canvas = next((line for line in lines if line and "Points Possible" in line[0]), ())
    for place, points in ours.items():
        found = WORTH.search(header[place])
        theirs = found[1] or found[2] if found else of_canvas[place] if place < len(of_canvas) else ""
        with suppress(ValueError):
            if float(theirs) != points:
                yield (f"{AROUND.sub('', header[place])} is worth {theirs} points in {exported.name} and "
                       f"{number(points)} here; the points are written as they are.")
