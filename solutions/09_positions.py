# %% [markdown]
# # 09 · Position
#
# *75 minutes: reading 32, predicting 9, writing 34 · needs lessons 06 and 08 · three exercises*
#
# **At the end you can**
#
# - say what attention sees of the order of words, with and without a causal mask;
# - test any numbering of positions, your own included, against four criteria;
# - write the sinusoids of the 2017 paper and the matrix that moves them, and say which
#   of the reasons given for them hold;
# - say what happens beyond the trained length, having measured it, and which
#   explanations of it are wrong.

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
# You would eat one of them. Both sentences consist of the same six words, each of them
# once. We call such a pair **twins**. Here each word gets a random vector, the same in
# both sentences.

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
# score. Perhaps one layer is not enough? Skip connections, norms and feed-forward
# networks, the parts of lesson 08, treat each word by itself. So we do not expect much
# from six layers of PyTorch's own encoder either.

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
# Lesson 03 had the first one: a recurrent network read, and attention looked back.
# Since lesson 05 all words are processed at once, and none waits. A vector that says
# where a word stands is called a **positional encoding**.

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
# the table: **which vectors?** For six places anything will do. The trouble begins with
# the seventh. Each proposal below is a function of n, which gives a table with one row
# for each of n positions.

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
        0: "One word has a number that does not depend on the length.",
    },
    concept="C088",
)

# %%
before, after = fraction(6)[:, 0], fraction(7)[:6, 0]
print("kept:", [w for w, b, a in zip(hot, before, after, strict=True) if b == a])
plots.show(draw.rulers({n: fraction(n)[:, 0] for n in (6, 7, 11)}), "rulers")

# %% [markdown]
# **Drawback 1.** A step has no fixed size. 0.2 is one step among six words and two
# steps among eleven. And the range up to 0.5 holds three words of six, and six of
# eleven. So a network cannot learn what 0.2 *means*.
#
# **Drawback 2.** You have to know the length before you can number the second word. A
# decoder that writes word by word does not, and each new word moves the old ones.

# %% tags=["claim"]
# The proof
claim("one more word moves all but the first",
      ((before - after).abs() > 0.01).sum() == 5)
step = {n: (fraction(n)[1] - fraction(n)[0]).item() for n in (6, 11)}
claim("a step among six words is two among eleven", abs(step[6] - 2 * step[11]) < 1e-6)
claim("up to 0.5 lie three of six words, and six of eleven",
      [(fraction(n) <= 0.5).sum().item() for n in (6, 11)] == [3, 6])

# %% [markdown] name="integers"
# ## Bad idea 2: count
#
# 0, 1, 2, 3 … Now a step is a step, and old words keep their numbers. Add the number to
# every feature of the word.

# %% tags=["predict"]
predict(
    "The features of “hot” and “cold” are random numbers of about ±1. Both words "
    "stand at position 100. Their cosine similarity is …",
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
def integers(n):
    return torch.arange(n).float()[:, None]  # (n, 1)


def cosine_at(position):
    there = integers(1001)[position]  # (1,), added to all features
    return torch.cosine_similarity(vector["hot"] + there, vector["cold"] + there, dim=0)


{position: f"{cosine_at(position):.2f}" for position in (0, 5, 100, 1000)}

# %% [markdown]
# **Drawback 1: the numbers grow without bound.** Far into a text, a word is nearly all
# position and hardly a word: hot and cold are the same thing.
#
# For two more drawbacks, look at what a network gets to see in training. Here are the
# lengths of twelve texts, and how often each position and each length occurs.

# %%
lengths = torch.tensor([3, 4, 5, 5, 6, 6, 6, 7, 7, 9, 9, 12])
seen = [int((lengths > position).sum()) for position in range(16)]
ends = [int((lengths == length).sum()) for length in range(1, 17)]
plots.show(draw.what_is_seen(seen, ends), "what-is-seen")

# %% [markdown]
# **Drawback 2: longer texts bring numbers never seen.** From position 12 on, nothing
# was ever trained, and the number is larger than any the network has met.
#
# **Drawback 3: there are gaps among the lengths.** No text has 8, 10 or 11 words: what
# the end of such a text looks like was never learned. (This one no numbering cures.)

# %% tags=["claim"]
# The proof
claim("at position 0 the cosine is far from 1", cosine_at(0) < 0.9)
claim("at position 100 it is above 0.99", cosine_at(100) > 0.99)
claim("no text has 8, 10 or 11 words", not any(ends[n - 1] for n in (8, 10, 11)))
claim("no text has a position beyond 11", seen[11] > 0 and sum(seen[12:]) == 0)

# %% [markdown] name="criteria"
# ## Four criteria, four tests
#
# Turn the drawbacks around, and you have a list of what we want.
#
# | criterion | test |
# |---|---|
# | **unique** | any two of 50 positions are at least 0.01 apart |
# | **consistent** | k steps cover the same distance wherever you start, in short and in long texts |
# | **longer, and bounded** | 1,000 positions get rows, too, and no number leaves −1 … 1 |
# | **deterministic** | asked twice, it answers the same: nothing is drawn by chance |
#
# Each test is a function. It answers with what is wrong, and with nothing if all is
# well.

# %%
def unique(encode):
    gaps = (encode(50)[:, None] - encode(50)).norm(dim=-1)  # (n, n)
    near = (gaps < 0.01).triu(1).nonzero().tolist()
    return f"positions {near[0]} are {gaps[*near[0]]:.3f} apart" if near else ""


def consistent(encode):
    for k in (1, 3, 8):
        tables = encode(20), encode(50)
        gaps = torch.cat([(table[k:] - table[:-k]).norm(dim=1) for table in tables])
        if gaps.max() - gaps.min() > 1e-3:
            return f"steps of {k} are {gaps.min():.2f} to {gaps.max():.2f} long"
    return ""

# %%
def longer_and_bounded(encode):
    try:
        largest = encode(1000).abs().max()
    except IndexError:
        return "it has no rows for 1,000 positions"
    return f"the largest of 1,000 is {largest:.4g}" if largest > 1 else ""


def deterministic(encode):
    return "" if torch.equal(encode(20), encode(20)) else "asked twice, it differs"


def report(**proposals):
    """Put every proposal to every test, print what they say, and return it."""
    tests = (unique, consistent, longer_and_bounded, deterministic)
    says = {}
    for name, encode in proposals.items():
        if encode(20).shape[:-1] != (20,):
            print(f"{name}: give a table with one row for each position")
            continue
        says[name] = [test(encode) for test in tests]
        for test, wrong in zip(tests, says[name], strict=True):
            print(f"{name:10} {test.__name__:20} {'no: ' + wrong if wrong else 'yes'}")
    return says

# %% tags=["predict"]
predict(
    "The numbers from 0 to 1: which of the four tests do they fail?",
    {
        "unique": "Within one sentence no two words share a number.",
        "consistent": True,
        "longer, and bounded": "A sentence of 1,000 words gets its numbers, and none "
        "of them leaves 0 to 1.",
        "deterministic": "Nothing is drawn by chance here. Ask again, and you get the "
        "same.",
    },
    concept="C090",
)

# %%
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
# ★★☆ · 3 minutes · one line
#
# Neither idea fails everything. Can you pass all four? Change the last line of `my_own`
# and run the cell: the tests answer. A row may have as many numbers as you like. As it
# stands, the numbering is the last digit of the position.
#
# <details><summary>A hint</summary>
#
# A single number has to jump back somewhere: 1,000 steps of at least 0.01 do not fit
# between −1 and 1. (The tests measure steps among the first 50 only, so `p % 50 / 50`
# slips through.) With two numbers in a row you have a plane. On which line in it can
# you walk on forever, in equal steps, within bounds?
#
# </details>
# <details><summary>One answer</summary>
#
# A circle, in steps so small that the first 50 do not get round: `torch.cat([(p /
# 50).sin(), (p / 50).cos()], dim=1)`. It passes all four, and its steps are only 0.02
# long. Keep it in mind.
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
# ★☆☆ · 7 minutes · about 2 lines
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
    "Positions 0 to 15 in four bits, the fastest first. How often does column 2, the "
    "bit that weighs 4, change on the way down?",
    {
        3: True,
        4: "It stays for four rows, and 16 rows are four blocks. How many borders lie "
        "between four blocks?",
        7: "That is column 1, whose bit weighs 2.",
        1: "That is column 3, whose bit weighs 8.",
    },
    concept="C091",
)

