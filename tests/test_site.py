"""The site: it shows what is in the repository, and no link of it leads nowhere."""

import ast
import base64
import importlib
import importlib.util
import inspect
import io
import json
import math
import re
import runpy
import shutil
import subprocess
from html import unescape
from pathlib import Path

import numpy
import pytest
import torch
import yaml
from PIL import Image

from course_lib import shipped
from course_lib.checks import EXERCISES, check
from course_lib.checks.engine.asking import ask
from course_lib.checks.engine.comparing import compare
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.mistakes import Mistake, plain_source
from course_lib.checks.engine.questioning import questions
from course_lib.display import pictures, style
from course_lib.display.instruments import INSTRUMENTS
from course_lib.predictions.question import question
from course_lib.staff import site, syllabus
from course_lib.staff.claims import claims_in
from course_lib.staff.lesson_text import lesson_stems, number_of, read_lesson
from course_lib.staff.site import __main__ as command
from course_lib.staff.site import (
    api,
    building,
    claims,
    first_page,
    instruments,
    lesson_map,
    lessons,
    links,
    machine,
    mending,
    misconceptions,
    moving,
    readme,
    results,
    trying,
)
from course_lib.staff.site.facts import facts_of
from course_lib.staff.site.page import REFERENCE, Page
from course_lib.upkeep.versions import VERSION

