"""Students' files from a folder or zip, as plain cells of text."""

import contextlib
import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from course_lib.staff.grade.names import MARKDOWN, NOTEBOOK, OTHER_ARCHIVE, QUARTO, SCRIPT, ZIP, printable
from course_lib.staff.grade.notebook_cells import (
    NoNotebook,
    decoded,
    is_markdown_notebook,
    markdown_cells,
    notebook_cells,
    quarto_cells,
    script_cells,
)
from course_lib.staff.grade.platforms import METADATA, OLDER, is_download, is_sent, own_name, students, submitters
from course_lib.staff.grade.sources import Allowance, Folder, Unreadable, Zip, entries_of_zip, read, read_notebook

LESSON = re.compile(r"(?:lesson)?[ _-]*([0-9]{1,6})", re.IGNORECASE)
LONGEST_PATH = 400
PROBLEMS = 50  # sentences about one submission
PREDICTIONS = "predictions.json"
ZIPS = 2  # one in the other, that are opened of one student


class ReadingError(ValueError):
    """Nothing can be graded; one sentence says why."""


@dataclass(frozen=True)
class Notebook:
    """One .ipynb, .py, .md or .qmd of a student."""

    path: str  # as the student named it, relative to the submissions folder, printable, one line
    cells: tuple[str, ...]  # sources of code cells in order (magics still in), markdown left out
    modified: str | None  # ISO time (UTC) of the file or zip member


@dataclass(frozen=True)
class Submission:
    """All that one student handed in."""

    student: str
    notebooks: tuple[Notebook, ...]
    problems: tuple[str, ...]  # one sentence for each file that could not be read
    digest: str  # sha256 over names and contents of the files that were read, and over the problems
    predictions: tuple[bytes, ...] = ()  # what the course keeps of a learner's guesses, as it was handed in


def submissions(path) -> Iterator[Submission]:
    """One Submission per student, sorted by student; only the one that is asked for is in memory.

    path: a folder or a zip with one file, folder or zip per student at its top, or a single notebook. A student's zip
        may contain folders and zips, but no zips in these. If a zip holds nothing but one folder, or a folder of the
        zip's own name, the students are what is in that folder; and if a folder holds nothing but one folder, with a
        platform's download.

    Raises ReadingError before the first one if there is nothing to grade.
    """
    return _each(*_batch(os.path.realpath(path), printable(os.fspath(path), LONGEST_PATH)))


def how_many(path):
    """The number of students in a batch; ReadingError as for `submissions`."""
    batch, theirs = _batch(os.path.realpath(path), printable(os.fspath(path), LONGEST_PATH))
    batch.close()
    return len(theirs)


def _batch(path, called):
    """A Folder or Zip, and whose is what in it."""
    if os.path.isdir(path):
        batch = _folder(path)
    elif not os.path.isfile(path):
        raise ReadingError(f"There is no folder or zip {called}.")
    elif NOTEBOOK.search(path) or SCRIPT.search(path):
        batch = Folder(os.path.dirname(path), only=os.path.basename(path))
    else:
        batch = _zip(path, called)
    try:
        tops = batch.tops()
    except OSError:
        raise ReadingError(f"The folder {called} may not be read by you.") from None
    if not tops:
        batch.close()
        raise ReadingError(f"{called} holds no submission: it should have one file or folder for each student.")
    return batch, students(tops, _named_by_gradescope(batch, tops))


def _folder(path):
    """A folder, or the only one in it where that is an unpacked download."""
    batch = Folder(path)
    with contextlib.suppress(OSError):
        for name, is_folder in batch.tops() if len(batch.tops()) == 1 else ():
            inner = Folder(os.path.join(path, name))
            if is_folder and not is_sent(name) and is_download(inner.tops()):
                return inner
    return batch


def _named_by_gradescope(batch, tops):
    """Whom the table in a download of Gradescope names, {folder: [student]}; {} where there is none to be read."""
    if (METADATA, False) not in tops:
        return {}
    with contextlib.suppress(Unreadable, NoNotebook):
        for entry in batch.entries((METADATA, False), Allowance()):
            return submitters(decoded(read(entry, Allowance())))
    return {}


