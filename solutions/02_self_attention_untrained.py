# %% [markdown]
# # 02 · Self-attention with nothing trained
#
# *45 minutes · needs lesson 01 · one exercise*
#
# **At the end you can**
#
# - let every word of a sentence take in the words it resembles, first on paper, then in three lines;
# - say why the score is a dot product, and what a cosine would change;
# - predict what order, distance and length do to the result, and what happens if you never stop.

# %%
import math
from itertools import permutations

import matplotlib.pyplot as plt
import torch

from course_lib import check
from course_lib.display import plots

torch.set_num_threads(1)

# %% [markdown] name="worked-example"
# ## A word and its company
#
# *The train left the station on time.*
#
# A railway station or a radio station? You did not hesitate: there is a **train** in the sentence. Can a formula that
# has never been trained on anything do the same?
#
# First, words need numbers. We invent them: four features, and for each word how much of each it has.
# "the" says nothing about any of them, so it gets zeros. "station" may be either: as much *rail* as *radio*.

# %%
features = ["rail", "radio", "motion", "time"]
vector = {"the": [0.0, 0, 0, 0], "train": [2.0, 0, 1, 0], "left": [0.0, 0, 2, 0],
          "station": [1.0, 1, 0, 0], "on": [0.0, 0, 0, 1], "time": [0.0, 0, 0, 2]}
words = "The train left the station on time".split()
x = torch.tensor([vector[word.lower()] for word in words])  # (T, D) = (7, 4)
train, left, station = x[1], x[2], x[4]  # (D,) each
figure, axes = plt.subplots(figsize=(3, 3.6))
plots.heat_map(axes, x, words, features, title="x, as we made it")
axes.set(xlabel="feature", ylabel="word")
plots.show(figure, "Seven words, four features each. Train: rail 2, motion 1. Left: motion 2. Station: rail 1, radio "
                   "1. On: time 1. Time: time 2. Both words 'the': all zero.")

# %% [markdown]
# ### One score
#
# How much does "train" matter to "station"? Go through the features: multiply the two numbers, add up the products.
# What both words have counts much. What one of them lacks counts nothing.
#
# **Before you run the cell**, work it out on paper.

# %%
by_hand = 1 * 2 + 1 * 0 + 0 * 1 + 0 * 0
the_score_is_two = by_hand == (station @ train).item() == 2
assert the_score_is_two
by_hand

# %% [markdown]
# ### All scores of "station"
#
# This sum of products is the **dot product**. "station" asks all seven words, itself included.
# **Predict:** which words get the highest score?

# %%
def named(values):
    """Each word with its number, to two digits."""
    return {word: round(value, 2) for word, value in zip(words, values.tolist(), strict=True)}


scores = x @ station  # (T,)
train_scores_as_high_as_station_itself = scores[1] == scores[4] == scores.max()
assert train_scores_as_high_as_station_itself
named(scores)

# %% [markdown]
# ### From scores to weights
#
# Weights have to be positive, and their sum has to be one. Softmax does both: take the exponential of every score,
# then divide by the sum. On paper two numbers are enough: $e^0 = 1$ and $e^2 \approx 7.4$.

# %%
exponentials = torch.exp(scores)  # (T,)
weights = exponentials / exponentials.sum()  # (T,)
that_is_the_softmax = torch.allclose(weights, torch.softmax(scores, dim=0))
assert that_is_the_softmax
print("exponentials:", named(exponentials), " sum:", round(exponentials.sum().item(), 1))
print("weights:     ", named(weights))

# %% [markdown]
# ### A new vector for "station"
#
# Every word gives as much of its vector as its weight says. The sum is the new "station".
#
# **Predict:** *rail* and *radio* stand at 1 : 1 in the old one. And in the new one?

