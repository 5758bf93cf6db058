# %% [markdown]
# # 09 · Position
#
# *90 minutes · needs lessons 06 and 08 · three exercises*
#
# **At the end you can**
#
# - show that attention cannot tell "hot, not cold" from "cold, not hot", and mend it with one addition;
# - test any numbering of positions against four criteria, and say which one each idea fails;
# - write the sinusoids of the 2017 paper and the matrix that moves them, and say what three claims about them are
#   worth;
# - say what happens beyond the trained length, having measured it.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, mine
from course_lib.display import plots
from course_lib.training import fit, shuffled

torch.set_num_threads(1)
MultiHeadAttention = mine("MultiHeadAttention")

# %% [markdown]
# ## Two plates of soup
#
# *The soup was hot, not cold. The soup was cold, not hot.*
#
# You would eat one of them. **Before you run the cell:** how often does each word occur in the first sentence, and how
# often in the second? (We leave out commas and capitals.)

# %%
hot = "the soup was hot not cold".split()
cold = "the soup was cold not hot".split()
counts = {word: (hot.count(word), cold.count(word)) for word in hot}
the_twins_have_the_same_words = all(first == second == 1 for first, second in counts.values())
assert the_twins_have_the_same_words
counts

# %% [markdown] name="order-matters"
# ## Attention does not know the order
#
# We call such a pair **twins**. Lesson 02 found that attention without any weights cannot tell them apart. Since then
# we have built queries, keys, values and heads. Does that help?
#
# Each word gets a random vector, the same in both sentences.

# %%
torch.manual_seed(0)
vector = dict(zip(hot, torch.randn(6, 16), strict=True))
x_hot, x_cold = (torch.stack([vector[word] for word in words])[None] for words in (hot, cold))  # (1, T, D)
x_hot.shape, x_cold.shape

# %% [markdown]
# Now let them attend, and `MultiHeadAttention` is your own from lesson 06, with random weights. **Predict:** which
# vector does "soup" get in the one sentence, and which in the other? And what is the mean of all six?

# %%
attend = MultiHeadAttention(16, 4)
y_hot, y_cold = (attend(x, x, x).detach() for x in (x_hot, x_cold))  # (1, T, D)
soup_gets_the_same_vector = torch.allclose(y_hot[0, 1], y_cold[0, 1], atol=1e-6)
the_mean_is_the_same = torch.allclose(y_hot.mean(1), y_cold.mean(1), atol=1e-6)
assert soup_gets_the_same_vector
assert the_mean_is_the_same
print("soup, hot: ", [round(v, 2) for v in y_hot[0, 1, :5].tolist()])
print("soup, cold:", [round(v, 2) for v in y_cold[0, 1, :5].tolist()])

# %% [markdown]
# The same to the last digit shown. "hot" and "cold" are there in both, and *where* they are plays no part in any score.
#
# Perhaps one layer is not enough? Skip connections, norms and feed-forward networks, the parts of lesson 08, treat each
# word by itself. **Predict:** can six layers of PyTorch's own encoder tell the twins apart?

# %%
layer = nn.TransformerEncoderLayer(16, 4, 64, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=6)
deep_hot, deep_cold = encoder(x_hot).detach(), encoder(x_cold).detach()  # (1, T, D)
six_layers_cannot_tell_either = torch.allclose(deep_hot.mean(1), deep_cold.mean(1), atol=1e-5)
assert six_layers_cannot_tell_either
print(f"means of the twins differ by {(deep_hot.mean(1) - deep_cold.mean(1)).abs().max().item():.4f}")

# %% [markdown] name="two-options"
# ## Two options
#
# | option | how | price |
# |---|---|---|
# | **recurrence** | a recurrent network reads the words first, one by one | word t waits for word t − 1 |
# | **inject the position** | each place has a vector of its own, added to the word that stands there | which vectors? |
#
# Lesson 03 had both: a recurrent network read, and attention looked back at what it had read. Since lesson 05 all words
# are served at once, and nobody waits. **Predict:** do both options tell the twins apart, before anything is trained?

# %%
torch.manual_seed(1)
reads_one_by_one = nn.GRU(16, 16, batch_first=True)
places = torch.randn(6, 16)  # any six different vectors, one a place


def meaning(x):
    return attend(x, x, x).mean(1).detach()  # (1, D)


# %%
apart = {"attention": meaning(x_hot) - meaning(x_cold),
         "recurrence, then attention": meaning(reads_one_by_one(x_hot)[0]) - meaning(reads_one_by_one(x_cold)[0]),
         "positions, then attention": meaning(x_hot + places) - meaning(x_cold + places)}
apart = {name: difference.norm().item() for name, difference in apart.items()}
attention_alone_cannot = apart.pop("attention") < 1e-5
both_options_can = min(apart.values()) > 0.01
assert attention_alone_cannot
assert both_options_can
print({name: f"{distance:.2f}" for name, distance in apart.items()})

# %% [markdown]
# Both work. The Transformer takes the second: it adds, and nobody waits. What is left is the question in the table:
# **which vectors?** Anything will do for six places. The trouble begins with the seventh.
#
# We shall try five proposals. Each is a function of n, and gives a table with one row for each of n positions.

# %% [markdown] name="fraction"
# ## Bad idea 1: a number from 0 to 1
#
# The first word gets 0, the last one 1, and the others lie evenly between. One number on paper first: "soup" is the
# second of six words. What is its number?

# %%
def fraction(n):
    """0 for the first of n words, 1 for the last."""
    return torch.linspace(0, 1, n)[:, None]  # (n, 1)


soup_is_a_fifth = abs(fraction(6)[1].item() - 1 / 5) < 1e-6
assert soup_is_a_fifth
dict(zip(hot, [round(p, 1) for p in fraction(6)[:, 0].tolist()], strict=True))

# %% [markdown]
# Neat, and always within bounds. Now let another sentence have eleven words. **Predict:** how many words lie between 0
# and 0.5 in each? And how long is the step from a word to its neighbour?

# %%
def step_and_half(n):
    numbers = fraction(n)[:, 0]
    return round((numbers[1] - numbers[0]).item(), 2), int((numbers <= 0.5).sum())


(step_of_6, half_of_6), (step_of_11, half_of_11) = step_and_half(6), step_and_half(11)
a_step_has_no_fixed_size = step_of_6 == 2 * step_of_11
a_range_holds_no_fixed_number_of_words = (half_of_6, half_of_11) == (3, 6)
assert a_step_has_no_fixed_size
assert a_range_holds_no_fixed_number_of_words
print(f"6 words: a step of {step_of_6}, {half_of_6} words up to 0.5")
print(f"11 words: a step of {step_of_11}, {half_of_11} words up to 0.5")

# %% [markdown]
# **Drawback 1.** A difference of 0.2 is a neighbour in one sentence and two words away in another. So nobody can learn
# what 0.2 *means*, nor how many words a range holds.
#
# **Drawback 2** shows when somebody goes on writing: *the soup was hot not cold today*. **Predict:** which of the first
# six words keep their number?

