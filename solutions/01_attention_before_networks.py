# %% [markdown]
# # 01 · Attention before networks
#
# *45 minutes: reading 18, predicting 9, writing 18 · needs lesson 00 · one exercise*
#
# **At the end you can**
#
# - say what the attentions of this course have in common: scores, weights, a weighted
#   sum;
# - turn max-pooling into a weighted sum, and judge whether it is attention;
# - weigh words by counting, let a question choose what to look at, and say who decides
#   in each case.

# %%
import torch

from course_lib import check, claim, intervene, predict, shipped
from course_lib.attention import weighted_sum
from course_lib.display import instruments, plots
from course_lib.display.drawings import landscape as draw
from course_lib.display.drawings.one_query import one_query

torch.set_num_threads(1)

# %% [markdown] name="selective-attention"
# ## Your own attention
#
# Two experiments with yourself. For the first, give yourself ten seconds.
#
# You have a dog, and you want to cross to the island. **What does the dog cost?** Now run
# your eyes over the next cell.

# %%
notice = """The ferry leaves from the old harbour wall, next to the fish market.
In summer it runs every hour. In winter there are two boats a day, and none in a storm.
Bicycles may come on deck if there is room. Dogs travel for two coins and stay below.
A woman in a green hat sells the tickets on board. The crossing takes forty minutes.
The best view is from the left side, where the seals lie on the rocks. If you miss the
last boat, ring the bell at the inn and ask for Marta."""
print(len(notice.split()), "words")

# %% [markdown]
# **Do not look back.** What does the woman who sells the tickets wear? What lies on the
# rocks?
#
# <details><summary>The answers</summary>
#
# A green hat. Seals.
#
# </details>
#
# If you could not say, nothing is wrong with you. You did not read the text, you
# *skimmed* it: your eyes jumped until they met a dog. Eight words of the notice were
# enough.
#
# The second experiment is a picture at night. You have a lamp, and four questions.
# Take them one after another, and move the lamp only until you know. Below the picture
# your time is shared out among five regions.

# %%
questions = ["How is the weather?", "Is there water?", "Where is the cat?",
             "Is anyone at home?"]
instruments.show("lamp", "instrument-lamp", rows=draw.ROWS, paint=draw.PAINT,
                 regions=draw.REGIONS, questions=questions)

# %% [markdown]
# Four questions about one picture, and four rows that differ. How many windows does
# the house have?
#
# <details><summary>The answer</summary>
#
# Three. If that was hard to say, you again took in what was asked, and little else.
#
# </details>
#
# This is **selective attention**. It was studied long before any network had it.
#
# Alfred Yarbus recorded where an eye rested on a painting. The same viewer looked at
# other places when asked how old the people were than when asked how rich (*Eye
# Movements and Vision*, 1967). That was one viewer and one painting. Can one read the
# question from the eyes? Later more people looked at more pictures, each with one of four
# tasks, and programs had to guess the task from the path of the eyes.

# %% tags=["predict"]
predict(
    "Four tasks, so guessing blindly is right 25 times of 100. From the path of the "
    "eyes the best of these programs were right …",
    {
        "more than 80 times": "With a lamp at night it would be easy. An eye "
        "by day jumps to faces and edges as well, whatever it is asked.",
        "more than 25 times, but fewer than 50": (
            True,
            "The question leaves its trace, and a small one. One of the two studies "
            "found none.",
        ),
        "25 times: no better than blindly": "The first study did report that. A second "
        "one took the same recordings, and another method.",
    },
    concept="C006",
)

# %% [markdown]
# [Greene and colleagues, 2012](https://pmc.ncbi.nlm.nih.gov/articles/PMC3526937), made
# the recordings, and could not tell the tasks apart.
# [Borji and Itti, 2014](https://doi.org/10.1167/14.3.29), took the same recordings with
# another method, and were right 34 times of 100. The effect that Yarbus saw is there, and
# it is small.
#
# What is shared with the attention of this course is no more than the idea: **not
# everything counts the same, and what counts depends on what is wanted.** The rest is
# arithmetic.

# %% tags=["claim"]
# The proof
hits = [s for s in notice.replace("\n", " ").split(". ") if "dog" in s.lower()]
claim("one sentence answers, and it is less than a tenth of the notice",
      len(hits) == 1 and len(hits[0].split()) < 0.1 * len(notice.split()))

# %% [markdown]
# ## The picture as a table
#
# A program sees no cat. It needs numbers. A **feature** is a number that says one thing
# about an input. Each of the five regions gets four of them, set by hand: how much *light*
# it gives, how *wet* it is, how much in it is *alive*, how much is *built*. (The river
# glitters, and there are fish in it.)

