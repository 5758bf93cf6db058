"""Word vectors of a few hundred common words, taken out of a real trained model."""

from functools import cache

import torch

from course_lib.shipped.things import ShippedError, read


@cache
def _table():
    arrays, texts = read("word-vectors")
    return texts["words"], torch.from_numpy(arrays["vectors"])


def word_vectors(words=None):
    """What a real model has learned of words, before any sentence is read: the rows of MiniLM's table of embeddings.

    words:   a list of words; None: all there are
    returns: dict, word: (384,) float32
    raises:  ShippedError, with the words that are not there
    """
    known, vectors = _table()
    place = {word: i for i, word in enumerate(known)}
    wanted = known if words is None else list(words)
    missing = [word for word in wanted if word not in place]
    if missing:
        raise ShippedError(f"there are no vectors of {', '.join(map(str, missing))}: {len(known)} common words have "
                           "one, and list(word_vectors()) names them")
    return {word: vectors[place[word]].clone() for word in wanted}


def nearest(word, how_many=5):
    """The words whose vectors have the largest cosine similarity with that of a word: [(word, cosine)]."""
    (query,) = word_vectors([word]).values()
    known, vectors = _table()
    cosine = torch.cosine_similarity(vectors, query[None])  # (N,)
    order = [i for i in cosine.argsort(descending=True).tolist() if known[i] != word]
    return [(known[i], round(cosine[i].item(), 3)) for i in order[:how_many]]
