"""What a legend lies on, and labels that run into each other, in every picture that a notebook draws."""

from itertools import pairwise

import numpy as np
from matplotlib.collections import PathCollection

from course_lib.display import plots

FOUND = []  # a sentence each


def watch():
    """Look at each figure before it is shown."""
    whole = plots.as_html

    def as_html(picture, alt):
        if not isinstance(picture, str):  # a figure, and no drawing
            FOUND.extend(covered(picture))
        return whole(picture, alt)

    plots.as_html = as_html


def covered(figure):
    """Sentences on a figure: which legend lies on data, and which labels of an axis touch."""
    figure.draw_without_rendering()
    legends = [legend.get_window_extent() for axes in figure.axes if (legend := axes.get_legend())]
    legends += [legend.get_window_extent() for legend in figure.legends]
    found = []
    for axes in figure.axes:
        for name, points in _drawn(axes):
            if any(np.all((points > box.min) & (points < box.max), axis=1).any() for box in legends):
                found.append(f"a legend lies on {name} of “{axes.get_title() or axes.get_ylabel()}”")
        for axis in (axes.xaxis, axes.yaxis):
            found += [f"the labels “{one}” and “{other}” touch" for one, other in _touching(axis)]
    return found


def _drawn(axes):
    """(name, points (n, 2) on the screen) of all lines, dots and bars."""
    for line in axes.lines:
        corners = line.get_transform().transform(np.asarray(line.get_xydata(), float))
        shares = np.linspace(0, 1, 24)[:, None]
        is_joined = line.get_linestyle() != "None"
        between = [one + shares * (other - one) for one, other in pairwise(corners) if is_joined]
        yield f"the line “{line.get_label()}”", np.concatenate([corners, *between]).reshape(-1, 2)
    for dots in axes.collections:
        if isinstance(dots, PathCollection):
            yield "the dots", dots.get_offset_transform().transform(np.asarray(dots.get_offsets(), float))
    for bar in (bar for container in axes.containers for bar in container.patches):
        box = bar.get_window_extent()
        x, y = np.meshgrid(np.linspace(box.x0, box.x1, 12), np.linspace(box.y0, box.y1, 12))
        yield "a bar", np.stack([x.ravel(), y.ravel()], 1)


def _touching(axis):
    """Pairs of neighbouring labels between which there is no room, where they stand upright."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [tick.label1 for tick in ticks if tick.label1.get_visible() and tick.label1.get_text()]
    for one, other in pairwise(label for label in labels if label.get_rotation() == 0):
        if one.get_window_extent().padded(1).overlaps(other.get_window_extent()):
            yield one.get_text(), other.get_text()
