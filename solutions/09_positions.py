# %% [markdown]
# # 09 · Position
#
# *75 minutes: reading 29, predicting 11, writing 35 · needs lessons 06 and 08 · three exercises*
#
# **At the end you can**
#
# - say what attention sees of the order of words, with and without a causal mask;
# - test any numbering of positions, your own included, against four criteria;
# - write the sinusoids of the 2017 paper, and say what k steps do to them;
# - say what happens beyond the trained length, and test an explanation of it.

# %%
import torch
from torch import nn

from course_lib import check, claim, intervene, mine, predict
from course_lib.display import instruments, plots
from course_lib.display.drawings import clock_hands
from course_lib.display.drawings import positions as draw

torch.set_num_threads(1)
MultiHeadAttention, causal_mask = mine("MultiHeadAttention"), mine("causal_mask")

# %% [markdown]
# ## Two plates of soup
#
# *The soup was hot, not cold. The soup was cold, not hot.*
#
# You would eat only one of the two. Both sentences consist of the same six words, each
# of them once. We call such a pair **twins**. Here each word gets a random vector, the
# same in both sentences.

# %%
hot, cold = "the soup was hot not cold".split(), "the soup was cold not hot".split()
draws = torch.randn(6, 16, generator=torch.Generator().manual_seed(0))
vector = dict(zip(hot, draws, strict=True))
x_hot = torch.stack([vector[word] for word in hot])[None]  # (1, T, D)
x_cold = torch.stack([vector[word] for word in cold])[None]  # (1, T, D)
x_hot.shape, x_cold.shape

# %% [markdown] name="order-matters"
# ## Does attention know the order?
#
# Lesson 02 found that attention without any weights cannot tell twins apart. Since then
# you have built queries, keys, values and heads. Does that help? `MultiHeadAttention`
# is your own from lesson 06, with random weights.

# %% tags=["predict"]
predict(
    "Your attention reads both sentences. In the second one, “soup” gets …",
    {
        "another vector: hot and cold have swapped": "Where in a score would you see "
        "that? It is a query times a key, and both are made of words alone.",
        "the same vector as in the first": (
            True,
            "A score compares two words, and both sentences hold the same words: "
            "the same scores, weights and sum.",
        ),
        "another vector in some of the heads": "Heads differ from each other. But "
        "each of them scores pairs of words, and the pairs are the same in both "
        "sentences.",
    },
    concept="C086",
)

# %%
torch.manual_seed(0)
attend = MultiHeadAttention(16, 4)
y_hot, y_cold = (attend(x, x, x).detach() for x in (x_hot, x_cold))  # (1, T, D)
print("soup, hot: ", [round(v, 2) for v in y_hot[0, 1, :5].tolist()])
print("soup, cold:", [round(v, 2) for v in y_cold[0, 1, :5].tolist()])

# %% [markdown]
# The same to the last digit shown: *where* "hot" and "cold" stand plays no part in any
# score. Lesson 02 called this **permutation equivariance**: put the inputs in another
# order, and the same outputs come in that order. More layers do not help. Skip
# connections, layer norm and feed-forward networks, the parts of lesson 08, treat each
# word by itself. To compare whole sentences we take the mean of all their new vectors,
# here after six layers of PyTorch's own encoder.

# %%
layer = nn.TransformerEncoderLayer(16, 4, 64, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=6)
deep_hot, deep_cold = (encoder(x).detach().mean(1) for x in (x_hot, x_cold))  # (1, D)
print(f"the means of the twins differ by {(deep_hot - deep_cold).abs().max():.4f}")

# %% tags=["claim"]
# The proof
claim("“soup” gets the same vector in both sentences",
      torch.allclose(y_hot[0, 1], y_cold[0, 1], atol=1e-6))
claim("after six layers the means of the twins are the same",
      (deep_hot - deep_cold).abs().max() < 1e-5)

# %% [markdown] name="two-options"
# ## Two options
#
# | option | how | price |
# |---|---|---|
# | **recurrence** | a recurrent network reads the words first, one by one | word t waits for word t − 1 |
# | **inject the position** | each place has a vector of its own, added to the word that stands there | which vectors? |
#
# Lesson 03 had the first one. Since lesson 05 all words are processed at once, and none
# waits. A vector that says where a word stands is called a **positional encoding**.
# (There are other options, which change the scores instead of the inputs.)

# %% tags=["predict"]
predict(
    "Six random vectors, one for each place, are added to the words. Nothing is "
    "trained. After attention, the means of the twins …",
    {
        "differ already": (
            True,
            "“Hot” carries the vector of another place in each sentence, so two "
            "different sets of vectors go in.",
        ),
        "are the same": "Random vectors say nothing? They need not say anything. Is "
        "the input of the attention still the same set of vectors in both sentences?",
        "differ only when trained": "Training decides what a difference is used "
        "for. Is there none before it? Look at what is added to “hot” in each "
        "sentence.",
    },
    concept="C087",
)

# %%
gru = nn.GRU(16, 16, batch_first=True)  # reads one by one
places = torch.randn(6, 16)  # any six different vectors, one for each place


def meaning(x):
    return attend(x, x, x).mean(1).detach()  # (1, D)


apart = {
    "attention": meaning(x_hot) - meaning(x_cold),
    "recurrence, then attention": meaning(gru(x_hot)[0]) - meaning(gru(x_cold)[0]),
    "positions, then attention": meaning(x_hot + places) - meaning(x_cold + places),
}
{name: f"{difference.norm():.2f}" for name, difference in apart.items()}

# %% tags=["claim"]
# The proof
alone, recurrent, injected = (difference.norm() for difference in apart.values())
claim("both options tell them apart before any training, attention alone does not",
      min(recurrent, injected) > 0.001 and alone < 1e-5)

# %% [markdown]
# Both work. The Transformer takes the second: it adds. What is left is the question in
# the table: **which vectors?** For six places any six *different* vectors will do. The
# trouble begins with the seventh. Each proposal below is a function of n, which gives a
# table with one row for each of n positions.

# %% [markdown] name="fraction"
# ## Bad idea 1: a number from 0 to 1
#
# The first word gets 0, the last one gets 1, and the others lie evenly between. "Soup"
# is the second of six words: its number is 0.2.

# %%
def fraction(n):
    """0 for the first of n words, 1 for the last."""
    return torch.linspace(0, 1, n)[:, None]  # (n, 1)


dict(zip(hot, [round(p, 1) for p in fraction(6)[:, 0].tolist()], strict=True))

# %% [markdown]
# Neat, and always within bounds. Now somebody goes on writing: *the soup was hot not
# cold today*.

# %% tags=["predict"]
predict(
    "With a seventh word, how many of the first six keep their number?",
    {
        1: (
            True,
            "Only the first word keeps its 0. The others move together to make "
            "room.",
        ),
        6: "“Cold” had the 1, and the 1 now belongs to “today”. So “cold” has to "
        "move, and it is not the only one.",
        5: "Five is how many of them move. How many stay?",
        0: "One word has a number that does not depend on the length.",
    },
    concept="C088",
)

# %%
before, after = fraction(6)[:, 0], fraction(7)[:6, 0]
print("kept:", [w for w, b, a in zip(hot, before, after, strict=True) if b == a])
plots.show(draw.rulers({n: fraction(n)[:, 0] for n in (6, 7, 11)}), "rulers")

