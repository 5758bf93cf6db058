"""Lesson 11b: a learner's Transformer on a file of real sentence pairs of their own."""

import torch

from course_lib.data.pairs import PairFile, words
from course_lib.data.vocabulary import BOS, EOS, Vocabulary
from course_lib.experiments.bleu import corpus_bleu
from course_lib.experiments.translators import trimmed
from course_lib.targets import masked_cross_entropy, shift_right
from course_lib.training import fit, shuffled

LONGEST, TESTED, SHOWN, EPOCHS = 20, 100, 8, 3


def read(path):
    """Lists of French and of English words of a file (English, a tab, French), and lines that say what was skipped."""
    file = PairFile(path)
    rows = [(words(french.lower()), words(english.lower())) for english, french in file]
    says = f"{file.lines:,} lines, {len(rows):,} pairs, {len(file.problems):,} problems"
    return [row for row in rows if max(map(len, row)) <= LONGEST], "\n".join([says, *map(str, file.problems[:5])])


def learn(path, Model, greedy):
    """Train on nine tenths of a file, and translate some of the rest.

    Model, greedy: a Transformer class and a greedy_decode, the course's or a learner's
    returns:       lines to print, and BLEU
    """
    rows, says = read(path)
    test = rows[::10][:TESTED]
    train = [row for i, row in enumerate(rows) if i % 10]
    french, english = (Vocabulary((row[side] for row in train), at_least=2) for side in (0, 1))
    src, labels = french.encode([row[0] for row in train]), english.encode([row[1] for row in train])
    torch.manual_seed(0)
    model = Model(len(french), len(english), 128, 4, 256, 2, dropout=0.1)
    batches = shuffled(src, labels, batch_size=min(64, len(src)), epochs=EPOCHS)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    fit(model, _loss, batches, optimizer, clip=1.0, progress="learning real French")
    with torch.no_grad():
        ids = greedy(model.eval(), french.encode([row[0] for row in test]), BOS, EOS, LONGEST + 4)
    said = [english.decode(ys) for ys in ids]
    shown = [f"{' '.join(row[0])} → {' '.join(line)}" for row, line in zip(test[:SHOWN], said, strict=False)]
    return [says, *shown], corpus_bleu(said, [row[1] for row in test])


def _loss(model, src, labels):
    src, labels = trimmed(src, labels)
    return masked_cross_entropy(model(src, shift_right(labels, BOS)), labels)
