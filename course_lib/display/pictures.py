"""A picture as an image inside a page: line art and heat maps as SVG, photos and dense images as PNG."""

import base64
import io
import re
from html import escape

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from course_lib.display import dark, style

SQUARES = 4096  # of heat maps in one SVG; with more it is dense, and drawn as a PNG
HEAVY = 80_000  # characters: an SVG that is longer, of many thousand points, is drawn as a PNG
INCH = 100  # pixels of an inch on the page; a PNG has twice as many
ROUND = 12  # the radius of the paper's corners, in pixels
STRIP = "strip"  # the gid of an image that states a scale: a column of colours
PLAIN = ("auto", "antialiased", "nearest", "none")  # interpolations that leave a square a square


def as_html(picture, alt):
    """A picture as an HTML image with its description; what is under the mouse says its value where it has one.

    picture: a matplotlib figure, which is closed, or the text of an SVG
    """
    if isinstance(picture, str):
        return _image("svg+xml", dark.with_dark_rules(picture).encode(), alt, "", "")
    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # a layout moves again when it is asked twice
    frame = picture.get_tightbbox().padded(0.15)  # inches
    for axes in picture.axes:
        _set_ink(axes)
    svg = as_svg(picture, frame)
    hover = "".join(_hover(axes, frame) for axes in picture.axes)
    if svg is not None:
        html = _image("svg+xml", dark.with_dark_rules(svg).encode(), alt, "", hover)
    else:
        png = io.BytesIO()
        picture.savefig(png, format="png", dpi=2 * INCH, bbox_inches=frame, metadata={"Software": None})
        width = f'width="{round(frame.width * INCH)}" '
        kind = "picture" if _holds_a_photo(picture) else "pixels"
        html = _image("png", png.getvalue(), alt, width, hover, f";border-radius:{ROUND}px", kind)
    plt.close(picture)
    return html


def as_svg(figure, frame):
    """The part of a figure within a frame as the text of an SVG; None where it is too dense for one.

    frame: matplotlib Bbox in inches
    """
    images = [image for axes in figure.axes for image in axes.images if image.get_visible()]
    tables = all(image.get_array().ndim == 2 and image.get_interpolation() in PLAIN for image in images)
    if not tables or sum(image.get_array().size for image in images) > SQUARES:
        return None
    places = {f"squares-{n}": image for n, image in enumerate(images)}
    spots = [_take_the_place_of(image, name) for name, image in places.items()]
    figure.patch.set_visible(False)
    text = io.StringIO()
    nobody = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", bbox_inches=frame, metadata=nobody)
    svg = _tidy(text.getvalue(), frame)
    for name, image in places.items():
        svg = re.sub(rf'<g id="{name}"><path[^>]*?( clip-path="[^"]*")?( style="[^"]*")?/></g>',
                     lambda found, image=image, name=name: _strip(image, frame, name) if image.get_gid() == STRIP
                     else _squares(image, frame, found[1] or ""), svg)
    figure.patch.set_visible(True)
    for image, spot in zip(images, spots, strict=True):
        image.set_visible(True)
        spot.remove()
    return svg if len(svg) <= HEAVY else None


def svg_of(body, width, height, scale=1.0):
    """The text of an SVG on paper with rounded corners.

    width, height: in the body's units
    scale:         pixels of such a unit
    """
    return (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'width="{round(width * scale)}" height="{round(height * scale)}" viewBox="0 0 {width:g} {height:g}" '
            f'font-family="{style.FONT}"><style>*{{stroke-linejoin:round}}</style><rect width="{width:g}" '
            f'height="{height:g}" rx="{ROUND / scale:g}" fill="{style.PAPER}"/>{body}</svg>')


def _image(kind, data, alt, width, hover, corners="", name="picture"):
    text = base64.b64encode(data).decode()
    return (f'<div style="position:relative;display:inline-block"><style>{dark.RULES}</style>'
            f'<img src="data:image/{kind};base64,{text}" {width}alt="{escape(alt)}" class="course-{name}" '
            f'style="max-width:100%;display:block{corners}">{hover}</div>')


def _holds_a_photo(figure):
    """Is one of its images made of colours, and not of numbers? Its colours are its own."""
    return any(image.get_array().ndim == 3 for axes in figure.axes for image in axes.images)


def _hover(axes, frame):
    """Invisible boxes over the squares of a heat map, each with its row, column and value as a tooltip."""
    boxes = []
    for r, c, says in getattr(axes, "says", ()):
        corners = axes.transData.transform([(c - 0.5, r - 0.5), (c + 0.5, r + 0.5)]) / axes.figure.dpi  # inches
        (left, right), (low, high) = sorted(corners[:, 0]), sorted(corners[:, 1])
        place = {"left": (left - frame.x0) / frame.width, "top": (frame.y1 - high) / frame.height,
                 "width": (right - left) / frame.width, "height": (high - low) / frame.height}
        sides = "".join(f"{side}:{100 * share:.2f}%;" for side, share in place.items())
        boxes.append(f'<b style="position:absolute;{sides}" title="{escape(says)}"></b>')
    return "".join(boxes)


