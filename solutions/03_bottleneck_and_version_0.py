# %% [markdown]
# # 03 · The bottleneck, Bahdanau, version 0
#
# *70 minutes · needs lesson 02 · two exercises*
#
# **At the end you can**
#
# - measure where a network that reads into one vector begins to fail, and what moves that length;
# - write version 0, the attention of 2014, and put it into a decoder that looks back;
# - read an alignment heat map, and say what a weight does *not* tell you.

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn

from course_lib import check
from course_lib.display import plots
from course_lib.experiments.stored import stored
from course_lib.training import fit

torch.set_num_threads(1)

# %% [markdown] name="bottleneck"
# ## Read, then write
#
# In 2014 two groups (Cho et al., Sutskever et al.) each translated with two *recurrent* networks. Such a network takes
# one vector in per step and updates another one, its *state*. The **encoder** reads the source word by word. The
# **decoder** starts from its last state and writes. Nothing else passes from one to the other. Such a pair is called a
# **sequence-to-sequence** network.
#
# Our toy has the same shape: read a word letter by letter, then write it backwards.
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
# Ours is a **GRU** (*gated recurrent unit*; its inside comes later). One step, `nn.GRUCell`, takes an input (B, D) and
# a state of H numbers, (B, H), and returns the new state (B, H). `nn.GRU` takes the steps over a whole word, (B, T, D),
# and returns all T states and the last one.
#
# `read` is the encoder. `look` says what the decoder sees of the encoder's states. `decoder` and `out` are used below.

# %% tags=["given"]
from course_lib.experiments.backwards import Bottleneck

# %% [markdown]
# **Predict:** how many numbers does the decoder get for "star", and how many for a text of 400 letters? Do these
# numbers change, in an untrained network, if we exchange the first letter?

# %%
torch.manual_seed(0)
model, change = Bottleneck(), {}
for T in (4, 400):
    two = torch.zeros(2, T, dtype=torch.long)
    two[1, 0] = 1
    vectors = model.read(two)[1]  # (B, H)
    change[T] = (vectors[1] - vectors[0]).abs().max().item()
    print(f"{T} letters: {vectors.shape[1]} numbers, changed by {change[T]:.2f} at most")
the_first_of_400_letters_leaves_no_trace = change[4] > 0.05 and change[400] < 1e-5
assert the_first_of_400_letters_leaves_no_trace

# %% [markdown]
# 72 numbers, always: `look` returns the last state, whatever is written next. This is the **fixed-length bottleneck**.
# Untrained, it keeps no trace of the first of 400 letters.
#
# Is that too small for 12 letters? Not on paper: one of 16 letters has 4 bits, so the word has 48, and 72 numbers of 32
# bits have 2,304. But the network has to **learn** how to pack the letters into one vector, and how to unpack each at
# the right time. How far does training get?
#
# The decoder writes one letter per step. It gets the letter before, $y_{i-1}$, what it sees of the source, $c$, and its
# own state, $s_{i-1}$. Its two networks, $f$ and $g$, give the new state and a probability for each letter:
#
# $$
# s_i = f(s_{i-1}, y_{i-1}, c)
# \qquad
# p(y_i \mid y_1, \dots, y_{i-1}, x) = g(y_{i-1}, s_i, c)
# $$
#
# $g$ ends in one number per letter, the **logits**: scores of any size, which a softmax turns into probabilities.

# %% tags=["given"]
from course_lib.experiments.backwards import step

# %%
states, last = model.read(to_ids("star"))
[tuple(each.shape) for each in step(model, torch.tensor([START]), last, states)]  # logits, state, weights

# %% [markdown]
# In training, $y_{i-1}$ is the *right* letter before, even if the decoder would have written another ("teacher
# forcing"). Later it gets the letter that it wrote itself.

# %% tags=["given"]
from course_lib.experiments.backwards import write

# %% [markdown]
# Training makes the **cross-entropy** small: minus the logarithm of the probability that the *right* letter got. It is
# 0 where that probability is 1.
#
# **On paper:** three letters have the logits 2, 1 and 0. exp makes 7.39, 2.72 and 1 of them. What is the
# cross-entropy if the first letter is right, and what if the last one is?