# %% [markdown]
# A step has no fixed size: 0.2 is one step among six words and two steps among eleven.
# So 0.2 does not say how many words away the first one is. And you have to know the
# length before you can number the second word. A decoder that writes word by word does
# not know it, and each new word would move the old ones.

# %% tags=["claim"]
# The proof
step = {n: (fraction(n)[1] - fraction(n)[0]).item() for n in (6, 11)}
claim("a step among six words is two among eleven", abs(step[6] - 2 * step[11]) < 1e-6)

# %% [markdown] name="integers"
# ## Bad idea 2: count
#
# 0, 1, 2, 3 … Now a step is a step, and old words keep their numbers. But the numbers
# grow without bound: a longer text brings larger ones than any the network has met. And
# what do they do to the words they are added to?

# %% tags=["predict"]
predict(
    "Both words stand at position 100: that is added to all their features, which are "
    "about ±1. Before any norm, their cosine similarity is …",
    {
        "near 1": (
            True,
            "Nearly all of both vectors is the same 100. What tells the words apart "
            "is a hundredth of it.",
        ),
        "near 0, as without a position": "Both words get the same large number added. "
        "Write down their first features, say 100.3 and 98.9.",
        "near ½: half word, half position": "That would need words and positions of "
        "equal size. Here it is about 1 against 100.",
    },
    concept="C089",
)

# %%
def integers(n):
    return torch.arange(n).float()[:, None]  # (n, 1)


def at_position(position, norm=lambda x: x):
    """“hot” and “cold” at a position: the cosine similarity of the two."""
    number = integers(1001)[position]  # (1,), added to all features
    there = [norm(vector[word] + number) for word in ("hot", "cold")]
    return torch.cosine_similarity(*there, dim=0)


def layer_norm(x):
    return (x - x.mean()) / x.std(correction=0)


for position in (0, 5, 100):
    print(f"at {position:3}: {at_position(position):.2f}"
          f"   after layer norm: {at_position(position, layer_norm):.2f}")

# %% [markdown]
# Far into a text all words look alike. A layer norm, which subtracts the mean of all
# features (lesson 08), brings the words back, and takes the *position* out: what is
# added to all features alike is gone. A position has to be a pattern across the
# features, not a level.

# %% tags=["claim"]
# The proof
claim("at position 100 it is above 0.99", at_position(100) > 0.99)
claim("after layer norm the position is gone",
      abs(at_position(100, layer_norm) - at_position(0, layer_norm)) < 1e-3)

# %% [markdown] name="criteria"
# ## Four criteria, four tests
#
# Turn the drawbacks around, and you have a list of what we want.
#
# | criterion | test |
# |---|---|
# | **unique** | among 50 positions, the difference of any two rows is 0.01 long or longer |
# | **consistent** | k steps cover the same distance wherever you start, in short and in long texts |
# | **longer, and bounded** | 1,000 positions get rows, too, and no number leaves −1 … 1 |
# | **deterministic** | asked twice, it answers the same: nothing is random |
#
# Each test is a function. It answers with what is wrong, and with nothing if all is
# well. `report` puts a proposal to all four.

# %% tags=["predict"]
predict(
    "The numbers from 0 to 1: which of the four tests do they fail?",
    {
        "unique": "Among 50 words a step is 1/49 = 0.02 long: no two of them are "
        "within 0.01.",
        "consistent": (True, "A step among six words is two among eleven."),
        "longer, and bounded": "A sentence of 1,000 words gets its numbers, and none "
        "of them leaves 0 to 1.",
        "deterministic": "Nothing is random here. Ask again, and you get the same.",
    },
    concept="C090",
)

# %%
from course_lib.experiments.numberings import report

bad_ideas = report(fraction=fraction, integers=integers)

# %% tags=["claim"]
# The proof
claim("the number from 0 to 1 fails “consistent” alone, counting “longer, and bounded”",
      [not wrong for wrong in bad_ideas["fraction"]] == [True, False, True, True]
      and [not wrong for wrong in bad_ideas["integers"]] == [True, True, False, True])

# %% [markdown]
# ### Try it: your own numbering
#
# ★★☆ · 6 minutes · one line
#
# Neither idea fails everything. Can you pass all four? Change the last line of `my_own`
# and run the cell: the tests answer. A row may have as many numbers as you like. As it
# stands, the numbering is the last digit of the position, divided by ten.
#
# <details><summary>A hint</summary>
#
# A single number that walks on in steps of 0.01 leaves −1 … 1 after 200, so it has to
# turn or jump back. With two numbers in a row you have a plane. On which line in it can
# you walk on forever, in equal steps, within bounds?
#
# </details>
# <details><summary>Two answers</summary>
#
# A circle: `torch.cat([p.sin(), p.cos()], dim=1)`, a single hand of a clock. And a
# column for each position, **one-hot**: `torch.eye(1000)[:n]`. Both pass all four. But
# among 1,000 positions the hand comes back to within 0.0001 of a place where it has
# been, and the one-hot table ends after row 999.
#
# </details>

# %%
def my_own(n):
    p = torch.arange(n)[:, None].float()  # (n, 1)
    return p % 10 / 10  # one row for each position: change this


my_says = report(my_own=my_own)

# %% [markdown] name="binary"
# ## Better: several small numbers
#
# How does a car count a hundred thousand kilometres with digits that never pass 9? It
# has several of them, from fast to slow. With two digits only, 0 and 1, these are
# **binary numbers**. We write the fastest digit first.
#
# On paper: 6 = 0·1 + 1·2 + 1·4. So position 6 gets the row 0, 1, 1.

# %% [markdown]
# ### Exercise 1: `binary_positions`
#
# ★☆☆ · 8 minutes · about 2 lines
#
# Write the bits of all positions from 0 to n − 1 at once. When the bits run out,
# counting starts again at zeros, as a clock does after twelve.
#
# <details><summary>Hint 1: a question</summary>
#
# 13 // 4 is 3, and 3 is odd. What does that say about the bit that weighs 4? Which
# operation tells odd from even?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a column of positions (n, 1), and a row of powers of two (dims,)
# 2. how often does each power fit into each position, whole times only? Broadcasting
#    gives (n, dims)
# 3. keep of each count only whether it is odd, as 0.0 or 1.0
#
# </details>

# %% tags=["exercise"]
from course_lib.positions import binary_positions

# %%
binary = check(binary_positions).verified

# %% tags=["predict"]
predict(
    "Positions 0 to 31 in five bits, the fastest first. How often does column 2, the "
    "bit that weighs 4, change on the way down?",
    {
        7: (True, "Eight blocks of four rows have seven borders."),
        8: "It stays for four rows, and 32 rows are eight blocks. How many borders lie "
        "between eight blocks?",
        15: "That is column 1, whose bit weighs 2.",
        3: "That is column 3, whose bit weighs 8.",
        16: "Sixteen of the rows have this bit set. How often does it change?",
        4: "Four times it is switched on. What happens between?",
    },
    concept="C091",
)

# %%
changes = binary(32, 5).diff(dim=0).abs().sum(0).int().tolist()
print("changes of each column:", changes)