# %%
names, features = list(draw.REGIONS), ["light", "wet", "alive", "built"]
x = torch.tensor([[3.0, 1, 0, 0],  # sky
                  [0, 1, 2, 0],  # meadow
                  [1, 2, 1, 0],  # river
                  [1, 0, 0, 3],  # house
                  [0, 0, 3, 0]])  # cat                 x: (N, D) = (5, 4)
plots.show(plots.panels({"x": x}, names, features), "five-regions")

# %% [markdown]
# One vector is to stand for the whole picture. Without attention every region counts the
# same, a fifth each, and lesson 00's `weighted_sum` makes the mixture: the **mean**.

# %%
average = weighted_sum(torch.full((5,), 1 / 5), x)  # (D,)
{f: round(value, 1) for f, value in zip(features, average.tolist(), strict=True)}

# %% [markdown]
# The house is the only thing that is built, and a fifth of its 3 is left. A mean washes
# out whatever is rare. There are two old remedies that need no network.

# %% [markdown] name="max-pooling"
# ## Remedy 1: take the largest
#
# **Max-pooling** keeps, of every feature, the largest number and drops the rest. In
# networks for images a feature is called a *channel*.

# %%
largest, winner = x.max(dim=0)  # (D,), (D,)
for f, value, n in zip(features, largest.tolist(), winner.tolist(), strict=True):
    print(f"{f:6}{value:.0f} from {names[n]}")

# %% [markdown]
# That is a weighted sum, too, with weights that know two values only: 1 for the winner, 0
# for everyone else. (Such a column is called **one-hot**.) Since the winners differ, each
# channel has weights of its own.

# %%
hard_weights = torch.nn.functional.one_hot(winner, num_classes=5).T.float()  # (N, D)
plots.show(plots.panels({"weights of max-pooling": hard_weights}, names, features,
                        "weight"), "max-pooling")

# %% tags=["predict"]
predict(
    "A second cat walks into the picture, and the meadow dries up (wet 0). What "
    "notices?",
    {
        "the mean alone": (
            True,
            "Each of its weights falls from 1/5 to 1/6. The maximum of *alive* is 3 "
            "with one cat or two, and the meadow never won anything.",
        ),
        "the maximum alone": "It asks *is there any?*, and there was one already.",
        "both of them": "Which channel has a new winner? None: the second cat is no "
        "more alive than the first one.",
        "neither of them": "A mean is over all regions: one more of them, or one "
        "number less, changes it.",
    },
    concept="C007",
)

# %%
changed = torch.cat([x, x[4:]])  # (6, D): two cats
changed[1, 1] = 0  # a dry meadow
for how, before, after in (("maximum", largest, changed.max(dim=0).values),
                           ("mean", average, changed.mean(dim=0))):
    print(how, [round(v, 2) for v in before.tolist()], "→",
          [round(v, 2) for v in after.tolist()])

# %% [markdown]
# ### Yours: what max-pooling cannot see
#
# This is attention of the kind **all or nothing**. Whoever comes second leaves no trace.
# How different can a picture be, and still have the same maximum? Change as many numbers
# of the table as you can, at least ten, to anything from 0 to 3. Write the whole table, as
# `torch.tensor([[…], …])` with a row for each region.

# %% tags=["yours"]
table = torch.where(hard_weights > 0, x, 1.5)  # yours: a (5, 4) tensor, 0 to 3
intervene(
    "ten numbers or more have changed, and all four maxima are the same",
    table,
    run=lambda table: ((table != x).sum().item(), table.max(dim=0).values.tolist()),
    holds=lambda result: result[0] >= 10 and result[1] == largest.tolist(),
    among=lambda t: t.shape == x.shape and 0 <= t.min() and t.max() <= 3,
    shows="{result[0]} numbers are new, and the maxima are {result[1]}",
    otherwise="The maxima have to be 3, 2, 3, 3. What may the 16 others be?",
)

# %% tags=["claim"]
# The proof
mixed = torch.cat([weighted_sum(hard_weights[:, d], x[:, [d]]) for d in range(4)])
claim("max-pooling is a weighted sum, with other weights in each channel",
      torch.equal(mixed, largest) and len(set(winner.tolist())) == 4)
claim("it does not notice the second cat and the dry meadow, and the mean does",
      torch.equal(changed.max(dim=0).values, largest)
      and (changed.mean(dim=0) - average).abs().min() > 0.01)

