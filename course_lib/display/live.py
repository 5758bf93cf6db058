"""Is a person watching? Only then are progress bars and widgets shown."""

import os
import sys


def somebody_is_looking():
    """Does this kernel belong to an open notebook, which can show widgets? A build or a test has none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel") and ("JPY_SESSION_NAME" in os.environ or "__vsc_ipynb_file__" in shell.user_ns)


def progress_bar(*arguments, **options):
    """tqdm's progress bar, in an open notebook and on a terminal; elsewhere it stays silent."""
    from tqdm.auto import tqdm  # it takes a while to import, and few need it

    nobody = not (somebody_is_looking() or sys.stderr.isatty())
    return tqdm(*arguments, leave=False, disable=nobody, **options)
