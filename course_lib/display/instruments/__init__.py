"""Instruments: pictures that are held, and teach by being moved, in any notebook and on the site."""

import base64
import json
from html import escape
from pathlib import Path

from IPython.display import display

from course_lib.display.dark import with_dark_rules
from course_lib.display.descriptions import description
from course_lib.display.instruments import (
    alignment,
    beam_tree,
    clock_hands,
    heads,
    lamp,
    picture,
    projection,
    query_among_keys,
    residual_strip,
    sampling,
    softmax_and_scale,
    writing,
)
from course_lib.display.instruments.pen import STYLE

HERE = Path(__file__).parent
INSTRUMENTS = {"softmax-and-scale": softmax_and_scale, "query-among-keys": query_among_keys, "clock-hands": clock_hands,
               "lamp": lamp, "alignment": alignment, "projection": projection, "heads": heads, "writing": writing,
               "beam-tree": beam_tree, "sampling": sampling, "picture": picture, "residual-strip": residual_strip}


def show(name, key, **data):
    """Display an instrument that needs no kernel and no network; where scripts are not run, a still picture of it.

    name: softmax-and-scale with scores, query-among-keys with names, keys and query, clock-hands with table, lamp with
          rows, paint, regions and questions, alignment with pairs, projection with names, x and three matrices,
          heads with words and layers, writing with sentences, beam-tree with searches, sampling with contexts,
          temperatures and cuts, picture with pictures, or residual-strip with tokens, first, second and costs; what
          each takes is said by `given` in the module of its name
    key:  of what the still picture shows, in course_lib/display/descriptions/NN.toml; or the words themselves
    data: tensors or lists
    raises ValueError in one sentence for what it cannot show
    """
    says = description(key)
    display({"text/html": as_html(name, says, **data), "text/plain": says}, raw=True)


def as_html(name, says, **data):
    """An instrument as HTML that fetches nothing; `says` describes its still picture to who cannot see it."""
    if name not in INSTRUMENTS:
        raise ValueError(f"there is no instrument {name}, only {', '.join(INSTRUMENTS)}")
    given = INSTRUMENTS[name].given(**data)
    picture = base64.b64encode(with_dark_rules(INSTRUMENTS[name].still(**given)).encode()).decode()
    numbers = escape(json.dumps(given, ensure_ascii=False, separators=(",", ":")))
    script = "".join((HERE / f"{part}.js").read_text(encoding="utf-8") for part in ("instrument", name))
    return (f'<div class="course-instrument" data-instrument="{name}" data-given="{numbers}">\n'
            f'<img src="data:image/svg+xml;base64,{picture}" alt="{escape(says)}" '
            f'class="course-picture" style="max-width:100%">\n'
            f"<style>\n{STYLE}</style>\n<script>\n(() => {{\n{script}}})();\n</script>\n</div>")