# %% [markdown] name="softened"
# ## Between all and nothing
#
# The mean weighs evenly, the maximum weighs all or nothing. What lies between?
#
# Take one channel with two numbers, 0 and 1. Larger numbers should get larger weights. So
# multiply each number by some $\beta \ge 0$, take the exponential, which is always
# positive, and divide by the sum. That is a **softmax** of β times the numbers:
#
# $$w_n = \frac{e^{\beta x_n}}{\sum_m e^{\beta x_m}}$$
#
# On paper, with $\beta = \ln 3$: the two powers are $e^0 = 1$ and $e^{\ln 3} = 3$, so the
# weights are ¼ and ¾. What are they with twice that β?
#
# <details><summary>The answer</summary>
#
# Twice the exponent squares the power: 1 against 9, so 0.1 and 0.9. The larger number
# leaves the smaller one further behind.
#
# </details>
#
# β is called the **inverse temperature**: the colder, the sharper the weights.

# %% [markdown]
# ### Exercise 1: `soft_max_pool`
#
# ★☆☆ · 10 minutes · about 2 lines · *extra: it belongs to this lesson, and no later one
# builds on it*
#
# Do this for every channel of a whole table. The docstring is the whole contract. Try it
# wrong on purpose, too: let the softmax run along the rows, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# The weights of one channel sum to one. In a table (N, D), with one column per channel,
# along which axis must you add to get D ones?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a table of weights, as large as x: a softmax down each column of β times x
# 2. each number times its own weight, which is no matrix product
# 3. add up so that the axis of length N disappears
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import soft_max_pool

# %%
pool = check(soft_max_pool).verified

# %% [markdown]
# From here on `pool` is your own function as soon as the card says *right*. Turn β up:

# %%
betas = [0.0] + [10 ** (k / 10) for k in range(-15, 16)]
curves = torch.stack([pool(x, beta) for beta in betas])  # (32, D)
plots.show(draw.shares_over_beta(betas, curves / largest, features), "over-beta")

# %% [markdown]
# At β = 0 it is the mean, and from there each channel climbs to its maximum. So
# max-pooling is a limit, reached as β goes to infinity. On paper it is never quite
# reached. In the computer it is, once the other weights are too small to change the sum.
#
# ### Yours: the other end
#
# The contract asks for β ≥ 0. The formula does not. Which β makes `pool` return the
# *smallest* number of each channel, within 0.01?

# %% tags=["yours"]
beta = -10.0  # yours: a number
intervene(
    "the smallest number of each channel",
    beta,
    run=lambda beta: [round(v, 3) + 0.0 for v in pool(x, beta).tolist()],
    holds=lambda got: max(abs(a - b) for a, b in
                          zip(got, x.min(dim=0).values.tolist(), strict=True)) <= 0.01,
    shows="β = {choice}: {result}",
    otherwise="The largest number should now get the smallest weight.",
)

# %% tags=["claim"]
# The proof
claim("at β = 0 your function gives the mean, at β = 30 the maximum, and no channel "
      "falls between",
      torch.allclose(pool(x, 0.0), average) and torch.allclose(pool(x, 30.0), largest)
      and bool((curves.diff(dim=0) > -1e-5).all()))
tied = torch.softmax(30 * torch.tensor([3.0, 3.0, 0.0]), dim=0)
claim("two that share the maximum share the weight, and the result is the same maximum",
      torch.allclose(tied, torch.tensor([0.5, 0.5, 0]))
      and pool(torch.tensor([[3.0], [3.0], [0.0]]), 30.0).item() == 3)

# %% [markdown] name="claim-max-pooling"
# ## A claim to test
#
# *"Max-pooling is attention."*
#
# In the attention of the coming lessons, **one** set of weights mixes whole rows: an
# input that gets 0.3 gives 0.3 of *all* its features. The weights are positive and sum to
# one.

# %% tags=["predict"]
predict(
    "Two inputs, (1, 0) and (0, 1). The maximum of each channel is (1, 1). Which set "
    "of weights mixes them to (1, 1)?",
    {
        "1 for both": "It would do it, but these sum to 2.",
        "1/2 for both": "That gives (1/2, 1/2), half-way to the origin.",
        "none": (
            True,
            "Each input sums to 1, so every mixture does. And 1 + 1 is 2.",
        ),
        "1/4 and 3/4": "The shares of the two features would be 1/4 and 3/4, too.",
    },
    concept="C007",
)

# %% [markdown]
# The same argument works for our picture. The rows sum to 4, 3, 4, 4 and 3, so no mixture
# of them sums to more than 4. The maximum vector (3, 2, 3, 3) sums to 11.
#
# All mixtures of some points fill the space between them: their **convex hull**. Here it
# is for two of the four features, with 3,000 random mixtures.