# %% [markdown] name="binary-jumps"
# ## Which rows are near to each other?
#
# Here are the first sixteen rows. Four columns hold sixteen positions, ten hold 1,024,
# and all numbers are 0 or 1.

# %%
plots.show(draw.bits(binary(16, 4)), "bits")

# %% tags=["predict"]
predict(
    "Which row is nearer to the row of position 8?",
    {
        "that of 7, its neighbour": "Write the bits of 7 and 8 one below the other, "
        "and count those that differ.",
        "both are equally near": "Count the bits that differ: 8 against 7, 8 against "
        "0.",
        "that of 0": (
            True,
            "8 is 1000 and 0 is 0000: one bit differs. From 7, 0111, all four "
            "differ.",
        ),
    },
    concept="C092",
)

# %%
codes = binary(50, 10)
distance = {p: (codes[8] - codes[p]).norm().item() for p in (7, 0)}
print("distance to 8:", distance)
plots.show(draw.bits(binary(16, 4), pair=(7, 8)), "bits-jump")

# %%
binary_says = report(binary=lambda n: binary(n, 10))

# %% [markdown]
# From 7 to 8 a **carry** flips four bits at once, from 0 to 8 only one flips:
# neighbours may be far apart. So steps are not equally long, and "consistent" fails.

# %% tags=["claim"]
# The proof
claim("columns 0 to 4 change 31, 15, 7, 3 and 1 times", changes == [31, 15, 7, 3, 1])
claim("0 is half as far from 8 as 7 is", distance[0] == 1 and distance[7] == 2)
claim("binary fails “consistent” alone",
      [not wrong for wrong in binary_says["binary"]] == [True, False, True, True])

# %% [markdown] name="waves"
# ## From bits to hands of a clock
#
# Each column of the binary table goes up and down: fast in column 0, slowly further
# right. A clock also counts with fast and slow parts. But its hands do not jump. They
# **turn**.
#
# So give each column a hand. Hand 0 turns by 1 radian for each position. (A full turn
# is $2\pi \approx 6.28$ radians.) Each further hand is slower than the one before, by a
# fixed factor. How many radians a hand turns for each position is its **frequency** ω.
# Here are four hands, in a row of width $d = 8$.

# %%
plots.show(clock_hands(5, 8), "hands-at-5")

# %% [markdown]
# A hand that points somewhere is two numbers: how far it points to the right, and how
# far up. These are the sine and the cosine of its angle, measured clockwise from the
# top. So each hand fills two columns, and a row of width $d$ holds $d/2$ hands. This is
# section 3.5 of the paper:
#
# $$
# \mathrm{PE}_{pos,\,2i} = \sin\left(\frac{pos}{10000^{2i/d}}\right)
# \qquad
# \mathrm{PE}_{pos,\,2i+1} = \cos\left(\frac{pos}{10000^{2i/d}}\right)
# $$
#
# Here $pos$ is the position and $i$ counts the hands, from 0 to $d/2 - 1$; hand $i$ has
# the frequency $\omega_i = 1/10000^{2i/d}$. For $d = 4$ and position 3, hand 0 gives
# $\sin 3 = 0.14$ and $\cos 3 = -0.99$, and hand 1, a hundred times slower,
# $\sin 0.03 = 0.03$ and $\cos 0.03 = 1.00$.
#
# Such a positional encoding is called **sinusoidal**: made of waves of sine and cosine.
# The **base** 10000 is a choice, for which the paper gives no reason. With it, the
# slowest hand of width 512 takes some 60,000 positions for a turn.

# %% tags=["predict"]
predict(
    "Width 8, position 7, hand 2: what is the sine of its angle, to two digits? (The "
    "sine of a small angle is nearly the angle.)",
    {
        0.07: (True, "The exponent is 4/8, so the angle is 7 / 100."),
        0.66: "That is hand 0. For hand 2, divide 7 by 10000^(4/8) first.",
        0.64: "You divided by 10. The exponent is 2i/d = 4/8, and not 2/8.",
        0.01: "That is hand 3. Hand 2 has the exponent 2i/d = 4/8.",
        0.0: "Look at the exponent: it is 4/8, a square root, and not 1.",
    },
    concept="C093",
    within=0.002,
)

# %% [markdown]
# ### Exercise 2: `sinusoidal_positions`
#
# ★★☆ · 10 minutes · about 4 lines
#
# There are many ways to get it nearly right: in the exponent, in the order of the
# columns. `check` knows most of them.
#
# <details><summary>Hint 1: a question</summary>
#
# For d = 6, which values does 2i/d take? How many angles does each position need, and
# how many columns come out?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one frequency for each hand, (d/2,)
# 2. one angle for each position and hand: a column of positions against the row of
#    frequencies, (n, d/2)
# 3. sines into the even columns and cosines into the odd ones: slices with a step of
#    two can be written to, or stack the two along a new last axis and flatten
#
# </details>

# %% tags=["exercise"]
from course_lib.positions import sinusoidal_positions

# %%
waves = check(sinusoidal_positions).verified

# %% [markdown] name="pictures"
# ## Two pictures of it
#
# First your table, with one row for each position. Look for the hands: which pair of
# columns is the fastest, and which ones do not seem to move?

# %%
table = waves(24, 16)  # PE: (n, d)
plots.show(draw.table(table), "sinusoids-table")

# %% [markdown]
# Then column by column, with the bits beside the hands. What jumps on the left turns on
# the right.

# %% tags=["predict"]
predict(
    "The fastest bit is on, off, on, off: it is back after 2 positions. Which hand is "
    "back so soon?",
    {
        "hand 0": "It turns by 1 radian for each position. How many of these are a "
        "full turn?",
        "the slowest one": "That one hardly moves at all.",
        "none of them": (
            True,
            "The fastest, hand 0, needs 6.28 positions for a turn. Neighbours never "
            "jump.",
        ),
    },
    concept="C094",
)

# %%
plots.show(draw.beats(binary(33, 4), waves(33, 16)), "beats")

# %% [markdown] name="wavelengths"
# All these numbers lie between −1 and 1. But do they move?

# %% tags=["predict"]
predict(
    "How many of the 16 columns hardly move over 50 positions? (Hardly: their "
    "standard deviation is below 0.05.)",
    {
        "none, or one": "No two numbers in a column are exactly the same. But look at "
        "the table above, on the right. How far do the slow hands get?",
        "the last two": "The slowest hand hardly moves, that is right. Is the next "
        "one so much faster? Go through the table from the right.",
        "seven": (
            True,
            "Hand 4 turns by 0.01 in a step: its sine still moves, its cosine hardly. "
            "Of the three hands after it neither does: 1 + 6.",
        ),
        "twelve": "That is all from hand 2 on. It turns by 0.1 in a step: how far does "
        "it get in 50?",
    },
    concept="C095",
)

# %%
many = waves(1000, 16)  # PE: (n, d)
moves = many[:50].std(0)  # (d,)
print("standard deviations:", [f"{m:.3f}" for m in moves.tolist()])

# %% [markdown]
# That does not mean that the slow ones say nothing: the slowest sine is the position
# itself, on a small scale. What they say is faint. Why so many slow hands? A hand comes
# round after one **wavelength**, the number of positions for a full turn. For hand 0
# that is $2\pi = 6.28$.

