# %% [markdown]
# # 09 · Position
#
# *75 minutes: reading 28, predicting 9, writing 38 · needs lessons 06 and 08 · three exercises*
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

from course_lib import check, claim, mine, predict
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
        "the same vector as in the first": True,
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
      torch.allclose(deep_hot, deep_cold, atol=1e-5))

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
        "differ": True,
        "are the same: random vectors say nothing": "They need not say anything. Is "
        "the input of the attention still the same set of vectors in both sentences?",
        "differ after training only": "Training decides what a difference is used "
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
claim("attention alone cannot tell the twins apart", alone < 1e-5)
claim("both options tell them apart before any training",
      min(recurrent, injected) > 0.001)

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
        1: True,
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
claim("one more word moves all but the first",
      ((before - after).abs() > 0.01).sum() == 5)
claim("a step among six words is two among eleven", abs(step[6] - 2 * step[11]) < 1e-6)

# %% [markdown] name="integers"
# ## Bad idea 2: count
#
# 0, 1, 2, 3 … Now a step is a step, and old words keep their numbers. But the numbers
# grow without bound. Add 100 to all features of a word, which are about ±1: what
# is left is nearly all position. And a longer text brings numbers that are larger than
# any the network has met.

# %%
def integers(n):
    return torch.arange(n).float()[:, None]  # (n, 1)


print([round(v, 1) for v in (vector["hot"] + integers(101)[100])[:4].tolist()])
print([round(v, 1) for v in (vector["cold"] + integers(101)[100])[:4].tolist()])

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
        "consistent": True,
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
claim("the number from 0 to 1 fails “consistent” alone",
      [not wrong for wrong in bad_ideas["fraction"]] == [True, False, True, True])
claim("counting fails “longer, and bounded” alone",
      [not wrong for wrong in bad_ideas["integers"]] == [True, True, False, True])

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
        "that of 0": True,
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

# %%
plots.show(draw.beats(binary(33, 4), waves(33, 16)), "beats")

# %% tags=["claim"]
# The proof
claim("hand 1 of width 4 stands at 0.03 radians at position 3",
      abs(waves(4, 4)[3, 2].asin() - 0.03) < 1e-4)

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
        "no: at 500 the hands stand elsewhere": "They do. But a step turns each of "
        "them by the same angle there. Which matrices turn a plane by a given angle?",
        "no: a sine is not linear": "It is not linear in pos. A matrix reads the two "
        "numbers (sine, cosine), and turning a point of the plane is linear.",
        "no: each hand has an angle of its own": "So each pair of columns needs "
        "numbers of its own. How many pairs fit into one matrix?",
        "yes": True,
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

# %%
many = waves(1000, 16)  # PE: (n, d)
moved = many[:-3] @ shift(3, 16).T  # all rows at once: each is M @ row
print(f"997 positions moved by 3, largest error {(moved - many[3:]).abs().max():.0e}")
plots.show(draw.matrix(shift(1, 8)), "shift-by-one")

# %% tags=["claim"]
# The proof
claim("one matrix moves every position", (moved - many[3:]).abs().max() < 1e-3)
seven = torch.linalg.matrix_power(shift(1, 16), 7)
claim("seven single steps are the step of seven",
      torch.allclose(seven, shift(7, 16), atol=1e-5))
claim("seven steps back undo seven steps",
      torch.allclose(shift(-7, 16) @ shift(7, 16), torch.eye(16), atol=1e-5))

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
# after 43 steps: there the bare rows have "near" built in, for a sentence. Between the
# rows and a score stand $W_q$ and $W_k$, which may keep that or not.

# %% tags=["claim"]
# The proof
products = table @ table.T  # (n, n)
claim("the product depends on the distance alone", all(
    (products.diagonal(k) - products[0, k]).abs().max() < 1e-4 for k in range(24)))
claim("at width 16, 19 steps away is more similar than 9",
      alike[16][19] > alike[16][9] + 1)
claim("at widths 64 and 512 it is less similar",
      all(alike[d][19] < alike[d][9] - 1 for d in (64, 512)))