ROOT = Path(__file__).parents[1]
STEMS = ["02_self_attention_untrained", "07_masks"]
BUILT = all(importlib.util.find_spec(name) for name in command.NEEDED)
needs_the_extra = pytest.mark.skipif(not BUILT, reason="needs pip install -e '.[site]'")
MARK_CONTROLS = """() => {  // number all that a mouse could use: what is seen itself, or a switch whose label is seen
    const seen = e => e.checkVisibility({checkVisibilityCSS: true}) && e.getBoundingClientRect().width;
    const labels = [...document.querySelectorAll('label[for]')].filter(seen);
    const all = [...document.querySelectorAll('a[href], button, input, select, summary')];
    const used = all.filter(e => seen(e) || labels.some(l => l.htmlFor == e.id));
    used.forEach((e, i) => e.dataset.control = i);
    return used.map(e => e.outerHTML.slice(0, 120));
}"""
FOLDED = re.compile(r'<details class="admonition hide above-input">.*?</details>', re.S)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A site of two lessons, a first page, and a page with links and equations."""
    folder = tmp_path_factory.mktemp("site") / "out"
    chapters = lessons.pages(STEMS)
    about = Page("docs/about.md", "# About\n\nRead [lesson 07](../lessons/07_masks.ipynb), [solved]"
                 "(../solutions/07_masks.ipynb#summary), and [the licence](../LICENSE). So $x_i^2$ for 3 $ "
                 "and 4$ and\n\n$$\\frac{a}{b}$$\n", ("docs/about.md",), REFERENCE)
    drawn = lesson_map.lesson_map([facts_of(chapter) for chapter in chapters])
    index = Page("index.md", f"# First\n\n{drawn}\n", ())
    building.build([index, *chapters, *misconceptions.pages(chapters), about], folder)
    return folder


def text_of(html):
    return unescape(re.sub(r"<[^>]+>", "", html))


def exercises_of(stem):
    """The first line of each answer, as it stands in the executed notebook."""
    notebook = json.loads((ROOT / f"solutions/{stem}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]).splitlines()[0] for cell in notebook["cells"]
            if "exercise" in cell["metadata"].get("tags", [])]


@needs_the_extra
@pytest.mark.parametrize("stem", STEMS)
def test_answers_are_folded(built, stem):
    """A page that gives the answers away at first sight; one whose other folds are called answers, too."""
    html = (built / f"lessons/{stem}.html").read_text(encoding="utf-8")
    folded, rest = [fold for fold in FOLDED.findall(html) if "Answer" in text_of(fold)], text_of(FOLDED.sub("", html))
    answers = exercises_of(stem)
    assert answers and len(folded) == len(answers)
    for answer, fold in zip(answers, folded, strict=True):
        assert answer in text_of(fold) and "Answer" in text_of(fold)
        assert answer not in rest
    assert not re.search(r"<details[^>]*hide[^>]* open", html)


@needs_the_extra
def test_figures_are_those_of_the_repository(built):
    """A build that runs the notebooks, or loses their outputs."""
    html = (built / "lessons/07_masks.html").read_text(encoding="utf-8")
    notebook = (ROOT / "solutions/07_masks.ipynb").read_text(encoding="utf-8")
    figures = re.findall(r'src=\\"(data:image/(?:png|svg\+xml);base64,[^"\\]+)', notebook)
    assert len(figures) > 3
    assert re.findall(r'src="(data:image/(?:png|svg\+xml);base64,[^"]+)', html) == figures
    assert "✓ causal_mask: right" in text_of(html)


@pytest.mark.parametrize("wide", [799, 900])
@pytest.mark.parametrize("kind", ["svg", "png", "sharp png"])
def test_a_wide_picture_is_marked_whatever_it_is_made_of(kind, wide):
    """A picture of words too small to be read on a phone, or a narrow one that scrolls."""
    if kind == "svg":
        data = pictures.svg_of("<path/>", wide, 50).encode()
    else:
        size = wide if kind == "png" else 2 * wide
        data = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + size.to_bytes(4, "big") + bytes(40)
    stated = f' width="{wide}"' if kind == "sharp png" else ""
    source = f"data:image/{'svg+xml' if kind == 'svg' else 'png'};base64,{base64.b64encode(data).decode()}"
    output = {"data": {"text/html": [f'<div><img src="{source}"{stated} alt="a b"></div>']}}
    lessons._mark_wide_pictures(output)
    assert ('class="wide"' in output["data"]["text/html"]) == (wide > lessons.WIDE)


@needs_the_extra
def test_buttons_lead_to_the_lesson_with_blanks(built):
    """A badge that opens the solution, or a path that is not in the repository."""
    html = (built / "lessons/07_masks.html").read_text(encoding="utf-8")
    addresses = dict(reversed(pair) for pair in re.findall(r'<a href="([^"]+)"(?: download)?>([^<]+)</a>',
                                                         re.search(r'<p class="buttons">.*?</p>', html)[0]))
    colab = f"https://colab.research.google.com/github/{site.REPOSITORY}/blob/v{VERSION}/"
    assert addresses["Open in Colab"] == colab + "lessons/07_masks.ipynb"
    assert addresses["Open in Codespaces"] == f"https://codespaces.new/{site.REPOSITORY}?quickstart=1"
    for words, original in {"Download the notebook": "lessons", "Download it solved": "solutions"}.items():
        copy = (built / "lessons" / addresses[words]).resolve()
        assert copy.read_bytes() == (ROOT / original / "07_masks.ipynb").read_bytes()


def test_the_repository_has_one_name_which_actions_may_set(monkeypatch):
    """A fork whose badges open somebody else's notebooks."""
    monkeypatch.setenv("GITHUB_REPOSITORY", "somebody/a-fork")
    name = runpy.run_path(site.__file__)["REPOSITORY"]
    monkeypatch.setattr(site, "REPOSITORY", name)
    said = lessons.buttons("07_masks") + site.on_github("LICENSE")
    assert said.count("somebody/a-fork/") + said.count("somebody/a-fork?") == 3
    monkeypatch.delenv("GITHUB_REPOSITORY")
    assert runpy.run_path(site.__file__)["REPOSITORY"].count("/") == 1


@needs_the_extra
def test_links_to_files_of_the_repository_arrive(built):
    """A link that works on GitHub and not on the site."""
    html = (built / "docs/about.html").read_text(encoding="utf-8")
    assert 'href="../lessons/07_masks.html"' in html and 'href="../lessons/07_masks.html#summary"' in html
    assert f'href="{site.on_github("LICENSE")}"' in html


@needs_the_extra
def test_equations_are_drawn_without_a_script_or_another_server(built):
    """Equations that need a network to be read."""
    html = (built / "docs/about.html").read_text(encoding="utf-8")
    assert html.count('<span role="img" aria-label=') == 2 and 'aria-label="x_i^2"' in html
    for page in built.rglob("*.html"):
        assert not re.findall(r'(?:<script[^>]* src|<link[^>]* href|<img[^>]* src)="(?:https?:)?//',
                              page.read_text(encoding="utf-8")), page


