"""What an instrument is given: tensors and lists as plain numbers, or one sentence that says why not."""

import torch


def plain(name, value, *shape, digits=4):
    """A tensor or nested list of finite numbers as nested lists, rounded.

    shape:  the expected sizes; None stands for any
    digits: behind the point; more than are shown, and fewer than differ from machine to machine
    raises ValueError in one sentence where it is something else
    """
    try:
        tensor = torch.as_tensor(value).detach().cpu().double()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name} has to be numbers, as a tensor or nested lists of equal length") from None
    if tensor.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, tensor.shape, strict=True)):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, and has to have ({wanted})")
    if not tensor.isfinite().all():
        raise ValueError(f"{name} holds numbers that are not finite")
    return (tensor.round(decimals=digits) + 0.0).tolist()  # no -0.0


def softmax(scores):
    """The weights of some scores, a list."""
    return torch.softmax(torch.tensor(scores, dtype=torch.float64), 0).tolist()
