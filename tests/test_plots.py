"""The pictures carry their words, text stays text, and notebooks carry no widgets."""

import base64
import io
import re
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from course_lib.display import dark, descriptions, drawings, pictures, plots, style
from course_lib.staff.lesson_text import ROOT, notebook_stems, number_of

SVG = "{http://www.w3.org/2000/svg}"


def image(html):
    """The kind of the image in some HTML, and what it is made of."""
    kind, data = re.search(r'<img src="data:image/(.+?);base64,(.+?)"', html).groups()
    return kind, base64.b64decode(data)


def drawn(figure):
    """A figure as the root of its SVG."""
    kind, data = image(pictures.as_html(figure, "some words"))
    assert kind == "svg+xml"
    return ElementTree.fromstring(data)


def words(root):
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def small_map(values=((1.0, 0.25),), **options):
    figure, axes = plt.subplots()
    values = torch.tensor(values)
    plots.heat_map(axes, values, list("abcdef")[:len(values)], list("uvwxyz")[:values.shape[1]], **options)
    return figure


def shown(monkeypatch, picture, key):
    said = []
    monkeypatch.setattr(plots, "display", lambda data, **_: said.append(data))
    plots.show(picture, key)
    return said[0]


# Descriptions


@pytest.mark.parametrize("picture", ["figure", "drawing"])
def test_a_picture_is_described_by_key_or_in_words(picture, monkeypatch):
    """A key that is read out as if it were the description, or quotes that end the description."""
    for key, alt in (("encoder", descriptions.description("encoder")), ('Two "words".', "Two &quot;words&quot;.")):
        html = shown(monkeypatch, small_map() if picture == "figure" else drawings.encoder(), key)["text/html"]
        assert f'alt="{alt}"' in html


def test_an_unknown_key_says_where_to_add_it():
    """A KeyError."""
    with pytest.raises(ValueError, match=r"'encodr': add it to course_lib/display/descriptions/NN.toml.*'encoder'"):
        descriptions.description("encodr")


def test_every_description_has_one_key_in_the_file_of_a_lesson():
    """A description that another lesson's hides, or that no lesson finds."""
    described = descriptions.described()
    keys = [key for file in described.values() for key in file]
    assert len(keys) == len(set(keys)) and set(described) <= set(map(number_of, notebook_stems()))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key) for key in keys)
    assert all(len(text.split()) >= 6 for file in described.values() for text in file.values())


def test_a_description_that_is_written_meanwhile_is_found(tmp_path, monkeypatch):
    """An author who must restart the kernel after each word."""
    monkeypatch.setattr(descriptions, "FOLDER", tmp_path)
    (tmp_path / "04.toml").write_text('knob = "A volume knob."', encoding="utf-8")
    assert descriptions.description("knob") == "A volume knob."
    (tmp_path / "05.toml").write_text('door = "A door that is open."', encoding="utf-8")
    assert descriptions.description("door") == "A door that is open."


# What kind of image


def test_line_art_is_an_svg_whose_text_is_text():
    """Letters as outlines, which nobody can search or read out."""
    figure, axes = plt.subplots()
    axes.plot([0, 1], label="a line")
    axes.set(xlabel="width d", title="What grows < what falls")
    axes.legend()
    root = drawn(figure)
    assert {"a line", "width d", "What grows < what falls"} <= set(words(root))
    ground = next(root.iter(f"{SVG}rect"))
    assert ground.get("fill") == style.PAPER and float(ground.get("rx")) > 0
    assert root.get("viewBox") and int(root.get("width")) > 400


def test_a_photo_is_a_sharp_png_of_the_same_size_on_the_page():
    """An image of a hundred thousand squares, or one that is shown twice as large."""
    figure, axes = plt.subplots(figsize=(3, 2))
    axes.imshow(np.zeros((40, 60, 3)))
    html = pictures.as_html(figure, "a photo")
    kind, data = image(html)
    wide = plt.imread(io.BytesIO(data)).shape[1]
    assert kind == "png" and abs(wide - 2 * int(re.search(r' width="(\d+)"', html)[1])) <= 1
    assert "border-radius" in html


