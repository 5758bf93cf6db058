"""The README as a page: how to set up, and how to work; lessons and their drawing are on the first page."""

import re

from course_lib.staff import site, syllabus
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.site.page import START, Page

FROM_ELSEWHERE = re.compile(r'\[?!\[[^\]]*\]\(https?://[^)]*\)(?:\]\([^)]*\))?|<img [^>]*src="https?://[^>]*>')
ELSEWHERE_HERE = re.compile(r"!\[[^\]]*\]\(docs/(?:transformer|lesson)\.png\)\n*")  # what other pages show
MAP = ("[The map of lessons](index.md#the-path) and the drawing are on the first page. The page of a lesson has a "
       "button that opens it in Colab.")


def page():
    """All of the README but its lessons, which the first page has, and pictures that another server would send."""
    text = syllabus.README.read_text(encoding="utf-8")
    before, begin, rest = text.partition(syllabus.BEGIN)
    between, end, after = rest.partition(syllabus.END)
    if not (begin and end):
        raise site.SiteError(f"README.md: it has no lines {syllabus.BEGIN} and {syllabus.END}, "
                             "around its table of lessons")
    kept = "\n".join(line for line in between.split("\n") if not line.startswith("|"))
    text = ELSEWHERE_HERE.sub("", FROM_ELSEWHERE.sub("", "\n".join([before, MAP, kept, after])))
    text = re.sub(r"^# .*$", "# Setting up, and working through a lesson", text, count=1, flags=re.M)
    pictures = tuple((path.relative_to(ROOT).as_posix(), path)
                     for kind in ("png", "svg") for path in sorted((ROOT / "docs").glob(f"*.{kind}")))
    return Page("README.md", text, ("README.md",), START, pictures, pictures)  # HTML, too, may show one
