# %% [markdown]
# # 03 · The bottleneck, Bahdanau, version 0
#
# *70 minutes · needs lesson 02 · two exercises*
#
# **At the end you can**
#
# - say why a network that reads into one vector fails on long inputs, and measure where;
# - write version 0, the attention of 2014, and put it into a decoder that looks back;
# - read an alignment heat map, and say what a weight does *not* tell you.

# %%
from functools import cache

import matplotlib.pyplot as plt
import torch
from torch import nn

from course_lib import check
from course_lib.display import plots
from course_lib.training import fit

torch.set_num_threads(1)

# %% [markdown] name="bottleneck"
# ## Read, then write
#
# In 2014 two groups translated with two recurrent networks (Cho et al., Sutskever et al.). The **encoder** reads the
# source word by word and keeps one state. The **decoder** starts from that state and writes. Nothing else passes from
# one to the other.
#
# Bahdanau's translators were trained for days. Our toy has the same shape and takes seconds: read a word letter by
# letter, then write it backwards.
#
# ```
# s → t → a → r → [ one vector ] → r → a → t → s
# ```
#
# Every letter becomes a number first, its place in a list of 16.

# %%
letters = "adegilmnoprstuvw"
K = START = len(letters)  # 16 letters; number 16 says "begin to write"


def to_ids(word):
    return torch.tensor([[letters.index(letter) for letter in word]])  # (B, T) = (1, T)


to_ids("star"), to_ids("rats")

# %% [markdown]
# Here are both networks. `read` gives all states of the encoder and the last one. `look` says what the decoder gets
# to see of them: always the last one, whatever it is about to write.

# %%
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

# %% [markdown]
# **Predict:** how many numbers does the decoder get for "star", and how many for a text of 400 letters?

# %%
model = Bottleneck()
vectors = {T: model.read(torch.zeros(1, T, dtype=torch.long))[1] for T in (4, 400)}
the_vector_is_as_long_for_4_letters_as_for_400 = vectors[4].shape == vectors[400].shape == (1, 72)
assert the_vector_is_as_long_for_4_letters_as_for_400
{T: tuple(vector.shape) for T, vector in vectors.items()}

# %% [markdown]
# 72 numbers, always. This is the **fixed-length bottleneck**: a hundred times the text, the same room.
#
# **A claim to test:** "a word of 12 letters does not fit into 72 numbers". Count bits before you judge: how many does
# one of 16 letters need, and how many has a float32?

# %%
bits_of_the_word = 12 * 4  # 2 ** 4 = 16 letters
bits_of_the_vector = 72 * 32
there_is_room_on_paper = bits_of_the_word < bits_of_the_vector / 10
assert there_is_room_on_paper
bits_of_the_word, bits_of_the_vector

# %% [markdown]
# **Verdict: false.** On paper there is plenty of room. What is hard is to **learn** how to pack letter after letter
# into one vector, and how to unpack each at the right time. How far does training get?
#
# The decoder writes one letter a step. It gets the letter before, what it sees of the source, and its own state:
#
# - s_i = f(s_{i−1}, y_{i−1}, c): the new state
# - p(y_i | …) = g(y_{i−1}, s_i, c): a probability for each letter
#
# In training, y_{i−1} is the *right* letter before, even if the decoder would have written another ("teacher
# forcing"). Later it has to live with its own.

# %%
def write(model, source, target=None):
    """Write as many letters as were read: logits (B, T, K) and weights (B, T, T), one row a step."""
    states, state = model.read(source)  # (B, T, H), (B, H)
    letter = torch.full((len(source),), START)
    logits, weights = [], []
    for i in range(source.shape[1]):
        context, row = model.look(state, states)  # c: (B, H), (B, T)
        y = model.embed(letter)  # (B, D)
        state = model.decoder(torch.cat([y, context], -1), state)  # f
        logits.append(model.out(torch.cat([y, state, context], -1)))  # g
        weights.append(row)
        letter = logits[-1].argmax(-1) if target is None else target[:, i]
    return torch.stack(logits, 1), torch.stack(weights, 1)


logits, _ = write(model, to_ids("star"))
tuple(logits.shape)  # (B, T, K)