@pytest.mark.parametrize("side, kind", [(64, "svg+xml"), (65, "png")])
def test_a_dense_heat_map_is_a_png(side, kind):
    """A notebook of ten megabytes."""
    figure, axes = plt.subplots()
    axes.imshow(torch.rand(side, side), cmap=style.WEIGHTS)
    assert image(pictures.as_html(figure, "many squares"))[0] == kind


def test_a_cloud_of_points_is_a_png():
    """An SVG with a node for each of ten thousand points."""
    figure, axes = plt.subplots()
    axes.scatter(*np.random.default_rng(0).random((2, 10_000)))
    assert image(pictures.as_html(figure, "many points"))[0] == "png"


def test_a_large_heat_map_has_no_hover_text():
    """A notebook of ten megabytes."""
    figure, axes = plt.subplots()
    plots.heat_map(axes, torch.rand(50, 50), range(50), range(50), numbers=False)
    assert "title=" not in pictures.as_html(figure, "Many squares.")


def test_a_picture_is_the_same_in_every_run():
    """A notebook that changes whenever it is built: names of clip paths, a date."""
    draw = ("import matplotlib; matplotlib.use('agg'); import hashlib, torch; from course_lib.display import drawings, "
            "pictures, plots; f = plots.panels({'a': torch.eye(3), 'b': -torch.eye(3)}, 'xyz', 'xyz', "
            "mask=torch.ones(3, 3).tril().bool()); f.axes[0].plot([0, 1]); "
            "print(hashlib.sha256((pictures.as_html(f, 'a b') + drawings.encoder()).encode()).hexdigest())")
    runs = [subprocess.run([sys.executable, "-c", draw], cwd=ROOT, capture_output=True, text=True, check=True).stdout
            for _ in range(2)]
    assert len(runs[0]) == 65 and runs[0] == runs[1]


def test_nothing_points_to_a_name_that_is_gone():
    """A clip path or a marker that was tidied away."""
    figure = small_map(mask=torch.tensor([[True, False]]))
    figure.axes[0].plot([0, 1], "o-")
    root = drawn(figure)
    text = ElementTree.tostring(root, encoding="unicode")
    asked = set(re.findall(r'url\(#(.+?)\)|href="#(.+?)"', text))
    assert asked and {a or b for a, b in asked} <= {element.get("id") for element in root.iter()}


@pytest.mark.parametrize("tag, shorter", [
    ('<path d="M 1.23456 2 \nL 3 4 \nz\n" style="fill: #ff0000"/>', '<path d="M1.23 2L3 4z" style="fill:#ff0000"/>'),
    ('<g transform="scale(0.015625)">', '<g transform="scale(0.0156)">'),
    ('<text transform="rotate(-0 1 2)" x="1">', '<text x="1">'),
    ('<image href="data:image/png;base64,1.23456"/>', '<image href="data:image/png;base64,1.23456"/>')])
def test_a_tag_is_made_shorter_and_says_the_same(tag, shorter):
    """A small scale that is rounded to nothing."""
    assert pictures._shorter(tag) == shorter


@pytest.mark.parametrize("of, name", [("numbers", "course-pixels"), ("colours", "course-picture")])
def test_pixels_turn_with_the_page_and_a_photo_stays(of, name):
    """A negative of a photograph."""
    figure, axes = plt.subplots(figsize=(2, 2))
    axes.imshow(np.random.default_rng(0).random((90, 90) if of == "numbers" else (90, 90, 3)))
    html = pictures.as_html(figure, "many squares")
    assert image(html)[0] == "png" and f'class="{name}"' in html


def test_every_colour_of_an_svg_has_its_own_on_a_dark_page():
    """White words on white paper: a colour in one of the two ways to write it that is not exchanged."""
    body = '<path fill="#0f7c94" style="stroke: #2f2c29"/><stop stop-color="#fff"/><text>black</text>'
    svg = pictures.svg_of(body, 9, 9)
    rules = dark.with_dark_rules(svg).split("@media(prefers-color-scheme:dark)")[1]
    for place, what, colour in (('[fill="#0f7c94"]', "fill", "#0f7c94"),
                                ('[style*="stroke: #2f2c29"]', "stroke", "#2f2c29"),
                                ('[stop-color="#fff"]', "stop-color", "#ffffff"),
                                (f'[fill="{style.PAPER}"]', "fill", style.PAPER)):
        assert f"{place}{{{what}:{dark.on_dark(colour)}!important}}" in rules
    assert f"svg{{fill:{dark.on_dark('#000000')}}}" in rules
    assert dark.on_dark("#000000") == "#ffffff" and dark.on_dark("#ffffff") == "#000000"