# %%
three = torch.tensor([2.0, 1, 0])
[round(nn.functional.cross_entropy(three, torch.tensor(right)).item(), 2) for right in range(3)]

# %% [markdown]
# We train on random words of 1 to 12 letters, all lengths equally often, one length per batch. So nothing can be
# learned by heart, and no padding is needed.

# %% tags=["given"]
from course_lib.experiments.backwards import random_words

# %%
random_words(4, 2, torch.Generator().manual_seed(0))

# %% tags=["given"]
from course_lib.experiments.backwards import loss_of


# %%
def batches(steps, seed):
    """64 words at each step, all of one length from 1 to 12."""
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

# %% tags=["given"]
from course_lib.experiments.backwards import share_right


# %%
def curve(model):
    """That share for 300 fresh words of each length from 1 to 20."""
    generator = torch.Generator().manual_seed(99)
    return {T: share_right(model, random_words(T, 300, generator)[0]) for T in range(1, 21)}


# %%
def draw_curves(curves, alt):
    """A line for each name; where several trainings share it, their median, and a band from the least to the most."""
    figure, axis = plt.subplots(figsize=(7, 3.4))
    axis.axvspan(12.5, 20.5, color="0.92", label="longer than in training")
    for (name, trainings), style in zip(curves.items(), ("s--", "o-", "^:", "v-.", "D-", "x:"), strict=False):
        shares = torch.tensor([list(points.values()) for points in trainings])  # (trainings, 20)
        (line,) = axis.plot(range(1, 21), shares.median(dim=0).values, style, label=name, markersize=4)
        axis.fill_between(range(1, 21), shares.amin(0), shares.amax(0), color=line.get_color(), alpha=0.25)
    axis.set(xlabel="letters in the word", ylabel="words without a mistake", ylim=(-0.03, 1.03), xlim=(0.5, 20.5))
    axis.set_xticks(range(2, 21, 2))
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    plots.show(figure, alt)


# %% [markdown]
# **Predict:** draw the curve for 1 to 20 letters. The network has seen every length up to 12 equally often. Is it
# equally good up to 12? And what comes after?

# %%
plain = curve(train(Bottleneck, steps=1200))
draw_curves({"one vector": [plain]}, "Share of words without a mistake over their length. One vector: near 1 up to 6 "
            "letters, then it falls steeply, to about a half at 9, almost nothing at 12 and zero beyond.")

# %% [markdown] name="falls-off"
# ## Where it falls off
#
# The curve falls **inside** the trained range. Call this fall the *cliff*. Is the vector too narrow, or the training
# too short? We trained three widths for 1,200 and for 6,000 steps, with three seeds each. That takes minutes, so the
# results are stored: `course_lib/experiments/results/03-cliff.tsv` names the command.
#
# **Predict:** which moves the cliff further, twice the width or five times the steps?

# %%
def kept(network, width, steps):
    """The stored curves of three seeds, as `curve` would return them."""
    same = [row for row in stored("03-cliff") + stored("03-cells")
            if (row["network"], row["width"], row["steps"]) == (network, width, steps)]
    return [{T: row[f"at_{T}"] for T in range(1, 21)} for row in same]


cliffs = {(width, steps): kept("one vector", width, steps) for steps in (1200, 6000) for width in (36, 72, 144)}
draw_curves({f"{width} numbers, {steps:,} steps": each for (width, steps), each in cliffs.items()},
            "Six curves with narrow bands, all near 1 up to 4 letters and at zero from 18 on. With 36, 72 and 144 "
            "numbers they cross a half near 7.5, 9 and 10 letters after 1,200 steps, and near 11, 13.5 and 14.5 "
            "after 6,000.")

# %%
at_twelve = {key: [round(each[12], 2) for each in curves] for key, curves in cliffs.items()}  # three seeds each
the_cliff_moves_with_width = all(min(at_twelve[2 * width, steps]) > max(at_twelve[width, steps])
                                 for width in (36, 72) for steps in (1200, 6000))
