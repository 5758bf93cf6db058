"""A claim and an edit of the code above it: does the claim fall? No training is run twice."""

import functools

from course_lib.experiments import canvases, digits, language, patients, repeats, training_loop, twins
from course_lib.staff import refuting
from course_lib.staff.lesson_text import read_lesson

FITTED = functools.cache(twins.fitted)  # of the same reviews it is the same each time; to fit it takes 7 seconds
LEARNED = {}  # what came out of a training, which takes up to half a minute, by all that went in


def learned(loop, model, batches, optimizer, schedule, says="", whole=training_loop.losses_of):
    """As losses_of: the same training is not run twice."""
    given = (len(batches), loop.__code__.co_code, loop.__code__.co_names,
             *(tensor.double().sum().item() for tensor in (*model.parameters(), *next(iter(batches)))))
    if given not in LEARNED:
        losses = whole(loop, model, batches, optimizer, schedule)
        LEARNED[given] = losses, {name: value.clone() for name, value in model.state_dict().items()}
    losses, weights = LEARNED[given]
    model.load_state_dict(weights)
    return losses


def read(tokens, steps, seed, *sizes, whole=language.trained, **named):
    """As language.trained: the same training is not run twice."""
    given = (tokens.double().std().item(), steps, seed, sizes, tuple(named.items()))
    if given not in LEARNED:
        LEARNED[given] = whole(tokens, steps, seed, *sizes, **named)
    return LEARNED[given]


def drilled(model, training, *how, whole=digits.trained, **named):
    """As digits.trained: the same training is not run twice."""
    read = getattr(getattr(model, "read", None), "__code__", None)
    given = (type(model).__name__, read and read.co_code, read and read.co_consts, how, tuple(named.items()),
             *(tensor.double().sum().item() for tensor in (*model.parameters(), *training)))
    if given not in LEARNED:
        whole(model, training, *how, **named)
        LEARNED[given] = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(LEARNED[given])
    return model.eval()


def asked(task, training, *how, kind=canvases.Asked, whole=canvases.trained, **named):
    """As canvases.trained: the same training is not run twice."""
    given = (task, kind.forward.__code__.co_code, kind.forward.__code__.co_names, how, tuple(named.items()),
             *(part.double().sum().item() for part in training))
    if given not in LEARNED:
        LEARNED[given] = whole(task, training, *how, kind=kind, **named)
    return LEARNED[given]


def treated(parts=patients.HEALTHY, *how, whole=patients.trained, **named):
    """As patients.trained: the same training is not run twice."""
    given = (*((part.__code__.co_code, part.__code__.co_consts, *(part.__globals__.get(name) for name in
                part.__code__.co_names)) for part in parts), how, tuple(named.items()))
    if given not in LEARNED:
        LEARNED[given] = whole(parts, *how, **named)
    return LEARNED[given]


def rehearsed(model, *how, whole=repeats.train, **named):
    """As repeats.train: the same training is not run twice."""
    given = (len(model.blocks), how, tuple(named.items()),
             *(weight.double().sum().item() for weight in model.parameters()))
    if given not in LEARNED:
        losses = whole(model, *how, **named)
        LEARNED[given] = losses, {name: value.clone() for name, value in model.state_dict().items()}
    losses, weights = LEARNED[given]
    model.load_state_dict(weights)
    return losses


def falls_or_is_said_not_to(edit, monkeypatch, folder):
    """Assert that the claim falls under an edit, or that the lesson says that it cannot tell the rival apart."""
    monkeypatch.setattr(twins, "fitted", FITTED)
    monkeypatch.setattr(training_loop, "losses_of", learned)
    monkeypatch.setattr(language, "trained", read)
    monkeypatch.setattr(digits, "trained", drilled)
    monkeypatch.setattr(canvases, "trained", asked)
    monkeypatch.setattr(patients, "trained", treated)
    monkeypatch.setattr(repeats, "train", rehearsed)
    monkeypatch.chdir(folder)
    assert refuting.falls(edit) is (edit.said is None)
    text = " ".join(" ".join(cell.source.split()) for cell in read_lesson(edit.stem).cells if cell.kind == "markdown")
    assert edit.said is None or edit.said in text, "the lesson does not say so"