# %% tags=["predict"]
predict(
    "In width 16 a turn of hand 0 takes 6.3 positions, one of the last hand, number 7, "
    "some 20,000. And one of hand 4, in the middle?",
    {
        "about 630": (
            True,
            "From hand to hand the wavelength grows by the same *factor*, here 3.16: "
            "four times that is 100.",
        ),
        "about 11,000": "That is halfway in *steps*. But each hand is slower than the "
        "one before by a fixed factor.",
        "about 25": "That is four times hand 0: each hand would be slower by the same "
        "*amount*.",
    },
    concept="C096",
)

# %%
def wavelengths(d, base=10000):
    return 2 * torch.pi * base ** (torch.arange(0, d, 2) / d)  # λ: (d / 2,)


print([f"{w:,.1f}" for w in wavelengths(16).tolist()])
plots.show(draw.wavelengths({d: wavelengths(d) for d in (16, 64, 512)}), "wavelengths")

# %% [markdown]
# $$
# \lambda_i = 2\pi \cdot 10000^{2i/d}
# $$
#
# A series that grows by a fixed factor is a **geometric progression**. The paper says
# that it runs *"from 2π to 10000 · 2π"*. Nearly: the last hand has $i = d/2 - 1$, so the
# longest wavelength is $10000^{1 - 2/d} \cdot 2\pi$, a little less.
#
# ### Yours: a base for stories
#
# Your texts are stories of at most 1,000 words. Find a base so that, in width 16, the
# slowest hand does not come round within a story, and yet six of the eight hands turn
# by at least a tenth of a turn within 50 words.

# %% tags=["yours"]
base = 512  # yours: any number above 1
intervene(
    "a base for stories of 1,000 words",
    base,
    run=lambda base: (wavelengths(16, base)[-1].item(),
                      (50 / wavelengths(16, base) >= 0.1).sum().item()),
    holds=lambda found: found[0] > 1000 and found[1] >= 6,
    among=lambda base: base > 1,
    shows="base {choice:g}: the slowest hand comes round after {result[0]:,.0f} words, "
    "and {result[1]} hands turn by a tenth within 50",
    otherwise=lambda base, found: "It comes round too soon." if found[0] <= 1000
    else "Too few hands move.",
)

# %% tags=["claim"]
# The proof
claim("over 50 positions seven of 16 columns hardly move", (moves < 0.05).sum() == 7)
longest = {d: 1 / waves(2, d)[1, d - 2].asin() for d in (4, 16, 64, 512)}  # / 2π
claim("the longest is 10000^(1 − 2/d) · 2π, below 10000 · 2π", all(
    w < 10000 and abs(w / 10000 ** (1 - 2 / d) - 1) < 1e-3 for d, w in longest.items()))

# %% [markdown] name="reason-3"
# ## What does a step do?
#
# Compare the row of position 6 with that of position 9, and the row of 500 with that of
# 503. In both cases each hand has turned by three steps. But they started elsewhere.

# %% tags=["predict"]
predict(
    "Is there one matrix that takes row 6 to row 9, row 500 to row 503, and each other "
    "row three steps on?",
    {
        "no, at 500 they stand elsewhere": "They do. But a step turns each of "
        "them by the same angle there. Which matrices turn a plane by a given angle?",
        "no, a sine is not linear": "It is not linear in pos. A matrix reads the two "
        "numbers (sine, cosine), and turning a point of the plane is linear.",
        "no, each hand has its own angle": "So each pair of columns needs "
        "numbers of its own. How many pairs fit into one matrix?",
        "yes, one for all rows": (
            True,
            "Three steps turn each hand by an angle of its own, the same from "
            "everywhere: one small rotation for each hand, side by side in one "
            "matrix.",
        ),
    },
    concept="C097",
)

# %% [markdown]
# Let a hand stand at the angle $a$, and let it turn by $b$. The addition theorems say
# where it is afterwards:
#
# $$
# \sin(a + b) = \sin a \cos b + \cos a \sin b
# $$
#
# $$
# \cos(a + b) = \cos a \cos b - \sin a \sin b
# $$
#
# From $\sin 1 = 0.84$ and $\cos 1 = 0.54$ alone you get
# $\sin 2 = 2 \cdot 0.84 \cdot 0.54 = 0.91$. Now fix k, say 3, and ask what in these two
# lines depends on the position, and what does not.

# %% [markdown]
# ### Exercise 3: `shift_matrix`
#
# ★★☆ · 12 minutes · about 5 lines
#
# Write the matrix: $\mathrm{PE}_{pos+k} = M_k \, \mathrm{PE}_{pos}$ for *all*
# positions.
#
# <details><summary>Hint 1: a question</summary>
#
# Read the two theorems as a 2 × 2 matrix times the column (sin a, cos a). What stands
# in its four places? What should it be for k = 0?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one angle b for each hand, (d/2,)
# 2. one 2 × 2 block for each angle
# 3. the blocks on the diagonal of a (d, d) matrix, zeros elsewhere: a loop over hands
#    will do, and `torch.block_diag(*blocks)` does it at once
#
# </details>

# %% tags=["exercise"]
from course_lib.positions import shift_matrix

# %%
shift = check(shift_matrix).verified

# %% [markdown]
# Your matrix for 3 steps moves 997 positions at once. The picture shows a smaller one:
# the matrix of a single step, in width 8. (The formula has the positions as columns,
# $M \, \mathrm{PE}$; our tables have them as rows, so the code says `rows @ M.T`.)

# %% tags=["nbval-ignore-output"]
moved = many[:-3] @ shift(3, 16).T  # all rows at once: each is M @ row
print(f"997 positions moved by 3, largest error {(moved - many[3:]).abs().max():.0e}")
plots.show(draw.matrix(shift(1, 8)), "shift-by-one")

# %% tags=["claim"]
# The proof
claim("one matrix moves every position", (moved - many[3:]).abs().max() < 1e-3)
seven = torch.linalg.matrix_power(shift(1, 16), 7)
claim("seven single steps are the step of seven",
      torch.allclose(seven, shift(7, 16), atol=1e-5))

# %% [markdown] name="each-distance"
# ## How alike are two positions?
#
# Attention compares by dot products. So compare the rows of positions by them, too.
# Move *position* and *k* below, and watch the dot product: on which of the two does it
# depend? And does it fall steadily as k grows?

# %%
instruments.show("clock-hands", "instrument-clock-hands", table=waves(64, 16))

# %% [markdown]
# The product depends on the *distance* alone. It is a sum of cosines, one for each
# hand:
#
# $$
# \mathrm{PE}_{pos} \cdot \mathrm{PE}_{pos+k}
# = \sum_{i=0}^{d/2-1} \cos\left(\frac{k}{10000^{2i/d}}\right)
# $$
#
# For $d = 16$ that is 8 at $k = 0$, and 7.49 at $k = 1$. A cosine is the same for $k$
# and $-k$, so the product does not tell left from right. And it does not fall steadily
# there: the row 19 positions away is more similar than the one 9 positions away. How
# far does it fall in wider rows, before it rises again?

