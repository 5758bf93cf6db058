# %% [markdown]
# # 02 · Self-attention with nothing trained
#
# *60 minutes: reading 25, predicting 10, writing 25 · needs lesson 01 · one exercise*
#
# **At the end you can**
#
# - let every word of a sentence take in the words it resembles, first on paper, then in
#   three lines;
# - say why the score is a dot product, and what a cosine would change;
# - say what order, distance and length do to the result, and test it;
# - say what happens if you never stop.

# %%
from itertools import permutations

import torch

from course_lib import check, claim, intervene, predict, shipped
from course_lib.display import plots
from course_lib.display.drawings import untrained as draw
from course_lib.display.drawings.one_query import one_query

torch.set_num_threads(1)

# %% [markdown] name="worked-example"
# ## A word and its company
#
# *The train left the station on time.*
#
# A railway station or a radio station? You did not hesitate: there is a **train** in the
# sentence. Can a formula that has never been trained on anything do the same?
#
# First, words need numbers. We invent them: four features, and for each word how much of
# each it has. "the" says nothing about any of them, so it gets zeros. "station" may be
# either: as much *rail* as *radio*.

# %%
features = ["rail", "radio", "motion", "time"]
vector = {"the": [0.0, 0, 0, 0], "train": [2.0, 0, 1, 0], "left": [0.0, 0, 2, 0],
          "station": [1.0, 1, 0, 0], "on": [0.0, 0, 0, 1], "time": [0.0, 0, 0, 2]}
words = "The train left the station on time".split()
x = torch.tensor([vector[word.lower()] for word in words])  # (T, D) = (7, 4)
train, left, station = x[1], x[2], x[4]  # (D,) each
plots.show(plots.panels({"x": x}, words, features), "seven-words")

# %% [markdown]
# ### From scores to a new vector
#
# How much does "train" matter to "station"? Go through the features, multiply the two
# numbers, add up the products: $1 \cdot 2 + 1 \cdot 0 + 0 \cdot 1 + 0 \cdot 0 = 2$. This
# sum is called the **dot product**. What both words have counts much, what one of them
# lacks counts nothing. It is the score of lesson 01, with one difference: here a **word**
# is the query.
#
# "station" asks all seven words, itself included. A softmax of the seven scores gives
# weights, and the weights mix the seven vectors to a new "station".

# %% tags=["predict"]
predict(
    "“station” asks all words. Its old vector has rail and radio 1 : 1. In the new one "
    "they are …",
    {
        "1 : 1 as before": "“train” gives rail and no radio. Whatever its weight is, "
        "the balance tips.",
        "3 : 1": (
            True,
            "“train” and “station” score 2 and get the same weight w: rail is "
            "2w + 1w, radio is 1w.",
        ),
        "2 : 1": "That is the rail of “train” against the radio of “station”. But "
        "“station” gives its own rail, too.",
        "all rail": "“station” keeps a part of itself, and so some radio.",
    },
    concept="C014",
)

# %%
scores = x @ station  # (T,)
weights = torch.softmax(scores, dim=0)  # (T,)
new_station = weights @ x  # (D,)
plots.show(one_query(words, station, x, scores, weights, None, new_station,
                     asks="“station” itself", formula="station · word"), "station-asks")

# %% [markdown]
# Three to one for the railway.

# %%
def mixed(word):
    """The new “station” (D,) where this word stands in the place of “train”."""
    company = torch.cat([x[:1], word[None], x[2:]])
    return torch.softmax(company @ station, dim=0) @ company


# %% [markdown]
# ### Yours: another company
#
# Is it the formula that likes railways? Put another word in the place of "train", and
# invent its vector: rail, radio, motion, time. Make "station" a radio station, with at
# least twice as much radio as rail.

