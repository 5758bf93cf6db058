"""Lesson 16: the same training on one process and on several, each with its share of every batch."""

import os
import re
import subprocess
import sys
from tempfile import TemporaryDirectory

import torch

TRAINING = ["-m", "course_lib.runs.long_runs", "language-model", "--dropout=0", "--batch-size=16", "--save-every=1"]


def losses(processes, steps=5):
    """The losses that a training prints, (steps,): of characters of Python's manual, all of one size.

    processes: 1, or more that torchrun starts and that average their gradients: over gloo on a CPU, over NCCL where
               there are as many GPUs
    returns:   list of floats; None where processes cannot be started or cannot reach each other
    """
    together = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    here = os.environ | {"OMP_NUM_THREADS": "1"}
    if torch.cuda.device_count() < processes:
        here["CUDA_VISIBLE_DEVICES"] = ""
    with TemporaryDirectory() as folder:
        command = [sys.executable, *(together if processes > 1 else []), *TRAINING, f"--steps={steps}",
                   f"--folder={folder}"]
        try:
            done = subprocess.run(command, env=here, text=True, capture_output=True, timeout=120)
        except (OSError, subprocess.TimeoutExpired):
            return None
    found = [float(loss) for loss in re.findall(r"^step \d+ of \d+: loss ([\d.]+)", done.stdout, re.M)]
    return found if done.returncode == 0 and len(found) == steps else None
