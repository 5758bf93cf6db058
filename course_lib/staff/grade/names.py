"""The names students and their tools give to files: whose they are, in which order, in what form they are printed."""

import hashlib
import re

NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)  # browsers like to add the second suffix
SCRIPT = re.compile(r"\.py$", re.IGNORECASE)
ZIP = re.compile(r"\.zip$", re.IGNORECASE)
OTHER_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|t[gbx]z2?|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
DOCUMENT = re.compile(r"\.(docx?|odt|pdf|txt|md|html?|rtf|csv|json|pages|png|jpe?g)$", re.IGNORECASE)

NEVER_READ = {"__macosx", "__pycache__", "site-packages", "node_modules", "thumbs.db", "desktop.ini"}
LONGEST = 200

MOODLE = re.compile(r"(?P<who>.+_[0-9]+)_assignsubmission_[a-z]+(?:_|$)", re.DOTALL)
CANVAS = re.compile(r"(?P<name>[^\W_]+)(?:_LATE)?_(?P<number>[0-9]{2,})_[0-9]{3,}_(?=.)")
LESSON = re.compile(r"(?:lesson)?[ _-]*([0-9]{1,6})", re.IGNORECASE)


def is_skipped(name):
    """Is this file or folder something that systems and tools leave behind, and nobody handed in?"""
    return name.startswith(".") or name.lower() in NEVER_READ


def printable(text, longest=LONGEST):
    r"""A name on one line, all of it visible; two different names stay different.

    What cannot be printed, a backslash, and a space at either end are written as an escape such as `\x0a`. Of a name
    that is too long the beginning is kept, then `\~` and a fingerprint of all of it.
    """
    if len(text) > longest:
        fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return printable(text[: longest // 2], longest) + "\\~" + fingerprint
    if text.isprintable() and "\\" not in text and text == text.strip():
        return text
    last = len(text) - 1
    return "".join(_escaped(c) if not c.isprintable() or c == "\\" or c == " " and i in (0, last) else c
                   for i, c in enumerate(text))


def _escaped(character):
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def students(tops):
    """Whose is what: student id -> list of tops, sorted by id.

    tops: (name, is_folder) of everything at the top of a batch

    A student's id is the name, of a file without its suffix: `alice.ipynb` and `alice/` are one student's. Where
    Moodle has named a submission, the part before `_assignsubmission_` is the id, however many files there are. Where
    nothing but files named by Canvas (`surnamename_123_4567_file.ipynb`) lies there, name and number of those who
    handed in several files are theirs. Names that differ in case, accents or spaces are different students.
    """
    stems = {}
    for name, is_folder in sorted(tops):
        stems.setdefault(name if is_folder else _stem(name), []).append((name, is_folder))
    canvas = all(CANVAS.match(stem) for stem in stems) and not any(is_folder for _, is_folder in tops)
    several = {}
    for stem in stems:
        several.setdefault(_sender(stem, canvas), []).append(stem)
    found = {}
    for who, theirs in several.items():
        alone = len(theirs) == 1 and not MOODLE.match(theirs[0])  # Canvas numbers files, too
        if who is None or alone or who in stems:
            found |= {printable(stem): stems[stem] for stem in theirs}
        else:
            found[printable(who)] = [top for stem in theirs for top in stems[stem]]
    return dict(sorted(found.items()))


def _stem(name):
    """A file's name without a suffix we know: `J. Smith` and `J. Brown` are no suffixes of `J`."""
    for suffix in (NOTEBOOK, SCRIPT, ZIP, OTHER_ARCHIVE, DOCUMENT):
        found = suffix.search(name)
        if found and found.start() > 0:
            return name[: found.start()]
    return name


def _sender(stem, canvas):
    """Who sent it, where the platform wrote that into the name."""
    if moodle := MOODLE.match(stem):
        return moodle["who"]
    if canvas:
        found = CANVAS.match(stem)
        return f"{found['name']}_{found['number']}"
    return None


def reading_order(path):
    """Sorts notebooks as a reader would: by the lesson number that leads the file name, then by name."""
    name = path.rsplit("/", 1)[-1]
    for platform in (MOODLE, CANVAS):
        if found := platform.match(name):
            name = name[found.end():]
    number = LESSON.match(name)
    return (int(number[1]) if number else float("inf"), name, path)