# %% tags=["yours"]
song = [0.0, 2, 0, 0]  # yours: four numbers up to 5, a vector
intervene(
    "the new “station” has at least twice as much radio as rail",
    song,
    run=lambda song: mixed(torch.tensor(song, dtype=torch.float))[:2].tolist(),
    holds=lambda new: new[1] >= 2 * new[0] > 0,
    among=lambda song: len(song) == 4 and max(song) <= 5,
    shows="rail {result[0]:.2f}, radio {result[1]:.2f}",
    otherwise="“station” takes most from words that share a feature with it.",
)

# %%
tips = {"train": train, "station": station, "with “train”": new_station,
        "with “song”": mixed(torch.tensor([0.0, 2, 0, 0]))}
plots.show(draw.plane(tips, features[:2]), "station-turns")

# %% [markdown]
# In the plane of *rail* and *radio* one sees the vector turn. The company decides. That a
# train has to do with rails, we wrote into the numbers. The formula brought it to
# "station".
#
# ### Real vectors
#
# Does it work with vectors that nobody invented for it? Take those of lesson 00, 384
# numbers for each of 617 words.

# %%
real = shipped.word_vectors()  # {word: (384,)}


def company_of(word, sentence):
    """The known words of a sentence, the weights (T,) that one gives them, and the
    five other words nearest to its new vector."""
    known = [w for w in sentence.split() if w in real]
    table = torch.stack([real[w] for w in known])  # (T, D)
    weights = torch.softmax(table @ real[word], dim=0)  # (T,)
    new = weights @ table  # (D,)
    like = {w: torch.cosine_similarity(v, new, dim=0).item()
            for w, v in real.items() if w not in known}
    return known, weights, sorted(like, key=like.get, reverse=True)[:5]


for word, sentence in (("station", "we walk to the station and took the train"),
                       ("station", "a song on the radio station"),
                       ("bank", "the boat on the river bank")):
    known, given, nearest = company_of(word, sentence)
    print(sentence)
    print(f"   {word} keeps {given[known.index(word)]:.2f}, near to {nearest}")

# %% [markdown]
# "station" goes where its sentence goes. "bank" does not: with a river beside it, it is
# still nearest to "money". These vectors were trained for another purpose, and each word
# gives itself about a half. A formula without training can do something, and not more.

# %% tags=["claim"]
# The proof
claim("station gets three times as much rail as radio, and points more towards train",
      abs(new_station[0] / new_station[1] - 3) < 1e-5
      and torch.cosine_similarity(new_station, train, dim=0)
      > torch.cosine_similarity(station, train, dim=0) + 0.2)
by_train, by_radio, by_river = (
    company_of(*asked)[2] for asked in (
        ("station", "we walk to the station and took the train"),
        ("station", "a song on the radio station"),
        ("bank", "the boat on the river bank")))
claim("a real station is nearest to the railway beside a train, and to a channel "
      "beside a radio", (by_train[0], by_radio[0]) == ("railway", "channel"))
claim("a real bank beside a river is still nearest to money", by_river[0] == "money")

# %% [markdown] name="every-word"
# ## Now every word asks
#
# "station" is not special. Let each word ask in turn, and the sentence turns into a **new
# sequence**: as many vectors as before, each one now with some of its company in it. This
# is **self-attention**: the words ask, and the same words are asked.

# %%
all_weights = torch.stack([torch.softmax(x @ word, dim=0) for word in x])  # (T, T)
new_vectors = torch.stack([weights @ x for weights in all_weights])  # (T, D)
print("x", tuple(x.shape), " weights", tuple(all_weights.shape), " new sequence",
      tuple(new_vectors.shape))

# %% tags=["predict"]
predict(
    "“station” gives “train” a weight of 0.37. How much does “train” give back?",
    {
        "0.37: the dot product is the same both ways": "The *score* is. A weight is a "
        "share of one row, and the rows have other scores in them.",
        "more": "Then it would look at “station” rather than at itself. Which word has "
        "the largest dot product with (2, 0, 1, 0)?",
        "less": (
            True,
            "“train” has a score of 5 for itself, and 2 for “station”: e³ = 20 times "
            "the weight.",
        ),
        "nothing": "Only a score of minus infinity gets nothing from a softmax.",
    },
    concept="C016",
)