# %%
alike = {d: waves(1, d)[0] @ waves(50, d).T for d in (16, 64, 512)}  # (50,) each
first_rise = {d: int((line.diff() > 0).nonzero()[0]) for d, line in alike.items()}
print("it falls up to k =", first_rise)
plots.show(draw.products(alike), "products")

# %% [markdown]
# It rises again at each of these widths, but at width 512, that of the paper, only
# after 43 steps. There, within a sentence, a larger product means a nearer word. (In a
# network $W_q$ and $W_k$ stand between the rows and a score. They may keep that or not.)

# %% tags=["claim"]
# The proof
products = table @ table.T  # (n, n)
claim("the product depends on the distance alone", all(
    (products.diagonal(k) - products[0, k]).abs().max() < 1e-4 for k in range(24)))
claim("19 steps away is more similar than 9 at width 16, and less at 64 and 512",
      alike[16][19] > alike[16][9] + 1
      and all(alike[d][19] < alike[d][9] - 1 for d in (64, 512)))
claim("at width 512 it falls for 43 steps", first_rise[512] == 43)

# %% [markdown] name="look-back"
# ## What the matrix is good for
#
# Attention has a matrix $W_q$ for its queries. Let it be $M_{-1}$, one step back. Feed
# it positions alone, without words, and let the keys be the rows themselves. Then the
# query at each place is the row of the place before it. (The first place has none
# before it, and looks at itself.) Nothing is trained here.

# %%
def looks_at(k, n):
    """Where n words look if W_q is the matrix of k steps: (n, n) weights."""
    p = waves(n, 32)  # (n, d)
    queries = p @ shift(k, 32).T  # q: (n, d), each is PE(pos + k)
    scores = 30 * queries @ p.T / 32**0.5  # times 30: a sharp softmax (lesson 04)
    return torch.softmax(scores, dim=-1)


weights = looks_at(-1, 1000)  # a: (n, n)
plots.show(draw.attention(looks_at(-1, 6), hot), "look-back")

# %% [markdown]
# One matrix, and it works at position 5 and at position 999. Vaswani and colleagues
# chose sinusoids for this reason: they supposed that a model would easily learn to
# attend by *relative* positions (section 3.5), that is, by distances, although what is
# added says the **absolute** position.
#
# ### Yours: elsewhere
#
# Find the k with which "cold" looks at "hot".

# %% tags=["yours"]
k = -2  # yours: a whole number of steps
intervene(
    "“cold” looks at “hot”",
    k,
    run=lambda k: hot[looks_at(k, 6)[hot.index("cold")].argmax()],
    holds=lambda seen: seen == "hot",
    among=range(-5, 6),
    shows="with k = {choice}, “cold” looks at “{result}”",
    otherwise="How many places before “cold” does “hot” stand?",
)

# %% tags=["claim"]
# The proof
claim("each of 999 words gives the one before it a weight above 0.9",
      weights.diagonal(-1).min() > 0.9)

# %% [markdown] name="ablation"
# ## Does it matter? The ablation
#
# The position comes in once, before the first layer. In the table of version 6, one
# line changes:
#
# | part | version 6 | version 6 with positions |
# |---|---|---|
# | **inputs** | $X$, (B, T, d) | $\boldsymbol{X + \mathrm{PE}}$, (B, T, d) + (T, d) |
#
# An **ablation** takes one part away and measures what is lost. The task: twins like
# our two sentences, 216 pairs of six words, about six things, with six pleasant and six
# unpleasant words. *The soup was hot not cold* is pleasant (1), its twin is not (0).
# The network has one layer of attention, and its answer is the mean over the six
# places; nothing differs but what is added.

# %% tags=["given"]
from course_lib.experiments.reader import Reader

# %% [markdown]
# It learns 150 pairs and is asked about 66 others. Besides fixed tables there is one
# more proposal: rows that are **learned**, as those of words are, random at first.
# Their control are random rows that stay as they are, as long as those of the sinusoids.
# And the network learns without any: this is called **NoPE**, for *no positional
# encoding*. That we try twice: with each word looking at all words, and with the causal
# mask of lesson 07, so that each word looks only back.

# %% tags=["predict"]
predict(
    "No positions at all: which share of the test sentences is right, without a mask "
    "and with a causal mask?",
    {
        "½ and ½": "Without a mask, yes. But with the mask, does “cold” still see the "
        "same words in both sentences?",
        "½ and nearly all": (
            True,
            "With the mask a word sees only what stands before it, and that is not "
            "the same in both twins.",
        ),
        "about ¾ and about ¾": "Without a mask twins get one answer between them. If "
        "it is right for one, what about the other?",
        "nearly all and ½": "Seeing less helps here. What does the mask know that the "
        "words do not?",
    },
    concept="C100",
)

# %%
from course_lib.experiments.ablation import accuracy, read_twins

zeros, ones = torch.zeros(96, 32), torch.ones(32)
frozen = torch.randn(96, 32, generator=torch.Generator().manual_seed(9))
frozen *= waves(96, 32).norm(dim=1, keepdim=True) / frozen.norm(dim=1, keepdim=True)
ways = {"no positions": (zeros, None), "no positions, causal": (zeros, causal_mask(6)),
        "sinusoids": (waves(96, 32), None), "learned": (None, None),
        "random, never trained": (frozen, None), "binary": (binary(6, 32), None)}
runs = {name: [read_twins(*way, seed) for seed in range(3)]
        for name, way in ways.items()}
for name, seeds in runs.items():
    print(f"{name:21}", [f"{accuracy(answers):.2f}" for _, answers, _ in seeds])

# %%
losses = {name: torch.stack([run[0] for run in seeds]) for name, seeds in runs.items()}
plots.show(draw.losses(losses), "twins-losses")

# %% tags=["claim"]
# The proof
solved = {name: [accuracy(run[1]) for run in seeds] for name, seeds in runs.items()}
alone = solved.pop("no positions")
claim("without positions exactly half is right", set(alone) == {0.5})
claim("a causal mask is enough, and so is each numbering",
      min(min(shares) for shares in solved.values()) > 0.9)

# %% [markdown]
# Not *about* a half: **exactly** a half. Twins get the same answer, one of them is
# wrong, and no amount of training can change that.
#
# The causal mask alone solves it. It gives each place another set of words to see:
# place 3 (counted from 0) of one twin sees *the soup was hot*, with no "cold" in it. So
# attention without a mask is blind to order, and with a causal mask it is not quite.
# Haviv and colleagues found in 2022 that language models with no positions at all are
# competitive with those that have them
# ([arXiv:2203.16634](https://arxiv.org/abs/2203.16634)).

# %% [markdown] name="learned"
# ## Learned rows
#
# Gehring and colleagues learned positions in 2017, in a convolutional network
# ([arXiv:1705.03122](https://arxiv.org/abs/1705.03122), section 3.1). The Transformer
# paper tried both and found *"nearly identical results"* (table 3, row E).

# %% tags=["predict"]
predict(
    "The 96 learned rows were trained with Adam on sentences of six words. Row 30 is "
    "now …",
    {
        "filled in from the rows before it": "Each row is a parameter of its own. "
        "Nothing ties it to its neighbours.",
        "zero": "The rows were random at the start. Weight decay would "
        "shrink this one. Plain Adam has none, so what would move it?",
        "as random as it was": (
            True,
            "No sentence had a place 30, so no gradient came to row 30, and Adam "
            "does not move what gets none.",
        ),
    },
    concept="C098",
)

