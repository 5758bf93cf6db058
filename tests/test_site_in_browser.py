"""The whole site in a real browser: accessible, searchable, printable, and of use without a mouse.

axe-core looks at ten kinds of page, dark on a telephone, light on a desk; with COURSE_ALL_PAGES set, at every page in
four widths and both themes. Enlarged to 200 %, a page is as narrow as at half its width.
"""

import functools
import gzip
import http.server
import importlib.util
import itertools
import os
import re
import struct
import threading

import pytest
from PIL import Image

from course_lib.checks import EXERCISES
from course_lib.staff import readme_pictures, site
from course_lib.staff.site import __main__ as command
from course_lib.staff.site import trying

KINDS = ("index", "README", "lessons/04_scaling", "lessons/13_vision_transformer", "docs/glossary", "claims",
         "instruments", "misconceptions/13_vision_transformer", "api/attention", "search")
ALL = os.environ.get("COURSE_ALL_PAGES")
BUILT = all(importlib.util.find_spec(name) for name in command.NEEDED)
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not BUILT, reason="needs pip install -e '.[site]'")]
TOO_WIDE = """() => [...document.querySelectorAll('article *')].filter(e => e.checkVisibility()
    && e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().right > innerWidth + 1)
    .slice(0, 5).map(e => e.outerHTML.slice(0, 100))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The whole site, as its command builds it."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    assert command.main(["-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """The site on a server of its own: a search asks for the pages that it found."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("scheme", "width"), itertools.product(["light", "dark"], [1300, 768, 390, 320])
                         if ALL else [("light", 1300), ("dark", 390)])