the_cliff_moves_with_training = all(min(at_twelve[width, 6000]) > max(at_twelve[width, 1200])
                                    for width in (36, 72, 144))
five_times_the_steps_move_it_further = all(min(at_twelve[w, 6000]) > max(at_twelve[2 * w, 1200]) for w in (36, 72))
at_18_letters_nothing_is_left = max(each[18] for curves in (*cliffs.values(), [plain]) for each in curves) < 0.05
the_run_of_today_agrees = all(abs(plain[T] - cliffs[72, 1200][0][T]) < 0.15 for T in plain)
assert the_cliff_moves_with_width
assert the_cliff_moves_with_training
assert five_times_the_steps_move_it_further
assert at_18_letters_nothing_is_left
assert the_run_of_today_agrees
at_twelve

# %% [markdown]
# Both move it. Five times the steps do more than twice the width, though 5 against 2 is an unequal race. 72 numbers
# carried hardly any word of 12 letters after 1,200 steps, and more than 8 in 10 after 6,000. So they were not full:
# **what one vector can carry depends on its width and on how long it has learned to pack.** At 18 letters, beyond the
# trained range, nothing is left.
#
# Translation has the same trouble: quality falls as sentences grow (Cho et al.,
# [arXiv:1409.1259](https://arxiv.org/abs/1409.1259)).

# %% [markdown] name="gates"
# ## Would another cell help?
#
# How much does the last state change if an early one changes? Each step in between has a slope, and the slopes
# multiply. **A product of many slopes well below 1 is next to nothing**: the **vanishing gradient**. At every letter a
# plain recurrent cell writes a whole new state: a matrix, then a tanh, whose slope is at most 1. With a **gate** this
# is only the *candidate*. The gate z, between 0 and 1, comes from a small layer of its own and says how much of the old
# state stays:
#
# $$
# \text{new state} = (1 - z) \cdot \text{candidate} + z \cdot \text{old state}
# $$
#
# If only the last term counted, the slope would be z. A gate with z near 1 is *open* here. **Predict** how much is left
# of the product after 12 and after 50 steps of five untrained cells: a plain one; one whose matrix is orthogonal (it
# keeps lengths, so only tanh shrinks anything); a GRU; a plain one that keeps a fixed share, 0.993 of the old state; a
# GRU whose gates start near 0.993.

# %%
from course_lib.experiments import slopes

kinds = ("tanh", "tanh, orthogonal", "gates, as torch starts them", "tanh, a fixed share kept", "gates, held open")
left = {kind: torch.tensor([slopes.over_time(kind, seed) for seed in range(3)]) for kind in kinds}  # (3, 50) each
little_is_left_of_the_first_three = max(left[kind][:, -1].max() for kind in kinds[:3]) < 0.01
the_last_two_keep_most = min(left[kind][:, -1].min() for kind in kinds[3:]) > 0.5
over_12_steps_orthogonal_keeps_more = left[kinds[1]][:, 11].min() > 0.25 > 0.02 > left[kinds[2]][:, 11].max()
assert little_is_left_of_the_first_three
assert the_last_two_keep_most
assert over_12_steps_orthogonal_keeps_more
{kind: {steps: f"{each[:, steps - 1].median():.2g}" for steps in (1, 12, 50)} for kind, each in left.items()}

# %% [markdown]
# Over 50 steps an open gate keeps most of the gradient, and so does a fixed share without a gate. (0.993⁵⁰ is 0.70; the
# candidates pass on some, too.) Over 12, the orthogonal cell keeps a good quarter, and torch's GRU about a hundredth.
# What a gate adds: it depends on the letter and the state, and it is trained. Our GRU (2014) has two gates and a
# candidate. The LSTM (*long short-term memory*, 1997) has three and a candidate; its third gate, *forget*, is from Gers
# et al. 2000. Each part has its own matrices, so they have three and four times the numbers of a plain cell.
#
# Does the cell move the cliff? We trained two other cells, with 72 numbers, for 1,200 steps (`03-cells`, three seeds
# each). **Predict** their shares at 9 and 12 letters: plain orthogonal cells, and GRUs that begin with open gates.

