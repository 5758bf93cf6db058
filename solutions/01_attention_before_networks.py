# %% [markdown]
# # 01 · Attention before networks
#
# *45 minutes · needs lesson 00 · one exercise*
#
# **At the end you can**
#
# - say what the attentions of this course have in common: scores, weights, a weighted sum;
# - turn max-pooling into a weighted sum, and judge whether it is attention;
# - weigh words by counting, let a question choose what to look at, and say who decides in each case.

# %%
import math

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import to_rgb

from course_lib import check
from course_lib.attention import weighted_sum
from course_lib.display import plots

torch.set_num_threads(1)

# %% [markdown] name="selective-attention"
# ## Your own attention
#
# Two experiments with yourself. For the first, give yourself ten seconds.
#
# You have a dog, and you want to cross to the island. **What does the dog cost?** Now run your eyes over the next
# cell.

# %%
notice = """The ferry leaves from the old harbour wall, next to the fish market. In summer it runs every hour.
In winter there are two boats a day, and none in a storm. Bicycles may come on deck if there is room.
Dogs travel for two coins and stay below. A woman in a green hat sells the tickets on board. The crossing
takes forty minutes. The best view is from the left side, where the seals lie on the rocks. If you miss
the last boat, ring the bell at the inn and ask for Marta."""
print(len(notice.split()), "words")

# %% [markdown]
# **Do not look back.** What does the woman wear who sells the tickets? What lies on the rocks?
#
# <details><summary>The answers</summary>
#
# A green hat. Seals.
#
# </details>
#
# If you could not say, nothing is wrong with you. You did not read the text, you *skimmed* it: your eyes jumped until
# they met a dog. How much of the notice did you need?

# %%
sentences = notice.replace("\n", " ").split(". ")
hits = [sentence for sentence in sentences if "dog" in sentence.lower()]
one_sentence_answers = len(hits) == 1
it_is_less_than_a_tenth_of_the_text = len(hits[0].split()) < 0.1 * len(notice.split())
assert one_sentence_answers
assert it_is_less_than_a_tenth_of_the_text
print(f"{len(hits[0].split())} of {len(notice.split())} words: {hits[0]}")

# %% [markdown]
# The second experiment is about a picture. It shows a cat. **Look at its ears: which of the two is darker?** Look at
# nothing else, and scroll on as soon as you know.

# %%
picture = """
................................
...ooo..................***.....
.ooooooo...............*****....
..oooooooo.....ooo.....*****....
.............ooooooo....***.....
....^^^^^.......................
...^^^^^^^......................
..^^^^^^^^^.....................
mmm#######mmmmm~~~mmmmmmmmmmmmmm
mmm#W##W##mmmm~~~mmmmmemmmfmmmmm
mmm#######mmm~~~mmmmmmcccccmmmcm
mmm#W##DD#mmm~~~~mmmmmckckcmmmcm
mmm####DD#mmmm~~~~~mmmcccccccccm
mmmmmmmmmmmmmmm~~~~~mmmcccccccmm
mmmmmmmmmmmmmm~~~~~~mmmcccccccmm
mmmmmmmmmmmmm~~~~~~~mmmcmcmcmcmm
mmmmmmmmmmmm~~~~~~~~mmmmmmmmmmmm
""".split()
paint = {".": "#a9d3f0", "o": "#ffffff", "*": "#f8d255", "m": "#93c47d", "~": "#3d7ebf", "^": "#a5462f", "#": "#ecdcb9",
         "W": "#44546a", "D": "#7a4a2b", "c": "#6b6f76", "k": "#d7e36a", "e": "#6b6f76", "f": "#17191c"}
colours = [[to_rgb(paint[letter]) for letter in row] for row in picture]
figure, axis = plt.subplots(figsize=(6.4, 3.4))
axis.imshow(colours)
axis.axis("off")
plots.show(figure, "A landscape of coarse squares: sky with two clouds and the sun, a house with a red roof, a meadow, "
                   "a river, and on the right a grey cat. Its right ear in the picture is nearly black.")

# %% [markdown]
# The right one. Now, **without scrolling back:** how many windows has the house?

# %%
letters = "".join(picture)
share_of_the_ears = (letters.count("e") + letters.count("f")) / len(letters)
windows = letters.count("W")
the_ears_are_less_than_a_hundredth = share_of_the_ears < 0.01
there_were_three_windows = windows == 3
assert the_ears_are_less_than_a_hundredth
assert there_were_three_windows
print(f"ears: {share_of_the_ears:.1%} of the picture; windows: {windows}")

# %% [markdown]
# Both times a question came first, and the question decided what you took in. This is **selective attention**, and
# it was studied long before any network had it.
#
# - Colin Cherry played two texts at once, one into each ear, and let people repeat one of them aloud. Of the other
#   they could say afterwards that it had been speech, but not what had been said
#   (*Some experiments on the recognition of speech, with one and with two ears*, JASA 25, 1953).
# - Alfred Yarbus recorded where an eye rested on a painting. The same viewer looked at other places when asked how old
#   the people were than when asked how rich (*Eye Movements and Vision*, 1967). That was one viewer and one painting;
#   [Greene and colleagues 2012](https://pmc.ncbi.nlm.nih.gov/articles/PMC3526937) recorded more of both and could not
#   guess the question from such traces. [Borji and Itti 2014](https://doi.org/10.1167/14.3.29) took the same data with
#   another method, and guessed right 34 times of a hundred, where chance is 25. The effect is there, and it is small.
#
# What is shared with the attention of this course is no more than the idea: **not everything counts the same, and what
# counts depends on what is wanted.** The rest is arithmetic.

