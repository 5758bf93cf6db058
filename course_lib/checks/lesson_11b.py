"""Lesson 11b, beam search: judged by a loop over lists."""

import torch

from course_lib import decoding
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise


class Table:
    """A step_fn that looks at the last token only: its logits stand in a table."""

    def __init__(self, **logits):
        self.logits = {int(token[1:]): row for token, row in logits.items()}

    def __repr__(self):
        return "a table: " + "; ".join(f"after {token} the logits are {row}" for token, row in self.logits.items())

    def __call__(self, prefixes):
        return torch.tensor([self.logits[token] for token in prefixes[:, -1].tolist()])


class Guesser:
    """A step_fn whose logits follow from the whole prefix; eos (2) gets more probable as it grows."""

    def __init__(self, vocab, seed, eager=0.0):
        self.vocab, self.seed, self.eager = vocab, seed, eager

    def __repr__(self):
        return f"a step_fn with {self.vocab} words, whose logits depend on the whole prefix"

    def __call__(self, prefixes):
        places = torch.arange(1, prefixes.shape[1] + 1)
        read = (places * (prefixes + 1) ** 2).sum(1, keepdim=True) + self.seed  # (K, 1)
        word = torch.arange(self.vocab)
        logits = 2 * torch.cos(1.3 * read * (word + 1) + 0.7 * word**2) + 3  # (K, V), around 3: no log-probabilities
        return logits + self.eager * (word == 2) * prefixes.shape[1]


def beam_by_loop(step_fn, bos_id, eos_id, beam_size, max_len):
    """Lists and sums of Python numbers: nothing is done at once."""
    beam, finished = [(0.0, [bos_id])], []
    while beam and len(beam[0][1]) < max_len:
        candidates = []
        for score, tokens in beam:
            logits = step_fn(torch.tensor([tokens]))[0].double()
            for token, log_p in enumerate((logits - logits.logsumexp(0)).tolist()):
                candidates.append((score + log_p, [*tokens, token]))
        beam = []
        for score, tokens in sorted(candidates, reverse=True)[:beam_size]:
            (finished if tokens[-1] == eos_id else beam).append((score, tokens))
    score, tokens = max(finished + beam)
    return tokens, score


# After <bos>, 3 looks better than 4; but what follows 3 is a guess between three, and 4 is surely the last word.
BEAM_EXAMPLES = ((Table(_1=[-9.0, -9.0, -9.0, 0.5, 0.0], _3=[-9.0, -9.0, 1.0, 1.2, 1.1], _4=[-9.0, -9.0, 9.0, 1.0, 0.0],
                        _0=[0.0] * 5, _2=[0.0] * 5), 1, 2, 2, 4),)


def make_beam(generator, vocab, beam_size, max_len, eager=0.0):
    return Guesser(vocab, int(torch.randint(1000, (), generator=generator)), eager), 1, 2, beam_size, max_len


# vocab, seed, eager, beam_size, max_len: searches that were looked for, so that any two mistakes differ in two of them
TELLING = ((8, 943, 0.0, 3, 6), (8, 537, 0.3, 2, 6), (5, 19, 0.0, 3, 3), (4, 768, 1.0, 3, 3), (5, 652, 1.0, 3, 6),
           (4, 143, 0.6, 2, 6), (8, 115, 0.0, 2, 6), (4, 418, 0.3, 4, 5), (8, 752, 0.0, 2, 8), (8, 247, 0.2, 6, 5),
           (8, 288, 0.0, 2, 4), (6, 621, 0.3, 6, 5))


def more_beams(generator):
    return [*(Call((Guesser(*guesser), 1, 2, beam_size, max_len)) for *guesser, beam_size, max_len in TELLING),
            Call((Guesser(5, 3), 1, 2, 3, 1), "room for bos only"),
            Call((Guesser(4, 5), 1, 2, 40, 4), "a beam wider than all there is"),
            Call((Guesser(6, 7), 4, 0, 2, 5), "other numbers for bos and eos")]


EXERCISES = (
    Exercise(
        lesson="11b",
        asked="(tokens, score): the finished hypothesis with the largest sum of log-probabilities; each step keeps "
        "the `beam_size` best of all candidates, and those that end with `eos_id` leave the beam; those cut at "
        "`max_len` tokens, bos included, count as finished.",
        verified=decoding.beam_search,
        oracle=beam_by_loop,
        examples=BEAM_EXAMPLES,
        sizes=((5, 2, 6), (7, 3, 4), (6, 1, 6, 0.3), (4, 4, 4), (3, 2, 2)),
        make=make_beam,
        grows=(0, 2),  # no more candidates survive than there are
        calls=more_beams,
    ),
)
