"""What holds in every test: one thread a worker, and nobody's second attempt.

With more threads, workers on the same cores wait for each other most of the time.
"""

import pytest
import torch

from course_lib import checks

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def nobody_has_asked_before():
    """Hints come with repeated mistakes; what one test asked is no mistake of the next one."""
    checks._times_in_a_row.clear()