# %% [markdown]
# ## The picture as a table
#
# A program sees no cat. It needs numbers. We cut the picture into five regions and describe each of them by four
# features, set by hand: how much **light** it gives, how **wet** it is, how much in it is **alive**, how much is
# **built**. The river glitters a little, and there are fish in it.

# %%
regions = {"sky": ".o*", "meadow": "m", "river": "~", "house": "^#WD", "cat": "ckef"}
names, features = list(regions), ["light", "wet", "alive", "built"]
x = torch.tensor([[3.0, 1, 0, 0], [0, 1, 2, 0], [1, 2, 1, 0], [1, 0, 0, 3], [0, 0, 3, 0]])  # (N, D) = (5, 4)
figure, axis = plt.subplots(figsize=(3.4, 3.2))
plots.heat_map(axis, x, names, features, title="x, set by hand")
axis.set(xlabel="feature", ylabel="region")
plots.show(figure, "Five regions, four features. Sky: light 3, wet 1. Meadow: wet 1, alive 2. River: light 1, wet 2, "
                   "alive 1. House: light 1, built 3. Cat: alive 3.")

# %% [markdown]
# One vector is to stand for the whole picture. Without attention every region counts the same, a fifth each, and
# lesson 00's `weighted_sum` makes the mixture. **Predict:** only the house is built, and it has a 3 there. What is left
# of it?

# %%
everything_the_same = torch.full((5,), 1 / 5)  # (N,)
average = weighted_sum(everything_the_same, x)  # (D,)
the_house_shrinks_to_a_fifth = abs(average[3].item() - 3 / 5) < 1e-6
assert the_house_shrinks_to_a_fifth
dict(zip(features, [round(value, 1) for value in average.tolist()], strict=True))

# %% [markdown]
# A mean washes out whatever is rare. Two old remedies need no network.

# %% [markdown] name="max-pooling"
# ## Remedy 1: take the largest
#
# **Max-pooling** keeps, of every feature, the largest number and drops the rest. In networks for images a feature is
# called a *channel*. **Predict** the four numbers, and the region each comes from.

# %%
largest, winner = x.max(dim=0)  # (D,), (D,)
every_channel_has_another_winner = len(set(winner.tolist())) == 4
nothing_is_washed_out = bool((largest > average).all())
assert every_channel_has_another_winner
assert nothing_is_washed_out
{f: f"{value:.0f} from {names[n]}" for f, value, n in zip(features, largest.tolist(), winner.tolist(), strict=True)}

# %% [markdown]
# Is that a weighted sum, too? Yes, with weights that know only two values: 1 for the winner, 0 for everyone else.
# The winners differ, so here **each channel gets weights of its own**.

# %%
hard_weights = torch.nn.functional.one_hot(winner, num_classes=5).T.float()  # (N, D), one column per channel
mixed = torch.cat([weighted_sum(hard_weights[:, d], x[:, d : d + 1]) for d in range(4)])  # (D,)
max_pooling_is_a_weighted_sum = torch.equal(mixed, largest)
assert max_pooling_is_a_weighted_sum
figure, axis = plt.subplots(figsize=(3.4, 3.2))
plots.heat_map(axis, hard_weights, names, features, title="weights of max-pooling", kind="weight")
axis.set(xlabel="channel", ylabel="region")
plots.show(figure, "Five regions, four channels. Each column has a single 1 and four zeros: light from the sky, wet "
                   "from the river, alive from the cat, built from the house. The row of the meadow is all zero.")

# %% [markdown]
# Attention of the kind **all or nothing**. It answers *is there any ...?*, anywhere in the picture. The price: whoever
# comes second leaves no trace. **Predict:** a second cat walks in, and the meadow dries up. What changes?

# %%
changed = torch.cat([x, x[4:]])  # (6, 4): two cats
changed[1, 1] = 0  # a dry meadow
max_pooling_does_not_notice = torch.equal(changed.max(dim=0).values, largest)
the_mean_does = not torch.allclose(changed.mean(dim=0), average, atol=0.01)
assert max_pooling_does_not_notice
assert the_mean_does
print("max: ", changed.max(dim=0).values.tolist(), "as before")
print("mean:", [round(value, 2) for value in changed.mean(dim=0).tolist()])

# %% [markdown] name="softened"
# ## Between all and nothing
#
# The mean weighs evenly, the maximum weighs all or nothing. What lies between?
#
# Take one channel with two numbers, 0 and 1. Larger numbers should get larger weights. So multiply each number by some
# β ≥ 0, take the exponential, which is always positive, and divide by the sum. That is a **softmax** of β times the
# numbers.
#
# **On paper:** choose $\beta = \ln 3$. Then $e^{\beta \cdot 0} = 1$ and $e^{\beta \cdot 1} = 3$. Which weights, and
# which weighted sum?