RADIO = re.compile(r'type="radio" name="([^"]+)"')  # of a group Tab reaches one, and arrows the others


@needs_the_extra
@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 1100, 390])
@pytest.mark.parametrize("name", ["lessons/07_masks", "misconceptions/index"])
def test_everything_is_reached_and_opened_by_keyboard(built, browser, name, width):
    """A menu, or an answer, for which one needs a mouse; a focus that walks through a menu that is shut."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((built / f"{name}.html").as_uri())
    controls, reached, folds = page.evaluate(MARK_CONTROLS), [], 0
    for _ in range(9 * len(controls)):  # on a narrow screen every wide cell is a stop, too
        page.keyboard.press("Tab")
        number = page.evaluate("document.activeElement.dataset.control")
        if number in reached:
            break
        reached += [number] * (number is not None)
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            was_open = page.evaluate("document.activeElement.parentElement.open")
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.parentElement.open") != was_open
            page.keyboard.press("Enter")
            folds += 1
    groups = {RADIO.search(controls[int(i)])[1] for i in reached if RADIO.search(controls[int(i)])}
    missed = [controls[i] for i in range(len(controls)) if str(i) not in reached]
    assert [each for each in missed if not (RADIO.search(each) and RADIO.search(each)[1] in groups)] == []
    assert folds >= len(exercises_of("07_masks"))
    for menu, name, narrow in ((".sidebar-drawer", "__navigation", 63), (".toc-drawer", "__toc", 82)):
        drawer = page.locator(menu)
        if width > narrow * 16:  # CSS counts widths in letters of 16 pixels
            assert drawer.is_visible()
            continue
        assert not drawer.is_visible()
        page.focus(f"#{name}")
        page.keyboard.press("Space")
        assert drawer.is_visible() and page.locator(f"label[for={name}] .icon:visible").count()
        page.keyboard.press("Space")
        assert not drawer.is_visible()


@needs_the_extra
def test_a_broken_site_is_refused_with_its_page_and_target(tmp_path):
    """A link that leads nowhere, which nobody notices until a learner follows it."""
    def said(text):
        with pytest.raises(site.SiteError) as refused:
            building.build([Page("index.md", f"# Page\n\n{text}\n", ())], tmp_path / "out")
        assert not (tmp_path / "out").exists()
        return str(refused.value)

    sources = said("[a](missing.md) ![b](missing.png) $\\nosuchsign$ [c](lessons/99_none.ipynb)")
    for target in ("its link to missing.md leads nowhere", "missing.png", "nosuchsign", "lessons/99_none.ipynb"):
        assert any(line.startswith("index.md:") and target in line for line in sources.splitlines()), sources
    assert said('<a href="nowhere.html">a</a>') == "index.html: its link to nowhere.html leads nowhere"
    assert said('<p><img src="none.png" alt="b"></p>') == "index.html: its link to none.png leads nowhere"
    assert said('<p><a href="#no-such-place">a</a></p>') == "index.html: its link to #no-such-place leads nowhere"


@needs_the_extra
def test_a_folder_that_is_no_site_is_left_alone(tmp_path, built):
    """`-o ~` must not empty a home."""
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(site.SiteError, match="is not empty and no site"):
        building.build([Page("index.md", "# Page\n", ())], tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    with pytest.raises(site.SiteError, match="^cannot write .*thesis"):
        building.build([Page("index.md", "# Page\n", ())], tmp_path / "thesis.txt" / "out")
    again = tmp_path / "again"
    for title in ("one", "two"):
        building.build([Page("index.md", f"# Page {title}\n", ())], again)
    assert "Page two" in (again / "index.html").read_text(encoding="utf-8")


@needs_the_extra
def test_links_to_other_sites_are_listed(built):
    listed = links.external(built)
    assert any(line.startswith("https://arxiv.org/abs/1706.03762  (") for line in listed)
    assert all(line.startswith("http") for line in listed)


def test_the_map_has_a_line_from_every_lesson_that_another_needs():
    """A map that forgets what a lesson needs."""
    facts = [facts_of(page) for page in lessons.pages()]
    drawn = lesson_map.lesson_map(facts)
    assert [fact["number"] for fact in facts] == [number_of(stem) for stem in lesson_stems()]
    assert next(fact for fact in facts if fact["number"] == "09")["needs"] == ["06", "08"]
    drawn, legend = drawn[drawn.index("<div"):], drawn[:drawn.index("<div")]
    assert drawn.count("<path") == sum(len(fact["needs"]) for fact in facts) >= len(facts)
    assert legend.count("<path") == 2 and "builds on this one" in legend and "needs this one, too" in legend
    for fact in facts:
        assert f'href="{fact["page"]}.html"' in drawn and fact["exercises"] > 0
        assert fact["minutes"] >= 45 and f'{fact["minutes"]} minutes' in drawn, "its head may run over two lines"


def test_the_first_page_counts_what_it_says():
    """Numbers that somebody typed once, and that nobody counts again."""
    chapters = lessons.pages()
    text = first_page.page(chapters).text
    minutes = sum(int(re.search(r"(\d+) minutes", chapter.text)[1]) for chapter in chapters)
    exercises = sum(len(exercises_of(stem)) for stem in lesson_stems())
    mistakes = sum(len(exercise.mistakes) for exercise in EXERCISES.values())
    for words in (f"{len(chapters)} lessons", f"{round(minutes / 60)} hours", f"{exercises} exercises",
                  f"{mistakes:,} named mistakes", "no GPU"):
        assert f"<li>{words}</li>" in text, words
    assert 'href="lessons/00_big_picture.html">Start lesson 00</a>' in text
    two = first_page.numbers([facts_of(chapter) for chapter in lessons.pages(STEMS)])
    assert two[0] == "2 lessons" and two[3] != first_page.numbers([facts_of(c) for c in chapters])[3]


def test_the_guess_on_the_first_page_comes_true():
    """A first claim that nobody has computed: of its four things, whose weight grows with the query?"""
    shown = first_page.first_of(*first_page.HELD)
    data = json.loads(unescape(re.search(r'data-given="([^"]*)"', shown)[1]))
    query, keys = torch.tensor(data["query"]), torch.tensor(data["keys"])
    before, after = (torch.softmax(keys @ (times * query), 0) for times in (1, 3))
    grown = [name for name, now, then in zip(data["names"], after, before, strict=True) if now > then]
    of = question(*first_page.GUESS)
    assert grown == ["tea"] and of.right == "tea's alone"
    stone = keys[data["names"].index("stone")] @ query
    assert "Stone's score is below zero" in of.answers["everybody's"] and stone < 0
    assert "Soup's score grows" in of.answers["tea's and soup's"] and keys[data["names"].index("soup")] @ query > 0


def test_the_pictures_that_move_are_those_of_the_lessons():
    """Hands that turn at a speed of their own; a head that looks where no model does."""
    turns = [float(t) for t in re.findall(r"--turn:([0-9.]+)s", moving.hands())]
    assert turns == pytest.approx([2 * math.pi * 10_000 ** (2 * i / moving.WIDTH) for i in moving.PAIRS], abs=0.01)
    row = shipped.photo_looks().heads[moving.PHOTO][moving.LAYER, 0, 1:]
    covers = re.findall(r'src="data:image/png;base64,([^"]+)"', moving.looking())
    alpha = numpy.array(Image.open(io.BytesIO(base64.b64decode(covers[0]))).getchannel("A"))
    assert len(covers) == 6 and alpha.argmin() == row.argmax() and alpha.min() == 0


def test_the_card_to_try_is_the_one_that_the_check_gives():
    """A card made up for the first page; one that is green for a mistake."""
    html, exercise = trying.trying(), EXERCISES[trying.EXERCISE]
    cards = re.split(r'<div class="card card-\d">', html)[1:]
    lines = re.findall(r"<code>(return .*?)</code></label>", html)
    assert len(cards) == len(lines) == len(set(lines)) == 4 and "checked" not in html
    for card, line in zip(cards, lines, strict=True):
        if line in plain_source(exercise.verified):
            assert f"✓ {trying.EXERCISE}: right" in card
        else:
            mistake, = [m for m in exercise.mistakes if m.source.strip().endswith(line)]
            assert f"✗ {trying.EXERCISE}: not right yet" in card and mistake.says in unescape(card)


def test_the_drawing_has_other_colours_on_a_dark_page_and_stays_legible():
    """A slab of paper on a dark page; a box that keeps its light ground below light letters."""
    html = machine.machine([])
    drawn = {*re.findall(r"#[0-9a-f]{6}\b", html)}
    assert drawn == {*machine.ON_DARK} and not re.search(r'[":]#[0-9a-f]{6}\b', html), "a colour that does not change"
    ground = {*drawn} - {style.INK, "#c9c3b3"}  # letters; a frame
    for colour in ground:
        assert style.contrast(machine.ON_DARK[style.INK], machine.ON_DARK[colour]) >= 4.5, colour


def test_the_results_are_those_of_the_notebooks_and_the_stored_runs(monkeypatch):
    """A result of another experiment, or one that no run has given; a lesson that says it no longer."""
    html = results.results()
    words = unescape(" ".join(re.sub("<[^>]+>", " ", html).split()))
    assert "Jane visite l'Afrique en septembre → Jane visits Africa in September" in words
    text = (ROOT / "solutions/11_transformer.py").read_text(encoding="utf-8")
    assert 'claim("at least 95 of 100 fresh sentences' in text
    assert "at least 95 in 100" in words
    stored = (ROOT / "course_lib/experiments/results/13-rivals.tsv").read_text(encoding="utf-8")
    right = [float(line.split("\t")[2]) for line in stored.splitlines() if line.startswith("ViT, moved\t")]
    assert f"{100 * min(right):.1f} % to {100 * max(right):.1f} % of them in {len(right)} runs" in html
    monkeypatch.setattr(results, "outputs", lambda path: "nothing")
    with pytest.raises(site.SiteError, match=r"^solutions/11_transformer.ipynb: it does not say what “Jane visite"):
        results.results()


def test_the_readme_is_a_page_without_its_table_and_without_pictures_of_other_servers(monkeypatch, tmp_path):
    """A table too wide for a phone; a slab of paper on a dark page; a badge that tells another server who reads."""
    text = readme.page().text
    assert "docs/card.png" in text and "transformer.png" not in text and "lesson.png" not in text
    assert "button that opens it in Colab" in text
    assert text.startswith("# Setting up") and "start.py lab" in text and "| lesson | minutes" not in text
    badge = "[![CI](https://img.example.org/ci.svg)](https://example.org/ci) ![b](https://example.org/b.png)"
    changed = syllabus.README.read_text(encoding="utf-8").replace("# Transformers", f"{badge}\n\n# Transformers", 1)
    monkeypatch.setattr(syllabus, "README", tmp_path / "README.md")
    syllabus.README.write_text(changed, encoding="utf-8")
    assert "example.org" not in readme.page().text and readme.page().text.strip().startswith("# Setting up")
    syllabus.README.write_text("# No table", encoding="utf-8")
    with pytest.raises(site.SiteError, match="^README.md: it has no lines"):
        readme.page()


def test_every_page_of_docs_is_a_page_of_the_site(monkeypatch, tmp_path):
    """A text that somebody adds and nobody can find."""
    assert {page.path for page in command.documents()} == {f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")}
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/new.md").write_text("# New")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    assert [(page.path, page.part) for page in command.documents()] == [("docs/new.md", REFERENCE)]


@needs_the_extra
def test_every_claim_is_listed_below_a_link_to_its_place():
    """A claim that a lesson proves and nobody can look up."""
    page, = claims.pages()
    number = int(re.search(r"each of these (\d+)\s+claims", page.text)[1])
    assert number == page.text.count("\n- ✓ ") > 550
    listed = set(re.findall(r"^- ✓ (.+)$", page.text, re.M))
    for stem in lesson_stems():
        found = [says for cell, says in claims_in(read_lesson(stem)) if "yours" not in cell.tags]  # those are goals
        missing = [says for says in found if says.replace("_", " ") not in listed and says not in listed]
        assert missing == [], (stem, missing)
        assert f'<a href="lessons/{stem}.html' in page.text


@needs_the_extra
def test_sentences_in_circulation_are_listed_with_the_verdict_behind_a_click():
    """A false sentence that is listed as if the course said it; a verdict without its reason."""
    page, = claims.pages()
    folds = dict(re.findall(r"<details><summary>(.+?)</summary><p>(.+?)</p></details>", page.text))
    assert len(folds) == 16 and sum(says.startswith("It holds.") for says in folds.values()) == 8
    assert folds["The √d is there for numerical stability."].startswith("It does not hold as it stands. Subtracting")


def test_a_theme_that_has_changed_is_not_left_unmended():
    """Menus outside of every landmark again, after an update that nobody looked at."""
    switches = '<input type="checkbox" class="sidebar-toggle" id="a">\n<input type="checkbox" class="sidebar-toggle">\n'
    assert '<nav class="switches" aria-label="Menus"><input' in mending.mended(switches)
    assert mending.mended(switches + '<th class="head"><p></p></th>').endswith('<td class="head"></td>')
    with pytest.raises(ValueError, match="the theme's page.html has no two switches"):
        mending.mended("<main></main>")


def test_every_instrument_of_the_lessons_is_on_the_page_of_instruments():
    shown = set(re.findall(r'data-instrument="([\w-]+)"', instruments.page().text))
    assert shown == set(INSTRUMENTS)


@pytest.fixture(scope="module")
def catalogue():
    """{exercise: {name of a mistake in words: its entry}} of the whole catalogue, and its pages."""
    contents, *pages = misconceptions.pages(lessons.pages())
    parts = [part for page in pages for part in re.split(r"^## ", page.text, flags=re.M)[1:]]
    entries = {}
    for part in parts:
        head, *found = re.split(r"^### ", part, flags=re.M)
        entries[head.split("`")[1]] = {entry.split("\n")[0]: entry for entry in found}
        assert len(entries[head.split("`")[1]]) == len(found)
    return entries, contents, pages


@pytest.mark.parametrize("name", EXERCISES)
def test_every_mistake_is_in_the_catalogue_with_its_example(catalogue, name):
    """A mistake that nobody can look up; an entry that shows nothing."""
    entries, contents, _ = catalogue
    exercise = EXERCISES[name]
    assert list(entries[name]) == [m.name.replace("-", " ") for m in exercise.mistakes]
    for mistake, entry in zip(exercise.mistakes, entries[name].values(), strict=True):
        assert mistake.says.replace("`", "").replace("*", "") in text_of(entry).replace("*", "")
        rows = dict(re.findall(r"<dt>(.+?)</dt><dd>(.+?)</dd>", entry, re.S))
        assert rows["Example"].strip() and (rows.keys() >= {"Expected", "Got"} or "What failed" in rows), mistake
        assert rows.get("Expected") != rows.get("Got") or "What failed" in rows, mistake
        assert f".html#{misconceptions.anchor(exercise, mistake)}\"" in contents.text


def test_the_catalogue_hands_nobody_an_answer(catalogue):
    """A line of the answer in an error's words, beside an example, or in an edit that a click unfolds."""
    for name, entries in catalogue[0].items():
        assert "```" not in "".join(entries.values())
        seen = " ".join(text_of("".join(entries.values())).split())
        lines = {line.strip() for line in plain_source(EXERCISES[name].verified).splitlines()}
        lines = {line for line in lines if re.match(r"return |.* = ", line) and len(line) > 24}
        assert [line for line in lines if line in seen] == []


