"""Lesson 03: words written backwards, from one vector or by looking back: what moves the cliff, what draws a search."""

import torch
from torch import nn

from course_lib.attention import bahdanau_context
from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit

K = START = 16  # 16 letters; number 16 says "begin to write"


class Bottleneck(nn.Module):
    """An encoder-decoder that passes on one vector."""

    def __init__(self, H=72, D=32):
        super().__init__()
        self.embed = nn.Embedding(K + 1, D)
        self.encoder = nn.GRU(D, H, batch_first=True)
        self.decoder = nn.GRUCell(D + H, H)
        self.out = nn.Linear(D + H + H, K)

    def read(self, source):
        states, last = self.encoder(self.embed(source))
        return states, last[0]  # (B, T, H), (B, H)

    def look(self, state, states):
        weights = torch.zeros(states.shape[:2])  # (B, T)
        weights[:, -1] = 1  # all weight on the last state, in every step
        return states[:, -1], weights  # (B, H), (B, T)


def step(model, letter, state, states):
    """Write one letter: logits (B, K), the new state (B, H), weights (B, T)."""
    context, weights = model.look(state, states)  # c: (B, H), α: (B, T)
    y = model.embed(letter)  # y_{i-1}: (B, D)
    state = model.decoder(torch.cat([y, context], -1), state)  # s_i = f(s_{i-1}, y, c)
    logits = model.out(torch.cat([y, state, context], -1))  # g(y, s_i, c)
    return logits, state, weights


def write(model, source, target=None):
    """Write as many letters as were read: logits (B, T, K), weights (B, T, T)."""
    states, state = model.read(source)  # (B, T, H), (B, H)
    letter = torch.full((len(source),), START)
    steps = []
    for i in range(source.shape[1]):
        logits, state, weights = step(model, letter, state, states)
        steps.append((logits, weights))
        letter = logits.argmax(-1) if target is None else target[:, i]
    return tuple(torch.stack(each, 1) for each in zip(*steps, strict=True))


def random_words(T, how_many, generator):
    """Words of T letters, and the same backwards."""
    source = torch.randint(K, (how_many, T), generator=generator)
    return source, source.flip(1)  # (how_many, T) twice