# %%
powers = [math.exp(math.log(3) * 0), math.exp(math.log(3) * 1)]
weights = torch.tensor([power / sum(powers) for power in powers])  # (N,) = (2,)
pooled = weighted_sum(weights, torch.tensor([[0.0], [1.0]])).item()
it_is_three_quarters = abs(pooled - 0.75) < 1e-6
that_is_a_softmax = torch.allclose(weights, torch.softmax(math.log(3) * torch.tensor([0.0, 1.0]), dim=0))
assert it_is_three_quarters
assert that_is_a_softmax
[round(weight, 2) for weight in weights.tolist()], round(pooled, 2)

# %% [markdown]
# **On paper** again: what becomes of the two weights when β is twice as large?

# %%
twice = torch.softmax(2 * math.log(3) * torch.tensor([0.0, 1.0]), dim=0)  # (N,) = (2,)
the_powers_are_one_and_nine = torch.allclose(twice, torch.tensor([1.0, 9]) / 10)
assert the_powers_are_one_and_nine
[round(weight, 2) for weight in twice.tolist()]

# %% [markdown]
# The larger number leaves the smaller one further behind. β is called the **inverse temperature**: the colder, the
# sharper the weights.

# %% [markdown]
# ### Exercise 1: `soft_max_pool`
#
# ★☆☆ · 10 minutes · about 2 lines · *extra: it belongs to this lesson, and no later one builds on it*
#
# Do this for every channel of a whole table. The docstring is the whole contract.
# Try it wrong on purpose, too: let the softmax run along the rows, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# The weights of one channel sum to one. In a table (N, D), with one column per channel, along which axis must you add
# to get D ones?
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
# From here on `pool` is your own function as soon as the card says *right*. Turn β up, from 0 to 30.
# **Predict:** which of the four channels is the last to arrive at its maximum?

# %%
betas = [0.0] + [10 ** (k / 10) for k in range(-15, 16)]
curves = torch.stack([pool(x, beta) for beta in betas])  # (32, D)
figure, axis = plt.subplots(figsize=(6, 3.4))
for d, (feature, style) in enumerate(zip(features, ["-", "--", "-.", ":"], strict=True)):
    axis.plot(betas, curves[:, d] / largest[d], style, linewidth=2, label=feature)
axis.axhline(1, color="black", linewidth=0.8)
axis.text(0.0, 1.02, "maximum", ha="left")
axis.set(xlabel="β", ylabel="share of the maximum", xlim=(-0.003, 32), ylim=(0, 1.12))
axis.set_xscale("symlog", linthresh=0.03)
axis.legend(title="channel")
plots.show(figure, "Four curves over beta, each divided by its maximum. At beta 0 they start at the means, between 0.2 "
                   "and 0.4. All rise to 1. Built arrives first, wet last.")

# %%
at_zero_it_is_the_mean = torch.allclose(pool(x, 0.0), average)
at_thirty_it_is_the_maximum = torch.allclose(pool(x, 30.0), largest)
it_never_falls = bool((curves.diff(dim=0) > -1e-5).all())
assert at_zero_it_is_the_mean
assert at_thirty_it_is_the_maximum
assert it_never_falls
for beta in (0.0, 1.0, 30.0):
    print(f"β = {beta:4.0f}:", [round(value, 2) for value in pool(x, beta).tolist()])

# %%
def arrival(table, share=0.99):
    """For each channel the first β, in steps of 0.01, that gives this share of its maximum."""
    steps = [step / 100 for step in range(600)]
    there = torch.stack([pool(table, beta) for beta in steps]) > share * table.max(dim=0).values  # (600, D)
    return [steps[first] for first in there.float().argmax(dim=0).tolist()]


arrived = dict(zip(features, arrival(x), strict=True))
wet_is_last = sorted(arrived, key=arrived.get) == ["built", "light", "alive", "wet"]
assert wet_is_last
arrived

# %% [markdown]
# It looks as if the **gap** between first and second counts most: 3 for *built*, 2 for *light*, 1 for *alive* and
# *wet*. Try every column of five numbers from 0 to 3 with one maximum, and then another goal, half of the maximum.

# %%
columns = torch.combinations(torch.arange(4.0), 5, with_replacement=True)  # (56, 5): the order does not matter
by_gap = {gap: arrival(columns[columns[:, 4] - columns[:, 3] == gap].T) for gap in (1, 2, 3)}
every_larger_gap_arrives_earlier = min(by_gap[1]) > max(by_gap[2]) and min(by_gap[2]) > max(by_gap[3])
half_way = dict(zip(features, arrival(x, 0.5), strict=True))
half_way_the_order_is_another = max(half_way, key=half_way.get) == "built"
assert every_larger_gap_arrives_earlier
assert half_way_the_order_is_another
{gap: (min(found), max(found)) for gap, found in by_gap.items()}, half_way

# %% [markdown]
# In all of these columns it does, near the maximum. (Half-way it does not: *built* is last there.) Then why is *wet*
# behind *alive*, with the same gap? Two suspects: two regions share its second place, and its maximum is smaller. Take
# one away, then the other, then both.

