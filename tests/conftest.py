"""What holds in every test: one thread a worker, and nobody's second attempt; and the browser that some need.

With more threads, workers on the same cores wait for each other most of the time.
"""

import os
import shutil

import pytest
import torch

from course_lib import checks
from course_lib.checks.engine import judging, locating
from tests.unchanged import skip_what_is_unchanged

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
    tests/test_checks.py tests/test_lessons.py tests/test_locating.py tests/test_second_spellings.py
    tests/test_claims_fall_from_11.py tests/test_build.py tests/test_release.py tests/test_site_in_browser.py
    tests/test_grade_command.py tests/test_bent_outputs.py tests/test_grade.py tests/test_grade_again.py
    tests/test_claims_fall.py tests/test_own_parts.py tests/test_grade_awkward.py tests/test_browser.py
    solutions/12b_sampling_and_growing.ipynb tests/test_bench.py solutions/11_transformer.ipynb
    solutions/16_what_it_costs.ipynb tests/test_gpu.py solutions/17_circuits.ipynb tests/test_cards.py
    solutions/12_language_models.ipynb solutions/10_encoder.ipynb tests/test_instructors_guide.py
    solutions/15_real_weights.ipynb solutions/13_vision_transformer.ipynb tests/test_authors_guide.py
    tests/test_instruments.py tests/test_reading.py tests/test_predictions_in_browser.py tests/test_grade_parity.py
    solutions/11b_judging_translations.ipynb tests/test_origin.py solutions/03_bottleneck_and_version_0.ipynb
    tests/test_atoms.py tests/test_nbgrader.py solutions/06_multi_head.ipynb tests/test_grade_cheats.py
    tests/test_blanks.py solutions/08_wires.ipynb tests/test_long_runs.py tests/test_plots.py
    solutions/09_positions.ipynb tests/test_seeds.py solutions/07_masks.ipynb tests/test_hard_answers.py
    tests/test_combinations.py tests/test_site.py tests/test_grade_honest.py tests/test_grade_dask.py
    tests/test_one_click.py tests/test_similar.py tests/test_update.py tests/test_true_cards.py tests/test_flags.py
    solutions/04_scaling.ipynb tests/test_kept.py solutions/00_big_picture.ipynb tests/test_confine.py
""".split()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One worker more than there are cores, for they often wait for other processes; at most five."""
    return min(os.cpu_count() or 1, 4) + 1


def pytest_collection_modifyitems(items):
    """Put the tests of long files first; within a file, and among the others, they stay as they are."""
    skip_what_is_unchanged(items)
    items.sort(key=lambda item: LONG.index(name) if (name := item.nodeid.partition("::")[0]) in LONG else len(LONG))


@pytest.fixture(autouse=True)
def nobody_has_asked_before():
    """Hints come with repeated mistakes; what one test asked is no mistake of the next one."""
    checks._wrong_in_a_row.clear()


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch):
    """A search that ends after a second finds less on a machine that has other things to do."""
    for module, name in ((judging, "SEARCH"), (locating, "AT_MOST")):
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
