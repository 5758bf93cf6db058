"""The course's site, from the same notebooks: python -m course_lib.staff.site [-o DIR]."""

import os

# Where the course lives on GitHub. Actions says it; this name is for everybody else.
REPOSITORY = os.environ.get("GITHUB_REPOSITORY") or "OWNER/transformers-from-version-0"
BRANCH = "main"


class SiteError(Exception):
    """What keeps the site from being built: its message says where and what, one line a problem."""


def on_github(path):
    """The address of a file of the repository, to look at."""
    return f"https://github.com/{REPOSITORY}/blob/{BRANCH}/{path}"