claim("at width 512 it falls for 43 steps", first_rise[512] == 43)

# %% [markdown] name="look-back"
# ## What the matrix is good for
#
# Attention has a matrix $W_q$ for its queries. Let it be $M_{-1}$ (transposed, for our
# rows). Feed it positions alone, without words, and let the keys be the rows
# themselves. Then the query at each place is the row of the place before it. (The first
# place has none before it, and looks at itself.) Nothing is trained here.

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
# ### Try it: elsewhere
#
# ★☆☆ · 2 minutes · one number
#
# Find the k with which "cold" looks at "hot". Then make every word look at the next
# one.

# %%
k = -1
for word, where in zip(hot, looks_at(k, 6).argmax(-1).tolist(), strict=True):
    print(f"{word:5} looks at {hot[where]}")

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
# And it learns without any: this is called **NoPE**, for *no positional encoding*. That
# we try twice: with each word looking at all words, and with the causal mask of lesson
# 07, so that each word looks only back.

# %% tags=["predict"]
predict(
    "No positions at all: which share of the test sentences is right, without a mask "
    "and with a causal mask?",
    {
        "½ and ½": "Without a mask, yes. But with the mask, does “cold” still see the "
        "same words in both sentences?",
        "½ and nearly all": True,
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
ways = {"no positions": (zeros, None), "no positions, causal": (zeros, causal_mask(6)),
        "sinusoids": (waves(96, 32), None), "learned": (None, None),
        "0 to 1": (fraction(6) * ones, None), "binary": (binary(6, 32), None)}
runs = {name: [read_twins(*way, seed) for seed in range(3)]
        for name, way in ways.items()}  # about 20 seconds
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
claim("a causal mask is enough", min(solved["no positions, causal"]) > 0.9)
claim("each numbering solves it", min(min(shares) for shares in solved.values()) > 0.9)

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
# ## All proposals, all tests
#
# Gehring and colleagues learned positions in 2017, in a convolutional network
# ([arXiv:1705.03122](https://arxiv.org/abs/1705.03122), section 3.1). The Transformer
# paper tried both and found *"nearly identical results"* (table 3, row E). One more
# line in the picture: random rows, drawn anew each time.

# %%
learned = runs["learned"][0][2].positions  # seed 0
last_says = report(
    sinusoids=lambda n: waves(n, 16), one_hot=lambda n: torch.eye(1000)[:n],
    learned=lambda n: learned(torch.arange(n)).detach(),
    random=lambda n: torch.randn(n, 16))
plots.show(draw.criteria(bad_ideas | binary_says | last_says), "criteria")

# %% [markdown]
# Sinusoids pass everything, and so do one-hot rows: the criteria are **necessary
# conditions**, which a good numbering should meet, and which some poor ones meet, too.
# Learned rows fail two of them. But on six places every numbering that we trained is
# right, so the ablation tells positions from no positions, and cannot say which
# numbering is best. Criteria are reasons to try something *before* an experiment. They
# do not replace it. So here is one.

# %% tags=["claim"]
# The proof
claim("sinusoids pass all four tests", not any(last_says["sinusoids"]))
claim("one-hot rows pass them, too", not any(last_says["one_hot"]))
claim("learned positions fail “consistent” and “longer, and bounded”",
      [not wrong for wrong in last_says["learned"]] == [True, False, False, True])
claim("random rows fail “deterministic”", bool(last_says["random"][3]))
steps = {name: (lines < 0.1).int().argmax(1) for name, lines in losses.items()}
claim("learned rows need fewer steps than sinusoids, in the median",
      steps["learned"].median() < steps["sinusoids"].median())

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
        "both fail": True,
    },
    concept="C099",
)

# %%
from course_lib.experiments import echo
from course_lib.experiments.echo import shares
from course_lib.experiments.stored import stored

rows = stored("09-beyond")  # five seeds each, measured in bins of eight places
right = {"sinusoids": shares(rows, "sinusoids"), "learned": shares(rows, "learned")}
plots.show(draw.beyond({"": right}), "echo")
{name: f"{share[:, 3].mean():.2f} at 24 to 31, {share[:, 5:].mean():.2f} from 40 on"
 for name, share in right.items()}