def test_axe_finds_nothing_to_say(folder, browser, scheme, width):
    """Pale captions, code that only a mouse scrolls, menus outside of every landmark, headings without a level."""
    from axe_playwright_python.sync_playwright import Axe

    names = KINDS
    if ALL:
        names = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.html"))]
    said = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name in names:
        page.goto((folder / f"{name}.html").as_uri())
        found = Axe().run(page, options={"resultTypes": ["violations"]})  # half the time: what is fine is not listed
        said += [(name, v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found.response["violations"]]
    assert said == []


def test_the_picture_of_a_lesson_shows_the_answer_to_a_guess(folder, browser):
    """The README shows the top of a page, or a question that nobody has answered."""
    text = readme_pictures.said_in_the_lesson()
    for word in (readme_pictures.GUESS, "nothing to train between query and input"):
        assert word in " ".join(text.replace('"', "").split())
    assert readme_pictures.shown_lesson(browser, folder).size == Image.open(readme_pictures.picture("lesson")).size


def test_no_page_is_wider_than_its_window(folder, browser):
    """Words that are cut at the right edge, or a page that slides under the thumb."""
    page, wide = browser.new_page(), []
    for path in sorted(folder.rglob("*.html")):
        page.goto(path.as_uri())
        for width in (390, 800, 1050, 1300):
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append((path.name, width))
    assert wide == []


def test_a_printed_page_is_whole(folder, browser):
    """Lines of code that end at the paper's edge; an optional section that is not there; answers for all to see."""
    page = browser.new_page(viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    for name in KINDS:
        page.goto((folder / f"{name}.html").as_uri())
        assert (name, page.evaluate(TOO_WIDE)) == (name, [])
    page.goto((folder / "lessons/04_scaling.html").as_uri())
    assert page.get_by_text("exp(e) / exp(e).sum()").first.is_visible()
    assert not page.locator("details.hide pre").first.is_visible()
    assert not page.locator(".copybtn").first.is_visible()


def test_search_finds_words_inside_code_and_leads_there_by_keyboard(address, browser):
    """A name of a function that stands in every lesson and that the search does not know."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    for word, where in (("masked_fill", "lessons/"), ("weighted_sum", "lessons/00"),
                        ("scaled_dot_product", "lessons/04")):
        page.goto(f"{address}/index.html")
        field = page.get_by_role("searchbox").or_(page.get_by_placeholder("Search")).first
        field.focus()
        page.keyboard.type(word)
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results li a", timeout=20_000)
        page.wait_for_function("/finished|found/i.test(document.querySelector('#search-results').innerText)")
        links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.getAttribute('href'))")
        assert any(where in link for link in links), (word, links)
    link = page.locator("#search-results li a").first
    target = link.get_attribute("href")
    link.press("Enter")
    page.wait_for_url(f"**/{target.split('?')[0].split('#')[0]}*")


def test_next_and_previous_and_on_this_page_lead_on_by_keyboard(address, browser):
    """A way through the lessons that only a mouse can take."""
    page = browser.new_page(viewport={"width": 1500, "height": 900})
    page.goto(f"{address}/lessons/04_scaling.html")
    for direction, lesson in (("next", "05_query_key_value"), ("prev", "04_scaling")):
        page.locator(f".related-pages a.{direction}-page").press("Enter")
        page.wait_for_url(f"**/{lesson}.html")
    link = page.locator(".toc-drawer a", has_text="Summary")
    link.press("Enter")
    assert page.url.endswith("#summary")
    page.wait_for_function("document.querySelector('#summary').getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("width", [1300, 390])
def test_a_card_is_tried_by_keyboard_and_turns_green(folder, browser, width):
    """A first page that only shows, or that shows the answer before anybody has tried."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((folder / "index.html").as_uri())
    seen = page.locator(".trying .card:visible")
    assert seen.count() == 0
    page.locator("#try-1").press("Space")
    says = {m.name: m.says for m in EXERCISES[trying.EXERCISE].mistakes}
    for name in trying.BEFORE:
        assert seen.count() == 1 and says[name] in seen.inner_text()
        page.keyboard.press("ArrowDown")
    assert f"✓ {trying.EXERCISE}: right" in seen.inner_text()


def test_the_first_screen_says_what_it_is_for_whom_and_lets_one_try(folder, browser):
    """A stranger has to scroll before there is something to do; or 2 MB arrive first."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.goto((folder / "index.html").as_uri())
    for words in ("Write attention seven times", "For you if you can read Python", "Start lesson 00",
                  "One query meets its keys", "Guess, and then try it", "A card in ten seconds"):
        assert page.get_by_text(words).first.bounding_box()["y"] < 740, words
    page.get_by_label("everybody's").check()
    assert "below zero" in page.locator(".course-question .reply").inner_text()
    assert page.evaluate("localStorage.length") == 0, "what no lesson asks is not kept"
    html = (folder / "index.html").read_text(encoding="utf-8")
    used = {*re.findall(r'(?:href|src)="(_static/[^"?]+\.(?:css|js))', html)}
    files = [folder / "index.html", *(folder / name for name in used)]
    assert len(files) > 8 and sum(len(gzip.compress(path.read_bytes())) for path in files) < 100_000


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_pictures_move_until_they_are_told_not_to(folder, browser, motion):
    """Something that moves for ever beside what one wants to read; or words that are gone while it stands."""
    page = browser.new_page(reduced_motion=motion)
    page.goto((folder / "index.html").as_uri())
    moving = "document.getAnimations().filter(a => a.playState === 'running').length"
    if motion == "no-preference":
        assert page.evaluate(moving) >= 4 + 5 + 6
        page.get_by_label("pictures move").uncheck()
    assert page.evaluate(moving) == 0
    assert page.locator(".by-word").inner_text() == "Jane visits Africa in September"
    assert page.locator(".looking span img:visible").count() == 7


def test_a_button_copies_the_code_beside_it_and_outputs_have_none(address, browser):
    """Code that has to be marked by hand; a button on what is no code."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{address}/lessons/04_scaling.html")
    assert page.locator(".cell_output .copybtn, .highlight-diff .copybtn").count() == 0
    button = page.locator(".cell_input .copybtn").first
    button.press("Enter")
    page.wait_for_selector(".copybtn.success")
    assert page.evaluate("navigator.clipboard.readText()").startswith("import torch\n\nfrom course_lib import")


def test_the_boxes_of_the_drawing_lead_to_their_lessons(folder, browser):
    """A drawing with numbers of lessons that one then has to look up."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.goto((folder / "index.html").as_uri())
    page.locator(".machine svg text", has_text="cross-attention").click(force=True)
    page.wait_for_url("**/lessons/05_query_key_value.html")


@pytest.mark.parametrize("width", [1300, 390])
def test_the_drawing_lies_on_the_page_and_its_letters_have_a_legible_size(folder, browser, width):
    """A slab of paper on a dark page; a drawing that a telephone shows with letters of five pixels."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark")
    page.goto((folder / "index.html").as_uri())
    ground, svg = "e => getComputedStyle(e).{}", page.locator(".machine svg")
    paper = svg.locator("rect").first.evaluate(ground.format("fill"))
    assert paper == page.locator("body").evaluate(ground.format("backgroundColor"))
    heights = svg.locator("text").evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")
    assert min(heights) >= 8, "the box around letters of seven pixels"
    assert page.locator(".machine .drawing[tabindex]").count() == (width == 390), "by keyboard, too"


def test_the_site_asks_no_other_server(address, browser):
    """A font, a badge or a script that tells others who reads what."""
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    for name in KINDS:
        page.goto(f"{address}/{name}.html", wait_until="networkidle")
    assert len(asked) > len(KINDS)
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


def test_a_link_to_a_page_is_shown_with_its_title_words_and_a_picture(folder):
    """A bare address in a chat, or a picture that is not there."""
    for name in ("index", "lessons/07_masks"):
        html = (folder / f"{name}.html").read_text(encoding="utf-8")
        tags = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)"', html))
        assert tags["title"] and len(tags["description"]) > 60 and tags["url"] == f"{site.ADDRESS}{name}.html"
        picture = (folder / tags["image"].removeprefix(site.ADDRESS)).read_bytes()
        assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) < 100_000
        assert struct.unpack(">II", picture[16:24]) == (1200, 630)
        assert f'href="https://github.com/{site.REPOSITORY}"' in html and 'icon" href="' in html