# %%
rivals = {"GRU, as torch starts it": cliffs[72, 1200]} | {name: kept(name, 72, 1200) for name in (kinds[1], kinds[4])}
at = {T: {name: sorted(round(each[T], 2) for each in curves) for name, curves in rivals.items()} for T in (9, 12)}
gru, orthogonal, open_at_first = at[9].values()
orthogonal_does_as_well_at_nine = orthogonal[1] > gru[1] - 0.05  # the medians
open_at_first_learns_less = max(open_at_first) < min(gru)
none_moves_the_cliff = all(max(at[12][name]) <= min(at[12]["GRU, as torch starts it"]) for name in list(rivals)[1:])
assert orthogonal_does_as_well_at_nine
assert open_at_first_learns_less
assert none_moves_the_cliff
at

# %% [markdown]
# In these 1,200 steps neither of the two writes more words of 12 letters. The plain orthogonal cell, with a third of
# the numbers, does as well as the GRU at 9; gates that begin open learn less. And with gates or without, a new state
# needs the old one: letter 12 waits for letter 11. **An open gate keeps a gradient alive. The bottleneck stays:** what
# was read still ends in one vector of fixed length.
#
# ## The way out: look back
#
# The encoder has a state after every letter, and we have been throwing all of them away but one. In 2014 Bahdanau, Cho
# and Bengio kept them all. Before each word the decoder **searches** them: which does it need now?
#
# "Search" sounds like picking one, **hard attention**. But a pick passes no gradient on, so training needs random
# sampling (Xu et al. 2015, [arXiv:1502.03044](https://arxiv.org/abs/1502.03044)). Theirs is **soft attention**: every
# state gets a weight, and the decoder reads the weighted sum.
#
# What remains is the score: how well does a state answer the decoder's question, its query? In lesson 02 the score was
# a dot product. But query and state come from two different networks, and need not be equally wide.
#
# ## One number first
#
# Take "star". Each letter is an input with three numbers: its *place*, from 0, whether it is a *vowel*, whether it is
# *tall*. We want its last letter first, so the query says *place 3*. It has a second number, always 1; you will see
# why.

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
# How can a **sum** tell that two places agree? Draw the energy for any place. Each *hidden unit* is one of the two
# numbers after the tanh. The first steps up one place before 3, the second one place after (the constant 1 shifts
# them). A step up minus a later step up leaves a bump.

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
# **Predict:** leave out the tanh, and ask for place 3 and for place 0. How do the weights differ? (The two parts of v,
# 4 and −4, would cancel everything here, so v becomes (1, 0).)

# %%
first_unit = torch.tensor([1.0, 0])  # in place of v


def without_tanh(place):
    return torch.softmax((torch.tensor([place, 1.0]) @ W_q + inputs @ W_x) @ first_unit, dim=0)  # (N,)


asked_for = {place: without_tanh(place) for place in (3.0, 0.0)}
without_tanh_the_query_has_no_say = torch.allclose(asked_for[3.0], asked_for[0.0])
assert without_tanh_the_query_has_no_say
{place: [round(w, 2) for w in weights.tolist()] for place, weights in asked_for.items()}

# %% [markdown]
# Not at all. Without tanh the query adds the same number to all four energies, and a softmax does not notice that. The
# tanh is what lets query and input *meet*.

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
# The network is trained: $W_q$ $(D_q, D_a)$, $W_x$ $(D_x, D_a)$, $v$ $(D_a,)$. Because it adds the two projections it
# is called *additive* attention.

# %% [markdown]
# ### Exercise 1: `additive_attention`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write version 0 for any query, inputs and matrices. The docstring is the whole contract. Try it wrong on purpose, too:
# leave out the tanh, or mix the projected inputs.
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
# It gives back the mixture alone. A trick shows the weights: append a name to every letter, a 1 in its own column and 0
# in the others (*one-hot*). It does not count in the score. Names are mixed with the same weights, so the mixed name
# **is** the list of weights.
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
plots.heat_map(axes, backwards, ["place 3", "place 2", "place 1", "place 0"], list(word), title=found, kind="weight")
axes.set(xlabel="input", ylabel="asked for")
axes.tick_params("x", rotation=0)
plots.show(figure, "Weights, 4 by 4, for the letters s, t, a, r. The large weights, 0.95 to 0.98, stand on the "
                   "diagonal from top right to bottom left: place 3 finds r, place 0 finds s.")

