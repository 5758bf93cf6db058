"""Checkpoints: whole or not at all, no code in them, and one sentence where one cannot be used."""

import io
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from course_lib.runs import checkpoints
from course_lib.runs.checkpoints import CheckpointError, load, save

ROOT = Path(__file__).resolve().parents[1]
CONFIG = {"d_model": 8, "words": ["the", "cat"], "rate": 1e-3, "classes": {"bad": 0, "good": 1}, "tied": False,
          "note": None}


def net(width=8, seed=0):
    """With a buffer that is no weight, and one weight in two places."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.Linear(width, 4))
    model.add_module("again", model[0])
    return model


def same(one, other):
    one, other = one.state_dict(), other.state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def refused(path, model=None):
    """The sentence with which a file is refused, and that the model stays as it was."""
    model = net(seed=1) if model is None else model
    before = {name: t.clone() for name, t in model.state_dict().items()}
    with pytest.raises(CheckpointError) as info:
        load(model, path)
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    said = str(info.value)
    assert said.startswith(str(path)) and "\n" not in said and ". " not in said and not said.endswith("."), said
    return said.removeprefix(str(path))


@pytest.fixture
def path(tmp_path):
    save(net(), tmp_path / "best.pt", **CONFIG)
    return tmp_path / "best.pt"


def test_what_was_saved_comes_back(path):
    """Buffers that are left out, a config whose lists or numbers have become others."""
    saved = net()
    saved(torch.randn(16, 4))  # moves the running mean
    save(saved, str(path), **CONFIG)
    model = net(seed=1)
    assert load(model, str(path)) == CONFIG
    assert same(model, saved) and not same(model, net())
    assert model.again is model[0] and os.listdir(path.parent) == ["best.pt"]


def test_weights_take_the_models_dtype_and_device(path):
    """A checkpoint of a GPU that cannot be read on a computer without one."""
    model = net(seed=1).double()
    load(model, path)
    assert model[0].weight.dtype == torch.float64 and torch.equal(model[0].weight, net()[0].weight.double())
    asked = []

    def remember(file, map_location, weights_only):
        asked.append((map_location, weights_only))
        raise RuntimeError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "load", remember)
        for model in (nn.Linear(1, 1, device="meta"), nn.Identity()):
            with pytest.raises(CheckpointError):
                load(model, path)
    assert asked == [(torch.device("meta"), True), ("cpu", True)]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_between_cpu_and_gpu(path, tmp_path):
    """Weights that come back on the device where they were saved."""
    model = net(seed=1).cuda()
    load(model, path)
    assert model[0].weight.is_cuda and same(net(), model.cpu())
    save(net(seed=2).cuda(), tmp_path / "gpu.pt")
    assert load(model, tmp_path / "gpu.pt") == {} and same(net(seed=2), model)


# ---- Saving ----


@pytest.mark.parametrize("value", [nn.Linear(1, 1), lambda: 0, Path("x"), [{1: object()}]])
def test_a_config_that_could_not_be_read_again_is_refused_before_anything_is_written(path, value):
    """A night of training in a file that nothing can load."""
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"^odd is not plain data \(\w+\); keep numbers, [^\n]*$"):
        save(net(seed=1), path, d_model=8, odd=value)
    assert path.read_bytes() == before and os.listdir(path.parent) == ["best.pt"]


CHILD = """
import os, sys, torch
from course_lib.runs import checkpoints
when, path = sys.argv[1:]
whole = torch.save

