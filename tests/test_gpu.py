"""The same code on a GPU: CPU and CUDA agree, and nothing in the checks minds where the notebook works."""

import pytest
import torch

from course_lib import check
from course_lib.checks import EXERCISES
from course_lib.checks.exercise import questions

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def to(device, value):
    return value.to(device) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("name", [n for n, e in EXERCISES.items() if e.build is None])
def test_cpu_and_cuda_agree(name):
    """A tensor made on the CPU inside a function that was given others."""
    exercise = EXERCISES[name]
    for call in questions(exercise):
        if not call.special and any(isinstance(a, torch.Tensor) for a in call.args):
            there = exercise.verified(*(to("cuda", a) for a in call.args))
            here = exercise.verified(*call.args)
            there, here = [t if isinstance(t, tuple) else (t,) for t in (there, here)]
            for one, other in zip(there, here, strict=True):
                assert one.device.type == "cuda"
                torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", EXERCISES)
def test_a_check_passes_where_the_default_device_is_the_gpu(name):
    """A notebook that begins with torch.set_default_device("cuda")."""
    torch.set_default_device("cuda")
    try:
        assert check(EXERCISES[name].verified, name).passed
    finally:
        torch.set_default_device("cpu")