# %%
new_station = weights @ x  # (D,)
rail_on_paper = 2 * 7.4 / 19.8 + 1 * 7.4 / 19.8  # from "train" and from "station"; all others have no rail
radio_on_paper = 1 * 7.4 / 19.8  # from "station" alone
paper_agrees = torch.allclose(new_station[:2], torch.tensor([rail_on_paper, radio_on_paper]), atol=0.01)
it_is_three_to_one = abs(new_station[0] / new_station[1] - 3).item() < 1e-5
assert paper_agrees
assert it_is_three_to_one
{feature: round(value, 2) for feature, value in zip(features, new_station.tolist(), strict=True)}

# %% [markdown]
# Three to one for the railway. Does the vector now point more towards "train"? The cosine of the angle between them
# tells: 1 is the same direction, 0 a right angle. To draw the angle as it is, split each vector in two: the part along
# "train", and what is left, at a right angle to it.

# %%
before, after = torch.cosine_similarity(torch.stack([station, new_station]), train).tolist()
station_leans_to_train = after > before + 0.2
assert station_leans_to_train
figure, axis = plt.subplots(figsize=(4.4, 2.8))
for name, v in {"train": train, "station, before": station, "station, after": new_station}.items():
    along = v @ train / train.norm()
    tip = along.item(), (v - along * train / train.norm()).norm().item()
    axis.annotate("", xy=tip, xytext=(0, 0), arrowprops={"arrowstyle": "->", "lw": 2, "shrinkA": 0, "shrinkB": 0})
    axis.text(tip[0], tip[1] + 0.05, name, ha="right" if name == "train" else "left")
axis.set(xlim=(0, 2.4), ylim=(-0.1, 1.3), aspect="equal", xlabel="part along train", ylabel="what is left")
plots.show(figure, "Three arrows from zero; to the right the part along train, upwards what is left. Train lies on the "
                   "axis, 2.24 long. Station, before, rises steeply: 0.89 to the right, 1.10 up. Station, after, has "
                   "turned towards train: 1.21 to the right, 0.41 up.")
print(f"cosine with train: {before:.2f} before, {after:.2f} after")

# %% [markdown]
# Is it the formula that likes railways? Put a *song* in the place of the train, with *radio* 2. "station" keeps its old
# vector. **Predict** its new one.

# %%
song = x.clone()
song[1] = torch.tensor([0.0, 2, 0, 0])  # The song left the station on time
on_the_air = torch.softmax(song @ station, dim=0) @ song  # (D,)
now_it_is_one_to_three = abs(on_the_air[1] / on_the_air[0] - 3).item() < 1e-5
assert now_it_is_one_to_three
{feature: round(value, 2) for feature, value in zip(features, on_the_air.tolist(), strict=True)}

# %% [markdown]
# The company decides. That a train has to do with rails, and a song with the radio, we wrote into the numbers; the
# formula brought it to "station".

# %% [markdown] name="every-word"
# ## Now every word asks
#
# "station" is not special. Let each word ask in turn, and the sentence turns into a **new sequence**: as many vectors
# as before, each one now with some of its company in it.

# %%
all_weights = torch.stack([torch.softmax(x @ word, dim=0) for word in x])  # (T, T)
new_vectors = torch.stack([weights @ x for weights in all_weights])  # (T, D)
print("x:", tuple(x.shape), " weights:", tuple(all_weights.shape), " new sequence:", tuple(new_vectors.shape))

# %% [markdown]
# All weights in one picture: each **row** is one word that asks, and sums to one.
# **Predict:** "station" gives "train" a weight of 0.37. How much does "train" give back?

# %%
figure, axes = plt.subplots(figsize=(4.6, 4.4))
plots.heat_map(axes, all_weights, words, words, title="weights", kind="weight")
axes.set(xlabel="is asked", ylabel="asks")
plots.show(figure, "Weights, 7 by 7. Train, left and time give themselves 0.8 to 0.9. Station gives 0.37 to train and "
                   "0.37 to itself, on gives 0.49 to time and 0.18 to itself. Both words 'the' give each word 0.14.")