# %% [markdown]
# We train on random words of 1 to 12 letters, all lengths equally often, one length a batch. So nothing can be
# learned by heart, and no padding is needed.

# %%
def random_words(T, how_many, generator):
    source = torch.randint(K, (how_many, T), generator=generator)
    return source, source.flip(1)  # (how_many, T) twice


random_words(4, 2, torch.Generator().manual_seed(0))


# %%
def loss_of(model, source, target):
    """Cross-entropy of the letters it writes, when every letter before was right."""
    logits, _ = write(model, source, target)
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def batches(steps, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        T = torch.randint(1, 13, (), generator=generator).item()
        yield random_words(T, 64, generator)


# %% [markdown]
# `fit` from `course_lib.training` is the loop of the whole course: for each batch it works out the loss, sends the
# gradients back and lets the optimizer take one step. `clip` shortens a gradient that is longer than 1.

# %%
def train(Model, steps, seed=0):
    """Adam, with a learning rate that rises to 0.005 and falls to nearly 0."""
    torch.manual_seed(seed)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.005, total_steps=steps)
    fit(model, loss_of, batches(steps, seed), optimizer, schedule, clip=1.0)
    return model


# %% [markdown]
# The measure is strict: a word counts only if **every** letter is right.

# %%
@torch.no_grad()
def share_right(model, source):
    """The share of words that are written backwards without a mistake."""
    written = write(model, source)[0].argmax(-1)  # (B, T)
    return (written == source.flip(1)).all(1).float().mean().item()


def curve(model):
    """That share for 300 fresh words of each length from 1 to 20."""
    generator = torch.Generator().manual_seed(99)
    return {T: share_right(model, random_words(T, 300, generator)[0]) for T in range(1, 21)}


# %%
def draw_curves(curves, alt):
    figure, axis = plt.subplots(figsize=(7, 3.4))
    axis.axvspan(12.5, 20.5, color="0.92", label="longer than in training")
    for (name, points), style in zip(curves.items(), ("s--", "o-", "^:"), strict=False):
        axis.plot(list(points), list(points.values()), style, label=name)
    axis.set(xlabel="letters in the word", ylabel="words without a mistake", ylim=(-0.03, 1.03), xlim=(0.5, 20.5))
    axis.set_xticks(range(2, 21, 2))
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    plots.show(figure, alt)


# %% [markdown]
# **Predict:** draw the curve for 1 to 20 letters before you see it. The network has seen every length up to 12
# equally often. Is it equally good up to 12? And what comes after?

# %%
plain = curve(train(Bottleneck, steps=1200))
draw_curves({"one vector": plain}, "Share of words without a mistake over their length. One vector: near 1 up to 6 "
            "letters, then it falls steeply, to about a half at 9, almost nothing at 12 and zero beyond.")

# %% [markdown] name="falls-off"
# ## Where it falls off
#
# The network saw as many words of 12 letters as of 3. Still, the curve falls **inside** the trained range, where the
# vector no longer holds what training has learned to pack. Beyond the range nothing is left.
#
# Translation has the same trouble: quality falls as sentences grow
# (Cho et al., [arXiv:1409.1259](https://arxiv.org/abs/1409.1259)), and Bahdanau et al. expected most trouble for
# sentences longer than those in training (section 1).

# %%
short_words_are_easy = min(plain[T] for T in (1, 2, 3, 4)) > 0.95
long_words_fail_although_they_were_trained = plain[12] < 0.3
beyond_training_nothing_is_left = max(plain[T] for T in range(16, 21)) < 0.05
assert short_words_are_easy
assert long_words_fail_although_they_were_trained
assert beyond_training_nothing_is_left
print("most words without a mistake:", {T: plain[T] > 0.5 for T in (4, 12, 20)})

# %% [markdown] name="gates"
# ## Would a better cell help?
#
# A plain recurrent cell writes a whole new state at every letter. What it should keep has to be written anew each
# time. **Gates** mend that. A gate z is a number between 0 and 1, from a small layer of its own:
#
# new state = (1 − z) · candidate + z · old state
#
# **One number:** the state is 1, the candidate is always 0. How much of the 1 is left after 12 letters with z = 0.9?
# With z = 0.99?