# %%
wets = {"wet": [1, 1, 2, 0, 0], "second place not shared": [0, 1, 2, 0, 0], "maximum of 3": [2, 2, 3, 0, 0],
        "both": [0, 2, 3, 0, 0]}
by_change = dict(zip(wets, arrival(torch.tensor(list(wets.values())).float().T), strict=True))
each_alone_makes_it_later = all(arrived["alive"] < by_change[name] < by_change["wet"] for name in list(wets)[1:3])
both_together_explain_it = abs(by_change["both"] - arrived["alive"]) < 0.1
assert each_alone_makes_it_later
assert both_together_explain_it
by_change

# %% [markdown]
# Each of them costs some of the way, and without both *wet* arrives when *alive* does.
#
# So max-pooling is a limit, reached as β goes to infinity. On paper it is never quite reached. In the
# computer it is, once the other weights are too small to change the sum.

# %% [markdown] name="claim-max-pooling"
# ## A claim to test
#
# *"Max-pooling is attention."*
#
# In the attention of the coming lessons, **one** set of weights mixes whole rows: an input that gets 0.3 gives 0.3 of
# *all* its features. **Predict:** can one set of weights, positive and one in sum, give the maximum of every channel?
#
# The smallest case first: two inputs, (1, 0) and (0, 1). Their maximum is (1, 1). Try 1,001 mixtures.

# %%
two = torch.tensor([[1.0, 0], [0, 1]])
shares = torch.linspace(0, 1, 1001)
mixtures = torch.stack([weighted_sum(torch.stack([a, 1 - a]), two) for a in shares])  # (1001, 2)
misses = (mixtures - two.max(dim=0).values).norm(dim=1)  # (1001,)
none_comes_near = misses.min().item() > 0.7
assert none_comes_near
print(f"the best of {len(mixtures):,} mixtures misses (1, 1) by {misses.min():.2f}")

# %% [markdown]
# No luck was involved. Each row sums to 1, so every mixture of them does, and (1, 1) sums to 2.
#
# The same argument for our picture: no mixture can have a larger sum than the row with the largest sum.
# **Predict:** is the maximum vector within reach?

# %%
reach = x.sum(dim=1).max()  # the most that any mixture of the rows can sum to
the_maximum_is_out_of_reach = (largest.sum() > reach).item()
assert the_maximum_is_out_of_reach
print("rows sum to", x.sum(dim=1).tolist(), " the maximum sums to", largest.sum().item())

# %% [markdown]
# All mixtures of some points fill the space between them: their **convex hull**. Here it is for two of the four
# features, with 3,000 random mixtures. The line traces your `pool` as β grows.

# %%
spread = 3 * torch.randn(3000, 5, generator=torch.Generator().manual_seed(0))
cloud = torch.softmax(spread, dim=1) @ x[:, 1:3]  # (3000, 2)
way = curves[:, 1:3]
figure, axis = plt.subplots(figsize=(5, 4.2))
axis.plot(*cloud.T, ".", color="#9aa7b8", markersize=2, label="mixtures with one set of weights")
axis.plot(*way.T, "-", color="black", linewidth=2, label="soft_max_pool, β from 0 to 32")
axis.plot(*x[:, 1:3].T, "o", color="#2b6cb0", markersize=8, label="regions")
axis.plot(*largest[1:3], "*", color="#c05621", markersize=16, label="maximum of each channel")
beside = [(-9, -17), (-54, -12), (8, 6), (-9, -17), (8, 6)]
for name, place, shift in zip(names, x[:, 1:3].tolist(), beside, strict=True):
    axis.annotate(name, place, shift, textcoords="offset points", bbox={"color": "white", "alpha": 0.8, "pad": 1})
axis.set(xlabel="wet", ylabel="alive", xlim=(-0.2, 2.6), ylim=(-0.45, 4.6))
axis.legend(loc="upper right", fontsize=8)
plots.show(figure, "The plane of wet and alive. Grey dots, the mixtures, fill the space between house, sky, river and "
                   "cat. The maximum lies outside it, at wet 2 and alive 3. The black line starts at the mean, among "
                   "the dots, leaves them and ends at the maximum.")

# %%
wet_plus_alive = x[:, 1] + x[:, 2]  # (N,): no mixture can have more than the largest of these
pooling_starts_inside = torch.allclose(way[0], x[:, 1:3].mean(dim=0))
no_dot_crosses_the_edge = bool((cloud.sum(dim=1) <= wet_plus_alive.max() + 1e-5).all())
pooling_ends_beyond_it = (way[-1].sum() > wet_plus_alive.max() + 1).item()
assert pooling_starts_inside
assert no_dot_crosses_the_edge
assert pooling_ends_beyond_it
print(f"wet + alive: {wet_plus_alive.max():.0f} at most for a mixture, {way[-1].sum():.0f} for the maximum")