# %%
plots.show(plots.panels({"weights": all_weights}, words, words, "weight",
                        labels=("is asked", "asks")), "all-weights")

# %% tags=["claim"]
# The proof
all_scores = x @ x.T  # (T, T)
claim("every row sums to one", torch.allclose(all_weights.sum(dim=1), torch.ones(7)))
claim("scores are the same both ways, and station gives train five times what it gets",
      torch.equal(all_scores, all_scores.T)
      and all_weights[4, 1] > 5 * all_weights[1, 4])

# %% [markdown] name="formula"
# ## The same in symbols
#
# Call the vectors $v_1, \dots, v_T$. The word $q$ asks, the word $k$ is asked. First a
# score, then a weight, normalised over all words $j$, then the new vector:
#
# $$
# s_{qk} = v_q \cdot v_k
# \qquad
# w_{qk} = \frac{\exp(s_{qk})}{\sum_j \exp(s_{qj})}
# \qquad
# y_q = \sum_k w_{qk}\, v_k
# $$
#
# So the first word becomes $y_1 = \sum_k w_{1k}\, v_k$. In our sentence
# $s_{41} = 2$, $w_{41} = 0.37$ (counting from 0), and $y_4$ is the new "station".
#
# | part | self-attention, nothing trained |
# |---|---|
# | **inputs** | x (T, D) |
# | **similarity** | x · x, every word with every word |
# | **outputs** | scores (T, T), weights (T, T), new sequence (T, D) |

# %% tags=["predict"]
predict(
    "Could the weight be simpler: each score divided by the sum of the scores? For "
    "which word of our sentence does that fail?",
    {
        "station: two words share its largest score": "They would share the weight. "
        "That is allowed.",
        "the": (
            True,
            "All its scores are 0, and 0/0 is not a number. The exponential of 0 is 1, "
            "so a softmax gives all seven words the same.",
        ),
        "time: its score for itself is too large": "4 of 6 in all. That makes 2/3.",
        "none: no score is negative": "A negative score would be a second trouble. "
        "Here the first one: what is the sum?",
    },
    concept="C017",
)

# %%
shares = all_scores / all_scores.sum(dim=1, keepdim=True)  # (T, T)
{word: [round(share, 2) for share in row]
 for word, row in zip(words, shares.tolist(), strict=True)}

# %% [markdown]
# ### Exercise 1: `reweight`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write the formula for a whole sentence at once, without a loop. The docstring is the
# whole contract. Try it wrong on purpose, too: leave out the softmax, or let it run down
# the columns, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# `x @ word` gives the scores of one word. What has to stand in the place of `word` so that
# all words ask at once?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a table of scores: one row for each word that asks, one column for each word that is
#    asked
# 2. a softmax along each row; check that the rows sum to one
# 3. for each row, the sum of all vectors, each times its weight: that is again one matrix
#    product
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import reweight

# %%
attend = check(reweight).verified

# %% [markdown]
# From here on `attend` is your own function as soon as the card says *right*. Here is the
# sentence before, and the new sequence.

# %%
y = attend(x)  # (T, D)
plots.show(plots.panels({"x": x, "y = attend(x)": y}, words, features), "new-sequence")

# %% [markdown]
# "station" looked towards "train", "on" looked towards "time", and "the", which resembles
# nothing, took the plain average of the sentence.

# %% tags=["claim"]
# The proof
claim("one call does what the loop did", torch.allclose(y, new_vectors, atol=1e-6))
claim("shares of the scores fail for the, and for no other word",
      [word for word, row in zip(words, shares, strict=True) if row.isnan().any()]
      == ["The", "the"])
claim("the word the becomes the average of the sentence",
      torch.allclose(y[0], x.mean(dim=0)))

# %% [markdown] name="cosine-or-dot"
# ## Why not the cosine?
#
# The **cosine similarity** is the dot product divided by the lengths of both vectors. It
# lies between −1 and 1. For one pair of words it costs three dot products instead of one:
# $a \cdot b$, $a \cdot a$ and $b \cdot b$.

