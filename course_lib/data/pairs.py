"""Sentence pairs of your own: a tab-separated file, as Tatoeba exports it, read line by line and accounted for."""

import re
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A line that could not be used, and why."""

    line: int
    says: str

    def __str__(self):
        return f"line {self.line}: {self.says}"


class PairFile:
    """Go through a file of sentence pairs without holding it in memory; every line is either a pair or a problem.

    path:    a UTF-8 file, one pair a line, its fields separated by tabs; all lines have as many fields as the first
             one that can be read
    columns: which two fields hold the sentences; fields beside them, such as numbers or attributions, are ignored
    yields:  (sentence, sentence), in Unicode's composed form (NFC), white space made single spaces

    After a pass, `lines` is the number of lines, `problems` lists the lines that could not be used, and `lines` is the
    number of pairs plus that of problems. Nothing that stands in a file raises an error.
    """

    def __init__(self, path, columns=(0, 1)):
        self.path, self.columns = path, columns
        self.lines, self.problems = 0, []

    def __iter__(self):
        self.lines, self.problems, fields = 0, [], None
        with open(self.path, "rb") as file:
            for self.lines, raw in enumerate(file, 1):  # by "\n" alone: no other mark ends a line
                try:
                    parts = _fields(raw, first=self.lines == 1)
                    fields = self._enough(parts) if fields is None else fields
                    yield self._pair(parts, fields)
                except _Unusable as why:
                    self.problems.append(Problem(self.lines, str(why)))

    def _enough(self, parts):
        if len(parts) <= max(self.columns):
            raise _Unusable(f"{len(parts)} fields between tabs, and field {max(self.columns) + 1} is wanted")
        return len(parts)

    def _pair(self, parts, fields):
        if len(parts) != fields:
            raise _Unusable(f"{len(parts)} fields between tabs instead of {fields}")
        pair = tuple(" ".join(unicodedata.normalize("NFC", parts[c]).split()) for c in self.columns)
        if not all(pair):
            raise _Unusable(f"field {self.columns[pair.index('')] + 1} is empty")
        return pair


class _Unusable(Exception):
    """Why a line is no pair."""


def _fields(raw, first):
    """The fields of one line of bytes."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if first:
        raw = raw.removeprefix(b"\xef\xbb\xbf")  # the mark some programs put before UTF-8
    if b"\0" in raw:
        raise _Unusable("it holds a zero byte, which no text in UTF-8 does: was the file saved as UTF-16?")
    if b"\r" in raw:
        raise _Unusable("it holds a carriage return: does the file have the line ends of another age?")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Unusable(f"not UTF-8 from its byte {error.start + 1} on") from None
    if not text.strip():
        raise _Unusable("nothing stands there")
    return text.split("\t")


def words(sentence):
    """Cut a sentence into words and marks: "J'aime l'été !" gives J', aime, l', été and !

    Every character but white space is in exactly one of them. Curved apostrophes are made straight.
    """
    return re.findall(r"\w+'|\w+|[^\w\s]", sentence.replace("’", "'"))
