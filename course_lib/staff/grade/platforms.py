"""Whose a file is, by the names that learning platforms give to what they hand out."""

import re
from dataclasses import dataclass

import yaml

from course_lib.staff.grade.names import NOTEBOOK, OTHER_ARCHIVE, SCRIPT, ZIP, printable, without_suffix

MOODLE = re.compile(r"(?P<who>.+_[0-9]+)_assignsubmission_[a-z]+(?:_|$)", re.DOTALL)
CANVAS = re.compile(r"(?:(?P<name>.+?)(?:_LATE)?_(?P<number>[0-9]{2,})|(?:LATE_)?(?P<anonymous>anon_[0-9A-Za-z]+))"
                    r"_(?:(?P<file>[0-9]{3,})_(?=.)|(?:text|link)$)", re.DOTALL)
BLACKBOARD = re.compile(r"(?P<who>.+)_attempt_(?P<when>[0-9]{4}(?:-[0-9]{2}){5})(?:_(?=.)|$)", re.DOTALL)
BRIGHTSPACE = re.compile(r"(?P<number>[0-9]+)-[0-9]+ - (?P<name>.+?) - [^-]*\b[0-9]{4}\b[^-]*?(?: - (?=.)|$)",
                         re.DOTALL)
GRADESCOPE = re.compile(r"submission_[0-9]+$")
METADATA = "submission_metadata.yml"  # Gradescope's table of who handed in what
CONTENTS = "index.html"  # Brightspace's
OLDER = "is of an older attempt, and was not read: the newest one counts"


@dataclass(frozen=True)
class Theirs:
    """What one student handed in: pairs (name, is_folder) to read, and those of older attempts."""

    tops: tuple
    older: tuple = ()


def students(tops, submitters):
    """Whose is what: {student's id: Theirs}, sorted by id.

    tops:       (name, is_folder) of everything at the top of a batch
    submitters: what `submitters` has found in Gradescope's table, {} where there is none

    A student's id is the name, of a file without its suffix: `alice.ipynb` and `alice/` are one student's. Where a
    platform has named a file, it is whoever the platform names: `Jo Ann_12` of Moodle, `doejane_123` of Canvas, `jdoe`
    of Blackboard, `Jo Ann_12345` of Brightspace; of Gradescope the student's number, else the address or the name, and
    what a group handed in is everybody's. Names that differ in case, accents or spaces are different students.
    """
    senders, found = _Senders(tops, submitters), {}
    for top in sorted(tops):
        for who in senders.of(top):
            found.setdefault(printable(who), []).append(top)
    return {who: _newest(found[who]) for who in sorted(found)}


def is_sent(name):
    """Has a platform given a folder its name? Then it is one student's, and never holds all of them."""
    return any(platform.match(name) for platform in (MOODLE, BRIGHTSPACE, GRADESCOPE))


def is_download(tops):
    """Is this, from the names at its top, what a platform hands out for a whole class?"""
    return bool(tops) and _Senders(tops, {}).are_all_known()


def own_name(name):
    """A file's name as its author gave it."""
    for platform in (MOODLE, BLACKBOARD, BRIGHTSPACE, CANVAS):
        if (found := platform.match(name)) and found.end() < len(name):
            return name[found.end():]
    return name


def submitters(text):
    """Whom Gradescope's table names: {folder: [student]}; {} where it cannot be read.

    Only the few lines of each submission that name its students are parsed: the table holds the output of every test.
    """
    lines, inside = [], False
    for line in text.splitlines():
        if line[:1] not in (" ", "-", "#", ""):
            lines.append(line)
        inside = line.startswith("  :submitters:") or inside and line.startswith(("  -", "   "))
        if inside:
            lines.append(line)
    try:
        table = yaml.load("\n".join(lines), Loader=yaml.BaseLoader)  # every value a text
    except yaml.YAMLError:
        return {}
    table = table if isinstance(table, dict) else {}
    return {str(folder): who for folder, about in table.items() if (who := _people(about))}


def _people(about):
    people = about.get(":submitters") if isinstance(about, dict) else None
    people = [person for person in people or () if isinstance(person, dict)]
    known = [next((person[key] for key in (":sid", ":email", ":name") if person.get(key)), None) for person in people]
    return [str(who) for who in known if who]


class _Senders:
    """Who sent what in one batch, where the platform wrote that into the names."""

    def __init__(self, tops, submitters):
        self._submitters = submitters
        self._stems = {top: top[0] if top[1] else without_suffix(top[0]) for top in tops}
        self._is_canvas = self._all_from_canvas()
        self._assignment = self._common_beginning()
        self._brightspace = any(map(BRIGHTSPACE.match, self._stems.values()))
        self._named = {top: self._named_by_platform(top) for top in tops}
        self._others = {stem for top, stem in self._stems.items() if self._named[top] is None}

    def of(self, top):
        """The students who handed something in; none for a platform's own table of contents."""
        who = self._named[top]
        return [self._stems[top]] if who is None or set(who) & self._others else who

    def are_all_known(self):
        """Has a platform named them all?"""
        return None not in self._named.values()

    def _named_by_platform(self, top):
        stem = self._stems[top]
        if top == (METADATA, False) or top == (CONTENTS, False) and self._brightspace:
            return []
        if stem in self._submitters:
            return self._submitters[stem]
        if GRADESCOPE.match(stem) and top[1]:
            return [stem]
        if found := MOODLE.match(stem):
            return [found["who"]]
        if found := BLACKBOARD.match(stem):
            return [found["who"].removeprefix(self._assignment)]
        if found := BRIGHTSPACE.match(stem):
            return [f"{found['name']}_{found['number']}"]
        found = CANVAS.match(stem) if self._is_canvas else None
        return found and [found["anonymous"] or f"{found['name']}_{found['number']}"]

    def _all_from_canvas(self):
        """Are all files that can be read named by Canvas? It gives every file a number of its own."""
        if any(is_folder for _, is_folder in self._stems):
            return False
        found = [CANVAS.match(stem) for top, stem in self._stems.items() if is_readable(top)]
        files = [match["file"] for match in found if match]
        return None not in found and len(set(files)) == len(files)

    def _common_beginning(self):
        """The name of Blackboard's assignment with its underscore: what all have in common, so that none are mixed."""
        found = [match["who"].split("_") for stem in self._stems.values() if (match := BLACKBOARD.match(stem))]
        if not found:
            return ""
        common = 0
        while all(len(parts) > common + 1 and parts[common] == found[0][common] for parts in found):
            common += 1
        return "".join(part + "_" for part in found[0][:common])


def is_readable(top):
    """Is it a folder, or may a file of this name hold cells?"""
    name, is_folder = top
    return is_folder or any(kind.search(name) for kind in (NOTEBOOK, SCRIPT, ZIP, OTHER_ARCHIVE))


def _newest(tops):
    """Theirs, of Blackboard's attempts only the newest with something to read."""
    attempts = {}
    for top in tops:
        found = BLACKBOARD.match(top[0] if top[1] else without_suffix(top[0]))
        attempts.setdefault(found and found["who"], []).append((found["when"] if found else "", top))
    read, older = [], []
    for sent in attempts.values():
        newest = max((when for when, top in sent if is_readable(top)), default="")
        read += [top for when, top in sent if when >= newest]
        older += [top for when, top in sent if when < newest and is_readable(top)]
    return Theirs(tuple(read), tuple(older))