# %%
plots.show(draw.bits(binary(16, 4)), "bits")

# %% tags=["claim"]
# The proof
changes = binary(16, 4).diff(dim=0).abs().sum(0).int().tolist()
claim("columns 0 to 3 change 15, 7, 3 and 1 times", changes == [15, 7, 3, 1])

# %% [markdown] name="binary-jumps"
# ## What is wrong with binary?
#
# Four columns hold sixteen positions, ten hold 1,024, and all numbers are 0 or 1. So
# what is wrong?

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
# From 7 to 8 four bits flip, from 0 to 8 only one: neighbours may be far apart. The
# code is **discrete**: nothing lies between 0 and 1, so it does not know of "a little
# further". And in a table of width 16, most of the first 50 rows is zero: the slow
# switches have not been on yet.

# %% tags=["claim"]
# The proof
claim("0 is half as far from 8 as 7 is", distance[0] == 1 and distance[7] == 2)
claim("binary fails “consistent” alone",
      [not wrong for wrong in binary_says["binary"]] == [True, False, True, True])
claim("more than four fifths of a table of width 16 are zeros",
      (binary(50, 16) == 0).float().mean() > 0.8)

# %% [markdown] name="waves"
# ## From switches to hands of a clock
#
# Each column of the binary table is a switch with a beat: fast in column 0, slow
# further right. A clock also counts with fast and slow parts. But its hands do not
# jump. They **turn**.
#
# So give each beat a hand. Hand 0 turns by 1 radian for each position. Each further
# hand is slower than the one before, by a fixed factor. (A full turn is
# $2\pi \approx 6.28$ radians.)

# %% tags=["predict"]
predict(
    "How many full turns does hand 0 make in 32 positions?",
    {
        5: True,
        32: "One radian is not a turn. A turn is 6.28 of them.",
        16: "That is the fastest switch: on, off, on, off. A hand takes 6.28 steps "
        "for one turn.",
    },
    concept="C094",
    within=0.3,
)

# %%
plots.show(clock_hands(5, 8), "hands-at-5")

# %% [markdown]
# A hand that points somewhere is two numbers: how far it points to the right, and how
# far up. These are the sine and the cosine of its angle, measured from twelve o’clock
# as on a clock. So each hand fills two columns, and a row of width $d$ holds $d/2$
# hands. This is section 3.5 of the paper:
#
# $$
# \mathrm{PE}_{pos,\,2i} = \sin\left(\frac{pos}{10000^{2i/d}}\right)
# \qquad
# \mathrm{PE}_{pos,\,2i+1} = \cos\left(\frac{pos}{10000^{2i/d}}\right)
# $$
#
# Here $pos$ is the position and $i$ counts the hands, from 0 to $d/2 - 1$. Such a
# positional encoding is called **sinusoidal**: made of waves of sine and cosine. For
# $d = 4$ and hand 0 at position 3, the two numbers are $\sin 3 = 0.14$ and
# $\cos 3 = -0.99$.