# %% [markdown]
# **Verdict.** *Per channel, yes:* max-pooling is D attentions side by side, each with weights of its own, as β goes to
# infinity. *With one set of weights, no.* A mixture reaches the maximum of a channel only if every input with some
# weight has that maximum. So it reaches all of them only where a single input has the maximum of **every** channel.
#
# Several sets of weights, each for its own part of the vector: keep this thought. It comes back in lesson 06.
#
# | part | mean | max-pooling, softened |
# |---|---|---|
# | **inputs** | x (N, D) | x (N, D), β |
# | **similarity** | none | β · x: each number speaks for itself |
# | **outputs** | weights (N,), out (D,) | weights **(N, D)**, out (D,) |

# %% [markdown] name="tf-idf"
# ## Remedy 2: count words
#
# The second remedy comes from libraries. Which words tell what a text is about? Those that occur **often in this
# text** ([Luhn 1957](https://doi.org/10.1147/rd.14.0309)) and **in few other texts**
# ([Spärck Jones 1972](https://doi.org/10.1108/eb026526)). The product is called TF-IDF: *term frequency*, how often the
# word stands in the text, times *inverse document frequency*, log(texts / texts with the word).
#
# Four pictures have captions. **On paper**, for the first one: what do "the", "cat" and "river" get?

# %%
captions = ["the cat looks at the river", "the cat sleeps in the house",
            "the cat plays in the meadow", "the cat looks at the sky"]
texts = [caption.split() for caption in captions]
the_score = 2 * math.log(4 / 4)  # twice in this caption, in 4 of 4 captions
cat_score = 1 * math.log(4 / 4)
river_score = 1 * math.log(4 / 1)
what_stands_everywhere_counts_nothing = the_score == cat_score == 0 < river_score
assert what_stands_everywhere_counts_nothing
the_score, cat_score, round(river_score, 2)

# %% [markdown]
# The cat counts nothing? In *this* collection, yes: a word that stands in every caption cannot tell one caption from
# another.
#
# The scores are never negative, so dividing by their sum is enough to make weights of them. No softmax is needed. (Only
# a text in which every word stands everywhere would leave zero to divide by.)

# %%
def tf_idf(text):
    """The words of a text, each once, and their weights: (N,)."""
    words = list(dict.fromkeys(text))
    scores = [text.count(word) * math.log(len(texts) / sum(word in other for other in texts)) for word in words]
    return words, torch.tensor(scores) / sum(scores)


words, weights = tf_idf(texts[0])
words

# %% [markdown]
# **Predict:** "looks" stands in two captions of four. How does its weight compare with the river's?

# %%
tf_idf_weights_sum_to_one = all(abs(tf_idf(text)[1].sum().item() - 1) < 1e-6 for text in texts)
the_river_gets_half = abs(weights[words.index("river")].item() - 1 / 2) < 1e-6
looks_gets_a_quarter = abs(weights[words.index("looks")].item() - 1 / 4) < 1e-6
assert tf_idf_weights_sum_to_one
assert the_river_gets_half
assert looks_gets_a_quarter
dict(zip(words, [round(weight, 2) for weight in weights.tolist()], strict=True))

# %% [markdown]
# Neither all nor nothing: these weights take any value between, so this is **continuous attention**. And as with every
# attention, the weights are there to mix. Words that name a region get its row, all others zeros.

# %%
def vector(word):
    return x[names.index(word)] if word in names else torch.zeros(4)


vectors = torch.stack([vector(word) for word in words])  # (N, D)
by_tf_idf = weighted_sum(weights, vectors)  # (D,)
by_mean = weighted_sum(torch.full((len(words),), 1 / len(words)), vectors)  # (D,)
tf_idf_sees_half_the_river = torch.allclose(by_tf_idf, x[names.index("river")] / 2)
the_mean_sees_more_of_the_cat = (by_mean[2] > by_mean[1]).item()
assert tf_idf_sees_half_the_river
assert the_mean_sees_more_of_the_cat
print("TF-IDF:", [round(value, 2) for value in by_tf_idf.tolist()], " mean:", [round(v, 2) for v in by_mean.tolist()])

# %%
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True, layout="constrained")
for axis, text, caption in zip(axes, texts, captions, strict=True):
    axis.bar(*tf_idf(text), color="#2b6cb0")
    axis.set_title(caption, fontsize=9)
    axis.set(xlabel="word", ylim=(0, 1))
    axis.tick_params("x", labelsize=8)
axes[0].set_ylabel("weight")
plots.show(figure, "TF-IDF weights of four captions. The words 'the' and 'cat' have none anywhere. In the first "
                   "and last caption river and sky have a half, looks and at a quarter each. In the other two, house "
                   "with sleeps and meadow with plays have two fifths each, and the word 'in' has one fifth.")

# %% [markdown]
# Look at "at": as much weight as "looks". Counting knows nothing of meaning. There are many recipes besides this one:
# scikit-learn's, for example, [adds one to the
# logarithm](https://scikit-learn.org/stable/modules/feature_extraction.html#tfidf-term-weighting), so that no word gets
# exactly zero.
#
# | part | max-pooling, softened | TF-IDF |
# |---|---|---|
# | **inputs** | x (N, D), β | the word counts of all texts, x (N, D) |
# | **similarity** | β · x: each number speaks for itself | **none: counts** |
# | **outputs** | weights (N, D), out (D,) | scores (N,), weights **(N,)**, out (D,) |