# %% [markdown]
# The learned rows from 24 on are noise: that had to fail. But sinusoids fail as well: a
# third is right at places 24 to 31, and from 32 on they guess. Why? There are three
# explanations at hand, each with a **control**: a run that removes
# the suspected cause.
#
# 1. *The network cannot do it:* one layer with one head is too little. Control: two
#    layers, with two heads each and a feed-forward network, for four times the steps.
# 2. *Unseen angles:* in 24 places only 3 of the 16 hands have made a full turn. The
#    others point where they have never pointed before. Control: base 4 instead of
#    10000. Then 23 steps take even the slowest hand nearly once round.
# 3. *Too many words:* it has learned to choose among 24, and now there are 96. Control:
#    in the test, each place sees the last 24 symbols only.

# %% tags=["predict"]
predict(
    "Which of these three controls gets more than half of its answers right at places "
    "24 to 95?",
    {
        "the one with two layers": "Two layers can do more. But what they do is "
        "still decided by training on 24 places.",
        "the one with base 4": "Each hand has now been everywhere. Have "
        "all hands together stood as they stand at place 40?",
        "the one that sees 24 symbols": "Now it chooses among as many as ever. But "
        "their rows are rows that it has never met.",
        "none of the three": True,
    },
    concept="C099",
)

# %%
by_hand = echo.in_bins(echo.share_right(echo.with_weights_by_hand(96)))[None]
panels = {
    "1. the network": {"sinusoids, two layers": shares(rows, "sinusoids", layers=2),
                       "no positions, two layers": shares(rows, "none", layers=2),
                       "one layer, weights by hand": by_hand},
    "2. the angles": {"base 4": shares(rows, "base 4"),
                      "binary": shares(rows, "binary")},
    "3. the number of words": {"sinusoids, the last 24": shares(rows, "sinusoids", 24),
                               "learned, the last 24": shares(rows, "learned", 24)},
    "all rows met": {"sinusoids": shares(rows, "sinusoids", farthest=72),
                     "base 4": shares(rows, "base 4", farthest=72)},
}
plots.show(draw.beyond(panels, trained={"all rows met": 96}), "echo-controls")
{f"{panel}: {name}": f"{share[:, 3:].mean():.2f}"  # right at places 24 to 95
 for panel, lines in panels.items() for name, share in lines.items()}

# %% [markdown]
# None of the three is enough by itself.
#
# **1.** Two layers fail as one does. And one layer *can* do it: with $W_q$ set to your
# $M_{-1}$ by hand, nothing trained, it is right at every place. (Two layers with *no
# positions* get further than two with sinusoids, and fade.)
#
# **2.** All angles of every single hand were met, and it fails as before. Now look at
# **binary**. Rows 24 to 31 were never met, only their bits, one by one, and they are
# read right, until at place 32 a bit is 1 for the first time. (At 56 to 63 two of five
# trainings rise once more, to 0.4 and 0.7.) So a row need not be met; and parts that
# were met are enough for these bits, but not for the hands of base 4.
#
# **3.** With 24 symbols in view nothing changes up to place 79. From 80 on about half
# of the answers are right; learned rows, which are noise there, gain little. So the
# number of words does not explain the fall, but it takes part far out.
#
# **All rows met.** Training texts still have 24 symbols, but begin at a random place
# from 0 to 72. Now 96 symbols are no trouble. With base 4 only the last places are.

# %% tags=["claim"]
# The proof
of = {name: shares(rows, *how) for name, how in {
    "sinusoids": ["sinusoids"], "learned": ["learned"], "base 4": ["base 4"],
    "binary": ["binary"], "one layer alone": ["none"], "two": ["sinusoids", 96, 0, 2],
    "nope": ["none", 96, 0, 2], "24": ["sinusoids", 24], "learned 24": ["learned", 24],
    "met": ["sinusoids", 96, 72], "base 4 met": ["base 4", 96, 72]}.items()}