def loss_of(model, source, target):
    """Cross-entropy of the letters it writes, when every letter before was right."""
    logits, _ = write(model, source, target)
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def batches(steps, seed):
    """64 words at each step, all of one length from 1 to 12."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        T = torch.randint(1, 13, (), generator=generator).item()
        yield random_words(T, 64, generator)


def train(Model, steps, seed=0, rate=0.005):
    """Adam, with a learning rate that rises to `rate` and falls to nearly 0."""
    torch.manual_seed(seed)
    model = Model()
    adam = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, rate, total_steps=steps)
    fit(model, loss_of, batches(steps, seed), adam, schedule, clip=1.0)
    return model


@torch.no_grad()
def share_right(model, source):
    """The share of words that are written backwards without a mistake."""
    written = write(model, source)[0].argmax(-1)  # (B, T)
    return (written == source.flip(1)).all(1).float().mean().item()


def curve(model):
    """That share for 300 fresh words of each length from 1 to 20."""
    generator = torch.Generator().manual_seed(99)
    return {T: share_right(model, random_words(T, 300, generator)[0])
            for T in range(1, 21)}


class LooksBack(Bottleneck):
    """The encoder-decoder with Bahdanau attention."""

    def __init__(self, H=64):
        super().__init__(H)
        self.W_d = nn.Parameter(torch.randn(H, H) / H**0.5)
        self.W_e = nn.Parameter(torch.randn(H, H) / H**0.5)
        self.v = nn.Parameter(torch.randn(H) / H**0.5)

    def look(self, state, states):
        return bahdanau_context(state, states, self.W_d, self.W_e, self.v)  # c_i: (B, H), (B, T)


class ReadsFromTheRight(LooksBack):
    """The same, but the encoder begins at the last letter."""

    def read(self, source):
        states, last = super().read(source.flip(1))
        return states.flip(1), last  # state j has read letter j and all letters to its right


def different_words(T, how_many, generator):
    """Words in which no letter comes twice: (how_many, T), T up to 16."""
    return torch.rand(how_many, K, generator=generator).argsort(1)[:, :T]


@torch.no_grad()
def looks_at(model, T=8):
    """How far to the right of the letter wanted the largest weight stands: (300, T)."""
    source, _ = random_words(T, 300, torch.Generator().manual_seed(7))
    weights = write(model, source)[1]  # (300, T, T)
    return weights.argmax(-1) - torch.arange(T).flip(0)


@torch.no_grad()
def exchanged(model, T=12, written=6, within=0):
    """Exchange the word after some letters: what draws the next look?

    The new word has the same letters in another order. Words count where the letter
    just written and the place where it would have looked are no neighbours.
    returns: the share of them with the largest weight at the letter, at the place,
             or as many as `within` columns away from it
    """
    generator = torch.Generator().manual_seed(4)
    first = different_words(T, 1000, generator)  # (1000, T)
    order = torch.rand(1000, T, generator=generator).argsort(1)
    second = first.gather(1, order)  # (1000, T)
    states, state = model.read(first)
    letter = torch.full((1000,), START)
    for _ in range(written):
        logits, state, _ = step(model, letter, state, states)
        letter = logits.argmax(-1)
    place = model.look(state, states)[1].argmax(-1)  # (1000,)
    now = model.look(state, model.read(second)[0])[1].argmax(-1)  # (1000,)
    of_letter = (second == letter[:, None]).int().argmax(-1)  # (1000,)
    apart = (of_letter - place).abs() > 1
    return {"letter": ((now - of_letter).abs() <= within)[apart].float().mean().item(),
            "place": ((now - place).abs() <= within)[apart].float().mean().item()}


def with_repeats(T, repeats, words=6000):
    """Random words of T letters, those of them with that many letters that were there before."""
    ids = random_words(T, words, torch.Generator().manual_seed(5))[0]  # (words, T)
    different = nn.functional.one_hot(ids, K).amax(1).sum(1)  # (words,)
    return ids[T - different == repeats]


class HeldOpen(Bottleneck):
    """One vector; training begins with all gates z near 1."""

    def __init__(self, H=72):
        super().__init__(H)
        for bias in (self.encoder.bias_hh_l0, self.decoder.bias_hh):
            bias.data[H : 2 * H] += 5


class Orthogonal(Bottleneck):
    """One vector; plain cells without gates, whose matrices are orthogonal when training begins."""

    def __init__(self, H=72, D=32):
        super().__init__(H, D)
        self.encoder, self.decoder = nn.RNN(D, H, batch_first=True), nn.RNNCell(D + H, H)
        nn.init.orthogonal_(self.encoder.weight_hh_l0)
        nn.init.orthogonal_(self.decoder.weight_hh)


class LSTMStep(nn.LSTMCell):
    """A step of an LSTM on one vector, its hidden state and then its cell: (B, 2 H)."""

    def forward(self, x, state):
        return torch.cat(super().forward(x, state.chunk(2, -1)), -1)


class LSTM(Bottleneck):
    """LSTMs in the place of GRUs: hidden state and cell are passed on, 2 H numbers."""

    def __init__(self, H=72, D=32):
        super().__init__(H, D)
        self.encoder, self.decoder = nn.LSTM(D, H, batch_first=True), LSTMStep(D + H, H)
        self.out = nn.Linear(D + 2 * H + H, K)

    def read(self, source):
        states, last = self.encoder(self.embed(source))
        return states, torch.cat([part[0] for part in last], -1)  # (B, T, H), (B, 2 H)


class LSTMWithoutItsCell(LSTM):
    """The same, but the hidden state alone is passed on: the decoder's cell begins at 0."""

    def read(self, source):
        states, last = super().read(source)
        return states, torch.cat([last.chunk(2, -1)[0], torch.zeros_like(states[:, 0])], -1)