# %% [markdown]
# ## What neither takes into account
#
# Ask the first caption *where is the cat?* The cat still weighs nothing. Ask the picture *how is the weather?*
# Max-pooling still hands you the cat's life and the house's walls. **Neither hears the question.** Your own attention
# did.

# %% [markdown] name="weather"
# ## How is the weather?
#
# A question, too, can be a vector. Whoever asks for the weather cares for *light*, somewhat for *wet*, and not at all
# for the rest: (2, 1, 0, 0). In attention this vector is called the **query**.
#
# How well does a region answer? Add up its features, each weighted by how much the query cares. **On paper:** the score
# of the sky, whose row is (3, 1, 0, 0).

# %%
query = torch.tensor([2.0, 1, 0, 0])  # (D,)
sky_score = 2 * 3 + 1 * 1 + 0 * 0 + 0 * 0
scores = weighted_sum(query, x.T)  # (N,): a weighted sum over the features, for all regions at once
the_sky_has_seven = sky_score == scores[0].item() == 7
assert the_sky_has_seven
dict(zip(names, scores.tolist(), strict=True))

# %% [markdown]
# A softmax makes weights of the scores. **Predict:** where does the question look, and which region comes second?

# %%
def ask(query, x):
    """The weights (N,) a query gives the rows of x, and their mixture (D,)."""
    weights = torch.softmax(weighted_sum(query, x.T), dim=0)  # (N,)
    return weights, weighted_sum(weights, x)


weights, answer = ask(query, x)
the_weather_is_in_the_sky = weights[0].item() > 0.9
the_river_comes_second = weights.argsort(descending=True)[1].item() == names.index("river")
assert the_weather_is_in_the_sky
assert the_river_comes_second
dict(zip(names, [round(weight, 3) for weight in weights.tolist()], strict=True))

# %% [markdown]
# Now lay the weights over the picture: every square gets the weight of its region.

# %%
region_of = {letter: n for n, name in enumerate(names) for letter in regions[name]}
where = torch.tensor([[region_of[letter] for letter in row] for row in picture])  # (17, 32): which region is it?
spots = {"sky": (12, 1), "meadow": (6, 14.5), "river": (17, 14), "house": (6, 8), "cat": (26, 12.5)}
figure, axes = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
axes[0].imshow(colours)
axes[0].set_title("the picture")
shown = axes[1].imshow(weights[where], cmap=plots.WEIGHTS, vmin=0, vmax=1)
axes[1].set_title("weights for: how is the weather?")
for (name, spot), weight in zip(spots.items(), weights.tolist(), strict=True):
    ink = "black" if weight > 0.6 else "white"
    axes[1].text(*spot, f"{name} {weight:.2f}", ha="center", va="center", color=ink)
for axis in axes:
    axis.set(xticks=[], yticks=[])
figure.colorbar(shown, ax=axes[1], label="weight")
plots.show(figure, "Left, the landscape. Right, the same landscape in the colour of its weights: the whole sky with "
                   "sun and clouds in full colour, 0.94; the river is faint, 0.05; house 0.01, meadow and cat 0.00.")

# %% [markdown] name="scores"
# ## Scores: how they are computed, and what they are used for
#
# Everything that happened, in one picture. **Before you look:** name the steps from left to right. Which of them would
# be the same for max-pooling and TF-IDF?

# %%
weighted_rows = weights[:, None] * x  # (N, D)
out = weighted_rows.sum(dim=0)  # (D,)
the_four_steps_give_the_answer = torch.allclose(out, answer)
assert the_four_steps_give_the_answer
{feature: round(value, 2) for feature, value in zip(features, out.tolist(), strict=True)}

# %%
tables = {"query": (query[None], ["asks for"], features), "inputs x": (x, names, features),
          "1. scores:\ncompare": (scores[:, None], names, [""]),
          "2. weights:\nsoftmax": (weights[:, None], names, [""]),
          "3. multiply:\nweight · input": (weighted_rows, names, features), "4. add up": (out[None], ["out"], features)}
_, *below = tables
figure, axes = plt.subplot_mosaic([["query", *"...."], below], figsize=(12, 4.4), layout="constrained",
                                  width_ratios=[4, 1.5, 1.5, 4, 4], height_ratios=[1, 5])
for title, (matrix, rows, columns) in tables.items():
    kind = "weight" if title.startswith("2. weights") else None
    plots.heat_map(axes[title], matrix, rows, columns, title=title, kind=kind)
    axes[title].set_xlabel("feature" if columns == features else "")
axes["query"].set(xticks=[], xlabel="")
axes["inputs x"].set_ylabel("region")
plots.show(figure, "Tables from left to right. The query asks for light 2 and wet 1. Below it the inputs, 5 by 4. "
                   "Scores: sky 7, meadow 1, river 4, house 2, cat 0. Weights: sky 0.94, river 0.05, the others near "
                   "0. Weight times input: only the row of the sky is large. Their sum, one row: light 2.88, wet 1.04, "
                   "alive 0.05, built 0.02.")