inside = {name: share[:, :3].min() for name, share in of.items()}
claim("without positions, one layer is right at less than half of the trained places",
      inside.pop("one layer alone") < 0.5 and of["one layer alone"][:, :3].mean() < 0.5)
claim("up to place 23 all others are right", min(inside.values()) > 0.95)
claim("beyond, none of the three controls is right more often than wrong", all(
    of[name][:, 3:].mean(1).max() < 0.5
    for name in ("sinusoids", "base 4", "two", "24")))
claim("with weights by hand no place is too far", by_hand.min() == 1)
claim("binary is right at places 24 to 31, and wrong from 32 to 39",
      of["binary"][:, 3].min() > 0.8 and of["binary"][:, 4].max() < 0.4)
claim("two layers without positions are better at 24 to 47 than those with sinusoids",
      of["nope"][:, 3:6].mean(1).min() > of["two"][:, 3:6].mean(1).max() + 0.1)
claim("the last 24 symbols help from place 80 on, and sinusoids more than learned rows",
      of["24"][:, 10:].mean(1).min() > of["learned 24"][:, 10:].mean(1).max() + 0.1
      and of["24"][:, 3:10].mean() < of["sinusoids"][:, 3:10].mean() + 0.1)
claim("where all rows were met, nearly all is right",
      of["met"].min() > 0.9 and of["base 4 met"][:, :10].min() > 0.8)
again = echo.in_bins(echo.share_right(echo.echo(echo.table_of("binary"), seed=0)))
claim("a stored run, made again, comes out alike",
      (again - of["binary"][0])[:4].abs().max() < 0.1)

# %% [markdown]
# **What that means.** Training did not give the network the rule "one step back" for
# every place. It gave it something that fits the rows it met, and how far that reaches
# depends on the numbering. Why parts combine in one table and not in the other stays
# open here. So *"longer"* in the list of criteria is a promise about the **table**, not
# about the **network**.
#
# Press and colleagues found a similar limit in language models with sinusoids, and
# proposed to add to each score a penalty that grows with the distance, ALiBi
# ([arXiv:2108.12409](https://arxiv.org/abs/2108.12409)). Kazemnejad and colleagues
# found that on their tasks decoders without positions generalize better to longer
# inputs than those with several encodings
# ([arXiv:2305.19466](https://arxiv.org/abs/2305.19466)). What our runs do not show: how
# larger models on real texts behave.

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

# %%
q, key = torch.randn(2, 16, generator=torch.Generator().manual_seed(3))
for m, n in ((5, 2), (105, 102), (905, 902), (5, 4)):
    print(f"{m:3} asks {n:3}: {(shift(m, 16) @ q) @ (shift(n, 16) @ key):.4f}")

# %% [markdown]
# Is that enough to go on beyond the training? Here is the task from above again, with
# ten seeds, after 300 steps and after 3,000.

# %%
turned = stored("09-rotary")
plots.show(draw.rotary(turned), "rotary")

# %% tags=["claim"]
# The proof
at = {kind: torch.tensor([[row[part] for part in ("trained", "to 47", "to 95")]
                          for row in turned if row["positions"] == kind])
      for kind in ("sinusoids", "rotary")}  # (20, 3) each: 300 steps, then 3,000
scores = [(shift(m, 16) @ q) @ (shift(m - 3, 16) @ key) for m in (5, 105, 905)]
claim("the score depends on the distance alone", max(scores) - min(scores) < 1e-3)
claim("on trained places both are right",
      min(a[:, 0].min() for a in at.values()) > 0.95)
claim("turned, places 24 to 47 are right, and added, they are not",
      at["rotary"][:, 1].min() > 0.9 and at["sinusoids"][:, 1].max() < 0.4)
claim("at places 48 to 95 turned is better with every seed, and falls",
      at["rotary"][:, 2].min() > at["sinusoids"][:, 2].max() + 0.2
      and (at["rotary"][:, 2] < at["rotary"][:, 1]).all())
