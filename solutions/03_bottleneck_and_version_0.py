# %% [markdown]
# # 03 · The bottleneck, Bahdanau, version 0
#
# *75 minutes: reading 24, predicting 9, writing 42 · needs lesson 02 · two exercises*
#
# **At the end you can**
#
# - measure where a network that reads into one vector begins to fail, and what moves that
#   length;
# - write version 0, the attention of 2014, and put it into a decoder that looks back;
# - read an alignment, and say what a weight does *not* tell you.

# %%
import torch
from torch import nn

from course_lib import check, claim, intervene, predict, shipped
from course_lib.display import instruments, plots
from course_lib.display.drawings import bottleneck as draw
from course_lib.experiments import backwards, opened, slopes

torch.set_num_threads(1)

# %% [markdown] name="bottleneck"
# ## Read, then write
#
# A **recurrent neural network** (RNN) takes one vector in per step and updates another
# one, its **state**. In 2014 two groups made pairs of them. The **encoder** reads a text
# word by word. The **decoder** starts from the encoder's last state and writes. Nothing
# else passes from one to the other. Cho and colleagues let such a pair score phrases for
# an older kind of translator; Sutskever and colleagues let theirs write whole
# translations. It is called a **sequence-to-sequence** network.
#
# Our toy has the same shape: read a word letter by letter, then write it backwards.
#
# ```
# s → t → a → r → [ one vector ] → r → a → t → s
# ```

# %%
letters = "adegilmnoprstuvw"
K = START = len(letters)  # 16 letters; number 16 says "begin to write"


def to_ids(word):
    return torch.tensor([[letters.index(letter) for letter in word]])  # (B, T) = (1, T)


# %%
to_ids("star"), to_ids("rats")

# %% [markdown]
# Ours is a **GRU** (*gated recurrent unit*; its inside comes later). One step,
# `nn.GRUCell`, takes an input (B, D) and a state of H numbers, (B, H), and returns the new
# state (B, H). `nn.GRU` takes the steps over a whole word, (B, T, D), and returns all T
# states and the last one.
#
# `read` is the encoder. `look` says what the decoder sees of the encoder's states.
# `decoder` and `out` write; they come below.

# %% tags=["given"]
from course_lib.experiments.backwards import Bottleneck

# %%
torch.manual_seed(0)
model = Bottleneck()


def trace(T):
    """By how much the vector of T times “a” changes if the first one is a “d”."""
    two = torch.zeros(2, T, dtype=torch.long)
    two[1, 0] = 1
    vectors = model.read(two)[1]  # (B, H) = (2, 72)
    return (vectors[1] - vectors[0]).abs().max().item()


f"{trace(4):.2g}"

# %% [markdown]
# Untrained, and with "d" in the place of the first "a" of "aaaa", the vector changes by
# 0.14 at most.

# %% tags=["predict"]
predict(
    "A text of 400 letters goes through the same encoder. How many numbers does the "
    "decoder get, and by how much do they change with the first letter?",
    {
        "7,200, by about 0.14": "The state is *updated*, not made longer. The last "
        "one is handed over.",
        "72, by about 0.14": "The same 72 numbers now have 400 letters to hold. Each "
        "step writes over a part of what was there.",
        "72, by 0.0014, a hundredth": "A hundred times as many steps, and each takes "
        "its *share* of what is left: shares multiply.",
        "72, by nothing that can be seen": (
            True,
            "Each step keeps about seven tenths of the trace, and 0.7 to the power of "
            "396 is far below the last digit of a number.",
        ),
    },
    concept="C023",
)

# %% tags=["nbval-ignore-output"]
states, last = model.read(torch.zeros(1, 400, dtype=torch.long))
tuple(last.shape), {T: f"{trace(T):.1g}" for T in (4, 8, 16, 400)}

# %% [markdown]
# ### Yours: how far back?
#
# From 4 letters to 8, the trace shrinks to about a fifth. From what length on is it below
# a thousandth? Get there within three letters.

# %% tags=["yours"]
T = 19  # yours: a whole number up to 400
intervene(
    "the trace of the first letter has just fallen below 0.001",
    T,
    run=lambda T: (trace(T), trace(T - 3)),
    holds=lambda now: now[0] < 0.001 <= now[1],
    among=range(4, 401),
    shows="after {choice} letters the trace is {result[0]:.2g}",
    otherwise=lambda T, now: "Take more letters." if now[0] >= 0.001 else
    "Three letters fewer would do, too. Take fewer.",
)

# %% [markdown]
# The vector has 72 numbers, whatever was read. This is the **bottleneck** of such a
# network: a vector of fixed length.
#
# Is it too narrow for 12 letters? Not on paper: one of 16 letters has 4 bits, so the word
# has 48, and 72 numbers of 32 bits have 2,304. But the network has to **learn** how to
# pack the letters into one vector, and how to unpack each at the right time.

# %% tags=["claim"]
# The proof
claim("untrained, the first of 4 letters leaves a trace, and of 400 none",
      trace(4) > 0.05 and trace(400) < 1e-5)
claim("the decoder gets 72 numbers, also of 400 letters", last.shape == (1, 72))

# %% [markdown] name="writing"
# ## How it writes, and how it learns
#
# The decoder writes one letter per step. It gets the letter before, $y_{i-1}$, what it
# sees of the source, $c$, and its own state, $s_{i-1}$. Its two networks, $f$ and $g$,
# give the new state and a probability for each letter:
#
# $$
# s_i = f(s_{i-1}, y_{i-1}, c)
# \qquad
# p(y_i \mid y_1, \dots, y_{i-1}, x) = g(y_{i-1}, s_i, c)
# $$
#
# $g$ ends in one number per letter, the **logits**: scores of any size, which a softmax
# turns into probabilities.

# %% tags=["given"]
from course_lib.experiments.backwards import step

# %%
states, last = model.read(to_ids("star"))
logits, state, weights = step(model, torch.tensor([START]), last, states)
tuple(logits.shape), tuple(state.shape), tuple(weights.shape)

# %% [markdown]
# In training, $y_{i-1}$ is the *right* letter before, even if the decoder would have
# written another. This is called **teacher forcing**. Later it gets the letter that it
# wrote itself.
#
# Training makes the **cross-entropy** small: minus the logarithm of the probability that
# the *right* letter got. It is 0 where that probability is 1. Three letters have the
# logits 2, 1 and 0. exp makes 7.39, 2.72 and 1 of them, so the first has a probability of
# 0.67, and if it is right, the cross-entropy is $-\ln 0.67 = 0.41$.
#
# ### Yours: the loss
#
# Now let the *last* of the three letters be right. Its cross-entropy is 2.41. Change **one**
# of the three logits, so that it falls below 0.1.

