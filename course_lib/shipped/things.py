"""The files that ship with the course: what each one is, read only where it is as it was written."""

import csv
import hashlib
import io
import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "files"
LIST = Path(__file__).parent / "things.tsv"
COLUMNS = ("name", "bytes", "sha256", "licence", "source", "made_by")


class ShippedError(Exception):
    """Something that ships with the course cannot be used; the message is one sentence: what is wrong, what to do."""


def rows():
    """What ships, as dicts: name, bytes, sha256, licence, source, made_by."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def read(name):
    """(arrays, texts) of a thing: numbers in float32 by name, and plain data.

    raises: ShippedError where there is no such thing, or its file is not as it was written
    """
    known = {row["name"]: row for row in rows()}
    if name not in known:
        raise ShippedError(f"nothing named {name!r} ships with the course; there is {', '.join(known)}")
    path = FOLDER / f"{name}.npz"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShippedError(f"{path.name}, which ships with the course, cannot be read ({error.strerror}): "
                           "get a fresh copy of the course") from error
    if hashlib.sha256(data).hexdigest() != known[name]["sha256"]:
        raise ShippedError(f"{path.name}, which ships with the course, is not as it was written: "
                           "get a fresh copy of the course")
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {key: file[key].astype(np.float32) for key in file.files if key != "texts"}
        return arrays, json.loads(str(file["texts"]))


def write(name, arrays, texts, **said):
    """Write a thing in float16, and its line in the list.

    said: licence, source, made_by
    """
    FOLDER.mkdir(exist_ok=True)
    data = io.BytesIO()
    np.savez_compressed(data, texts=np.array(json.dumps(texts, ensure_ascii=False)),
                        **{key: np.asarray(array, dtype=np.float16) for key, array in arrays.items()})
    (FOLDER / f"{name}.npz").write_bytes(data.getvalue())
    kept = {row["name"]: row for row in rows()} if LIST.exists() else {}
    kept[name] = {"name": name, "bytes": len(data.getvalue()),
                  "sha256": hashlib.sha256(data.getvalue()).hexdigest(), **said}
    with LIST.open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
        lines.writeheader()
        lines.writerows(kept[key] for key in sorted(kept))