def test_the_strip_of_a_scale_has_the_colours_of_the_squares():
    """A scale that says 0.5 of a colour that no square of 0.5 has."""
    figure = plots.panels({"": torch.tensor([[0.0, 0.5, 1.0]])}, ["a"], list("xyz"), "weight")
    root = drawn(figure)
    stops = [stop.get("stop-color") for stop in root.iter(f"{SVG}stop")]
    (strip,) = [r for r in root.iter(f"{SVG}rect") if (r.get("fill") or "").startswith("url(")]
    assert [stops[0], stops[len(stops) // 2], stops[-1]] == [squares(root)[0, n] for n in range(3)]
    gradient = next(root.iter(f"{SVG}linearGradient"))
    assert (gradient.get("y1"), gradient.get("y2")) == ("1", "0"), "from the bottom up"
    assert float(strip.get("height")) > float(strip.get("width")) > 0


# Heat maps


def squares(root):
    """Colour of each square of the only heat map of an SVG, {(row, column): colour}, with joined ones taken apart."""
    found = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("shape-rendering"):
            for path in group:
                for c, r, n in re.findall(r"M(\d+) (\d+)h(\d+)v1", path.get("d")):
                    found |= {(int(r), int(c) + i): path.get("fill") for i in range(int(n))}
    return found


@pytest.mark.parametrize("origin", ["upper", "lower"])
def test_the_squares_of_an_svg_have_the_colours_of_their_numbers(origin):
    """Squares that are joined although they differ, or stand upside down."""
    values = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.5, 0.5]])
    figure, axes = plt.subplots()
    axes.imshow(values, cmap=style.WEIGHTS, vmin=0, vmax=1, origin=origin)
    root = drawn(figure)
    colours = style.WEIGHTS(values.numpy(), bytes=True)[..., :3] / 255
    assert squares(root) == {(r, c): style.to_hex(colours[r, c]) for r in (0, 1) for c in range(3)}
    matrix = next(g.get("transform") for g in root.iter(f"{SVG}g") if g.get("shape-rendering"))
    down = float(re.findall(r"[-\d.]+", matrix)[3]) > 0
    assert down == (origin == "upper")


