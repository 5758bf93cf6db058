"""The names students and their tools give to files: what kind they are of, and in what form they are printed."""

import hashlib
import re

NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)  # browsers like to add the second suffix
SCRIPT = re.compile(r"\.py$", re.IGNORECASE)
MARKDOWN = re.compile(r"\.md$", re.IGNORECASE)
QUARTO = re.compile(r"\.qmd$", re.IGNORECASE)
ZIP = re.compile(r"\.zip$", re.IGNORECASE)
OTHER_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|t[gbx]z2?|gz|bz2|xz|zst|7z|rar)$", re.IGNORECASE)
DOCUMENT = re.compile(r"\.(docx?|odt|pdf|txt|md|html?|rtf|csv|json|pages|png|jpe?g)$", re.IGNORECASE)

NEVER_READ = {"__macosx", "__pycache__", "site-packages", "node_modules", "thumbs.db", "desktop.ini"}
LONGEST = 200


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


def without_suffix(name):
    """A file's name without a suffix we know: `J. Smith` and `J. Brown` are no suffixes of `J`."""
    for suffix in (NOTEBOOK, SCRIPT, QUARTO, ZIP, OTHER_ARCHIVE, DOCUMENT):
        found = suffix.search(name)
        if found and found.start() > 0:
            return name[: found.start()]
    return name
