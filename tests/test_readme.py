"""The README: short, true, and of one address; what it shows is what the course does."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from PIL import Image

from course_lib.checks import EXERCISES, check
from course_lib.staff import readme_pictures
from course_lib.staff.lesson_text import lesson_stems, read_lesson
from course_lib.staff.site import claims
from course_lib.upkeep import versions

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EVERYWHERE = ["README.md", "CITATION.cff", "SECURITY.md", "pyproject.toml", "environment.yml", "course_lib/__main__.py",
              "course_lib/upkeep/versions.py", ".github/ISSUE_TEMPLATE/config.yml"]


def test_it_can_be_read_in_one_sitting():
    """26,000 characters, and the command to begin with nowhere in them."""
    assert len(README) <= 9000
    first_screen = README.split("## Begin")[0]
    for word in ("hours", "exercises", "Python", "no GPU", "docs/lesson.png", "docs/card.png", "primer"):
        assert word in first_screen


def test_the_commands_to_get_and_to_start_the_course_are_there():
    """A stranger who is told to go to "the folder of the course", and never how to get one."""
    source = PROJECT["urls"]["Source"]
    assert f"git clone {source}\ncd {source.rpartition('/')[2]}\npython3 start.py lab " in README
    assert f"({source}/archive/refs/heads/main.zip)" in README and f"({PROJECT['urls']['Documentation']})" in README
    assert "python3 start.py test " in README and "python3 start.py update " in README


def test_the_address_and_the_name_are_those_of_the_package():
    """A course that moved, and a link, a citation or a cell that stayed."""
    assert PROJECT["urls"]["Source"] == versions.SOURCE
    owner, repository = versions.SOURCE.removeprefix("https://github.com/").split("/")
    assert PROJECT["urls"]["Documentation"] == f"https://{owner}.github.io/{repository}/"
    addresses = re.compile(r"(?:github\.com/|githubusercontent\.com/|mybinder\.org/v2/gh/|codespaces\.new/|/github/)"
                           r"([\w.-]+/[\w.-]+?)(?:\.git)?(?=[/)#?\"'\s]|$)", re.M)
    for name in EVERYWHERE:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(addresses.findall(text)) <= {f"{owner}/{repository}"}, name
    assert "name: " + PROJECT["name"] in (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert f"pip install {PROJECT['name'].replace('-', '_')}-" in README


def test_badges_say_what_is_so():
    """A badge of a workflow that was renamed, of another licence, or of Pythons that are not tried."""
    badges = dict(re.findall(r"^\[!\[([^\]]+)\]\(([^)]+)\)\]", README, re.M))
    assert badges.keys() == {"CI", f"Code: {PROJECT['license']}", "Python 3.11 to 3.14"}
    assert badges["CI"] == f"{versions.SOURCE}/actions/workflows/ci.yml/badge.svg"
    assert (ROOT / ".github/workflows/ci.yml").exists()
    least, most = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    assert f"python-3.{least}_to_3.{int(most) - 1}-blue" in badges["Python 3.11 to 3.14"]


@pytest.mark.parametrize("name", readme_pictures.PICTURES)
def test_the_pictures_are_what_a_learner_sees(name):
    """A README that shows a card nobody gets, or a lesson of last year."""
    path, (_, says, _) = readme_pictures.picture(name), readme_pictures.PICTURES[name]
    command = f"python3 start.py python -m course_lib.staff.readme_pictures {name}"
    assert Image.open(path).text["shows"] == says(), f"run {command}"
    assert path.stat().st_size < 150_000 and f"(docs/{name}.png)" in README


def test_the_picture_of_a_card_says_what_the_check_says():
    """A picture of another card than the check's, which its own maker calls true."""
    answer = next(m for m in EXERCISES[readme_pictures.EXERCISE].mistakes if m.name == readme_pictures.MISTAKE).answer
    assert readme_pictures.said_on_the_card() == check(answer, readme_pictures.EXERCISE).message


def test_the_picture_of_a_card_can_be_made_anew(browser):
    """A command in CONTRIBUTING that no longer draws anything, or cuts the card off."""
    drawn = readme_pictures.drawn_card(browser)
    assert drawn.width == Image.open(readme_pictures.picture("card")).width == 1440 and 400 < drawn.height < 900


def test_without_a_browser_one_sentence_says_so(monkeypatch, capsys):
    """A traceback out of playwright."""
    monkeypatch.setattr(readme_pictures.shutil, "which", lambda name: None)
    assert readme_pictures.main(["card"]) == 1 and "install Chromium" in capsys.readouterr().err


def test_the_translation_is_one_that_the_lesson_made():
    """A result that nobody's model has written."""
    (shown,) = [block for block in README.split("```") if "→" in block]
    cells = json.loads((ROOT / "solutions/11_transformer.ipynb").read_text(encoding="utf-8"))["cells"]
    made = "".join("".join(output.get("text", "")) for cell in cells for output in cell.get("outputs", []))
    assert shown.removeprefix("text").strip() in made.split("\n")


def test_the_total_is_counted():
    """23.6 hours that stood nowhere, or a number that was typed; one here, another on the site and in the citation."""
    lessons = [read_lesson(stem) for stem in lesson_stems()]
    minutes = [int(m) for m in re.findall(r"^\| \[\d.* \| (\d+) \| \d+ \|$", README, re.M)]
    assert len(minutes) == len(lessons)
    total = (f"{len(lessons)} lessons, {len(EXERCISES)} exercises, about {round(sum(minutes) / 60)} hours; "
             f"{sum(len(e.mistakes) for e in EXERCISES.values()):,} mistakes with a name, ")
    assert f"**{total}" in README
    (said,) = re.findall(r"\*\*(\d+ lessons, .*)\*\*", README)
    assert said in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert int(re.search(r"(\d+) pictures", said)[1]) > 150


def test_as_many_claims_are_counted_as_the_site_lists():
    """613 claims here, and 611 there."""
    pytest.importorskip("docutils", reason="pip install -e '.[site]' brings what makes the page of claims")
    (count,) = re.findall(r"([0-9,]+) claims, each computed", README)
    assert f"these {count} claims" in claims.pages()[0].text


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/concepts.md"])
def test_links_lead_somewhere(name):
    """A page that moved, and a link that stayed."""
    path = ROOT / name
    targets = re.findall(r"\]\((?!https?://)([^)#\s]+)|src=\"(?!https?://)([^\"]+)", path.read_text(encoding="utf-8"))
    assert [target for pair in targets for target in pair if target and not (path.parent / target).exists()] == []
