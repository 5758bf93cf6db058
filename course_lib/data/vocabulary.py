"""A vocabulary: words to numbers and back."""

import torch

PAD, BOS, EOS, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<sos>", "<eos>", "<unk>")


class Vocabulary:
    """Every word of some sentences, numbered; the first four numbers do not belong to words.

    sentences: an iterable of lists of words; words that occur in them fewer than `at_least` times are left out
    """

    def __init__(self, sentences, at_least=1):
        counts = {}
        for sentence in sentences:
            for word in sentence:
                counts[word] = counts.get(word, 0) + 1
        self.words = [*SPECIAL, *sorted(w for w, n in counts.items() if n >= at_least and w not in SPECIAL)]
        self.ids = {word: i for i, word in enumerate(self.words) if i > UNKNOWN}

    def __len__(self):
        return len(self.words)

    def encode(self, sentences, end=True):
        """Sentences as one tensor of numbers, filled up on the right.

        sentences: B lists of words; a word that has no number becomes UNKNOWN
        end:       put EOS after the last word of each
        returns:   (B, T) integers, T the length of the longest
        """
        rows = [[self.ids.get(word, UNKNOWN) for word in s] + [EOS] * end for s in sentences]
        longest = max((len(row) for row in rows), default=0)
        full = [row + [PAD] * (longest - len(row)) for row in rows]
        return torch.tensor(full, dtype=torch.int64).reshape(len(rows), longest)

    def decode(self, ids):
        """The words of one sentence, without <sos> and padding, and without all that stands behind its end.

        ids:     (T,) integers, or a list of them
        returns: list of words
        """
        words = []
        for i in map(int, ids):
            if i == EOS:
                break
            if i not in (PAD, BOS):
                words.append(self.words[i])
        return words