# %% tags=["yours"]
three = [2.0, 1, 5.0]  # yours: change one of 2, 1 and 0; none beyond 5 or −5
intervene(
    "the cross-entropy of the last letter is below 0.1, and one logit was changed",
    three,
    run=lambda three: -torch.tensor(three).float().log_softmax(0)[2].item(),
    holds=lambda loss: loss < 0.1,
    among=lambda three: max(map(abs, three)) <= 5
    and [a != b for a, b in zip(three, [2, 1, 0], strict=True)].count(True) <= 1,
    shows="the cross-entropy is {result:.2f}",
    otherwise="It falls as the right letter's logit rises above all others.",
)

# %% [markdown]
# We train on random words of 1 to 12 letters, all lengths equally often, one length per
# batch of 64. So nothing can be learned by heart, and no padding is needed. `fit` is the
# loop of the whole course: for each batch it works out the loss, sends the gradients back
# and lets the optimizer take one step. `clip` shortens a gradient that is longer than 1
# (**gradient clipping**).

# %%
from course_lib.training import fit


def train(Model, steps, seed=0):
    """Adam, with a learning rate that rises to 0.005 and falls to nearly 0."""
    torch.manual_seed(seed)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.005, total_steps=steps)
    batches = backwards.batches(steps, seed)
    fit(model, backwards.loss_of, batches, optimizer, schedule, clip=1.0)
    return model


# %% [markdown]
# The measure is strict: a word counts only if **every** letter is right. We take 300 fresh
# words of each length from 1 to 20.

# %% tags=["predict"]
predict(
    "After 1,200 steps, in which each length from 1 to 12 came equally often: how does "
    "the share of words without a mistake change with their length?",
    {
        "level up to 12 letters, then it falls": "That is what being trained on every "
        "length suggests. But one vector has to hold more, the longer the word is.",
        "level up to about 6, then it falls": (
            True,
            "Short words are learned first. To pack twelve letters so that each can be "
            "found again takes longer than these steps.",
        ),
        "a straight line from 1 to 0": "If each letter were wrong with the same small "
        "probability, the share would fall from the first letters on. Short words are "
        "packed without loss.",
    },
    concept="C024",
)

# %%
plain = backwards.curve(train(Bottleneck, steps=1200))
plots.show(draw.curve(plain), "one-vector")

# %% [markdown] name="falls-off"
# ## Where it falls off
#
# The curve falls **inside** the trained range. Call this fall the *cliff*. Is the vector
# too narrow, or the training too short? We trained three widths for 1,200 and for 6,000
# steps, three times each. That takes minutes, so the results are stored:
# `course_lib/experiments/results/03-cliff.tsv` names the command.

# %% tags=["predict"]
predict(
    "Which moves the cliff further to the right?",
    {
        "twice the numbers": "That helps, and less. Even 36 numbers have room for far "
        "more than twelve letters, on paper.",
        "five times the steps": (
            True,
            "So the vector was not full: the network had not yet learned to use it.",
        ),
        "neither: the vector is full": "48 bits in 2,304: it was not full. And both "
        "move it.",
    },
    concept="C023",
)

# %%
from course_lib.experiments.stored import stored


def kept(network, width, steps, rate=0.005):
    """The stored curves of three seeds: {length: share of words without a mistake}."""
    same = [row for row in stored("03-cliff") + stored("03-cells")
            if (row["network"], row["width"], row["steps"]) == (network, width, steps)
            and row.get("rate", 0.005) == rate]
    return [{T: row[f"at_{T}"] for T in range(1, 21)} for row in same]


cliffs = {(width, steps): kept("one vector", width, steps)
          for steps in (1200, 6000) for width in (36, 72, 144)}
plots.show(draw.cliffs(cliffs), "cliffs")

# %% [markdown]
# Both move it. So the vector was not full: **what one vector can carry depends on its
# width and on how long the network has learned to pack.** Beyond the trained lengths the
# curves fall to zero all the same.
#
# Translation has the same trouble: quality falls as sentences grow (Cho et al.,
# [arXiv:1409.1259](https://arxiv.org/abs/1409.1259)).

# %% tags=["claim"]
# The proof
at_12 = {key: [each[12] for each in curves] for key, curves in cliffs.items()}
claim("words of 12 letters were trained as often as short ones, and hardly any is "
      "right",
      max(at_12[72, 1200]) < 0.15 and min(each[4] for each in cliffs[72, 1200]) > 0.9)
claim("twice the numbers move the cliff, and five times the steps move it further",
      all(max(at_12[w, s]) < min(at_12[2 * w, s])
          for w in (36, 72) for s in (1200, 6000))
      and all(min(at_12[w, 6000]) > max(at_12[2 * w, 1200]) for w in (36, 72)))
claim("a network of one vector trained today comes out as it is stored",
      all(abs(plain[T] - cliffs[72, 1200][0][T]) < 0.15 for T in plain))

# %% [markdown] name="gates"
# ## Would another cell help?
#
# How much does the last state change if an early one changes? Each step in between has a
# slope, and the slopes multiply. A product of many slopes well below 1 is next to nothing:
# the **vanishing gradient**. At every letter a plain recurrent cell writes a whole new
# state: a matrix, then a tanh, whose slope is at most 1.
#
# A **gate** is a number between 0 and 1, made by a small layer of its own from the input
# and the old state, that says how much passes. Here σ is the logistic function
# $1 / (1 + e^{-a})$, which squeezes any number between 0 and 1.

# %%
plots.show(draw.cells(), "cells")

# %% [markdown]
# The **GRU** (Cho et al. 2014) makes a *candidate* $n_t$, and its *update gate* $z_t$ says
# how much of the old state stays beside it. Its *reset gate* $r_t$ says how much of the old
# state the candidate hears:
#
# $$
# z_t = \sigma(W_z x_t + U_z h_{t-1})
# \qquad
# r_t = \sigma(W_r x_t + U_r h_{t-1})
# $$
#
# $$
# n_t = \tanh(W_n x_t + r_t \odot U_n h_{t-1})
# \qquad
# h_t = (1 - z_t) \odot n_t + z_t \odot h_{t-1}
# $$
#
# The **LSTM** (*long short-term memory*, Hochreiter and Schmidhuber 1997) keeps two
# states: a *cell* $c_t$ that is only scaled and added to, and what it shows of it, $h_t$.
# Its *forget gate* $f_t$ (Gers et al. 2000) says what stays, its *input gate* $i_t$ what is
# added, its *output gate* $o_t$ what is shown. All three are made as $z_t$ is, and $g_t$ as
# a plain cell's state:
#
# $$
# c_t = f_t \odot c_{t-1} + i_t \odot g_t
# \qquad
# h_t = o_t \odot \tanh(c_t)
# $$
#
# ($\odot$ multiplies number by number. Biases are left out.) Take one number of a GRU:
# old state 0.8, candidate −0.4, $z = 0.9$. The new state is
# $0.1 \cdot (-0.4) + 0.9 \cdot 0.8 = 0.68$. And if only the old state counted, the slope
# of this step would be $z$. A gate with $z$ near 1 is *open* here. (These are PyTorch's
# equations. In the paper, $r_t$ is multiplied before the matrix.)

