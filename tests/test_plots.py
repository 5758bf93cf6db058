"""The pictures carry their words, and notebooks carry no widgets."""

import base64
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import torch

from course_lib.display import plots


def test_an_attention_figure_shows_one_image_with_words_and_no_widget(monkeypatch):
    """A notebook that carries widget state, or a picture without alt text."""
    shown = []
    monkeypatch.setattr(plots, "display", lambda data, **_: shown.append(data))
    plots.attention_figure(torch.eye(2)[None].repeat(3, 1, 1), ["a", "b"], ["c", "d"], "Three maps.")
    assert len(shown) == 1 and 'alt="Three maps."' in shown[0]["text/html"]


def test_where_a_head_looks_is_said_in_words():
    """A chosen map that a screen reader passes over."""
    weights = torch.tensor([[0.9, 0.1], [0.5, 0.5]])
    assert plots._in_words(weights, ["a", "b"], ["c", "d"]) == "Where each row looks most. a: c 0.90; b: all alike."


def test_every_square_of_a_heat_map_says_its_value_where_it_stands():
    """A hover text that is missing, shifted, upside down, or that breaks on a name with a quote."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2))
    left.plot([0, 1])
    plots.heat_map(right, torch.tensor([[1.0, 0.25]]), ['a "<'], ["c", "d"])
    html = plots._image(figure, "Two pictures.")
    squares = re.findall(r'<b style="position:absolute;left:(.+?)%;top:(.+?)%;width:(.+?)%;[^"]*" title="(.*?)">', html)
    assert [s[3] for s in squares] == ["a &quot;&lt; → c: 1.00", "a &quot;&lt; → d: 0.25"]
    png = plt.imread(io.BytesIO(base64.b64decode(html.split("base64,")[1].split('"')[0])))  # (height, width, 4)
    for (x, y, width, _), weight in zip(squares, (1.0, 0.25), strict=True):
        column, row = (float(x) + float(width) / 10) / 100 * png.shape[1], (float(y) + 3) / 100 * png.shape[0]
        colour = plt.get_cmap(plots.WEIGHTS)(weight)
        assert abs(png[int(row), int(column)] - colour).max() < 0.02


def test_a_large_heat_map_stays_light():
    """A notebook of ten megabytes."""
    figure, axes = plt.subplots()
    plots.heat_map(axes, torch.rand(50, 50), range(50), range(50), numbers=False)
    assert "title=" not in plots._image(figure, "Many squares.")


def test_a_figure_is_drawn_as_it_was_measured():
    """A layout that moved between the two cut off the names at the left: "ayer 1" was left of "layer 1"."""
    figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
    plots.heat_map(axis, torch.rand(6, 12), [f"layer {i}" for i in range(6)], [f"head {i}" for i in range(12)], "title")
    axis.set(xlabel="head", ylabel="layer")
    seen = []

    def saving(*args, bbox_inches, **kwargs):
        figure.canvas.draw()
        seen.append((figure.get_tightbbox().bounds, bbox_inches.padded(-0.1).bounds))

    figure.savefig = saving
    plots._image(figure, "alt")
    assert np.allclose(*seen[0], atol=0.01)