# %% [markdown]
# 1. **Scores** come from comparing: here each input with the query. *This is the step in which kinds of attention
#    differ.*
# 2. **Weights** come from scores: positive, one in sum. A softmax does it.
# 3. Every input is **multiplied** by its weight.
# 4. The products are **added up**: one vector.
#
# Steps 3 and 4 are the same in max-pooling and TF-IDF, only that max-pooling takes them channel by channel. Step 2
# differs a little: TF-IDF divides by the sum.
#
# So scores are computed from what is wanted and what is there, and they are used for one thing only: to decide how much
# of each input goes into the output.
#
# | part | TF-IDF | with a query |
# |---|---|---|
# | **inputs** | the word counts of all texts, x (N, D) | **query (D,)**, x (N, D) |
# | **similarity** | none: counts | **features of x, weighted by the query** |
# | **outputs** | scores (N,), weights (N,), out (D,) | scores (N,), weights (N,), out (D,) |

# %% [markdown] name="richer"
# ## Is the output richer than the input?
#
# The output of attention is a weighted sum of the inputs, and one reads that it is *richer* than they are. Ask **who
# lives here?**, with a query for *alive* and for *built*. **Predict:** which two features will be high in the output?
# Is there a region that has both?

# %%
who = torch.tensor([0.0, 0, 1, 1])
weights, out = ask(who, x)
no_region_is_alive_and_built = not bool(((x[:, 2] > 0) & (x[:, 3] > 0)).any())
the_output_is_both = out[2].item() > 1 and out[3].item() > 1
assert no_region_is_alive_and_built
a_question_for_one_gets_one = ask(torch.tensor([0.0, 0, 3, 0]), x)[0][4].item() > 0.9
assert the_output_is_both
assert a_question_for_one_gets_one
print("weights:", {name: round(weight, 2) for name, weight in zip(names, weights.tolist(), strict=True)})
print("output: ", {feature: round(value, 2) for feature, value in zip(features, out.tolist(), strict=True)})

# %% [markdown]
# One vector now speaks of the cat *and* of the house: in that sense it is richer than **each** of its inputs. (Not with
# every question: *where is the cat?* gets little but the cat.) Is it richer than **all** of them together? **Predict:**
# can you think of another picture with just the same output?

# %%
other = x.clone()
other[3] = other[4] = (x[3] + x[4]) / 2  # two creatures, half house and half cat
give_one_and_the_same_output = torch.allclose(ask(who, other)[1], out)
assert give_one_and_the_same_output
print("house and cat:", x[3:].tolist(), " instead:", other[3:].tolist())
print("output:", [round(value, 2) for value in ask(who, other)[1].tolist()], "both times")

# %% [markdown]
# **Verdict: it can be richer than each, and never than all.** A mixture joins what stood in different places. It does
# not say any more which part came from where, so it never holds more than its inputs do together.

# %% [markdown] name="who-decides"
# ## Who decides which features matter?
#
# Four people look at the same picture, each with a question. x stays as it is. **Predict:** where does each of them
# look?

# %%
questions = {"How is the weather?": [2.0, 1, 0, 0], "Is there water?": [0, 3, 0, 0],
             "Where is the cat?": [0, 0, 3, 0], "Is anyone at home?": [0, 0, 0, 2]}
queries = torch.tensor(list(questions.values()))  # (M, D) = (4, 4)
looks = torch.stack([ask(query, x)[0] for query in queries])  # (M, N)
every_question_looks_elsewhere = len(set(looks.argmax(dim=1).tolist())) == 4
assert every_question_looks_elsewhere
figure, axis = plt.subplots(figsize=(4.6, 3.4))
plots.heat_map(axis, looks, list(questions), names, title="weights", kind="weight")
axis.set(xlabel="region", ylabel="query")
plots.show(figure, "Weights of four questions over five regions. The weather: sky 0.94. Water: river 0.91. The cat: "
                   "cat 0.95. Anyone at home: house 0.99. Each question has its largest weight in another region.")

# %% [markdown]
# The features did not change, and yet each time another one mattered. But the query is not alone in deciding.
# Fog comes up: the *light* of the sky falls from 3 to 0, and no other number changes.
# **Predict:** where does *how is the weather?* look now?

# %%
fog = x.clone()
fog[0, 0] = 0
clear_weights, fog_weights = ask(query, x)[0], ask(query, fog)[0]
river = names.index("river")
the_row_of_the_river_is_the_same = torch.equal(fog[river], x[river])
but_now_it_counts_most = fog_weights.argmax().item() == river and clear_weights[river].item() < 0.1
by_size, by_size_in_fog = (torch.softmax(table[:, 0], dim=0)[river].item() for table in (x, fog))  # β = 1
pooling_weighs_it_anew_as_well = by_size_in_fog > 3 * by_size
assert the_row_of_the_river_is_the_same
assert but_now_it_counts_most
assert pooling_weighs_it_anew_as_well
print(f"weight of the river: {clear_weights[river]:.2f} on a clear day, {fog_weights[river]:.2f} in fog")