# %%
scores = x @ x.T  # (T, T)
every_row_sums_to_one = torch.allclose(all_weights.sum(dim=1), torch.ones(7))
the_scores_are_mutual = torch.equal(scores, scores.T)
the_weights_are_not = (all_weights[4, 1] > 5 * all_weights[1, 4]).item()
assert every_row_sums_to_one
assert the_scores_are_mutual
assert the_weights_are_not
print(f"station to train: score {scores[4, 1]:.0f}, weight {all_weights[4, 1]:.2f}")
print(f"train to station: score {scores[1, 4]:.0f}, weight {all_weights[1, 4]:.2f}")

# %% [markdown]
# The **score** is the same both ways; the weight is not. Weights are shares of one row, and "train" has a much
# higher score for itself.

# %% [markdown] name="formula"
# ## The same in symbols
#
# Call the vectors $v_1, \dots, v_T$. The word $q$ asks, the word $k$ is asked. First a score, then a weight, normalised
# over all words $j$, then the new vector:
#
# $$
# s_{qk} = v_q \cdot v_k
# \qquad
# w_{qk} = \frac{\exp(s_{qk})}{\sum_j \exp(s_{qj})}
# \qquad
# y_q = \sum_k w_{qk}\, v_k
# $$
#
# So the first word becomes $y_1 = \sum_k w_{1k}\, v_k$.
#
# | part | self-attention, nothing trained |
# |---|---|
# | **inputs** | x (T, D) |
# | **similarity** | x · x, every word with every word |
# | **outputs** | scores (T, T), weights (T, T), new sequence (T, D) |
#
# The weight could be simpler: divide each score by the sum of the scores. **Predict:** for which word of our
# sentence would that fail?

# %%
shares = scores / scores.sum(dim=1, keepdim=True)  # (T, T), without the exponential
fails_for = [word for word, row in zip(words, shares, strict=True) if row.isnan().any()]
plain_shares_fail_for_the = fails_for == ["The", "the"]
assert plain_shares_fail_for_the
fails_for

# %% [markdown]
# "the" has seven scores of zero, and zero divided by zero is not a number. Softmax is safe: the exponential of zero is
# one, and "the" gives all seven words the same weight.

# %% [markdown]
# ### Exercise: `reweight`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Write the formula for a whole sentence at once, without a loop. The docstring is the whole contract.
# Try it wrong on purpose, too: leave out the softmax, or let it run down the columns, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# `x @ word` gives the scores of one word. What has to stand in the place of `word` so that all words ask at once?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a table of scores: one row for each word that asks, one column for each word that is asked
# 2. a softmax along each row; check that the rows sum to one
# 3. for each row, the sum of all vectors, each times its weight: that is again one matrix product
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import reweight

# %%
attend = check(reweight).verified

# %% [markdown]
# From here on `attend` is your own function as soon as the card says *right*. Compare it with the loop, and look at
# the new sequence. **Predict:** which word does "on" look at most, and what becomes of its *time*, which was 1?

# %%
y = attend(x)  # (T, D)
one_call_does_what_the_loop_did = torch.allclose(y, new_vectors, atol=1e-6)
on_has_gained_time = (y[5, 3] > x[5, 3] + 0.1).item()
the_has_become_the_average = torch.allclose(y[0], x.mean(dim=0))
assert one_call_does_what_the_loop_did
assert on_has_gained_time
assert the_has_become_the_average
figure, axes = plt.subplots(figsize=(3, 3.6))
plots.heat_map(axes, y, words, features, title="y = attend(x)")
axes.set(xlabel="feature", ylabel="word")
plots.show(figure, "The new sequence. Both words 'the' hold 0.43 of rail, motion and time, and 0.14 of radio. Station: "
                   "rail 1.12, radio 0.37, motion 0.47, time 0.15. On: rail 0.20, radio 0.07, motion 0.20, time 1.16. "
                   "Train, left and time have changed less.")

# %% [markdown]
# "station" looked towards "train", "on" looked towards "time", and "the", which resembles nothing, took the plain
# average of the sentence.