# %%
spread = 3 * torch.randn(3000, 5, generator=torch.Generator().manual_seed(0))
cloud = torch.softmax(spread, dim=1) @ x[:, 1:3]  # (3000, 2)
way = curves[:, 1:3]  # of your own function, as β grows
plots.show(draw.hull(x[:, 1:3], cloud, way, largest[1:3], names, features[1:3]), "hull")

# %% [markdown]
# **Verdict.** *Per channel, yes:* max-pooling is D attentions side by side, each with
# weights of its own, as β goes to infinity. *With one set of weights, no*, unless a single
# input has the maximum of **every** channel. This is algebra: the sum shows it for the
# picture, the drawing only makes it visible.
#
# Several sets of weights, each for its own part of the vector: keep this thought. It
# comes back in lesson 06.
#
# | part | mean | max-pooling, softened |
# |---|---|---|
# | **inputs** | x (N, D) | x (N, D), β |
# | **similarity** | none | β · x: each number speaks for itself |
# | **outputs** | weights (N,), out (D,) | weights **(N, D)**, out (D,) |

# %% tags=["claim"]
# The proof
claim("the maximum sums to more than any mixture of the regions can",
      largest.sum() > x.sum(dim=1).max())
ahead = cloud.sum(dim=1).max(), x[:, 1:3].sum(dim=1).max(), way[-1].sum()
claim("no random mixture crosses the edge of the hull, and the end of pooling is "
      "beyond it", ahead[0] <= ahead[1] + 1e-5 < ahead[2])
dominant = torch.cat([x, torch.full((1, 4), 3.0)])  # a sixth region that has it all
claim("where one input has the maximum of every channel, weights of 0 and 1 do it",
      torch.equal(weighted_sum(torch.eye(6)[5], dominant), dominant.max(dim=0).values))

# %% [markdown] name="tf-idf"
# ## Remedy 2: count words
#
# The second remedy comes from libraries. Which words tell what a text is about? Those
# that occur **often in this text**
# ([Luhn 1957](https://doi.org/10.1147/rd.14.0309)) and **in few other texts**
# ([Spärck Jones 1972](https://doi.org/10.1108/eb026526)). The product of the two is
# called **TF-IDF**: *term frequency* times **inverse document frequency**, the logarithm
# in this formula.
#
# $$\text{score} = \text{how often it is in the text} \cdot
#   \log \frac{\text{number of texts}}{\text{number of texts with the word}}$$
#
# Dividing by their sum makes weights of the scores. Four pictures have captions.

# %%
captions = ["the cat looks at the river", "the cat sleeps in the house",
            "the cat plays in the meadow", "the cat looks at the sky"]


def tf_idf(captions, i=0):
    """The words of caption i, each once, and their weights: (N,)."""
    texts = [caption.split() for caption in captions]
    words = list(dict.fromkeys(texts[i]))
    often = torch.tensor([texts[i].count(word) for word in words])
    rare = torch.tensor([len(texts) / sum(word in t for t in texts) for word in words])
    scores = often * rare.log()  # (N,), never negative
    return words, scores / scores.sum()


# %% tags=["predict"]
predict(
    "“the cat looks at the river”: how much of the weight does “cat” get, among these "
    "four captions?",
    {
        "the largest share: it is what the caption is about": "For you. The count "
        "knows no subjects. In how many of the four captions does the word stand?",
        "as much as “river”: each stands there once": "In this text, yes. But in how "
        "many *others*?",
        "none": (
            True,
            "It stands in all four, and log(4/4) is 0: a word that is everywhere "
            "cannot tell one caption from another.",
        ),
    },
    concept="C008",
)

# %%
weighed = [tf_idf(captions, i) for i in range(4)]
plots.show(draw.weights_of_captions(captions, weighed), "captions")

# %% [markdown]
# Neither all nor nothing: these weights take any value between, so this is **continuous
# attention**. Look at "at": as much weight as "looks". Counting knows nothing of meaning.
#
# As with every attention, the weights are there to mix. Words that name a region get its
# row, all others zeros.

# %%
def by_name(names, numbers):
    """{name: number}, rounded."""
    return {name: round(number, 2)
            for name, number in zip(names, numbers.tolist(), strict=True)}


# %%
def vectors_of(words):
    """The rows of the regions that are named, and zeros for other words: (N, D)."""
    return torch.stack([x[names.index(word)] if word in names else torch.zeros(4)
                        for word in words])


words, weights = weighed[0]
by_tf_idf = weighted_sum(weights, vectors_of(words))  # (D,)
by_mean = vectors_of(words).mean(dim=0)
for how, out in (("TF-IDF", by_tf_idf), ("mean", by_mean)):
    print(f"{how:7}", by_name(features, out))

