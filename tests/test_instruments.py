"""Instruments move, say what they show, and show what Python computes: on a plain page, in JupyterLab, on the site."""

import base64
import re
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import nbformat
import pytest
import torch

from course_lib.attention import self_attention
from course_lib.display import instruments
from course_lib.display.dark import on_dark
from course_lib.display.descriptions import description
from course_lib.display.drawings import landscape
from course_lib.display.instruments import INSTRUMENTS
from course_lib.display.instruments.pen import COLOURS
from course_lib.positions import sinusoidal_positions
from course_lib.staff.site import __main__ as site_command
from course_lib.staff.site import building
from course_lib.staff.site.page import LESSONS, Page
from tests.test_accessibility import contrast
from tests.test_browser import _run_all_cells, jupyter_lab, opened

TEN = torch.randn(10, generator=torch.Generator().manual_seed(4))
TEN = TEN / TEN.std(correction=0)
THINGS = ["tea", "soup", "ice cream", "stone"]
KEYS = torch.tensor([[1.0, 1.0], [1.0, 0.5], [-1.0, 0.9], [0.1, -1.2]])
QUERY = torch.tensor([0.7, 1.15])
TABLE = sinusoidal_positions(64, 16)
ALIGNED = torch.tensor([[0.0, 0, 0.1, 0.9], [0, 0, 0.2, 0.8], [0, 0.3, 0.7, 0], [0.25, 0.75, 0, 0]])
BACK = [[[[0, 100], [0, 0]], [[0, 80], [1, 20]], [[1, 90], [2, 10]], [[2, 60], [0, 40]]],
        [[[0, 100], [0, 0]], [[1, 70], [0, 30]], [[2, 60], [0, 40]], [[3, 50], [1, 50]]]]  # (2 heads, 4 places, 2, 2)
EVEN, ON_THE_THIRD = torch.full((5,), 0.2), torch.tensor([0.1, 0, 0.2, 0.6, 0.1])
DATA = {
    "softmax-and-scale": {"scores": TEN},
    "query-among-keys": {"names": THINGS, "keys": KEYS, "query": QUERY, "axes": ("warm", "liquid")},
    "clock-hands": {"table": TABLE},
    "lamp": {"rows": landscape.ROWS, "paint": landscape.PAINT, "regions": landscape.REGIONS,
             "questions": ["How is the weather?", "Is there water?", "Where is the cat?", "Is anyone at home?"]},
    "alignment": {"pairs": [("star", "rats", ALIGNED), (["the", "agreement"], ["l'", "accord"], torch.eye(2))],
                  "heard": ["left", None]},
    "projection": {"names": ["Ann", "reads", "books"], "features": ["who", "does", "what", "old"],
                   "asked": ["who", "does"], "handed": ["old"], "asks": 2,
                   "x": [[2, 0, 0, 1], [0, 2, 0, 0.5], [0, 0, 1, -1]],
                   "W_q": [[0, 2], [2, 0], [1, 3], [0, 0]], "W_k": torch.eye(4)[:, :2], "W_v": torch.eye(4)[:, 3:]},
    "heads": {"words": ["cats", "do", "not", "bark"], "asks": 3,
              "layers": {"below": torch.stack([torch.eye(4), torch.eye(4).roll(1, 0)]),
                         "above": torch.stack([ALIGNED])}},
    "writing": {"sentences": [
        (["le", "chat", "noir", "dort"],
         [[("the", 0.9), ("a", 0.08)], [("black", 0.5), ("cat", 0.4)], [("cat", 1.0)], [("sleeps", 0.7)]],
         [[0.8, 0.2, 0, 0], [0, 0.1, 0.9, 0], [0.1, 0.9, 0, 0], [0, 0.1, 0, 0.9]]),
        (["il", "dort"], [[("he", 1.0)], [("sleeps", 0.7)]], torch.eye(2))]},
    "beam-tree": {"searches": {
        "beam of 1": [(0, "<sos>", None, 0.0, "open", True), (1, "a", 0, -0.5, "open", True),
                      (1, "an", 0, -0.9, "out", False), (2, "pear", 1, -1.4, "ended", True)],
        "beam of 2": [(0, "<sos>", None, 0.0, "open", True), (1, "a", 0, -0.5, "open", False),
                      (1, "an", 0, -0.9, "open", True), (2, "apple", 2, -0.9, "ended", True),
                      (2, "pear", 1, -1.4, "ended", False), (2, "plum", 1, -1.6, "out", False)]}},
    "sampling": {"temperatures": [0.5, 1.0], "cuts": ["no cut", "top-k 1"], "start": (1, 0), "contexts": {
        "a": (["x", "y", "z"], [[[0.8, 0.15, 0.05], [1, 0, 0]], [[0.5, 0.3, 0.15], [1, 0, 0]]], [[3, 1], [4, 1]]),
        "the": (["cat", "dog", "end"], [[[0.6, 0.3, 0.1], [1, 0, 0]], [[0.4, 0.3, 0.2], [1, 0, 0]]],
                [[3, 1], [9, 1]])}},
    "picture": {"start": (1, 0), "pictures": {
        name: (torch.rand(colours, side, side, generator=torch.Generator().manual_seed(side)),
               {"layer 1": {"head 1": EVEN, "head 2": EVEN.roll(1)},
                "layer 2": {"head 1": ON_THE_THIRD, "head 2": EVEN}})
        for name, colours, side in (("photo", 3, 80), ("digit", 1, 8))}},
    "residual-strip": {"tokens": ["a", "b", "a", "b"], "first": [BACK, ["aaaa", "bbbb"]],
                       "second": [[BACK[::-1], [f"{cut}xyz", "zyxw"]] for cut in range(4)], "start": (0, 3),
                       "costs": [[1 - cut / 20, cut / 4] for cut in range(16)]},
}
MOST = 60_000  # bytes