ten_times = (at["rotary"][10:] - at["rotary"][:10]).abs().max()
claim("ten times the steps change little", ten_times < 0.1)

# %% [markdown]
# Turned positions are right up to twice the trained length. Further out they are much
# better than added ones, and yet they fall: the score depends on the distance alone,
# but which score a distance of 60 gets was never trained. Nothing forces it to be low.
# You build RoPE in lesson 15.

# %% [markdown] name="further-count"
# ## Further: what counting does to a word
#
# Above, the number 100 was added to all features of "hot" and of "cold".

# %% tags=["predict"]
predict(
    "The features of “hot” and “cold” are random numbers of about ±1. Both words "
    "stand at position 100. Before any norm, their cosine similarity is …",
    {
        "near 1": True,
        "near 0, as without a position": "Both words get the same large number added. "
        "Write down their first features, say 100.3 and 98.9.",
        "near ½: half word, half position": "That would need words and positions of "
        "equal size. Here it is about 1 against 100.",
    },
    concept="C089",
)

# %%
def at_position(position, norm=lambda x: x):
    """“hot” and “cold” at a position: the cosine similarity of the two."""
    number = integers(1001)[position]  # (1,), added to all features
    there = [norm(vector[word] + number) for word in ("hot", "cold")]
    return torch.cosine_similarity(*there, dim=0)


def layer_norm(x):
    return (x - x.mean()) / x.std(correction=0)


for position in (0, 5, 100, 1000):
    print(f"at {position:4}: {at_position(position):.2f}"
          f"   after layer norm: {at_position(position, layer_norm):.2f}")

# %% tags=["claim"]
# The proof
claim("at position 100 it is above 0.99", at_position(100) > 0.99)
claim("after layer norm the position is gone",
      abs(at_position(100, layer_norm) - at_position(0, layer_norm)) < 1e-3)

# %% [markdown]
# Far into a text the two words look alike. And then a layer norm, which subtracts the
# mean of all features (lesson 08), takes away what was added to all of them: the words
# are back, and the *position* is gone. A position has to be a pattern across the
# features, not a level.

# %% [markdown] name="further-scales"
# ## Further: bits, hands and scales
#
# Five questions about the two tables, from fast columns to slow ones.

# %% tags=["predict"]
predict(
    "Positions 0 to 31 in five bits, the fastest first. How often does column 2, the "
    "bit that weighs 4, change on the way down?",
    {
        7: True,
        8: "It stays for four rows, and 32 rows are eight blocks. How many borders lie "
        "between eight blocks?",
        15: "That is column 1, whose bit weighs 2.",
        3: "That is column 3, whose bit weighs 8.",
        16: "Sixteen of the rows have this bit set. How often does it change?",
        4: "Four times it is switched on. What happens between?",
    },
    concept="C091",
)

# %% tags=["predict"]
predict(
    "How many full turns does hand 0 make in 63 steps, from position 0 to 63?",
    {
        10: True,
        9: "Nine turns take 56.5 steps. Does a tenth one fit into 63?",
        63: "One radian is not a turn. A turn is 6.28 of them.",
        31.5: "That is the fastest bit: on, off, on, off. A hand takes 6.28 steps for "
        "one turn.",
    },
    concept="C094",
    within=0.3,
)

# %% tags=["predict"]
predict(
    "Width 8, position 7, hand 2: what is the sine of its angle, to two digits? (The "
    "sine of a small angle is nearly the angle.)",
    {
        0.07: True,
        0.66: "That is hand 0. For hand 2, divide 7 by 10000^(4/8) first.",
        0.64: "You divided by 10. The exponent is 2i/d = 4/8, and not 2/8.",
        0.01: "That is hand 3. Hand 2 has the exponent 2i/d = 4/8.",
        0.0: "Look at the exponent: it is 4/8, a square root, and not 1.",
    },
    concept="C093",
    within=0.002,
)

