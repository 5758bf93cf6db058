"""Lesson 11: its translator, trained in several ways and for longer and shorter, and asked what it can."""

import itertools

import torch
from torch import nn

from course_lib.data.small_french import PEOPLE, people_as_objects, splits
from course_lib.data.vocabulary import BOS, EOS, PAD, UNKNOWN, Vocabulary
from course_lib.decoding import beam_search, greedy_decode
from course_lib.experiments.alignments import right_links
from course_lib.experiments.bleu import corpus_bleu
from course_lib.experiments.plan import Plan, grid
from course_lib.targets import masked_cross_entropy, shift_right
from course_lib.training import fit, shuffled
from course_lib.transformer import Transformer

STEPS = 624
ASKED = 60  # sentences for a beam, which writes them one by one
WAYS = ("plain", "smoothed", "wrong words shown", "no warm-up", "more dropout", "wrong French shown",
        "wrong words, no people")


class Translator:
    """The lesson's model, its two vocabularies and its training.

    way: "plain", the lesson's; "smoothed", the labels by 0.1; "wrong words shown", every seventh word that the
         decoder is shown is another one; "wrong words, no people", the same, and the other one never means people;
         "wrong French shown", every seventh word that the encoder is shown; "no warm-up"; "more dropout", 0.3 in
         place of 0.1
    """

    def __init__(self, seed, way="plain", steps=STEPS):
        self.parts, self.way, self.seed, self.steps = splits(), way, seed, steps
        train = self.parts["train"]
        self.french, self.english = (Vocabulary(getattr(pair, of) for pair in train) for of in ("french", "english"))
        torch.manual_seed(seed)
        dropout = 0.3 if way == "more dropout" else 0.1
        self.model = Transformer(len(self.french), len(self.english), 128, 4, 256, 2, dropout=dropout)
        for parameter in self.model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        epochs = -(-steps // (len(train) // 64))
        self.batches = shuffled(*self.encoded(train), batch_size=64, epochs=epochs, seed=seed)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
        at_once = dict(pct_start=2 / steps, div_factor=1)  # the largest rate from the first step on
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, 2e-3, total_steps=steps, anneal_strategy="linear", cycle_momentum=False,
            **(at_once if way == "no warm-up" else dict(pct_start=0.1)))

    def encoded(self, pairs):
        """Both sides of pairs as token numbers: (N, Ts) and (N, Tt)."""
        return self.french.encode([pair.french for pair in pairs]), self.english.encode(
            [pair.english for pair in pairs])

    def loss(self, model, src, labels):
        """The loss of a batch, in the way of this training."""
        src, labels = trimmed(src, labels)
        shown = shift_right(labels, BOS)
        if self.way == "wrong words shown":
            shown = _some_swapped(shown, self.english)
        elif self.way == "wrong words, no people":
            shown = _some_swapped(shown, self.english, but={form for its in PEOPLE.values()
                                                            for form in (its.english, its.english_plural)})
        elif self.way == "wrong French shown":
            src = _some_swapped(src, self.french)
        logits = model(src, shown)
        if self.way == "smoothed":
            return nn.functional.cross_entropy(logits.transpose(1, 2), labels, ignore_index=PAD, label_smoothing=0.1)
        return masked_cross_entropy(logits, labels)

    def train(self):
        """Train for all steps."""
        batches = itertools.islice(self.batches, self.steps)
        fit(self.model, self.loss, batches, self.optimizer, self.schedule, seed=self.seed)
        self.model.eval()

    def written(self, pairs):
        """Greedy translations, lists of words."""
        ids = greedy_decode(self.model, self.encoded(pairs)[0], BOS, EOS, 20)
        return [self.english.decode(ys) for ys in ids]

    def by_beam(self, pairs, size, beam=beam_search):
        """What a beam writes: the share that is right, BLEU, the mean log-probability, the mean number of tokens.

        beam: a beam search, the course's or a learner's
        """
        said, scores, lengths = [], [], []
        for pair in pairs:
            source = self.french.encode([pair.french])
            ys, score = beam(lambda ys, source=source: self.model(source.expand(len(ys), -1), ys)[:, -1],
                             BOS, EOS, size, 20)
            said.append(self.english.decode(ys))
            scores.append(score)
            lengths.append(len(ys) - 1)
        bleu = corpus_bleu(said, [list(pair.english) for pair in pairs])
        return {f"right {size}": right(said, pairs), f"bleu {size}": bleu,
                f"score {size}": sum(scores) / len(pairs), f"tokens {size}": sum(lengths) / len(pairs)}

    def after_a_wrong_word(self, pairs):
        """How often a word is right where the one before it was shown right, and where a wrong one was shown.

        Asked are the places behind those that the model gets right; the wrong word is the one that it held to be the
        second most probable.
        """
        src, labels = self.encoded(pairs)
        shown = shift_right(labels, BOS)
        logits = self.model(src, shown)
        hits, real = logits.argmax(-1) == labels, (labels != PAD) & (labels != EOS)  # (N, Tt)
        second, own = logits.topk(2).indices[..., 1], []
        for t in range(labels.shape[1] - 1):  # one wrong word at a time
            asked = (real[:, t] & hits[:, t] & (second[:, t] > UNKNOWN)).nonzero()[:, 0]
            changed = shown.clone()
            changed[:, t + 1] = second[:, t]
            own.append((self.model(src, changed).argmax(-1)[asked, t + 1] == labels[asked, t + 1], hits[asked, t + 1]))
        after, before = (torch.cat(each).float().mean().item() for each in zip(*own, strict=True))
        return {"right word shown": before, "second word shown": after}

    def perplexity(self, pairs):
        """e to the mean loss, the right words shown."""
        src, labels = self.encoded(pairs)
        return masked_cross_entropy(self.model(src, shift_right(labels, BOS)), labels).exp().item()


