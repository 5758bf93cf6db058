"""HTML out of pieces that cannot be broken out of: every text is escaped on its way into a tag."""

import base64
import hashlib
import re
from html import escape

from course_lib.staff.grade.tables import one_line

LONGEST_LINE, LONGEST_TEXT = 1000, 40_000  # characters of a student's text on a page
MARKS = {"pass": ("✓", "right"), "fail": ("✗", "not right yet"), "error": ("!", "stopped with an error"),
         "timeout": ("T", "took too long"), "crash": ("C", "crashed"), "missing": ("·", "not handed in"),
         "unreadable": ("?", "could not be read")}
STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d2126; --soft: #5b6470; --line: #d9dce1; --well: #f2f3f0;
  --link: #0b5cad; --pass: #2e7d32; --fail: #c62828; --error: #a8500b; --missing: #b4bac3; --unreadable: #6d4bb0; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e8eb; --soft: #a0a9b4; --line: #363c45;
  --well: #1f242a; --link: #7db8f5; --pass: #6cc071; --fail: #f2827c; --error: #eda35c; --missing: #4d5560;
  --unreadable: #b79af0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
h4 { font-size: .95rem; margin: 1rem 0 .25rem; }
p, ul { margin: .25rem 0 .75rem; }
ul { padding-left: 1.25rem; }
a { color: var(--link); }
nav a { margin-right: 1rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; }
caption { text-align: left; color: var(--soft); padding-bottom: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; }
.list th, .list td { border-bottom: 1px solid var(--line); overflow-wrap: normal; }
.list { min-width: min(100%, 40rem); }
.list th { font-weight: 500; }
.list thead th { font-weight: 600; }
.list .said { min-width: 12rem; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.soft, .note { color: var(--soft); }
.odd { font-size: .75em; padding: 0 .2em; border: 1px solid var(--error); border-radius: 3px; color: var(--error); }
.word { white-space: nowrap; font-weight: 600; }
.word.pass, td.pass { color: var(--pass); }
.word.fail, td.fail { color: var(--fail); }
.word.error, .word.timeout, .word.crash, td.error, td.timeout, td.crash { color: var(--error); }
.word.missing, td.missing { color: var(--soft); font-weight: 400; }
.word.unreadable, td.unreadable { color: var(--unreadable); }
.card { border-left: 4px solid var(--missing); padding: .4rem .9rem; margin: .5rem 0; background: var(--well); }
.card.pass { border-color: var(--pass); }
.card.fail { border-color: var(--fail); }
.card.error, .card.timeout, .card.crash { border-color: var(--error); }
.card.unreadable { border-color: var(--unreadable); }
.card th { white-space: nowrap; font-weight: 500; color: var(--soft); }
.card td { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: .25rem 0; padding: .75rem .9rem; background: var(--well); border-radius: 4px; white-space: pre-wrap;
  overflow-wrap: anywhere; tab-size: 4; font: .85rem/1.45 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; font-size: .9em; }
pre code { font: inherit; }
details { margin: .25rem 0; }
summary { cursor: pointer; }
details > p { margin: .25rem 0 .5rem 1.1rem; white-space: pre-line; }
.notice { border: 1px solid var(--error); border-radius: 4px; padding: .5rem .9rem; }
.exercise { display: grid; grid-template-columns: 17rem 1fr; gap: 0 1.5rem; padding: .6rem 0;
  border-top: 1px solid var(--line); }
.exercise h4 { margin: 0; }
.exercise p { font-size: .9rem; }
.bar { display: block; width: 100%; height: .9rem; margin: .3rem 0 .5rem; border-radius: 3px; background: var(--well); }
.bar .pass { fill: var(--pass); }
.bar .fail { fill: var(--fail); }
.bar .error { fill: var(--error); }
.bar .missing { fill: var(--missing); }
.bar .unreadable { fill: var(--unreadable); }
.wide { position: relative; overflow: auto; max-height: 85vh; border: 1px solid var(--line);
  margin: .5rem calc(50% - min(50vw - 1rem, 50rem)); }
.wide table { margin: 0 auto; border-collapse: separate; border-spacing: 0; }
.wide th, .wide td { padding: .2rem .35rem; border-bottom: 1px solid var(--line); white-space: nowrap;
  overflow-wrap: normal; background: var(--paper); }
.wide caption { padding: .4rem; }
.wide td { text-align: center; }
.wide td.number { text-align: right; }
.wide thead { position: sticky; top: 0; z-index: 2; }
.wide thead th { text-align: center; vertical-align: bottom; font-weight: 500; font-size: .85rem; }
.wide thead tr:first-child th:first-child { position: sticky; left: 0; z-index: 3; text-align: left; }
.wide .up { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; max-height: 16rem; margin: 0 auto; }
.wide tbody th { position: sticky; left: 0; z-index: 1; font-weight: 400; max-width: 16rem; overflow: hidden;
  text-overflow: ellipsis; }
.wide i { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.wide td.pass, .wide td.fail { font-weight: 600; }
@media (max-width: 44rem) {
  main { padding: 1rem .75rem 3rem; }
  .exercise { grid-template-columns: 1fr; }
  .card th, .card td { display: block; padding-right: 0; }
  .fold thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .fold tr { display: block; border-bottom: 1px solid var(--line); padding: .35rem 0; }
  .fold th, .fold td { display: inline; border: 0; padding: 0 .6rem 0 0; }
  .fold .said { display: block; min-width: 0; color: var(--soft); }
  .wide tbody th { max-width: 8rem; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --well: #fff; --soft: #444; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  .wide { overflow: visible; max-height: none; border: 0; margin: 0; }
  .wide thead, .wide tbody th { position: static; }
  .wide th, .wide td, .wide thead th { padding: .05rem .1rem; font-size: 6.5pt; }
  pre, .card { border: 1px solid #bbb; break-inside: avoid-page; }
  h2, h3, h4 { break-after: avoid; }
  * { print-color-adjust: exact; }
}
"""
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {style};{script} base-uri 'none'; \
form-action {forms}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
"""


class Html(str):
    """HTML that is finished. Any other text is escaped when it goes into a tag."""

    __slots__ = ()


def page(title, *body, script="", forms="'none'"):
    """A whole page: no script runs in it but ours, nothing is fetched, and no style counts but STYLE.

    forms: where its forms may lead, in the words of a policy
    """
    head = HEAD.format(style=_hash(STYLE), script=f" script-src {_hash(script)};" if script else "", forms=forms)
    last = f"<script>{script}</script>\n" if script else ""
    return (f"{head}{tag('title', one_line(title, 100))}\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"{tag('main', *body)}\n{last}</body>\n</html>\n")


def _hash(text):
    """What a policy allows a style or script by."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def tag(name, *content, **attributes):
    """An element around its content: Html as it is, anything else as text.

    attributes: class_ for class; None leaves one out
    """
    return Html(f"<{name}{_said(attributes)}>{together(content)}</{name}>")


def field(**attributes):
    """A field of a form."""
    return Html(f"<input{_said(attributes)}>")


def _said(attributes):
    return "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(one_line(value))}"'
                   for key, value in attributes.items() if value is not None)


def together(parts):
    """The parts one after the other."""
    return Html("".join(part if type(part) is Html else shown(part) for part in parts))


def shown(text, longest=LONGEST_TEXT):
    """Somebody's text: escaped, what cannot be seen or turns the text round written out, cut where it is long."""
    text = str(text)
    more = f'<span class="note"> … ({len(text) - longest:,} more characters)</span>' if len(text) > longest else ""
    text = escape(text[:longest])
    if not text.isprintable():
        text = re.sub(r"[^\n\t -~]", lambda c: c[0] if c[0].isprintable() else _odd(c[0]), text)
    return Html(text + more)


def with_code(text):
    """A text in which `this` is code."""
    return Html(re.sub(r"`([^`]+)`", r"<code>\1</code>", shown(text)))


def name_of(text, longest=60):
    """A student's name or another short text, apart from the writing direction of what stands around it."""
    return tag("bdi", shown(text, longest))


def called(student, about):
    """How a student is called: by the name and id of the roster, else by what was handed in under."""
    return f"{about['name']} ({about['id']})" if about and about["name"] else student


def code(source):
    """A student's code."""
    lines = source.replace("\r\n", "\n")[:LONGEST_TEXT].split("\n")
    parts = Html("\n".join(shown(line, LONGEST_LINE) for line in lines))
    cut = len(source) - LONGEST_TEXT
    note = tag("p", f"This is the beginning: {cut:,} more characters are not shown.", class_="note")
    return together([tag("pre", tag("code", parts)), *[note] * (cut > 0)])


def columns(caption, names, lines, class_="list"):
    """A table with a caption, names of columns, and lines that are lists of elements th and td."""
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    return tag("table", tag("caption", caption), tag("thead", head),
               tag("tbody", *(together([tag("tr", *line), Html("\n")]) for line in lines)), class_=class_)


def verdict_in_words(verdict):
    """The mark and the words of a verdict; a letter is a mark only where there is no room for words."""
    mark, words = MARKS.get(verdict, ("?", verdict))
    return tag("span", words if mark.isalpha() else f"{mark} {words}", class_=f"word {verdict}")


def _odd(character):
    return f'<span class="odd">U+{ord(character):04X}</span>'