# %% tags=["predict"]
predict(
    "A GRU as PyTorch starts it, untrained, reads 50 letters. How much is left of a "
    "gradient, 50 steps back?",
    {
        "most of it: that is what gates are for": "If they are open. PyTorch starts "
        "them near one half, and a half to the power of 50 is nothing.",
        "about a half": "That would be what is left after *one* step of a gate that is "
        "half open.",
        "less than a hundredth": (
            True,
            "Its gates start near one half. A gate keeps a gradient alive where "
            "training, or whoever starts it, has opened it.",
        ),
    },
    concept="C027",
)

# %%
cells = ("tanh", "tanh, orthogonal", "gates, as torch starts them",
         "tanh, a fixed share kept", "gates, held open")
left = {cell: torch.tensor([slopes.over_time(cell, seed) for seed in range(3)])
        for cell in cells}  # (3, 50) each: seeds, steps back
plots.show(draw.slopes_left(left), "slopes-left")

# %% [markdown]
# Five untrained cells: a plain one; one whose matrix is orthogonal (it keeps lengths, so
# only the tanh shrinks anything); PyTorch's GRU; a plain one that keeps a fixed share,
# 0.993 of the old state; and a GRU whose gates start near 0.993. The last two keep most.
# So a gradient is kept by keeping the old state, with a gate or without. What a gate adds:
# it depends on the input and the state, and it is trained.
#
# ### Yours: how much to keep
#
# Choose the share for the cell without a gate, so that after 50 steps between a quarter and
# a half of the gradient is left.

# %% tags=["yours"]
share = 0.94  # yours: a number from 0 to 1
intervene(
    "after 50 steps between a quarter and a half of the gradient is left",
    share,
    run=lambda share: slopes.over_time("tanh, a fixed share kept", 0, kept=share)[-1],
    holds=lambda left: 0.25 <= left <= 0.5,
    among=lambda share: 0 <= share <= 1,
    shows="{result:.2g} is left",
    otherwise=lambda share, left: "If nothing else counted, it would be the share to "
    f"the power of 50, {share**50:.2g}. The candidates pass on some of it, too.",
)

# %% tags=["claim"]
# The proof
claim("over 50 steps three of the cells keep less than a hundredth, and the two that "
      "keep the old state more than a half",
      max(left[cell][:, -1].max() for cell in cells[:3]) < 0.01
      and min(left[cell][:, -1].min() for cell in cells[3:]) > 0.5)
claim("over 12 steps an orthogonal cell keeps a quarter, and the GRU less than a "
      "fiftieth",
      left[cells[1]][:, 11].min() > 0.25 and left[cells[2]][:, 11].max() < 0.02)

# %% [markdown] name="cells-compared"
# ### Does the cell move the cliff?
#
# We gave the same words to other cells, three times each, for 1,200 and for 6,000 steps.
# GRUs and LSTMs had several learning rates to choose from. After 1,200 steps an LSTM of
# width 72 writes nine in ten words of 9 letters right, and our GRU of width 72 hardly six.
#
# Is that the cell? The LSTM hands over $h$ *and* $c$. The control: hand over $h$ alone, and
# let the decoder's cell start at 0.

# %% tags=["predict"]
predict(
    "Without the cell that is handed over, the LSTM’s share of words of 9 letters, "
    "after 1,200 steps, …",
    {
        "stays at nine in ten": "h shows what the output gate lets through of the "
        "cell. But then c, 72 numbers more, would have carried nothing.",
        "falls to about the GRU’s": (
            True,
            "h alone is 72 numbers, as the GRU’s state is; h and c are 144.",
        ),
        "falls to next to nothing": "The cell still works while a text is read. "
        "Training lets h show what will be needed.",
    },
    concept="C027",
)


# %%
def at_best(network, width, steps):
    """The three trainings with the learning rate that does best over all lengths."""
    rates = {row["rate"] for row in stored("03-cells")
             if (row["network"], row["width"]) == (network, width)} | {0.005}
    tried = [curves for rate in rates if (curves := kept(network, width, steps, rate))]
    return max(tried, key=lambda curves: sum(sum(each.values()) for each in curves))


kinds = {"LSTM 72: h and c, 144 numbers": ("LSTM", 72),
         "LSTM 72: h alone, 72 numbers": ("LSTM without its cell", 72),
         "LSTM 36: h and c, 72 numbers": ("LSTM", 36),
         "GRU 144: 144 numbers": ("one vector", 144),
         "GRU 72: 72 numbers": ("one vector", 72),
         "GRU 72, gates open at first": ("gates, held open", 72),
         "no gates, orthogonal: 72 numbers": ("tanh, orthogonal", 72)}
lstm, h_alone, narrow, wide_gru, gru, open_gates, no_gates = kinds
early = {(name, 1200): at_best(*kind, 1200) for name, kind in kinds.items()}
plots.show(draw.of_cells(early, (9,)), "of-cells-early")

# %% [markdown]
# How much is handed over counts more than the cell that does it: 144 numbers are ahead of
# 72, and among those with 72, GRU, LSTM and even plain cells without a gate are about
# alike. (Sutskever's LSTMs handed over 8,000 numbers, and had no trouble with long
# sentences: sections 3.4 and 3.7.)
#
# So it is after 1,200 steps. And after five times as many?

# %% tags=["predict"]
predict(
    "After 6,000 steps, which of these does best on words of 12 letters?",
    {
        "the LSTM that hands over 144 numbers": "It was ahead by far after 1,200 "
        "steps. The others have caught up.",
        "the GRU with 144 numbers": "It does well, and so does the LSTM.",
        "the plain cells: no gates, 72 numbers": (
            True,
            "Their matrices begin orthogonal, which keeps lengths. With a third of the "
            "GRU’s weights they need longer, and then do best.",
        ),
    },
    concept="C027",
)

# %%
late = {(name, 6000): at_best(*kind, 6000) for name, kind in kinds.items()}
plots.show(draw.of_cells(late, (12, 16, 20)), "of-cells-late")