# %% [markdown] name="cosine-or-dot"
# ## Why not the cosine?
#
# The cosine is the dot product divided by the lengths of both vectors, and always between −1 and 1. What does it cost?
# **Guess** how much more, then let the cell count every operation.

# %%
def dot(a, b):
    total, operations = 0, 0
    for one, other in zip(a, b, strict=True):
        total, operations = total + one * other, operations + 2  # a multiplication and an addition
    return total, operations


def cosine(a, b):
    (ab, n), (aa, m), (bb, k) = dot(a, b), dot(a, a), dot(b, b)
    return ab / (math.sqrt(aa) * math.sqrt(bb)), n + m + k + 4  # two roots, a multiplication, a division


pair = vector["station"], vector["train"]
(score, of_dot), (likeness, of_cosine) = dot(*pair), cosine(*pair)
a_cosine_costs_three_times_as_much = of_cosine > 3 * of_dot
assert a_cosine_costs_three_times_as_much
print(f"dot product {score:.0f}: {of_dot} operations. Cosine {likeness:.2f}: {of_cosine} operations.")

# %% [markdown]
# For one pair, three times the work. But a sentence has $T^2$ pairs and only $T$ lengths: bring every vector to length
# one *first*, which takes 3D + 1 operations per word, and dot products do the rest.
# **Predict:** how much more expensive is the cosine then, for 1,000 words of width 64?

# %%
def extra_for_the_cosine(T, D):
    return T * (3 * D + 1) / (T * T * 2 * D)  # lengths once per word, dot products for every pair


short, long = extra_for_the_cosine(7, 4), extra_for_the_cosine(1000, 64)
in_a_short_sentence_lengths_cost_a_fifth = 0.2 < short < 0.25
in_a_long_text_they_cost_next_to_nothing = long < 0.002
assert in_a_short_sentence_lengths_cost_a_fifth
assert in_a_long_text_they_cost_next_to_nothing
print(f"7 words of width 4: {short:.0%} more; 1,000 words of width 64: {long:.2%} more")

# %% [markdown]
# So "the dot product is cheaper" hardly matters for a long text. What does matter: it does **something else**. Let
# somebody shout: "LEFT" is "left", times four. "train" shares *motion* with
# "left". **Predict:** which score of "train" grows with the shout, the dot product, the cosine or both?

# %%
shout = torch.stack([station, left, 4 * left])  # (3, D)
dots = (shout @ train).tolist()
cosines = torch.cosine_similarity(shout, train).tolist()
the_dot_product_prefers_the_shout = dots[2] == 4 * dots[1] > dots[0]
the_cosine_does_not_hear_it = abs(cosines[2] - cosines[1]) < 1e-6 and cosines[2] < cosines[0]
assert the_dot_product_prefers_the_shout
assert the_cosine_does_not_hear_it
for name, d, c in zip(["station", "left", "LEFT"], dots, cosines, strict=True):
    print(f"{name:8} dot product {d:.0f}   cosine {c:.2f}")

# %% [markdown]
# A dot product lets a vector raise its voice by its length, if the product is positive. A cosine hears the direction
# alone. And "the", whose length is zero?

# %%
try:
    cosine(vector["the"], vector["train"])
    the_cosine_of_a_zero_vector_fails = False
except ZeroDivisionError:
    the_cosine_of_a_zero_vector_fails = True
assert the_cosine_of_a_zero_vector_fails
print("cosine of 'the' and 'train': division by zero. Dot product:", dot(vector["the"], vector["train"])[0])

# %% [markdown]
# A zero vector does the dot product no harm. If the vectors themselves are to decide how loud they are, it is the right
# score. We keep it. Now for four properties of `attend`; each is a prediction first.

# %% [markdown] name="nothing-trained"
# ## Property 1: hidden numbers
#
# A function can hide learned numbers, as a matrix that the vectors are multiplied with. Such a matrix treats some
# directions otherwise than others. So turn all seven vectors by a random matrix that keeps lengths and angles, and turn
# the result back. **Predict:** what has changed, for `attend`, for a rival with a matrix in its scores, and for one
# with a factor?

