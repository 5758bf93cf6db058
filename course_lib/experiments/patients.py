"""Lesson 11: a small Transformer that writes six digits backwards, and five of its parts, any of which may be wrong."""

import itertools
from typing import NamedTuple

import torch
from torch import nn

from course_lib.attention import attention_patterns
from course_lib.data.vocabulary import BOS, EOS
from course_lib.decoding import greedy_decode
from course_lib.experiments.plan import Plan, grid
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_positions
from course_lib.targets import masked_cross_entropy, shift_right
from course_lib.training import fit, shuffled
from course_lib.transformer import Transformer

D, D_HEAD, DIGITS, STEPS = 32, 16, 6, 200


class Parts(NamedTuple):
    """Five parts of a Transformer, each a function, as they are in a healthy one.

    mask:  T -> (T, T) bool, what the decoder may see of what it is shown
    shown: labels (B, T) -> (B, T), what the decoder is shown where it has to say the labels
    place: T -> (T, 32), what is added to the embeddings
    join:  (x, says) -> what the norm gets, of a state and what a sublayer says about it
    query: x -> what each attention gets as its queries
    """

    mask: callable = causal_mask
    shown: callable = lambda labels: shift_right(labels, BOS)
    place: callable = lambda T: sinusoidal_positions(T, D)
    join: callable = lambda x, says: x + says
    query: callable = lambda x: x


HEALTHY = Parts()
WRONG = {"mask": lambda T: torch.ones(T, T, dtype=torch.bool).tril(1),  # one place too far
         "shown": lambda labels: labels,
         "place": lambda T: sinusoidal_positions(1, D).expand(T, D),  # everybody stands at place 0
         "join": lambda x, says: says,
         "query": lambda x: D_HEAD**0.5 * x}  # undoes the division by √d_head
WARD = {"A": "place", "B": "shown", "C": "query", "D": "mask", "E": "join"}


class Patient(nn.Module):
    """A small Transformer with these parts; Model: the class it is built from, the course's or a learner's."""

    def __init__(self, parts=HEALTHY, Model=Transformer):
        super().__init__()
        self.parts, self.whole = parts, Model(14, 14, D, 2, 2 * D, 2)

    def vectors(self, ids, table):
        return table(ids) * D**0.5 + self.parts.place(ids.shape[1]).to(table.weight)

    def forward(self, src, tgt):
        join, query, mask = self.parts.join, self.parts.query, self.parts.mask(tgt.shape[1]).to(tgt.device)
        memory, x = self.vectors(src, self.whole.src_embed), self.vectors(tgt, self.whole.tgt_embed)
        for layer in self.whole.encoder:
            memory = layer.norm1(join(memory, layer.self_attn(query(memory), memory, memory)))
            memory = layer.norm2(join(memory, layer.ff(memory)))
        for layer in self.whole.decoder:
            x = layer.norm1(join(x, layer.self_attn(query(x), x, x, mask)))
            x = layer.norm2(join(x, layer.cross_attn(query(x), memory, memory)))
            x = layer.norm3(join(x, layer.ff(x)))
        return self.whole.out(x)


class Course(NamedTuple):
    """How a patient's training went: the patient, its loss per step, and what of 100 rows it writes without a mistake.

    curve: (steps,)
    right: a share from 0 to 1
    """

    patient: nn.Module
    curve: torch.Tensor
    right: float


def rows():
    """12,900 rows of six digits as token numbers, and the same backwards, with an end: (N, 6) and (N, 7)."""
    digits = torch.randint(4, 14, (12_900, DIGITS), generator=torch.Generator().manual_seed(0))
    return digits, torch.cat([digits.flip(1), torch.full((len(digits), 1), EOS)], 1)


