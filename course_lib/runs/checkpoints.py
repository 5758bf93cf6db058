"""Checkpoints: keep what was learned in a file, and get it back whole or not at all."""

import io
import os
import reprlib
import zipfile
from pathlib import Path

import torch


class CheckpointError(ValueError):
    """A checkpoint cannot be written or used; the message is one sentence: which file, why, and what to do."""


def save(model, path, **config):
    """Keep a model's weights, such as the best so far: a crash in the middle leaves the older file as it was.

    model:  an nn.Module
    path:   the file; one that is there is replaced at once, when the new one is whole
    config: plain data to build the model again (numbers, strings, lists, dicts)
    raises: CheckpointError where config holds more than plain data, which `load` would refuse; OSError of the disk
    """
    for name, value in config.items():
        try:
            copy = io.BytesIO()
            torch.save(value, copy)
            torch.load(io.BytesIO(copy.getvalue()), weights_only=True)
        except Exception as error:  # whatever an object may do when it is pickled
            raise CheckpointError(f"{name} is not plain data ({type(value).__name__}); keep numbers, strings, or lists "
                                  "and dicts of them") from error
    _write({"weights": model.state_dict(), "config": config}, path)


def load(model, path):
    """Give a model the weights of a checkpoint; where that fails, the model stays as it is.

    model:   an nn.Module, built as it was when it was saved, on any device
    path:    a file that `save` wrote; no code in it is ever run (torch.load with weights_only=True)
    returns: the config that was saved with it, a dict
    raises:  CheckpointError for a file that is not there, empty, damaged, or of another program or model
    """
    config, weights = _read(path, next((p.device for p in model.parameters()), "cpu"), config=dict, weights=dict)
    wanted = model.state_dict()
    for name in [*wanted, *weights]:
        if name not in weights:
            wrong = f"it has no {name}"
        elif name not in wanted:
            wrong = f"its {name} has no place in this model"
        elif _shape(weights[name]) != _shape(wanted[name]):
            wrong = f"its {name} is {_shape(weights[name])}, this model's is {_shape(wanted[name])}"
        else:
            continue
        raise CheckpointError(f"{path} is of another model: {wrong}; build the model as it was saved, with "
                              f"{reprlib.repr(config)}")
    model.load_state_dict(weights)
    return config


def save_run(parts, losses, path):
    """Keep all that a training needs to go on after its last step.

    parts:  dict of objects with a state_dict: the model, its optimizer, its learning-rate schedule
    losses: list of floats, one a step
    path:   the file; replaced at once, when the new one is whole
    """
    _write({"run": {name: part.state_dict() for name, part in parts.items()}, "losses": losses}, path)


def resume(parts, path):
    """Bring a model, its optimizer and its schedule back to where `save_run` left them.

    parts:   as they were given to `save_run`, newly built; where that fails, what they hold does not count any more
    path:    the file
    returns: the losses until then, a list of floats
    raises:  CheckpointError for a file that is damaged, or of another program or model
    """
    device = next(parts["model"].parameters()).device
    run, losses = _read(path, device, run=dict, losses=list)
    try:
        for name, part in parts.items():
            part.load_state_dict(run[name])
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path} is of another model; name another folder, or move it away") from error
    return losses


def _write(content, path):
    """Write a file at once: it is the old one until the new one is whole."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _read(path, device, **kinds):
    """The parts of a file, by name, each of its kind."""
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise ValueError("is empty")
            if zipfile.ZipFile(file).testzip():  # torch itself does not look at the checksums
                raise ValueError("is damaged: a checksum in it is wrong")
            file.seek(0)
            found = torch.load(file, map_location=device, weights_only=True)
        if not isinstance(found, dict) or not all(isinstance(found[part], kind) for part, kind in kinds.items()):
            raise TypeError
        return tuple(found[part] for part in kinds)
    except OSError as error:
        why, cause = f"cannot be read ({error.strerror})", error
    except Exception as error:  # torch.load has no one exception for what it cannot read
        why = str(error) if type(error) is ValueError else "is cut off, damaged, or was not written by checkpoints.save"
        cause = error
    raise CheckpointError(f"{path} {why}; look at its name, or save it again") from cause


def _shape(weight):
    return tuple(weight.shape) if isinstance(weight, torch.Tensor) else type(weight).__name__