# %%
before, after = fraction(6)[:, 0], fraction(7)[:6, 0]
keeps = [word for word, b, a in zip(hot, before, after, strict=True) if abs(b - a) < 1e-6]
one_more_word_moves_all_but_the_first = keeps == ["the"]
assert one_more_word_moves_all_but_the_first
figure, axis = plt.subplots(figsize=(7, 2.6))
for y, n in enumerate((11, 7, 6)):
    axis.plot(fraction(n)[:, 0], [y] * n, "o-", markersize=5)
    for p, at in enumerate(fraction(n)[:, 0].tolist()):
        axis.text(at, y + 0.15, p, ha="center")
axis.set(yticks=range(3), yticklabels=["11 words", "7 words", "6 words"], ylim=(-0.4, 2.6), xlabel="number from 0 to 1")
plots.show(figure, "Three lines from 0 to 1, for sentences of 6, 7 and 11 words. Dots are numbered 0, 1, 2 and so on. "
                   "Dot 3 lies at 0.6 on the first line, at 0.5 on the second and at 0.3 on the third.")

# %% [markdown]
# You have to know the length before you can number the first word. A decoder that writes word by word does not know it,
# and each new word would move all the old ones.

# %% [markdown] name="integers"
# ## Bad idea 2: count
#
# 0, 1, 2, 3 … Now a step is a step, and old words keep their numbers. Add the number to every feature of the word.
#
# "hot" and "cold" have random vectors here, so the cosine between them is near 0. **Predict:** what is the cosine when
# both stand at position 100?

# %%
def integers(n):
    return torch.arange(n).float()[:, None]  # (n, 1)


def likeness_at(position):
    there = integers(1001)[position]  # (1,), added to all features
    return torch.cosine_similarity(vector["hot"] + there, vector["cold"] + there, dim=0).item()


likeness = {position: likeness_at(position) for position in (0, 5, 100, 1000)}
large_numbers_drown_the_word = abs(likeness[0]) < 0.5 and likeness[100] > 0.999
assert large_numbers_drown_the_word
{position: f"{cosine:.2f}" for position, cosine in likeness.items()}

# %% [markdown]
# **Drawback 1: the numbers grow without bound.** Far into a text, a word is nearly all position and hardly a word: hot
# and cold are the same thing.
#
# For the other two, look at what a network gets to see in training. Here are the lengths of twelve texts. **Predict:**
# how many of the twelve have a word at position 8? At position 13?

# %%
lengths = torch.tensor([3, 4, 5, 5, 6, 6, 6, 7, 7, 9, 9, 12])
seen = torch.tensor([int((lengths > position).sum()) for position in range(16)])
ends = torch.tensor([int((lengths == length).sum()) for length in range(1, 17)])
numbers_beyond_the_longest_are_never_seen = seen[12:].sum() == 0
some_lengths_are_never_seen = ends[[7, 9, 10]].sum() == 0  # lengths 8, 10 and 11
assert numbers_beyond_the_longest_are_never_seen
assert some_lengths_are_never_seen
print("texts with a word at position 8:", seen[8].item(), " at position 13:", seen[13].item())

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True)
axes[0].bar(range(16), seen)
axes[0].set(xlabel="position", ylabel="texts that have it")
axes[1].bar(range(1, 17), ends)
axes[1].set(xlabel="length", ylabel="texts of that length")
for axis in axes:
    axis.tick_params(labelleft=True)
    axis.set_xticks(range(0, 17, 2))
plots.show(figure, "Left: all twelve texts have positions 0 to 2, three have position 8, one has positions 9 to 11, "
                   "none has 12 or more. Right: lengths 3 to 7, 9 and 12 occur one to three times; 8, 10, 11 never.")

# %% [markdown]
# **Drawback 2: longer texts bring numbers never seen.** On the left nothing stands from 12 on. A network has had no
# reason to behave well there, and the number is larger than any it has met.
#
# **Drawback 3: even within the range there are gaps.** On the right, no text has 8, 10 or 11 words: what the end of
# such a text looks like was never learned. And late positions are rare, so what is learned there rests on little.

# %% [markdown] name="criteria"
# ## Four criteria, four tests
#
# Turn the drawbacks round, and you have a list of what we want.
#
# | criterion | test |
# |---|---|
# | **unique** | no two of 50 positions have the same row |
# | **consistent** | k steps are equally far wherever you start, in short and in long sentences |
# | **longer, and bounded** | a sentence of 1,000 words gets rows, too, and no number leaves −1 … 1 |
# | **deterministic** | asked twice, it answers the same: no chance, no training |

# %%
def unique(encode):
    return len(torch.unique(encode(50), dim=0)) == 50


def consistent(encode):
    short, long = encode(20), encode(50)
    for k in (1, 3, 8):
        gaps = torch.cat([(table[k:] - table[:-k]).norm(dim=1) for table in (short, long)])
        if gaps.max() - gaps.min() > 1e-4:
            return False
    return True


def longer_and_bounded(encode):
    try:
        return bool(encode(1000).abs().max() <= 1)
    except IndexError:
        return False


def deterministic(encode):
    return torch.equal(encode(20), encode(20))


# %% [markdown]
# **Predict** which tests each of the two bad ideas passes. Neither fails all.

# %%
tests = {"unique": unique, "consistent": consistent, "longer, bounded": longer_and_bounded,
         "deterministic": deterministic}
proposals = {"fraction": fraction, "integers": integers}


def report():
    """Put every proposal to every test, and print the table."""
    passed = {name: [test(encode) for test in tests.values()] for name, encode in proposals.items()}
    print(f"{'':10}", *(f"{test:^17}" for test in tests))
    for name, row in passed.items():
        print(f"{name:10}", *(f"{'yes' if ok else 'no':^17}" for ok in row))
    return passed


passed = report()
a_fraction_fails_consistent_alone = passed["fraction"] == [True, False, True, True]
integers_fail_longer_and_bounded_alone = passed["integers"] == [True, True, False, True]
assert a_fraction_fails_consistent_alone
assert integers_fail_longer_and_bounded_alone

# %% [markdown] name="binary"
# ## Better: several small numbers
#
# How does a car count a hundred thousand kilometres with digits that never pass 9? It has several of them, from fast to
# slow. With two digits only, 0 and 1, these are **binary numbers**. We write the fastest digit first.
#
# On paper: 6 = 0·1 + 1·2 + 1·4. So position 6 gets the row 0, 1, 1. What does position 5 get?

# %%
five = [1, 0, 1]
five_is_one_and_four = five[0] * 1 + five[1] * 2 + five[2] * 4 == 5
assert five_is_one_and_four
five

# %% [markdown]
# ### Exercise 1: `binary_positions`
#
# ★☆☆ · 10 minutes · about 2 lines
#
# Write the bits of all positions from 0 to n − 1 at once. When the bits run out, counting starts again at zeros, as a
# clock does after twelve.
#
# <details><summary>Hint 1: a question</summary>
#
# 13 // 4 is 3, and 3 is odd. What does that say about the bit that weighs 4? Which operation tells odd from even?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a column of positions (n, 1), and a row of powers of two (dims,)
# 2. how often does each power fit into each position, whole times only? Broadcasting gives (n, dims)
# 3. keep of each count only whether it is odd, as 0.0 or 1.0
#
# </details>

# %% tags=["exercise"]
from course_lib.positions import binary_positions