# %% tags=["nbval-ignore-output"]
learned = runs["learned"][0][2].positions  # seed 0
torch.manual_seed(0)
untrained = Reader(21, 1, 4).positions  # what the same seed began with
moved_by = (learned.weight - untrained.weight).detach().norm(dim=1)  # (96,)
print("rows that training has moved:", moved_by.nonzero()[:, 0].tolist())
steps = {name: (lines < 0.1).int().argmax(1).median().item()
         for name, lines in losses.items()}
{name: f"{steps[name]} steps until the loss is below 0.1"
 for name in ("sinusoids", "learned", "random, never trained")}

# %% [markdown]
# Learned rows solve the task in fewer steps than sinusoids. Is that because they learn?
# The control says no: random rows that are never trained need about as few. Nor are
# they longer than those of the sinusoids. What helps is that random rows point in all
# directions, while neighbours among the sinusoids are nearly alike.
#
# Now all proposals and all tests, with one more line: rows that are drawn anew each
# time.

# %%
last_says = report(
    sinusoids=lambda n: waves(n, 16), one_hot=lambda n: torch.eye(1000)[:n],
    learned=lambda n: learned(torch.arange(n)).detach(),
    random=lambda n: torch.randn(n, 16))
plots.show(draw.criteria(bad_ideas | binary_says | last_says), "criteria")

# %% [markdown]
# Sinusoids pass everything, and so do one-hot rows: the criteria are **necessary
# conditions**, which a good numbering should meet, and which some poor ones meet, too.
# On six places every numbering that we trained is right. Criteria are reasons to try
# something *before* an experiment. They do not replace it. So here is one.

# %% tags=["claim"]
# The proof
claim("sinusoids pass all four tests, and one-hot rows, too",
      not any(last_says["sinusoids"] + last_says["one_hot"]))
claim("rows that no sentence reaches stay as they were",
      moved_by[6:].max() == 0 and moved_by[:6].min() > 0.01)
claim("random rows need fewer steps than sinusoids, trained or not",
      max(steps["learned"], steps["random, never trained"]) < steps["sinusoids"])

# %% [markdown] name="longer"
# ## Longer than training
#
# Sinusoids *have* rows for longer texts. Will a network that has never met those rows
# know what to do with them? To be right beyond the range of the training is to
# **extrapolate**; where the range is the length of the text, it is called **length
# generalization**. The paper is careful: sinusoids *"may allow the model to
# extrapolate"*.
#
# We measure with an easy task: at every place, **name the symbol just before**. There
# are eight symbols, at random: a guess is right one time in eight. Training is on texts
# of 24 symbols, the test on 96. The network is the `Reader` above, with one head and a
# causal mask.

# %% tags=["predict"]
predict(
    "Two networks learn the task on 24 symbols: one with sinusoids, one with learned "
    "rows. At places 40 to 95 …",
    {
        "sinusoids go on, learned rows fail": "Sinusoids have good rows there. But "
        "has the network ever been corrected at one of them?",
        "both go on: the task is the same everywhere": "You know that. Row 40 of the "
        "learned table is as random as it was.",
        "both fail": (
            True,
            "A row that never took part in training is new to the network, whether "
            "a formula has filled it or chance.",
        ),
    },
    concept="C099",
)

# %%
from course_lib.experiments import echo
from course_lib.experiments.echo import shares
from course_lib.experiments.stored import compare, stored

rows = stored("09-beyond")  # five seeds each, measured in bins of eight places
right = {"sinusoids": shares(rows, "sinusoids"), "learned": shares(rows, "learned")}
plots.show(draw.beyond({"": right}), "echo")
{name: f"{share[:, 3].mean():.2f} at 24 to 31, {share[:, 5:].mean():.2f} from 40 on"
 for name, share in right.items()}

# %% [markdown]
# The learned rows from 24 on are noise: that had to fail. But sinusoids fail as well: a
# third is right at places 24 to 31, and from 32 on they guess. Is the network too
# small, or trained too briefly? Are there too many words in view? Or is it that a
# position is *added* at all? **ALiBi** ("attention with linear biases", Press and
# colleagues, [arXiv:2108.12409](https://arxiv.org/abs/2108.12409)) adds none. It takes
# the distance off each score, here times 1.

# %% tags=["predict"]
predict(
    "Which of these is right at places 24 to 95, after training on 24 symbols?",
    {
        "two layers with sinusoids, and more steps": "More can be learned. But what is "
        "learned is decided by 24 places.",
        "sinusoids, only the last 6 symbols in view": "That helps a lot: half of the "
        "answers are right. But the rows themselves are still new.",
        "no positions, the distance off each score": (
            True,
            "The symbol before has the same advantage at place 90 as at place 9.",
        ),
    },
    concept="C099",
)

# %%
panels = {
    "the network, and the angles": {
        "two layers": shares(rows, "sinusoids", layers=2),
        "base 4": shares(rows, "base 4"),
        "no positions, two layers": shares(rows, "none", layers=2)},
    "fewer words in view": {
        "sinusoids, the last 24": shares(rows, "sinusoids", 24),
        "sinusoids, the last 6": shares(rows, "sinusoids", 6)},
    "bits": {"binary": shares(rows, "binary"), "Gray code": shares(rows, "Gray code")},
    "distance in the score": {
        "ALiBi": shares(rows, "ALiBi"),
        "a learned number for each distance": shares(rows, "learned bias")},
}
plots.show(draw.beyond(panels), "echo-controls")
{f"{panel}: {name}": f"{share[:, 3:].mean():.2f}"  # right at places 24 to 95
 for panel, lines in panels.items() for name, share in lines.items()}

# %% [markdown]
# | explanation | control | right at 24 to 95 | verdict |
# |---|---|---|---|
# | too small, or trained too briefly | two layers; five times the steps | 0.18; 0.16 | no |
# | angles that it never met | base 4 instead of 10000: each hand has been everywhere | 0.17 | not by itself |
# | too many words in view | only the last 24; only the last 6 | 0.26; 0.54 | takes part |
# | rows that it never met | training texts begin anywhere from 0 to 72 | 1.00 | yes, but see below |
# | it is added to the words | ALiBi: the distance off each score | 1.00 | yes |
#
# (After five times the steps one of the five networks whose texts begin anywhere is at
# 0.70, and the four others are at 1.00: more training is not always better.)
#
# Two more lines are worth a look. Of all tables **binary** goes on best at first: rows
# 24 to 31 were never met, only their bits, one by one, and they are read right, until at
# place 32 a bit is 1 for the first time. In a **Gray code** each step flips one bit, and
# all bits were met as well; it is read badly even in training. So parts that were met
# may be enough, or not: why, stays open here. And *a learned number for each distance*
# fails beyond 24 because the numbers for larger distances were never trained. Those of
# ALiBi need not be.
#
# So *"longer"* in the list of criteria is a promise about the **table**, not about the
# **network**. What our runs do not show: how larger models on real texts behave.
# (Kazemnejad and colleagues found decoders without positions best on their tasks,
# [arXiv:2305.19466](https://arxiv.org/abs/2305.19466).)
#
# ### Yours: rows to meet
#
# Training texts have 24 symbols each, and begin at a random place from 0 to `farthest`.
# So which rows have been met? Choose it so that the network reads places 56 to 63, and
# still guesses at places 80 to 87.