NETWORKS = {"one vector": Bottleneck, "LSTM": LSTM, "LSTM without its cell": LSTMWithoutItsCell,
            "looking back": LooksBack, "from the right": ReadsFromTheRight,
            "gates, held open": HeldOpen, "tanh, orthogonal": Orthogonal}


def measure_cliff(network, width, steps, seed, rate=0.005):
    """Train, and measure the share of words without a mistake at each length."""
    right = curve(train(lambda: NETWORKS[network](width), steps, seed, rate))
    return {f"at_{T}": share for T, share in right.items()}


def measure_search(network, steps, seed):
    """Train a network that looks back, and ask what disturbs it, where it looks and what draws it."""
    model = train(NETWORKS[network], steps, seed)
    off = looks_at(model)
    right = curve(model)
    wrong = {f"{kind}_{T}": 1 - share_right(model, words(T, 3000, torch.Generator().manual_seed(3)))
             for T in (12, 16)
             for kind, words in (("different", different_words), ("random", lambda *a: random_words(*a)[0]))}
    near = {f"{what}_within_1": share for what, share in exchanged(model, within=1).items()}
    five = {f"five_repeats_{T}": share_right(model, with_repeats(T, 5)) for T in (12, 16)}
    return {f"at_{T}": right[T] for T in right} | wrong | exchanged(model) | near | five | {
        "one_right": (off[:, 1:] == 1).float().mean().item(), "mirror": (off == 0).float().mean().item()}


RATES = [0.0025, 0.005, 0.01]

PLANS = {
    "03-cliff": Plan(
        about="words of 1 to 20 letters written backwards: what moves the length at which mistakes begin", minutes=9,
        points=[*grid(network=["one vector"], width=[36, 72, 144], steps=[1200, 6000], seed=range(3)),
                *grid(network=["looking back"], width=[36, 64], steps=[600], seed=range(3))],
        measure=measure_cliff, near={"at_4": 0.02, "at_8": 0.02, "at_12": 0.02},
        sides=tuple(grid(network=["one vector"], width=[36, 72], steps=[1200], seed=[0]))),
    "03-cells": Plan(
        about="words of 1 to 20 letters written backwards from one vector: other cells than a GRU as torch starts it",
        minutes=65, points=[*grid(network=["LSTM"], width=[36, 72], steps=[1200, 6000], rate=RATES, seed=range(3)),
                            *grid(network=["LSTM without its cell"], width=[72], steps=[1200, 6000], rate=RATES,
                                  seed=range(3)),
                            *grid(network=["one vector"], width=[72], steps=[1200, 6000], rate=[0.0025, 0.01],
                                  seed=range(3)),  # 0.005 stands in 03-cliff
                            *grid(network=["one vector"], width=[144], steps=[1200, 6000], rate=[0.01],
                                  seed=range(3)),
                            *grid(network=["gates, held open", "tanh, orthogonal"], width=[72], steps=[1200, 6000],
                                  rate=[0.005], seed=range(3))],
        measure=measure_cliff, near={"at_4": 0.02, "at_7": 0.02, "at_12": 0.02},
        sides=tuple(grid(network=["LSTM", "LSTM without its cell"], width=[72], steps=[1200], rate=[0.005], seed=[0]))),
    "03-search": Plan(
        about="networks that look back, trained on words of 1 to 12 letters: what disturbs, and what draws them",
        minutes=12, points=grid(network=["looking back", "from the right"], steps=[600, 3000], seed=range(5)),
        measure=measure_search,
        near=dict.fromkeys(("at_12", "different_12", "letter", "place", "one_right"), 0.02),
        sides=tuple(grid(network=["looking back", "from the right"], steps=[600], seed=[0]))),
}
