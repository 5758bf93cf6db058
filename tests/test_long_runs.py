"""Long trainings: many processes learn what one learns, and a kill costs nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from course_lib.runs import checkpoints
from course_lib.runs.long_runs import main, rows_of, run
from tests import prepared_python

ROOT = Path(__file__).parents[1]


def command(processes, task, folder, *options):
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    return [*launcher, "-m", "course_lib.runs.long_runs", task, "--folder", str(folder),
            "--batch-size", "12", "--save-every", "2", *options]


def losses_of_a_run(processes, task, folder, *options):
    done = prepared_python.run(ROOT, *command(processes, task, folder, *options))
    assert done.returncode == 0, done.stderr
    return torch.tensor(torch.load(folder / f"{task}.pt", weights_only=True)["losses"])


@pytest.mark.parametrize("task", ["translator", "language-model"])
def test_two_processes_learn_what_one_learns(task, tmp_path):
    """Gradients weighted by sentence instead of by token, the same share for everybody, weights that drift apart."""
    one = losses_of_a_run(1, task, tmp_path / "one", "--steps", "6", "--dropout", "0", "--rate", "0.1")
    two = losses_of_a_run(2, task, tmp_path / "two", "--steps", "6", "--dropout", "0", "--rate", "0.1")
    assert one.shape == (6,) and one[-1] < one[0]
    assert torch.allclose(one, two, atol=1e-4)


def test_a_run_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path):
    """An optimizer, a schedule, a random state or an order of rows that begins anew."""
    whole = losses_of_a_run(1, "translator", tmp_path / "whole", "--steps", "8")
    killed = subprocess.Popen([sys.executable, *command(1, "translator", tmp_path / "killed", "--steps", "1000")],
                              cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while "step 4 " not in killed.stdout.readline():
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    saved = torch.load(tmp_path / "killed" / "translator.pt", weights_only=True)["losses"]
    assert 4 <= len(saved) < 1000
    steps = str(max(8, len(saved)))
    again = losses_of_a_run(1, "translator", tmp_path / "killed", "--steps", steps)
    assert torch.equal(again[: len(saved)], torch.tensor(saved))
    assert torch.allclose(again[:8], whole, atol=1e-6)


def test_every_epoch_offers_every_row_once():
    """Rows that are never trained on, or always in one order."""
    epochs = [torch.cat([rows_of(step, 20, 4, seed=1) for step in range(begin, begin + 5)]) for begin in (0, 5)]
    assert all(sorted(epoch.tolist()) == list(range(20)) for epoch in epochs)
    assert not torch.equal(*epochs)


def squares(model, x):
    return model(x).square().flatten()


def test_a_run_takes_up_all_that_it_had(tmp_path):
    """A momentum or a rate that is forgotten."""
    def trained(path, *stops):
        torch.manual_seed(0)
        for steps in stops:
            model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
            optimizer = torch.optim.Adam(model.parameters(), 0.1)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step)
            losses = run(model, squares, lambda step: (torch.full((2, 3), 1.0 + step),), optimizer, schedule, steps,
                         tmp_path / path, save_every=1)
        return losses

    torch.manual_seed(0)
    assert torch.equal(trained("at once", 6), trained("in two", 3, 6)[:6])


def test_a_state_of_another_model_is_refused(tmp_path):
    """A run that goes on with half of another model's weights."""
    def parts(width):
        model = nn.Linear(3, width)
        return {"model": model, "optimizer": torch.optim.Adam(model.parameters())}

    checkpoints.save_run(parts(2), [0.5], tmp_path / "run.pt")
    assert checkpoints.resume(parts(2), tmp_path / "run.pt") == [0.5]
    with pytest.raises(checkpoints.CheckpointError, match="is of another model"):
        checkpoints.resume(parts(4), tmp_path / "run.pt")
    (tmp_path / "run.pt").write_bytes(b"PK")
    with pytest.raises(checkpoints.CheckpointError, match="is cut off"):
        checkpoints.resume(parts(2), tmp_path / "run.pt")


def test_a_wrong_option_is_one_sentence(tmp_path, capsys):
    """A traceback for a number that is too small."""
    assert main(["language-model", "--batch-size", "0", "--folder", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("course_lib.runs.long_runs: --batch-size 0 has to lie between")