# %%
left = {z: round(z**12, 2) for z in (0.5, 0.9, 0.99)}  # the candidate adds nothing
a_gate_near_one_keeps_most = left[0.99] > 0.85 > 0.3 > left[0.9]
assert a_gate_near_one_keeps_most
left

# %% [markdown]
# Our network *has* such gates: it is a GRU (2014), with two gates and a candidate. The LSTM (1997) has three gates
# and a candidate. Every gate and every candidate has matrices of its own. **Predict:** how many times as many numbers
# as a plain cell do GRU and LSTM train?

# %%
def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


cells = {"RNN": nn.RNNCell(32, 72), "GRU": nn.GRUCell(32, 72), "LSTM": nn.LSTMCell(32, 72)}
blocks = {name: count(cell) / count(cells["RNN"]) for name, cell in cells.items()}
a_gru_is_three_cells_and_an_lstm_four = list(blocks.values()) == [1, 3, 4]
assert a_gru_is_three_cells_and_an_lstm_four
blocks

# %% [markdown]
# More complexity, then. And the waiting? Lesson 00 counted how many operations stand in a row, each waiting for the
# one before. **Predict:** do gates shorten that chain?

# %%
@cache
def longest_chain(node):
    return 1 + max((longest_chain(earlier) for earlier, _ in node.next_functions if earlier), default=0)


def last_state(cell, T):
    state = None
    for _ in range(T):
        state = cell(torch.zeros(1, 32), state)
    return state[0] if isinstance(state, tuple) else state  # an LSTM hands on two vectors


chains = {name: [longest_chain(last_state(cell, T).grad_fn) for T in (4, 8, 12, 16)] for name, cell in cells.items()}
chains

# %%
added = {name: [b - a for a, b in zip(chain, chain[1:], strict=False)] for name, chain in chains.items()}
four_more_letters_always_add_as_much = all(len(set(steps)) == 1 and steps[0] > 0 for steps in added.values())
gates_make_the_chain_longer = min(chains["GRU"][-1], chains["LSTM"][-1]) > chains["RNN"][-1]
assert four_more_letters_always_add_as_much
assert gates_make_the_chain_longer
added

# %% [markdown]
# **Gates keep a memory alive. They do not remove the bottleneck:** all still ends in one vector of fixed length, and
# letter 12 still waits for letter 11.
#
# ## The other way out: look back
#
# The encoder has a state after every letter, and we have been throwing all of them away but one. In 2014 Bahdanau,
# Cho and Bengio kept them all. Before each word the decoder **searches** them: which of you do I need now?
#
# "Search" sounds like picking one. But picking has no slope, so nothing could be trained. Their search is **soft**:
# every state gets a weight, and the decoder reads the weighted sum.
#
# What remains is the score: how well does a state answer the question? In lesson 02 it was a dot product. Question
# and state come from two different networks, though. They need not even be equally wide.
#
# ## One number first
#
# Take "star". Each letter is an input with three numbers: its *place*, whether it is a *vowel*, whether it is *tall*.
# We want its last letter first, so the question says *place 3*. It has a second number, always 1; you will see why.

# %%
word = "star"
inputs = torch.tensor([[0.0, 0, 0], [1, 0, 1], [2, 1, 0], [3, 0, 0]])  # (N, D_x) = (4, 3)
query = torch.tensor([3.0, 1])  # (D_q,): place 3, please

# %% [markdown]
# Three numbers against two: no dot product. So **project both to a common width**, here 2, and add. Then tanh, and a
# last vector v turns the result into one number, the **energy**. We choose the matrices by hand today.

# %%
W_q = torch.tensor([[-2.0, -2], [2, -2]])  # (D_q, D_a)
W_x = torch.tensor([[2.0, 2], [0, 0], [0, 0]])  # (D_x, D_a): vowel and tall do not count
v = torch.tensor([4.0, -4])  # (D_a,)
projected = query @ W_q, inputs[2] @ W_x  # the question, and the letter "a"
projected

# %% [markdown]
# **On paper:** add the two vectors. Then use tanh(0) = 0 and tanh(−4) ≈ −1. What is the energy of "a"?

# %%
hidden_of_a = torch.tanh(projected[0] + projected[1])  # (D_a,)
energy_of_a = (hidden_of_a @ v).item()
the_energy_of_a_is_four = abs(energy_of_a - (4 * 0 + -4 * -1)) < 0.01
assert the_energy_of_a_is_four
round(energy_of_a, 2)

