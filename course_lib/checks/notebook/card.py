"""What a learner sees of a verdict: a card in a notebook, the same words as text elsewhere."""

import inspect
from html import escape

import torch

from course_lib.checks.engine.comparing import ROUNDINGS, apart, differences, most_telling, number, tolerance
from course_lib.checks.engine.exercise import argument_names
from course_lib.checks.engine.judging import Verdict
from course_lib.checks.notebook.where import WHERE, where_rows
from course_lib.display import markup

MARKS = {"right": ("✓", "right"), "wrong": ("✗", "not right yet"), "unanswered": ("…", "not answered yet")}
COLOURS = {"right": "#2e7d32", "wrong": "#c62828", "unanswered": "#616161"}
FEW = 24  # numbers that can be read at a glance
NEAR = 100  # an error of less than so many times what is allowed
MARK = 'style="all:unset;text-decoration:underline"'  # as the paper is, light or dark
AND_MORE = "Something else is wrong as well; mend this first."
FOLDED = ("Asked", "Allowed")  # on the card of a wrong answer
CAUSES = ("Likely cause", "One cause")
AS_IT_IS = ("Example", "Expected", "Got", "It printed")  # numbers, and what the answer said: no sentences of ours


def card_rows(verdict, hints=()):
    """The card as (label, text) pairs, the headline first with an empty label; hints for one who is stuck."""
    mark, words = MARKS[verdict.status]
    exercise = verdict.exercise
    rows = [("", f"{mark} {exercise.name}: {words}")]
    if verdict.status == "right":
        rows += [("Tried", _what_was_tried(verdict))]
    if verdict.failure:
        rows += _cause_rows(verdict) + where_rows(verdict.located) + _failure_rows(verdict)
    rows += [(f"Hint {i}", hint) for i, hint in enumerate(hints, 1)]
    if verdict.status != "right":
        rows += [("Asked", markup.typeset(exercise.asked))]
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
    folded = [row for row in rows[1:] if status == "wrong" and row[0] in FOLDED]
    named = any(label in CAUSES for label, _ in rows)  # then think first
    where = [row for row in rows[1:] if named and row[0] in WHERE]
    shown = [row for row in rows[1:] if row not in folded and row not in where]
    return (f'<div role="status" style="border-left:4px solid {COLOURS[status]};padding:6px 12px;margin:4px 0">'
            f'<strong>{escape(rows[0][1])}</strong>{_table(shown)}'
            f'{_details("Where in your code", where)}{_details("The exercise", folded)}</div>')


def _details(summary, rows):
    return f"<details><summary>{summary}</summary>{_table(rows)}</details>" if rows else ""


def _table(rows):
    body = "".join(
        f'<tr><th scope="row" style="text-align:left;vertical-align:top;padding:2px 12px 2px 0;white-space:nowrap">'
        f'{escape(label)}</th><td style="text-align:left;white-space:pre-wrap">'
        f'{getattr(text, "html", "") or (escape if label in AS_IT_IS else markup.as_html)(text)}</td></tr>'
        for label, text in rows)
    return f'<table style="margin:4px 0;border:none">{body}</table>'


def _what_was_tried(verdict):
    plain = sum(not c.special for c in verdict.calls)
    special = dict.fromkeys(c.special for c in verdict.calls if c.special)
    judges_code = all(callable(a) for c in verdict.calls for a in c.args)
    kind = "implementations, right and wrong" if judges_code else "of different sizes"
    return f"{len(verdict.calls)} calls: {plain} {kind}, then {', '.join(special)}."


def _cause_rows(verdict):
    """Why it is wrong, as far as that is known."""
    rows = [("Likely cause" if i == 0 else "Or", mistake.says) for i, mistake in enumerate(verdict.mistakes)]
    if verdict.together:
        first, *others = [mistake.says for mistake in verdict.together]
        rows += [("One cause", first), *(("And another", says) for says in others or [AND_MORE])]
    if verdict.besides:
        special = verdict.besides.call.special
        names = dict(enumerate(argument_names(verdict.exercise)))
        rows += [("And besides", _said(verdict.besides, names) + (f" ({special})" if special else ""))]
    if closest := verdict.closest:
        of_all = "All" if closest.same == closest.wrong else f"{closest.same} of"
        which, these = ("Closest mistake", "this mistake") if len(closest.named) == 1 else (
            "Closest mistakes", "these two made at once")
        rows += [(which, "\n".join([f"{of_all} your {closest.wrong} wrong results are those of {these}.",
                                    *(mistake.says for mistake in closest.named)]))]
    if verdict.seen:
        rows += [("What we see", "\n".join(verdict.seen))]
    return rows


def _failure_rows(verdict: Verdict):
    failure = verdict.failure
    names = dict(enumerate(argument_names(verdict.exercise)))
    rows = [("Example", _arguments(failure.call, names, verdict.exercise.verified))]
    if failure.kind in ("values", "shape", "dtype") and failure.truth.outputs:
        rows += [("Expected", _outputs(failure, expected=True)), ("Got", _outputs(failure, expected=False))]
    rows += [("What failed", _said(failure, names))]
    if failure.index is not None and _is_near(failure):
        rows += [("Allowed", f"a relative error of {tolerance(failure.call):.1e}")]
    if failure.reply.printed.strip():
        rows += [("It printed", failure.reply.printed.strip()[:500])]
    return rows


