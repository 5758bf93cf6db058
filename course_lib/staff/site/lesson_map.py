"""The map of lessons: one below the other, and a line to each from every lesson that it needs."""

from html import escape

from course_lib.staff.site.facts import counted

ROW, LINE = 68, 46  # pixels: the height of a lesson on the map, and where the line of lessons runs
ON = ' class="on"'
SIGN = '<svg width="60" height="24" aria-hidden="true"><path{} d="{}"/></svg>'
LEGEND = (f'<p class="legend">{SIGN.format(ON, "M4 12H56")} the next lesson builds on this one '
          f'{SIGN.format("", "M4 20C20 0 40 0 56 20")} a later lesson needs this one, too</p>')


def lesson_map(facts):
    """The map as HTML, for facts_of all lessons."""
    numbers = [fact["number"] for fact in facts]
    lines = [_line(numbers.index(needed), i) for i, fact in enumerate(facts)
             for needed in fact["needs"] if needed in numbers]
    dots = [f'<circle cx="{LINE}" cy="{_middle(i)}" r="6"/>' for i in range(len(facts))]
    drawing = (f'<svg width="60" height="{ROW * len(facts)}" aria-hidden="true">'
               f'{"".join(lines)}{"".join(dots)}</svg>')
    return f'{LEGEND}<div class="lesson-map">{drawing}<ol>{"".join(map(_row, facts))}</ol></div>'


def _middle(i):
    return ROW * i + ROW // 2


def _line(start, end):
    """A straight line to the next lesson; an arc past those in between, the wider the more they are."""
    bend = LINE - min(56, 14 * (end - start - 1))
    y1, y2 = _middle(start), _middle(end)
    near = ON if end == start + 1 else ""
    return f'<path{near} d="M{LINE} {y1} C{bend} {y1 + ROW // 2} {bend} {y2 - ROW // 2} {LINE} {y2}"/>'


def _row(fact):
    minutes = f"{fact['minutes']} minutes" if fact["minutes"] else ""
    needs = f"needs {' and '.join(fact['needs'])}" if fact["needs"] else ""
    about = " · ".join(filter(None, (minutes, counted(fact["exercises"], "exercise"), needs)))
    return (f'<li><a href="{fact["page"]}.html"><b>{fact["number"]}</b> {escape(fact["title"])}</a>'
            f'<small>{about}</small></li>')