def test_an_entry_shows_what_the_card_shows(catalogue):
    """Other numbers in the catalogue than on the card of one who made the mistake."""
    exercise = EXERCISES["scaled_dot_product_attention_single"]
    mistake = next(m for m in exercise.mistakes if m.name == "no-scale")
    rows, card = misconceptions.example(exercise, mistake), check(mistake.answer, exercise.name).message
    assert [label for label, _ in rows] == ["Example", "Expected", "Got"]
    assert " ".join(f"{label} {text}" for label, text in rows).split() == re.search(
        r"Example query.*?(?= What failed)", " ".join(card.split()))[0].split()


@pytest.mark.parametrize("name", ["soft_max_pool", "layer_norm", "binary_positions"])
def test_no_smaller_question_would_show_a_mistake(name):
    """Forty numbers, where two would do."""
    exercise = EXERCISES[name]
    misconceptions.shown.cache_clear()  # that of other tests may hold questions which were made anew since
    misconceptions._from_the_smallest.cache_clear()
    for mistake in exercise.mistakes:
        chosen = misconceptions.shown(exercise, mistake).call
        failing = [c for c in questions(exercise) if compare(truth(exercise, c), ask(mistake.answer, c), c)]
        made_for_it = [c for c in failing if c in questions(exercise)[:len(exercise.examples)]]
        plain = [c for c in failing if not c.special] or failing
        assert chosen is made_for_it[0] if made_for_it else size(chosen) == min(map(size, plain))


