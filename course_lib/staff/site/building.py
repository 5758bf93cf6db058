"""From pages to a folder of HTML, all of it or nothing."""

import io
import os
import re
import shutil
import tempfile
from pathlib import Path

from course_lib.staff import site
from course_lib.staff.site import links
from course_lib.staff.site.page import PARTS

MARK = ".buildinfo"  # Sphinx leaves it in what it has built
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def build(pages, out):
    """Write the site to `out`; a problem with a page is a SiteError, and `out` stays as it was."""
    out = Path(out).resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir()) and not (out / MARK).exists()):
        raise site.SiteError(f"{out} is not empty and no site: name another folder with -o")
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "source").resolve(), Path(folder, "built").resolve()
        _stage(pages, source, built)
        _run_sphinx(source, built, Path(folder, "doctrees"))
        if problems := links.broken(built):
            raise site.SiteError("\n".join(problems))
        try:
            if out.exists():
                shutil.rmtree(out)
            shutil.copytree(built, out)
        except OSError as error:
            raise site.SiteError(f"cannot write {error.filename or out}: {error.strerror or error}") from None


def _stage(pages, source, built):
    """The texts to where Sphinx reads them, and what is published as it is to its place."""
    for page in pages:
        text = page.text + _sidebar(pages) if page.path == "index.md" else page.text
        _write(source / page.path, text.encode())
        for folder, files in ((built, page.published), (source, page.pictures)):
            for path, original in files:
                _write(folder / path, original if isinstance(original, bytes) else original.read_bytes())


def _write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _sidebar(pages):
    """The tables of contents, which the theme shows beside every page."""
    trees = []
    for part in PARTS:
        names = [page.name for page in pages if page.part == part]
        if names:
            trees += ["", "```{toctree}", ":hidden:", f":caption: {part}", "", *names, "```"]
    return "\n".join([*trees, ""])


def _run_sphinx(source, built, doctrees):
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    from course_lib.staff.site.rendering import SETTINGS

    said = io.StringIO()
    try:
        with patch_docutils(), docutils_namespace():  # what one build registers is gone before the next
            Sphinx(source, None, built, doctrees, "html", SETTINGS, status=None, warning=said, freshenv=True).build()
    except SphinxError as error:
        raise site.SiteError(f"the site cannot be built: {error}") from None
    if warnings := _in_plain_words(said.getvalue(), source):
        raise site.SiteError("\n".join(warnings))


def _in_plain_words(warnings, source):
    """One line for each warning: the page's source, and what is wrong with it."""
    text = COLOUR.sub("", warnings).replace(f"{source}{os.sep}", "")
    return [re.sub(r" \[[\w.]+\]$", "", re.sub(r"\b(WARNING|ERROR|CRITICAL): ", "", line))
            for line in text.splitlines() if line.strip()]