# %% tags=["predict"]
predict(
    "Width 4, position 3, hand 1: what is the sine of its angle, to two digits? (The "
    "sine of a small angle is nearly the angle.)",
    {
        0.03: True,
        0.14: "That is hand 0. For hand 1, divide 3 by 10000^(2/4) first.",
        0.3: "You divided by 10. The exponent is 2i/d = 2/4, and not 1/4.",
        0.0: "Look at the exponent: it is 2/4, a square root, and not 1.",
    },
    concept="C093",
    within=0.002,
)

# %%
angle = 3 / 10000 ** (2 / 4)
print("angle:", round(angle, 4), " sine:", round(torch.tensor(angle).sin().item(), 4))

# %% [markdown]
# ### Exercise 2: `sinusoidal_positions`
#
# ★★☆ · 10 minutes · about 4 lines
#
# There are many ways to get it nearly right: in the exponent, in the order of the
# columns. The card knows most of them.
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
# Then column by column, with the switches beside the hands. The beats are the same
# idea. What jumps on the left turns on the right.

# %%
plots.show(draw.beats(binary(32, 4), waves(32, 16)), "beats")

# %% tags=["claim"]
# The proof
first = waves(33, 16)[:, :2].double()
angles = torch.atan2(first[:, 0], first[:, 1])  # of hand 0: (n,)
passed_the_top = (angles.diff() < 0).sum()
claim("in 32 positions hand 0 comes round five times", passed_the_top == 5)
claim("a row of sinusoids holds the angle of position 3, hand 1",
      abs(waves(4, 4)[3, 2] - 0.03) < 1e-3)

# %% [markdown] name="reason-1"
# ## Reason 1: bounded, continuous, and dense?
#
# Why these waves? Texts give three reasons. Some texts say that their values *"lie
# between 0 and 1"*, like bits. **Verdict: false.** You have seen −0.99. They lie
# between −1 and 1, on both sides of zero. But **bounded** they are.
#
# They are also **continuous**: a small step is a small change. Every step is equally
# long, and 7 is now nearer to 8 than 0 is.
#
# And they are said to be **dense**: all numbers are used, none is wasted on a zero, as
# bits are. Take 50 positions, a long sentence, in width 16.

# %% tags=["predict"]
predict(
    "How many of the 16 columns hardly move over 50 positions? (Hardly: their "
    "standard deviation is below 0.05.)",
    {
        "none": "No two numbers in a column are exactly the same. But look at the "
        "table above, on the right. How far do the slow hands get?",
        "the last two": "The slowest hand hardly moves, that is right. Is the next "
        "one so much faster? Go through the table from the right.",
        "seven": True,
    },
    concept="C095",
)

# %%
many = waves(1000, 16)  # PE: (n, d)
moves = many[:50].std(0)  # (d,)
print("standard deviations:", [f"{m:.2f}" for m in moves.tolist()])
still = {d: (waves(50, d).std(0) < 0.05).float().mean().item() for d in (16, 64, 512)}
{d: f"{share:.0%} hardly move" for d, share in still.items()}

# %% [markdown]
# **Verdict: not dense.** Past position 0, no number is *exactly* zero, and that is
# where the word comes from. But over 50 positions 44 to 45 % of all columns hardly
# move, at widths 16, 64 and 512 alike: their sines stay near 0 and their cosines near
# one. Is that waste? Within a sentence these columns say next to nothing about where a
# word stands, so they are nearly free for what it *is*. We will use that below.

# %% tags=["claim"]
# The proof
steps = (many[1:] - many[:-1]).norm(dim=1)
from_7, from_0 = (many[8] - many[7]).norm(), (many[8] - many[0]).norm()
claim("the values go from −1 to 1", many.min() < -0.999 and many.max() > 0.999
      and many.abs().max() <= 1)
claim("every step is equally long", steps.max() - steps.min() < 1e-3)
claim("7 is nearer to 8 than 0 is", from_7 < from_0 / 1.5)
claim("over 50 positions seven of 16 columns hardly move", (moves < 0.05).sum() == 7)
claim("at widths 16, 64 and 512 it is 43 to 46 %",
      all(0.43 < share < 0.46 for share in still.values()))
claim("past position 0 no number is exactly zero", (many[1:] != 0).all())

# %% [markdown] name="reason-2"
# ## Reason 2: a hand for every scale
#
# Why are so many hands so slow? A hand comes round after one **wavelength**. It is the
# number of positions for a full turn:
#
# $$
# \lambda_i = 2\pi \cdot 10000^{2i/d}
# $$
#
# For hand 0 that is $2\pi = 6.28$ positions. Fast hands tell neighbours apart, and slow
# hands tell chapter 1 from chapter 9. From hand to hand the wavelength grows by a fixed
# *factor*: such a series is a **geometric progression**.

# %% tags=["predict"]
predict(
    "In width 16 there are eight hands. By which factor does the wavelength grow from "
    "one hand to the next?",
    {
        3.16: True,
        2: "So it is with bits. Here, the exponent grows by 2/16 from hand to hand.",
        1250: "Equal steps, 10000 / 8, would be an arithmetic progression. Here the "
        "*exponent* grows in equal steps.",
        10000: "That is about the factor from the first hand to the last, over all "
        "steps.",
    },
    concept="C096",
    within=0.1,
)

# %%
def wavelengths(d, base=10000):
    return 2 * torch.pi * base ** (torch.arange(0, d, 2) / d)  # λ: (d / 2,)


print([f"{w:,.0f}" for w in wavelengths(16).tolist()])
plots.show(draw.wavelengths({d: wavelengths(d) for d in (16, 64, 512)}), "wavelengths")