def size(call):
    return sum(a.numel() for a in call.args if hasattr(a, "numel"))


def test_a_mistake_that_no_question_shows_is_refused():
    """An entry without an example."""
    exercise = EXERCISES["reweight"]
    none = Mistake("none", "Nothing.", exercise.verified, lambda: plain_source(exercise.verified))
    with pytest.raises(site.SiteError, match=r"^course_lib/checks/mistakes/02\.diff: reweight accepts none$"):
        misconceptions.shown(exercise, none)


def reweight(x):
    """Each row alone."""
    return x.clone()


def test_where_a_mistake_was_seen_is_linked_and_markdown_reads_nothing_into_it():
    """An address nobody can follow; a `*` of a formula that makes half an entry slanted."""
    exercise = EXERCISES["reweight"]
    found = Mistake("found", "It took a * b * c, and `x[*]`, *not* 2**d < 3.", exercise.verified,
                    lambda: plain_source(reweight), "https://example.org/issues/1?a=1&b=2")
    entry = misconceptions._entry(exercise, found)
    assert '<a href="https://example.org/issues/1?a=1&amp;b=2">example.org/issues/1?a=1&amp;b=2</a>' in entry
    assert "<p>It took a * b * c, and <code>x[*]</code>, <em>not</em> 2**d &lt; 3.</p>" in entry


