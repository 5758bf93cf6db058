"""Grading on a Dask cluster: the same verdicts, and a lost worker's submissions are done elsewhere."""

import threading
import time

import pytest

from course_lib.staff.grade import confine, on_dask
from tests.test_grade_command import arguments, batch, needs_confinement, results, run  # noqa: F401  a fixture

distributed = pytest.importorskip("distributed")


@needs_confinement
def test_a_cluster_finds_what_one_machine_finds_even_when_it_loses_a_worker(batch, tmp_path):  # noqa: F811
    """Submissions that were on a worker which has died are graded by nobody."""
    assert run(arguments(batch, tmp_path / "here", "--seed", "5")) == 0
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        doomed, lost = cluster.workers[0], []

        def lose_one():
            time.sleep(1)
            doomed.process.process._process.kill()
            lost.append(doomed)

        threading.Thread(target=lose_one, daemon=True).start()
        assert run(arguments(batch, tmp_path / "there", "--seed", "5", "--dask", cluster.scheduler_address)) == 0
        assert lost, "the run had ended before a worker was lost"
    rows = results(tmp_path / "there")
    assert rows == results(tmp_path / "here")
    assert {r["isolation"] for r in rows} == {confine.probe()}


def test_a_cluster_that_is_not_there_is_said_in_a_sentence(batch, tmp_path, capsys, monkeypatch):  # noqa: F811
    """A traceback of forty lines for a wrong port."""
    monkeypatch.setattr(confine, "probe", lambda: "B")
    monkeypatch.setattr(on_dask, "SECONDS", 0.5)
    assert run(arguments(batch, tmp_path / "report", "--dask", "tcp://127.0.0.1:9")) == 2
    assert "the Dask scheduler tcp://127.0.0.1:9 cannot be reached" in capsys.readouterr().err