# %% [markdown]
# In a text of 50 words, a hand with a wavelength of 2,000 turns by nine degrees. There
# are hands for books, and most texts are sentences. That is the price.
#
# The paper says that the wavelengths run *"from 2π to 10000 · 2π"*. **Verdict:
# nearly.** The last hand has $i = d/2 - 1$, so the longest wavelength is
# $10000^{1 - 2/d} \cdot 2\pi$. For $d = 16$ that is $3162 \cdot 2\pi$, and with growing
# $d$ it comes close to $10000 \cdot 2\pi$, but never gets there.

# %% tags=["claim"]
# The proof
factors = wavelengths(16)[1:] / wavelengths(16)[:-1]
claim("from hand to hand the wavelength grows by 3.16",
      torch.allclose(factors, torch.full_like(factors, 10000 ** (2 / 16)), rtol=1e-3))
longest = {d: (wavelengths(d)[-1] / (2 * torch.pi)).item() for d in (4, 16, 64, 512)}
claim("the longest is 10000^(1 − 2/d) · 2π, below 10000 · 2π", all(
    t < 10000 and abs(t / 10000 ** (1 - 2 / d) - 1) < 1e-3 for d, t in longest.items()))

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
# 512. Everything from about 330 to 1,100 will do. Llama 3, whose texts are long, went
#      the other way: its base is 500,000.
#
# </details>

# %%
base = 10000
hands = wavelengths(16, base)
print(f"the slowest hand comes round after {hands[-1]:,.0f} words: "
      f"{'fine' if hands[-1] > 1000 else 'too soon'}")
print(f"{(50 / hands >= 0.1).sum()} of 8 hands turn by a tenth within 50 words: "
      f"{'fine' if (50 / hands >= 0.1).sum() >= 6 else 'too few'}")

# %% [markdown] name="each-distance"
# ## The same distance, everywhere
#
# Attention compares by dot products. So compare positions by them, too. Move *position*
# and *k* below, and watch three things: by which angle each hand turns in k steps,
# whether that depends on the position, and whether the dot product falls steadily as k
# grows.

# %%
instruments.show("clock-hands", "instrument-clock-hands", table=waves(64, 16))

# %% [markdown]
# Some texts say that *each distance is consistent*. **Verdict: true.** The product
# depends on the *distance alone*, never on where you are. A matrix of all products has
# equal numbers along each diagonal; such a matrix is called **Toeplitz**. The product
# is a sum of cosines, one for each hand:
#
# $$
# \mathrm{PE}_{pos} \cdot \mathrm{PE}_{pos+k}
# = \sum_{i=0}^{d/2-1} \cos\left(\frac{k}{10000^{2i/d}}\right)
# $$
#
# For $k = 0$ and $d = 16$ that is 8. But it does **not fall steadily**: a word 19
# positions away is more similar than one 9 positions away. "Near" is not built in. A
# network has to make it out of the hands.

# %% tags=["claim"]
# The proof
products = table @ table.T  # (n, n)
claim("the product depends on the distance alone", all(
    (products.diagonal(k) - products[0, k]).abs().max() < 1e-4 for k in range(24)))
cosines = torch.cos(torch.arange(24)[:, None] * 2 * torch.pi / wavelengths(16)).sum(1)
claim("it is a sum of cosines", torch.allclose(products[0], cosines, atol=1e-3))
claim("19 steps away is more similar than 9", products[0, 19] > products[0, 9] + 1)

# %% [markdown] name="reason-3"
# ## Reason 3: moving on is a turn
#
# In k steps each hand turns by a fixed angle $b$, wherever it stands. Let it stand at
# $a$. The addition theorems say where it is afterwards:
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
# $\sin 2 = 2 \cdot 0.84 \cdot 0.54 = 0.91$. Now fix k, say 3,
# and ask what in these two lines depends on the position, and what does not.

# %% tags=["predict"]
predict(
    "A matrix takes the row of position 6 to that of position 9. Which matrix takes "
    "500 to 503?",
    {
        "another one: the hands stand elsewhere": "They do: that is a. Which of the "
        "four factors in the theorems depend on a alone, and which on k alone?",
        "the same one": True,
        "there is none: sines are not linear": "They are not linear in pos. Read the "
        "theorems as functions of the two numbers sin a and cos a.",
    },
    concept="C097",
)

# %% [markdown]
# ### Exercise 3: `shift_matrix`
#
# ★★☆ · 11 minutes · about 5 lines
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
# the matrix of a single step, in width 8. The first block turns by a radian, the last
# one hardly turns at all.

# %%
moved = many[:-3] @ shift(3, 16).T  # all rows at once: each is M @ row
print(f"997 positions moved by 3, largest error {(moved - many[3:]).abs().max():.4f}")
plots.show(draw.matrix(shift(1, 8)), "shift-by-one")

# %% tags=["claim"]
# The proof
claim("one matrix moves every position", (moved - many[3:]).abs().max() < 1e-3)
seven = torch.linalg.matrix_power(shift(1, 16), 7)
claim("seven single steps are the step of seven",
      torch.allclose(seven, shift(7, 16), atol=1e-5))
claim("seven steps back undo seven steps",
      torch.allclose(shift(-7, 16) @ shift(7, 16), torch.eye(16), atol=1e-5))

# %% [markdown] name="look-back"
# ## What reason 3 is good for
#
# Attention has a matrix $W_q$ for its queries. Let it be $M_{-1}$. Feed it positions
# alone, without words. Then the query at each place is the row of the place before it.
# (The first place has none before it, and looks at itself.) Nothing is trained here.