# %%
binary = check(binary_positions).verified

# %% [markdown]
# **Predict** the pattern of column 0, and of column 3, over the first sixteen positions.

# %%
figure, axis = plt.subplots(figsize=(2.4, 5))
plots.heat_map(axis, binary(16, 4), [str(p) for p in range(16)], [str(c) for c in range(4)])
axis.set(xlabel="column", ylabel="position")
plots.show(figure, "Sixteen rows of four bits. Column 0 alternates 0, 1. Column 1 changes every two positions, column "
                   "2 every four, column 3 once: zeros for positions 0 to 7, ones for 8 to 15.")
changes = binary(16, 4).diff(dim=0).abs().sum(0).int().tolist()
each_column_changes_about_half_as_often = changes == [15, 7, 3, 1]
assert each_column_changes_about_half_as_often
print("changes in columns 0 to 3:", changes)

# %% [markdown] name="binary-jumps"
# ## Binary is unique, but it jumps
#
# Four columns hold sixteen positions, ten hold 1,024, and all numbers are 0 or 1. So what is wrong?
#
# **Predict:** which row is nearer to that of position 8: the row of its neighbour 7, or the row of 0?

# %%
codes = binary(50, 10)
from_7, from_0 = (codes[8] - codes[7]).norm().item(), (codes[8] - codes[0]).norm().item()
zero_is_nearer_to_eight_than_seven_is = from_0 == 1 and from_7 == 2
assert zero_is_nearer_to_eight_than_seven_is
print(f"distance from 7 to 8: {from_7:.0f}, from 0 to 8: {from_0:.0f}")

# %% [markdown]
# From 7 to 8 four bits flip, from 0 to 8 only one. Neighbours may be far apart.
#
# The code is **discrete**, too: nothing lies between 0 and 1, so it does not know of "a little further". **Predict:**
# what is halfway from 7 to 8, and what is halfway from 0 to 15? And how much of a table of width 16 is zero?

# %%
halfway_7_8, halfway_0_15 = (codes[7] + codes[8]) / 2, (codes[0] + codes[15]) / 2
halfway_from_7_to_8_is_halfway_from_0_to_15 = torch.equal(halfway_7_8, halfway_0_15)
share_of_zeros = (binary(50, 16) == 0).float().mean().item()
more_than_four_in_five_are_zeros = share_of_zeros > 0.8
assert halfway_from_7_to_8_is_halfway_from_0_to_15
assert more_than_four_in_five_are_zeros
print("halfway:", halfway_7_8[:5].tolist(), f" zeros in 50 rows of width 16: {share_of_zeros:.0%}")

# %%
proposals["binary"] = lambda n: binary(n, 10)
passed = report()
binary_fails_consistent_alone = passed["binary"] == [True, False, True, True]
assert binary_fails_consistent_alone

# %% [markdown] name="waves"
# ## From switches to hands of a clock
#
# Each column of the binary table is a switch with a beat: on, off, on, off, fast in column 0, slow further right. A
# clock also counts with a fast and a slow part. But its hands do not jump. They **turn**.
#
# So give each beat a hand. At position *pos* the hand of pair i stands at the angle pos / 10000^(2i/d). A hand that
# points somewhere is two numbers, and these are the sine and the cosine of its angle:
#
# PE[pos, 2i] = sin(pos / 10000^(2i/d))
#
# PE[pos, 2i+1] = cos(pos / 10000^(2i/d))
#
# Here d is the width and i counts pairs, from 0 to d/2 − 1. This is section 3.5 of the paper.
#
# One number on paper: width 4, position 3, pair 1. What is 10000^(2/4)? What is the angle? And the sine of so small an
# angle?

# %%
from math import sin

angle = 3 / 10000 ** (2 / 4)
the_angle_is_three_hundredths = abs(angle - 0.03) < 1e-12
the_sine_of_a_small_angle_is_the_angle = abs(sin(angle) - angle) < 1e-4
assert the_angle_is_three_hundredths
assert the_sine_of_a_small_angle_is_the_angle
round(angle, 4), round(sin(angle), 4)

# %% [markdown]
# ### Exercise 2: `sinusoidal_positions`
#
# ★★☆ · 15 minutes · about 4 lines
#
# There are many ways to get it nearly right: in the exponent, in the order of the columns. The card knows most of them.
#
# <details><summary>Hint 1: a question</summary>
#
# For d = 6, which values does 2i/d take? How many angles does each position need, and how many columns come out?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one frequency for each pair, (d/2,)
# 2. one angle for each position and pair: a column of positions against the row of frequencies, (n, d/2)
# 3. sines into the even columns and cosines into the odd ones: slices with a step of two can be written to, or stack
#    the two along a new last axis and flatten
#
# </details>

# %% tags=["exercise"]
from course_lib.positions import sinusoidal_positions

# %%
waves = check(sinusoidal_positions).verified

# %% [markdown] name="pictures"
# ## Two pictures of it
#
# First the table, 24 positions in width 16. **Predict:** where will it look striped, and where even?

# %%
table = waves(24, 16)  # (n, d)
figure, axis = plt.subplots(figsize=(6, 7))
plots.heat_map(axis, table, [str(p) for p in range(24)], [str(c) for c in range(16)], numbers=False, limit=1.0)
axis.set(xlabel="column", ylabel="position")
figure.colorbar(axis.images[0], shrink=0.6)
plots.show(figure, "A table of 24 positions by 16 columns with values from -1 to 1. The columns on the left change "
                   "sign every three positions. Further right they change more slowly; from column 8 on, even columns "
                   "stay near 0 and odd columns near 1.")

# %% [markdown]
# Now column by column, with the bits beside them. **Predict:** how many whole turns does the first hand make in 32
# positions, and how many does the third?

# %%
figure, axes = plt.subplots(4, 2, figsize=(9, 6), sharex=True, sharey="col", layout="constrained")
for row in range(4):
    axes[row, 0].step(range(32), binary(32, 5)[:, row], where="mid")
    axes[row, 0].set_ylabel(f"column {row}")
    axes[row, 1].plot(waves(32, 16)[:, 2 * row], "o-", markersize=3, label="sine")
    axes[row, 1].plot(waves(32, 16)[:, 2 * row + 1], "s--", markersize=3, label="cosine")
    axes[row, 1].set_ylabel(f"columns {2 * row}, {2 * row + 1}")
axes[0, 0].set_title("binary")
axes[0, 1].set_title("sinusoids")
figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
for axis in axes[3]:
    axis.set_xlabel("position")
plots.show(figure, "Left, four square waves between 0 and 1, each with half as many beats as the one above. Right, "
                   "four pairs of a sine and a cosine between -1 and 1: five turns in 32 positions, then a turn and a "
                   "half, half a turn, and a sixth of a turn.")

# %%
turns = [32 / (2 * torch.pi * 10000 ** (2 * i / 16)) for i in range(4)]
five_turns_then_half_a_turn = 5 < turns[0] < 5.2 and 0.5 < turns[2] < 0.52
assert five_turns_then_half_a_turn
[round(t, 2) for t in turns]