def trimmed(*sides):
    """Batches of token numbers, no wider than the longest sentence of each."""
    return [ids[:, : (ids != PAD).sum(1).max()] for ids in sides]


def _some_swapped(ids, vocabulary, but=()):
    """Every seventh word of (B, T) is any other one, but none of some; what begins, ends and fills up stays."""
    allowed = torch.tensor([i for word, i in vocabulary.ids.items() if word not in but])
    others = allowed[torch.randint(len(allowed), ids.shape)]
    return torch.where((torch.rand(ids.shape) < 1 / 7) & (ids > UNKNOWN), others, ids)


def right(said, pairs):
    """The share of translations, lists of words, without a mistake."""
    return sum(words == list(pair.english) for words, pair in zip(said, pairs, strict=True)) / len(pairs)


@torch.no_grad()
def measure(way, steps, seed):
    """Train a translator, and ask it."""
    it = Translator(seed, way, steps)
    with torch.enable_grad():
        it.train()
    fresh, shares = it.parts["fresh"], {}
    for name in ("fresh", "new pairs", "new negations"):
        said = it.written(it.parts[name])
        shares[name] = right(said, it.parts[name])
    people = people_as_objects(500)
    shares |= {"people": right(it.written(people), people), "perplexity": it.perplexity(fresh),
               "perplexity, people": it.perplexity(people)}
    for name, pairs in (("fresh", fresh), ("people", people)):
        for size in (1, 4, 16):
            shares |= {f"{name}: {what}": value for what, value in it.by_beam(pairs[:ASKED], size).items()}
    links = right_links(it, fresh)
    shares |= {"linked, layer 1": links["layer below"], "linked, layer 2": links["last layer"]}
    return shares | it.after_a_wrong_word(fresh)


POINTS = [point for point in grid(way=WAYS, steps=(125, STEPS, 5 * STEPS), seed=range(5))
          if (point["steps"] < STEPS or point["seed"] < 3)
          and (point["way"] in WAYS[:3] or point["steps"] == STEPS)]
PLANS = {"11-translators": Plan(
    about="the translator of lesson 11 in seven ways of training, after three budgets: what it translates, greedy and "
          "with beams, what it says after a wrong word, and where it looks",
    minutes=60, points=POINTS, measure=measure, near={"people": 0.02},
    sides=(dict(way="plain", steps=STEPS, seed=0), dict(way="wrong words shown", steps=STEPS, seed=0)))}