# %%
def looks_at(k, n):
    """Where n words look if W_q is the matrix of k steps: (n, n) weights."""
    p = waves(n, 32)  # (n, d)
    queries = p @ shift(k, 32).T  # q: (n, d), each is PE(pos + k)
    return torch.softmax(30 * queries @ p.T / 32**0.5, dim=-1)  # 30: how sure it is


weights = looks_at(-1, 200)  # a: (n, n)
plots.show(draw.attention(looks_at(-1, 6), hot), "look-back")

# %% [markdown]
# One matrix, and it works at position 5 and at position 199. Vaswani and colleagues
# chose sinusoids for this reason: they supposed that a model would easily learn to
# attend by *relative* positions (section 3.5).
#
# ### Try it: elsewhere
#
# ★☆☆ · 1 minute · one number
#
# Find the k with which "cold" looks at "hot". Then make every word look at the next
# one.

# %%
k = -1
for word, where in zip(hot, looks_at(k, 6).argmax(-1).tolist(), strict=True):
    print(f"{word:5} looks at {hot[where]}")

# %% tags=["claim"]
# The proof
claim("each of 199 words looks one back",
      torch.equal(weights[1:].argmax(-1), torch.arange(199)))

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
# our two sentences, with six things, six pleasant and six unpleasant words. *The soup
# was hot not cold* is pleasant (1), its twin is not (0).

# %%
things = "soup tea water bath room coat".split()
good = "hot fresh clean soft sweet bright".split()
bad = "cold stale dirty hard bitter dull".split()
words = ["the", "was", "not", *things, *good, *bad]
pairs = [[f"the {t} was {g} not {b}", f"the {t} was {b} not {g}"]
         for t in things for g in good for b in bad]
twins = torch.tensor([[[words.index(w) for w in sentence.split()] for sentence in pair]
                      for pair in pairs])  # (P, 2, T)
order = torch.randperm(len(twins), generator=torch.Generator().manual_seed(0))
training, test = twins[order[:150]], twins[order[150:]]
training.shape, test.shape

# %% [markdown]
# One layer of your attention with a skip connection. What is added to the words is an
# argument: a fixed table, or one that is learned. Otherwise nothing differs.

# %%
class Reader(nn.Module):
    """One layer of attention over words and positions; some answers for each place.

    table: fixed positions (n, d); None: 96 learned rows
    """

    def __init__(self, words, answers, heads, table=None, d=32):
        super().__init__()
        self.embed, self.attend = nn.Embedding(words, d), MultiHeadAttention(d, heads)
        self.positions = nn.Embedding(96, d)
        if table is not None:
            self.positions = nn.Embedding.from_pretrained(table)  # never trained
        self.answer = nn.Linear(d, answers)

    def forward(self, ids, mask=None, start=0):
        x = self.embed(ids) + self.positions(start + torch.arange(ids.shape[1]))
        return self.answer(x + self.attend(x, x, x, mask))  # (B, T, answers)

# %%
from course_lib.training import fit, shuffled


def read_twins(table, mask=None, seed=0):
    """Train on 150 pairs; return losses, the answers to 66 others, and the reader."""
    torch.manual_seed(seed)
    reader = Reader(len(words), 1, 4, table)

    def loss(model, ids, labels):
        yes = model(ids, mask).mean((1, 2))  # (B,), positive for pleasant
        return nn.functional.binary_cross_entropy_with_logits(yes, labels)

    labels = torch.tensor([1.0, 0.0]).repeat(len(training))
    batches = shuffled(training.flatten(0, 1), labels, batch_size=20, epochs=12,
                       seed=seed)
    trained = [p for p in reader.parameters() if p.requires_grad]
    losses = fit(reader, loss, batches, torch.optim.Adam(trained, lr=5e-3))
    answers = reader(test.flatten(0, 1), mask).detach().mean((1, 2)).view(-1, 2)
    return losses, answers, reader


def accuracy(answers):
    return ((answers > 0) == torch.tensor([True, False])).float().mean().item()

# %% [markdown]
# Training without a positional encoding has a name: **NoPE**, for *no positional
# encoding*. We try it twice, with each word looking at all words, and with the causal
# mask of lesson 07: each word looks only back.

# %% tags=["predict"]
predict(
    "No positions at all: which share of the test sentences is right, without a mask "
    "and with a causal mask?",
    {
        "½ and ½": "Without a mask, yes. But with the mask, does “cold” still see the "
        "same words in both sentences?",
        "½ and nearly all": True,
        "about ¾ and about ¾": "Twins get one answer between them. If one is right, "
        "what about the other?",
        "nearly all and ½": "Seeing less helps here. What does the mask know that the "
        "words do not?",
    },
    concept="C100",
)

# %%
zeros, causal = torch.zeros(96, 32), causal_mask(6)
ways = {"no positions": (zeros, None), "no positions, causal mask": (zeros, causal),
        "sinusoids": (waves(96, 32), None), "learned positions": (None, None)}
runs = {name: [read_twins(*way, seed) for seed in range(3)]
        for name, way in ways.items()}
for name, seeds in runs.items():
    print(f"{name:26}", [f"{accuracy(answers):.2f}" for _, answers, _ in seeds])

# %%
losses = {name: torch.stack([run[0] for run in seeds]) for name, seeds in runs.items()}
plots.show(draw.losses(losses), "twins-losses")

# %% tags=["claim"]
# The proof
nope = [answers for _, answers, _ in runs["no positions"]]
claim("without positions twins get one answer",
      all((a[:, 0] - a[:, 1]).abs().max() < 1e-5 for a in nope))