# %% tags=["yours", "nbval-ignore-output"]
farthest = 44  # yours: from 0 to 72
intervene(
    "right at places 56 to 63, and wrong at 80 to 87",
    farthest,
    run=lambda far: echo.in_bins(echo.share_right(
        echo.echo(waves(96, 32), seed=0, farthest=far)))[[7, 10]].tolist(),
    holds=lambda share: share[0] > 0.9 and share[1] < 0.4,
    among=range(73),
    shows="from 0 to {choice}: {result[0]:.2f} right at 56 to 63, {result[1]:.2f} at "
    "80 to 87",
    otherwise="A text that begins at f reaches place f + 23.",
)

# %% tags=["claim"]
# The proof
of = {name: shares(rows, *how)[:, 3:].mean(1) for name, how in {
    "sinusoids": ["sinusoids"], "longer": ["sinusoids", 96, 0, 1, 1500],
    "base 4": ["base 4"], "two": ["sinusoids", 96, 0, 2], "24": ["sinusoids", 24],
    "6": ["sinusoids", 6], "met": ["sinusoids", 96, 72], "ALiBi": ["ALiBi"],
    "ALiBi, longer": ["ALiBi", 96, 0, 1, 1500]}.items()}  # (5,) each: places 24 to 95
claim("size, five times the steps, and base 4 leave more than two of three wrong",
      max(of[name].max() for name in ("two", "longer", "base 4")) < 1 / 3)
claim("with fewer words in view more is right, and never nearly all",
      of["sinusoids"].max() < of["24"].min() and of["24"].max() < of["6"].min()
      and of["6"].max() < 0.7)
claim("with ALiBi nearly all is right, and after five times the steps as well",
      min(of["ALiBi"].min(), of["ALiBi, longer"].min()) > 0.95)
claim("where all rows were met, nearly all is right", of["met"].min() > 0.95)
bits = shares(rows, "binary")
claim("binary is right at places 24 to 31, and wrong from 32 to 39",
      bits[:, 3].min() > 0.8 and bits[:, 4].max() < 0.4)
claim("sinusoids and ALiBi, trained again, come out as they are stored",
      not compare("09-beyond"))

# %% [markdown] name="further-rotary"
# ## Further: turn instead of add
#
# A network that adds positions has to find a $W_q$ and a $W_k$ for which only the
# distance matters. Su and colleagues built that in: a **rotary position embedding**
# (**RoPE**, [arXiv:2104.09864](https://arxiv.org/abs/2104.09864)) adds nothing. It
# turns query and key, pair of columns by pair of columns, by the angles of their
# positions $m$ and $n$ (here $k$ is a key, and $n$ the position it stands at). These
# are your matrices:
#
# $$
# (M_m \, q) \cdot (M_n \, k) = q \cdot M_m^\top M_n \, k = q \cdot M_{n-m} \, k
# $$
#
# Turning back by $m$ and on by $n$ is turning by $n - m$. So the position enters the
# score as a distance alone, whatever $W_q$ and $W_k$ are.

# %% tags=["nbval-ignore-output"]
q, key = torch.randn(2, 16, generator=torch.Generator().manual_seed(3))
for m, n in ((5, 2), (105, 102), (905, 902), (5, 4)):
    print(f"{m:3} asks {n:3}: {(shift(m, 16) @ q) @ (shift(n, 16) @ key):.4f}")

# %% [markdown]
# Is that enough to go on beyond the training? Here is the task from above again, with
# thirty seeds, after 300 steps and after 3,000.

# %%
turned = stored("09-rotary")
plots.show(draw.rotary(turned), "rotary")

# %% tags=["claim"]
# The proof
at = {kind: torch.tensor([[row[part] for part in ("trained", "to 47", "to 95")]
                          for row in turned if row["positions"] == kind])
      for kind in ("sinusoids", "rotary")}  # (60, 3) each: 300 steps, then 3,000
scores = [(shift(m, 16) @ q) @ (shift(m - 3, 16) @ key) for m in (5, 105, 905)]
claim("the score depends on the distance alone", max(scores) - min(scores) < 1e-3)
claim("turned, places 24 to 47 are right with most seeds, and added, with none",
      (at["rotary"][:, 1] > 0.9).double().mean() > 0.7
      and at["sinusoids"][:, 1].max() < 0.4)
claim("at places 48 to 95 turned is better with every seed, and falls",
      at["rotary"][:, 2].min() > at["sinusoids"][:, 2].max() + 0.2
      and (at["rotary"][:, 2] < at["rotary"][:, 1]).all())

# %% [markdown]
# With 28 seeds of 30, turned positions are right up to twice the trained length; with two
# they miss a fifth there. Further out they are much better than added ones, and yet they
# fall: the score depends on the distance alone, but which score a distance of 60 gets was
# never trained. Nothing forces it to be low.
# You build RoPE in lesson 15b.

# %% [markdown] name="further-add"
# ## Further: add or append, and which one is larger
#
# One could append the position, and mix nothing: $(x, p)$, twice as wide. What does the
# next matrix $W$ see? If $W$ stands there twice, one below the other, appending gives
#
# $$
# (x, p) \begin{pmatrix} W \\ W \end{pmatrix} = x W + p W = (x + p)\, W
# $$
#
# So adding *is* appending, with one matrix for both parts. Two matrices could do more.
# The price: $W_q$, $W_k$ and $W_v$ get twice as many rows, and the attention 1.7 times
# as many parameters.

# %% tags=["nbval-ignore-output"]
W = torch.randn(16, 16, generator=torch.Generator().manual_seed(2))
p = waves(6, 16)
added = (x_hot[0] + p) @ W  # (T, D)
appended = torch.cat([x_hot[0], p], dim=1) @ torch.cat([W, W])  # (T, 2D) @ (2D, D)
print(f"largest difference: {(added - appended).abs().max():.0e}")
narrow, doubled = nn.Linear(16, 16), nn.Linear(32, 16)
count = {part: sum(q.numel() for q in part.parameters()) for part in (narrow, doubled)}
more = (3 * count[doubled] + count[narrow]) / (4 * count[narrow])
print(f"parameters: {more:.1f} times as many")

# %% [markdown]
# Which of the two is larger, word or position? A row of PE is always $\sqrt{d/2}$ long,
# because every hand adds $\sin^2 + \cos^2 = 1$. How long a word is depends on how the
# embedding is **initialised**. The paper multiplies embeddings by $\sqrt d$ (section
# 3.4) and does not say why. PyTorch's `nn.Embedding` starts with a standard deviation
# of 1. Let us train the ablation with words that start small (about $1/\sqrt{512}$),
# and with the factor $\sqrt{32}$ on top of PyTorch's start; then the same with
# positions that have it, too.

# %% tags=["nbval-ignore-output"]
word = nn.Embedding(1000, 32).weight.norm(dim=1).mean() / waves(1, 32).norm()
starts = {"small words": (1 / 23, 1), "as they are": (1, 1), "words · √d": (32**0.5, 1),
          "both · √d": (32**0.5, 32**0.5)}
