"""The small French: its grammar, its links, and what it never shows in training."""

import random
import re
import subprocess
import sys

import pytest

from course_lib.data import small_french
from course_lib.data.small_french import JANE, NEVER_NEGATED, gold, never_together, sentences, splits, written

DRAWN = sentences(20_000, "a test")


@pytest.fixture(scope="module")
def parts():
    return splits(3000, 200)


def test_the_same_seed_draws_the_same_sentences_in_every_process():
    """A set or a hash that decides the order: numbers that nobody can reproduce."""
    code = "from course_lib.data.small_french import *; print(hash(str([str(p) for p in sentences(50, 3)]) == '') " \
           "or written([w for p in sentences(50, 3) for w in p.english]), sorted(never_together()))"
    outputs = {subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, text=True,
                              encoding="utf-8", check=True).stdout for _ in range(2)}
    assert len(outputs) == 1
    assert [p.french for p in sentences(50, 3)] != [p.french for p in sentences(50, 4)]


def test_one_french_sentence_has_one_translation():
    """An exact match that nobody can reach."""
    english = {}
    for pair in DRAWN:
        assert english.setdefault(pair.french, pair.english) == pair.english


@pytest.mark.parametrize(("french", "english"), [
    ("un bel arbre", "a beautiful tree"), ("une belle fleur", "a beautiful flower"),
    ("le vieil hôtel", "the old hotel"), ("vieux hôtels", "old hotels"), ("cet oiseau", "this bird"),
    ("l'île", "the island"), ("une carte utile", "a useful map"), ("un oiseau", "a bird"), ("une pomme", "an apple"),
    ("une voiture blanche", "a white car"), ("de petites maisons", "small houses"), ("des chevaux", "horses"),
    ("au Japon", "in Japan"), ("n'a pas", "did not"), ("le matin", "in the morning"),
])
def test_words_agree_and_meet_as_they_should(french, english):
    """A French nobody speaks, or an English."""
    assert any(f" {french} " in f" {written(p.french)} " and f" {english} " in f" {written(p.english)} " for p in DRAWN)


def test_no_vowel_meets_another_across_an_article():
    """le arbre, ne aime, que il, a apple."""
    for pair in DRAWN:
        french, english = " ".join(pair.french), " ".join(pair.english)
        assert not re.search(r"\b(le|la|ne|de|que|ce|beau|nouveau|(un|le|ce) vieux) [aeiouhéèêâîAEIOÉ]", french), french
        assert not re.search(r"[ldn]' [^aeiouhéèêâîAEIOÉ]", french), french
        assert not re.search(r"\ba [aeioAEIO]", english) and not re.search(r"\ban [^aeiohE]", english), english


def test_auxiliaries_stand_where_english_wants_them():
    """does visits, did saw, a question without do, a negation without not."""
    for pair in DRAWN:
        has_do = {"do", "does", "did"} & set(pair.english)
        assert bool(has_do) == (pair.negated or "?" in pair.english), pair
        assert pair.negated == ("not" in pair.english) == ("pas" in pair.french)


def test_links_join_words_that_say_the_same():
    """A gold alignment that is shifted by a word."""
    says = {"Afrique": {"Africa"}, "pas": {"not", "do", "does", "did"}, "maison": {"house"}, "rouge": {"red"},
            "septembre": {"September"}, "visité": {"visited", "visit"}, "?": {"?"}, "quand": {"when"},
            "Jane": {"Jane"}, "grands": {"big"}, "matin": {"in", "the", "morning"}}
    met = set()
    for pair in DRAWN:
        for t, s in pair.links:
            if pair.french[s] in says:
                met.add(pair.french[s])
                assert pair.english[t] in says[pair.french[s]], pair
        assert {t for t, _ in pair.links} == set(range(len(pair.english))), pair
    assert met == set(says)


def test_gold_lies_beside_cross_attention():
    """Axes the wrong way round."""
    pair = DRAWN[0]
    links = gold([pair], (20, 30))
    assert links.shape == (1, 20, 30) and {tuple(i) for i in links[0].nonzero().tolist()} == pair.links


def test_what_is_held_out_is_held_out(parts):
    """A test that training has seen."""
    held_out = never_together()
    for pair in parts["train"] + parts["fresh"]:
        assert not pair.described & held_out and not (pair.negated and pair.verb in NEVER_NEGATED)
    assert all(p.described & held_out for p in parts["new pairs"])
    assert all(p.negated and p.verb in NEVER_NEGATED and not p.described & held_out for p in parts["new negations"])
    seen = [p.french for part in parts.values() for p in part]
    assert len(seen) == len(set(seen)) == 3000 + 3 * 200 and tuple(JANE[0]) not in seen


def test_every_held_out_word_is_known_by_itself(parts):
    """A pair never seen together would prove nothing if one of its words had never been seen at all."""
    known = {word for p in splits()["train"] for word in p.french}
    tested = {word for part in ("fresh", "new pairs", "new negations") for p in parts[part] for word in p.french}
    assert tested <= known and set(JANE[0]) <= known


def test_what_is_held_out_does_not_depend_on_the_seed():
    """Five seeds that are five different tasks."""
    assert never_together() == never_together() and len(never_together()) >= 20
    assert never_together().isdisjoint(d for p in splits(500, 1, seed=9)["train"] for d in p.described)


def test_jane_speaks_this_french(monkeypatch):
    """A sentence that is held out because the grammar could not make it."""
    monkeypatch.setattr(small_french, "NAMES", ("Jane",))
    monkeypatch.setattr(small_french, "VERBS", {"visiter": small_french.VERBS["visiter"]})
    monkeypatch.setattr(small_french, "PLACES", {"Afrique": small_french.PLACES["Afrique"]})
    monkeypatch.setattr(small_french, "TIMES", ("en septembre: in September",))
    chance = random.Random(0)
    said = {(p.french, p.english) for p in (small_french._sentence(chance, to_people=False) for _ in range(2000))}
    assert (tuple(JANE[0]), tuple(JANE[1])) in said