def trained(parts=HEALTHY, seed=0, steps=STEPS, Model=Transformer, small_start=False):
    """Train a patient on all rows but the first 100, and let it write these: its Course.

    small_start: the first W_q are divided by √d_head
    """
    digits, backwards = rows()
    torch.manual_seed(seed)
    patient = Patient(parts, Model)
    for name, parameter in patient.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
            if small_start and "W_q" in name:
                parameter.data /= D_HEAD**0.5

    def loss(patient, src, labels):
        return masked_cross_entropy(patient(src, patient.parts.shown(labels)), labels)

    optimizer = torch.optim.Adam(patient.parameters(), lr=4e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps, pct_start=0.1,
                                                   anneal_strategy="linear", cycle_momentum=False)
    batches = shuffled(digits[100:], backwards[100:], batch_size=64, epochs=1 + steps // 200, seed=seed)
    curve = fit(patient, loss, itertools.islice(batches, steps), optimizer, schedule, progress="six digits, backwards")
    said = greedy_decode(patient.eval(), digits[:100], BOS, EOS, DIGITS + 2)[:, 1:]
    alike = said.shape == backwards[:100].shape
    return Course(patient, curve, (said == backwards[:100]).all(1).float().mean().item() if alike else 0.0)


def sees(patient, row="492037"):
    """Where the last decoder layer looks, in what it is shown and in the source, for one row of digits.

    returns: {"self_attn": (T, T), "cross_attn": (T, T - 1)}, means over heads, and the names of what it is shown
    """
    src = torch.tensor([[int(digit) + 4 for digit in row]])
    shown = patient.parts.shown(torch.tensor([[*src[0].flip(0).tolist(), EOS]]))
    patterns = attention_patterns(patient, src, shown)
    names = ["s" if k == BOS else "·" if k == EOS else str(k - 4) for k in shown[0].tolist()]
    return {of: patterns[f"whole.decoder.1.{of}"][0].mean(0) for of in ("self_attn", "cross_attn")}, names


def admitted(letter):
    """The parts of a patient of the ward, A to E: one of them is wrong."""
    return HEALTHY._replace(**{WARD[letter]: WRONG[WARD[letter]]})


class Treated(NamedTuple):
    """What a treatment came to: was the right part replaced, and what does it write now? It says so in words."""

    found: bool
    part: str
    right: float

    def __str__(self):
        which = f"it was the part {self.part}" if self.found else f"the part {self.part} was in order"
        return f"{which}; now {100 * self.right:.0f} of 100 rows are written without a mistake"


def treated(letter, cure, Model=Transformer):
    """Replace parts of a patient, train it again and let it write.

    cure: {name of a part: function}, of one part
    """
    (part, _), = cure.items()
    return Treated(part == WARD[letter], part, trained(admitted(letter)._replace(**cure), Model=Model).right)


def is_healed(found):
    """Was the right part replaced, and does the patient write?"""
    return found.found and found.right > 0.9


def advice(_, found):
    """A sentence for a treatment that has not healed."""
    if not found.found:
        return "Examine its other parts: call them with small numbers, and compare with what the table says."
    return "That is the part. What should it give? Call yours with small numbers."


def cost_of_any_order():
    """The loss per token of who knows the six digits and guesses among their orders; the seventh token is free."""
    counts = nn.functional.one_hot(rows()[0] - 4, 10).sum(1)  # (N, 10), how often each digit occurs
    return (torch.tensor(7.0).lgamma() - (counts + 1.0).lgamma().sum(1)).mean().item() / 7


CASES = {"healthy": (HEALTHY, {})} | {
    part: (HEALTHY._replace(**{part: wrong}), {}) for part, wrong in WRONG.items()} | {
    "query, small start": (HEALTHY._replace(query=WRONG["query"]), {"small_start": True})}


def measure(case, steps, seed):
    """How the training of one case goes."""
    parts, more = CASES[case]
    went = trained(parts, seed, steps, **more)
    return {"first 120": went.curve[:120].mean().item(), "last 20": went.curve[-20:].mean().item(), "right": went.right}


PLANS = {"11-patients": Plan(
    about="six digits backwards: mean loss of the first 120 and the last 20 steps, share written right, with one part "
          "of the Transformer wrong",
    minutes=4, points=grid(case=list(CASES), steps=(STEPS, 5 * STEPS), seed=range(3)), measure=measure,
    near={"first 120": 0.02, "last 20": 0.005, "right": 0.01},
    sides=(dict(case="healthy", steps=STEPS, seed=0), dict(case="join", steps=STEPS, seed=0)))}
