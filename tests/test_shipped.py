"""What ships with the course is small, whole, as it was written, and does what it is there for."""

import sys

import pytest
import torch

from course_lib import shipped
from course_lib.data.small_french import JANE, splits, written
from course_lib.experiments.digits import accuracy, halves
from course_lib.experiments.language import bits_by_reading, manual
from course_lib.shipped import make, things
from course_lib.transformer import Transformer
from course_lib.vision import ViT


def test_all_of_it_is_small_and_says_where_it_comes_from():
    """Megabytes in every clone, or weights of which nobody knows a licence."""
    rows = things.rows()
    assert {row["name"] for row in rows} == set(make.MAKERS)
    assert set(things.FOLDER.iterdir()) == {things.path_of(name) for name in make.MAKERS}
    assert sum(int(row["bytes"]) for row in rows) < 6e6
    for row in rows:
        assert things.path_of(row["name"]).stat().st_size == int(row["bytes"])
        assert row["licence"] in ("MIT", "Apache-2.0", "CC BY 4.0", "PSF-2.0") and row["source"]
        assert row["made_by"] == f"python -m course_lib.shipped.make {row['name']}"


@pytest.mark.skipif(sys.version_info[:3] != (3, 11, 7), reason="another Python brings another manual along")
def test_the_manual_is_the_one_that_python_brings_along():
    """A text that somebody has edited."""
    _, texts, _, source = make.manual()
    assert {part: texts[part] for part in ("train", "validation", "test")} == shipped.manual()
    assert "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2" in texts["licence"]
    assert next(row["source"] for row in things.rows() if row["name"] == "manual.bz2") == source


def test_no_paragraph_of_the_manual_s_test_text_is_in_another():
    """A model that is asked what it has read before."""
    train, validation, test = (set(text.split("\n\n")) for text in shipped.manual().values())
    assert test and not test & (train | validation)


def test_the_translator_translates_what_it_was_not_trained_on():
    """Weights that were stored too coarsely, or of another vocabulary."""
    of = shipped.translator()
    assert of.translate("Jane visite l'Afrique en septembre.") == written(JANE[1])
    fresh = splits()["fresh"][:60]
    assert all(of.words(written(pair.french)) == list(pair.french) for pair in fresh)
    assert sum(of.translate(written(pair.french)) == written(pair.english) for pair in fresh) >= 57
    assert of.words("Les chats") == ["les", "chats"]


@pytest.mark.parametrize(("sentence", "says"), [
    ("Bonjour le monde", "never learned Bonjour, monde;"), ("", "no word to translate"), (" . ", "no word")])
def test_a_sentence_that_it_cannot_read_is_one_line(sentence, says):
    """An <unk> in the middle of a translation, or a traceback."""
    with pytest.raises(shipped.ShippedError) as error:
        shipped.translator().translate(sentence)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_the_language_model_reads_and_writes_its_own_tokens():
    """Weights that fit, and byte pairs of another training: it would read noise."""
    of = shipped.language_model()
    text = manual().test[:20_000]
    assert of.decode(of.encode(text)) == text
    assert of.decode(of.encode("naïve")) == "na?ve"
    bits = bits_by_reading(of.model, of.encode(text), 512, 32) / len(text)
    assert bits < 2.6, "a model that has learned nothing pays about 5 bits for a character"


def test_the_vision_transformer_reads_digits_that_it_has_not_seen():
    """Weights of another standardisation."""
    assert accuracy(shipped.vision_transformer(), *halves(0)[1]) > 0.97


def test_a_learner_s_own_class_takes_the_weights_and_another_one_is_told_why_not():
    """A RuntimeError of forty lines."""
    class Own(ViT):
        pass

    assert isinstance(shipped.vision_transformer(Own), Own)

    class Other(Transformer):
        def __init__(self, *sizes, **named):
            super().__init__(*sizes, **named)
            self.extra = torch.nn.Linear(1, 1)

    with pytest.raises(shipped.ShippedError, match="do not fit into your Other.*extra") as error:
        shipped.translator(Other)
    assert "\n" not in str(error.value)