def _zip(path, called):
    try:
        if ZIP.search(path) or zipfile.is_zipfile(path):
            return Zip(path)
    except Unreadable as error:
        raise ReadingError(f"{called} {error}: download it again, or unpack it and name the folder.") from None
    except OSError:
        raise ReadingError(f"{called} may not be read by you.") from None
    raise ReadingError(f"{called} is neither a folder nor a zip: unpack it and name the folder.")


def _each(batch, everybody):
    try:
        for student, theirs in everybody.items():
            yield _Reader().submission(student, batch, theirs)
    finally:
        batch.close()


def _reading_order(path):
    """Sorts notebooks as a reader would: by the lesson number that leads the file name, then by name."""
    name = own_name(path.rsplit("/", 1)[-1])
    number = LESSON.match(name)
    return (int(number[1]) if number else float("inf"), name, path)


class _Reader:
    """Gathers what one student handed in, within one allowance."""

    def __init__(self):
        self.allowance = Allowance()
        self.notebooks, self.problems, self.ignored, self.prints = [], [], [], []
        self.predictions = []

    def submission(self, student, batch, theirs):
        for top in theirs.tops:
            self.all_of(top[0], lambda top=top: batch.entries(top, self.allowance), zips=ZIPS)
        for name, _ in theirs.older:
            self.complain(name, OLDER)
        if not self.notebooks and not self.problems:
            self.problems.append(self.nothing(student))
        if len(self.problems) > PROBLEMS:
            self.problems[PROBLEMS:] = [f"{len(self.problems) - PROBLEMS} more files could not be read."]
        self.notebooks.sort(key=lambda notebook: _reading_order(notebook.path))
        digest = hashlib.sha256(repr((sorted(self.prints), self.problems)).encode())
        return Submission(student, tuple(self.notebooks), tuple(self.problems), digest.hexdigest(),
                          tuple(self.predictions))

    def all_of(self, path, entries, zips):
        """Every entry of a folder or zip; the sentence for one that breaks off is about `path`."""
        try:
            for entry in entries():
                try:
                    self.one(entry, zips)
                except (Unreadable, NoNotebook) as error:
                    self.complain(entry.path, error)
        except Unreadable as error:
            self.complain(path, error)

    def one(self, entry, zips):
        name = entry.path.rsplit("/", 1)[-1]
        if entry.refused:
            raise Unreadable(entry.refused)
        if NOTEBOOK.search(name):
            self.allowance.one_more_file()
            data, digest = read_notebook(entry, self.allowance)
            cells, complaints = notebook_cells(data)
            self.keep(entry, cells, digest)
            for complaint in complaints:
                self.complain(entry.path, complaint)
        elif SCRIPT.search(name):
            self.allowance.one_more_file()
            self.keep_text(entry, read(entry, self.allowance), script_cells)
        elif QUARTO.search(name):
            self.allowance.one_more_file()
            self.keep_text(entry, read(entry, self.allowance), quarto_cells)
        elif MARKDOWN.search(name) and is_markdown_notebook(data := read(entry, self.allowance)):
            self.keep_text(entry, data, markdown_cells)
        elif ZIP.search(name):
            if not zips:
                raise Unreadable("was not read, because it is a zip in a zip in a zip")
            self.all_of(entry.path, lambda: entries_of_zip(entry, self.allowance), zips=zips - 1)
        elif OTHER_ARCHIVE.search(name):
            raise Unreadable("is an archive of a kind that is not read: only zip is")
        else:
            self.ignored.append(name)
            if name == PREDICTIONS:
                self.predictions.append(read(entry, self.allowance))
                self.prints.append((name, hashlib.sha256(self.predictions[-1]).hexdigest()))

    def keep_text(self, entry, data, cells_of):
        self.keep(entry, cells_of(data), hashlib.sha256(data).hexdigest())

    def keep(self, entry, cells, digest):
        path = printable(entry.path, LONGEST_PATH)
        self.prints.append((path, digest))
        self.notebooks.append(Notebook(path, cells, entry.modified))

    def complain(self, path, why):
        self.problems.append(f"{printable(path, LONGEST_PATH)} {why}.")

    def nothing(self, student):
        if not self.ignored:
            return f"{student} handed in an empty folder."
        some = ", ".join(printable(name) for name in sorted(self.ignored)[:3])
        more = len(self.ignored) - 3
        return f"{student} handed in no notebook, only {some}{f' and {more} more' if more > 0 else ''}."