claim("without positions exactly half is right", all(accuracy(a) == 0.5 for a in nope))
solved = {name: min(accuracy(run[1]) for run in seeds) for name, seeds in runs.items()}
claim("a causal mask is enough", solved["no positions, causal mask"] > 0.95)
claim("with sinusoids it is solved", solved["sinusoids"] > 0.95)
claim("with learned positions, too", solved["learned positions"] > 0.95)

# %% [markdown]
# Not *about* a half: **exactly** a half. Twins get the same answer, one of them is
# wrong, and no amount of training can change that.
#
# The causal mask alone solves it. It treats places differently: in "hot not cold",
# "cold" has seen "hot", but "hot" has not seen "cold". So an encoder is blind without
# positions, and a decoder is not quite. Haviv and colleagues found in 2022 that
# language models with no positions at all are competitive with those that have them
# ([arXiv:2203.16634](https://arxiv.org/abs/2203.16634)).

# %% [markdown] name="learned"
# ## The fifth proposal: learn them
#
# You have just seen one more proposal at work: `nn.Embedding(96, d)`, a table with a
# row for each position, random at first and trained like the words. Gehring and
# colleagues did so in 2017 ([arXiv:1705.03122](https://arxiv.org/abs/1705.03122),
# section 3.1). The Transformer paper tried both and found *"nearly identical results"*
# (table 3, row E).

# %% tags=["predict"]
predict(
    "Your 96 learned rows were trained on sentences of six words. Row 30 is now …",
    {
        "filled in from the rows before it": "Each row is a parameter of its own. "
        "Nothing ties it to its neighbours.",
        "zero": "The rows were random at the start. What would have moved this one "
        "towards zero?",
        "as random as it was": True,
    },
    concept="C098",
)

# %%
learned = runs["learned positions"][0][2].positions  # seed 0
torch.manual_seed(0)
untrained = Reader(len(words), 1, 4).positions  # what the same seed began with
moved = (learned.weight - untrained.weight).detach().norm(dim=1)  # (96,)
print("rows that training has moved:", moved.nonzero()[:, 0].tolist())

# %%
last_says = report(sinusoids=lambda n: waves(n, 16),
                   learned=lambda n: learned(torch.arange(n)).detach())
plots.show(draw.criteria(bad_ideas | binary_says | last_says), "criteria")

# %% [markdown]
# Sinusoids pass everything. Learned positions fail two tests, and yet they work just as
# well. (They answer the same twice. But train them again from another seed, and you get
# another table.) Criteria are good reasons *before* an experiment. They do not replace
# it.

# %% tags=["claim"]
# The proof
claim("rows that no sentence reaches stay as they were", moved[6:].max() == 0)
claim("the six others were trained", moved[:6].min() > 0.01)
again = runs["learned positions"][1][2].positions.weight[:6]
claim("two trainings end at two tables", (learned.weight[:6] - again).norm() > 1)
claim("sinusoids pass all four tests", not any(last_says["sinusoids"]))
claim("learned positions fail “consistent” and “longer, and bounded”",
      [not wrong for wrong in last_says["learned"]] == [True, False, False, True])

# %% [markdown] name="longer"
# ## Longer than training
#
# Sinusoids *have* rows for longer texts. Will a network that has never met those rows
# know what to do with them? To be right beyond the range of the training is to
# **extrapolate**. The paper is careful: sinusoids *"may allow the model to
# extrapolate"*.
#
# We measure, with the easiest task that needs positions: at every place, **name the
# symbol just before**. There are eight symbols, at random: a guess is right one time in
# eight. Training is on texts of 24 symbols, the test on 96. The mask is causal.

# %%
short, long = 24, 96


def echo(table, seed, farthest=0):
    """Train on 300 batches; the first symbol is at a place from 0 to `farthest`."""
    torch.manual_seed(seed)
    reader, causal = Reader(8, 8, 1, table), causal_mask(short)

    def loss(model, symbols, start):
        out = model(symbols, causal, start.item())[:, 1:]  # (B, T - 1, 8)
        return nn.functional.cross_entropy(out.flatten(0, 1), symbols[:, :-1].flatten())

    batches = [(torch.randint(8, (32, short)), torch.randint(farthest + 1, ()))
               for _ in range(300)]
    trained = [p for p in reader.parameters() if p.requires_grad]
    fit(reader, loss, batches, torch.optim.Adam(trained, lr=5e-3))
    return reader


def share_right(reader):
    """For each place of 200 long texts, how often the answer is right: (95,)."""
    texts = torch.randint(8, (200, long), generator=torch.Generator().manual_seed(5))
    answers = reader(texts, causal_mask(long)).argmax(-1)  # (200, T)
    return (answers[:, 1:] == texts[:, :-1]).float().mean(0)

# %% tags=["predict"]
predict(
    "Two networks learn the task on 24 symbols: one with sinusoids, one with learned "
    "rows. From place 24 on …",
    {
        "sinusoids go on, learned rows fail": "Sinusoids have good rows there. But "
        "has the network ever been corrected at one of them?",
        "both go on: the task is the same everywhere": "You know that. Row 24 of the "
        "learned table is as random as it was.",
        "both fail": True,
    },
    concept="C099",
)

# %%
def three(table, farthest=0):
    """Three networks, with three seeds: (3, 95)."""
    return torch.stack([share_right(echo(table, s, farthest)) for s in range(3)])


right = {"sinusoids": three(waves(long, 32)), "learned positions": three(None)}
plots.show(draw.places(right, short), "echo")

# %% [markdown]
# The learned rows from 24 on are noise: that had to fail. But sinusoids fail as well,
# and within a few places. Why? There are three explanations at hand.
#
# 1. *The network cannot do it:* one layer and one head are too little.
# 2. *Unseen angles:* in 24 places only 3 of the 16 hands have made a full turn. The
#    others point where they have never pointed before.
# 3. *Too many words:* it has learned to choose among 24, and now there are 96.
#
# Each of them has a control: a run in which the suspect is away.

