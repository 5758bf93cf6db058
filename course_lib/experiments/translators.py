"""Lesson 11: its translator, stopped early, while it still makes mistakes."""

import itertools

import torch
from torch import nn

from course_lib.data.small_french import splits
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary
from course_lib.decoding import beam_search, greedy_decode
from course_lib.experiments.plan import Plan, grid
from course_lib.targets import masked_cross_entropy, shift_right
from course_lib.training import fit, shuffled
from course_lib.transformer import Transformer

EARLY, STEPS = 150, 624


class Translator:
    """The lesson's model, its two vocabularies and its training."""

    def __init__(self, seed):
        self.parts = splits()
        train = self.parts["train"]
        self.french, self.english = (Vocabulary(getattr(pair, of) for pair in train) for of in ("french", "english"))
        torch.manual_seed(seed)
        self.model = Transformer(len(self.french), len(self.english), 128, 4, 256, 2, dropout=0.1)
        for parameter in self.model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        batches = shuffled(*self.encoded(train), batch_size=64, epochs=2, seed=seed)
        self.batches, self.seed = batches, seed
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, 2e-3, total_steps=STEPS, pct_start=0.1, anneal_strategy="linear", cycle_momentum=False)

    def encoded(self, pairs):
        """Both sides of pairs as token numbers: (N, Ts) and (N, Tt)."""
        return self.french.encode([pair.french for pair in pairs]), self.english.encode(
            [pair.english for pair in pairs])

    def train(self, steps):
        """Train for as many steps."""
        def loss(model, src, labels):
            src, labels = (ids[:, : (ids != PAD).sum(1).max()] for ids in (src, labels))
            return masked_cross_entropy(model(src, shift_right(labels, BOS)), labels)

        fit(self.model, loss, itertools.islice(self.batches, steps), self.optimizer, self.schedule, seed=self.seed)
        self.model.eval()

    def right(self, pairs):
        """How many pairs greedy decoding translates without a mistake."""
        ids = greedy_decode(self.model, self.encoded(pairs)[0], BOS, EOS, 20)
        return sum(self.english.decode(ys) == list(pair.english) for ys, pair in zip(ids, pairs, strict=True))

    def right_by_beam(self, pairs, size=4):
        """How many pairs a beam translates without a mistake."""
        right = 0
        for pair in pairs:
            source = self.french.encode([pair.french])
            ys, _ = beam_search(lambda ys, source=source: self.model(source.expand(len(ys), -1), ys)[:, -1],
                                BOS, EOS, size, 20)
            right += self.english.decode(ys) == list(pair.english)
        return right

    def right_after_a_mistake(self, pairs):
        """How often the next word is the right one, just after the first place that the model gets wrong:
        shown the right word there, and shown its own; and how many such places there are."""
        src, labels = self.encoded(pairs)
        says = self.model(src, shift_right(labels, BOS)).argmax(-1)  # (N, Tt)
        wrong = (says != labels) & (labels != PAD)
        rows, first = wrong.any(1).nonzero()[:, 0], wrong.float().argmax(1)
        keep = (labels[rows, first[rows]] != EOS) & (says[rows, first[rows]] != EOS)  # neither ends here
        rows = rows[keep]
        first, own = first[rows], labels.clone()
        own[rows, first] = says[rows, first]
        says_then = self.model(src, shift_right(own, BOS)).argmax(-1)
        wanted = labels[rows, first + 1]
        return {"places after a mistake": len(rows),
                "right word shown": (says[rows, first + 1] == wanted).float().mean().item(),
                "own word shown": (says_then[rows, first + 1] == wanted).float().mean().item()}


@torch.no_grad()
def measure(seed):
    """Train as in the lesson, stop early, and let the model write."""
    it = Translator(seed)
    fresh, negated = it.parts["fresh"], it.parts["new negations"][:240]
    with torch.enable_grad():
        it.train(EARLY)
    return {"right, of 500": it.right(fresh), "greedy, of 240": it.right(negated),
            "beam of 4, of 240": it.right_by_beam(negated)} | it.right_after_a_mistake(fresh)


PLANS = {"11-translators": Plan(
    about="the translator of lesson 11, stopped after 150 of its 624 steps: sentences written right, greedy and with "
          "a beam, and the word after a mistake",
    minutes=2, points=grid(seed=range(3)), measure=measure,
    near={"right, of 500": 5, "right word shown": 0.02, "own word shown": 0.02}, sides=(dict(seed=0),))}