# %% [markdown] name="bahdanau-equations"
# ## In a decoder: Bahdanau attention
#
# We chose the matrices and asked the questions. In a translator the **decoder's state asks**, and training finds the
# matrices. $h_1, \dots, h_T$ are the encoder's states, $s_i$ is the decoder's state after word $i$. Section 3.1 of the
# paper, line by line, and where each line stands in our code:
#
# | equation | in words | in code |
# |---|---|---|
# | $e_{ij} = v \cdot \tanh(W_d\, s_{i-1} + W_e\, h_j)$ | energy, by a network: is $h_j$ needed now? | exercise 2 |
# | $\alpha_{ij} = \exp(e_{ij}) \,/ \sum_k \exp(e_{ik})$ | weight | exercise 2 |
# | $c_i = \sum_j \alpha_{ij}\, h_j$ | context: what is read before word $i$ | exercise 2 |
# | $s_i = f(s_{i-1}, y_{i-1}, \boldsymbol{c_i})$ | new state | `step`, line `# f` |
# | $p(y_i \mid y_1, \dots, y_{i-1}, x) = g(y_{i-1}, s_i, \boldsymbol{c_i})$ | chance of word $i$ | `step`, line `# g` |
#
# Compare with the bottleneck: **$c$ has become $c_i$**. Our decoder still starts from the last state. (The paper's
# $W_a$ and $U_a$ stand on the left, as here. In our code $W_d$ and $W_e$ stand on the right.)

# %% [markdown]
# ### Exercise 2: `bahdanau_context`
#
# ★★☆ · 20 minutes · about 7 lines
#
# Version 0 for a whole batch: every sentence has its own question and its own states. Short sentences are filled up
# with *padding*, and `src_mask` says which tokens are real: **padding must get no weight**.
#
# So set the energy of padding to −∞ *before* the softmax, because exp(−∞) = 0. Two letters with energies 2 and 1 and
# padding with energy 5: exp(2), exp(1), exp(−∞) are 7.39, 2.72, 0, so the weights are 0.73, 0.27, 0. With the 5 left
# in, padding would get 0.94. `energies.masked_fill(condition, -torch.inf)` or `torch.where` does it.
#
# <details><summary>Hint 1: a question about axes</summary>
#
# One projection has shape (B, A), the other (B, T, A). If you just add them, with which axis does torch line up the
# B? In `some_tensor[:, None]`, where does the new axis stand?
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
# `LooksBack` inherits everything but `look` from `Bottleneck`, so the decoder still starts from the last state. It is
# even smaller, 64 numbers per state, and gets **half as many training steps**.

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


to_train = {Model.__name__: sum(each.numel() for each in Model().parameters()) for Model in (Bottleneck, LooksBack)}
to_train

# %% [markdown]
# **Predict:** draw the new curve beside the old one.

# %%
searcher = train(LooksBack, steps=600)
looking = curve(searcher)
narrow = kept("looking back", 36, 600)
draw_curves({"one vector": [plain], "looking back": [looking], "looking back, 36 numbers": narrow},
            "Share of words without a mistake over their length. One vector falls to almost nothing at 12 letters. "
            "Looking back stays above 0.9 up to 10, is a little below that at 12, and sinks slowly beyond, to about "
            "0.6 at 20. With 36 numbers, a band of three seeds, it is near 0.7 at 12 and between 0.1 and 0.35 at 20.")

