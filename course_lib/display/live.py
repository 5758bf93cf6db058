"""Is a person watching, and can they see more than text? Only then are progress bars, widgets and HTML shown."""

import os
import sys


def somebody_is_looking():
    """Does this kernel belong to an open notebook, which can show widgets? A build or a test has none."""
    shell = _shell()
    return hasattr(shell, "kernel") and ("JPY_SESSION_NAME" in os.environ or "__vsc_ipynb_file__" in shell.user_ns)


def show(html, text):
    """Show HTML in a notebook, and text elsewhere."""
    if not hasattr(_shell(), "kernel"):
        print(text)
        return
    from IPython.display import display

    display({"text/html": html, "text/plain": text}, raw=True)


def progress_bar(*arguments, **options):
    """tqdm's progress bar, in an open notebook and on a terminal; elsewhere it stays silent."""
    from tqdm.auto import tqdm  # it takes a while to import, and few need it

    nobody = not (somebody_is_looking() or sys.stderr.isatty())
    return tqdm(*arguments, leave=False, disable=nobody, **options)


def _shell():
    """The IPython shell that runs this code, or None; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