# %% [markdown]
# TF-IDF hands over half a river. The mean has more of the cat.
#
# ### Yours: a collection in which the cat counts
#
# The first caption stays. Write others, as a list `["…", "…"]`, with which "cat" gets more
# weight in the first one than any other word.

# %% tags=["yours"]
others = ["the dog looks at the river", "the dog looks at the sea"]  # yours: a list
intervene(
    "in “the cat looks at the river” the most weight goes to “cat”",
    others,
    run=lambda others: by_name(*tf_idf([captions[0], *others])),
    holds=lambda share: share["cat"] > sorted(share.values())[-2],
    among=lambda others: all(isinstance(other, str) for other in others),
    otherwise="Which words have to stand in other captions, and which must not?",
)

# %% [markdown]
# You changed other texts, and the weights of this one followed. (There are many recipes
# besides this one. scikit-learn, for example,
# [adds one to the logarithm](https://scikit-learn.org/stable/modules/feature_extraction.html#tfidf-term-weighting),
# so that no word gets exactly zero.)
#
# | part | max-pooling, softened | TF-IDF |
# |---|---|---|
# | **inputs** | x (N, D), β | the word counts of all texts, x (N, D) |
# | **similarity** | β · x: each number speaks for itself | **none: counts** |
# | **outputs** | weights (N, D), out (D,) | scores (N,), weights **(N,)**, out (D,) |

# %% tags=["claim"]
# The proof
share = dict(zip(words, weights.tolist(), strict=True))
claim("the and cat get nothing, river gets half, looks a quarter",
      share["the"] == share["cat"] == 0 and abs(share["river"] - 1 / 2) < 1e-6
      and abs(share["looks"] - 1 / 4) < 1e-6)
claim("TF-IDF gives half of the river's row, and the mean has more alive than wet",
      torch.allclose(by_tf_idf, x[names.index("river")] / 2)
      and by_mean[2] > by_mean[1])

# %% [markdown] name="weather"
# ## How is the weather?
#
# Ask the first caption *where is the cat?* The cat still weighs nothing. Ask the picture
# *how is the weather?* Max-pooling still hands you the cat's life and the house's walls.
# **Neither hears the question.** Your own attention did.
#
# A question, too, can be a vector. Whoever asks for the weather cares for *light*,
# somewhat for *wet*, and not at all for the rest: (2, 1, 0, 0). In attention this vector
# is called the **query**.
#
# How well does a region answer? Add up its features, each times how much the query cares.
# The sky, (3, 1, 0, 0), gets $2 \cdot 3 + 1 \cdot 1 = 7$. This is its **score**. A
# softmax of all scores gives the weights.

# %%
def ask(query, x):
    """Scores (N,) and weights (N,) that a query gives the rows of x, and their mix."""
    scores = weighted_sum(query, x.T)  # (N,): a weighted sum over the features
    weights = torch.softmax(scores, dim=0)  # (N,)
    return scores, weights, weighted_sum(weights, x)


# %% tags=["predict"]
predict(
    "Where does “how is the weather?”, (2, 1, 0, 0), look?",
    {
        "at the sky, and then at the river": (
            True,
            "7 for the sky, 4 for the river: light counts twice.",
        ),
        "at the river, and then at the sky": "The river is the wettest. But wet counts "
        "once, light twice, and the sky has 3 of it.",
        "at the sky, and then at the house": "House and river give the same light. One "
        "of them is wet, too.",
        "at all five alike": "So a query of zeros would do. This one prefers light.",
    },
    concept="C011",
)

# %%
query = torch.tensor([2.0, 1, 0, 0])  # (D,): light twice, wet once
scores, weights, answer = ask(query, x)
plots.show(draw.laid_over(weights, "weights of “how is the weather?”"), "weather")

# %% [markdown] name="scores"
# ## Scores: how they are computed, and what they are used for
#
# Everything that happened, in four steps.
#
# 1. **Scores** come from comparing: here each input with the query.
# 2. **Weights** come from scores: positive, one in sum.
# 3. Every input is **multiplied** by its weight.
# 4. The products are **added up**: one vector.

# %% tags=["predict"]
predict(
    "Softened max-pooling, TF-IDF, and the question about the weather: which step is "
    "another one in each of the three?",
    {
        "scores": (
            True,
            "β times the number, a count, a comparison with the query. Kinds of "
            "attention differ in their scores.",
        ),
        "weights": "Two of the three use a softmax. TF-IDF divides by the sum.",
        "multiply, and add up": "These two are a weighted sum in all three, only that "
        "max-pooling makes one for each channel.",
    },
    concept="C009",
)

# %%
plots.show(one_query(names, query, x, scores, weights, None, answer,
                     asks="light twice, wet once", formula="query · input"), "scores")