# %% [markdown] name="reason-1"
# ## Reason 1: dense, continuous, bounded
#
# Some texts say: *"the values of sinusoids lie between 0 and 1"*, like the bits. **Predict:** the smallest number among
# 1,000 positions? And how many numbers are exactly 0?

# %%
many = waves(1000, 16)
smallest, largest = many.min().item(), many.max().item()
the_range_is_minus_one_to_one = -1 <= smallest < -0.999 and 0.999 < largest <= 1
zeros = (many == 0).nonzero()
zeros_are_the_sines_of_position_0 = zeros[:, 0].max() == 0 and len(zeros) == 8
assert the_range_is_minus_one_to_one
assert zeros_are_the_sines_of_position_0
print(f"smallest {smallest:.2f}, largest {largest:.2f}, exactly zero: {len(zeros)} of {many.numel():,} numbers")

# %% [markdown]
# **Verdict: false.** They lie between −1 and 1, on both sides of zero. But they are **bounded**, and they are
# **dense**: past position 0, no number is wasted on an exact zero.
#
# And **continuous**? Ask again about positions 7, 8 and 0. **Predict:** is 7 nearer to 8 now than 0 is?

# %%
steps = (many[1:] - many[:-1]).norm(dim=1)
from_7, from_0 = (many[8] - many[7]).norm().item(), (many[8] - many[0]).norm().item()
seven_is_nearer_to_eight = from_7 < from_0 / 1.5
every_step_is_equally_long = (steps.max() - steps.min()).item() < 1e-3
assert seven_is_nearer_to_eight
assert every_step_is_equally_long
print(f"from 7 to 8: {from_7:.2f}, from 0 to 8: {from_0:.2f}; each of 999 steps: {steps.mean().item():.2f}")

# %% [markdown] name="reason-2"
# ## Reason 2: a hand for every scale
#
# A hand comes round after one **wavelength**: 2π · 10000^(2i/d) positions. Fast hands tell neighbours apart, and slow
# hands tell chapter 1 from chapter 9. From hand to hand the wavelength grows by the same *factor*: a **geometric
# progression**. So a few hands are enough for all scales. **Predict** the factor for d = 16, where there are eight
# hands.

# %%
def wavelengths(d):
    return 2 * torch.pi * 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)  # (d / 2,)


factors = wavelengths(16)[1:] / wavelengths(16)[:-1]
wavelengths_are_a_geometric_progression = torch.allclose(factors, torch.full_like(factors, 10000 ** (2 / 16)))
assert wavelengths_are_a_geometric_progression
print("wavelengths for d = 16:", [f"{w:,.0f}" for w in wavelengths(16)], " factor:", round(factors[0].item(), 2))

# %% [markdown]
# The paper says that the wavelengths run *"from 2π to 10000 · 2π"*. The first one here is 2π, about 6. **Predict:**
# does the last one reach 10000 · 2π? Does it for any width?

# %%
longest = {d: (wavelengths(d)[-1] / (2 * torch.pi)).item() for d in (4, 16, 64, 512)}
the_longest_stays_below_10000 = all(abs(times - 10000 ** (1 - 2 / d)) < 1e-6 for d, times in longest.items())
assert the_longest_stays_below_10000
print({d: f"{times:,.0f} · 2π" for d, times in longest.items()})

# %% [markdown]
# **Verdict: nearly.** The last pair has i = d/2 − 1, so the longest wavelength is 10000^(1 − 2/d) · 2π. It comes close
# to 10000 · 2π as d grows, and never gets there.

