"""A page before it is built: its text, and the files of the repository that it is made of."""

from dataclasses import dataclass

START, LESSONS, REFERENCE, TEACHING = PARTS = "Start", "Lessons", "Reference", "Teaching and writing"


@dataclass(frozen=True)
class Page:
    """One page; `path` is its source's place in the site, such as lessons/07_masks.ipynb."""

    path: str
    text: str
    made_of: tuple
    part: str | None = None  # the heading it stands under in the sidebar
    published: tuple = ()  # what lies beside it as it is, each (path in the site, path on disk or bytes)
    pictures: tuple = ()  # what its text shows, each (path beside the sources, path on disk)

    @property
    def name(self):
        return self.path.rsplit(".", 1)[0]