# %% tags=["predict"]
predict(
    "All pairs among 1,000 words of width 64: what do cosines cost, compared with dot "
    "products?",
    {
        "three times as much": "So it is for one pair. But how many lengths do 1,000 "
        "words have?",
        "about the same": (
            True,
            "There are a million pairs and only a thousand lengths: divide each vector "
            "by its length first.",
        ),
        "half as much again": "Half a million further dot products? A length is taken "
        "once for each *word*.",
    },
    concept="C015",
)

# %%
def more_for_cosines(T, D):
    """Extra operations for lengths, as a share of those for all dot products."""
    return T * (3 * D + 1) / (T * T * 2 * D)  # D products, D sums, a root, D divisions


{T: f"{more_for_cosines(T, 64):.2%} more" for T in (2, 7, 1000)}

# %% [markdown]
# So "the dot product is cheaper" is true for a pair and hardly matters for a text. What
# matters: it does **something else**. A dot product grows with the length of both vectors,
# a cosine hears the direction alone. And a zero vector such as "the" has no direction: its
# cosine is zero divided by zero.

# %%
def louder(factor):
    """The sentence (T, D) with “left” multiplied by a factor."""
    return torch.cat([x[:2], factor * x[2:3], x[3:]])


# %% [markdown]
# ### Yours: raise your voice
#
# Multiply "left" by a factor, and leave all else as it is. How loud must it be before
# "train" gives it more weight than itself? Find a factor below 3 that does it. (Think
# first: $\text{train} \cdot \text{train} = 5$, $\text{train} \cdot \text{left} = 2$.)

# %% tags=["yours"]
factor = 2.75  # yours: a number below 3
intervene(
    "“train” gives more weight to “left” than to itself",
    factor,
    run=lambda factor: torch.softmax(louder(factor) @ train, dim=0)[1:3].tolist(),
    holds=lambda weights: weights[1] > weights[0],
    among=lambda factor: 0 < factor < 3,
    shows="to itself {result[0]:.2f}, to “left” {result[1]:.2f}",
    otherwise="The score of “left” is 2 times the factor. It has to pass 5.",
)

# %%
loud = louder(4.0)
for name, score in (("dot product", lambda a, b: a @ b),
                    ("cosine", lambda a, b: torch.cosine_similarity(a, b, dim=0))):
    print(f"{name:12} left {score(left, train):.2f}  LEFT {score(loud[2], train):.2f}")

# %% tags=["claim"]
# The proof
claim("lengths cost more than a tenth for seven words, and less than 0.2 % for a "
      "thousand", more_for_cosines(7, 64) > 0.1 and more_for_cosines(1000, 64) < 0.002)
claim("a dot product grows with the length, and a cosine does not",
      loud[2] @ train == 4 * (left @ train) and abs(
          torch.cosine_similarity(loud[2], train, dim=0)
          - torch.cosine_similarity(left, train, dim=0)) < 1e-6)

# %% [markdown] name="nothing-trained"
# ## Property 1: nothing is trained
#
# Look at your function: no number in it was ever adjusted to anything. All that it knows,
# it knows from x.

# %% tags=["predict"]
predict(
    "Take the *rail* out of “station” (1 becomes 0), and change nothing else. How many "
    "of the seven new vectors change?",
    {
        "one: station's": "It is asked by all seven words, too.",
        "two: those of “station” and “train”, which shared the rail": "The others had "
        "no *rail*, but they take in something of “station”.",
        "all seven": (
            True,
            "Each word gives “station” a positive weight, so each takes in what has "
            "changed.",
        ),
    },
    concept="C018",
)

# %%
no_rail = x.clone()
no_rail[4, 0] = 0
moved = (attend(no_rail) - y).norm(dim=1)  # (T,)
[(word, round(by, 3)) for word, by in zip(words, moved.tolist(), strict=True)]