# %% [markdown]
# Cells without any gate, and with half as many numbers, are at least as good as the best
# LSTM at 12 letters. **A verdict on cells at one budget is a verdict on that budget.** (And
# on a learning rate: for the last two cells, no other was tried.) What stands at both
# budgets: gates that begin open learn less here, at the same rate. And whatever the cell, a
# new state needs the old one, so letter 12 waits for letter 11, and next to no word of 20
# letters comes out right. **A gate keeps a gradient alive. The bottleneck stays.**

# %% tags=["claim"]
# The proof
nine = {name: [each[9] for each in curves] for (name, _), curves in early.items()}
twelve = {name: [each[12] for each in curves] for (name, _), curves in late.items()}
same_rate = {steps: kept("one vector", 72, steps) for steps in (1200, 6000)}
claim("after 1,200 steps an LSTM that hands over h alone falls back to the GRU",
      max(nine[h_alone]) < min(nine[lstm]) - 0.2
      and abs(sum(nine[h_alone]) - sum(nine[gru])) < 0.3)
claim("after 1,200 steps those that hand over 144 numbers are ahead of all others",
      min(nine[lstm] + nine[wide_gru])
      > max(max(nine[name]) for name in kinds if name not in (lstm, wide_gru)))
claim("after 6,000 steps no network does better at 12 letters than plain cells without "
      "gates", min(twelve[no_gates]) >= max(
          max(twelve[name]) for name in kinds if name != no_gates))
claim("gates that begin open learn less, at both budgets",
      max(nine[open_gates]) < min(each[9] for each in same_rate[1200])
      and max(twelve[open_gates]) < min(each[12] for each in same_rate[6000]))
claim("next to no word of 20 letters comes out right",
      max(each[20] for curves in late.values() for each in curves) < 0.01)

# %% [markdown] name="look-back"
# ## The way out: look back
#
# The encoder has a state after every letter, and we have been throwing all of them away
# but one. In 2014 Bahdanau, Cho and Bengio kept them all. Before each word the decoder
# **searches** them: which does it need now?
#
# "Search" sounds like picking one, **hard attention**. But a pick passes no gradient on,
# so training needs random sampling (Xu et al. 2015,
# [arXiv:1502.03044](https://arxiv.org/abs/1502.03044)). Theirs is **soft attention**: every
# state gets a weight, and the decoder reads the weighted sum.
#
# What remains is the score: how well does a state answer the decoder's question, its
# query? In lesson 02 the score was a dot product. But query and state come from two
# different networks, and need not be equally wide.
#
# ### One number first
#
# Take "star". Each letter is an input with three numbers: its *place*, from 0, whether it
# is a *vowel*, whether it is *tall*. We want its last letter first, so the query says
# *place 3*. It has a second number, always 1; you will see why.

# %%
word = "star"
inputs = torch.tensor([[0.0, 0, 0], [1, 0, 1], [2, 1, 0], [3, 0, 0]])  # X: (N, D_x)
query = torch.tensor([3.0, 1])  # q: (D_q,), place 3, please

# %% [markdown]
# Three numbers against two: no dot product. So **project both to a common width**, here 2,
# and add. Then tanh, and a last vector $v$ turns the result into one number, the
# **energy**:
#
# $$
# e_n = v \cdot \tanh(q W_q + x_n W_x)
# $$
#
# Each of the two numbers after the tanh is a *hidden unit*. We choose the matrices by hand
# today.

# %%
W_q = torch.tensor([[-2.0, -2], [2, -2]])  # (D_q, D_a)
W_x = torch.tensor([[2.0, 2], [0, 0], [0, 0]])  # (D_x, D_a): only the place counts
v = torch.tensor([4.0, -4])  # (D_a,)
query @ W_q, inputs[2] @ W_x  # the question, and the letter "a"

# %% [markdown]
# For "a" the two add up to (0, −4). tanh(0) is 0, and tanh(−4) is nearly −1. So its energy
# is $4 \cdot 0 + (-4) \cdot (-1) = 4$. "a" stands one place too early. And "r", at the right
# place?

# %%
energies = torch.stack([torch.tanh(query @ W_q + x @ W_x) @ v for x in inputs])  # e
weights = torch.softmax(energies, dim=0)  # α: (N,)
mixture = weights @ inputs  # y: (D_x,)
for name, each in (("energies", energies), ("weights", weights), ("mixture", mixture)):
    print(f"{name:9}", [round(number, 2) + 0.0 for number in each.tolist()])

# %% [markdown]
# How can a **sum** tell that two places agree? Here is the energy for a letter at any
# place. The first unit steps up one place before 3, the second one place after it (the
# constant 1 of the query shifts them). A step up, minus a later step up, leaves a bump.

# %%
places = torch.linspace(0, 6, 121)
anywhere = torch.stack([places, 0 * places, 0 * places], dim=1)  # (121, D_x)
units = torch.tanh(query @ W_q + anywhere @ W_x)  # (121, D_a)
plots.show(draw.bump(places, units, v), "bump")


# %%
def finds(W_q, asks=(0, 1, 2, 3)):
    """The letters of “star” with the largest weight, for each place that is asked."""
    hidden = torch.tanh(torch.tensor([[place, 1.0] for place in asks]) @ W_q
                        + (inputs @ W_x)[:, None])  # (N, asks, D_a)
    return "".join(word[n] for n in (hidden @ v).argmax(0).tolist())


# %% [markdown]
# ### Yours: one place to the right
#
# `finds(W_q)` asks for the places 0, 1, 2 and 3, and now gives "star". Change the second
# row of $W_q$, and nothing else, so that it finds the letter **one place to the right**:
# "tar", for the places 0, 1 and 2.

# %% tags=["yours"]
second_row = [0.0, -4.0]  # yours: two numbers in the place of 2 and −2
intervene(
    "asked for 0, 1 and 2, it finds “tar”",
    second_row,
    run=lambda row: finds(torch.tensor([[-2.0, -2], row]), (0, 1, 2)),
    holds=lambda found: found == "tar",
    among=lambda row: len(row) == 2 and max(map(abs, row)) <= 20,
    shows="it finds “{result}”",
    otherwise="The two units step where the sum in the tanh is 0: at the place asked "
    "for, minus half the number in the second row. Both have to step one place later.",
)

# %% tags=["predict"] name="no-tanh"
predict(
    "Leave out the tanh. (And take one unit alone, v = (1, 0), since 4 and −4 would "
    "cancel each other.) How do the weights for place 3 and for place 0 differ?",
    {
        "they are mirror images": "The query would have to turn the order round. What "
        "does it do to the four energies?",
        "not at all": (
            True,
            "Without the tanh the query adds the same number to all four energies, and "
            "a softmax does not notice that.",
        ),
        "each favours the place asked for": "For that, the energy has to rise and fall "
        "again over the places. A sum of two straight lines only rises.",
        "those for place 0 are flatter": "A constant added to all scores leaves the "
        "weights as they are.",
    },
    concept="C028",
)

