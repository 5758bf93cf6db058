"""Build the site.

    python -m course_lib.staff.site [-o DIR]      all pages; a broken link is an error
    python -m course_lib.staff.site --external    also list the links to other sites, which are not followed
    python -m course_lib.staff.site --since REF   also list the pages whose sources have changed since a git commit
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

from course_lib.staff import site
from course_lib.staff.lesson_text import PRIMER, ROOT
from course_lib.staff.site import (
    api,
    building,
    claims,
    first_page,
    instruments,
    lessons,
    links,
    misconceptions,
    readme,
)
from course_lib.staff.site.page import REFERENCE, START, TEACHING, Page

NEEDED = "sphinx", "myst_nb", "furo", "ziamath", "sphinx_copybutton", "sphinxext"
PLACES = {"docs/authors.md": TEACHING, "docs/instructors.md": TEACHING}  # others: to look up


def main(arguments=None):
    """Build the site; the exit status is 0 where every page is there and every link leads somewhere."""
    options = _options(arguments)
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        print(f"The site is built by packages that are not installed ({', '.join(missing)}): "
              "pip install -e '.[site]'", file=sys.stderr)
        return 1
    began = time.monotonic()
    try:
        pages = all_pages()
        changed = changed_since(options.since, pages) if options.since else []
        building.build(pages, options.out)
    except site.SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(pages)} pages in {options.out}, built in {time.monotonic() - began:.0f} s")
    print(*(f"changed: {name}" for name in changed), sep="\n", end="\n" * bool(changed))
    if options.external:
        print(*links.external(Path(options.out)), sep="\n")
    return 0


def all_pages():
    """Every page of the site."""
    chapters = lessons.pages()
    return [first_page.page(chapters), readme.page(), lessons.page(PRIMER, START), *chapters, *documents(),
            *claims.pages(), instruments.page(), *misconceptions.pages(chapters), *api.pages()]


def documents():
    """The pages of docs/: every file there is one."""
    names = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("*.md"))]
    return [Page(name, (ROOT / name).read_text(encoding="utf-8"), (name,), PLACES.get(name, REFERENCE))
            for name in names]


def changed_since(ref, pages):
    """The pages made of files that differ from those of a git commit; all of them where the builder differs."""
    try:
        said = subprocess.run(["git", "diff", "--name-only", ref, "--"], cwd=ROOT, text=True, capture_output=True,
                              check=True)
    except (OSError, subprocess.CalledProcessError):
        raise site.SiteError(f"git knows no commit {ref}: give --since a branch, a tag or a commit") from None
    files = set(said.stdout.split("\n"))
    everything = any(name.startswith("course_lib/staff/site/") for name in files)
    return [f"{page.name}.html" for page in pages if everything or files.intersection(page.made_of)]


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.site", description="Build the course's site.")
    parser.add_argument("-o", "--out", metavar="DIR", default="build/site", help="where to; build/site without it")
    parser.add_argument("--external", action="store_true", help="list the links to other sites")
    parser.add_argument("--since", metavar="REF", help="list the pages that have changed since a git commit")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