# %%
generator = torch.Generator().manual_seed(0)
matrix = torch.randn(4, 4, generator=generator)
turns = torch.linalg.qr(torch.randn(20, 4, 4, generator=generator)).Q  # they keep lengths and angles, and may mirror
turns[:10, :, 0] *= turns[:10].det().sign()[:, None]  # ten do not mirror: rotations, with determinant 1
rivals = {"attend": attend, "with a matrix": lambda x: torch.softmax(x @ matrix @ x.T, dim=1) @ x,
          "with a factor": lambda x: torch.softmax(3 * x @ x.T, dim=1) @ x}
changes = {name: [(f(x @ Q) @ Q.T - f(x)).abs().max().item() for Q in turns] for name, f in rivals.items()}
no_direction_is_special = max(changes["attend"]) < 1e-5
a_hidden_matrix_would_show = min(changes["with a matrix"]) > 0.1
a_hidden_factor_would_not = max(changes["with a factor"]) < 1e-5
assert no_direction_is_special
assert a_hidden_matrix_would_show
assert a_hidden_factor_would_not
{name: [round(change, 2) for change in each[:3]] for name, each in changes.items()}

# %% [markdown]
# No such matrix is in it. A factor would stay unseen; but `attend` does what the loop did, and that had none. So
# everything hangs on x. Take the *rail* out of "station": it goes from 1 to 0, and no
# other number changes. **Predict:** how many of the seven new vectors change?

# %%
no_rail = x.clone()
no_rail[4, 0] = 0
moved = (attend(no_rail) - y).norm(dim=1)  # (T,)
one_number_reaches_every_word = bool((moved > 0.005).all())
assert one_number_reaches_every_word
named(moved)

# %% [markdown] name="order"
# ## Property 2: order
#
# *The station left the train on time.* The same seven words, and something quite different has happened.
# **Predict:** how does the new vector of "station" differ from before?

# %%
swapped = [0, 4, 2, 3, 1, 5, 6]
y_swapped = attend(x[swapped])  # "station" is now word 1
station_cannot_tell = torch.allclose(y_swapped[1], y[4], atol=1e-6)
assert station_cannot_tell
print(" ".join(words[i] for i in swapped).capitalize())
print("station:", [round(v, 2) for v in y_swapped[1].tolist()], " before:", [round(v, 2) for v in y[4].tolist()])

# %% [markdown]
# It does not differ. Is this pair an exception? Seven words have 5,040 orders. Try all of them: are the outputs
# permuted as the inputs were, and otherwise unchanged?

# %%
orders = [list(order) for order in permutations(range(7))]
permuted_inputs_give_permuted_outputs = all(torch.allclose(attend(x[o]), y[o], atol=1e-6) for o in orders)
assert permuted_inputs_give_permuted_outputs
print(f"{len(orders):,} orders tried, and in all of them: {permuted_inputs_give_permuted_outputs}")

# %% [markdown]
# This is called **permutation equivariance**. For this formula a sentence is a bag of words: who left whom
# is lost. Later, a Transformer will need extra help to know about order (lesson 09).

# %% [markdown] name="distance"
# ## Property 3: distance
#
# Take "train", "station" and ninety-nine times "the". First the two words are neighbours, then they
# drift apart until 99 words stand between them. Only "train" has any *motion*, namely 1, so the motion in the
# new "station" **is** its weight for "train".
#
# **Predict:** how does this weight change as the distance grows?

# %%
the = torch.zeros(99, 4)
weight_at = {}
for distance in (1, 2, 10, 50, 100):
    text = torch.cat([train[None], the[: distance - 1], station[None], the[distance - 1 :]])  # (101, D)
    weight_at[distance] = attend(text)[distance, 2].item()
distance_has_no_influence = max(weight_at.values()) - min(weight_at.values()) < 1e-6
assert distance_has_no_influence
{distance: round(weight, 3) for distance, weight in weight_at.items()}