# %%
changes = binary(32, 5).diff(dim=0).abs().sum(0).int().tolist()
hand = torch.atan2(*waves(64, 16)[:, :2].T)  # the angle of hand 0: (n,)
turned_by = (hand.diff() % (2 * torch.pi)).sum() / (2 * torch.pi)
print("changes of each column:", changes)
print(f"hand 0 turns {turned_by:.2f} times in 63 steps; the sine of hand 2 of width 8 "
      f"at position 7: {waves(8, 8)[7, 4]:.2f}")

# %% [markdown]
# And the slow ones? Some texts say that sinusoids are **dense**: all their numbers are
# used. Past position 0 none of them is exactly zero. Take 50 positions in width 16.

# %% tags=["predict"]
predict(
    "How many of the 16 columns hardly move over 50 positions? (Hardly: their "
    "standard deviation is below 0.05.)",
    {
        "none, or one": "No two numbers in a column are exactly the same. But look at "
        "the table above, on the right. How far do the slow hands get?",
        "the last two": "The slowest hand hardly moves, that is right. Is the next "
        "one so much faster? Go through the table from the right.",
        "seven": True,
        "twelve": "That is all from hand 2 on. It turns by 0.1 in a step: how far does "
        "it get in 50?",
    },
    concept="C095",
)

# %%
moves = many[:50].std(0)  # (d,)
print("standard deviations:", [f"{m:.3f}" for m in moves.tolist()])
still = {d: (waves(50, d).std(0) < 0.05).float().mean().item() for d in (16, 64, 512)}
slowest = waves(50, 16)[:, 14]  # (n,)
print("slowest sine, times 3162:", [f"{3162 * slowest[p]:.2f}" for p in (1, 10, 49)])
{d: f"{share:.0%} hardly move" for d, share in still.items()}

# %% [markdown]
# Over 50 positions, and with this threshold, 44 to 45 % of all columns hardly move at
# widths 16, 64 and 512. That does not mean that they say nothing: the slowest sine is
# the position itself, on a small scale. What they say is faint.
#
# Why so many slow hands? A hand comes round after one **wavelength**, the number of
# positions for a full turn:
#
# $$
# \lambda_i = 2\pi \cdot 10000^{2i/d}
# $$
#
# For hand 0 that is $2\pi = 6.28$ positions. From hand to hand the wavelength grows by
# a fixed *factor*: such a series is a **geometric progression**.

# %% tags=["predict"]
predict(
    "In width 16 there are eight hands. By which factor does the wavelength grow from "
    "one hand to the next?",
    {
        3.16: True,
        2: "So it is with bits. Here, the exponent grows by 2/16 from hand to hand.",
        1250: "Equal steps, 10000 / 8, would be an arithmetic progression. Here the "
        "*exponent* grows in equal steps.",
        10: "So it is in width 8, in the picture of the four hands: the exponent "
        "grows by 2/8 there. And here?",
        1.78: "You took 1/16 as the exponent's step. It is 2i/d.",
        10000: "From the first hand to the last it grows by 3162, over all seven "
        "steps. And over one?",
    },
    concept="C096",
    within=0.1,
)

# %%
def wavelengths(d, base=10000):
    return 2 * torch.pi * base ** (torch.arange(0, d, 2) / d)  # λ: (d / 2,)


print([f"{w:,.1f}" for w in wavelengths(16).tolist()])
print(f"from hand to hand: {wavelengths(16)[1] / wavelengths(16)[0]:.2f} times")
plots.show(draw.wavelengths({d: wavelengths(d) for d in (16, 64, 512)}), "wavelengths")

# %% [markdown]
# The paper says that the wavelengths run *"from 2π to 10000 · 2π"*. **Verdict:
# nearly.** The last hand has $i = d/2 - 1$, so the longest wavelength is
# $10000^{1 - 2/d} \cdot 2\pi$. For $d = 16$ that is $3162 \cdot 2\pi$, and with growing
# $d$ it comes close to $10000 \cdot 2\pi$, but never gets there.

