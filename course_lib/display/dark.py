"""The same picture on a dark page: paper and ink change places, and each hue stays what it is.

Where a page says that it is dark, the rules in a picture exchange its colours; everywhere else it is as it was drawn.
"""

import re
from functools import cache

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from course_lib.display import style

# How pages say that they are dark: JupyterLab and Notebook, VS Code, Colab, our site; it also asks the system.
PAGES = (':is([data-jp-theme-light="false"],.vscode-dark,.vscode-high-contrast:not(.vscode-high-contrast-light),'
         '[theme="dark"],body[data-theme="dark"])')
ASKS_THE_SYSTEM = 'body[data-theme="auto"]'

# The lightness of a colour, and what it is on a dark page: on either side of the middle, on which black and white are
# equally legible, all change sides.
MIDDLE = 49.9
CURVE = [(0, 100), (18, 89), (30, 75), (40, 63.5), (MIDDLE - 0.01, 52.5), (MIDDLE, 48.5), (97.9, 9), (100, 0)]
OWN = {style.WEIGHT: "#d874c6"}  # else people who see no red would take it for a key's blue
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
DAYLIGHT = np.array([0.9505, 1.0, 1.089])
COLOUR = re.compile(r"\b(fill|stroke|stop-color)(=\"|: ?)(#[0-9a-fA-F]{6}|#[0-9a-fA-F]{3})\b")


def where_dark(selector, declarations):
    """A CSS rule for what `selector` names, in force on dark pages alone."""
    rule = f"{selector}{{{declarations}}}"
    return f"{PAGES} {rule}@media(prefers-color-scheme:dark){{{ASKS_THE_SYSTEM} {rule}}}"


# An SVG brings rules of its own, and asks for the scheme of its image, else for the system's; pixels are all turned
TURNED = "filter:invert(.9) hue-rotate(180deg)"
RULES = ("img.course-picture{color-scheme:light}" + where_dark("img.course-picture", "color-scheme:dark")
         + where_dark("img.course-pixels", TURNED))


@cache
def on_dark(colour):
    """A colour as it is on a dark page, "#rrggbb": as far on the other side of the middle, of the same hue.

    What is legible with black ink becomes legible with white ink, and a stronger colour stays the stronger one.
    """
    if to_hex(colour) in OWN:
        return OWN[to_hex(colour)]
    lightness, a, b = _lab(np.array(to_rgb(colour)))
    turned = np.interp(lightness, *zip(*CURVE, strict=True))
    chroma = next(share for share in np.linspace(1, 0, 51) if _is_a_colour(_rgb(turned, share * a, share * b)))
    return to_hex(np.clip(_rgb(turned, chroma * a, chroma * b), 0, 1))


def with_dark_rules(svg):
    """The text of an SVG with rules that change its colours where the page around it is dark."""
    rules = {"": f"svg{{fill:{on_dark('#000000')}}}image{{{TURNED}}}"}  # what names no colour, and pixels
    for what, sign, colour in COLOUR.findall(svg):
        place = f'[{what}="{colour}"]' if sign == '="' else f'[style*="{what}:{sign[1:]}{colour}"]'
        rules[place] = f"{place}{{{what}:{on_dark(colour)}!important}}"
    at = svg.rindex("</svg>")
    return f"{svg[:at]}<style>@media(prefers-color-scheme:dark){{{''.join(rules.values())}}}</style>{svg[at:]}"


def _lab(rgb):
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    t = TO_XYZ @ linear / DAYLIGHT
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _rgb(lightness, a, b):
    y = (lightness + 16) / 116
    t = np.array([y + a / 500, y, y - b / 200])
    linear = np.linalg.inv(TO_XYZ) @ (np.where(t > 6 / 29, t**3, 3 * (6 / 29) ** 2 * (t - 4 / 29)) * DAYLIGHT)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.sign(linear) * np.abs(linear) ** (1 / 2.4) - 0.055)


def _is_a_colour(rgb):
    return bool((rgb > -0.002).all() and (rgb < 1.002).all())
