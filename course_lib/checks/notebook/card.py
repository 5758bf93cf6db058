"""What a learner sees of a verdict: a card in a notebook, the same words as text elsewhere."""

from html import escape

import torch

from course_lib.checks.engine.comparing import number, tolerance
from course_lib.checks.engine.exercise import argument_names
from course_lib.checks.engine.judging import Verdict

MARKS = {"right": ("✓", "right"), "wrong": ("✗", "not right yet"), "unanswered": ("…", "not answered yet")}
COLOURS = {"right": "#2e7d32", "wrong": "#c62828", "unanswered": "#616161"}
FEW = 24  # numbers that can be read at a glance


def card_rows(verdict, hints=()):
    """The card as (label, text) pairs, the headline first with an empty label; hints for one who is stuck."""
    mark, words = MARKS[verdict.status]
    exercise = verdict.exercise
    rows = [("", f"{mark} {exercise.name}: {words}")]
    if verdict.status == "right":
        rows += [("Tried", _what_was_tried(verdict))]
    else:
        rows += [("Asked", exercise.asked)]
    if verdict.failure:
        rows += _failure_rows(verdict)
    rows += [(f"Hint {i}", hint) for i, hint in enumerate(hints, 1)]
    rows += [("Later cells", _what_later_cells_use(verdict))]
    return rows


def as_text(rows):
    """The card for a terminal."""
    width = max(len(label) for label, _ in rows)
    lines = [rows[0][1]]
    for label, text in rows[1:]:
        first, *others = text.split("\n")
        lines += [f"  {label:<{width}}  {first}"] + [" " * (width + 4) + line for line in others]
    return "\n".join(lines)


def as_html(rows, status):
    """The card for a notebook. Words and marks carry the meaning; the colour only repeats it."""
    body = "".join(
        f'<tr><th scope="row" style="text-align:left;vertical-align:top;padding:2px 12px 2px 0;white-space:nowrap">'
        f'{escape(label)}</th><td style="text-align:left;white-space:pre-wrap">{escape(text)}</td></tr>'
        for label, text in rows[1:])
    return (f'<div role="status" style="border-left:4px solid {COLOURS[status]};padding:6px 12px;margin:4px 0">'
            f'<strong>{escape(rows[0][1])}</strong>'
            f'<table style="margin:4px 0;border:none">{body}</table></div>')


def _what_was_tried(verdict):
    plain = sum(not c.special for c in verdict.calls)
    special = dict.fromkeys(c.special for c in verdict.calls if c.special)
    judges_code = all(callable(a) for c in verdict.calls for a in c.args)
    kind = "implementations, right and wrong" if judges_code else "of different sizes"
    return f"{len(verdict.calls)} calls: {plain} {kind}, then {', '.join(special)}."


def _failure_rows(verdict: Verdict):
    failure = verdict.failure
    names = dict(enumerate(argument_names(verdict.exercise)))
    rows = [("Called with", _arguments(failure.call, names))]
    if failure.kind in ("values", "shape", "dtype") and failure.truth.outputs:
        expected = _outputs(failure.truth, failure.call.dtype).replace("nan", "any finite number")
        rows += [("Expected", expected), ("Got", _outputs(failure.reply))]
    rows += [("What failed", failure.says if failure.kind == "error" else _fill_in(failure.says, names))]
    if failure.index is not None and any(t.is_floating_point() for t in failure.truth.outputs):
        rows += [("Allowed", f"a relative error of {tolerance(failure.call):.1e}")]
    if failure.reply.printed.strip():
        rows += [("It printed", failure.reply.printed.strip()[:500])]
    for i, mistake in enumerate(verdict.mistakes):
        rows += [("Likely cause" if i == 0 else "Or", mistake.says)]
    if verdict.broken:
        rows += [("What it shows", "\n".join(verdict.broken))]
    return rows


def _what_later_cells_use(verdict):
    if verdict.status == "right":
        return "use your own code."
    if getattr(verdict.exercise.verified, "stands_in", True):
        return "use the course's verified version until yours is right."
    return "need your own code first: this hand-out has no stand-in for it."


def _fill_in(says, names):
    """Put argument names where a failure speaks of {0} or {W_q.weight}."""
    for which in range(len(names)):
        says = says.replace(f"{{{which}}}", f"`{names[which]}`")
    return says.replace("{", "`").replace("}", "`")


def _arguments(call, names):
    lines = [f"{names.get(i, i)} = {_value(a)}" for i, a in enumerate(call.args)]
    lines += [f"on a module built with {call.build}"] * (call.build is not None)
    return "\n".join(lines + [f"({call.special})"] * bool(call.special))


def _outputs(reply, dtype=None):
    if reply.form == "True or False":
        return str(reply.outputs[0].item())
    return "\n".join(_value(t.to(dtype) if dtype and t.is_floating_point() else t, True) for t in reply.outputs)


def _value(value, describe=False):
    """A small tensor in full, a larger one by its first numbers; its shape and dtype where wanted."""
    if not isinstance(value, torch.Tensor):
        return repr(value)
    about = f"shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
    if value.numel() <= FEW:
        return _nested(value) + (f"   ({about})" if describe else "")
    start = ", ".join(number(v) for v in value.flatten()[:4])
    return f"{start}, …   ({about})"


def _nested(value):
    if value.dim() == 0:
        return number(value)
    return "[" + ", ".join(_nested(v) for v in value) + "]"