def html(name, **other):
    return instruments.as_html(name, description(f"instrument-{name}"), **{**DATA[name], **other})


# ---- without a browser ----

@pytest.mark.parametrize("name", INSTRUMENTS)
def test_an_instrument_is_small_and_fetches_nothing(name):
    """A megabyte in a notebook, a script from elsewhere that is missing offline, an output that is never the same."""
    text = html(name)
    assert len(text.encode()) <= MOST and text == html(name)
    addresses = set(re.findall(r"https?://[^\s\"'`]+", text)) - {"http://www.w3.org/2000/svg"}
    assert not addresses and not re.search(r"\bfetch\(|XMLHttp|import\(|@import|url\(|WebSocket", text)
    script = text.split("<script>")[1]
    assert script.count("</") == 2, "the script's own end, and the instrument's"


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_the_still_picture_is_svg_with_words_beside_it(name):
    """A picture that is broken, or that a screen reader passes over, where scripts are not run."""
    alt, picture = still(html(name))
    assert alt == description(f"instrument-{name}") and len(alt.split()) >= 12
    words = [part.text for part in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert len(words) > 10 and not any("nan" in word for word in words)


def still(text):
    picture = re.search(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"', text)
    return picture[2], ElementTree.fromstring(base64.b64decode(picture[1]))


def test_the_still_picture_shows_the_numbers_that_it_was_given():
    """A stored picture of other numbers."""
    words = [part.text for part in still(html("query-among-keys"))[1].iter() if part.text]
    assert {f"{w:.2f}" for w in torch.softmax(KEYS @ QUERY, 0)} <= set(words)


@pytest.mark.parametrize("colour", ["query", "key", "value", "weight", "ink", "soft", "step"])
def test_words_are_dark_enough_on_the_paper(colour):
    """Grey on beige that nobody can read in the sun."""
    assert contrast(COLOURS[colour], COLOURS["paper"]) >= 4.5
    assert contrast(COLOURS["track"], COLOURS["paper"]) >= 3, "what is to be held"
    assert all(contrast(COLOURS[words], COLOURS["lit"]) >= 4.5 for words in ("soft", "key", "ink")), "what stands on it"


def test_the_colours_are_those_of_all_pictures():
    """A query that is orange in a figure and red in the instrument below it."""
    style = pytest.importorskip("course_lib.display.style")
    for name in ("query", "key", "value", "weight", "ink", "soft", "paper"):
        assert COLOURS[name] == getattr(style, name.upper())
    assert COLOURS["step"] == style.ACCENT


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_an_instrument_takes_again_what_it_was_given(name):
    """Photos that are made smaller once more, or numbers that are rounded twice."""
    given = INSTRUMENTS[name].given(**DATA[name])
    assert INSTRUMENTS[name].given(**given) == given


@pytest.mark.parametrize("name, data, says", [
    ("pendulum", {}, "no instrument pendulum"),
    ("softmax-and-scale", {"scores": torch.zeros(10)}, "all the same"),
    ("softmax-and-scale", {"scores": [1.0, float("nan")]}, "not finite"),
    ("softmax-and-scale", {"scores": "loud"}, "has to be numbers"),
    ("softmax-and-scale", {"scores": range(17)}, "room for 2 to 16"),
    ("query-among-keys", {**DATA["query-among-keys"], "keys": torch.zeros(4, 3)}, "(4, 2)"),
    ("query-among-keys", {**DATA["query-among-keys"], "axes": ["warm"]}, "a plane has 2"),
    ("clock-hands", {"table": torch.zeros(64, 15)}, "an even number of columns"),
    ("alignment", {"pairs": []}, "0 pairs"),
    ("alignment", {**DATA["alignment"], "heard": ["both", None]}, "for each of 2"),
    ("alignment", {"pairs": [("star", "rat", ALIGNED)]}, "(3, 4)"),
    ("alignment", {"pairs": [("s" * 17, "r", torch.ones(1, 17))]}, "17 were read"),
    ("projection", {**DATA["projection"], "asks": 3}, "one of the 3 words"),
    ("projection", {**DATA["projection"], "names": ["Ann"]}, "room for 2 to 8"),
    ("projection", {**DATA["projection"], "W_k": torch.eye(4)}, "W_k has shape (4, 4)"),
    ("projection", {**DATA["projection"], "handed": []}, "a value 0"),
    ("writing", {"sentences": []}, "0 sentences"),
    ("writing", {"sentences": [(["le"], [[("the", 1.0)]], [[1.0]])]}, "1 words are read and 1 written"),
    ("writing", {"sentences": [(["le", "chat"], [[]], [[1.0, 0.0]])]}, "no candidate"),
    ("writing", {"sentences": [(["le", "chat"], [[("the", 1.0)]], torch.eye(2))]}, "weights has shape (2, 2)"),
    ("beam-tree", {"searches": {}}, "0 searches"),
    ("beam-tree", {"searches": {"beam of 1": [(0, "<sos>", None, 0.0, "open", True)]}}, "beam of 1 has 1 nodes"),
    ("beam-tree", {"searches": {"one": [(0, "<sos>", None, 0.0, "open", True), (1, "a", 0, -1.0, "shut", True)]}},
     "node 1 of one is no node"),
    ("beam-tree", {"searches": {"one": [(0, "<sos>", None, 0.0, "open", True), (1, "a", 1, -1.0, "open", True)]}},
     "node 1 of one is no node"),
    ("picture", {"pictures": {}}, "0 pictures"),
    ("picture", {"pictures": {"a": (torch.zeros(2, 8, 8), {"l": {"h": EVEN}})}}, "the image of a has shape (2, 8, 8)"),
    ("picture", {"pictures": {"a": (torch.zeros(1, 8, 8), {"l": {"h": EVEN[1:]}})}}, "have to fill a square"),
    ("picture", {"pictures": {"a": (torch.zeros(1, 8, 8), {"l": {"h": 2 * EVEN}})}}, "sum to 1"),
    ("picture", {"pictures": {"a": (torch.zeros(1, 8, 8), {})}}, "1 to 12 layers"),
    ("picture", {**DATA["picture"], "start": (2, 0)}, "start is (2, 0)"),
    ("picture", {"pictures": {"a": (torch.zeros(1, 8, 8), {"l": {"h": EVEN}, "m": {"g": EVEN}})}}, "other names"),
    ("picture", {"pictures": {**DATA["picture"]["pictures"], "b": (torch.zeros(1, 8, 8), {"l": {"h": EVEN}})}},
     "of b have other names"),
    ("sampling", {**DATA["sampling"], "contexts": {}}, "0 texts"),
    ("sampling", {**DATA["sampling"], "temperatures": [1.0, 0.5]}, "rising"),
    ("sampling", {**DATA["sampling"], "cuts": []}, "0 cuts"),
    ("sampling", {**DATA["sampling"], "start": (2, 0)}, "start is (2, 0)"),
    ("sampling", {**DATA["sampling"], "contexts": {"a": (["x"], [[[1.0]]], [[1]])}}, "after “a” there are 1 tokens"),
    ("sampling", {**DATA["sampling"], "contexts": {"a": (["x", "y", "z"], torch.ones(2, 2, 2), torch.ones(2, 2))}},
     "the probabilities after “a” has shape (2, 2, 2)"),
    ("residual-strip", {**DATA["residual-strip"], "tokens": ["ab", "c"]}, "of one letter each"),
    ("residual-strip", {**DATA["residual-strip"], "second": []}, "0 sets of heads that are cut, and there are 4"),
    ("residual-strip", {**DATA["residual-strip"], "first": [BACK, ["aaaa"]]}, "a word of 4 letters for each of its 2"),
    ("residual-strip", {**DATA["residual-strip"], "tokens": ["a", "b"]}, "what block 1 looks at has shape"),
    ("residual-strip", {**DATA["residual-strip"], "costs": [[1, 0]]}, "costs has shape (1, 2)"),
    ("residual-strip", {**DATA["residual-strip"], "start": (4, 0)}, "start is (4, 0)"),
    ("heads", {**DATA["heads"], "asks": 4}, "one of the 4 words"),
    ("heads", {**DATA["heads"], "words": ["cats"]}, "room for 2 to 14"),
    ("heads", {**DATA["heads"], "layers": {}}, "0 layers"),
    ("heads", {**DATA["heads"], "layers": {"one": torch.eye(4)}}, "the weights of one has shape (4, 4)"),
    ("heads", {**DATA["heads"], "layers": {"one": torch.ones(13, 4, 4)}}, "one has 13 heads"),
    ("lamp", {**DATA["lamp"], "rows": ["aa", "a"]}, "rows of equal length"),
    ("lamp", {**DATA["lamp"], "questions": []}, "0 questions"),
    ("lamp", {**DATA["lamp"], "paint": {"m": "green"}}, "no colour of six hexadecimal digits"),
    ("lamp", {**DATA["lamp"], "regions": {"sky": ".o*", "rest": "m~^#WDcke"}}, "'f' of the picture has to belong")])
def test_what_cannot_be_shown_is_said_in_one_sentence(name, data, says):
    """A traceback through six files, or a picture of nothing."""
    with pytest.raises(ValueError) as error:
        instruments.show(name, "a few words", **data)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_the_description_is_shown_where_html_is_not(monkeypatch):
    """A terminal that gets thirty thousand characters of HTML."""
    shown = []
    monkeypatch.setattr(instruments, "display", lambda data, **_: shown.append(data))
    instruments.show("clock-hands", "instrument-clock-hands", table=TABLE)
    assert shown[0]["text/plain"] == description("instrument-clock-hands")
    with pytest.raises(ValueError, match="no picture is described as 'sun-dial'"):
        instruments.show("clock-hands", "sun-dial", table=TABLE)


# ---- in a browser ----

@pytest.fixture
def page(browser):
    """A page that fails the test when it logs an error or asks for anything from elsewhere."""
    troubles = []
    page = browser.new_page(viewport={"width": 1100, "height": 2600})
    page.on("request", lambda request: troubles.append(request.url) if request.url.startswith("http") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield page
    assert troubles == []


def fill(page, *bodies, dark=False, says=""):
    ground = "#111; color: #eee" if dark else "#fff"
    page.set_content('<!doctype html><html lang="en"><title>Instruments</title>'
                     f'<body {says} style="background: {ground}">'
                     f"<main><h1>Instruments</h1>{''.join(bodies)}</main>")


@pytest.mark.browser
def test_an_instrument_lives_however_a_notebook_puts_its_html_on_the_page(page):
    """Editors that run scripts before what they belong to is on the page, or take them away after they have run."""
    again = """const again = old => {
        const script = document.createElement('script');
        script.text = old.textContent;
        return script;
    };"""
    ways = {"in a part that is put on the page when it is ready": """
                const part = document.createElement('div');
                part.innerHTML = html;
                for (const old of part.querySelectorAll('script')) old.replaceWith(again(old));
                document.querySelector('main').append(part);""",
            "on the page, and scripts are taken away": """
                const part = document.createElement('div');
                document.querySelector('main').append(part);
                part.innerHTML = html;
                for (const old of part.querySelectorAll('script')) part.appendChild(again(old)).remove();""",
            "as a fragment": """
                document.querySelector('main').append(document.createRange().createContextualFragment(html));"""}
    for way, put in ways.items():
        fill(page)
        page.evaluate(f"html => {{ {again} {put} }}", html("clock-hands"))
        assert page.locator(".living").count() == 1, way


def said(root):
    return root.locator("[aria-live=polite]").inner_text().replace("\u00a0", " ")


def heights(root):
    """Of the bars of the weights, in pixels."""
    bars = root.locator("svg").first.locator("rect[fill='var(--weight)']")
    return [float(bar.get_attribute("height")) for bar in bars.all()]


def drag(page, mark, x, y):
    """By the mouse, so many pixels."""
    box = mark.bounding_box()
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + x / 2, at[1] + y / 2)
    page.mouse.move(at[0] + x, at[1] + y)
    page.mouse.up()


@pytest.mark.browser
def test_two_softmaxes_on_a_page_move_each_by_itself_and_show_what_torch_computes(page):
    """Bars of other weights than torch's, a second instrument that stays a picture, or one that moves its neighbour."""
    fill(page, html("softmax-and-scale"), html("softmax-and-scale", scores=3 * TEN))
    first, second = page.locator(".course-instrument").all()
    assert heights(first) == pytest.approx([120 * w for w in torch.softmax(TEN, 0).tolist()], abs=0.01)
    assert heights(second) == pytest.approx([120 * w for w in torch.softmax(3 * TEN, 0).tolist()], abs=0.01)
    before, other = said(first), said(second)
    slopes = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, 0), TEN).norm().item()
    assert f"the norm of the Jacobian is {slopes:.2f}" in before

    width = first.get_by_label("or let a width d decide")
    width.focus()
    page.keyboard.press("End")
    assert "At width 1024 the standard deviation is √1024 = 32" in said(first) and "slopes are gone" in said(first)
    first.get_by_label("divide the scores by √d").check()
    assert heights(first) == pytest.approx([120 * w for w in torch.softmax(TEN, 0).tolist()], abs=0.01)
    assert "Divided by √1024 = 32" in said(first) and said(second) == other

    spread = first.get_by_label("standard deviation of the scores")
    spread.focus()
    page.keyboard.press("Home")
    assert spread.get_attribute("aria-valuetext") == "0.10" and "nearly even" in said(first)
    first.get_by_role("button").click()
    assert said(first) == before