# %%
one_unit = torch.tensor([1.0, 0])  # in the place of v
straight = {place: torch.softmax((torch.tensor([place, 1.0]) @ W_q + inputs @ W_x)
                                 @ one_unit, dim=0) for place in (3.0, 0.0)}  # (N,)
{place: [round(w, 3) for w in weights.tolist()] for place, weights in straight.items()}

# %% [markdown]
# The tanh is what lets query and input *meet*.

# %% tags=["claim"]
# The proof
claim("“a” has an energy of 4, and “r” gets nearly all the weight",
      abs(energies[2] - 4) < 0.01 and weights[3] > 0.97)
claim("the bump is highest at the place asked for",
      abs(places[(units @ v).argmax()] - 3) < 0.01)
claim("without the tanh the query has no say",
      torch.allclose(straight[3.0], straight[0.0]))

# %% [markdown] name="version-0"
# ## Version 0
#
# | part | lesson 02, untrained | version 0 |
# |---|---|---|
# | **inputs** | $x$ (T, D) | query $q$ $(D_q,)$, inputs $X$ $(N, D_x)$ |
# | **similarity** | $x \cdot x$ | $\boldsymbol{v \cdot \tanh(q W_q + x_n W_x)}$: a network projects both |
# | **outputs** | scores, weights (T, T), sequence (T, D) | energies $e$, weights $\alpha$ (N,), out $y$ $(D_x,)$ |
#
# The weights and the mixture are
#
# $$
# \alpha = \mathrm{softmax}(e)
# \qquad
# y = \sum_n \alpha_n x_n
# $$
#
# The network is trained: $W_q$ $(D_q, D_a)$, $W_x$ $(D_x, D_a)$, $v$ $(D_a,)$. Because it
# adds the two projections it is called **additive attention**.

# %% [markdown]
# ### Exercise 1: `additive_attention`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write version 0 for any query, inputs and matrices. The docstring is the whole contract.
# Try it wrong on purpose, too: leave out the tanh, or mix the projected inputs.
#
# <details><summary>Hint 1: a question</summary>
#
# `query @ W_q` has shape (D_a,), `inputs @ W_x` has shape (N, D_a). What does torch do when
# you add them?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a hidden layer for each input: both projections, added, then tanh
# 2. one energy for each input: the hidden layer with v
# 3. weights from the energies, over the N inputs
# 4. the sum of the inputs as they came in, each times its weight
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import additive_attention

# %%
attention_v0 = check(additive_attention).verified

# %% [markdown]
# It gives back the mixture alone. A trick shows the weights: append a name to every letter,
# a 1 in its own column and 0 in the others (**one-hot**). Names do not count in the score,
# and are mixed with the same weights, so the mixed name **is** the list of weights. Here
# places 3, 2, 1 and 0 are asked for, one after the other.

# %%
with_names = torch.cat([inputs, torch.eye(4)], dim=1)  # (N, 3 + 4)
W_x_named = torch.cat([W_x, torch.zeros(4, 2)])  # (3 + 4, D_a): names do not count
asked = [torch.tensor([place, 1.0]) for place in (3.0, 2.0, 1.0, 0.0)]
backwards_weights = torch.stack(
    [attention_v0(q, with_names, W_q, W_x_named, v)[3:] for q in asked])  # (4, N)
rows = [f"place {place}" for place in (3, 2, 1, 0)]
plots.show(plots.panels({"weights": backwards_weights}, rows, list(word), "weight",
                        labels=("input", "asked for")), "star-backwards")

# %% tags=["claim"]
# The proof
claim("version 0, asked for the last place first, reads “star” backwards",
      "".join(word[n] for n in backwards_weights.argmax(dim=1)) == "rats")

# %% [markdown] name="bahdanau-equations"
# ## In a decoder: Bahdanau attention
#
# We chose the matrices and asked the questions. In a translator the **decoder's state
# asks**, and training finds the matrices. $h_1, \dots, h_T$ are the encoder's states,
# $s_i$ is the decoder's state after word $i$. Section 3.1 of the paper, line by line, and
# where each line stands in our code:
#
# | equation | in words | in code |
# |---|---|---|
# | $e_{ij} = v \cdot \tanh(W_d\, s_{i-1} + W_e\, h_j)$ | energy, by a network: is $h_j$ needed now? | exercise 2 |
# | $\alpha_{ij} = \exp(e_{ij}) \,/ \sum_k \exp(e_{ik})$ | weight | exercise 2 |
# | $c_i = \sum_j \alpha_{ij}\, h_j$ | context: what is read before word $i$ | exercise 2 |
# | $s_i = f(s_{i-1}, y_{i-1}, \boldsymbol{c_i})$ | new state | `step`, line 3 |
# | $p(y_i \mid y_1, \dots, y_{i-1}, x) = g(y_{i-1}, s_i, \boldsymbol{c_i})$ | chance of word $i$ | `step`, line 4 |
#
# Compare with the bottleneck: **$c$ has become $c_i$**. Our decoder still starts from the
# last state. (The paper's $W_a$ and $U_a$ stand on the left, as here. In our code $W_d$ and
# $W_e$ stand on the right.)

# %% tags=["predict"]
predict(
    "A sentence of 9 words is translated into 11. How often is the small network with "
    "the tanh evaluated, one energy at a time?",
    {
        9: "Once for each source word, if the question were always the same. It is "
        "asked again before every word that is written.",
        11: "Once for each word that is written gives one *context* each. A context "
        "needs an energy for every source word.",
        20: "Reading and writing are 20 steps of the recurrent networks. Energies "
        "belong to *pairs*.",
        81: "That is every source word with every source word. Here the states of the "
        "decoder ask.",
        99: (
            True,
            "Each of the 11 words that are written asks all 9 states. The price of "
            "looking back grows with the product.",
        ),
        121: "The words that are written do not ask each other here.",
    },
    concept="C025",
    within=0.4,
)