# %% [markdown]
# "a" stands one place too early. Is the energy of "r", at the right place, higher?

# %%
energies = torch.stack([torch.tanh(query @ W_q + letter @ W_x) @ v for letter in inputs])  # (N,)
weights = torch.softmax(energies, dim=0)  # (N,)
mixture = weights @ inputs  # (D_x,)
r_is_found = weights[3].item() > 0.97
assert r_is_found
print("energies:", dict(zip(word, [round(e, 2) for e in energies.tolist()], strict=True)))
print("weights: ", dict(zip(word, [round(w, 2) for w in weights.tolist()], strict=True)))
print("mixture: ", [round(m, 2) for m in mixture.tolist()], " r:", inputs[3].tolist())

# %% [markdown]
# How can a **sum** tell that two places agree? Draw the energy for any place. One hidden unit steps up just before
# the place in question, the other just after it (that is what the constant 1 is for). Up minus up leaves a bump.

# %%
places = torch.linspace(0, 6, 121)
letters_anywhere = torch.stack([places, 0 * places, 0 * places], dim=1)  # (121, D_x)
units = torch.tanh(query @ W_q + letters_anywhere @ W_x)  # (121, D_a)
bump_stands_at_the_question = abs(places[(units @ v).argmax()].item() - 3) < 0.01
assert bump_stands_at_the_question
figure, axis = plt.subplots(figsize=(5.5, 3.2))
axis.plot(places, v[0] * units[:, 0], "--", label="4 × first unit")
axis.plot(places, v[1] * units[:, 1], ":", label="−4 × second unit")
axis.plot(places, units @ v, label="energy: their sum")
axis.set(xlabel="place of a letter", ylabel="energy", title="asked: place 3")
axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
plots.show(figure, "Over the place of a letter: the first hidden unit steps up near place 2, the second, turned over, "
                   "steps down near place 4. Their sum is a bump that is highest at place 3.")

# %% [markdown] name="no-tanh"
# **Predict:** leave out the tanh, and ask for place 3 and for place 0. How do the weights differ?

# %%
first_unit = torch.tensor([1.0, 0])  # in place of v, whose 4 and −4 would cancel everything here


def without_tanh(place):
    return torch.softmax((torch.tensor([place, 1.0]) @ W_q + inputs @ W_x) @ first_unit, dim=0)  # (N,)


asked_for = {place: without_tanh(place) for place in (3.0, 0.0)}
without_tanh_the_query_has_no_say = torch.allclose(asked_for[3.0], asked_for[0.0])
assert without_tanh_the_query_has_no_say
{place: [round(w, 2) for w in weights.tolist()] for place, weights in asked_for.items()}

# %% [markdown]
# Not at all. Without tanh the query adds the same number to all four energies, and a softmax does not notice what is
# added to all. The tanh is what lets query and input *meet*.

# %% [markdown] name="version-0"
# ## Version 0
#
# | part | lesson 02, untrained | version 0 |
# |---|---|---|
# | **inputs** | x (T, D) | query q (D_q,), inputs X (N, D_x) |
# | **similarity** | x · x | **v · tanh(q W_q + x_n W_x)**, a feed-forward network that projects both |
# | **outputs** | scores (T, T), weights (T, T), sequence (T, D) | energies e (N,), weights a (N,), mixture y (D_x,) |
#
# a = softmax(e), and y = Σ_n a_n x_n. The network is trained: W_q (D_q, D_a), W_x (D_x, D_a), v (D_a,). Because it
# adds the two projections it is called *additive* attention.

# %% [markdown]
# ### Exercise 1: `additive_attention`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write version 0 for any query, inputs and matrices. The docstring is the whole contract. Try it wrong on purpose,
# too: leave out the tanh, or mix the projected inputs, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# `query @ W_q` has shape (D_a,), `inputs @ W_x` has shape (N, D_a). What does torch do when you add them?
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
# It gives back the mixture alone. A trick shows the weights: give every letter a one-hot name, which does not count
# in the score. Names are mixed with the same weights, so the mixed name **is** the list of weights.
#
# **Predict:** ask for places 3, 2, 1, 0, one after the other. What picture do the weights make?

