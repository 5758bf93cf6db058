"""Read the formulas of a text, and say which of them cannot be typeset."""

import re
from xml.etree import ElementTree

BLOCK = re.compile(r"\$\$(.+?)\$\$", re.S)
INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])")
PARTS = {"mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3, "mroot": 2}
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def formulas(text):
    """The LaTeX of every formula of a Markdown text: displayed, then in its lines."""
    text = CODE.sub("", text)
    return [f.strip() for f in BLOCK.findall(text)] + INLINE.findall(BLOCK.sub("", text))


def trouble(latex):
    """What is wrong with a formula, in a few words; nothing where it can be read."""
    from latex2mathml.converter import convert  # it takes a while to import, and few need it

    braces = re.findall(r"(?<!\\)[{}]", latex)
    if braces.count("{") != braces.count("}"):
        return "a brace is missing"
    try:
        made = convert(latex)
    except Exception as error:  # the library names its errors in many ways
        return str(error) or type(error).__name__
    if unknown := re.search(r"\\[A-Za-z]+", made):
        return unknown[0]
    for node in ElementTree.fromstring(made).iter():
        name = node.tag.rpartition("}")[2]
        if len(node) != PARTS.get(name, len(node)):
            return f"a part of {name[1:]} is missing"
    return None


def problems(lessons):
    """One line for each formula of a lesson that cannot be read."""
    return [f"{lesson.where(cell)}: the formula {latex} cannot be read: {says}"
            for lesson in lessons for cell in lesson.cells if cell.kind == "markdown"
            for latex in formulas(cell.source) if (says := trouble(latex))]