def _is_near(failure):
    """Is some number off by little more than is allowed? Only then does it matter how much that is."""
    pairs = [(t, r) for t, r in zip(failure.truth.outputs, failure.reply.outputs, strict=False) if t.shape == r.shape]
    return any(t.is_floating_point() and differences(t, r).any() and not differences(t, r, NEAR * ROUNDINGS).any()
               for t, r in pairs)


def _what_later_cells_use(verdict):
    if verdict.is_used:
        return "use your own code."
    if verdict.status == "right":
        return ("use the course's version: some look at weights by its names, and yours has others. With the names of "
                "the stub they use yours.")
    if getattr(verdict.exercise.verified, "stands_in", True):
        return "use the course's verified version until yours is right."
    return "need your own code first: this hand-out has no stand-in for it."


def _said(failure, names):
    return failure.says if failure.kind == "error" else _fill_in(failure.says, names)


def _fill_in(says, names):
    """Put argument names where a failure speaks of {0} or {W_q.weight}."""
    for which in range(len(names)):
        says = says.replace(f"{{{which}}}", f"`{names[which]}`")
    return says.replace("{", "`").replace("}", "`")


def _arguments(call, names, verified):
    lines = [f"{names.get(i, i)} = {_value(a)}" for i, a in enumerate(call.args)]
    if call.build is not None:
        sizes = zip(inspect.signature(verified).parameters, call.build, strict=False)
        lines += [f"on a module built with {', '.join(f'{name} = {size}' for name, size in sizes)}"]
    return "\n".join(lines + [f"({call.special})"] * bool(call.special))


# Numbers


def _outputs(failure, expected):
    """What was expected of a call, or what came, with enough digits to see where the two differ."""
    mine, other = (failure.truth, failure.reply) if expected else (failure.reply, failure.truth)
    if mine.form == "True or False":
        return str(mine.outputs[0].item())
    grids = []
    for i, tensor in enumerate(mine.outputs):
        tensor = tensor.to(failure.call.dtype) if expected and tensor.is_floating_point() else tensor
        beside = other.outputs[i] if i < len(other.outputs) and other.outputs[i].shape == tensor.shape else None
        grids.append(_grid(tensor, beside, expected))
    return markup.Both("\n".join(grids), "\n".join(grid.html for grid in grids))


def _grid(tensor, beside, expected):
    """A tensor with its shape; where it differs from the one beside it, with all digits that it takes."""
    pair = (tensor, beside) if expected else (beside, tensor)
    wrong = None if beside is None else differences(*pair)
    about = _about(tensor)
    if tensor.numel() > FEW:
        at = [*most_telling(*pair, wrong)] if wrong is not None and wrong.any() else [0] * tensor.dim()
        start = max(0, at[-1] - 1)
        part, others = (None if t is None else t[(*at[:-1], slice(start, start + 4))] for t in (tensor, beside))
        where = f"{at[:-1] + [f'{start}:{start + len(part)}']}".replace("'", "")
        words = ", ".join(_numbers(part, others, expected))
        return _plainly(f"{words} at {where}   ({about})")
    words = _numbers(tensor.flatten(), None if beside is None else beside.flatten(), expected)
    text = f"{_nested(words, tensor.shape)}   ({about})"
    if wrong is None:  # of another shape: the brackets say more than lines would
        return _plainly(text)
    width, telling = max(map(len, words), default=0), not wrong.all()  # where all are wrong, no mark says anything
    marked = [" " * (width - len(w)) + (f"<mark {MARK}><b>{escape(w)}</b></mark>" if bad and telling else escape(w))
              for w, bad in zip(words, wrong.flatten(), strict=True)]
    line = tensor.shape[-1] if tensor.dim() else 1
    rows = "\n".join("  ".join(marked[i : i + line]) for i in range(0, len(marked), line or 1))
    return markup.Both(text, f'<code style="background:none">{rows}</code>   ({escape(about)})')


def _plainly(text):
    return markup.Both(text, escape(text))


def _numbers(tensor, beside, expected):
    """The numbers of a row in words: four digits, or more where they would look like those beside them."""
    if beside is None:
        return ["any finite number" if expected and v.isnan() else number(v) for v in tensor]
    wrong = differences(*((tensor, beside) if expected else (beside, tensor)))
    return ["any finite number" if expected and v.isnan() else apart(v, b)[0] if bad else number(v)
            for v, b, bad in zip(tensor, beside, wrong, strict=True)]


def _nested(words, shape):
    """Words as the lists in lists that a tensor of this shape is written as."""
    if not shape:
        return words[0]
    step = len(words) // shape[0] if shape[0] else 0
    return "[" + ", ".join(_nested(words[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])) + "]"


def _value(value):
    """An argument: a small tensor in full, of a larger one the first numbers, its shape and its dtype."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if value.numel() <= FEW:
        return _nested([number(v) for v in value.flatten()], value.shape)
    return f"{', '.join(number(v) for v in value.flatten()[:4])}, …   ({_about(value)})"


def _about(tensor):
    return f"shape {tuple(tensor.shape)}, {str(tensor.dtype).removeprefix('torch.')}"