@pytest.mark.browser
def test_a_single_score_is_moved_by_keys_and_by_the_mouse(page):
    """A handle that shows a hand and cannot be held, or that loses its focus while it moves."""
    fill(page, html("softmax-and-scale"))
    root = page.locator(".course-instrument")
    knob = root.get_by_role("slider", name="score 1", exact=True)
    before = knob.get_attribute("aria-valuetext"), said(root)
    knob.focus()
    for _ in range(12):
        page.keyboard.press("Shift+ArrowUp")
    raised = TEN.clone()
    raised[0] = float(knob.get_attribute("aria-valuenow"))
    assert raised[0] > TEN.max() and before != (knob.get_attribute("aria-valuetext"), said(root))
    shape = [h / 120 for h in heights(root)]
    assert shape == pytest.approx(torch.softmax(raised, 0).tolist(), abs=0.001)
    assert knob.evaluate("e => e === document.activeElement") and knob.evaluate("e => e.matches(':focus-visible')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "score 2"

    drag(page, knob, 0, 60)
    assert float(knob.get_attribute("aria-valuenow")) < 0 < raised[0]


@pytest.mark.browser
def test_the_query_is_dragged_and_the_weights_follow_as_in_version_2(page):
    """An arrow that moves and weights that do not, a √d that is not the learner's, or an output outside its mixture."""
    fill(page, html("query-among-keys"))
    root = page.locator(".course-instrument")
    query = root.get_by_role("slider", name="query", exact=True)
    table, mixture = root.locator(".table svg"), root.locator(".mixing svg")

    def shows(vector, divide_by=1.0):
        weights = torch.softmax(KEYS @ torch.as_tensor(vector) / divide_by, 0)
        told = re.findall(r"weight ([\d.]+)", table.get_attribute("aria-label"))
        assert [float(w) for w in told] == pytest.approx(weights.tolist(), abs=0.006)
        out = re.search(r"The output is (\S+), (\S+):", mixture.get_attribute("aria-label").replace("−", "-"))
        assert [float(out[1]), float(out[2])] == pytest.approx((weights @ KEYS).tolist(), abs=0.006)

    shows(QUERY)
    root.get_by_label("divide the scores by √d").check()
    shows(QUERY, 2 ** 0.5)
    root.get_by_label("width d of query and keys").fill("8")
    shows(QUERY, 2 ** 0.5)  # every width, since random vectors grow as √d does
    root.get_by_label("divide the scores by √d").uncheck()
    shows(QUERY, (2 / 256) ** 0.5)

    root.get_by_role("button").click()
    before = said(root)
    query.focus()
    for key in ["ArrowDown"] * 12 + ["ArrowLeft"]:
        page.keyboard.press(key)
    assert query.get_attribute("aria-valuetext") == "warm 0.60, liquid −0.05" and said(root) != before
    shows([0.6, -0.05])
    drag(page, query, -150, -60)
    moved = [float(x) for x in re.findall(r"-?[\d.]+", query.get_attribute("aria-valuetext").replace("−", "-"))]
    assert moved[0] < -0.5 and "ice cream" in said(root)
    shows(moved)


@pytest.mark.browser
def test_without_widths_the_query_is_stretched_and_nothing_is_said_of_the_root(page):
    """A lesson's first look that tells what its later section asks, or a longer query that also turns."""
    fill(page, html("query-among-keys", widths=False), html("softmax-and-scale", widths=False))
    first, second = page.locator(".course-instrument").all()
    assert "√d" not in first.inner_text() + second.inner_text()
    assert not first.get_by_label("width d of query and keys").count() and not second.get_by_label("width d").count()
    query = first.get_by_role("slider", name="query", exact=True)
    turned, weights = query.get_attribute("aria-valuenow"), first.locator(".table svg").get_attribute("aria-label")
    length = first.get_by_label("length of the query")
    length.focus()
    page.keyboard.press("End")
    assert query.get_attribute("aria-valuenow") == turned, "longer, and not turned"
    assert float(length.get_attribute("aria-valuetext")) > 2.5 * QUERY.norm()
    assert first.locator(".table svg").get_attribute("aria-label") != weights


@pytest.mark.browser
def test_a_finger_drags_the_query_and_a_narrow_page_stacks_its_parts(browser):
    """A phone that scrolls where a hand wants to turn the arrow, or one on which half of it lies beyond the edge."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_content(f'<meta name="viewport" content="width=device-width"><body>{"".join(map(html, DATA))}')
    root = page.locator(".course-instrument").nth(1)
    query = root.get_by_role("slider", name="query", exact=True)
    query.scroll_into_view_if_needed()
    scrolled, box = page.evaluate("scrollY"), query.bounding_box()
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    hand = context.new_cdp_session(page)
    for kind, far in [("touchStart", 0), ("touchMove", 40), ("touchMove", 90), ("touchEnd", None)]:
        points = [] if far is None else [{"x": at["x"] - far, "y": at["y"] + far}]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    now = query.bounding_box()
    assert (now["x"] - box["x"], now["y"] - box["y"]) == pytest.approx((-90, 90), abs=3)
    assert page.evaluate("scrollY") == scrolled
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    parts = [root.locator(f".{part}").bounding_box()["y"] for part in ("asking", "table", "mixing")]
    assert parts == sorted(parts) and parts[1] - parts[0] > 200


@pytest.mark.browser
def test_the_hands_show_the_learners_own_table(page):
    """A clock that turns by a formula of its own, whatever the learner has written."""
    wrong = torch.cat([TABLE[:, 0::2], TABLE[:, 1::2]], 1)  # sines first, then cosines
    fill(page, html("clock-hands"), html("clock-hands", table=wrong))
    right, other = page.locator(".course-instrument").all()
    like = (TABLE[6] @ TABLE[9]).item()
    assert f"PE(6) · PE(9) = {like:.2f}" in said(right) and "by its own fixed angle" in said(right)
    position, k = (right.get_by_role("slider", name=name) for name in ("position", "steps further on"))
    position.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert position.get_attribute("aria-valuetext") == "pos = 10" and f"PE(10) · PE(13) = {like:.2f}" in said(right)
    k.fill("20")
    assert f"PE(10) · PE(30) = {(TABLE[10] @ TABLE[30]).item():.2f}" in said(right)
    turned = [20 * 10000 ** (-i / 8) * 180 / torch.pi % 360 for i in range(8)]
    told = re.findall(r"([\d.]+)°", right.locator("svg").first.get_attribute("aria-label"))
    assert [float(t) for t in told] == pytest.approx(turned, rel=0.02, abs=0.5)
    row = re.findall(r"[−\d.]+", right.locator("svg").nth(1).get_attribute("aria-label").split("Row 10: ")[1])
    assert [float(x.replace("−", "-")) for x in row] == pytest.approx(TABLE[10].tolist(), abs=0.006)
    right.locator("svg").nth(1).click(position={"x": 300, "y": 31.4})
    assert position.get_attribute("aria-valuetext") == "pos = 4"

    wrong_hands = [wrong[9, 2 * i:2 * i + 2].tolist() for i in range(8)]
    assert wrong_hands[0] != pytest.approx(TABLE[9, :2].tolist())
    line = other.locator("svg").first.locator("line.pale").first
    x1, y1, x2, y2 = (float(line.get_attribute(a)) for a in ("x1", "y1", "x2", "y2"))
    assert (x2 - x1) / (y1 - y2) == pytest.approx(wrong_hands[0][0] / wrong_hands[0][1], rel=1e-3)
    fill(page, html("clock-hands", table=TABLE * torch.linspace(0.2, 1, 64)[:, None]))
    assert "It depends on the position" in said(page.locator(".course-instrument"))


@pytest.mark.browser
def test_an_alignment_shows_the_weights_of_what_is_pointed_at(page):
    """Lines to other letters than the weights', or a sentence that says more of a state than it had read."""
    fill(page, html("alignment"), html("alignment", heard=["right", "left"]))
    first, second = page.locator(".course-instrument").all()

    def thick(root):
        return [float(line.get_attribute("stroke-width")) for line in root.locator("line:not([display=none])").all()]

    assert "it looks most at “r”, with a weight of 0.90. Up to there the encoder had read “star”" in said(first)
    mark = first.get_by_role("slider", name="what was written")
    mark.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert mark.get_attribute("aria-valuetext") == "s, number 4 of 4"
    assert "looks most at “t”, with a weight of 0.75. Up to there the encoder had read “st”" in said(first)
    assert thick(first) == pytest.approx([0.5 + 12 * w for w in (0.25, 0.75)], abs=0.01)
    assert "had read “r”" in said(second), "it began at the other end"
    box = first.locator("svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 30)
    assert "To write “t”" in said(first)
    first.get_by_role("button", name="the agreement").click()
    assert said(first) == "To write “l'” it looks most at “the”, with a weight of 1.00." and len(thick(first)) == 1
    first.get_by_role("button", name="start again").click()
    assert "To write “r”" in said(first)


@pytest.mark.browser
def test_one_word_asks_step_by_step_as_version_5_does(page):
    """A sentence about another word than the frame's, or an output that is not version 5's."""
    fill(page, html("projection"))
    root, data = page.locator(".course-instrument"), {k: torch.as_tensor(v) for k, v in DATA["projection"].items()
                                                      if k in ("x", "W_q", "W_k", "W_v")}
    out = self_attention(*(value.float() for value in data.values()))
    assert "its query asks for who 1, does 3; its key says nothing; its value hands over old −1." in said(root)
    root.get_by_role("button", name="2 compare").click()
    assert "With “reads”: 3 · 2 = 6, and divided by √2 that is 4.24." in said(root)
    assert root.locator("rect[fill='var(--weight)']:not([display=none])").count() == 0, "no weight yet"
    root.get_by_role("button", name="4 mix").click()
    mark = root.get_by_role("slider", name="the word that asks")
    mark.focus()
    for n in (2, 1, 0):
        assert mark.get_attribute("aria-valuetext") == DATA["projection"]["names"][n]
        assert f"receives old {out[n].item():.2f}." in said(root).replace("−", "-")
        page.keyboard.press("ArrowUp")
    drag(page, mark, 0, 60)
    assert mark.get_attribute("aria-valuenow") in ("2", "3")
    root.get_by_role("button", name="start again").click()
    number = root.locator("text", has_text=re.compile("^3$")).last.bounding_box()  # of a query: 1 · 3
    page.mouse.move(number["x"] + 3, number["y"] + 3)
    assert "“books”, does of its query: its row of x with this column of W_q is 1 · 3 = 3." in said(root)


@pytest.mark.browser
def test_each_head_shows_the_weights_of_the_word_that_asks(page):
    """Another word's row, another layer's heads, or a sentence that is not of the squares."""
    fill(page, html("heads"))
    root = page.locator(".course-instrument")
    assert said(root) == "In below, “bark” asks: head 1 looks most at “bark” (1.00), head 2 looks most at “not” (1.00)."
    mark = root.get_by_role("slider", name="the word that asks")
    mark.focus()
    page.keyboard.press("ArrowLeft")
    assert mark.get_attribute("aria-valuetext") == "not, number 3 of 4"
    assert "head 1 looks most at “not” (1.00), head 2 looks most at “do” (1.00)" in said(root)
    root.get_by_role("button", name="above").click()
    assert said(root) == "In above, “not” asks: it looks most at “not” (0.70)."
    shares = root.locator("text:not([display=none])", has_text=re.compile(r"^0\.\d\d$")).all_text_contents()
    assert shares == ["0.30", "0.70"]
    page.keyboard.press("Tab")
    box = root.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 60)
    assert "In above, “cats” asks: it looks most at “bark” (0.90)." == said(root)
    root.get_by_role("button", name="start again").click()
    assert "In below, “bark” asks" in said(root)


@pytest.mark.browser
def test_a_head_is_chosen_and_cut_and_the_loss_answers(page):
    """The loss of another set of heads, or a look of block 2 as if block 1 were whole."""
    fill(page, html("residual-strip"))
    root = page.locator(".course-instrument")
    assert said(root) == ("At “b”, number 4, head 1.1 looks most at number 3, “a” (0.60); what it writes speaks most "
                          "for “a”. With all heads, 100 % of what is said again is right, and the loss is 0.00.")
    root.get_by_role("slider", name="the token that asks").focus()
    page.keyboard.press("Home")
    root.get_by_role("button", name="head 2.1").click()
    assert "At “a”, number 1, head 2.1 looks most at number 1" in said(root) and "for “0”. With all heads" in said(root)
    boxes = root.locator("rect[style*=cursor]")
    boxes.nth(1).click()
    assert said(root) == "Head 1.2 is cut. Without 1.2, 90 % of what is said again is right, and the loss is 0.50."
    boxes.nth(2).hover()
    assert "for “2”. Without 1.2" in said(root), "block 2 sees that head 1.2 is cut"
    root.get_by_label("cut this head").check()
    assert said(root).startswith("Head 2.1 is cut. Without 1.2, 2.1, 70 % ") and said(root).endswith("loss is 1.50.")
    assert root.locator("path:not([display=none])").count() == 0, "nobody looks who is cut"
    root.get_by_label("cut this head").uncheck()
    assert "Without 1.2, 90 %" in said(root)
    root.get_by_role("button", name="start again").click()
    assert "With all heads, 100 %" in said(root)


@pytest.mark.browser
def test_a_sentence_is_written_word_by_word(page):
    """The line of another word, candidates of another step, or a slider that goes on behind the end."""
    fill(page, html("writing"))
    root = page.locator(".course-instrument")
    assert said(root) == ("Nothing is written yet. It looks most at “le” (0.80); most probable is “the” (0.90), "
                          "before “a” (0.080).")
    root.get_by_role("slider", name="words written").focus()
    page.keyboard.press("ArrowRight")
    assert said(root).startswith("“the” is written. It looks most at “noir” (0.90); most probable is “black” (0.50)")
    thick = [float(arc.get_attribute("stroke-width")) for arc in root.locator("path:not([display=none])").all()]
    assert thick == pytest.approx([0.5 + 12 * w for w in (0.1, 0.9)], abs=0.01)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert said(root) == "“the black cat” is written. It looks most at “dort” (0.90); most probable is “sleeps” (0.70)."
    root.get_by_role("button", name="il dort").click()
    assert said(root).startswith("Nothing is written yet. It looks most at “il” (1.00)")
    root.get_by_role("button", name="start again").click()
    assert "“the” (0.90)" in said(root)


@pytest.mark.browser
def test_a_beam_s_tree_grows_step_by_step(page):
    """The way of another search, or a winner that is shown before the search is over."""
    fill(page, html("beam-tree"))
    root = page.locator(".course-instrument")
    assert said(root) == "One beginning is open: nothing is written yet."
    root.get_by_role("slider", name="steps").focus()
    page.keyboard.press("ArrowRight")
    assert said(root) == "After step 1, 1 beginning is open; 1 fell out."
    assert root.locator("text.strong:not([display=none])").count() == 0, "nobody has won yet"
    page.keyboard.press("ArrowRight")
    assert said(root) == "The search is over: “<sos> a pear” has the largest sum, −1.40."
    root.get_by_role("button", name="beam of 2").click()
    root.get_by_role("slider", name="steps").focus()
    page.keyboard.press("End")
    assert said(root) == "The search is over: “<sos> an apple” has the largest sum, −0.90."
    assert root.locator("text.strong:not([display=none])").all_text_contents() == ["<sos>", "an", "apple"]


@pytest.mark.browser
def test_the_tail_is_cut_and_the_temperature_turned(page):
    """A cut or a temperature of another frame, or a bar where nothing can be drawn."""
    fill(page, html("sampling"))
    root = page.locator(".course-instrument")
    assert said(root) == ("After “a”, at temperature 1 and with no cut, the next token is drawn from 4 tokens; “x” "
                          "comes with 0.50.")
    assert root.get_by_text("all other tokens together: 0.05").is_visible()
    root.get_by_role("slider", name="temperature").focus()
    page.keyboard.press("ArrowLeft")
    assert "at temperature 0.5 and with no cut" in said(root) and "“x” comes with 0.80" in said(root)
    root.get_by_role("button", name="top-k 1").click()
    assert said(root).endswith("is drawn from one token alone; “x” comes with 1.00.")
    assert root.get_by_text("–", exact=True).count() == 2
    root.get_by_role("button", name="the", exact=True).click()
    assert said(root).startswith("After “the”, at temperature 0.5 and with top-k 1")
    root.get_by_role("button", name="start again").click()
    assert said(root).startswith("After “a”, at temperature 1 and with no cut")


@pytest.mark.browser
def test_a_picture_shows_the_shares_of_the_map_that_is_chosen(page):
    """Squares of another map, a share of another patch, or a frame that leaves the picture."""
    fill(page, html("picture"))
    root = page.locator(".course-instrument")
    assert said(root) == ("photo, layer 2, head 1: the patch in row 2, column 1 gets 0.600. The largest share is "
                          "0.600; the class token keeps 0.10 for itself.")
    sides = [float(box.get_attribute("width")) for box in root.locator("rect[fill='var(--weight)']").all()]
    assert sides[0] == 0 and sides[1] / sides[2] == pytest.approx(3**-0.5, abs=0.02), "areas are shares"
    root.get_by_role("slider", name="the patch that is read").focus()
    for key, where in (("ArrowUp", "row 1, column 1 gets 0.000"), ("ArrowRight", "row 1, column 2 gets 0.2"),
                       ("ArrowRight", "row 1, column 2"), ("ArrowDown", "row 2, column 2 gets 0.1")):
        page.keyboard.press(key)
        assert where in said(root)
    root.get_by_role("button", name="digit").click()
    assert said(root).startswith("digit, layer 2, head 1: the patch in row 2, column 1")
    root.get_by_role("slider", name="layer", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    root.get_by_role("button", name="head 2").click()
    assert said(root).startswith("digit, layer 1, head 2") and "gets 0.200" in said(root)
    box = root.locator("image").first.bounding_box()
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    assert "row 1, column 2" in said(root)
    root.get_by_role("button", name="start again").click()
    assert said(root).startswith("photo, layer 2, head 1")


@pytest.mark.browser
@pytest.mark.parametrize("dark, says", [(False, ""), (True, ""), (True, 'data-jp-theme-light="false"')])
def test_axe_finds_nothing_to_say(page, dark, says):
    """A control without a name, words too pale, or a role that promises what is not there."""
    from axe_playwright_python.sync_playwright import Axe

    fill(page, *map(html, DATA), dark=dark, says=says)
    page.locator(".living").nth(2).wait_for()
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found] == []


@pytest.mark.browser
def test_without_scripts_there_is_a_picture_and_without_motion_nothing_glides(browser):
    """An empty place on a page that runs no scripts; bars that fly past somebody who has asked them not to."""
    page = browser.new_context(java_script_enabled=False).new_page()
    fill(page, *map(html, DATA))
    for picture in page.locator(".course-instrument img").all():
        assert picture.bounding_box()["height"] > 200 and picture.get_attribute("alt")
    assert page.locator(".course-instrument img").count() == len(DATA) and not page.locator(".living").count()
    for motion, seconds in (("reduce", "0s"), ("no-preference", "0.25s")):
        page = browser.new_context(reduced_motion=motion).new_page()
        page.clock.install(time=0)
        fill(page, html("softmax-and-scale"))
        page.clock.pause_at(1000)  # gliding ends by a timer, and a busy machine looks too late
        page.get_by_label("divide the scores by √d").check()
        assert page.evaluate("getComputedStyle(document.querySelector('.glide rect')).transitionDuration") == seconds


@pytest.mark.browser
def test_instruments_live_in_jupyterlab_and_after_a_reload(browser, tmp_path):
    """Scripts that JupyterLab does not run, keys that it takes for itself, and a dark page with dark words."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    given = {name: INSTRUMENTS[name].given(**DATA[name]) for name in DATA}
    code = [f"from course_lib.display import instruments\ninstruments.show({name!r}, 'instrument-{name}', **{data})"
            for name, data in given.items()]
    write_notebook(folder / "own.ipynb", map(nbformat.v4.new_code_cell, code))
    output = nbformat.v4.new_output("display_data", {"text/html": "".join(map(html, DATA))})
    foreign = nbformat.v4.new_code_cell("# a stranger's", outputs=[output], execution_count=1)
    write_notebook(folder / "foreign.ipynb", [foreign])
    with jupyter_lab(folder, tmp_path, themes={"theme": "JupyterLab Dark"}) as address:
        page = opened(browser, address("own.ipynb"), viewport={"width": 1300, "height": 7400})
        _run_all_cells(page)
        _all_live(page)
        page.screenshot(path=tmp_path / "lab.png")
        page.keyboard.press("Control+s")
        page.wait_for_timeout(1500)
        page.reload()
        _all_live(page)

        page.goto(address("foreign.ipynb"))
        notebook = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)", has=page.locator("text=a stranger's"))
        pictures = notebook.locator("img[src^='data:image/svg']")
        pictures.nth(len(DATA) - 1).wait_for()
        assert pictures.count() == len(DATA) and not notebook.locator(".living").count(), "not trusted: pictures"
        page.screenshot(path=tmp_path / "foreign.png")


def write_notebook(path, cells):
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"},
              "language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=list(cells), metadata=kernel)), encoding="utf-8")


def _all_live(page):
    page.locator(".living").nth(len(DATA) - 1).wait_for()
    assert page.locator(".living").count() == len(DATA) and not page.locator(".course-instrument img").count()
    for root, slider, key in [(0, "score 3", "ArrowDown"), (1, "query", "ArrowUp"), (2, "position", "ArrowRight"),
                              (3, "lamp", "ArrowRight")]:
        instrument = page.locator(".course-instrument").nth(root)
        moved = instrument.get_by_role("slider", name=slider, exact=True)
        moved.focus()
        page.wait_for_timeout(200)  # JupyterLab makes the cell that has the focus its active one
        active = page.locator(".jp-Cell.jp-mod-active").first.element_handle()
        before = moved.get_attribute("aria-valuetext"), said(instrument)
        for _ in range(3):
            page.keyboard.press(key)
        assert moved.get_attribute("aria-valuetext") != before[0]
        assert said(instrument) != before[1] or slider == "lamp", "a lamp says where it was longest"
        assert moved.evaluate("e => e === document.activeElement"), "JupyterLab took the focus"
        assert active.evaluate("e => e.classList.contains('jp-mod-active')"), "JupyterLab took the keys"
    colours = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    look = page.locator(".living").first.evaluate(colours)
    turned = [on_dark(COLOURS[colour]) for colour in ("paper", "ink")]
    assert look == [f"rgb({', '.join(str(int(colour[i:i + 2], 16)) for i in (1, 3, 5))})" for colour in turned]


@pytest.mark.browser
@pytest.mark.skipif(not all(map(find_spec, site_command.NEEDED)), reason="needs pip install -e '.[site]'")
def test_instruments_live_on_the_site(page, tmp_path):
    """A page built by Sphinx that strips the scripts, or whose own style bends the instruments."""
    outputs = [nbformat.v4.new_output("display_data", {"text/html": html(name)}) for name in DATA]
    write_notebook(tmp_path / "lesson", [nbformat.v4.new_markdown_cell("# Instruments"),
                                         nbformat.v4.new_code_cell("show()", outputs=outputs, execution_count=1)])
    lesson = Page("lessons/instruments.ipynb", (tmp_path / "lesson").read_text(encoding="utf-8"), (), LESSONS)
    building.build([Page("index.md", "# First\n", ()), lesson], tmp_path / "site")
    page.emulate_media(color_scheme="dark")
    page.goto((tmp_path / "site/lessons/instruments.html").as_uri())
    assert page.locator(".living").count() == len(DATA)
    query = page.get_by_role("slider", name="query", exact=True)
    before = said(page.locator(".course-instrument").nth(1))
    drag(page, query, -60, 80)
    assert said(page.locator(".course-instrument").nth(1)) != before
    page.screenshot(path=tmp_path / "site.png", full_page=True)


@pytest.mark.browser
def test_the_lamp_counts_the_time_over_each_region_while_it_is_held(page):
    """Time that is counted for another region or question, or that goes on when the lamp is left or its holder gone."""
    page.clock.install(time=0)
    fill(page, html("lamp"))
    page.clock.pause_at(1000)
    root = page.locator(".course-instrument")
    lamp, table = root.get_by_role("slider", name="lamp"), root.locator("svg").nth(1)

    def shares(question):
        told = table.get_attribute("aria-label").split(question)[1].split(";")[0]
        return {name: float(share) for name, share in re.findall(r"(\w+) ([\d.]+)", told)}

    root.get_by_role("button", name="Where is the cat?").click()
    assert lamp.get_attribute("aria-valuetext") == "over the river" and not shares("Where is the cat?")
    lamp.focus()
    page.clock.run_for(1000)
    for key in ("Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert lamp.get_attribute("aria-valuetext") == "over the cat"
    page.clock.run_for(3000)
    found = shares("Where is the cat?")
    assert found["river"] == pytest.approx(0.25, abs=0.02) and found["cat"] == pytest.approx(0.75, abs=0.02)
    assert "longest over the cat" in said(root) and not shares("How is the weather?")
    page.clock.run_for(60_000)  # whoever holds it has gone for a coffee
    assert shares("Where is the cat?")["cat"] == pytest.approx(0.80, abs=0.02)
    lamp.blur()
    before = shares("Where is the cat?")
    page.clock.run_for(3000)
    assert shares("Where is the cat?") == before

    box = root.locator(".night svg").bounding_box()
    root.get_by_role("button", name="How is the weather?").click()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 10)  # the lamp comes to where it is wanted
    page.clock.run_for(2000)
    assert shares("How is the weather?")["sky"] == 1 and shares("Where is the cat?") == before
    root.get_by_role("button", name="start again").click()
    assert not shares("How is the weather?") and not shares("Where is the cat?")