# %%
with_names = torch.cat([inputs, torch.eye(4)], dim=1)  # (N, 3 + 4)
W_x_named = torch.cat([W_x, torch.zeros(4, 2)])  # (3 + 4, D_a): names do not count


def weights_for(place):
    return attention_v0(torch.tensor([place, 1.0]), with_names, W_q, W_x_named, v)[3:]  # (N,)


backwards = torch.stack([weights_for(place) for place in (3.0, 2.0, 1.0, 0.0)])  # (4, N)
found = "".join(word[n] for n in backwards.argmax(dim=1))
version_0_reads_star_backwards = found == "rats"
assert version_0_reads_star_backwards
figure, axes = plt.subplots(figsize=(3, 3))
plots.heat_map(axes, backwards, ["place 3", "place 2", "place 1", "place 0"], list(word), title=found)
axes.set(xlabel="input", ylabel="asked for")
axes.tick_params("x", rotation=0)
plots.show(figure, "Weights, 4 by 4, for the letters s, t, a, r. The large weights, 0.95 to 0.98, stand on the "
                   "diagonal from top right to bottom left: place 3 finds r, place 0 finds s.")

# %% [markdown]
# And if the question lies between two letters? A hard search would have to choose. **Predict** the weights for place
# 1.5.

# %%
between = weights_for(1.5)
a_soft_search_looks_at_both = torch.allclose(between[1], between[2], atol=1e-4) and between[1].item() > 0.49
assert a_soft_search_looks_at_both
dict(zip(word, [round(w, 2) for w in between.tolist()], strict=True))

# %% [markdown] name="bahdanau-equations"
# ## In a decoder: Bahdanau attention
#
# We chose the matrices and asked the questions. In a translator the **decoder's state asks**, and training finds the
# matrices. h_1 … h_T are the encoder's states, s_i is the decoder's state after word i. Section 3.1 of the paper,
# line by line, and where each line stands in our code:
#
# | equation | in words | in code |
# |---|---|---|
# | e_ij = a(s_{i−1}, h_j) = v · tanh(W_d s_{i−1} + W_e h_j) | energy: does h_j suit what comes next? | exercise 2 |
# | α_ij = exp(e_ij) / Σ_k exp(e_ik) | weight | exercise 2 |
# | c_i = Σ_j α_ij h_j | context: what is read before word i | exercise 2 |
# | s_i = f(s_{i−1}, y_{i−1}, **c_i**) | new state | `write`, line `# f` |
# | p(y_i given y_1 … y_{i−1}, x) = g(y_{i−1}, s_i, **c_i**) | probabilities of word i | `write`, line `# g` |
#
# Compare with the bottleneck: **c has become c_i**. Nothing else. (The paper calls the two matrices W_a and
# U_a. Its vectors are columns, so the matrix stands on the left; ours are rows, with the matrix on the right.)

# %% [markdown]
# ### Exercise 2: `bahdanau_context`
#
# ★★☆ · 20 minutes · about 7 lines
#
# Version 0 for a whole batch: every sentence has its own question and its own states. Short sentences are filled up
# with *padding*, and `src_mask` says which tokens are real: **padding must get no weight**. Return the weights, too.
#
# <details><summary>Hint 1: a question about axes</summary>
#
# One projection has shape (B, A), the other (B, T, A). If you just add them, with which axis does torch line up the
# B? In `some_tensor[:, None]`, where does the new axis stand?
#
# </details>
# <details><summary>Hint 2: a question about padding</summary>
#
# A weight is exp(energy) divided by a sum. Which energy makes exp(energy) zero? `masked_fill` can write it wherever a
# condition holds. Is that before or after the softmax?
#
# </details>
# <details><summary>Hint 3: the steps</summary>
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
# Try the mask. "star" gets four places of padding, to stand in a batch beside a word of eight letters. To make it
# hard, the padding claims to be at place 3, just as "r". **Predict:** how much weight is left for "r", with the mask
# and without?

