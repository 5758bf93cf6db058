"""What holds in every test: one thread a worker, and nobody's second attempt; and the browser that some need.

With more threads, workers on the same cores wait for each other most of the time.
"""

import os
import shutil

import pytest
import torch

from course_lib import checks
from course_lib.checks.engine import locating, naming

torch.set_num_threads(1)
if os.name == "nt":  # the grader needs fork; on Windows it says so and ends
    collect_ignore_glob = ["test_grade*.py", "test_confine.py", "test_frames.py", "test_reading.py",
                           "test_instructors_guide.py"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]
# The longest first, all of 10 seconds and more: each file goes to the worker that is free, and short ones at the end
# leave none waiting for the other. `--durations=0` shows them.
LONG = """
    tests/test_checks.py tests/test_lessons.py tests/test_site_in_browser.py tests/test_claims_fall.py
    tests/test_claims_fall_from_11.py
    solutions/11_transformer.ipynb solutions/11b_judging_translations.ipynb
    solutions/12_language_models.ipynb solutions/12b_sampling_and_growing.ipynb tests/test_grade.py
    tests/test_grade_again.py
    solutions/13_vision_transformer.ipynb tests/test_browser.py tests/test_build.py
    tests/test_grade_command.py tests/test_authors_guide.py tests/test_bent_outputs.py tests/test_grade_awkward.py
    tests/test_release.py tests/test_site.py tests/test_instruments.py solutions/10_encoder.ipynb
    tests/test_second_spellings.py tests/test_long_runs.py tests/test_nbgrader.py
    solutions/03_bottleneck_and_version_0.ipynb tests/test_instructors_guide.py solutions/08_wires.ipynb
    solutions/14b_audit.ipynb solutions/13b_where_it_looks.ipynb tests/test_seeds.py tests/test_one_click.py
    tests/test_flags.py
    tests/test_reading.py tests/test_confine.py tests/test_grade_dask.py tests/test_bench.py tests/test_grade_cheats.py
    tests/test_blanks.py tests/test_setup.py solutions/15_real_weights.ipynb tests/test_site_of_new_lessons.py
""".split()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One worker more than there are cores, for they often wait for other processes; at most five."""
    return min(os.cpu_count() or 1, 4) + 1


def pytest_collection_modifyitems(items):
    """Put the tests of long files first; within a file, and among the others, they stay as they are."""
    items.sort(key=lambda item: LONG.index(name) if (name := item.nodeid.partition("::")[0]) in LONG else len(LONG))


@pytest.fixture(autouse=True)
def nobody_has_asked_before():
    """Hints come with repeated mistakes; what one test asked is no mistake of the next one."""
    checks._wrong_in_a_row.clear()


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch):
    """A search that ends after a second finds less on a machine that has other things to do."""
    for module, name in ((naming, "SECONDS"), (locating, "SECONDS"), (locating, "AT_MOST")):
        monkeypatch.setattr(module, name, 60)


@pytest.fixture
def browser(chromium):
    """A headless Chromium without a page; without one the test is skipped, or fails where COURSE_NEEDS_BROWSER is set.
    """
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="module")
def chromium():
    """The one Chromium of a module's tests. Of a whole run it cannot be: where it lives, no other event loop can."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found and os.environ.get("COURSE_NEEDS_BROWSER"):
        pytest.fail("COURSE_NEEDS_BROWSER is set, and no Chromium or Chrome is installed")
    if not found:
        pytest.skip("no Chromium or Chrome is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=QUIET)