# %% [markdown]
# ### Exercise 2: `bahdanau_context`
#
# ★★☆ · 20 minutes · about 7 lines
#
# Version 0 for a whole batch: every sentence has its own question and its own states. Short
# sentences are filled up with **padding**, and `src_mask` says which tokens are real:
# **padding must get no weight**.
#
# So set the energy of padding to −∞ *before* the softmax, because exp(−∞) = 0. Two letters
# with energies 2 and 1 and padding with energy 5: exp(2), exp(1), exp(−∞) are 7.39, 2.72, 0,
# so the weights are 0.73, 0.27, 0. With the 5 left in, padding would get 0.94.
# `energies.masked_fill(condition, -torch.inf)` or `torch.where` does it.
#
# <details><summary>Hint 1: a question about axes</summary>
#
# One projection has shape (B, A), the other (B, T, A). If you just add them, with which
# axis does torch line up the B? In `some_tensor[:, None]`, where does the new axis stand?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the hidden layers, (B, T, A)
# 2. the energies, (B, T)
# 3. where there is a mask, change the energies of padding
# 4. weights: a softmax over T
# 5. the context: for each sentence the weighted sum over T, shape (B, H_e)
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import bahdanau_context

# %%
look_back = check(bahdanau_context).verified

# %% [markdown]
# Try the mask. "star" gets four places of padding, to stand in a batch beside a word of
# eight letters. To make it hard, all padding claims to be at place 3, just as "r".

# %% tags=["predict"]
predict(
    "Without a mask, how much weight is left for “r”?",
    {
        0.2: (
            True,
            "Five inputs have the same energy, and share the weight. A mask has to be "
            "given; the scores cannot know what is padding.",
        ),
        0.25: "Four places of padding: with “r” itself, five share the weight.",
        0.98: "That is what “r” has alone. Padding at the same place has its energy.",
        0.5: "If padding counted as one input. But each of its places counts.",
        0: "All five have the same energy, “r” among them.",
        0.125: "That would be eight inputs with the same energy. “s”, “t” and “a” have "
        "lower ones.",
    },
    concept="C028",
    within=0.02,
)

# %%
dots = torch.tensor([[3.0, 0, 0]]).expand(4, 3)
padded = torch.cat([inputs, dots])[None]  # (1, 8, 3)
is_real = torch.tensor([[letter != "." for letter in "star...."]])  # (1, 8)
alone = look_back(query[None], inputs[None], W_q, W_x, v)[1]  # (1, 4)
masked = look_back(query[None], padded, W_q, W_x, v, is_real)[1]  # (1, 8)
unmasked = look_back(query[None], padded, W_q, W_x, v)[1]  # (1, 8)
for name, each in (("alone", alone), ("masked", masked), ("unmasked", unmasked)):
    print(f"{name:9}", [round(w, 2) for w in each[0].tolist()])

# %% tags=["claim"]
# The proof
claim("with the mask, padding changes nothing",
      torch.allclose(masked[:, :4], alone, atol=1e-5)
      and masked[0, 4:].abs().max() == 0)
claim("without it “r” keeps a fifth", abs(unmasked[0, 3] - 0.2) < 0.01)

# %% [markdown] name="looks-back"
# ## The same network, one method changed
#
# `LooksBack` inherits everything but `look` from `Bottleneck`. It is even smaller, 64
# numbers per state, and gets **half as many training steps**.

# %%
class LooksBack(Bottleneck):
    """The encoder-decoder with Bahdanau attention: your function looks back."""

    def __init__(self, H=64, A=64):
        super().__init__(H)
        self.W_d = nn.Parameter(torch.randn(H, A) / H**0.5)
        self.W_e = nn.Parameter(torch.randn(H, A) / H**0.5)
        self.v = nn.Parameter(torch.randn(A) / A**0.5)

    def look(self, state, states):
        return look_back(state, states, self.W_d, self.W_e, self.v)  # c_i: (B, H), α_i


{Model.__name__: sum(weight.numel() for weight in Model().parameters())
 for Model in (Bottleneck, LooksBack)}

# %% tags=["predict"]
predict(
    "It is trained for 600 steps on words of 1 to 12 letters. What becomes of words of "
    "12 letters, and of 20?",
    {
        "12: most right; 20: none": "So it is with one vector that was trained for "
        "long. What has a network to learn about length if it looks up each letter?",
        "12: most right; 20: about half": (
            True,
            "It looks up one letter after the other, and a longer word only has more "
            "of them. Something goes wrong more often, but not all at once.",
        ),
        "12: about half; 20: none": "Nothing has to be packed into one vector now.",
        "12: most right; 20: most right": "Nearly. No letter gets lost in a vector, "
        "but something else grows with the length.",
    },
    concept="C024",
)

# %%
searcher = train(LooksBack, steps=600)
looking = backwards.curve(searcher)
strongest = {"one vector, LSTM, 6,000 steps": late[lstm, 6000],
             "one vector, no gates, 6,000 steps": late[no_gates, 6000]}
plots.show(draw.rivals({"one vector, GRU, 1,200 steps": [plain]} | strongest | {
    "looking back, 64 numbers, 600 steps": [looking],
    "looking back, 36 numbers, 600 steps": kept("looking back", 36, 600)}),
    "looking-back")

# %% [markdown]
# The steep fall is gone, with fewer numbers to train and with far fewer steps. The best of
# the networks with one vector, after ten times as many steps, are better within the trained
# lengths, and have nothing left at 20. The paper's figure 2 shows the same for
# translation: without attention the curve falls. With it, trained on sentences of up to 50
# words, it stays level even beyond.
#
# Ours sinks, inside the trained range and beyond it. Is that the length again?

# %% tags=["claim"]
# The proof
back = kept("looking back", 64, 600)
claim("looking back for 600 steps, most words of 12 letters are right, and many of 20",
      all(each[12] > 0.75 and each[20] > 0.3 for each in back))
claim("the strongest with one vector, after 6,000 steps, are better at 12 letters, and "
      "get next to no word of 20",
      all(each[12] > max(b[12] for b in back) and each[20] < 0.01
          for curves in strongest.values() for each in curves))
claim("a network that looks back, trained today, comes out as it is stored",
      all(abs(looking[T] - kept("looking back", 64, 600)[0][T]) < 0.2 for T in looking))

# %% [markdown] name="alignment"
# ## Where does it look?
#
# The weights are a picture: one row for each letter written, one column for each letter
# read. The paper calls it a (soft) **alignment**, and shows which French word comes from
# which English one (figure 3). Ours has written "repaid" backwards, "diaper".

# %% tags=["predict"]
predict(
    "To write the last letter, “r”, it looks most at the state of …",
    {
        "“r”, the letter that is wanted": "It need not. Which states have heard of the "
        "“r”, if the encoder reads from left to right?",
        "“e”, one to the right of it": (
            True,
            "The state at “e” has read “re”. It knows both letters, and “e” is what "
            "the decoder has just written: that can be searched for.",
        ),
        "“d”, the last one, which has read the whole word": "That is where one vector "
        "would look, in every step. It can do better now.",
        "all six alike": "A mean over all states does not say which letter is next.",
    },
    concept="C026",
)