# %% [markdown]
# The river's own row is the same, and what it counts for has changed, because something *else* has: the weights are
# **content-aware**. Those of softened max-pooling changed as well, as the last claim shows. What the query adds is that
# they depend on what is wanted, too. Multiplied by them, the features become content-aware.
#
# | attention | who decides what matters |
# |---|---|
# | mean | nobody |
# | max-pooling | the numbers of a channel, by their size beside each other |
# | TF-IDF | the collection of texts |
# | with a query | whoever asks, and what there is to choose from |

# %% [markdown] name="static-or-context"
# ## The same word, another meaning
#
# Words need this even more than regions do. A table of word vectors has **one** row for *date*. It is *static*: it is
# the same for the fruit and for the day. *see* is done with the eyes or with the mind. And *it* means nothing by
# itself.
#
# Here are all three, each in two sentences, with two features per word. For every sentence, **you** are the attention:
# which other word tells what is meant? Compare with the third column.

# %%
cat, house = x[4, 2:].tolist(), x[3, 2:].tolist()  # (alive, built), as in the picture
static = {"date": [1.0, 1], "see": [1.0, 1], "it": [0.0, 0]}  # one row per word, whatever the sentence
senses = {"date": ["fruit", "calendar"], "see": ["eyes", "mind"], "it": ["alive", "built"]}
sentences = [("date", "The date was sweet.", "sweet", [2.0, 0]),
             ("date", "The date of the meeting was moved.", "meeting", [0.0, 2]),
             ("see", "I see a bird.", "bird", [2.0, 0]),
             ("see", "I see your point.", "point", [0.0, 2]),
             ("it", "The cat left the house because it was hungry.", "cat", cat),
             ("it", "The cat left the house because it was burning.", "house", house)]
[(word, sentence, tells) for word, sentence, tells, _ in sentences]

# %% [markdown]
# Now give half of the weight to the word itself and half to the word that tells.
# **Predict:** where do the two *dates* end up?

# %%
half = torch.tensor([0.5, 0.5])
in_context = torch.stack([weighted_sum(half, torch.tensor([static[word], vector_of_the_helper]))
                          for word, _, _, vector_of_the_helper in sentences])  # (6, 2)
from_the_table = torch.tensor([static[word] for word, *_ in sentences])  # (6, 2)
static_vectors_cannot_tell = torch.equal(from_the_table[0::2], from_the_table[1::2])
context_pulls_them_apart = bool(((in_context[0::2] - in_context[1::2]).norm(dim=1) > 1).all())
assert static_vectors_cannot_tell
assert context_pulls_them_apart
for (word, sentence, *_), v in zip(sentences, in_context.tolist(), strict=True):
    print(f"{word:5}{static[word]} -> {v}  {sentence}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for i, (axis, word) in enumerate(zip(axes, static, strict=True)):
    start = static[word]
    axis.plot(*start, "o", color="#c05621", markersize=9)
    axis.annotate(f"{word}: static", start, (8, 8), textcoords="offset points")
    for (_, _, tells, _), end in zip(sentences[2 * i : 2 * i + 2], in_context[2 * i : 2 * i + 2].tolist(), strict=True):
        axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "lw": 2})
        axis.annotate(f"with “{tells}”", end, (0, 6 if end[1] > end[0] else -14), textcoords="offset points",
                      ha="center")
    axis.set(xlabel=senses[word][0], ylabel=senses[word][1], xlim=(-0.9, 2.3), ylim=(-0.5, 2.1), title=word)
plots.show(figure, "Three planes, one per word. Each has one static point and two arrows from it. Date goes towards "
                   "fruit with 'sweet' and towards calendar with 'meeting'. See goes to eyes with 'bird' and to mind "
                   "with 'point'. It starts at zero and goes to alive with 'cat', to built with 'house'.")

# %% [markdown]
# One static vector, two vectors in context. The word has become a mixture of itself and its company: a
# **context-aware** vector.
#
# But here the weights came from you, because you understood the sentence. For *date* a program might notice that
# "sweet" shares a feature with it. For *it* there is nothing to share. And who is there to ask? In the picture somebody
# wanted to know about the weather. In a sentence nobody stands outside.

# %% [markdown]
# ## Summary
#
# - Attention, here: scores, weights, a weighted sum. Kinds differ in where the scores come from.
# - Max-pooling is all or nothing, channel by channel: a softmax of β · x as β goes to infinity. With one set of weights
#   for whole inputs it cannot be done, unless one input wins in every channel.
# - TF-IDF is continuous, and the collection decides. Neither of the two hears a question.
# - With a query, whoever asks decides, together with what is there.
# - The output can be richer than each input, never richer than all of them together.
# - A static vector is the same in every sentence. A weighted sum over the sentence makes it context-aware.
#
# **Think about it.** A mixture cannot tell who gave what. You read an output that is *alive* and *built*, and want to
# know whether it comes from a cat and a house, or from creatures that are half of each. What would you keep besides the
# mixture? What would that cost for a text of a thousand words?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2, says in its first
# lines what attention is: a query, a weighted sum, and weights that come from comparing. Max-pooling and
# TF-IDF as simple forms of attention: Chollet, *Deep Learning with Python*, second edition (2021), section 11.4.
#
# **Next.** Let every word of a sentence be a query itself, and ask all the others. Lesson 02 does that with nothing
# trained.