@pytest.mark.parametrize("kind", ["svg+xml", "png"])
def test_every_square_of_a_heat_map_says_its_value_where_it_stands(kind):
    """A hover text that is missing, shifted, upside down, or that breaks on a name with a quote."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2))
    left.imshow(np.ones((4, 4, 3))) if kind == "png" else left.plot([0, 1])
    plots.heat_map(right, torch.tensor([[1.0, 0.25]]), ['a "<'], ["c", "d"], kind="weight")
    html = pictures.as_html(figure, "Two pictures.")
    boxes = re.findall(r'<b style="position:absolute;left:(.+?)%;top:(.+?)%;width:(.+?)%;[^"]*" title="(.*?)">', html)
    assert [box[3] for box in boxes] == ["a &quot;&lt; → c: 1.00", "a &quot;&lt; → d: 0.25"]
    found, data = image(html)
    assert found == kind
    if kind == "png":
        png = plt.imread(io.BytesIO(data))  # (height, width, 4)
        for (x, y, width, _), weight in zip(boxes, (1.0, 0.25), strict=True):
            column, row = (float(x) + float(width) / 10) / 100 * png.shape[1], (float(y) + 3) / 100 * png.shape[0]
            assert abs(png[int(row), int(column)] - style.WEIGHTS(weight)).max() < 0.02
    else:
        root = ElementTree.fromstring(data)
        matrix = next(g.get("transform") for g in root.iter(f"{SVG}g") if g.get("shape-rendering"))
        a, _, _, d, x, y = map(float, re.findall(r"[-\d.]+", matrix))
        wide, high = map(float, root.get("viewBox").split()[2:])
        for c, box in enumerate(boxes):
            said = [100 * (x + c * a) / wide, 100 * y / high, 100 * a / wide]
            assert np.allclose([float(part) for part in box[:3]], said, atol=0.05) and d > 0


@pytest.mark.parametrize("values, kind, limits", [
    (((0.2, 0.3),), "weight", (0, 1)), (((0.2, 0.3),), "score", (-0.3, 0.3)), (((0.2, -0.5),), "query", (-0.5, 0.5)),
    (((0.2, 0.3),), "value", (0, 0.3)), (((0.2, 0.3),), None, (0, 0.3)), (((0.2, -0.5),), None, (-0.5, 0.5)),
    (((0.2, -torch.inf),), "score", (-0.2, 0.2)), (((0.0, 0.0),), None, (0, 1))])
def test_a_scale_is_that_of_its_kind(values, kind, limits):
    """Weights whose darkest square means 0.3, or scores whose middle is not zero."""
    figure = small_map(values, kind=kind)
    assert np.allclose(figure.axes[0].images[0].get_clim(), limits)


def test_a_weight_has_no_scale_of_its_own():
    """Weights that are larger in one picture than in the next."""
    with pytest.raises(ValueError, match="leave out limit"):
        small_map(kind="weight", limit=0.5)


def test_what_is_no_weight_is_not_drawn_as_one():
    """Queries in the colours of weights."""
    for values in (((0.2, -0.1),), ((0.2, 1.5),)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            small_map(values, kind="weight")


def test_panels_share_one_scale_and_state_it():
    """A matrix that changes its colours because another stands beside it in a picture of its own."""
    figure = plots.panels({"E": torch.tensor([[1.0]]), "ΔE": torch.tensor([[-4.0]])}, ["a"], ["x"])
    assert [axes.images[0].get_clim() for axes in figure.axes[:2]] == [(-4, 4)] * 2
    assert {"E", "ΔE", "−4", "0", "4"} <= set(words(drawn(figure)))
    assert plots.one_scale(torch.tensor([1.0]), torch.tensor([[-3.0, torch.inf]])) == (-3, 3)


def test_whoever_is_masked_is_hatched_and_has_no_number():
    """A masked square that is merely dark, or that shows its number."""
    for options in ({"mask": torch.tensor([[True, False]])}, {}):
        html = pictures.as_html(small_map(((1.5, 2.5 if options else -torch.inf),), **options), "two squares")
        root = ElementTree.fromstring(image(html)[1])
        assert next(root.iter(f"{SVG}pattern")) is not None and "1.50" in words(root) and "2.50" not in words(root)
        assert 'title="a → v: masked"' in html and set(squares(root)) == {(0, 0)}


def test_numbers_stand_in_squares_only_where_they_are_few():
    """A picture of 128 numbers."""
    assert "0.50" in words(drawn(small_map(torch.full((6, 6), 0.5).tolist())))
    many = torch.rand(9, 9)
    for options, printed in (({}, False), ({"numbers": True}, True)):
        figure, axes = plt.subplots()
        plots.heat_map(axes, many, range(9), range(9), **options)
        assert (len(words(drawn(figure))) > 81) == printed


def test_what_stands_in_a_square_is_legible_there():
    """White on pale: an ink that was chosen before the scale, or for another colour map."""
    figure = small_map(((8.0, 0.0),))
    figure.axes[0].images[0].set_clim(0, 100)
    figure.axes[0].text(1, 0.3, "a note", color="white")
    inks = {"".join(text.itertext()): text.get("style") for text in drawn(figure).iter(f"{SVG}text")}
    assert style.INK in inks["8"] and style.INK in inks["a note"]


def test_a_figure_is_drawn_as_it_was_measured():
    """A layout that moved between the two cut off the names at the left: "ayer 1" was left of "layer 1"."""
    figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
    plots.heat_map(axis, torch.rand(6, 12), [f"layer {i}" for i in range(6)], [f"head {i}" for i in range(12)], "title")
    axis.set(xlabel="head", ylabel="layer")
    seen, save = [], figure.savefig

    def saving(*args, bbox_inches, **kwargs):
        figure.canvas.draw()
        seen.append((figure.get_tightbbox().bounds, bbox_inches.padded(-0.15).bounds))
        save(*args, bbox_inches=bbox_inches, **kwargs)

    figure.savefig = saving
    pictures.as_html(figure, "alt text")
    assert np.allclose(*seen[0], atol=0.01)
