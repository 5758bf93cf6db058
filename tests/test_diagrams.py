"""Drawings say what they are told to, in text that meets nothing else."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
import torch

from course_lib.display import diagrams, drawings, style
from course_lib.display.diagrams import Sheet, written
from course_lib.display.drawings.graph import graph

SVG = "{http://www.w3.org/2000/svg}"
NAMES = "Ann Ben Cleo Dan Eve".split()
WORDS = "Jane visite l’Afrique en septembre".split()


def one_query(inputs=False, d=4, words=WORDS, masked=0):
    torch.manual_seed(d)
    keys, values, query = torch.randn(len(words), d), torch.randn(len(words), d), 3 * torch.randn(d)
    scores = keys @ query / d**0.5
    scores[len(words) - masked:] = -torch.inf
    weights = torch.softmax(scores, dim=0)
    mixed = keys if inputs else values
    return drawings.one_query(words, query, keys, scores, weights, None if inputs else values, weights @ mixed,
                              asks="“a place?”")


DRAWINGS = {
    "encoder": drawings.encoder(), "encoder in numbers": drawings.encoder("6", "512"),
    "clock hands": drawings.clock_hands(5, 16, 3), "no shift": drawings.clock_hands(0, 8),
    "clock hands back": drawings.clock_hands(1234, 20, -1000), "one clock": drawings.clock_hands(1, 2, 1),
    "graphs": graph({"everybody": torch.full((5, 5), 0.2), "one star": torch.eye(5)[[1]].expand(5, 5)}, NAMES),
    "one query": one_query(), "inputs": one_query(inputs=True), "wide": one_query(d=16), "masked": one_query(masked=2),
    "inputs, masked": one_query(inputs=True, masked=1, words=["tea", "soup", "ice cream", "stone"]),
    "two words": one_query(words=["a", "b"]), "ten long words": one_query(words=["internationalisation"] * 10)}


def texts(root):
    """(words, left, top, right, bottom) of each text, as wide as its widest font."""
    for text in root.iter(f"{SVG}text"):
        size, x, y = (float(text.get(name)) for name in ("font-size", "x", "y"))
        bold = text.get("font-weight") == "600"
        wide = diagrams.width(text.text or "", size, bold)
        wide += sum(diagrams.width(part.text or "", float(part.get("font-size", size)), bold) for part in text)
        left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
        yield "".join(text.itertext()), left, y - 0.75 * size, left + wide, y + 0.15 * size


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_meets_another_or_leaves_the_paper(name):
    """Labels that collide as soon as a word is longer."""
    root = ElementTree.fromstring(DRAWINGS[name])
    wide, high = (float(root.get(side)) for side in ("width", "height"))
    found = list(texts(root))
    assert len(found) > 4
    for words, left, top, right, bottom in found:
        assert left > 4 and top > 4 and right < wide - 4 and bottom < high - 4, words
    for one, other in combinations(found, 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, (one, other)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_name_fits_into_its_box(name):
    """A name that sticks out of a box at both sides."""
    root = ElementTree.fromstring(DRAWINGS[name])
    boxes = [[float(box.get(side)) for side in ("x", "y", "width", "height")] for box in root.iter(f"{SVG}rect")
             if box.get("rx") == "7"]
    for words, left, top, right, bottom in texts(root):
        for x, y, wide, high in boxes:
            if x < (left + right) / 2 < x + wide and y < (top + bottom) / 2 < y + high:
                assert x + 3 < left and right < x + wide - 3, words


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_well_formed_on_paper_and_asks_for_nothing(name):
    """A drawing that needs a font or an image from elsewhere, or is a white slab on a dark page."""
    root = ElementTree.fromstring(DRAWINGS[name])
    ground = root.find(f"{SVG}rect")
    assert ground.get("fill") == style.PAPER and float(ground.get("rx")) >= 8
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", DRAWINGS[name])
    assert len(DRAWINGS[name]) < 60_000
    inks = {text.get("fill") for text in root.iter(f"{SVG}text")}
    assert inks <= {style.INK, style.SOFT, style.ACCENT, *style.HUES.values(), "#ffffff", "#000000"}


def test_words_are_escaped():
    """A token <pad> that is taken for a tag."""
    assert "&lt;pad&gt; &amp; W" in one_query(words=["<pad> & W", "b"])
    sheet = Sheet(300, 100)
    sheet.text(100, 50, "<a>_{<b>}")
    assert "".join(next(ElementTree.fromstring(sheet.svg()).iter(f"{SVG}text")).itertext()) == "<a><b>"


def test_an_index_stands_below_and_a_power_above_and_the_rest_goes_on():
    """A word after an index that is written as low as the index."""
    sheet = Sheet(300, 100)
    sheet.text(100, 50, "W_{q}x^{2} + b")
    spans = [(float(s.get("dy")), s.text) for s in ElementTree.fromstring(sheet.svg()).iter(f"{SVG}tspan")]
    assert [text for _, text in spans] == ["q", "x", "2", " + b"]
    assert spans[0][0] > 0 > spans[2][0] and sum(dy for dy, _ in spans) == 0


def test_the_weights_are_the_widths_of_the_flows():
    """Flows that are drawn alike, whatever the weights."""
    weights = torch.tensor([0.75, 0.25, 0.0])
    svg = drawings.one_query(list("abc"), torch.ones(1), torch.ones(3, 1), torch.tensor([2.0, 1, -torch.inf]), weights,
                             torch.ones(3, 1), torch.ones(1))
    flows = re.findall(r'd="M[\d.]+ ([\d.]+)C[^"]*?C[^"]* [\d.]+ ([\d.]+)z" fill="#\w+" opacity', svg)
    thick = [float(low) - float(high) for high, low in flows]
    assert len(thick) == 2 and thick[0] == pytest.approx(3 * thick[1], abs=0.5)


def test_the_numbers_of_a_lesson_are_the_numbers_of_its_drawing():
    """A drawing that shows an example of its own."""
    root = ElementTree.fromstring(drawings.one_query(
        ["a", "b"], [1.5, -2], [[1, 0], [0, 3.5]], [0.25, -4.75], [0.99, 0.01], [[7, 8], [9, 6]], [7.2, 8.4]))
    said = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert {"1.5", "−2", "3.5", "0.25", "−4.75", "0.99", "0.01", "7", "8", "9", "6", "7.2", "8.4"} <= set(said)


def test_a_hand_stands_at_its_angle():
    """A clock that runs backwards, or in degrees."""
    hands = re.findall(r'<path d="M([\d.]+) ([\d.]+)L[^"]*z" fill="#2f2c29"/>', drawings.clock_hands(0, 8))
    assert len({y for _, y in hands}) == 1, "at position 0 all hands point to the top"
    tip = re.findall(r'<path d="M([\d.]+) ([\d.]+)L[^"]*z" fill="#2f2c29"/>', drawings.clock_hands(1, 2))[0]
    dx, dy = float(tip[0]) - 240, 118 - float(tip[1])
    assert dx / dy == pytest.approx(torch.tan(torch.tensor(1.0)).item(), rel=0.02) and dx > 0


def test_an_arrow_of_a_graph_leads_from_the_sender_to_whoever_hears():
    """A graph with all its arrows turned round, or one that draws edges which are not there."""
    weights = torch.zeros(5, 5)
    weights[0, 1] = 0.5  # Ann, at the top, hears Ben, who is right of her and lower
    svg = graph({"one edge": weights}, NAMES)
    tips = re.findall(r'<path d="M([\d.]+) ([\d.]+)L[^"]*z" fill', svg)
    (x, y), = [(float(x), float(y)) for x, y in tips]
    assert abs(x - 150) < 40 and y < 120 and svg.count("<circle") == 5
    assert 'stroke-width="3"' in svg and 'stroke-width="3"' not in graph({"one edge": weights / 2}, NAMES)


@pytest.mark.parametrize("d", [0, 3, 22])
def test_clocks_come_in_pairs_of_columns(d):
    """A division by zero, or clocks too small to be seen."""
    with pytest.raises(ValueError, match="even and from 2 to 20"):
        drawings.clock_hands(1, d)


@pytest.mark.parametrize("values, digits, said", [
    ([1, 2], 1, ["1", "2"]), ([0.5, -2], 1, ["0.5", "−2.0"]), ([-0.004, 1.5], 2, ["0.00", "1.50"]),
    ([-torch.inf, 3], 1, ["masked", "3"]), ([0.999, 0.001], 2, ["1.00", "0.00"])])
def test_numbers_are_written_alike(values, digits, said):
    """A minus zero, or a hyphen for a minus."""
    assert written(values, digits) == said


def test_a_grid_has_its_dimensions_its_frame_and_its_hatching():
    """A masked cell with a number in it."""
    sheet = Sheet(300, 200)
    spot = sheet.grid(60, 60, [[1, 2], [3, -torch.inf]], "query", name="Q", rows="T", columns="d_{k}", framed=1)
    root = ElementTree.fromstring(sheet.svg())
    said = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert said == ["1", "2", "3", "Q", "dk", "T"] and (spot.x, spot.y) == (88, 88)
    assert any(rect.get("fill") == "url(#hatch)" for rect in root.iter(f"{SVG}rect"))
    assert root.find(f".//{SVG}pattern") is not None
    frame = next(rect for rect in root.iter(f"{SVG}rect") if rect.get("stroke-width") == "2.5")
    assert float(frame.get("y")) == 60 + 28 - 3


def test_an_arrow_carries_its_vector_and_its_shape():
    """A shape that stands on the line."""
    sheet = Sheet(300, 200)
    sheet.arrow((150, 180), (150, 20), colour=style.QUERY, name="q", shape="(d,)")
    sheet.arrow((20, 100), (120, 100), name="x", shape="(T, D)")
    places = {words: (left, (top + bottom) / 2) for words, left, top, _, bottom in
              texts(ElementTree.fromstring(sheet.svg()))}
    assert places["q"][0] > 150 and places["(d,)"][0] > 150
    assert places["x"][1] < places["(T, D)"][1] < 100


def test_the_2017_drawing_is_written(tmp_path):
    """The command that makes the picture of the README."""
    drawings.transformer.main(tmp_path / "made" / "transformer.png")
    assert (tmp_path / "made" / "transformer.png").stat().st_size > 20_000