# %% [markdown]
# From left to right: the query (orange) meets each input, that gives a score (grey), a
# softmax makes weights of all scores (violet), and each input flows into the output as
# thick as its weight. So scores are computed from what is wanted and what is there, and
# they are used for one thing only: to decide how much of each input goes into the output.
#
# ### Yours: find the meadow
#
# Which query gives the *meadow* more weight than any other region? Its row is
# (0, 1, 2, 0): wet 1, alive 2.

# %% tags=["yours"]
query_for_meadow = [-2.0, 3, 2, 0]  # yours: four numbers, a query
intervene(
    "the meadow gets the most weight",
    query_for_meadow,
    run=lambda query: by_name(names, ask(torch.tensor(query, dtype=torch.float), x)[1]),
    holds=lambda weights: weights["meadow"] > sorted(weights.values())[-2],
    among=lambda query: len(query) == 4,
    otherwise="The cat is more alive, the river is wetter. What has the river that the "
    "meadow has not? A query may also be against something.",
)

# %% [markdown]
# A query of positive numbers cannot find it. Half of the cat and half of the river have
# $(\tfrac12, 1, 2, 0)$ together: no less of anything than the meadow. So one of these two
# scores at least as high. Only a query *against* light, with a negative number, tells them
# apart. (Lesson 03 lets a network learn such numbers.)
#
# | part | TF-IDF | with a query |
# |---|---|---|
# | **inputs** | the word counts of all texts, x (N, D) | **query (D,)**, x (N, D) |
# | **similarity** | none: counts | **features of x, weighted by the query** |
# | **outputs** | scores (N,), weights (N,), out (D,) | scores (N,), weights (N,), out (D,) |

# %% tags=["claim"]
# The proof
claim("the weather is in the sky, and then in the river",
      weights[0] > 0.9 and weights.argsort(descending=True)[1] == names.index("river"))
claim("four steps give the answer",
      torch.allclose((weights[:, None] * x).sum(0), answer))
half_cat_half_river = (x[names.index("cat")] + x[names.index("river")]) / 2
g = torch.Generator().manual_seed(0)
positive = torch.rand(10_000, 4, generator=g)  # (M, D) queries
claim("the meadow has no more of anything than half a cat and half a river, and none "
      "of 10,000 positive queries finds it",
      bool((half_cat_half_river >= x[1]).all())
      and not (positive @ x.T).argmax(dim=1).eq(1).any())

# %% [markdown] name="who-decides"
# ## Who decides which features matter?
#
# The four questions of the lamp as four queries. Compare the rows with your own: where
# did your lamp rest?

# %%
queries = torch.tensor([[2.0, 1, 0, 0], [0, 3, 0, 0],
                        [0, 0, 3, 0], [0, 0, 0, 2]])  # (M, D)
looks = torch.stack([ask(query, x)[1] for query in queries])  # (M, N)
plots.show(plots.panels({"": looks}, questions, names, "weight",
                        labels=("is asked", "asks")), "four-questions")

# %% [markdown]
# x is the same in all four rows, and each time another region counted. Does the query
# alone decide, then? Fog comes up: the *light* of the sky falls from 3 to 0. No other
# number changes.

# %% tags=["predict"]
predict(
    "“How is the weather?” gave the river 0.05 on a clear day. In fog, with the "
    "river's own row unchanged, the river gets …",
    {
        "0.05: its row and the query are as before": "Its *score* is as before. But a "
        "softmax divides by the sum over all regions.",
        "less than 0.05": "Whose score has fallen? The sky's. What it loses goes to "
        "the others.",
        "most of the weight": (
            True,
            "The sky's score falls from 7 to 1, and the river's 4 is now the largest.",
        ),
        "a fifth": "So it would be if all five answered alike.",
    },
    concept="C013",
)

# %%
fog = x.clone()
fog[0, 0] = 0
in_fog = ask(query, fog)[1]  # (N,)
plots.show(plots.panels({"": torch.stack([weights, in_fog])}, ["clear day", "fog"],
                        names, "weight", labels=("is asked", "")), "fog")

# %% [markdown]
# The river's own row is the same, and it counts for more, because something *else* has
# changed: the weights are **content-aware**. Multiplied by them, the features become
# content-aware, too. Softened max-pooling does that as well (its softmax also runs over
# all regions). What the query adds: the weights depend on what is wanted.
#
# | attention | who decides what matters |
# |---|---|
# | mean | nobody |
# | max-pooling | the numbers of a channel, by their size beside each other |
# | TF-IDF | the collection of texts |
# | with a query | whoever asks, and what there is to choose from |