# %%
looking_back_holds_at_twelve = looking[12] > 0.75 > 0.25 > plain[12]
it_sinks_slowly_beyond = looking[12] - 0.05 > looking[20] > 0.35
half_the_width_beats_long_training = min(each[12] for each in narrow) > max(at_twelve[36, 6000] + at_twelve[144, 1200])
today_agrees_again = all(abs(looking[T] - kept("looking back", 64, 600)[0][T]) < 0.2 for T in looking)
assert looking_back_holds_at_twelve
assert half_the_width_beats_long_training
assert today_agrees_again
assert it_sinks_slowly_beyond

# %% [markdown]
# The steep fall is gone, with fewer numbers to train and half the training. With 36 numbers it sinks sooner. Yet at 12
# letters these 36, after 600 steps, beat one vector of 36 after 6,000, and one of 144 after 1,200. (One of 144 after
# 6,000 is ahead at 12, and at zero at 18.) The paper's figure 2 shows the same for translation: without attention the
# curve falls. With it, trained on sentences of up to 50 words, it stays level even beyond.
#
# Ours sinks, inside the trained range and beyond it. Is that the length again?

# %% [markdown] name="alignment"
# ## Where does it look?
#
# The weights are a picture: one row for each letter written, one column for each letter read. The paper calls it a
# (soft) **alignment**, and shows which French word comes from which English one (figure 3).
#
# **Predict** it for "repaid", written backwards: "diaper". Where is the largest weight in each row?

# %%
@torch.no_grad()
def draw_alignment(axes, model, word):
    """The weights for one word; rows are the letters written, columns the letters read."""
    logits, weights = write(model, to_ids(word))  # (1, T, K), (1, T, T)
    written = [letters[i] for i in logits[0].argmax(-1)]
    plots.heat_map(axes, weights[0], written, list(word), kind="weight")
    axes.set(xlabel="read", ylabel="written")
    axes.tick_params("x", rotation=0)


figure, axes = plt.subplots(figsize=(4, 4))
draw_alignment(axes, searcher, "repaid")
plots.show(figure, "Weights, 6 by 6, for repaid, written as diaper. Each row has one large weight. They run from top "
                   "right to bottom left, but one column to the right of the letter that is written; the first two "
                   "rows share the last column, and the first column gets next to nothing.")

# %% [markdown]
# A diagonal, as it should be. But to write the last letter, "r", it looks at "e", **one place to the right** of "r". An
# accident of this word? Take 300 random words of 8 letters.

# %% tags=["given"]
from course_lib.experiments.backwards import looks_at

# %%
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
# That is a guess. The rival: it counts, and searches for *the next place*. Two tests tell them apart:
#
# 1. A letter that comes twice should confuse a search for letters, and counting much less.
# 2. **Exchange the word while it writes.** After six of twelve letters, the decoder gets the states of another word:
#    the same letters, in another order. Is it drawn to the *letter* it has just written, or to the *place* where it
#    would have looked?
#
# Searching for a letter is **content-based** attention, searching for a place **location-based**. **Predict** test 1:
# how many words of 16 letters come out right if all letters are different, and how many at random? Training stopped
# at 12.

# %% tags=["given"]
from course_lib.experiments.backwards import different_words

# %%
generator = torch.Generator().manual_seed(3)
shuffled, repeating = different_words(16, 1000, generator), random_words(16, 1000, generator)[0]  # (1000, 16)
all_different, some_twice = share_right(searcher, shuffled), share_right(searcher, repeating)
different_letters_are_safe_beyond_training = all_different > 0.97
repeats_are_what_confuses_it = some_twice < 0.9
assert different_letters_are_safe_beyond_training
assert repeats_are_what_confuses_it
print("16 letters, all different: more than 97 in 100 right;  drawn at random: fewer than 90 in 100")

# %% [markdown]
# Both kinds of words are equally long. So **our curve sinks because long words repeat more letters**, not because they
# are long. Now the second test. **Predict:** the letter, or the place?

# %% tags=["given"]
from course_lib.experiments.backwards import exchanged

# %%
drawn_to = exchanged(searcher)
it_is_drawn_to_the_letter = drawn_to["letter"] > 0.4 > 0.2 > drawn_to["place"]
assert it_is_drawn_to_the_letter
print("drawn more often to the", max(drawn_to, key=drawn_to.get))

