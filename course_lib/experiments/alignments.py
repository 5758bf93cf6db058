"""Lesson 11b: where a translator looks, beside the links of the grammar, and what it says when a word is hidden.

Wherever `of` stands, it is a shipped.Translator, or something else with its model, french and english;
`pairs` are Pairs of small French.
"""

from typing import NamedTuple

import torch

from course_lib.attention import attention_patterns
from course_lib.data.small_french import gold, written
from course_lib.data.vocabulary import BOS, EOS, PAD
from course_lib.decoding import greedy_decode
from course_lib.targets import shift_right

LONGEST = 20


def _encoded(of, pairs):
    """French, English as labels, and as it is shown: (N, Ts), (N, Tt) twice."""
    src, labels = of.french.encode([pair.french for pair in pairs]), of.english.encode([pair.english for pair in pairs])
    return src, labels, shift_right(labels, BOS)


def of_sentence(of, french, english):
    """The last decoder layer's cross-attention, the mean of its heads: (Tt, Ts); both sentences are lists of words."""
    src, shown = of.french.encode([french]), shift_right(of.english.encode([english]), BOS)
    return attention_patterns(of.model, src, shown)["decoder.1.cross_attn"][0].mean(0)


def right_links(of, pairs):
    """How often the French word that is pointed at says the same as the English one, for three ways to point."""
    src, labels, shown = _encoded(of, pairs)
    patterns = attention_patterns(of.model, src, shown)
    links = gold(pairs, (labels.shape[1], src.shape[1]))
    is_a_word = links.any(-1)
    same = torch.arange(labels.shape[1]).clamp(max=src.shape[1] - 1).expand(labels.shape)
    points = {"same place": same} | {name: patterns[f"decoder.{n}.cross_attn"].mean(1).argmax(-1)
                                     for n, name in enumerate(("layer below", "last layer"))}
    return {name: ((links.gather(-1, at[..., None])[..., 0] & is_a_word).sum() / is_a_word.sum()).item()
            for name, at in points.items()}


@torch.no_grad()
def changes_when_hidden(of, pairs, seed=0):
    """How often another word is said when a French one is hidden: the one with the most weight, or any other one.

    The right English words are shown. Hidden is what is padding.
    """
    src, labels, shown = _encoded(of, pairs)
    weights = attention_patterns(of.model, src, shown)["decoder.1.cross_attn"].mean(1)  # (N, Tt, Ts)
    said, is_a_word = of.model(src, shown).argmax(-1), gold(pairs, weights.shape[1:]).any(-1)
    chance, rows, changed = torch.Generator().manual_seed(seed), torch.arange(len(src)), {}
    for name in ("most weight", "any other"):
        found = []
        for t in range(labels.shape[1]):
            at = weights[:, t].argmax(-1)
            if name == "any other":
                others = ((src != PAD) & (src != EOS)).float()
                others[rows, at] = 0
                at = torch.multinomial(others, 1, generator=chance)[:, 0]
            without = src.clone()
            without[rows, at] = PAD
            found.append((of.model(without, shown)[:, t].argmax(-1) != said[:, t])[is_a_word[:, t]])
        changed[name] = torch.cat(found).float().mean().item()
    return changed


class Hidden(NamedTuple):
    """A word that was hidden: the largest weight that it had, what is said with it and what is said without it."""

    most: float
    whole: str
    without: str

    @property
    def changed(self):
        return self.whole != self.without

    def __str__(self):
        return f"its largest weight is {self.most:.2f}; with it: {self.whole}; without it: {self.without}"


def hide(of, sentence, word):
    """Hide a word of a French sentence (where it first occurs)."""
    words = of.words(sentence)
    (found,) = [hidden for name, hidden in _hide_all(of, words, [words.index(word)])]
    return found


def hide_each(of, words):
    """Hide each word in turn: (word, its largest weight, what is said without it)."""
    return [(word, hidden.most, hidden.without) for word, hidden in _hide_all(of, words, range(len(words)))]


@torch.no_grad()
def _hide_all(of, words, places):
    src, whole = of.french.encode([words]), of.translate(written(words))
    weights = of_sentence(of, words, whole.split())
    for j in places:
        without = src.clone()
        without[0, j] = PAD
        says = written(of.english.decode(greedy_decode(of.model, without, BOS, EOS, LONGEST)[0]))
        yield words[j], Hidden(weights[:, j].max().item(), whole, says)


@torch.no_grad()
def forced_and_free(of, pairs, greedy=greedy_decode):
    """The share of words that are right with the right ones shown, and how many sentences end when it writes alone."""
    src, labels, shown = _encoded(of, pairs)
    hits = (of.model(src, shown).argmax(-1) == labels)[labels != PAD]
    return hits.float().mean().item(), (greedy(of.model, src, BOS, EOS, LONGEST) == EOS).any(1).sum().item()