# %% tags=["claim"]
# The proof
claim("columns 0 to 4 change 31, 15, 7, 3 and 1 times", changes == [31, 15, 7, 3, 1])
claim("in 63 steps hand 0 makes ten full turns", turned_by // 1 == 10)
claim("over 50 positions seven of 16 columns hardly move", (moves < 0.05).sum() == 7)
claim("at widths 16, 64 and 512 it is 43 to 46 %",
      all(0.43 < share < 0.46 for share in still.values()))
claim("the slowest sine is the position, on a small scale",
      abs(3162 * slowest[49] - 49) < 0.01)
top = {d: waves(2, d)[1, d - 2].asin() for d in (4, 16, 64, 512)}  # ω of the last
claim("the longest is 10000^(1 − 2/d) · 2π, below 10000 · 2π", all(
    1 / w < 10000 and abs(1 / w / 10000 ** (1 - 2 / d) - 1) < 1e-3
    for d, w in top.items()))

# %% [markdown]
# ### Try it: a base for stories
#
# ★☆☆ · 2 minutes · one number
#
# Your texts are stories of at most 1,000 words. Find a `base` so that, in width 16, the
# slowest hand does not come round within a story, and yet six of the eight hands turn
# by at least a tenth of a turn within 50 words.
#
# <details><summary>One answer</summary>
#
# 512. Everything from about 330 to 1,100 will do. Llama 3, which turns its queries and
#      keys (lesson 15) and reads long texts, went the other way: its base is 500,000.
#
# </details>

# %%
base = 10000
hands = wavelengths(16, base)
print(f"the slowest hand comes round after {hands[-1]:,.0f} words: "
      f"{'fine' if hands[-1] > 1000 else 'too soon'}")
print(f"{(50 / hands >= 0.1).sum()} of 8 hands turn by a tenth within 50 words: "
      f"{'fine' if (50 / hands >= 0.1).sum() >= 6 else 'too few'}")

# %% [markdown] name="further-learned"
# ## Further: rows that no sentence reaches
#
# The ablation trained a table of 96 learned rows, on sentences of six words.

# %% tags=["predict"]
predict(
    "The 96 learned rows were trained with Adam on sentences of six words. Row 30 is "
    "now …",
    {
        "filled in from the rows before it": "Each row is a parameter of its own. "
        "Nothing ties it to its neighbours.",
        "zero": "The rows were random at the start. Weight decay would "
        "shrink this one. Plain Adam has none, so what would move it?",
        "as random as it was": True,
    },
    concept="C098",
)

# %%
torch.manual_seed(0)
untrained = Reader(21, 1, 4).positions  # what the same seed began with
moved_by = (learned.weight - untrained.weight).detach().norm(dim=1)  # (96,)
print("rows that training has moved:", moved_by.nonzero()[:, 0].tolist())

# %% tags=["claim"]
# The proof
claim("rows that no sentence reaches stay as they were", moved_by[6:].max() == 0)
claim("the six others were trained", moved_by[:6].min() > 0.01)

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

# %%
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

# %%
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
# In float32 your matrix was off by about $10^{-5}$. Here is the same turn in float64,
# written another way. Sine and cosine are the two parts of a **complex
# number** of length 1, and multiplying such numbers adds their angles.

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
claim("both fits look perfect where they were made",
      max(solver_a[:100].max(), solver_b[:100].max()) < 1e-3)
claim("both are wrong from position 500 on",
      min(solver_a[500:].max(), solver_b[500:].max()) > 0.3)
claim("your matrix is right everywhere", ours.max() < 1e-3)
claim("so is the fit of blocks", blocks.max() < 1e-3)
claim("rounding errors may grow beyond the seven digits of float32", condition > 1e8)

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
#   neither size, nor unseen angles, nor the number of words explains that alone.
#
# **Think about it.** With all rows met, the network reads 96 symbols after training on
# 24 at a time. Has it learned the rule now, or has it only met more rows? Which run
# would tell?
#
# <details><summary>The run, and what it says</summary>
#
# Let the training texts begin at 0 to 36, so that rows 0 to 59 are met. If it has the
# rule, place 80 is right. It is not: with five seeds places 24 to 55 are right (0.99
# and more), places 56 to 63 in 0.54 to 0.67, and from 64 on it guesses. It has met more
# rows.
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