def half(what, file):
    if isinstance(file, __import__("io").BytesIO):
        return whole(what, file)  # the config
    copy = __import__("io").BytesIO()
    whole(what, copy)
    file.write(copy.getvalue()[:len(copy.getvalue()) // 2])
    file.flush()
    os._exit(9)

if when == "half":
    torch.save = half
else:
    os.replace = lambda *names: os._exit(9)
checkpoints.save(torch.nn.Linear(100, 100), path, d_model=8)
"""


@pytest.mark.parametrize("when", ["half", "before the new name"])
def test_a_kill_in_the_middle_of_saving_leaves_the_old_file_whole(path, when):
    """A power cut that takes the best checkpoint with it."""
    done = subprocess.run([sys.executable, "-c", CHILD, when, str(path)], cwd=ROOT)
    assert done.returncode == 9
    (part,) = set(os.listdir(path.parent)) - {"best.pt"}
    assert (path.parent / part).stat().st_size > 10_000, "it was killed in the middle"
    assert load(model := net(seed=1), path) == CONFIG and same(model, net())


def test_it_is_on_the_disk_before_it_takes_the_name(path, monkeypatch):
    """A file of zeros after a power cut: the new name reached the disk before the content did."""
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append(os.fstat(fd).st_size), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda old, new: (calls.append("replace"), replace(old, new)))
    save(net(seed=1), path)
    assert calls == [path.stat().st_size, "replace"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    """Each attempt leaves another part behind, on a disk that is full already."""
    def full(what, file):
        file.write(b"x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match="No space left"):
        save(net(seed=1), path)
    monkeypatch.undo()
    assert load(model := net(seed=1), path) == CONFIG and same(model, net()) and os.listdir(path.parent) == ["best.pt"]


# ---- Files that cannot be used ----


def test_a_file_that_is_not_there_is_called_that(tmp_path):
    """FileNotFoundError is no ValueError, and says nothing of what to do."""
    assert "cannot be read (No such file or directory)" in refused(tmp_path / "bets.pt")
    assert "cannot be read" in refused(tmp_path)


def test_an_empty_file_is_called_that(path):
    """EOFError: Ran out of input."""
    path.write_bytes(b"")
    assert " is empty" in refused(path)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_refused(path, part):
    """PytorchStreamReader failed reading zip archive: failed finding central directory."""
    whole = path.read_bytes()
    path.write_bytes(whole[:int(part * len(whole))])
    assert "is cut off, damaged" in refused(path)


def test_one_changed_bit_in_a_weight_is_noticed(path):
    """torch does not look at the checksums of its own files, and trains on with what it finds."""
    whole = bytearray(path.read_bytes())
    at = whole.index(net()[2].weight.detach().numpy().tobytes()[:16])
    whole[at + 2] ^= 1
    path.write_bytes(whole)
    torch.load(path, weights_only=True)
    assert "is damaged: a checksum in it is wrong" in refused(path)


@pytest.mark.parametrize("what", [net().state_dict(), {"weights": [1], "config": {}}, {"weights": {}}, torch.ones(2)])
def test_a_file_that_something_else_wrote_is_refused(path, what, recwarn):
    """KeyError, a warning about indexing a tensor by a name, or a model of which nothing was loaded."""
    torch.save(what, path)
    assert "was not written by checkpoints.save" in refused(path) and not recwarn.list


@pytest.mark.parametrize("content", [b"# a notebook\n", b"PK\x05\x06" + bytes(18), os.urandom(500)])
def test_a_file_of_another_kind_is_refused(path, content):
    """UnpicklingError: invalid load key."""
    path.write_bytes(content)
    assert "was not written by checkpoints.save" in refused(path)


def zip_of(what):
    """A checkpoint in every respect, with a pickle of somebody else's in it."""
    good, bad = io.BytesIO(), io.BytesIO()
    torch.save({"weights": {}, "config": {}}, good)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            content = pickle.dumps(what, protocol=2) if name.endswith("data.pkl") else source.read(name)
            target.writestr(name, content)
    return bad.getvalue()


class Malicious:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("wrap", [zip_of, pickle.dumps])
def test_no_code_in_a_file_is_run(path, tmp_path, wrap):
    """A checkpoint from a forum that sends your keys away."""
    path.write_bytes(wrap({"weights": {}, "config": Malicious(tmp_path / "was run")}))
    assert "was not written by checkpoints.save" in refused(path)
    assert not (tmp_path / "was run").exists()
    pickle.loads(pickle.dumps(Malicious(tmp_path / "was run")))
    assert (tmp_path / "was run").exists(), "it would have done harm"


def another(name):
    """A model that differs from net() in one thing."""
    model = net(width=9, seed=1) if name == "wider" else net(seed=1)
    if name == "longer":
        model.append(nn.Linear(4, 4))
    if name == "shorter":
        del model.again
    return nn.Identity() if name == "empty" else model


@pytest.mark.parametrize("name, says", [
    ("longer", "it has no 4.weight"),
    ("shorter", "its again.weight has no place in this model"),
    ("wider", "its 0.weight is (8, 4), this model's is (9, 4)"),
    ("empty", "its 0.weight has no place in this model"),
])
def test_the_file_of_another_model_is_refused_by_its_first_wrong_weight(path, name, says):
    """Forty lines of keys, or a model of which some weights were loaded."""
    save(net(), path, d_model=8, words=["word"] * 20_000)
    said = refused(path, another(name))
    assert f"is of another model: {says}; build the model as it was saved, with {{'d_model': 8, 'words': [" in said
    assert len(said) < 300


def test_a_wrong_last_weight_changes_no_earlier_one(path):
    """load_state_dict copies what fits before it complains."""
    model = net(seed=1)
    model[2] = nn.Linear(8, 5)
    assert re.search(r"its 2\.weight is \(4, 8\), this model's is \(5, 8\)", refused(path, model))


def test_a_weight_that_is_no_tensor_is_refused(path):
    """A file made by hand."""
    torch.save({"weights": {**net().state_dict(), "1.num_batches_tracked": "many"}, "config": {}}, path)
    assert "its 1.num_batches_tracked is str, this model's is ()" in refused(path)


def test_the_error_is_a_value_error():
    """`except ValueError` around everything a reader may have got wrong."""
    assert issubclass(CheckpointError, ValueError) and checkpoints.CheckpointError is CheckpointError