def test_the_catalogue_s_headings_and_anchors_are_in_order(catalogue):
    """Two entries with one address; a heading that a screen reader jumps over."""
    _, contents, pages = catalogue
    for page in pages:
        exercises = [e for e in EXERCISES.values() if f"## `{e.name}`" in page.text]
        anchors = [e.name.replace("_", "-").lower() for e in exercises]
        anchors += [misconceptions.anchor(e, m) for e in exercises for m in e.mistakes]
        assert len(set(anchors)) == len(anchors)
    for page in (contents, *pages):
        levels = [len(marks) for marks in re.findall(r"^(#+) ", page.text, re.M)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@needs_the_extra
def test_the_catalogue_is_built_and_found(built):
    """Numbers that Markdown has read as something else; a catalogue that no menu names."""
    html = (built / "misconceptions/02_self_attention_untrained.html").read_text(encoding="utf-8")
    assert html.count("<dt>Example</dt>") == len(EXERCISES["reweight"].mistakes)
    assert 'href="misconceptions/index.html"' in (built / "index.html").read_text(encoding="utf-8")


def public_names(module):
    """What a module defines for others, by asking Python itself."""
    module = importlib.import_module(f"course_lib.{module}")
    return [name for name, thing in vars(module).items()
            if (inspect.isfunction(inspect.unwrap(thing)) or inspect.isclass(thing))  # unwrapped: behind a cache
            and thing.__module__ == module.__name__
            and not name.startswith("_") and name != "main"]


@pytest.mark.parametrize("module", api.MODULES)
def test_every_public_function_is_on_its_page(module):
    """A function that learners import and cannot look up."""
    text = api.page(module).text
    parts = [module, *(f"{module}.{part}" for part in api.PACKAGES.get(module, ()))]
    names = [name for part in parts for name in public_names(part)]
    headings = re.findall(r"^#{2,3} (\w+)$", text, re.M)
    assert names and sorted(headings) == sorted(names)
    for part in parts:
        for name in public_names(part):
            documentation = inspect.getdoc(getattr(importlib.import_module(f"course_lib.{part}"), name)) or ""
            if not documentation.startswith(name + "("):  # what dataclass writes is no docstring
                assert documentation.split("\n")[0] in text


def test_every_module_that_lessons_import_has_a_page():
    """A module that a new lesson uses and the pages do not know."""
    imported = set()
    for stem in lesson_stems():
        tree = ast.parse((ROOT / f"solutions/{stem}.py").read_text("utf-8"))
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module.startswith("course_lib")):
            names = [node.module] if node.module != "course_lib" else [f"course_lib.{a.name}" for a in node.names]
            imported |= {name.split(".")[1] for name in names}
    of_the_first_page = {"check", "claim", "intervene", "mine", "predict", "progress"}
    assert imported - of_the_first_page <= set(api.MODULES)


