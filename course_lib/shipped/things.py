"""The files that ship with the course: what each one is, read only where it is as it was written."""

import bz2
import csv
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import safetensors.numpy

FOLDER = Path(__file__).parent / "files"
LIST = Path(__file__).parent / "things.tsv"
COLUMNS = ("name", "bytes", "sha256", "licence", "source", "made_by")


class ShippedError(Exception):
    """Something that ships with the course cannot be used; the message is one sentence: what is wrong, what to do."""


def rows():
    """What ships, as dicts: name, bytes, sha256, licence, source, made_by."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def path_of(name):
    """Where the file of a thing is: an archive of arrays, or a file of the name itself where it has an ending."""
    return FOLDER / (name if "." in name else f"{name}.npz")


def whole(name):
    """The bytes of a thing.

    raises: ShippedError where there is no such thing, or its file is not as it was written
    """
    known = {row["name"]: row for row in rows()}
    if name not in known:
        raise ShippedError(f"nothing named {name!r} ships with the course; there is {', '.join(known)}")
    path = path_of(name)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShippedError(f"{path.name}, which ships with the course, cannot be read ({error.strerror}): "
                           "get a fresh copy of the course") from error
    if hashlib.sha256(data).hexdigest() != known[name]["sha256"]:
        raise ShippedError(f"{path.name}, which ships with the course, is not as it was written: "
                           "get a fresh copy of the course")
    return data


def read(name):
    """(arrays, texts) of a thing: numbers in float32 by name, and plain data; raises ShippedError as `whole` does."""
    data = whole(name)
    if name.endswith(".bz2"):
        return {}, json.loads(bz2.decompress(data))
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {key: file[key].astype(np.float32) for key in file.files if key != "texts"}
        return arrays, json.loads(str(file["texts"]))


def write(name, arrays, texts, **said):
    """Write a thing, numbers in float16, and its line in the list.

    said: licence, source, made_by
    """
    FOLDER.mkdir(exist_ok=True)
    arrays = {key: np.asarray(array, dtype=np.float16) for key, array in arrays.items()}
    if name.endswith(".safetensors"):
        data = safetensors.numpy.save(arrays, metadata=texts)
    elif name.endswith(".bz2"):  # half of what an archive of arrays needs for long texts
        data = bz2.compress(json.dumps(texts).encode())
    else:
        file = io.BytesIO()
        np.savez_compressed(file, texts=np.array(json.dumps(texts, ensure_ascii=False)), **arrays)
        data = file.getvalue()
    path_of(name).write_bytes(data)
    kept = {row["name"]: row for row in rows()} if LIST.exists() else {}
    kept[name] = {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **said}
    with LIST.open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
        lines.writeheader()
        lines.writerows(kept[key] for key in sorted(kept))
