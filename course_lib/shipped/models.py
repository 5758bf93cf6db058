"""The course's own three small models at the end of their trainings, for the course's classes or a learner's."""

import re
from typing import NamedTuple

import torch
from torch import nn

from course_lib.data.byte_pairs import LETTERS, numbers, written_in
from course_lib.data.small_french import written
from course_lib.data.vocabulary import BOS, EOS, SPECIAL, UNKNOWN, Vocabulary
from course_lib.decoding import greedy_decode
from course_lib.language_model import LanguageModel
from course_lib.shipped.things import ShippedError, read
from course_lib.transformer import Transformer
from course_lib.vision import ViT

TRANSLATOR = dict(d_model=128, num_heads=4, d_ff=256, num_layers=2)
WRITER = dict(d_model=192, num_heads=4, d_ff=768, num_layers=2)
READER = dict(image_size=8, patch_size=2, in_channels=1, num_classes=10, d_model=96, num_heads=4, d_ff=192,
              num_layers=2)
APART = re.compile(r"\b([ldnjmtscLDNJMTSC]|[Qq]u)['’]\s*|(\w+(?:-\w+)*)|([^\w\s])")


class Translator(NamedTuple):
    """The translator of lesson 11: small French, a made-up language of a few hundred words, to English."""

    model: nn.Module
    french: Vocabulary
    english: Vocabulary

    def words(self, sentence):
        """A sentence as its words, as the training has them: "l'Afrique" is "l'" and "Afrique".

        raises: ShippedError, with all words that were never learned
        """
        found = [(f"{elided}'" if elided else word or sign) for elided, word, sign in APART.findall(sentence)]
        words = [word if word in self.french.ids else word.lower() if word.lower() in self.french.ids else word
                 for word in found if word != "."]
        unknown = [word for word in words if word not in self.french.ids]
        if unknown or not words:
            said = f"it has never learned {', '.join(unknown)}" if unknown else "there is no word to translate"
            raise ShippedError(f"{said}; it knows {len(self.french.ids)} words, such as "
                               f"{', '.join(list(self.french.ids)[40:240:40])} (.french.ids holds them all)")
        return words

    def translate(self, sentence, longest=20):
        """A French sentence in English; raises ShippedError for words that it does not know."""
        source = self.french.encode([self.words(sentence)])
        return written(self.english.decode(greedy_decode(self.model, source, BOS, EOS, longest)[0]))


class Writer(NamedTuple):
    """The grown language model of lesson 12b, which has read Python's manual and docstrings by byte pairs."""

    model: nn.Module
    pairs: list

    def encode(self, text):
        """A text as token numbers (T,); a character that is not among its letters becomes a question mark."""
        return numbers(written_in(self.pairs, "".join(c if c in LETTERS else "?" for c in text)))

    def decode(self, ids):
        """Token numbers, a list or (T,), as text."""
        text = "".join(map(chr, map(int, ids)))
        for new in reversed(range(len(LETTERS), len(LETTERS) + len(self.pairs))):
            text = text.replace(chr(new), self.pairs[new - len(LETTERS)])
        return "".join(LETTERS[ord(c)] for c in text)


def translator(model=Transformer):
    """The trained translator. model: the class to put the weights into, the course's or your own."""
    weights, texts = read("translator")
    french, english = (_vocabulary(texts[side]) for side in ("french", "english"))
    return Translator(_filled(model(len(french), len(english), **TRANSLATOR), weights), french, english)


def language_model(model=LanguageModel):
    """The trained language model. model: the class to put the weights into, the course's or your own."""
    weights, texts = read("language-model")
    pairs = ["".join(map(chr, pair)) for pair in texts["pairs"]]
    return Writer(_filled(model(len(LETTERS) + len(pairs), **WRITER), weights), pairs)


def vision_transformer(model=ViT):
    """The trained reader of digits, 8 × 8 pixels of mean 0 and standard deviation 1 (lesson 13), in eval mode.

    model: the class to put the weights into, the course's or your own
    """
    return _filled(model(**READER), read("vision-transformer")[0])


def _filled(model, weights):
    """The model with these weights, in eval mode; one whose parts have other names or shapes is refused."""
    try:
        model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
    except RuntimeError as error:
        raise ShippedError(f"the weights do not fit into your {type(model).__name__}: its parts have other names or "
                           f"shapes ({str(error).splitlines()[1].strip()})") from None
    return model.eval()


def _vocabulary(words):
    """A Vocabulary of words in the order of their numbers."""
    made = Vocabulary([])
    made.words = [*SPECIAL, *words]
    made.ids = {word: i for i, word in enumerate(made.words) if i > UNKNOWN}
    return made
