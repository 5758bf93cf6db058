"""What `check` hands back: the verdict in plain words, shown as a card in a notebook and as text elsewhere."""

import sys
from dataclasses import dataclass, field

from course_lib.checks.notebook.card import as_html, as_text


@dataclass
class Result:
    """What was found. `verified` is your own code once it is right, with the course's names for its weights, and the
    course's until then."""

    status: str  # "right", "wrong" or "unanswered"
    mistake: str | None  # the id of the classic mistake that was recognised
    rows: list = field(repr=False)
    verified: object = field(repr=False)
    _shown_in: object = field(default=None, repr=False)

    @property
    def passed(self):
        """True where the answer is right."""
        return self.status == "right"

    @property
    def message(self):
        """The card as plain text."""
        return as_text(self.rows)

    def show(self):
        """Show the card: HTML in a notebook, text elsewhere."""
        shell = _notebook()
        if shell is None:
            print(self.message)
            return
        from IPython.display import display

        self._shown_in = shell.execution_count
        display({"text/html": as_html(self.rows, self.status), "text/plain": self.message}, raw=True)

    def _ipython_display_(self):
        """A cell that ends in `check(...)` has shown the card already; a later cell shows it anew."""
        shell = _notebook()
        if shell is None or shell.execution_count != self._shown_in:
            self.show()


class Waiting:
    """A line that says that the search goes on, and goes away with it; in a terminal there is none."""

    def __init__(self):
        self._line = None

    def begin(self):
        """Say so."""
        if _notebook():
            from IPython.display import display

            self._line = display({"text/plain": "Not right yet. Looking for what is behind it …"}, raw=True,
                                 display_id=True)

    def end(self):
        """Take it away."""
        if self._line:
            self._line.update({"text/plain": ""}, raw=True)


def _notebook():
    """The IPython shell of a notebook kernel, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None