# %%
@torch.no_grad()
def alignment(model, word):
    """What is read, what is written, and the weights (T, T)."""
    logits, weights = backwards.write(model, to_ids(word))  # (1, T, K), (1, T, T)
    return list(word), [letters[i] for i in logits[0].argmax(-1)], weights[0]


read, written, weights = alignment(searcher, "repaid")
plots.show(plots.panels({"weights": weights}, written, read, "weight",
                        labels=("read", "written")), "repaid")

# %% tags=["nbval-ignore-output"]
translator = shipped.translator()  # of lesson 11


def aligned(french):
    """A French sentence, its English translation, and the weights (T_e, T_f)."""
    weights, english, words = opened.where_it_looks(translator, french)
    return words, english, weights


pairs = [alignment(searcher, "repaid"), alignment(searcher, "illusion"),
         aligned("Emma aime le chat noir")]
instruments.show("alignment", "instrument-alignment", pairs=pairs,
                 heard=["left", "left", None])

# %% [markdown]
# A diagonal, but **one place to the right** of the letter that is written. Point at the
# letters, and read which part of the word each state has heard. (The third button shows the
# course's translator. Its scores are made in another way, and its alignment is read in the
# same way.)
#
# The weights stand on **states**, not on letters. The state at "e" has read "re": it knows
# "e" best and remembers the "r" before it. And the decoder has just written that "e". So it
# could search for *the letter I have just written*, and read *what came before it*.
#
# That is a guess. The rival: it counts, and searches for *the next place*. Searching for a
# letter is **content-based** attention, searching for a place **location-based**.
#
# ### Yours: confuse it
#
# If it searches for the letter it has just written, which words must go wrong? Find one of
# at most 8 letters that this network does not write backwards. (Letters: a d e g i l m n o
# p r s t u v w.)

# %% tags=["yours", "nbval-ignore-output"]
hard_word = "assesses"  # yours: a word of at most 8 of these letters
intervene(
    "it cannot write this word backwards",
    hard_word,
    run=lambda word: "".join(alignment(searcher, word)[1]),
    holds=lambda written: written != hard_word[::-1],
    among=lambda word: 1 <= len(word) <= 8 and set(word) <= set(letters),
    shows="it writes “{result}”",
    otherwise="Which letters would a search for a letter find more than once?",
)

# %% [markdown]
# Repeats confuse it, as a search for letters would be confused. That is one word. Here are
# thousands, and the second test: **exchange the word while it writes.** After six of twelve
# letters the decoder gets the states of another word: the same letters, in another order.
# Is it drawn to the letter it has just written, or to the place where it would have looked?
#
# And a rival for the picture: an encoder that reads from **right to left**. Then no state
# to the right of "r" has heard of "r".

# %%
class ReadsFromTheRight(LooksBack):
    """The same, but the encoder begins at the last letter."""

    def read(self, source):
        states, last = super().read(source.flip(1))
        return states.flip(1), last  # state j has read letter j and all to its right


# %% tags=["predict"]
predict(
    "This second network learns the task, too. When its word is exchanged, it …",
    {
        "is drawn to the letter just written": "The state at that letter has read it "
        "and what stands to its *right*. What comes next stands to its left.",
        "is drawn to the place": (
            True,
            "The letter wanted is one that nothing written so far points at. It has to "
            "go by the place.",
        ),
        "looks at the last letter": "Once, for the first letter. It writes all twelve "
        "right, so it moves on.",
    },
    concept="C026",
)

# %%
from_the_right = train(ReadsFromTheRight, steps=600)
found = {model: backwards.exchanged(network, within=1) for model, network in
         (("from the left", searcher), ("from the right", from_the_right))}
maps = {"reads from the left": alignment(searcher, "repaid")[2],
        "reads from the right": alignment(from_the_right, "repaid")[2]}
plots.show(plots.panels(maps, list("diaper"), list("repaid"), "weight",
                        labels=("read", "written")), "two-alignments")

# %%
search = {(name, steps): [row for row in stored("03-search")
                          if (row["network"], row["steps"]) == (network, steps)]
          for name, network in (("from the left", "looking back"),
                                ("from the right", "from the right"))
          for steps in (600, 3000)}
plots.show(draw.drawn_to(search), "drawn-to")

# %% [markdown]
# Five trainings of each, for 600 and for 3,000 steps.
#
# | why does our curve sink? | control | result | verdict |
# |---|---|---|---|
# | words get longer | 16 letters, all different | next to no mistakes | no |
# | words get longer | 16 letters against 12, five repeats each | the longer do better | no |
# | letters come twice | 16 letters at random | one in four wrong; after 3,000 steps one in ten | yes |
# | it counts places | the word is exchanged | drawn to the letter, or one beside it | no |
#
# The network that reads from the right points at the letter that is wanted. It finds it by
# the place, and so fails more often where words are longer than in training. What to keep:
#
# - **Soft search works:** nobody told the network where to look. It learned the mirror from
#   right answers alone.
# - **A weight says which state was read, not which word mattered.** A state knows its
#   neighbours.
# - **A picture that looks right** is no proof that a network has learned the rule.
#
# All this holds for this task, this size and these numbers of steps.
# Bahdanau's encoder is a **bidirectional** RNN: it reads in *both* directions and joins the
# two states, so that $h_j$ sums up what stands around word $j$ (section 3.2).

# %% tags=["claim"]
# The proof
draws = {"from the left": ("letter_within_1", "place_within_1"),
         "from the right": ("place_within_1", "letter_within_1")}
claim("reading from the left it looks one place to the right, and reading from the "
      "right at the letter wanted, after 600 steps and after 3,000",
      all(row["one_right" if name == "from the left" else "mirror"] > 0.9
          for (name, _), rows in search.items() for row in rows))
claim("one is drawn to the letter or beside it, the other to the place or beside it, "
      "after 600 steps and after 3,000",
      all(row[draws[name][0]] > 2 * row[draws[name][1]]
          for (name, _), rows in search.items() for row in rows))
searching = [row for (name, _), rows in search.items()
             if name == "from the left" for row in rows]
claim("with all letters different next to no word of 16 letters is wrong, and longer "
      "words with as many repeats do better",
      all(row["different_16"] < 0.01 < 0.05 < row["random_16"]
          and row["five_repeats_16"] > row["five_repeats_12"] for row in searching))
claim("what draws the two networks trained today is what is stored",
      all(abs(found[name][what] - search[name, 600][0][f"{what}_within_1"]) < 0.2
          for name in found for what in ("letter", "place")))