def test_word_vectors_are_those_of_a_real_model():
    """Vectors in another order than their words."""
    assert len(shipped.word_vectors()) > 500
    assert shipped.nearest("king")[0][0] == "queen" and shipped.nearest("tea")[0][0] == "coffee"
    assert {"radio", "train"} <= {word for word, _ in shipped.nearest("station", 3)}
    king, queen = shipped.word_vectors(["king", "queen"]).values()
    assert king.shape == (384,) and king.dtype == torch.float32
    king.zero_()
    assert shipped.word_vectors(["king"])["king"].norm() > 0, "a copy"
    with pytest.raises(shipped.ShippedError, match="no vectors of kinng, 3:"):
        shipped.word_vectors(["kinng", "king", 3])


def test_the_photographs_are_colours_from_0_to_1():
    """Numbers to 255, or channels at the end."""
    for picture in shipped.photographs().values():
        assert picture.shape == (3, 427, 640) and 0 <= picture.min() < 0.1 and 0.9 < picture.max() <= 1


def test_the_looks_at_the_photographs_are_shares_of_whole_pictures():
    """A row of another token, a rollout of other layers, or a photo that is not the one it was computed of."""
    looks = shipped.photo_looks()
    for name, photo in shipped.photographs().items():
        assert torch.equal(looks.images[name], shipped.squared([photo])[0]) and photo.shape[1:] == (427, 640)
        heads, rollouts = looks.heads[name], looks.rollouts[name]
        assert heads.shape == (12, 6, 257) and rollouts.shape == (12, 257)
        for rows in (heads, rollouts, looks.above[name]):
            assert torch.allclose(rows.sum(-1), torch.ones(()), atol=5e-3) and rows.min() >= 0
        mean = heads[0].mean(0)  # after one layer the rollout is half of it, and half of the class token itself
        assert torch.allclose(rollouts[0, 1:], mean[1:] / 2, atol=1e-3)
        assert torch.allclose(rollouts[0, 0], mean[0] / 2 + 0.5, atol=1e-3)


def test_every_question_of_the_search_belongs_to_a_lesson_that_has_paragraphs():
    """Questions that no paragraph could answer, or a copy of which half was lost."""
    found, asked = shipped.paragraphs()
    lessons = {f"{n:02}" for n in range(1, 11)}
    assert {number for number, _ in found} == lessons == {number for _, number in asked}
    assert len(found) > 400 and len(asked) > 150 and min(len(text) for _, text in found) >= 120


def test_what_is_not_as_it_was_written_is_never_used(tmp_path, monkeypatch):
    """Half a file, or no file, as numbers of a model."""
    monkeypatch.setattr(things, "FOLDER", tmp_path)
    for content, says in ((None, "cannot be read"), (b"PK", "not as it was written")):
        if content:
            (tmp_path / "translator.npz").write_bytes(content)
        with pytest.raises(shipped.ShippedError, match=says) as error:
            shipped.translator()
        assert "get a fresh copy of the course" in str(error.value)
    with pytest.raises(shipped.ShippedError, match="nothing named 'x' ships"):
        things.read("x")


def test_a_thing_is_written_and_read_again(tmp_path, monkeypatch, capsys):
    """A list that loses a line, or a command that ends in a traceback."""
    monkeypatch.setattr(things, "FOLDER", tmp_path / "files")
    monkeypatch.setattr(things, "LIST", tmp_path / "things.tsv")
    said = dict(licence="MIT", source="here", made_by="hand")
    things.write("b", {"w": torch.tensor([[1.5, 2]]).numpy()}, {"words": ["ä"]}, **said)
    things.write("a", {}, {}, **said)
    assert [row["name"] for row in things.rows()] == ["a", "b"]
    arrays, texts = things.read("b")
    assert arrays["w"].tolist() == [[1.5, 2]] and texts == {"words": ["ä"]}
    assert make.main(["no-such-thing"]) == 1 and "no-such-thing" in capsys.readouterr().err
    monkeypatch.setattr(make, "fetch", lambda name: (_ for _ in ()).throw(make.Missing("no network")))
    assert make.main(["word-vectors"]) == 1 and "cannot be made: no network" in capsys.readouterr().err