def _set_ink(axes):
    """Give what is written in the squares of an image an ink that is legible there."""
    for image in axes.images:
        values = image.get_array()
        if values.ndim != 2:
            continue
        colours, (left, right, bottom, top) = image.to_rgba(values), image.get_extent()
        for text in axes.texts:
            x, y = text.get_position()
            if type(text) is Text and text.get_transform() == axes.transData and text.get_bbox_patch() is None:
                c = int(np.floor((x - left) / (right - left) * values.shape[1]))
                r = int(np.floor((y - top) / (bottom - top) * values.shape[0]))
                r = r if image.origin == "upper" else values.shape[0] - 1 - r
                if 0 <= r < values.shape[0] and 0 <= c < values.shape[1] and colours[r, c, 3]:
                    text.set_color(style.ink_on(colours[r, c, :3]))


def _take_the_place_of(image, name):
    """Hide an image behind an invisible patch of the same place and name in the file, to be exchanged for squares."""
    left, right, bottom, top = image.get_extent()
    image.set_visible(False)
    return image.axes.add_patch(Rectangle((left, bottom), right - left, top - bottom, gid=name, zorder=image.zorder,
                                          facecolor="none", edgecolor="none"))


def _corners(image):
    """The places of the first number of an image and of the last one, in inches: (x0, y0), (x1, y1)."""
    left, right, bottom, top = image.get_extent()
    first, last = ((left, top), (right, bottom)) if image.origin == "upper" else ((left, bottom), (right, top))
    return image.axes.transData.transform([first, last]) / image.axes.figure.dpi


def _strip(image, frame, name):
    """A column of colours as an SVG rectangle that fades from each to the next."""
    (x0, y0), (x1, y1) = _corners(image)
    colours = image.to_rgba(image.get_array()[:, 0], bytes=True)
    stops = "".join(f'<stop offset="{n / (len(colours) - 1):.4g}" stop-color="#{r:02x}{g:02x}{b:02x}"/>'
                    for n, (r, g, b, _) in enumerate(colours.tolist()))
    return (f'<linearGradient id="{name}" x1="0" y1="1" x2="0" y2="0">{stops}</linearGradient>'
            f'<rect fill="url(#{name})" x="{72 * (x0 - frame.x0):.2f}" y="{72 * (frame.y1 - y1):.2f}" '
            f'width="{72 * (x1 - x0):.2f}" height="{72 * (y1 - y0):.2f}"/>')


def _squares(image, frame, clip):
    """The squares of an image as SVG paths, one for each colour, neighbours in a row joined."""
    (x0, y0), (x1, y1) = _corners(image)
    colours = image.to_rgba(image.get_array(), bytes=True)  # (R, C, 4)
    rows, columns = colours.shape[:2]
    paths = {}
    for r in range(rows):
        edges = [0, *(np.flatnonzero((colours[r, 1:] != colours[r, :-1]).any(-1)) + 1).tolist(), columns]
        for c, after in zip(edges, edges[1:], strict=False):
            paths.setdefault(tuple(colours[r, c].tolist()), []).append(f"M{c} {r}h{after - c}v1h{c - after}z")
    matrix = 72 * (x1 - x0) / columns, 72 * (y0 - y1) / rows, 72 * (x0 - frame.x0), 72 * (frame.y1 - y0)
    drawn = "".join(f'<path fill="#{r:02x}{g:02x}{b:02x}" d="{"".join(d)}"/>' for (r, g, b, a), d in paths.items() if a)
    return (f'<g{clip}><g shape-rendering="crispEdges" transform="matrix({matrix[0]:.4f} 0 0 {matrix[1]:.4f} '
            f'{matrix[2]:.2f} {matrix[3]:.2f})">{drawn}</g></g>')


def _tidy(svg, frame):
    """matplotlib's SVG without what nobody reads: comments, names nobody refers to, a sixth decimal."""
    body = re.sub(r"<!--.*?-->", "", svg[svg.index("<g id="):svg.rindex("</svg>")], flags=re.DOTALL)
    asked = set(re.findall(r"[(\"]#([^)\"]+)[)\"]", body))
    body = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in asked or m[1].startswith("squares-") else "", body)
    body = re.sub(r"<[^>]+>", lambda tag: _shorter(tag[0]), body)
    body = re.sub(r"<g>(<(?:path|use|text)[^>]*/>)</g>", r"\1", re.sub(r">\s+<", "><", body))
    return svg_of(body, round(72 * frame.width, 2), round(72 * frame.height, 2), INCH / 72)


def _shorter(tag):
    if "base64," in tag:
        return tag
    tag = re.sub(r"-?\d+\.\d{3,}", _rounded, re.sub(r"\s+", " ", tag))
    tag = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", tag)
    tag = re.sub(r"font-family: 'DejaVu Sans', [^;\"]*;? ?", "", tag)  # as in the head of the file
    tag = tag.replace("font-family: 'DejaVu Sans'", "font-family: 'DejaVu Sans', Verdana, sans-serif")  # in formulas
    tag = tag.replace(": ", ":").replace("; ", ";")
    return re.sub(r' d="([^"]*)"', lambda d: ' d="' + re.sub(r" ?([A-Za-z]) ?", r"\1", d[1]).strip() + '"', tag)


def _rounded(number):
    value = float(number[0])
    return f"{round(value, 2 if abs(value) > 1 else 4):g}"