# %%
x = torch.cat([inputs, torch.tensor([[3.0, 0, 0]]).expand(4, 3)])[None]  # (1, 8, 3)
is_real = torch.tensor([[letter != "." for letter in "star...."]])  # (1, 8)
alone = look_back(query[None], inputs[None], W_q, W_x, v)[1]  # (1, 4)
masked = look_back(query[None], x, W_q, W_x, v, is_real)[1]  # (1, 8)
unmasked = look_back(query[None], x, W_q, W_x, v)[1]  # (1, 8)
with_the_mask_padding_changes_nothing = torch.allclose(masked[:, :4], alone, atol=1e-5)
without_it_r_keeps_a_fifth = abs(unmasked[0, 3].item() - 0.2) < 0.01
assert with_the_mask_padding_changes_nothing
assert without_it_r_keeps_a_fifth
for name, weights in {"alone": alone, "masked": masked, "unmasked": unmasked}.items():
    print(f"{name:9}", [round(w, 2) for w in weights[0].tolist()])

# %% [markdown]
# ## The same network, one method changed
#
# `LooksBack` inherits everything from `Bottleneck`: encoder, decoder, `read`, and it is trained by the same `write`.
# It is even smaller, 64 numbers a state, and gets **half as many training steps**. Whatever it does better is not due
# to size.

# %%
class LooksBack(Bottleneck):
    """The encoder-decoder with Bahdanau attention: your function decides what is read."""

    def __init__(self, H=64, A=64):
        super().__init__(H)
        self.W_d = nn.Parameter(torch.randn(H, A) / H**0.5)
        self.W_e = nn.Parameter(torch.randn(H, A) / H**0.5)
        self.v = nn.Parameter(torch.randn(A) / A**0.5)

    def look(self, state, states):
        return look_back(state, states, self.W_d, self.W_e, self.v)  # c_i: (B, H), (B, T)


the_bottleneck_has_more_to_train = count(Bottleneck()) > count(LooksBack())
assert the_bottleneck_has_more_to_train
print(f"numbers to train: one vector {count(Bottleneck()):,}, looking back {count(LooksBack()):,}")

# %% [markdown]
# **Predict:** draw the new curve beside the old one. Mind the grey part: both were trained up to 12 letters.

# %%
searcher = train(LooksBack, steps=600)
looking = curve(searcher)
draw_curves({"one vector": plain, "looking back": looking}, "Share of words without a mistake over their length. One "
            "vector falls to almost nothing at 12 letters. Looking back stays above 0.9 up to 10, is a little below "
            "that at 12, and sinks slowly beyond, to about 0.6 at 20.")

# %%
looking_back_holds_at_twelve = looking[12] > 0.75 > 0.25 > plain[12]
it_sinks_slowly_beyond = looking[12] - 0.05 > looking[20] > 0.35
assert looking_back_holds_at_twelve
assert it_sinks_slowly_beyond
print("most words without a mistake:", {T: looking[T] > 0.5 for T in (4, 8, 12)})

# %% [markdown]
# The steep fall is gone, with fewer numbers and half the training. The paper's figure 2 shows the same for
# translation: one curve falls, the other, trained on sentences of up to 50 words, stays level even beyond.
#
# Ours does not stay level. It sinks, inside the trained range and beyond it. Is that the length again? Keep the
# question.

# %% [markdown] name="alignment"
# ## Where does it look?
#
# The weights are a picture: one row for each letter written, one column for each letter read. The paper calls it a
# (soft) **alignment**, and shows which French word comes from which English one (figure 3).
#
# **Predict** it for "repaid", written backwards: "diaper". Where is the bright square in each row?

# %%
@torch.no_grad()
def draw_alignment(axes, model, word):
    """The weights for one word; rows are the letters written, columns the letters read."""
    logits, weights = write(model, to_ids(word))  # (1, T, K), (1, T, T)
    written = [letters[i] for i in logits[0].argmax(-1)]
    plots.heat_map(axes, weights[0], written, list(word))
    axes.set(xlabel="read", ylabel="written")
    axes.tick_params("x", rotation=0)


figure, axes = plt.subplots(figsize=(4, 4))
draw_alignment(axes, searcher, "repaid")
plots.show(figure, "Weights, 6 by 6, for repaid, written as diaper. Each row has one bright square. They run from top "
                   "right to bottom left, but one column to the right of the letter that is written; the first two "
                   "rows share the last column, and the first column stays dark.")