def test_an_exercise_leads_to_its_lesson():
    """A function of the same name elsewhere is no exercise: pretrained.minilm.load is not asked for."""
    text = api.page("masks").text
    assert text.count("Exercise of [lesson 07](../lessons/07_masks.ipynb)") == 3
    assert "Exercise of" not in api.page("display").text


def glossary():
    """The rows of the glossary (term, symbols, meaning, lesson), and where its lessons are."""
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|(.*?)\| (.+?) \| \[(\d\d[a-z]?|primer)\] \|$", text, re.M)
    assert len(rows) == text.count("\n| **")
    return rows, dict(re.findall(r"^\[(\d\d[a-z]?|primer)\]: (\S+)$", text, re.M))


def test_glossary_terms_are_sorted_and_unique_and_so_are_their_symbols():
    """Two names or two symbols for one idea."""
    rows, _ = glossary()
    terms = [term.lower() for term, *_ in rows]
    symbols = [symbol for _, signs, *_ in rows for symbol in re.findall("`(.+?)`", signs)]
    assert terms == sorted(set(terms)) and len(terms) >= 45
    assert len(symbols) == len(set(symbols))
    assert {"B", "T", "Tq", "Tk", "H", "D", "N", "M", "d_model", "num_heads", "d_head", "query", "key", "value",
            "scores", "weights", "mask"} <= set(symbols)