# %% tags=["claim"]
# The proof
claim("one number of one word reaches every word", bool((moved > 0.005).all()))

# %% [markdown] name="order"
# ## Property 2: order
#
# *The station left the train on time.* The same seven words, and something quite
# different has happened.

# %% tags=["predict"]
predict(
    "The new vector of “station”, compared with the one from “The train left the "
    "station on time”, is …",
    {
        "the same": (
            True,
            "A sum over all words does not know in which order they came.",
        ),
        "another one: now it is the station that leaves": "You know that from the "
        "order. Where does the formula use a word's place?",
        "that of “train”, whose place it has": "A place is only the number of a row. "
        "The row's vector came along.",
    },
    concept="C019",
)

# %%
swapped = [0, 4, 2, 3, 1, 5, 6]
print(" ".join(words[i] for i in swapped).capitalize())
print("station, now: ", [round(v, 2) for v in attend(x[swapped])[1].tolist()])
print("station, then:", [round(v, 2) for v in y[4].tolist()])

# %% [markdown]
# This is called **permutation equivariance**: permute the inputs, and the outputs are
# permuted in the same way, and otherwise unchanged. It is algebra: each $y_q$ is a sum
# over all $k$, and a sum has no order. For this formula a sentence is a bag of words: who
# left whom is lost. Later, a Transformer will need extra help to know about order (lesson
# 09).
#
# ### Yours: write the test
#
# Write the property as a test of any function f: `lambda f: …`, True or False. It has to
# pass your `attend`, and to catch two others: one in which near words count more, and one
# in which a word sees only those before it. The order to try is `swapped`, and
# `torch.dist` says how far two tables are apart.

# %% tags=["yours"]
test = lambda f: torch.dist(f(x[swapped]), f(x)[swapped]) < 1e-5  # yours: of any f
distance = (torch.arange(7)[:, None] - torch.arange(7)).abs()  # (T, T)
later = torch.ones(7, 7).triu(1).bool()
candidates = {
    "attend": attend, "near words count more": lambda x: torch.softmax(
        x @ x.T - distance, dim=1) @ x, "only words before": lambda x: torch.softmax(
        (x @ x.T).masked_fill(later, float("-inf")), dim=1) @ x}
intervene(
    "the test passes attend, and neither of the two others",
    test,
    run=lambda test: {name: bool(test(f)) for name, f in candidates.items()},
    holds=lambda passes: list(passes.values()) == [True, False, False],
    among=callable,
    otherwise="Which rows of f(x) should f(x[swapped]) give? torch.dist compares.",
)

# %% tags=["claim"]
# The proof
orders = [list(order) for order in permutations(range(7))]
claim("your function is permutation equivariant in all 5,040 orders of seven words",
      all(torch.allclose(attend(x[o]), y[o], atol=1e-6) for o in orders))

# %% [markdown] name="distance"
# ## Property 3: distance
#
# Take "train", "station" and ninety-nine times "the". First the two words are neighbours,
# then they drift apart until 99 words stand between them. Only "train" has any *motion*,
# namely 1, so the motion in the new "station" **is** its weight for "train".

# %% tags=["predict"]
predict(
    "As the distance grows from 1 to 100, the weight that “station” gives to “train” …",
    {
        "falls slowly": "So it would in a recurrent network (lesson 00). Here nothing "
        "is passed from word to word.",
        "falls to nothing": "Where does the formula know how far away a word is?",
        "stays as it is": (
            True,
            "No place is in the formula, so no distance is.",
        ),
    },
    concept="C020",
)

# %%
the = torch.zeros(99, 4)
weight_at, weight_among = {}, {}
for d in (1, 2, 10, 50, 100):
    text = torch.cat([train[None], the[:d - 1], station[None], the[d - 1:]])  # (101, D)
    weight_at[d] = round(attend(text)[d, 2].item(), 3)