# %%
figure, axis = plt.subplots(figsize=(7, 2.6))
for y, d in enumerate((16, 64, 512)):
    axis.plot(wavelengths(d), [y] * (d // 2), "|", markersize=14)
axis.axvline(2 * torch.pi * 10000, linestyle="--", color="black")
axis.text(2 * torch.pi * 9000, 2.45, "10000 · 2π", ha="right")
axis.set(xscale="log", yticks=range(3), yticklabels=["d = 16", "d = 64", "d = 512"], ylim=(-0.5, 2.8),
         xlabel="wavelength in positions (logarithmic axis)")
plots.show(figure, "Wavelengths on a logarithmic axis as evenly spaced marks: 8 for d = 16, 32 for d = 64, 256 for "
                   "d = 512. All begin at 2 pi. The last mark of d = 16 is at about 20,000, that of d = 512 just "
                   "left of the dashed line at 10,000 times 2 pi.")

# %% [markdown] name="each-distance"
# ## "Each distance is consistent": is it?
#
# Attention compares by dot products. So take the dot product of every row with every row. **Predict:** PE(3) · PE(5)
# against PE(13) · PE(15). Then: does the product fall steadily as two positions move apart?

# %%
products = table @ table.T  # (n, n)
off_the_diagonals = max((products.diagonal(k) - products[0, k]).abs().max().item() for k in range(24))
the_product_depends_on_the_distance_alone = off_the_diagonals < 1e-4
frequency = 2 * torch.pi / wavelengths(16)  # radians a step
by_formula = torch.stack([torch.cos(k * frequency).sum() for k in torch.arange(24)]).float()
it_is_a_sum_of_cosines = torch.allclose(products[0], by_formula, atol=1e-4)
assert the_product_depends_on_the_distance_alone
assert it_is_a_sum_of_cosines
print(f"PE(3) · PE(5) = {products[3, 5]:.3f}, PE(13) · PE(15) = {products[13, 15]:.3f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
names = [str(p) for p in range(24)]
plots.heat_map(axes[0], products, names, names, numbers=False)
axes[0].set(xlabel="position", ylabel="position", xticks=range(0, 24, 4), yticks=range(0, 24, 4))
axes[1].plot(range(24), products[0], "o-")
axes[1].set(xlabel="distance k", ylabel="PE(pos) · PE(pos + k)", ylim=(0, 8.4))
plots.show(figure, "Left, the dot products of 24 positions with each other: stripes parallel to the diagonal, "
                   "brightest on it. Right, the product over the distance: 8 at distance 0, down to 5.5 at 3, up to "
                   "6.4 at 6, down to 3.7 at 9, up again to 5.5 at 13 and to 6.4 at 19.")

# %%
six_is_nearer_than_three = (products[0, 6] > products[0, 3] + 0.5).item()
nineteen_is_nearer_than_nine = (products[0, 19] > products[0, 9] + 1).item()
assert six_is_nearer_than_three
assert nineteen_is_nearer_than_nine
{k: round(products[0, k].item(), 1) for k in (0, 3, 6, 9, 19)}

# %% [markdown]
# **Verdict: half true.** The product depends on the *distance alone*, never on where you are; such a matrix of equal
# diagonals is called **Toeplitz**. That is criterion 2. But it is **not monotone**: it rises and falls, and something
# 19 words away looks nearer than something 9 away. "Near" is not built in. A network has to make it.

# %% [markdown] name="reason-3"
# ## Reason 3: moving on is a turn
#
# After k more words, each hand has turned by the same angle, wherever it stood. The addition theorems say so:
#
# sin(a + b) = sin a · cos b + cos a · sin b
#
# cos(a + b) = cos a · cos b − sin a · sin b
#
# Here a is where the hand stands and b = k / 10000^(2i/d) is how far it turns. If k is fixed, cos b and sin b are
# **constants**, and what is left is linear in sin a and cos a.
#
# On paper: sin 1 ≈ 0.84 and cos 1 ≈ 0.54. From these two alone, what is sin 2?

# %%
sin_2 = 0.84 * 0.54 + 0.54 * 0.84
paper_agrees = abs(sin_2 - waves(3, 2)[2, 0].item()) < 0.01
assert paper_agrees
round(sin_2, 2), round(waves(3, 2)[2, 0].item(), 2)

# %% [markdown]
# ### Exercise 3: `shift_matrix`
#
# ★★☆ · 20 minutes · about 5 lines
#
# So there is **one** matrix M for each k, with PE[pos + k] = M PE[pos] for *all* positions. Write it.
#
# <details><summary>Hint 1: a question</summary>
#
# Read the two theorems as a 2 × 2 matrix times the column (sin a, cos a). What stands in its four places? What should
# it be for k = 0?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one angle b for each pair, (d/2,)
# 2. one 2 × 2 block for each angle
# 3. the blocks on the diagonal of a (d, d) matrix, zeros elsewhere: a loop over pairs will do, and
#    `torch.block_diag(*blocks)` does it at once
#
# </details>

# %% tags=["exercise"]
from course_lib.positions import shift_matrix

# %%
shift = check(shift_matrix).verified

# %% [markdown]
# Does it hold? Your M for seven steps gets all rows of a long table at once.

# %%
on_7 = shift(7, 16)
moved = many[:-7] @ on_7.T  # all rows at once: each row is M @ row
error = (moved - many[7:]).abs().max().item()
one_matrix_moves_every_position = error < 1e-3
assert one_matrix_moves_every_position
print(f"993 positions moved by 7, largest error {error:.4f}")

# %% [markdown]
# **Predict:** what is the matrix of one step, multiplied by itself seven times? And what is the matrix of −7 steps
# times the matrix of 7?

# %%
on_1, back_7 = shift(1, 16), shift(-7, 16)
seven_single_steps_are_seven = torch.allclose(torch.linalg.matrix_power(on_1, 7), on_7, atol=1e-5)
back_undoes_on = torch.allclose(back_7 @ on_7, torch.eye(16), atol=1e-5)
assert seven_single_steps_are_seven
assert back_undoes_on
print("seven single steps are the step of seven:", seven_single_steps_are_seven, " back undoes on:", back_undoes_on)

# %% [markdown]
# Look at it once, for k = 1 and width 8. **Predict:** which block is nearly the identity, the first or the last?

# %%
figure, axis = plt.subplots(figsize=(4.6, 4.4))
names = [f"{'cos' if c % 2 else 'sin'} {c // 2}" for c in range(8)]
plots.heat_map(axis, shift(1, 8).round(decimals=2) + 0.0, names, names, limit=1.0)  # + 0.0: no "-0.00"
axis.set(xlabel="of position pos", ylabel="of position pos + 1")
plots.show(figure, "An 8 by 8 matrix with four 2 by 2 blocks on its diagonal and zeros elsewhere. The first block has "
                   "0.54 on the diagonal and 0.84 and -0.84 beside it, the second 1.00 (rounded) and 0.10, the third "
                   "1.00 and 0.01, the last is the identity to two digits.")

# %% [markdown]
# ### How exact is it?
#
# Float32 cannot say more than "0.0000". So here is the same turn in float64, written in another way: sine and cosine
# are the two parts of a complex number of length 1, and multiplying such numbers adds their angles.

# %%
everywhere = torch.arange(1000)[:, None] * frequency  # (n, d / 2), float64
hands = torch.polar(torch.ones_like(everywhere), everywhere)  # cos + i sin
errors = {k: (hands[:-k] * torch.polar(torch.ones(8).double(), k * frequency) - hands[k:]).abs().max().item()
          for k in (1, 7, 100, 500)}
the_turn_is_exact_to_1e_12 = max(errors.values()) < 1e-12
assert the_turn_is_exact_to_1e_12
print({k: f"below 1e-12: {error < 1e-12}" for k, error in errors.items()})

# %% [markdown] name="least-squares"
# ### A trap: fitting the matrix
#
# Why derive M at all? Take 101 rows of the table, and let least squares find the matrix that takes each to the next.
# **Predict:** will it be the rotation? Will it work for positions from 500 on, which it was not fitted to?

# %%
here, there = many[:100], many[1:101]  # positions 0 to 100
matrices = {"rotation": on_1.T}  # rows: here @ matrix = there
for method, driver in {"fit, singular values": "gelsd", "fit, QR": "gels"}.items():
    matrices[method] = torch.linalg.lstsq(here, there, driver=driver).solution
off = {name: (many[:-1] @ matrix - many[1:]).abs().amax(1) for name, matrix in matrices.items()}  # (999,) each
rotation_off, *fits_off = off.values()
the_fit_looks_perfect_where_it_was_made = all(fit_off[:100].max() < 1e-3 for fit_off in fits_off)
the_fit_is_wrong_elsewhere = all(fit_off[500:].max() > 0.3 for fit_off in fits_off)
the_rotation_is_right_everywhere = rotation_off.max() < 1e-3
assert the_fit_looks_perfect_where_it_was_made
assert the_fit_is_wrong_elsewhere
assert the_rotation_is_right_everywhere
for name, error in off.items():
    print(f"{name:20} right up to 99: {error[:100].max() < 1e-3}, right from 500 on: {error[500:].max() < 1e-3}")

# %% [markdown]
# For every position of the long table: the largest error when it is moved by one. To the left of the line are the
# positions the fit has seen.

# %%
figure, axis = plt.subplots(figsize=(7, 3))
for (name, error), style in zip(off.items(), ("-", "--", ":"), strict=True):
    axis.semilogy(error.clamp_min(3e-8), style, label=name)
axis.axvline(99.5, color="black", linewidth=1)
axis.set(xlabel="position moved by one", ylabel="largest error")
axis.legend(loc="center right")
plots.show(figure, "Largest error over the position, on a logarithmic axis. The rotation stays near 0.0000001 "
                   "everywhere. Both fits are below 0.001 up to position 99, marked by a line, and then climb to "
                   "errors around one.")

# %% [markdown]
# A perfect fit and a wrong matrix: whoever looks at the fit alone believes it, and whoever looks elsewhere may conclude
# that the claim is false. How can that be? Over 100 positions the slow hands hardly move. Their cosines are all nearly
# 1, and nothing in the data tells these columns apart. The **condition number** says by how much rounding errors may be
# blown up: the largest singular value over the smallest.

# %%
exact = torch.stack([hands.imag, hands.real], -1).flatten(1)  # (1000, 16), float64
condition = torch.linalg.cond(exact[:100]).item()
float32_rounding = torch.finfo(torch.float32).eps
rounding_is_blown_up_beyond_measure = condition * float32_rounding > 1000
rotations_never_blow_anything_up = abs(torch.linalg.cond(shift(1, 16)).item() - 1) < 1e-4
assert rounding_is_blown_up_beyond_measure
assert rotations_never_blow_anything_up
print(f"condition of the table above 10^12: {condition > 1e12}; of the rotation: {torch.linalg.cond(shift(1, 16)):.3f}")

# %% [markdown]
# A theorem gave us the matrix, and a hundred rounded rows could not. When a fit fails, ask about the condition number
# before you doubt the theorem.

# %% [markdown] name="look-back"
# ### What reason 3 is good for
#
# Attention has a matrix W_q at hand for its queries. If that matrix is **M for k = −1**, then the query of each word is
# the position of the word before it. Nothing is trained here. **Predict:** where does "not" look?

# %%
positions = waves(200, 32)
queries = positions @ shift(-1, 32).T  # (n, d), each is PE(pos - 1)
look_back = torch.softmax(30 * queries @ positions.T / 32**0.5, dim=-1)  # (n, n); 30: how sure the head is
every_position_looks_one_back = torch.equal(look_back[1:].argmax(-1), torch.arange(199))
assert every_position_looks_one_back
print("position 5 looks at", look_back[5].argmax().item(), " position 199 at", look_back[199].argmax().item())

# %%
figure, axis = plt.subplots(figsize=(4.2, 3.8))
plots.heat_map(axis, torch.softmax(30 * queries[:6] @ positions[:6].T / 32**0.5, -1), hot, hot, limit=1.0)
axis.set(xlabel="is asked", ylabel="asks")
plots.show(figure, "Attention of six words: each looks at the word before it, with a weight of about 0.95. "
                   "The first word, which has none before it, looks at itself.")

# %% [markdown]
# One matrix, and it works at position 5 and at position 199. Vaswani and colleagues chose sinusoids for this reason:
# they supposed that it makes attending by *relative* positions easy to learn (section 3.5).

# %% [markdown] name="add"
# ## Add, do not append
#
# The position comes in before the first layer, once. The card of version 6 changes in one place:
#
# | | version 6 | version 6 with positions |
# |---|---|---|
# | **inputs** | x (B, T, d) | **x + PE[:T]**, (B, T, d) + (T, d) |
# | **similarity** | x_i W_q · x_j W_k | **(x_i + p_i)** W_q · **(x_j + p_j)** W_k |
# | **outputs** | (B, T, d) | (B, T, d) |
#
# One PE serves the whole batch. Why is it added? One could append it, and mix nothing: (x, p), twice as wide.
#
# **Predict:** the next layer multiplies by a matrix W. What does it see if x and p are added? What if they are
# appended, and W stands there twice, one below the other?

# %%
W = torch.randn(16, 16, generator=torch.Generator().manual_seed(2))
p = waves(6, 16)
added = (x_hot[0] + p) @ W  # (T, D)
appended = torch.cat([x_hot[0], p], dim=1) @ torch.cat([W, W])  # (T, 2D) @ (2D, D)
adding_is_appending_with_one_matrix_for_both = torch.allclose(added, appended, atol=1e-4)
assert adding_is_appending_with_one_matrix_for_both
print("largest difference:", round((added - appended).abs().max().item(), 3))

# %% [markdown]
# Adding *is* appending, with one matrix for both parts. Two matrices could do more. **Predict:** what does appending
# cost in parameters of the attention, if the position is as wide as the word?

# %%
narrow, wide = (sum(q.numel() for q in MultiHeadAttention(d, 4).parameters()) for d in (16, 32))
appending_costs_nearly_four_times_as_much = 3.8 < wide / narrow < 4
assert appending_costs_nearly_four_times_as_much
print(f"parameters of the attention: {narrow:,} for width 16, {wide:,} for width 32")

# %% [markdown]
# Nearly four times as many, in each layer, so we add.
#
# But does the sum not blur what was added? **Predict:** take 50 words at 50 positions. Do any two of the 2,500 sums
# come close to each other?

# %%
some_words = torch.randn(50, 1, 64, generator=torch.Generator().manual_seed(3))
sums = (some_words + waves(50, 64)).flatten(0, 1)  # (2500, 64)
distances = torch.cdist(sums, sums).fill_diagonal_(float("inf"))
which = distances.argmin().item()
the_closest_two_are_one_word_at_neighbouring_places = abs(which // 2500 - which % 2500) == 1
no_two_sums_are_close = distances.min().item() > 1
assert the_closest_two_are_one_word_at_neighbouring_places
assert no_two_sums_are_close
print(f"the closest two of {len(sums):,} sums are {distances.min().item():.1f} apart")

# %% [markdown] name="root-d"
# ### Which of the two is louder?
#
# The length of a row of PE is always √(d/2), because every pair adds sin² + cos² = 1. How long is a word? That hangs on
# how the embedding starts. The paper multiplies embeddings by √d (section 3.4) and does not say why. **Predict** the
# ratio *word : position* for numbers with a standard deviation of 1/√d, as they are and times √d. Then for PyTorch's
# `nn.Embedding`, which starts with a standard deviation of 1.

# %%
d = 512
draws = torch.randn(1000, d, generator=torch.Generator().manual_seed(4))
of_positions = waves(50, d).norm(dim=1)
a_position_is_root_of_half_d_long = torch.allclose(of_positions, torch.full((50,), (d / 2) ** 0.5), atol=1e-3)
ratio = {std: (draws * value).norm(dim=1).mean().item() / of_positions[0].item()
         for std, value in {"1/√d": d**-0.5, "1": 1.0}.items()}
small_words_are_drowned_without_the_factor = ratio["1/√d"] < 0.1 and 1 < ratio["1/√d"] * d**0.5 < 2
torch_s_own_need_no_factor = 1 < ratio["1"] < 2
assert a_position_is_root_of_half_d_long
assert small_words_are_drowned_without_the_factor
assert torch_s_own_need_no_factor
for std, r in ratio.items():
    print(f"standard deviation {std:>4}: word : position = {r:.2f}, times √d {r * d**0.5:.2f}")

# %% [markdown]
# So √d is right for embeddings that start small: it lifts the word to the height of the position. For embeddings that
# start at 1 it makes the position a whisper, and training has to put that right. When you copy a formula, copy its
# starting values, too.

# %% [markdown] name="ablation"
# ## Does it matter? The ablation
#
# An **ablation** takes one part away and looks at what is lost. The task: twins like our two sentences, six things, six
# pleasant and six unpleasant words. *The soup was hot not cold* is pleasant (1), its twin is not (0).

# %%
things, good, bad = ("soup tea water bath room coat".split(), "hot fresh clean soft sweet bright".split(),
                     "cold stale dirty hard bitter dull".split())
words = ["the", "was", "not", *things, *good, *bad]


def ids(thing, is_so, is_not):
    return [words.index(word) for word in ("the", thing, "was", is_so, "not", is_not)]


twins = torch.tensor([[ids(t, g, b), ids(t, b, g)] for t in things for g in good for b in bad])  # (P, 2, T)
labels = torch.tensor([1.0, 0.0])
order = torch.randperm(len(twins), generator=torch.Generator().manual_seed(0))
training, test = twins[order[:150]], twins[order[150:]]
for sentence, label in zip(test[0], labels, strict=True):
    print(" ".join(words[i] for i in sentence), "→", int(label))

# %% [markdown]
# One layer of your attention, with a skip connection, and a yes-or-no at the end, from the mean of all words. What is
# added to the words is an argument: zeros or waves. Otherwise nothing differs, not even the seed.

# %%
class Reader(nn.Module):
    """Read six words, answer one number: positive for pleasant."""

    def __init__(self, positions, mask=None, d=32):
        super().__init__()
        self.embed, self.attend, self.answer = nn.Embedding(len(words), d), MultiHeadAttention(d, 4), nn.Linear(d, 1)
        self.register_buffer("positions", positions)
        self.mask = mask

    def forward(self, sentences):
        x = self.embed(sentences) + self.positions  # (B, T, d) + (T, d)
        x = x + self.attend(x, x, x, self.mask)
        return self.answer(x.mean(1))[:, 0]  # (B,)


# %%
def train_reader(positions, mask=None, seed=0):
    """Train a reader; return its losses and its answers to the test twins."""
    torch.manual_seed(seed)
    reader = Reader(positions, mask)
    batches = shuffled(training.flatten(0, 1), labels.repeat(len(training)), batch_size=20, epochs=12, seed=seed)
    losses = fit(reader, lambda model, x, y: F.binary_cross_entropy_with_logits(model(x), y), batches,
                 torch.optim.Adam(reader.parameters(), lr=5e-3))
    return losses, reader(test.flatten(0, 1)).detach().view(-1, 2)  # (steps,), (P, 2)


def accuracy(answers):
    return ((answers > 0) == labels.bool()).float().mean().item()


# %% [markdown]
# **Predict** both accuracies on the 66 pairs of twins that were kept back. One of them can be said exactly.

# %%
runs = {"no positions": train_reader(torch.zeros(6, 32)), "sinusoids": train_reader(waves(6, 32))}
none, with_waves = runs["no positions"][1], runs["sinusoids"][1]
without_positions_twins_get_one_answer = (none[:, 0] - none[:, 1]).abs().max().item() < 1e-5
without_positions_exactly_half_is_right = accuracy(none) == 0.5
with_sinusoids_it_is_solved = accuracy(with_waves) > 0.95
assert without_positions_twins_get_one_answer
assert without_positions_exactly_half_is_right
assert with_sinusoids_it_is_solved
print(f"no positions: {accuracy(none)}; sinusoids: above 0.95")

# %%
figure, axis = plt.subplots(figsize=(5.5, 3))
for (name, (losses, _)), style in zip(runs.items(), ("--", "-"), strict=True):
    axis.plot(losses, style, label=name)
axis.axhline(torch.log(torch.tensor(2.0)), linestyle=":", color="black", label="ln 2: a coin")
axis.set(xlabel="step", ylabel="loss", ylim=(0, 1))
axis.legend()
plots.show(figure, "Loss over training steps. Without positions it stays at the dotted line of ln 2, a coin. With "
                   "sinusoids it falls to zero within the first hundred steps.")

# %% [markdown]
# Not *about* a half: **exactly** a half. Twins get the same answer, one of them is wrong, and no amount of training can
# change that. Lesson 10 does the same with longer sentences and a whole encoder.
#
# This is called NoPE, for *no positional encoding*. Does it always fail? **Predict:** what if a word may only look
# back, as in lesson 07, and there are still no positions?

# %%
causal = mine("causal_mask")(6)
runs["no positions, causal mask"] = train_reader(torch.zeros(6, 32), causal)
a_causal_mask_is_enough = accuracy(runs["no positions, causal mask"][1]) > 0.95
assert a_causal_mask_is_enough
print("no positions, but a causal mask: above 0.95")

# %% [markdown]
# It is solved. The mask treats places differently: in "hot not cold", "cold" has heard of "hot", but "hot" has not
# heard of "cold". So an encoder is blind without positions, and a decoder is not quite. Haviv and colleagues found in
# 2022 that language models trained with no positions at all are competitive with those that have them
# ([arXiv:2203.16634](https://arxiv.org/abs/2203.16634)).

# %% [markdown] name="learned"
# ## The fifth proposal: learn them
#
# Why not let training find the vectors? `nn.Embedding(50, d)` is a table with a row for each position, random at first,
# trained like the words. Gehring and colleagues did so in 2017 ([arXiv:1705.03122](https://arxiv.org/abs/1705.03122),
# section 3.1). The Transformer paper tried both and found *"nearly identical results"* (section 3.5; table 3, row E).
#
# **Predict:** which rows of the table are trained by a sentence of six words? And what does it say about position 50?

# %%
place = nn.Embedding(50, 16)
attended = x_hot + place(torch.arange(6))  # (1, T, D)
attend(attended, attended, attended).square().sum().backward()
trained_rows = place.weight.grad.abs().sum(1).nonzero()[:, 0].tolist()
only_seen_positions_are_trained = trained_rows == [0, 1, 2, 3, 4, 5]
try:
    place(torch.tensor([50]))
    beyond_its_table_there_is_nothing = False
except IndexError as error:
    beyond_its_table_there_is_nothing = True
    print("position 50:", error)
assert only_seen_positions_are_trained
assert beyond_its_table_there_is_nothing
print("rows that got a gradient:", trained_rows)

# %% [markdown]
# Now all five proposals in one table. Each training of the fifth starts somewhere else, and ends somewhere else: its
# stand-in here is a table as it starts. **Predict** its line. Does anybody pass all four?

# %%
proposals["sinusoids"] = lambda n: waves(n, 16)
proposals["learned"] = lambda n: nn.Embedding(50, 16)(torch.arange(n)).detach()
passed = report()
sinusoids_pass_all_four = passed["sinusoids"] == [True, True, True, True]
learned_positions_pass_unique_alone = passed["learned"] == [True, False, False, False]
nobody_else_passes_all = all(not all(row) for name, row in passed.items() if name != "sinusoids")
assert sinusoids_pass_all_four
assert learned_positions_pass_unique_alone
assert nobody_else_passes_all

# %% [markdown]
# Sinusoids pass everything. Learned positions pass one test in four, and in the paper they work as well. Keep both in
# mind: criteria are good reasons *before* an experiment. They do not replace it.

# %% [markdown] name="longer"
# ## Longer than training
#
# Criterion 3 says that sinusoids *have* rows for longer sentences. Will a network that has never met those rows know
# what to do with them? The paper is careful: sinusoids *"may allow the model to extrapolate"*. We measure.
#
# The task is the easiest that needs positions: at every place, **name the word just before**. Words are eight random
# symbols, so that guessing is right one time in eight. Training is on 24 words, the test on 96. The mask is causal.

# %%
trained_length, test_length = 24, 96


class Echo(nn.Module):
    """At each place, name the symbol one place before."""

    def __init__(self, positions, d=32):
        super().__init__()
        self.embed, self.attend, self.answer = nn.Embedding(8, d), MultiHeadAttention(d, 1), nn.Linear(d, 8)
        self.positions = positions

    def forward(self, symbols):
        T = symbols.shape[1]
        x = self.embed(symbols) + self.positions(torch.arange(T))  # (B, T, d)
        return self.answer(x + self.attend(x, x, x, torch.ones(T, T).tril().bool()))  # (B, T, 8)


# %%
def train_echo(positions, seed=0, steps=300):
    torch.manual_seed(seed)
    echo = Echo(positions)
    batches = [(torch.randint(8, (32, trained_length)),) for _ in range(steps)]
    optimizer = torch.optim.Adam([p for p in echo.parameters() if p.requires_grad], lr=5e-3)
    fit(echo, lambda model, s: F.cross_entropy(model(s)[:, 1:].flatten(0, 1), s[:, :-1].flatten()), batches, optimizer)
    return echo


def share_right(echo):
    """For each place of 200 long texts, how often the answer is right."""
    texts = torch.randint(8, (200, test_length), generator=torch.Generator().manual_seed(5))
    return (echo(texts)[:, 1:].argmax(-1) == texts[:, :-1]).float().mean(0)  # (95,), places 1 to 95


# %% [markdown]
# The learned table has 96 rows, too, so that it does not crash.

# %%
fixed = nn.Embedding.from_pretrained(waves(test_length, 32))  # never trained
learned = nn.Embedding(test_length, 32)
at_the_start = learned.weight.detach().clone()
echoes = {"sinusoids, trained": train_echo(fixed), "learned positions, trained": train_echo(learned)}
untrained_rows_stay_as_they_were = torch.equal(learned.weight[trained_length:], at_the_start[trained_length:])
assert untrained_rows_stay_as_they_were
print(f"learned rows from {trained_length} on are as they were at the start: {untrained_rows_stay_as_they_were}")

# %% [markdown]
# A third network costs no training. It has the same parts, but **we write its weights by hand**. Symbols are written
# into the last eight columns, where the hands hardly move. W_q is your `shift_matrix` for −1, on the other 24 columns.
# W_v picks up the symbol.

# %%
by_hand = Echo(fixed)
fast = torch.diag((torch.arange(32) < 24).float())  # keeps the first 24 columns
with torch.no_grad():
    for part in (by_hand.embed, by_hand.attend, by_hand.answer):
        for parameter in part.parameters():
            parameter.zero_()
    by_hand.embed.weight[:, 24:] = 10 * torch.eye(8)
    by_hand.attend.W_q.weight.copy_(100 * shift(-1, 32) @ fast)  # 100: how sure the head is
    by_hand.attend.W_k.weight.copy_(fast)
    by_hand.attend.W_v.weight[:8, 24:] = torch.eye(8)
    by_hand.attend.W_o.weight.copy_(torch.eye(32))
    by_hand.answer.weight[:, :8] = torch.eye(8)
echoes["sinusoids, weights by hand"] = by_hand
symbols = torch.tensor([[3, 1, 4, 1, 5, 2, 6, 5]])
answers = by_hand(symbols).argmax(-1)  # (B, T)
by_hand_names_the_symbol_before = torch.equal(answers[:, 1:], symbols[:, :-1])
assert by_hand_names_the_symbol_before
print("symbols:", symbols[0].tolist(), " answers:", answers[0].tolist())

# %% [markdown]
# **Predict** three lines: up to place 23, and from 24 on.

# %%
right = {name: share_right(echo) for name, echo in echoes.items()}
figure, axis = plt.subplots(figsize=(8, 3.4))
for (name, share), style in zip(right.items(), ("-", "--", ":"), strict=True):
    axis.plot(range(1, test_length), share, style, label=name, linewidth=2)
axis.axvline(trained_length - 0.5, color="black", linewidth=1)
axis.text(trained_length + 0.5, 0.72, "← trained up to here")
axis.set(xlabel="place in the text", ylabel="share of right answers", ylim=(0, 1.05))
axis.legend(loc="center right")
plots.show(figure, "Share of right answers over the place in the text. Up to place 23 all three lines are at 1. From "
                   "24 on, learned positions drop at once to about one in eight, trained sinusoids follow within a few "
                   "places, and the line made by hand stays at 1 up to place 95.")

# %%
inside = {name: share[: trained_length - 1].mean().item() for name, share in right.items()}
beyond = {name: share[trained_length - 1 :].mean().item() for name, share in right.items()}
all_three_are_right_within = min(inside.values()) > 0.95
learned_positions_guess_beyond = beyond["learned positions, trained"] < 0.25
both_trained_ones_fail_beyond = learned_positions_guess_beyond and beyond["sinusoids, trained"] < 0.4
by_hand_no_place_is_too_far = beyond["sinusoids, weights by hand"] == 1
assert all_three_are_right_within
assert both_trained_ones_fail_beyond
assert by_hand_no_place_is_too_far
print("within: all above 0.95; beyond: learned below 0.25, trained sinusoids below 0.4, by hand exactly 1")

# %% [markdown]
# **What that means.** The learned rows from 24 on are what they were before training, to the last bit: noise. That had
# to fail.
#
# Sinusoids fail as well, though they *could* have worked: the dotted line is the same network with other weights, and
# it is right at every place. Training did not find those, because it did not need them. **Predict:** in 24 places, how
# many of the 16 hands make a full turn?

# %%
full_turn = int((wavelengths(32) <= trained_length).sum())
thirteen_of_sixteen_hands_show_something_new_beyond = full_turn == 3
assert thirteen_of_sixteen_hands_show_something_new_beyond
print(f"{full_turn} of {len(wavelengths(32))} hands have been all the way round")

# %% [markdown]
# Thirteen hands point to angles beyond 24 that the network has never seen, and whatever it made of them is a guess. So
# *"longer"* in criterion 3 is a promise about the **table**, not about the **network**. Press and colleagues measured
# the same on language models: sinusoids hardly reach beyond the trained length
# ([arXiv:2108.12409](https://arxiv.org/abs/2108.12409)).

# %% [markdown]
# ## Summary
#
# - Attention is blind to order, at any depth. Without positions, twins come out at exactly one half.
# - Two ways out: read one by one, or inject a vector for each place. The Transformer adds one to each word.
# - A number from 0 to 1 has no fixed step and needs the length first. Integers grow, and meet lengths never seen.
# - Four criteria: unique, consistent, longer and bounded, deterministic. Binary is unique but jumps. Sinusoids pass
#   all.
# - Sinusoids lie in −1 … 1. Wavelengths grow from 2π by a constant factor, up to 10000^(1 − 2/d) · 2π.
# - PE(pos) · PE(pos + k) depends on k alone, but does not fall steadily. PE(pos + k) = M_k PE(pos), by a rotation.
# - A table may go on for ever. What a network has learned from its first rows need not.
#
# **Think about it.** The weights written by hand are right for every place, yet training on 24 places did not find
# them. What could you change, in the data or in the network, so that it has to? (One answer: turn queries and keys
# themselves by M_pos in each layer, so that only the distance is left in their product. That is RoPE,
# [arXiv:2104.09864](https://arxiv.org/abs/2104.09864).)
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.5 (the formulas, the wavelengths,
# the claim about PE(pos + k), *"may allow the model to extrapolate"*), section 3.4 (the factor √d), table 3, row E
# (learned positions). Learned positions: [Gehring et al. 2017](https://arxiv.org/abs/1705.03122), section 3.1. The four
# criteria follow a list by Amirhossein Kazemnejad ([*The Positional
# Encoding*](https://kazemnejad.com/blog/transformer_architecture_positional_encoding/), 2019).
#
# **Next.** All parts are on the table: attention, heads, masks, wires, positions. Lesson 10 puts them together to an
# encoder, and lets it read.