# %% [markdown]
# A diagonal from top right to bottom left, as it should be. But look closely. To write the last letter, "r", it looks
# at "e", **one place to the right** of "r". An accident of this word? Take 300 random words of 8 letters.

# %%
@torch.no_grad()
def looks_at(model, T=8):
    """How far to the right of the letter wanted the largest weight stands: (300, T)."""
    source, _ = random_words(T, 300, torch.Generator().manual_seed(7))
    weights = write(model, source)[1]  # (300, T, T)
    return weights.argmax(-1) - torch.arange(T).flip(0)


off_by = looks_at(searcher)[:, 1:]  # in its first step it cannot look further right than the last letter
it_looks_one_to_the_right = (off_by == 1).float().mean().item() > 0.9
assert it_looks_one_to_the_right
print("most often off by:", off_by.flatten().mode().values.item())

# %% [markdown]
# Nearly always. How can the wrong column give the right letter?
#
# The weights stand on **states**, not on letters. The encoder reads from left to right, so the state at "e" has read
# "re": it knows "e" best and remembers the "r" before it. And the decoder has just written that "e". So it could
# search for *the letter I have just written*, and read *what came before it*.
#
# That is a guess. A good guess predicts something new. Two tests:
#
# 1. Words with a letter twice should confuse it: which of the two has it just written? Words whose letters are **all
#    different** should be safe, also beyond the trained lengths.
# 2. If the encoder reads from **right to left**, no state to the right of "r" knows of "r". Then it cannot look
#    there.
#
# **Predict** the first: how many words of 16 letters, all different, come out right? Training stopped at 12.

# %%
shuffled = torch.rand(1000, K, generator=torch.Generator().manual_seed(3)).argsort(1)  # (1000, 16), each letter once
repeating, _ = random_words(16, 1000, torch.Generator().manual_seed(3))
all_different, some_twice = share_right(searcher, shuffled), share_right(searcher, repeating)
different_letters_are_safe_beyond_training = all_different > 0.97
repeats_are_what_confuses_it = some_twice < 0.9
assert different_letters_are_safe_beyond_training
assert repeats_are_what_confuses_it
print("16 letters, all different: more than 97 in 100 right;  drawn at random: fewer than 90 in 100")

# %% [markdown]
# The first test is passed, and the question from above has its answer: **our curve sinks because long words repeat
# more letters**, not because they are long.
#
# Now the second. Change one method, train again. **Predict:** where does the diagonal go?

# %%
class ReadsFromTheRight(LooksBack):
    """The same, but the encoder begins at the last letter."""

    def read(self, source):
        states, last = super().read(source.flip(1))
        return states.flip(1), last  # state j has read letter j and all letters to its right


from_the_right = train(ReadsFromTheRight, steps=600)
figure, axes = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
for axis, model, name in zip(axes, (searcher, from_the_right), ("left to right", "right to left"), strict=True):
    draw_alignment(axis, model, "repaid")
    axis.set_title(f"encoder reads from {name}")
plots.show(figure, "Two heat maps for repaid, written as diaper. Encoder from left to right: bright squares one column "
                   "right of the mirrored letter. From right to left: the largest weight of each row stands on "
                   "the diagonal from top right to bottom left, and its neighbours get some, too.")

# %%
mirrored = looks_at(from_the_right) == 0
now_it_looks_at_the_mirrored_letter = mirrored.float().mean().item() > 0.9
assert now_it_looks_at_the_mirrored_letter
print("most often off by:", looks_at(from_the_right).flatten().mode().values.item())

# %% [markdown]
# The guess holds again. What to keep:
#
# - **Soft search works:** nobody told the network where to look. It learned the mirror from right answers alone.
# - **A weight says which state was read, not which word mattered.** A state knows its neighbours, too.
#
# Bahdanau's encoder reads in *both* directions and joins the two states, so that h_j sums up what stands around word
# j (section 3.2).
#
# One thing is left to compare. **Predict:** the map on the right points where it should. Is that network better
# beyond 12 letters?

# %%
mirror = curve(from_the_right)
draw_curves({"one vector": plain, "looking back": looking, "looking back, read from the right": mirror},
            "As before, with a third curve: read from the right it stays near 1 up to 12 letters, above the other two, "
            "and falls steeply beyond, to zero at 18, where looking back from left to right is still at 0.7.")