for n in (0, 10, 100, 300):
    text = torch.cat([train[None], station[None], torch.zeros(n, 4)])
    weight_among[n] = round(attend(text)[1, 2].item(), 3)
print("by distance, among 99 others: ", weight_at)
print("side by side, by how many others:", weight_among)

# %% [markdown]
# The distance does nothing. But 0.065 is far below the 0.37 at the beginning. The second
# line says why: each "the" has a score of 0, gets $e^0 = 1$ before normalising, and a
# hundred of them get a hundred. What counts is **how many** others there are, and what
# they score, not **where** they stand.

# %% tags=["claim"]
# The proof
claim("the weight is the same at every distance", len(set(weight_at.values())) == 1)
claim("a crowd takes its share: alone 0.5, among 300 less than 0.03",
      weight_among[0] == 0.5 and weight_among[300] < 0.03)

# %% [markdown] name="any-length"
# ## Property 4: length and width
#
# Nothing in the formula says 7 or 4. Sentences of any number of words, and vectors of any
# width, come back in the same shape. The shape is right. And the numbers?

# %% tags=["predict"]
predict(
    "Five random words of width 300, each number drawn around 0 with standard "
    "deviation 1. How much of its new vector does each word take from the four others?",
    {
        "about four fifths": "That would be the plain average.",
        "less than a half, but something": "On paper a softmax leaves something to "
        "everyone. How large is the score of a word for itself, a sum of 300 squares?",
        "nothing": (
            True,
            "Its score for itself is about 300, for the others about ± 17. After the "
            "exponential nothing is left for them.",
        ),
    },
    concept="C021",
)

# %%
def for_others(vectors, scale=1.0):
    """The largest weight that a word gives to all others together."""
    weights = torch.softmax(scale * vectors.double() @ vectors.double().T, dim=1)
    return round((1 - weights.diagonal()).max().item(), 4)


g = torch.Generator().manual_seed(0)
wide = torch.randn(5, 300, generator=g)  # (T, D)
{"as drawn": for_others(wide),
 "width 300, but length 2": for_others(2 * wide / wide.norm(dim=1, keepdim=True)),
 "width 4, but length √300": for_others(300**0.5 * torch.eye(4)),
 "as drawn, scores divided by √300": for_others(wide, 300**-0.5)}

# %% [markdown]
# As drawn: nothing. Is it the width? The two rows in the middle are the control: wide and
# short vectors look around, narrow and long ones do not. It is the **length**: a word's
# score for itself is its length squared. Lesson 04 divides scores by the root of the
# width. Here, where a word asks with the vector it is asked by, that is not enough. Lesson
# 05 makes two vectors of it.

# %% tags=["claim"]
# The proof
claim("random words of width 300 take nothing from each other, to the last digit",
      torch.equal(attend(wide), wide))
claim("it is the length and not the width",
      for_others(2 * wide / wide.norm(dim=1, keepdim=True)) > 0.03
      and for_others(300**0.5 * torch.eye(4)) == 0)
claim("any shape comes back, and a single word stays what it is",
      all(attend(torch.ones(*shape)).shape == shape for shape in [(1, 4), (9, 3)])
      and torch.equal(attend(station[None])[0], station))

# %% [markdown] name="context-added"
# ## What has been added?
#
# It looks as if each word kept its own vector, and some context came on top. Then y − x
# would be that context, and since no number in x is negative, neither would it be.

# %%
gained = y - x  # (T, D)
own = all_weights.diagonal()  # (T,): what each word gives itself
print("station:", [round(v, 2) for v in gained[4].tolist()])
print("station keeps", round(own[4].item(), 2), "of itself")

# %% [markdown]
# "station" has lost almost two thirds of its *radio*. Context *is* added, and at the same
# time the word itself is turned down, to its own weight:
#
# $$y_q = w_{qq} v_q + \sum_{k \ne q} w_{qk} v_k$$

# %% [markdown] name="again-and-again"
# ## Again, and again
#
# One round brought "station" closer to "train". If context is good, is more context
# better? Feed the result back in.