# %% [markdown]
# The guess has passed both. Now let an encoder read from **right to left**. Then no state to the right of "r" has read
# "r", so the network must look elsewhere. **Predict:** where does the diagonal go? And what draws this network in the
# second test?

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
plots.show(figure, "Two heat maps for repaid, written as diaper. Encoder from left to right: the large weights stand "
                   "one column right of the mirrored letter. From right to left: the largest weight of each row stands "
                   "on the diagonal from top right to bottom left, and its neighbours get some, too.")

# %%
mirrored = looks_at(from_the_right) == 0
now_it_looks_at_the_mirrored_letter = mirrored.float().mean().item() > 0.9
assert now_it_looks_at_the_mirrored_letter
print("most often off by:", looks_at(from_the_right).flatten().mode().values.item())

# %% [markdown]
# The diagonal had to move, whatever the network searches for. The two tests say more. Below are five trainings of each
# network (`03-search`). The second map points at the letter wanted. **Predict**, too: does that network make fewer
# mistakes, at 12 letters and at 16?

# %%
search = {name: {what: torch.tensor([row[what] for row in stored("03-search") if row["network"] == name])  # (seeds,)
                 for what in stored("03-search")[0] if what not in ("network", "seed")}
          for name in ("looking back", "from the right", "told no start")}
back, right, no_start = search.values()


def show(names, measures):
    """The least and the most over the seeds."""
    print(" " * 24, *(f"{name:16}" for name in names))
    for told, what in measures.items():
        print(f"{told:24}", *(f"{search[name][what].min():.3f} to {search[name][what].max():.3f}  " for name in names))


show(("looking back", "from the right"), {
    "drawn to the letter": "letter", "drawn to the place": "place",
    "wrong, 12 all different": "different_12", "wrong, 12 at random": "random_12",
    "wrong, 16 all different": "different_16", "wrong, 16 at random": "random_16"})

# %%
one_follows_the_letter = min(back["letter"]) > 3 * max(back["place"])
the_other_follows_the_place = min(right["place"]) > 3 * max(right["letter"])
at_random_the_other_is_better = max(right["random_12"]) < min(back["random_12"])
with_all_letters_different_it_is_worse = min(right["different_12"]) > max(back["different_12"])
repeats_disturb_it_too = min(right["random_12"] / right["different_12"]) > 3
only_the_other_breaks_at_16 = min(right["different_16"]) > 0.8 > 0.5 > max(back["random_16"])
today_agrees_with_the_stored = abs(exchanged(from_the_right)["place"] - right["place"][0]) < 0.2
assert one_follows_the_letter
assert the_other_follows_the_place
assert at_random_the_other_is_better
assert with_all_letters_different_it_is_worse
assert repeats_disturb_it_too
assert only_the_other_breaks_at_16
assert today_agrees_with_the_stored

# %% [markdown]
# One follows the letter, the other the place, each in about 6 of 10 words (by chance: 1 of 12). The second is the
# better one on random words of 12 letters, and the worse one where all letters differ. Repeated letters multiply its
# mistakes, too, by three and more. After these 600 steps it breaks beyond 12.
#
# **Predict:** where do the two look in the other 4 of 10 words? And both decoders start from the last state. Let the
# one that looks back start from zeros, in training, too. Does it still search for the letter? How does it do on 16
# random letters?

# %%
show(search, {
    "drawn to the letter": "letter", "or one beside it": "letter_within_1", "drawn to the place": "place",
    "or one beside": "place_within_1", "looks one to the right": "one_right", "right, 16 at random": "at_16",
    "first letter wrong, 16": "first_wrong_16", "right, 12, 5 repeats": "five_repeats_12",
    "right, 16, 5 repeats": "five_repeats_16"})
the_place_or_one_beside_it = min(right["place_within_1"]) > 0.97
without_a_start_the_search_stays = min(no_start["one_right"]) > 0.9 and min(no_start["letter"] / no_start["place"]) > 2
it_begins_wrong = min(no_start["first_wrong_16"]) > 0.6 > 0.01 > max(back["first_wrong_16"])
with_as_many_repeats_longer_words_do_better = min(back["five_repeats_16"] - back["five_repeats_12"]) > 0.03
assert the_place_or_one_beside_it
assert without_a_start_the_search_stays
assert it_begins_wrong
assert with_as_many_repeats_longer_words_do_better