# %% tags=["claim"]
# The proof
claim("each of the four questions has its largest weight in another region",
      len(set(looks.argmax(dim=1).tolist())) == 4)
river = names.index("river")
claim("in fog the river, whose row is the same, counts most",
      torch.equal(fog[river], x[river]) and in_fog.argmax() == river
      and weights[river] < 0.1)
by_size = [torch.softmax(table[:, 0], dim=0)[river] for table in (x, fog)]  # β = 1
claim("the weights of softened pooling are new in fog as well",
      by_size[1] > 3 * by_size[0])

# %% [markdown] name="richer"
# ## Is the output richer than the input?
#
# The output is a weighted sum, so an average of the inputs. One reads that it is *richer*
# than they are. Ask **who lives here?**, with a query for *alive* and for *built*.

# %%
who = torch.tensor([0.0, 0, 1, 1])
_, weights_of_who, out = ask(who, x)
print(by_name(names, weights_of_who))
by_name(features, out)

# %% [markdown]
# No region is alive *and* built. The output is: one vector speaks of the cat and of the
# house. (Not with every question: *where is the cat?* gets little but the cat.)

# %% tags=["predict"]
predict(
    "You are given this output alone. Can you tell that a cat and a house are in the "
    "picture?",
    {
        "yes: alive comes from a cat, built from a house": "Or from two creatures that "
        "are half of each. Their mixture is the same.",
        "yes, if the weights are given as well": "They say that two regions count "
        "alike. Two creatures, half cat and half house, count alike, too.",
        "no": (
            True,
            "Another picture gives the same output, even the same weights: a sum does "
            "not say which part came from where.",
        ),
    },
    concept="C012",
)

# %% [markdown]
# ### Yours: another picture, the same output
#
# Change the rows of house and cat so that *who lives here?* gets the same output from
# them. (To swap the two is one way. Find another.)

# %% tags=["yours"]
rows = [[0.5, 0, 1.5, 1.5], [0.5, 0, 1.5, 1.5]]  # yours: two rows of four
intervene(
    "other rows, the same output",
    rows,
    run=lambda rows: by_name(features, ask(
        who, torch.cat([x[:3], torch.tensor(rows).float()]))[2]),
    holds=lambda result: result == by_name(features, out),
    among=lambda rows: sorted(map(list, rows)) != sorted(x[3:].tolist()),
    otherwise="Both get the same weight as long as alive + built is 3. Then only their "
    "mean counts.",
)

# %% [markdown]
# **Verdict: it can be richer than each, and never than all.** A mixture joins what stood
# in different places. It does not say any more which part came from where, so it never
# holds more than its inputs do together.

# %% tags=["claim"]
# The proof
claim("no region is alive and built, and the output is both",
      not ((x[:, 2] > 0) & (x[:, 3] > 0)).any() and min(out[2:]) > 1)
claim("a question for one thing gets little else",
      ask(queries[2], x)[1][names.index("cat")] > 0.9)

# %% [markdown] name="static-or-context"
# ## The same word, another meaning
#
# Words need this even more than regions do. A table of word vectors has **one** row for
# *date*. It is **static**: it is the same for the fruit and for the day. *see* is done
# with the eyes or with the mind. And *it* means nothing by itself.
#
# Here are all three, each in two sentences, with two invented features per word. For
# every sentence, **you** are the attention: which other word tells what is meant? Compare
# with the third column.

# %%
cat, house = [3.0, 0.0], [0.0, 3.0]  # (alive, built), as in the picture
static = {"date": [1.0, 1], "see": [1.0, 1], "it": [0.0, 0]}  # whatever the sentence
senses = {"date": ["fruit", "calendar"], "see": ["eyes", "mind"],
          "it": ["alive", "built"]}
sentences = [("date", "The date was sweet.", "sweet", [2.0, 0]),
             ("date", "The date of the meeting was moved.", "meeting", [0.0, 2]),
             ("see", "I see a bird.", "bird", [2.0, 0]),
             ("see", "I see your point.", "point", [0.0, 2]),
             ("it", "The cat left the house because it was hungry.", "cat", cat),
             ("it", "The cat left the house because it was burning.", "house", house)]
[(word, sentence, tells) for word, sentence, tells, _ in sentences]

# %% [markdown]
# Now give half of the weight to the word itself and half to the word that tells.

# %%
half = torch.tensor([0.5, 0.5])
in_context = torch.stack([weighted_sum(half, torch.tensor([static[word], helper]))
                          for word, _, _, helper in sentences])  # (6, 2)
plots.show(draw.meanings(static, sentences, in_context, senses), "meanings")

