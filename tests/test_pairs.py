"""Files of sentence pairs, tidy and untidy, and the vocabulary over their words."""

from pathlib import Path

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.data.pairs import PairFile, words
from course_lib.data.vocabulary import BOS, EOS, PAD, UNKNOWN, Vocabulary

REAL = Path(__file__).parent / "data" / "tatoeba-eng-fra-3000.tsv"


def read(tmp_path, content, **how):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    file = PairFile(path, **how)
    return list(file), [str(p) for p in file.problems], file.lines


def test_every_line_of_an_untidy_file_is_a_pair_or_a_problem_with_its_number(tmp_path):
    """A reader that dies at line 40,000, or that leaves out lines and says nothing."""
    pairs, problems, lines = read(tmp_path, b"\n".join([
        b"Hello.\tBonjour.", b"", b"only one", b"caf\xe9\tcaf\xe9", b"a\tb\tc", b"\tempty", b"x\0\ty",
        b"one\tun\rtwo\tdeux", b"Good night.\tBonne nuit.\r", b" \t ", b"last\tdernier"]))
    assert pairs == [("Hello.", "Bonjour."), ("Good night.", "Bonne nuit."), ("last", "dernier")]
    assert [p.split(":")[0] for p in problems] == [f"line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 10)]
    assert "not UTF-8 from its byte 4 on" in problems[2] and "3 fields between tabs instead of 2" in problems[3]
    assert "field 1 is empty" in problems[4] and "UTF-16" in problems[5]
    assert lines == len(pairs) + len(problems)


def test_sentences_come_in_one_form(tmp_path):
    """Two words that look the same and are counted as two; a mark before the first word."""
    pairs, problems, _ = read(tmp_path, "\ufeffcafe\u0301\tQui\u202f?\u00a0Moi\n".encode())
    assert pairs == [("café", "Qui ? Moi")] and problems == []


def test_fields_beside_the_sentences_do_not_matter(tmp_path):
    """Tatoeba's own exports begin each sentence with its number; others end with an attribution."""
    assert read(tmp_path, b"7\tHi.\t8\tSalut.\n", columns=(1, 3))[0] == [("Hi.", "Salut.")]
    assert read(tmp_path, b"Hi.\tSalut.\tCC-BY\n", columns=(1, 0))[0] == [("Salut.", "Hi.")]
    pairs, problems, _ = read(tmp_path, b"Hi.\tSalut.\n", columns=(1, 3))
    assert pairs == [] and problems == ["line 1: 2 fields between tabs, and field 4 is wanted"]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_no_file_at_all_raises_an_error(tmp_path, content):
    """An exception in the middle of somebody's night of training."""
    pairs, problems, lines = read(tmp_path, content)
    assert lines == len(pairs) + len(problems) == content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def test_a_file_is_not_held_in_memory(tmp_path):
    """A reader that wants ten gigabytes before the first pair."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"one\tun\n" * 1000)
    file = PairFile(path)
    assert next(iter(file)) == ("one", "un") and file.lines == 1


def test_real_pairs_are_read_to_the_last():
    """A reader that was only ever tried on its author's sentences."""
    file = PairFile(REAL)
    pairs = list(file)
    assert len(pairs) == 3000 and [problem.line for problem in file.problems] == [1, 2, 3]  # the header: its licence
    assert all(words(side) and "".join(words(side)) == side.replace("’", "'").replace(" ", "")
               for pair in pairs for side in pair)


@given(st.text())
def test_no_character_gets_lost_between_words(sentence):
    """A currency sign or an accent that falls through the pattern."""
    assert "".join(words(sentence)) == "".join(sentence.replace("’", "'").split())


def test_french_words_are_cut_where_they_are_joined():
    """l'Afrique as one word that no other noun shares its l' with."""
    assert words("J’aime l'été !") == ["J'", "aime", "l'", "été", "!"]


def test_a_vocabulary_knows_its_words_and_says_when_it_does_not():
    """A word that shifts all the others; an unknown word that crashes, or that becomes padding."""
    vocabulary = Vocabulary([["b", "a"], ["a"]])
    assert vocabulary.words == ["<pad>", "<sos>", "<eos>", "<unk>", "a", "b"] and len(vocabulary) == 6
    ids = vocabulary.encode([["a", "c"], ["b", "a", "a"]])
    assert ids.tolist() == [[4, UNKNOWN, EOS, PAD], [5, 4, 4, EOS]]
    assert vocabulary.decode(ids[0]) == ["a", "<unk>"]
    assert vocabulary.decode(torch.tensor([BOS, 5, EOS, 4])) == ["b"]
    assert vocabulary.encode([["a"]], end=False).tolist() == [[4]]
    assert len(Vocabulary([["b", "a"], ["a"]], at_least=2)) == 5
    assert vocabulary.encode([]).shape == (0, 0) and vocabulary.encode([]).dtype == torch.int64
    assert Vocabulary([["<eos>"]]).encode([["<eos>"]])[0, 0] != EOS