# %% [markdown]
# **First control: weights by hand.** Nothing is trained. The symbols go into the last
# eight columns, which hardly move. $W_q$ is your $M_{-1}$ on the other 24. $W_v$ picks
# the symbol up.

# %%
by_hand = Reader(8, 8, 1, waves(long, 32))
fast = torch.diag((torch.arange(32) < 24).float())  # keeps the first 24 columns
with torch.no_grad():
    for part in (by_hand.embed, by_hand.attend, by_hand.answer):
        for parameter in part.parameters():
            parameter.zero_()
    by_hand.embed.weight[:, 24:] = 10 * torch.eye(8)
    by_hand.attend.W_q.weight.copy_(100 * shift(-1, 32) @ fast)  # 100: how sure it is
    by_hand.attend.W_k.weight.copy_(fast)
    by_hand.attend.W_v.weight[:8, 24:] = torch.eye(8)
    by_hand.attend.W_o.weight.copy_(torch.eye(32))
    by_hand.answer.weight[:, :8] = torch.eye(8)
symbols = torch.tensor([[3, 1, 4, 1, 5, 2, 6, 5]])
answers = by_hand(symbols, causal_mask(8)).argmax(-1)  # (B, T)
print("symbols:", symbols[0].tolist(), " answers:", answers[0].tolist())

# %% [markdown]
# **Second control: no unseen angles.** With base 4 instead of 10000 the slowest of the
# 16 hands comes round in 23.05 steps, and 24 places are 23 steps.
#
# **Third control: random starts.** Texts still have 24 symbols in training. But the
# first one is at a random place from 0 to 72, so that every row is met.

# %%
angles = torch.arange(long)[:, None] * 2 * torch.pi / wavelengths(32, 4)  # (96, 16)
quick = torch.cat([angles.sin(), angles.cos()], dim=1)  # (96, 32)
controls = {"weights by hand": share_right(by_hand)[None],
            "all hands came round": three(quick),
            "random starts": three(waves(long, 32), farthest=long - short)}
plots.show(draw.places(controls, short), "echo-controls")

# %% tags=["claim"]
# The proof
inside = [r[:, : short - 1].mean(1).min() for r in (right | controls).values()]
beyond = {name: r[:, short - 1 :].mean(1) for name, r in (right | controls).items()}
claim("up to place 23 all are right", min(inside) > 0.95)
claim("beyond, learned positions are near to guessing",
      beyond["learned positions"].max() < 0.25)
claim("beyond, trained sinusoids are wrong more often than right",
      beyond["sinusoids"].max() < 0.5)
claim("with weights by hand no place is too far", beyond["weights by hand"].min() == 1)
claim("in 24 places 3 of 16 hands make a full turn",
      (wavelengths(32) <= short).sum() == 3)
claim("with base 4 all hands do", (wavelengths(32, 4) <= short).all())
claim("and yet it fails", beyond["all hands came round"].max() < 0.5)
claim("with random starts it is right nearly everywhere",
      beyond["random starts"].min() > 0.8)

# %% [markdown]
# **What that means.** The same network with other weights is right at every place, so
# it is not too small. Where practically every angle was seen, it fails as before, so
# unseen angles are not the cause. Where it met all rows, 24 words at a time, it reads
# 96, so it is not the number of words.
#
# What is left: the network did not learn the *rule* "one step back". It learned what to
# do with the **rows it met**, and 24 rows can be told apart in many ways that mean
# nothing in row 25. So *"longer"* in the list of criteria is a promise about the
# **table**, and not about the **network**. Press and colleagues measured the same on
# language models: sinusoids hardly reach beyond the trained length
# ([arXiv:2108.12409](https://arxiv.org/abs/2108.12409)). What this does not show: how
# larger models on real texts behave far beyond their training.

# %% [markdown] name="further-add"
# ## Further: add or append, and which one is louder
#
# One could append the position, and mix nothing: $(x, p)$, twice as wide. What does the
# next matrix $W$ see? If $W$ stands there twice, one below the other, appending gives
#
# $$
# (x, p) \begin{pmatrix} W \\ W \end{pmatrix} = x W + p W = (x + p)\, W
# $$
#
# So adding *is* appending, with one matrix for both parts. Two matrices could do more.
# But appending makes the attention twice as wide, with nearly four times the
# parameters.

# %%
W = torch.randn(16, 16, generator=torch.Generator().manual_seed(2))
p = waves(6, 16)
added = (x_hot[0] + p) @ W  # (T, D)
appended = torch.cat([x_hot[0], p], dim=1) @ torch.cat([W, W])  # (T, 2D) @ (2D, D)
size = {d: sum(q.numel() for q in MultiHeadAttention(d, 4).parameters())
        for d in (16, 32)}
print(f"largest difference: {(added - appended).abs().max():.3f}; parameters: {size}")

# %% [markdown]
# Which of the two is larger, word or position? A row of PE is always $\sqrt{d/2}$ long,
# because every hand adds $\sin^2 + \cos^2 = 1$. How long a word is depends on how the
# embedding is **initialised**. The paper multiplies embeddings by $\sqrt d$ (section
# 3.4) and does not say why. Here is the ratio *word : position* for embeddings with a
# standard deviation of $1/\sqrt d$, and of 1, as in PyTorch's `nn.Embedding`.

# %%
d = 512
draws = torch.randn(1000, d, generator=torch.Generator().manual_seed(4))
ratio = {name: (std * draws).norm(dim=1).mean() / waves(50, d).norm(dim=1).mean()
         for name, std in {"1/√d": d**-0.5, "1": 1.0}.items()}