# %% [markdown]
# ### Yours: lines that cross
#
# Back to the real translator. "Emma loves the black cat": its lines cross, since the French
# cat comes before its colour. Find another sentence, without *noir*, in which a later
# English word looks at an earlier French one. (It knows *chat, chien, maison, pomme,
# femme, enfant, oiseau, voiture*, the adjectives *blanc, rouge, petit, grand, vieux*, the
# verbs *voit, aime, vend, garde, trouve, achète*, *le, la, les, un, une, ce, deux, trois*
# and some names, such as *Jane* and *Paul*.)

# %%
def looks(french):
    """Where each English word looks most: the places, and the same in words."""
    words, english, weights = aligned(french)
    places = weights.argmax(1).tolist()[:-1]
    seen = [f"{word} at {words[n]}" for word, n in zip(english, places, strict=False)]
    return places, ", ".join(seen)


# %% tags=["yours"]
sentence = "Paul vend une pomme rouge"  # yours: a French sentence without “noir”
intervene(
    "a later English word looks most at an earlier French one",
    sentence,
    run=looks,
    holds=lambda found: found[0] != sorted(found[0]),
    among=lambda sentence: len(sentence.split()) > 2 and "noir" not in sentence,
    shows="{result[1]}",
    otherwise="Most adjectives stand behind their noun in French, and some before it.",
)

# %% tags=["claim"]
# The proof
claim("the translator looks at “noir” to write “black”, and then at “chat” to write "
      "“cat”",
      looks("Emma aime le chat noir")[1].endswith("black at noir, cat at chat"))

# %% [markdown] name="luong"
# ## The other name: Luong
#
# A year later Luong, Pham and Manning compared ways to score
# ([arXiv:1508.04025](https://arxiv.org/abs/1508.04025)):
#
# | part | Bahdanau 2014 | Luong 2015 |
# |---|---|---|
# | **asks** | the state before the step, $s_{i-1}$ | the state after it, $s_i$ |
# | **score** | $v \cdot \tanh(W_d s + W_e h)$ | $s \cdot h$ (*dot*), $s \cdot W h$ (*general*), |
# | | | $v \cdot \tanh(W [s; h])$ (*concat*) |
# | **context goes** | into the next state and output | through tanh into output and next step (*input feeding*) |
#
# $[s; h]$ is $s$ and $h$, one below the other.

# %% tags=["predict"]
predict(
    "With matrices that fit, two of these four scores are the same. Which two?",
    {
        "dot and general": "Only where the matrix of *general* is the one that changes "
        "nothing.",
        "Bahdanau's and concat": (
            True,
            "One wide matrix times [s; h] is two matrices, one for each, and a sum.",
        ),
        "general and concat": "concat has a tanh, and general has none.",
        "Bahdanau's and general": "Bahdanau's adds and bends; general multiplies.",
    },
    concept="C029",
)

# %%
generator = torch.Generator().manual_seed(1)
s, h = torch.randn(4, generator=generator), torch.randn(5, 4, generator=generator)
W_d, W_e, W = torch.randn(3, 4, 4, generator=generator)
one_v = torch.randn(4, generator=generator)
both = torch.cat([s.expand(5, 4), h], dim=1)  # [s; h], a row for each h: (5, 8)
scores = {"Bahdanau": torch.tanh(s @ W_d + h @ W_e) @ one_v, "dot": h @ s,
          "general": h @ W.T @ s,
          "concat": torch.tanh(both @ torch.cat([W_d, W_e])) @ one_v}  # (5,) each
{name: [round(e, 2) for e in values.tolist()] for name, values in scores.items()}

# %% [markdown]
# So *concat* is Bahdanau's score in another notation. And *dot* has no matrix, no tanh,
# nothing to train at all.

# %% tags=["claim"]
# The proof
claim("of the four, only Bahdanau's and concat are the same",
      [{a, b} for a in scores for b in scores if a < b
       and torch.allclose(scores[a], scores[b], atol=1e-6)] == [{"Bahdanau", "concat"}])

# %% tags=["predict", "later"]
predict(
    "A decoder attends to 30 encoder states of width 512. How many numbers is the "
    "context of one step?",
    {
        "30": "That is how many *weights* it has.",
        "512": (True, "A weighted sum of states is as wide as one of them."),
        "30 · 512": "That would be all states side by side. They are added up.",
        "1": "That is an energy, before the softmax.",
    },
    concept="C025",
)

# %% tags=["predict", "later"]
predict(
    "A colleague shows you a heat map in which the French word “accord” looks at the "
    "English “agreement”, and concludes that the model read the meaning off that word "
    "alone. What does the map leave open?",
    {
        "whether the weights sum to one": "They do, by the softmax.",
        "what else that state had read": (
            True,
            "The weight lies on the encoder's state at “agreement”, which knows its "
            "neighbours, too.",
        ),
        "nothing: the weight is on that word": "It is on a *state*. Ours looked one "
        "place beside the letter it wrote.",
    },
    concept="C026",
)

# %% [markdown]
# ## Summary
#
# - An encoder-decoder without attention passes on one vector, as long for 400 letters as
#   for 4. How much it carries moves with its width and with the training.
# - GRU and LSTM have gates, and open gates keep a gradient alive. Which cell does best
#   depends on the number of steps. One vector remains.
# - Version 0: energies $v \cdot \tanh(q W_q + x_n W_x)$, softmax, weighted sum of the
#   inputs. The tanh lets the query have a say.
# - Bahdanau: the decoder's state asks before every word, and the context $c$ becomes $c_i$.
#   The steep fall is gone.
# - An alignment shows which states were read, not what was searched for.
#
# **Think about it.** The network that reads from the right goes by the place. Does it count
# from the beginning of the word or from its end? Which exchange of words would tell?
#
# <details><summary>An answer</summary>
#
# Exchange the word for one that is two letters longer, and once put the two in front, once
# behind. A network that counts from the end looks at the same place, counted from the end,
# in both cases; one that counts from the beginning at the same place, counted from there.
# (The second half of the answer is to run it: `backwards.exchanged` is the place to start.)
#
# </details>
#
# **In the paper.** [Bahdanau, Cho and Bengio 2015](https://arxiv.org/abs/1409.0473),
# sections 2.1 (the bottleneck), 3.1 (equations 4 to 6), appendix A.1.2 (the network a),
# figures 2 and 3. Before it: [Cho et al. 2014](https://arxiv.org/abs/1406.1078) and
# [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215), who found that reading the source
# backwards helps (section 3.3). After it:
# [Luong et al. 2015](https://arxiv.org/abs/1508.04025), equation 8.
#
# **Next.** Version 0 computes a hidden layer for every pair of query and input. Lesson 04
# throws the network out and keeps a dot product. It is much faster, and then something
# breaks.