# %%
lost_inside = [sum(1 - points[T] for T in range(1, 13)) for points in (looking, mirror)]
inside_it_makes_fewer_mistakes = lost_inside[1] < 0.7 * lost_inside[0]
beyond_it_breaks = mirror[18] < 0.1 and looking[18] > 0.3
assert inside_it_makes_fewer_mistakes
assert beyond_it_breaks
print("at 18 letters the map that points right belongs to the better network:", mirror[18] > looking[18])

# %% [markdown]
# **No.** Inside the trained range it is the best of the three. Beyond, it breaks. A picture that looks right is no
# proof that a network has learned the rule.

# %% [markdown] name="luong"
# ## The other name: Luong
#
# A year later Luong, Pham and Manning compared ways to score ([arXiv:1508.04025](https://arxiv.org/abs/1508.04025)):
#
# | part | Bahdanau 2014 | Luong 2015 |
# |---|---|---|
# | **asks** | the state before the step, s_{i−1} | the state after it, s_i |
# | **similarity** | v · tanh(W_d s + W_e h) | *dot*: s · h, *general*: s · W h, *concat*: v · tanh(W [s; h]) |
# | **context goes** | into the next state and the output | into the output, through a tanh layer |
#
# [s; h] is s and h, one below the other. **Predict:** three of these four scores are different. Which two are the
# same?

# %%
generator = torch.Generator().manual_seed(1)
s, h = torch.randn(4, generator=generator), torch.randn(5, 4, generator=generator)  # (H,), (T, H)
W_d, W_e, W = torch.randn(3, 4, 4, generator=generator)
one_v = torch.randn(4, generator=generator)
energies = {
    "Bahdanau": torch.tanh(s @ W_d + h @ W_e) @ one_v,
    "dot": h @ s,
    "general": h @ W.T @ s,
    "concat": torch.tanh(torch.cat([s.expand(5, 4), h], dim=1) @ torch.cat([W_d, W_e])) @ one_v,
}  # (T,) each
concat_is_bahdanaus_score = torch.allclose(energies["concat"], energies["Bahdanau"], atol=1e-6)
dot_is_general_without_a_matrix = torch.allclose(h @ torch.eye(4) @ s, energies["dot"])
assert concat_is_bahdanaus_score
assert dot_is_general_without_a_matrix
{name: [round(e, 2) for e in values.tolist()] for name, values in energies.items()}

# %% [markdown]
# One tall matrix times [s; h] is two matrices, one for each, and a sum. So *concat* is Bahdanau's score, written
# otherwise. And *dot* has no matrix, no tanh, nothing to train at all. Can that be enough? The next lesson tries it.

# %% [markdown]
# ## Summary
#
# - An encoder-decoder without attention passes on one vector, as long for 400 letters as for 4. Long words
#   fail, although training showed them as often as short ones.
# - Gates (GRU, LSTM) keep a memory alive, at the price of more matrices. One vector remains, and letter after letter.
# - Version 0: energies v · tanh(q W_q + x W_x), softmax, weighted sum of the inputs. The tanh lets the query have a
#   say.
# - Bahdanau: the decoder's state asks before every word, and the context c becomes c_i. The steep fall is gone. How
#   far beyond the trained lengths it works depends on what the network has learned to search for.
# - An alignment map shows which states were read. A state knows its neighbours.
#
# **Think about it.** The network that reads from the right is hardly disturbed by repeated letters, and it breaks
# beyond the trained lengths. What might *it* search for? Which test would tell?
#
# **In the paper.** [Bahdanau, Cho and Bengio 2015](https://arxiv.org/abs/1409.0473), sections 2.1 (the bottleneck),
# 3.1 (equations 4 to 6), appendix A.1.2 (the network a), figures 2 and 3.
# Before it: [Cho et al. 2014](https://arxiv.org/abs/1406.1078) and
# [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215), who found that reading the source backwards helps (section
# 3.3). After it: [Luong et al. 2015](https://arxiv.org/abs/1508.04025), equation 8.
#
# **Next.** Version 0 computes a hidden layer for every pair of query and input. Lesson 04 throws the network out and
# keeps a dot product. It is much faster, and then something breaks.