# %% [markdown]
# It does not fall. A word a hundred places away is as near as a neighbour. But the weight is far below the 0.37 at
# the beginning. If distance is not the reason, what is? **Predict:** what if we change the *number* of "the"?

# %%
weight_among = {}
for others in (0, 10, 100, 300):
    text = torch.cat([train[None], station[None], torch.zeros(others, 4)])
    weight_among[others] = attend(text)[1, 2].item()
alone_they_share_evenly = abs(weight_among[0] - 0.5) < 1e-6
a_crowd_takes_its_share = weight_among[300] < 0.03
assert alone_they_share_evenly
assert a_crowd_takes_its_share
{others: round(weight, 3) for others, weight in weight_among.items()}

# %% [markdown]
# A score of zero is not a weight of zero: each "the" gets e⁰ = 1 before normalising. What counts is
# **how many** others there are, and what they score, not **where** they stand.

# %% [markdown] name="any-length"
# ## Property 4: length and width
#
# Nothing in the formula says 7 or 4. **Predict:** what becomes of a sentence of a single word?

# %%
sizes = [(1, 4), (2, 4), (7, 4), (100, 3), (5, 300)]
tables = [torch.randn(size, generator=generator) for size in sizes]
any_shape_comes_back_as_it_was = all(attend(table).shape == table.shape for table in tables)
a_single_word_stays_what_it_is = torch.equal(attend(station[None])[0], station)
assert any_shape_comes_back_as_it_was
assert a_single_word_stays_what_it_is
[tuple(attend(table).shape) for table in tables]

# %% [markdown]
# It stays what it is: nobody else is there. The last shape in the list is right, too. But the numbers?
# **Predict:** five random words of width 300. How much of its vector does each take from the four others?

# %%
wide = tables[-1]  # (T, D) = (5, 300)
table_of_scores = wide @ wide.T  # (T, T)
in_wide_vectors_nobody_looks_around = torch.equal(attend(wide), wide)
assert in_wide_vectors_nobody_looks_around
print("scores of the first word:", [round(score) for score in table_of_scores[0].tolist()])

# %% [markdown]
# Nothing at all: y is x, to the last digit. The sum of 300 products makes a word's score for itself so large that the
# softmax leaves the others nothing. Is it the width, then, or the length of the vectors, about $\sqrt{300}$ or 17?
# **Predict:** will the others get something at width 300 and length 2? And at width 4, length $\sqrt{300}$ and right
# angles?

# %%
def for_others(vectors, scale=1.0):
    """The largest weight that a word gives to all others together."""
    return (1 - torch.softmax(scale * vectors.double() @ vectors.double().T, dim=1).diagonal()).max().item()


short_and_wide = for_others(2 * wide / wide.norm(dim=1, keepdim=True))
long_and_narrow = for_others(300**0.5 * torch.eye(4))
divided_by_the_root = for_others(wide, 300**-0.5)
it_is_the_length = short_and_wide > 0.03 and long_and_narrow < 1e-6
the_root_of_the_width_is_not_enough = divided_by_the_root < 1e-4
assert it_is_the_length
assert the_root_of_the_width_is_not_enough
print(f"{short_and_wide:.2f}, {long_and_narrow:.2f}, divided by √300: {divided_by_the_root:.6f}")

# %% [markdown]
# It is the length: a word's score for itself is its length squared. Lesson 04 divides scores by the root of the width.
# Here, where a word asks with the vector it is asked by, that is not enough; lesson 05 makes two vectors of it.

# %% [markdown] name="context-added"
# ## What has been added?
#
# It looks as if each word kept its own vector and some context came on top. Then y − x would be that context.
# **Predict:** no number in x is negative. Can a number in y − x be? Look at "station".

# %%
gained = y - x  # (T, D)
station_has_lost_radio = gained[4, 1].item() < -0.6
assert station_has_lost_radio
{feature: round(value, 2) for feature, value in zip(features, gained[4].tolist(), strict=True)}