by_start = {}
for name, (words, positions) in starts.items():  # about 15 seconds
    table = positions * waves(96, 32)
    by_start[name] = [accuracy(read_twins(table, None, seed, words)[1])
                      for seed in range(3)]
    print(f"{name:12} word : position {word * words / positions:.2f}", " right:",
          [f"{share:.2f}" for share in by_start[name]])

# %% tags=["claim"]
# The proof
claim("adding is appending with one matrix for both",
      torch.allclose(added, appended, atol=1e-4))
claim("small words cost nothing here", min(by_start["small words"]) > 0.9)
claim("where words are eight times as long, the position is not found",
      max(by_start["words · √d"]) < 0.85)
claim("it is the ratio, not the size", min(by_start["both · √d"]) > 0.9)

# %% [markdown]
# Words that start small cost nothing here: training enlarges them. Words that are eight
# times as long as a position hide it, at least for these 120 steps, and positions that
# grow with them mend it. This suggests that $\sqrt d$ belongs to embeddings that start
# small. When you copy a formula, copy its **initialization**, too.

# %% [markdown] name="further-exact"
# ## Further: how exact is the shift, and why not fit it?
#
# In float32 your matrix was off by $10^{-7}$, or by some $10^{-5}$ where the angles are
# float32 as well. Here is the same turn in float64, written another way. Sine and cosine
# are the two parts of a **complex number** of length 1, and multiplying such numbers adds
# their angles.

# %%
frequency = 10000 ** -(torch.arange(0, 16, 2).double() / 16)  # ω: (d / 2,)
angles = torch.arange(1000)[:, None] * frequency  # (n, d / 2), float64
hands = torch.polar(torch.ones_like(angles), angles)  # cos + i sin
turn = {k: torch.polar(torch.ones(8).double(), k * frequency) for k in (1, 7, 500)}
errors = {k: (hands[:-k] * turn[k] - hands[k:]).abs().max().item() for k in turn}
{k: f"below 1e-12: {error < 1e-12}" for k, error in errors.items()}

# %% [markdown]
# Why derive $M$ at all? Take 101 rows of the table, and let **least squares** find the
# matrix that takes each row to the next one with the smallest error. Two solvers try. A
# third fit looks for the eight blocks alone, two columns at a time.

# %%
here, there = many[:100], many[1:101]  # positions 0 to 100
matrices = {"your matrix": shift(1, 16).T}  # rows: here @ matrix = there
for name, driver in {"fit, solver A": "gelsd", "fit, solver B": "gels"}.items():
    matrices[name] = torch.linalg.lstsq(here, there, driver=driver).solution
matrices["fit of 2 × 2 blocks"] = torch.block_diag(*(
    torch.linalg.lstsq(here[:, i : i + 2], there[:, i : i + 2]).solution
    for i in range(0, 16, 2)))
off = {name: (many[:-1] @ matrix - many[1:]).abs().amax(1)
       for name, matrix in matrices.items()}  # (999,) each
plots.show(draw.errors(off, fitted=100), "fitted-shift")

# %% [markdown]
# A perfect fit and a wrong matrix: if you look at the fit alone, you believe it. Over
# 100 positions the slow hands hardly move. Their cosines are all nearly 1, and nothing
# in the data tells these columns apart: so the 100 rows do not fix the 256 numbers.
# Where the form is known, and only the eight blocks are sought, the same rows are
# enough. The **condition number** of the rows says by how much a rounding error may
# grow: it compares the direction in which the rows vary most with the one in which they
# vary least.

# %%
condition = torch.linalg.cond(here.double()).item()
print(f"condition number of the 100 rows: about 10^{len(str(int(condition))) - 1}")

# %% tags=["claim"]
# The proof
ours, solver_a, solver_b, blocks = off.values()
claim("the turn is exact to 1e-12", max(errors.values()) < 1e-12)
claim("both fits look perfect where they were made, and are wrong from 500 on",
      max(solver_a[:100].max(), solver_b[:100].max()) < 1e-3
      and min(solver_a[500:].max(), solver_b[500:].max()) > 0.3)
claim("your matrix is right everywhere, and so is the fit of blocks",
      max(ours.max(), blocks.max()) < 1e-3)

# %% tags=["predict", "later"]
predict(
    "A causal language model is trained without any positions. What can its second "
    "layer know of a word's place?",
    {
        "nothing: attention is blind to order": "It is, where every word sees all the "
        "others. Here each word sees those before it.",
        "something: how much stands before it": (
            True,
            "The mask gives each place another set to average over. Deeper layers can "
            "read that.",
        ),
        "everything, as with sinusoids": "Twins are told apart, but in our task on 24 "
        "places one layer without positions was right at less than half.",
    },
    concept="C100",
)

# %% tags=["predict", "later"]
predict(
    "Sinusoids at position 1000 and at position 3. Which of the two rows is longer?",
    {
        "that of 1000": "So it is with counting. Each hand is as long as ever: it only "
        "points elsewhere.",
        "that of 3": "Each pair is a sine and a cosine of one angle. What are their "
        "squares together?",
        "neither": (True, "Each hand adds sin² + cos² = 1, wherever it points."),
    },
    concept="C095",
)

# %% [markdown]
# ## Summary
#
# - Attention without a mask is **permutation-equivariant** at any depth: exactly half
#   of the twins are answered right. A causal mask is enough to see some order.
# - Two of the ways out: read one by one, or add a vector for each place, a **positional
#   encoding**. The Transformer adds.
# - Four criteria: unique, consistent, longer and bounded, deterministic. A number from
#   0 to 1 has no fixed step, counting grows, binary numbers jump. Sinusoids pass, and
#   so do one-hot rows: the criteria are necessary, and rank nothing.
# - Sinusoids are hands of a clock, from fast to slow, with values in −1 … 1, and
#   $\mathrm{PE}_{pos+k} = M_k \, \mathrm{PE}_{pos}$, where $M_k$ is a rotation.
# - $\mathrm{PE}_{pos} \cdot \mathrm{PE}_{pos+k}$ depends on $k$ alone. At width 512 it
#   falls for 43 steps, at 16 for 3.
# - A table may go on forever. What a network has learned from its first rows need not:
#   neither size nor more steps nor unseen angles explain that alone. Rows that were met,
#   or a distance in the score that needs no training (ALiBi), go on.
#
# **Think about it.** With all rows met, the network reads 96 symbols after training on
# 24 at a time. Has it learned the rule "one step back" now, or has it only met more
# rows? Which run would tell?
#
# <details><summary>The run, and what it says</summary>
#
# Yours: with texts that begin at 0 to 44, rows 0 to 67 are met. If it had the rule,
# place 80 would be right. It is not: it has met more rows.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.5
# (the formulas, the wavelengths, the claim about PE(pos + k), *"may allow the model to
# extrapolate"*), section 3.4 (the factor $\sqrt{d}$), table 3, row E (learned
# positions). The four criteria follow a list by Amirhossein Kazemnejad ([*The Positional
# Encoding*](https://kazemnejad.com/blog/transformer_architecture_positional_encoding/),
# 2019).
#
# **Next.** All parts are on the table: attention, heads, masks, norms, positions.
# Lesson 10 puts them together into an encoder, and lets it read.