def test_glossary_links_lead_to_lessons_that_speak_of_the_term():
    """A term that leads to a lesson which does not exist, or does not mention it."""
    rows, addresses = glossary()
    assert set(addresses) == {number for *_, number in rows}
    for term, symbols, meaning, number in rows:
        lesson = (ROOT / "docs" / addresses[number]).resolve()
        assert lesson.exists() and lesson.name.startswith(number), addresses[number]
        text = (ROOT / "solutions" / lesson.name).with_suffix(".py").read_text(encoding="utf-8")
        found = [sign for sign in re.findall("`(.+?)`", symbols) if re.search(rf"\b{sign}\b", text)]
        text = re.sub(r"\n# *", " ", text).replace("_", " ").replace("*", "")
        found += re.findall(re.escape(term), text, re.I)
        assert found, f"lesson {number} does not speak of {term}"
        assert meaning.endswith(".") and meaning.count(". ") == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_pages_whose_sources_changed_are_named(tmp_path, monkeypatch):
    """A preview in which nobody finds what a pull request changes."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (tmp_path / "one.md").write_text("one")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    pages = [Page("docs/one.md", "", ("one.md",)), Page("docs/two.md", "", ("two.md",))]
    assert command.changed_since("HEAD", pages) == []
    (tmp_path / "one.md").write_text("changed")
    assert command.changed_since("HEAD", pages) == ["docs/one.html"]
    with pytest.raises(site.SiteError, match="git knows no commit nothing"):
        command.changed_since("nothing", pages)


def test_a_missing_package_is_one_sentence(monkeypatch, capsys):
    """A traceback that ends in ModuleNotFoundError."""
    monkeypatch.setattr(command, "NEEDED", ("a_package_nobody_has",))
    assert command.main([]) == 1
    said = capsys.readouterr().err
    assert "a_package_nobody_has" in said and "pip install -e '.[site]'" in said and said.count("\n") == 1


def test_the_workflow_may_publish_main_and_nothing_else():
    """A pull request of anybody that publishes, or a token that can write where it need not."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text(encoding="utf-8"))
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert workflow["permissions"] == {"contents": "read"} and "permissions" not in build
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert "github.ref == 'refs/heads/main'" in publish["if"] and publish["needs"] == "build"
    assert "pull_request_target" not in workflow[True]  # YAML reads `on` as True
    preview = next(step for step in build["steps"] if step.get("with", {}).get("name") == "preview")
    assert preview["if"] == "github.event_name == 'pull_request'"
    assert any("course_lib.staff.site" in step.get("run", "") for step in build["steps"])
