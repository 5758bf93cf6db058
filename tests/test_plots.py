"""The pictures carry their words, and notebooks carry no widgets."""

import torch

from course_lib import plots


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