# %% [markdown]
# From the right it is the place or one beside it, nearly always. Looking back, it is the letter or one beside it in
# three words of four; about the rest the test says nothing. (The last two rows test our sinking curve again: with five
# repeats each, words of 16 letters do better than words of 12.)
#
# The last state says where to begin. Without it a network still looks one to the right, and is drawn to the letter more
# than to the place. But at 16 letters it fails, in three words of four at the first letter already. How far it gets
# depends on **what it searches for *and* how it finds the start**. What to keep:
#
# - **Soft search works:** nobody told the network where to look. It learned the mirror from right answers alone.
# - **A weight says which state was read, not which word mattered.** A state knows its neighbours.
# - **A picture that looks right** is no proof that a network has learned the rule.
#
# Bahdanau's encoder is a **bidirectional** RNN: it reads in *both* directions and joins the two states, so that $h_j$
# sums up what stands around word $j$ (section 3.2).

# %% [markdown] name="luong"
# ## The other name: Luong
#
# A year later Luong, Pham and Manning compared ways to score ([arXiv:1508.04025](https://arxiv.org/abs/1508.04025)):
#
# | part | Bahdanau 2014 | Luong 2015 |
# |---|---|---|
# | **asks** | the state before the step, $s_{i-1}$ | the state after it, $s_i$ |
# | **similarity** | $v \tanh(W_d s + W_e h)$ | *dot*: $s h$, *general*: $s W h$, *concat*: $v \tanh(W [s; h])$ |
# | **context goes** | into the next state and output | through tanh into output and next step (*input feeding*) |
#
# $[s; h]$ is $s$ and $h$, one below the other. **Predict:** two of these four scores are the same. Which?

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
same = [{a, b} for a in energies for b in energies if a < b and torch.allclose(energies[a], energies[b], atol=1e-6)]
only_these_two_are_the_same = same == [{"Bahdanau", "concat"}]
assert only_these_two_are_the_same
{name: [round(e, 2) for e in values.tolist()] for name, values in energies.items()}

# %% [markdown]
# One tall matrix times [s; h] is two matrices, one for each, and a sum. So *concat* is Bahdanau's score in another
# notation. And *dot* is *general* without a matrix: no tanh, nothing to train at all.

# %% [markdown]
# ## Summary
#
# - An encoder-decoder without attention passes on one vector, as long for 400 letters as for 4. How much it carries
#   moves with its width *and* with the training. Open gates (GRU, LSTM) keep a gradient alive, but one vector remains.
# - Version 0: energies $v \cdot \tanh(q W_q + x W_x)$, softmax, weighted sum of the inputs. The tanh lets the query
#   have a say.
# - Bahdanau: the decoder's state asks before every word, and the context $c$ becomes $c_i$. The steep fall is gone. How
#   far beyond the trained lengths it works depends on what it searches for, and on how it finds the start.
# - An alignment map shows which states were read, not what was searched for.
#
# **Think about it.** The network that reads from the right goes by the place, and it breaks beyond the trained lengths.
# Does it count from the beginning of the word or from its end? Which exchange of words would tell?
#
# **In the paper.** [Bahdanau, Cho and Bengio 2015](https://arxiv.org/abs/1409.0473), sections 2.1 (the bottleneck),
# 3.1 (equations 4 to 6), appendix A.1.2 (the network a), figures 2 and 3.
# Before it: [Cho et al. 2014](https://arxiv.org/abs/1406.1078) and
# [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215), who found that reading the source backwards helps (section
# 3.3). After it: [Luong et al. 2015](https://arxiv.org/abs/1508.04025), equation 8.
#
# **Next.** Version 0 computes a hidden layer for every pair of query and input. Lesson 04 throws the network out and
# keeps a dot product. It is much faster, and then something breaks.