for name, r in ratio.items():
    print(f"standard deviation {name:>4}: as it is {r:.2f}, times √d {r * d**0.5:.1f}")

# %% tags=["claim"]
# The proof
claim("adding is appending with one matrix for both",
      torch.allclose(added, appended, atol=1e-4))
claim("twice as wide has nearly four times the parameters",
      3.8 < size[32] / size[16] < 4)
lengths_of = waves(50, d).norm(dim=1)
claim("a row of PE is √(d/2) long", (lengths_of - (d / 2) ** 0.5).abs().max() < 1e-3)
claim("small words are drowned without the factor √d", ratio["1/√d"] < 0.1)
claim("with the factor they are a little longer than a position",
      1 < ratio["1/√d"] * d**0.5 < 2)
claim("PyTorch's own need no factor", 1 < ratio["1"] < 2)

# %% [markdown]
# So $\sqrt d$ is right for embeddings that start small: it lifts the word to the height
# of the position. For embeddings that start at 1 it drowns the *position*, and training
# has to mend that. When you copy a formula, copy its initialisation, too.

# %% [markdown] name="further-exact"
# ## Further: how exact is the shift, and why not fit it?
#
# Float32 cannot say more than "0.0000". Here is the same turn in float64, written
# another way. Sine and cosine are the two parts of a **complex number** of length 1,
# and multiplying such numbers adds their angles.

# %%
frequency = 10000 ** -(torch.arange(0, 16, 2).double() / 16)  # (d / 2,)
angles = torch.arange(1000)[:, None] * frequency  # (n, d / 2), float64
hands = torch.polar(torch.ones_like(angles), angles)  # cos + i sin
turn = {k: torch.polar(torch.ones(8).double(), k * frequency) for k in (1, 7, 500)}
errors = {k: (hands[:-k] * turn[k] - hands[k:]).abs().max().item() for k in turn}
{k: f"below 1e-12: {error < 1e-12}" for k, error in errors.items()}

# %% [markdown]
# Why derive $M$ at all? Take 101 rows of the table, and let **least squares** find the
# matrix that takes each row to the next one with the smallest error. Two solvers try.

# %%
here, there = many[:100], many[1:101]  # positions 0 to 100
matrices = {"rotation": shift(1, 16).T}  # rows: here @ matrix = there
for name, driver in {"fit, singular values": "gelsd", "fit, QR": "gels"}.items():
    matrices[name] = torch.linalg.lstsq(here, there, driver=driver).solution
off = {name: (many[:-1] @ matrix - many[1:]).abs().amax(1)
       for name, matrix in matrices.items()}  # (999,) each
plots.show(draw.errors(off, fitted=100), "fitted-shift")

# %% [markdown]
# A perfect fit and a wrong matrix: if you look at the fit alone, you believe it. Over
# 100 positions the slow hands hardly move. Their cosines are all nearly 1, and nothing
# in the data tells these columns apart. The **condition number** says by how much
# rounding errors may grow: the largest singular value over the smallest.

# %%
exact = torch.stack([hands.imag, hands.real], -1).flatten(1)  # (1000, 16), float64
condition = torch.linalg.cond(exact[:100]).item()
print(f"of 100 rows: above 10^12: {condition > 1e12}; "
      f"of the rotation: {torch.linalg.cond(shift(1, 16)):.3f}")

# %% tags=["claim"]
# The proof
rotation, *fits = off.values()
claim("the turn is exact to 1e-12", max(errors.values()) < 1e-12)
claim("both fits look perfect where they were made",
      all(fit_off[:100].max() < 1e-3 for fit_off in fits))
claim("both are wrong from position 500 on",
      all(fit_off[500:].max() > 0.3 for fit_off in fits))
claim("the rotation is right everywhere", rotation.max() < 1e-3)
claim("rounding errors of the fit may grow beyond measure", condition > 1e12)
claim("a rotation lets nothing grow", abs(torch.linalg.cond(shift(1, 16)) - 1) < 1e-4)

# %% [markdown]
# ## Summary
#
# - Attention is blind to order, at any depth. Without positions and without a mask,
#   exactly half of the twins are answered right. A causal mask is enough to see some
#   order.
# - Two ways out: read one by one, or add a vector for each place, a **positional
#   encoding**. The Transformer adds.
# - A number from 0 to 1 has no fixed step and needs the length first. Integers grow,
#   and meet lengths never seen. Binary numbers are unique but jump.
# - Four criteria: unique, consistent, longer and bounded, deterministic. Sinusoids pass
#   all. Learned positions fail two, and work as well.
# - Sinusoids lie in −1 … 1. Wavelengths grow from 2π by a fixed factor, nearly up to
#   10000 · 2π, and so nearly half of all columns hardly move within a sentence.
# - PE(pos) · PE(pos + k) depends on k alone, but does not fall steadily. PE(pos + k) =
#   M_k PE(pos), and M_k is a rotation.
# - A table may go on forever. What a network has learned from its first rows need not.
#
# **Think about it.** With random starts the network reads 96 symbols after training on
# 24 at a time. Has it learned the rule now, or has it only met more rows? Which run
# would tell?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.5
# (the formulas, the wavelengths, the claim about PE(pos + k), *"may allow the model to
# extrapolate"*), section 3.4 (the factor √d), table 3, row E (learned positions). The
# four criteria follow a list by Amirhossein Kazemnejad ([*The Positional
# Encoding*](https://kazemnejad.com/blog/transformer_architecture_positional_encoding/),
# 2019).
#
# **Next.** All parts are on the table: attention, heads, masks, norms, positions.
# Lesson 10 puts them together into an encoder, and lets it read.
