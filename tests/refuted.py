"""A claim and an edit of the code above it: does the claim fall? No training is run twice.

    python -m tests.refuted     try the edits that are new, or of which something has changed; write down what was seen

While nothing has changed that decides it (the code that runs, the data, torch, NumPy), an edit is tried every tenth
day, and a slow one not at all. With COURSE_REFUTE_ALL all are tried; each week they are.
"""

import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path

import pytest
import torch

from course_lib.experiments import canvases, digits, language, patients, repeats, training_loop, twins
from course_lib.staff import refuting
from course_lib.staff.lesson_text import read_lesson
from tests.unchanged import is_due

SLOW = 4  # seconds of processor time, with all trainings that it needs, from which on an edit is slow
LEARNED = {}  # what came out of a training, which takes up to half a minute, and its seconds, by all that went in
spared = [0.0]  # seconds of trainings that were not run again


def once(given, train):
    """What a training gives; what went in says which one it is. The same training is not run twice."""
    if given in LEARNED:
        spared[0] += LEARNED[given][1]
    else:
        began = time.process_time()
        LEARNED[given] = train(), time.process_time() - began
    return LEARNED[given][0]


def into(model, given, train):
    """As `once`, of a model that is trained as it stands: it gets the weights. Gives what the training gives."""
    def trained():
        result = train()
        return result, {name: value.clone() for name, value in model.state_dict().items()}

    result, weights = once(given, trained)
    model.load_state_dict(weights)
    return result


def fitted(*given, whole=twins.fitted):
    """As twins.fitted."""
    return once(("fitted", *given), lambda: whole(*given))


def learned(loop, model, batches, optimizer, schedule, says="", whole=training_loop.losses_of):
    """As training_loop.losses_of."""
    given = (len(batches), loop.__code__.co_code, loop.__code__.co_names,
             *(tensor.double().sum().item() for tensor in (*model.parameters(), *next(iter(batches)))))
    return into(model, given, lambda: whole(loop, model, batches, optimizer, schedule))


def read(tokens, steps, seed, *sizes, whole=language.trained, **named):
    """As language.trained."""
    given = (tokens.double().std().item(), steps, seed, sizes, tuple(named.items()))
    return once(given, lambda: whole(tokens, steps, seed, *sizes, **named))


def drilled(model, training, *how, whole=digits.trained, **named):
    """As digits.trained."""
    read = getattr(getattr(model, "read", None), "__code__", None)
    given = (type(model).__name__, read and read.co_code, read and read.co_consts, how, tuple(named.items()),
             *(tensor.double().sum().item() for tensor in (*model.parameters(), *training)))
    into(model, given, lambda: whole(model, training, *how, **named) and None)
    return model.eval()


def asked(task, training, *how, kind=canvases.Asked, whole=canvases.trained, **named):
    """As canvases.trained."""
    given = (task, kind.forward.__code__.co_code, kind.forward.__code__.co_names, how, tuple(named.items()),
             *(part.double().sum().item() for part in training))
    return once(given, lambda: whole(task, training, *how, kind=kind, **named))


def treated(parts=patients.HEALTHY, *how, whole=patients.trained, **named):
    """As patients.trained."""
    given = (*((part.__code__.co_code, part.__code__.co_consts, *(part.__globals__.get(name) for name in
                part.__code__.co_names)) for part in parts), how, tuple(named.items()))
    return once(given, lambda: whole(parts, *how, **named))


def rehearsed(model, *how, whole=repeats.train, **named):
    """As repeats.train."""
    given = (len(model.blocks), how, tuple(named.items()),
             *(weight.double().sum().item() for weight in model.parameters()))
    return into(model, given, lambda: whole(model, *how, **named))


def falls_or_is_said_not_to(edit, monkeypatch, folder):
    """Assert that the claim falls under an edit, or that the lesson says that it cannot tell the rival apart."""
    text = " ".join(" ".join(cell.source.split()) for cell in read_lesson(edit.stem).cells if cell.kind == "markdown")
    assert edit.said is None or edit.said in text, "the lesson does not say so"
    known = refuting.seen().get(str(edit))
    if known and not os.environ.get("COURSE_REFUTE_ALL") and known.mark == refuting.fingerprint(edit) and (
            known.pace == "slow" or not is_due(str(edit))):
        pytest.skip("nothing that decides it has changed since it was tried; a quick one is tried every tenth day")
    monkeypatch.setattr(twins, "fitted", fitted)
    monkeypatch.setattr(training_loop, "losses_of", learned)
    monkeypatch.setattr(language, "trained", read)
    monkeypatch.setattr(digits, "trained", drilled)
    monkeypatch.setattr(canvases, "trained", asked)
    monkeypatch.setattr(patients, "trained", treated)
    monkeypatch.setattr(repeats, "train", rehearsed)
    monkeypatch.chdir(folder)
    assert refuting.falls(edit) is (edit.said is None)


def main():
    """Try what is new or has changed, two lessons at a time; the exit status is 1 where a claim does not fall.

    What was seen in a lesson is written down as soon as the lesson is done: a run that is stopped loses little.
    """
    edits, seen, standing = refuting.edits(), refuting.seen(), []
    by_lesson = [list(of_one) for _, of_one in groupby(edits, key=lambda edit: edit.stem)]
    with ProcessPoolExecutor(2) as pool:
        for rows, not_fallen in pool.map(_tried, by_lesson):
            standing += not_fallen
            seen |= {row.edit: row for row in rows}
            for edit in not_fallen:
                seen.pop(str(edit), None)
            rows = [seen[str(edit)] for edit in edits if str(edit) in seen]
            partial = refuting.SEEN.with_suffix(".partial")  # other lessons are reading the whole one
            partial.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
            partial.replace(refuting.SEEN)
    print(*standing, sep="\n", end="\n" * bool(standing))
    print(f"{len(rows)} edits did what they are to do, {sum(row.pace == 'slow' for row in rows)} of them slowly")
    return int(bool(standing))


def _tried(edits):
    """([refuting.Seen], edits under which a claim stands)."""
    torch.set_num_threads(1)
    rows, standing, known = [], [], refuting.seen()
    for edit in edits:
        mark, began = refuting.fingerprint(edit), time.process_time() + spared[0]
        before = known.get(str(edit))
        if before and before.mark == mark:
            rows.append(before)
            continue
        with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as folder:
            try:
                falls_or_is_said_not_to(edit, monkeypatch, Path(folder))
            except AssertionError:
                standing.append(edit)
                continue
        pace = "slow" if time.process_time() + spared[0] - began > SLOW else "quick"
        rows.append(refuting.Seen(mark, str(edit), pace))
    return rows, standing


if __name__ == "__main__":
    sys.exit(main())