# %% [markdown]
# "station" has lost almost two thirds of its *radio*. Split y in two: what a word gave itself, and what others gave.

# %%
own_weight = all_weights.diagonal()  # (T,)
from_itself = own_weight[:, None] * x  # (T, D)
from_others = (all_weights - torch.diag(own_weight)) @ x  # (T, D)
y_is_the_sum_of_both_parts = torch.allclose(y, from_itself + from_others, atol=1e-6)
station_keeps_little_more_than_a_third_of_itself = abs(own_weight[4].item() - 0.37) < 0.01
assert y_is_the_sum_of_both_parts
assert station_keeps_little_more_than_a_third_of_itself
named(own_weight)

# %% [markdown]
# Context *is* added, and at the same time the word itself is turned down, to its own weight.

# %% [markdown] name="again-and-again"
# ## Again, and again
#
# One round brought "station" closer to "train". If context is good, is more context better? Feed the result back in.
# **Predict:** what do the seven vectors look like after ten rounds?

# %%
def rounds(start, times):
    """All vectors after 0, 1, ... times rounds."""
    history = [start]
    for _ in range(times):
        history.append(attend(history[-1]))
    return torch.stack(history)  # (times + 1, T, D)


def spread(vectors):
    """The largest distance between two words, in every round."""
    return (vectors[..., :, None, :] - vectors[..., None, :, :]).norm(dim=-1).amax(dim=(-2, -1))


ten_rounds = rounds(x, 10)
after_five_rounds_all_words_are_one = spread(ten_rounds)[5].item() < 1e-5
assert after_five_rounds_all_words_are_one
print("spread:", [round(s, 2) for s in spread(ten_rounds).tolist()])

# %% [markdown]
# After five rounds, seven copies of one vector. The reason is in the formula: each new vector is a weighted
# average, and on paper no weight is zero, so the outermost words are pulled inwards in every round.

# %% [markdown]
# Now make all vectors half as long again, in the same directions. **Predict:** faster, slower, or the same?

# %%
def groups(vectors):
    """Words that lie (almost) in the same place, group by group."""
    found = []
    for word, v in zip(words, vectors, strict=True):
        home = [group for group in found if (group[0][1] - v).norm() < 0.1]
        home[0].append((word, v)) if home else found.append([(word, v)])
    return [" ".join(word for word, _ in group) for group in found]


longer = rounds(1.5 * x, 100)
stops = {times: groups(longer[times]) for times in (0, 5, 30, 100)}
first_the_groups_make_sense = stops[5] == ["The train the station", "left", "on time"]
then_two_then_one = [len(stops[times]) for times in (30, 100)] == [2, 1]
assert first_the_groups_make_sense
assert then_two_then_one
stops

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for axis, history, title in zip(axes, [ten_rounds, longer], ["x", "1.5 x"], strict=True):
    for i in range(1, 7):  # word 0, "The", goes the same way as word 3
        axis.plot(history[:, i, 2], label=words[i], linestyle=["-", "--", ":"][i % 3], linewidth=2)
    axis.set(title=f"starting from {title}", xlabel="round", ylabel="motion")
axes[1].set_xscale("symlog")
axes[1].set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
axes[1].legend(fontsize=8)
plots.show(figure, "The motion of each word, round by round. From x, all lines meet at 0.75 by round 5. From 1.5 x, "
                   "there are three bundles in rounds 4 and 5: left, then train with station and the, then on with "
                   "time. The first two meet by round 7, and the last joins between rounds 50 and 100.")

# %% [markdown]
# For a while there are groups: *on time* here, *train* and *station* there. In the end all flow together. Why later
# than before? Vectors 1.5 times as long have scores $1.5^2$ times as large, and so sharper weights. Test it: leave the
# vectors as they are, and multiply only the scores.

# %%
sharper = [x]
for _ in range(100):
    sharper.append(torch.softmax(1.5**2 * sharper[-1] @ sharper[-1].T, dim=-1) @ sharper[-1])