# %% tags=["predict"]
predict(
    "Ten rounds: the output of each is the input of the next. The seven vectors end "
    "as …",
    {
        "seven clear meanings": "One round gave “station” its meaning. But each round "
        "pulls the outermost words inwards, too.",
        "copies of a single vector": (
            True,
            "Every new vector is an average with positive weights, so the words only "
            "come closer.",
        ),
        "what they were: the rounds cancel": "What should move a word outwards again?",
    },
    concept="C022",
)

# %%
def rounds(start, times, step=attend):
    """All vectors after 0, 1, … rounds: (times + 1, T, D)."""
    history = [start]
    for _ in range(times):
        history.append(step(history[-1]))
    return torch.stack(history)


def apart(history):
    """How far the words are apart, as a share of their length: (times + 1,)."""
    middle = history.mean(dim=1, keepdim=True)
    return (history - middle).norm(dim=(1, 2)) / history.norm(dim=(1, 2))


steps = {"y": attend, "x + y": lambda x: x + attend(x),
         "(x + y) / 2": lambda x: (x + attend(x)) / 2}
histories = {name: rounds(x, 20, step) for name, step in steps.items()}
plots.show(draw.apart({name: apart(h) for name, h in histories.items()}), "apart")

# %% [markdown]
# *y* alone: after five rounds there are seven copies of one vector.
#
# A Transformer does not replace x by y. It adds y to x: a **residual connection** (lesson
# 08). With *x + y* the words stay apart. Is it because each keeps itself? The third line
# is the control: $(x + y)/2$ keeps itself just as much, a round of it points where $x + y$
# does, and only the length differs. It collapses, a little later. So what
# saves $x + y$ is that its vectors grow, twofold in each round. Scores grow fourfold,
# weights become all or nothing, and a word that looks at one word only is pulled nowhere
# else.

# %%
def groups(vectors):
    """Words that lie (almost) in the same place, group by group."""
    found = []
    for word, v in zip(words, vectors, strict=True):
        home = [group for group in found if (group[0][1] - v).norm() < 0.1]
        home[0].append((word, v)) if home else found.append([(word, v)])
    return [" ".join(word for word, _ in group) for group in found]


# %% [markdown]
# ### Yours: long vectors
#
# Then it should be enough to begin with longer vectors. Multiply x by a factor, and let
# *y* alone run for 50 rounds. With which factor are there at least two groups left?

# %% tags=["yours"]
times_longer = 2.5  # yours: a factor up to 4
intervene(
    "after 50 rounds the words stand in two or more places",
    times_longer,
    run=lambda factor: groups(rounds(factor * x, 50)[-1]),
    holds=lambda found: len(found) >= 2,
    among=lambda factor: 0 < factor <= 4,
    shows="{choice} times as long: {result}",
    otherwise="Longer vectors have larger scores, and sharper weights.",
)

# %%
{factor: groups(rounds(factor * x, 50)[-1]) for factor in (1, 1.5, 2.5)}

# %% [markdown]
# The groups make sense. But they only look still: as long as no weight is zero, every
# round pulls them together a little. (At one and a half times the length all is one
# vector after 100 rounds.) Longer is not *always* slower, either. For two words of one
# number each, 1 and 2, both look at the 2, and sharper weights bring them there sooner.

# %% tags=["claim"]
# The proof
after = {name: apart(h)[-1].item() for name, h in histories.items()}
claim("replaced, the words are copies after five rounds",
      apart(histories["y"])[5] < 1e-4)
claim("added, they stay apart; and halved after each sum, they become copies",
      after["x + y"] > 0.5 and after["(x + y) / 2"] < 0.01)
sharper = rounds(x, 20, lambda x: torch.softmax(1.5**2 * x @ x.T, dim=-1) @ x)
claim("it is the scores: vectors 1.5 times as long go the way of scores 2.25 times as "
      "large", torch.allclose(1.5 * sharper, rounds(1.5 * x, 20), atol=1e-3))
