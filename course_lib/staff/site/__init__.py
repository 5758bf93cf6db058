"""The course's site, from the same notebooks: python -m course_lib.staff.site [-o DIR]."""

import os

from course_lib.staff import syllabus

# Where the course lives on GitHub. Actions says it, for a fork, too.
REPOSITORY = os.environ.get("GITHUB_REPOSITORY") or syllabus.REPOSITORY
BRANCH = "main"
# Where GitHub Pages shows the site: link previews need whole addresses.
ADDRESS = "https://{}.github.io/{}/".format(*REPOSITORY.split("/"))


class SiteError(Exception):
    """What keeps the site from being built: its message says where and what, one line a problem."""


def on_github(path):
    """The address of a file of the repository, to look at."""
    return f"https://github.com/{REPOSITORY}/blob/{BRANCH}/{path}"