sharper_scores_alone_delay_it_as_much = torch.allclose(1.5 * torch.stack(sharper), longer, atol=1e-3)
assert sharper_scores_alone_delay_it_as_much
[len(groups(1.5 * sharper[times])) for times in stops]

# %% [markdown]
# The same, round for round. Is longer *always* slower? Take two words of one number each, 1 and 2. **Predict:** which
# share of their distance is left after one round, for each factor?

# %%
left_of_it = {f: spread(rounds(f * torch.tensor([[1.0], [2.0]]), 1))[1].item() / f for f in (1, 1.5, 2.5)}
here_longer_is_faster = left_of_it[1] > 1.5 * left_of_it[1.5] > 1.5 * left_of_it[2.5]
assert here_longer_is_faster
{factor: round(share, 3) for factor, share in left_of_it.items()}

# %% [markdown]
# Here longer is faster: both words look at the 2, and sharper weights bring them there sooner.
#
# Back to the sentence. **Predict:** two and a half times as long. How many groups are left after 1,000 rounds, and
# after 2,000?

# %%
longest = rounds(2.5 * x, 2000)  # (2001, T, D)
left_after = {times: len(groups(longest[times])) for times in (1000, 2000)}
moves = (longest[1001] - longest[1000]).norm(dim=1).max().item()  # in one round, the word that moves most
three_groups_for_a_thousand_rounds_then_two = left_after == {1000: 3, 2000: 2}
they_look_still_and_are_not = 0 < moves < 1e-3
assert three_groups_for_a_thousand_rounds_then_two
assert they_look_still_and_are_not
print(left_after, f"from round 1,000 to 1,001 no word moves by more than {moves:.4f}")

# %% [markdown]
# What looks like a stop is a slow approach: every round pulls the groups together a little. (Unless weights are rounded
# to zero: the five wide words of property 4 never move.)

# %% [markdown] name="open-question"
# ## The open question
#
# **When does it stop?** Left alone, on paper, when words have become copies of each other. One round adds context, many
# wash the words out, and nothing in the formula says how many are right.
#
# **Where do the vectors come from?** We made them up, and all that you have seen hangs on them. Could they be found
# instead? Ask for something about the new "station" only, and see at which words a gradient arrives.

# %%
wanted = x.clone().requires_grad_()
attend(wanted)[4].sum().backward()  # something about the new "station"
arrives = wanted.grad.norm(dim=1)  # (T,)
a_gradient_reaches_all_vectors = bool((arrives > 0).all())
assert a_gradient_reaches_all_vectors
named(arrives)

# %% [markdown]
# At all of them. Nothing in `attend` can be trained, but the vectors that go in can.

# %% [markdown]
# ## Summary
#
# - Score every word with every word, softmax along each row, mix: a new sequence of the same shape.
# - A dot product is cheap for a pair and lets length speak. A cosine hears the direction alone.
# - Nothing is trained; order and distance have no influence; any length will do. How many words there are does count,
#   and so does how long their vectors are.
# - Context comes in, and the word itself is turned down to its own weight.
# - Repeated, the mixing turns different words into copies. Sharper weights delay it where words form groups, and hasten
#   it where all look at one word.
#
# **Think about it.** *The dog bit the man* and *The man bit the dog* give the same new vectors. Name two ways to make
# them differ. Does your way still work for a sentence longer than any you thought of?
#
# **In the paper.** In equation 1 of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), put x in the place of Q, K
# and V and leave out the $\sqrt{d}$: that is this lesson, the simplest case. Section 3.5 there adds positions, because
# without them order has no influence. [Dong and colleagues 2021](https://arxiv.org/abs/2103.03404) study how attention
# alone, layer upon layer, makes all words alike, and what prevents it.
#
# **Next.** Before attention, a translating network had to press a whole sentence into one vector. Lesson 03 shows
# where that breaks, and mends it by attention whose scores come from a small *trained* network: version 0.