pair = torch.tensor([[1.0], [2.0]])
kept = {f: (attend(f * pair)[1] - attend(f * pair)[0]).item() / f for f in (1, 2.5)}
claim("for the pair 1 and 2 longer is faster", kept[1] > 1.5 * kept[2.5])
claim("one and a half times as long: three groups after 5 rounds, one after 100",
      [len(groups(rounds(1.5 * x, n)[-1])) for n in (5, 100)] == [3, 1])
claim("station has lost more than half of its radio", gained[4, 1] < -0.5)

# %% [markdown] name="open-question"
# ## The open question
#
# **When does it stop?** Left alone, when words have become copies of each other. One round
# adds context, many wash the words out, and nothing in the formula says how many are
# right.
#
# **Where do the vectors come from?** We made them up, and all that you have seen depends
# on them. Could they be found instead? Ask for something about the new "station" only, and
# see at which words a gradient arrives.

# %%
wanted = x.clone().requires_grad_()
attend(wanted)[4].sum().backward()  # something about the new "station"
arrives = wanted.grad.norm(dim=1)  # (T,)
[(word, round(norm, 2)) for word, norm in zip(words, arrives.tolist(), strict=True)]

# %% [markdown]
# At all of them. Nothing in `attend` can be trained, but the vectors that go in can.

# %% tags=["claim"]
# The proof
claim("a gradient reaches the vectors of all words", bool((arrives > 0).all()))

# %% tags=["predict", "later"]
predict(
    "In self-attention with nothing trained, “the” has a vector of zeros. Its new "
    "vector is …",
    {
        "zeros again": "Its scores are all 0. That does not make its weights 0.",
        "the average of the sentence": (
            True,
            "Equal scores make equal weights: it takes the same from each word.",
        ),
        "that of its neighbour": "There are no neighbours here: no place is in the "
        "formula.",
    },
    concept="C017",
)

# %% tags=["predict", "later"]
predict(
    "Twenty layers of attention, and nothing else, one upon the other. What comes out?",
    {
        "nearly the same vector for every word": (
            True,
            "Each layer averages. Other parts, such as the residual connection, work "
            "against it.",
        ),
        "the words, each more like itself": "An average never moves the outermost "
        "words further out.",
        "the words in another order": "Order has no influence, and nothing is moved "
        "from place to place.",
    },
    concept="C022",
)

# %% [markdown]
# ## Summary
#
# - Score every word with every word, softmax along each row, mix: a new sequence of the
#   same shape.
# - A dot product lets length speak. A cosine hears the direction alone. For a whole text
#   they cost about the same.
# - Nothing is trained. Order and distance have no influence, and any length will do. How
#   many words there are does count, and so does how long their vectors are.
# - Context comes in, and the word itself is turned down to its own weight.
# - Repeated, the mixing turns different words into copies. Adding the old vector prevents
#   it only because vectors grow and weights sharpen; at constant length it delays it.
#
# **Think about it.** *The dog bit the man* and *The man bit the dog* give the same new
# vectors. Name two ways to make them differ. Does your way still work for a sentence
# longer than any you thought of?
#
# <details><summary>An answer</summary>
#
# Add something to each vector that says where it stands (lesson 09), or let the score
# depend on the distance of the two words, as one function in "write the test" does. A
# table with one row for each place ends where the table ends. A formula for the place, or
# for the distance, goes on; whether the results are still good there is another question.
#
# </details>
#
# **In the paper.** In equation 1 of
# [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), put x in the place of Q, K and V
# and leave out the $\sqrt{d}$: that is this lesson, the simplest case. Section 3.5 there
# adds positions, because without them order has no influence.
# [Dong and colleagues 2021](https://arxiv.org/abs/2103.03404) study how attention alone,
# layer upon layer, makes all words alike, and what prevents it.
#
# **Next.** Before attention, a translating network had to press a whole sentence into one
# vector. Lesson 03 shows where that breaks, and mends it by attention whose scores come
# from a small *trained* network: version 0.