# %% [markdown]
# One static vector, two vectors in context. The word has become a mixture of itself and
# its company: a **context-aware** vector. With real vectors, those of lesson 00:

# %%
real = {word: v / v.norm() for word, v in shipped.word_vectors().items()}  # (384,) each


def nearest(vector, but, among=real):
    """The four words, without those in `but`, whose vectors are most like this one."""
    like = {word: (vector @ v).item() for word, v in among.items() if word not in but}
    return sorted(like, key=like.get, reverse=True)[:4]


for word, company in (("bank", "money"), ("bank", "river"), ("march", "april"),
                      ("march", "walk")):
    mixture = weighted_sum(half, torch.stack([real[word], real[company]]))
    print(f"{word:5} with {company:6}", nearest(mixture, (word, company)))

# %% [markdown]
# But here the weights came from you, because you understood the sentence. Could a program
# find them? Two words that share a feature have a large sum of products: "date" and
# "sweet" have $1 \cdot 2 + 1 \cdot 0 = 2$. Let the word be its own query.

# %% tags=["predict"]
predict(
    "*it*, with the row (0, 0), asks for itself: “The cat left the house because it "
    "was hungry.” Which weights does a softmax of its scores give?",
    {
        "most to *cat*": "What is alive is hungry: you know that. The scores of (0, 0) "
        "know nothing.",
        "0 to every word": "All scores are 0. A softmax of zeros is not zero.",
        "the same to every word": (
            True,
            "All scores are 0, and a softmax of equal scores is even. A word that "
            "shares nothing finds nothing.",
        ),
        "most to *it* itself": "Its score with itself is 0 as well.",
    },
    concept="C010",
)

# %%
words_of_it = {"cat": cat, "house": house, "it": static["it"], "hungry": [2.0, 0]}
ask(torch.tensor(static["it"]), torch.tensor(list(words_of_it.values())))[1]

# %% [markdown]
# For *date* a program might notice what it shares with "sweet". For *it* there is nothing
# to share. And who is there to ask? In the picture somebody wanted to know about the
# weather. In a sentence nobody stands outside.

# %% tags=["claim"]
# The proof
table_rows = torch.tensor([static[word] for word, *_ in sentences])  # (6, 2)
claim("the table cannot tell the two meanings apart, and context does",
      torch.equal(table_rows[0::2], table_rows[1::2])
      and (in_context[0::2] - in_context[1::2]).norm(dim=1).min() > 1)
wet, rich = (nearest(weighted_sum(half, torch.stack([real["bank"], real[company]])),
                     ("bank", company)) for company in ("river", "money"))
claim("with river, a bank is near to a lake, and with money it is not",
      "lake" in wet and "lake" not in rich)

# %% tags=["predict", "later"]
predict(
    "All scores get 5 added, before the softmax. The weights …",
    {
        "grow": "They sum to 1 before and after. All of them cannot grow.",
        "become more even": "That is what *smaller* scores do, multiplied by a number "
        "below 1.",
        "stay": (
            True,
            "Each power is multiplied by the same number, and dividing by the sum "
            "takes it out again.",
        ),
    },
    concept="C009",
)

# %% [markdown]
# ## Summary
#
# - Attention, here: scores, weights, a weighted sum. Kinds differ in where the scores
#   come from.
# - Max-pooling is all or nothing, channel by channel: a softmax of β · x as β goes to
#   infinity. With one set of weights for whole inputs it cannot be done, unless one input
#   wins in every channel.
# - TF-IDF is continuous, and the collection decides. Neither of the two hears a question.
# - With a query, whoever asks decides, together with what is there. A negative number in
#   it is a wish *against* something.
# - The output can be richer than each input, never richer than all of them together.
# - A static vector is the same in every sentence. A weighted sum over the sentence makes
#   it context-aware.
#
# **Think about it.** A mixture cannot tell who gave what. You read an output that is
# *alive* and *built*, and want to know whether it comes from a cat and a house, or from
# creatures that are half of each. What would you keep besides the mixture? What would
# that cost for a text of a thousand words?
#
# <details><summary>An answer</summary>
#
# The inputs themselves, beside the mixture. Then each step can look at them once more,
# with another question. That is what a Transformer does: its layers keep one vector per
# word, a thousand for a thousand words, and if every word asks, a million weights per
# layer. Lesson 16 counts what that costs.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2,
# says in its first lines what attention is: a query, a weighted sum, and weights that come
# from comparing. Max-pooling and TF-IDF as simple forms of attention: Chollet, *Deep
# Learning with Python*, second edition (2021), section 11.4.
#
# **Next.** Let every word of a sentence be a query itself, and ask all the others. Lesson
# 02 does that with nothing trained.
