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
import inspect
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
# A radio station? A space station? You did not hesitate: there is a **train** in the sentence. Can a formula that
# has never been trained on anything do the same?
#
# First, words need numbers. We invent them: four features, and for each word how much of each it has.
# "the" says nothing about any of them, so it gets zeros. "on" may be about a place or about a time: it gets both.

# %%
features = ["rail", "place", "motion", "time"]
vector = {"the": [0.0, 0, 0, 0], "train": [2.0, 0, 1, 0], "left": [0.0, 1, 2, 0],
          "station": [1.0, 1, 0, 0], "on": [0.0, 1, 0, 1], "time": [0.0, 0, 0, 2]}
words = "The train left the station on time".split()
x = torch.tensor([vector[word.lower()] for word in words])  # (T, D) = (7, 4)
train, left, station = x[1], x[2], x[4]  # (D,) each
figure, axes = plt.subplots(figsize=(3, 3.6))
plots.heat_map(axes, x, words, features, title="x, as we made it")
axes.set(xlabel="feature", ylabel="word")
plots.show(figure, "Seven words, four features each. Train: rail 2, motion 1. Left: place 1, motion 2. "
                   "Station: rail 1, place 1. On: place 1, time 1. Time: time 2. Both words 'the': all zero.")

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
# then divide by the sum. On paper three numbers are enough: e⁰ = 1, e¹ ≈ 2.7, e² ≈ 7.4.

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
# Every word gives as much of its vector as its weight says. All gifts together are the new "station".
#
# **Predict:** of its four numbers, *rail* 1, *place* 1, *motion* 0, *time* 0, which one will change most?

# %%
new_station = weights @ x  # (D,)
rail_on_paper = 2 * 7.4 / 23.2 + 1 * 7.4 / 23.2  # from "train" and from "station"; all others have no rail
paper_agrees = abs(rail_on_paper - new_station[0].item()) < 0.01
motion_changes_most = (new_station - station).abs().argmax().item() == features.index("motion")
assert paper_agrees
assert motion_changes_most
{feature: round(value, 2) for feature, value in zip(features, new_station.tolist(), strict=True)}

# %% [markdown]
# "station" has begun to move: the motion comes from "train" and "left". Does its vector now point more towards "train"?
# The cosine of the angle between them tells: 1 is the same direction, 0 a right angle.

# %%
before, after = torch.cosine_similarity(torch.stack([station, new_station]), train).tolist()
station_leans_to_train = after > before + 0.2
assert station_leans_to_train
figure, axis = plt.subplots(figsize=(4.4, 2.8))
for name, v in {"train": train, "station, before": station, "station, after": new_station}.items():
    axis.annotate("", xy=(v[0], v[2]), xytext=(0, 0), arrowprops={"arrowstyle": "->", "lw": 2})
    axis.text(v[0], v[2] + 0.05, name, ha="right")
axis.set(xlim=(0, 2.2), ylim=(-0.1, 1.2), xlabel="rail", ylabel="motion")
plots.show(figure, "Arrows in the plane of rail and motion. Station lay along the rail axis. Its new arrow has about "
                   "the same rail but rises to motion 0.55, close to the direction of train.")
print(f"cosine with train: {before:.2f} before, {after:.2f} after")

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
# **Predict:** "station" gives "train" a weight of 0.32. How much does "train" give back?

# %%
figure, axes = plt.subplots(figsize=(4.6, 4.4))
plots.heat_map(axes, all_weights, words, words, title="weights")
axes.set(xlabel="is asked", ylabel="asks")
plots.show(figure, "Weights, 7 by 7. Train, left and time give themselves 0.8 to 0.9. Station gives 0.32 to train and "
                   "0.32 to itself, on gives 0.32 to time and 0.32 to itself. Both words 'the' give each word 0.14.")

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
# ## The same in signs
#
# Call the vectors v₁ … v_T. The word q asks, the word k is asked.
#
# 1. score: s_qk = v_q · v_k
# 2. weight, normalised over all k: w_qk = exp(s_qk) / Σ_j exp(s_qj)
# 3. new vector: y_q = Σ_k w_qk v_k, so for the first word y₁ = Σ_j w₁j v_j
#
# | | self-attention, nothing trained |
# |---|---|
# | **inputs** | x (T, D) |
# | **similarity** | x · x, every word with every word |
# | **outputs** | scores (T, T), weights (T, T), new sequence (T, D) |
#
# Step 2 could be simpler: divide each score by the sum of the scores. **Predict:** for which word of our
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
# the new sequence. **Predict:** "on" had as much *place* as *time*. Which of the two wins?

# %%
y = attend(x)  # (T, D)
one_call_does_what_the_loop_did = torch.allclose(y, new_vectors, atol=1e-6)
on_is_now_about_time = (y[5, 3] > y[5, 1] + 0.3).item()
the_has_become_the_average = torch.allclose(y[0], x.mean(dim=0))
assert one_call_does_what_the_loop_did
assert on_is_now_about_time
assert the_has_become_the_average
figure, axes = plt.subplots(figsize=(3, 3.6))
plots.heat_map(axes, y, words, features, title="y = attend(x)")
axes.set(xlabel="feature", ylabel="word")
plots.show(figure, "The new sequence. Both words 'the' hold 0.43 of every feature. Station: rail 0.95, place 0.55, "
                   "motion 0.55, time 0.20. On: rail 0.20, place 0.55, motion 0.28, time 0.95. "
                   "Train, left and time have changed less.")

# %% [markdown]
# "station" looked towards "train", "on" looked towards "time", and "the", which resembles nothing, took the plain
# average of the sentence.

# %% [markdown] name="cosine-or-dot"
# ## Why not the cosine?
#
# The cosine is the dot product divided by the lengths of both vectors. It has a fixed range, −1 to 1, and looks
# like the more careful measure. What does it cost? **Guess** how much more, then let the cell count every operation.

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
# For one pair, three times the work. But a sentence has T² pairs and only T lengths: bring every vector to length
# one *first*, which takes 3D + 1 operations a word, and dot products do the rest.
# **Predict:** how much dearer is the cosine then, for 1,000 words of width 64?

# %%
def extra_for_the_cosine(T, D):
    return T * (3 * D + 1) / (T * T * 2 * D)  # lengths once a word, dot products for every pair


short, long = extra_for_the_cosine(7, 4), extra_for_the_cosine(1000, 64)
in_a_short_sentence_lengths_cost_a_fifth = 0.2 < short < 0.25
in_a_long_text_they_cost_next_to_nothing = long < 0.002
assert in_a_short_sentence_lengths_cost_a_fifth
assert in_a_long_text_they_cost_next_to_nothing
print(f"7 words of width 4: {short:.0%} more; 1,000 words of width 64: {long:.2%} more")

# %% [markdown]
# So "the dot product is cheaper" is true for a pair and hardly matters for a long text. What does matter is
# that it does **something else**. Let somebody shout: "LEFT" is "left", times four.
# **Predict:** which score of "station" grows, the dot product, the cosine or both?

# %%
shout = torch.stack([train, left, 4 * left])  # (3, D)
dots = (shout @ station).tolist()
cosines = torch.cosine_similarity(shout, station).tolist()
the_dot_product_prefers_the_shout = dots[2] == 4 * dots[1] > dots[0]
the_cosine_does_not_hear_it = abs(cosines[2] - cosines[1]) < 1e-6 and cosines[2] < cosines[0]
assert the_dot_product_prefers_the_shout
assert the_cosine_does_not_hear_it
for name, d, c in zip(["train", "left", "LEFT"], dots, cosines, strict=True):
    print(f"{name:6} dot product {d:.0f}   cosine {c:.2f}")

# %% [markdown]
# A dot product lets a vector raise its voice by its length. A cosine hears the direction alone.
# Two edges remain to be tested: vectors of length one, and "the", whose length is zero.

# %%
unit = [train / train.norm(), station / station.norm()]
at_length_one_they_agree = torch.allclose(unit[0] @ unit[1], torch.cosine_similarity(train, station, dim=0))
try:
    cosine(vector["the"], vector["train"])
    the_cosine_of_a_zero_vector_fails = False
except ZeroDivisionError:
    the_cosine_of_a_zero_vector_fails = True
    print("cosine of 'the' and 'train': division by zero. Dot product:", dot(vector["the"], vector["train"])[0])
assert at_length_one_they_agree
assert the_cosine_of_a_zero_vector_fails

# %% [markdown]
# The dot product has no root and no division, and a zero vector does it no harm. If the vectors themselves are to
# decide how loud they are, it is the right score. We keep it.
#
# Now for what `attend` can and cannot do. It has four properties; each is a prediction first.

# %% [markdown] name="nothing-trained"
# ## Property 1: nothing was trained
#
# **Predict:** how many numbers inside `attend` were learned from data?

# %%
only_x_goes_in = len(inspect.signature(attend).parameters) == 1
the_same_x_gives_the_same_y = torch.equal(attend(x), attend(x))
assert only_x_goes_in
assert the_same_x_gives_the_same_y
inspect.signature(attend)

# %% [markdown]
# None: y is a function of x alone. So everything hangs on x. Make it a *radio* station: the *rail* of
# "station" goes from 1 to 0, and no other number changes.
# **Predict:** how many of the seven new vectors change?

# %%
radio = x.clone()
radio[4, 0] = 0
moved = (attend(radio) - y).norm(dim=1)  # (T,)
one_number_reaches_every_word = bool((moved > 0.01).all())
assert one_number_reaches_every_word
named(moved)

# %% [markdown] name="order"
# ## Property 2: order has no influence
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
# It does not differ. Is this pair of words an exception? Seven words have 5,040 orders. Try all of them:
# permute the inputs, and see whether the outputs are permuted in the same way and otherwise unchanged.

# %%
orders = [list(order) for order in permutations(range(7))]
permuted_inputs_give_permuted_outputs = all(torch.allclose(attend(x[o]), y[o], atol=1e-6) for o in orders)
assert permuted_inputs_give_permuted_outputs
print(f"{len(orders):,} orders tried, and in all of them: {permuted_inputs_give_permuted_outputs}")

# %% [markdown]
# This is called **permutation equivariance**. For this formula a sentence is a bag of words: who left whom
# is lost. Later, a Transformer will need extra help to know about order (lesson 09).

# %% [markdown] name="distance"
# ## Property 3: distance has no influence
#
# Take "train", "station" and ninety-nine times "the". First the two words are neighbours, then they
# drift apart until 99 words stand between them. Only "train" has any *motion*, namely 1, so the motion in the
# new "station" **is** its weight for "train".
#
# **Predict:** how does this weight fall as the distance grows?

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
# It does not fall. A word a hundred places away is as near as a neighbour. But the weight is far below the 0.32 at
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
# **how many** others there are, not **where** they stand.

# %% [markdown] name="any-length"
# ## Property 4: any length, any width
#
# Nothing in the three lines says 7 or 4. **Predict:** what becomes of a sentence of a single word?

# %%
generator = torch.Generator().manual_seed(0)
sizes = [(1, 4), (2, 4), (7, 4), (5, 300), (100, 3)]
shapes = {size: tuple(attend(torch.randn(size, generator=generator)).shape) for size in sizes}
any_shape_comes_back_as_it_was = all(size == shape for size, shape in shapes.items())
a_single_word_stays_what_it_is = torch.equal(attend(station[None])[0], station)
assert any_shape_comes_back_as_it_was
assert a_single_word_stays_what_it_is
shapes

# %% [markdown] name="context-added"
# ## What has been added?
#
# It looks as if each word kept its own vector and some context came on top. Then y − x would be that context.
# **Predict:** no number in x is negative. Can a number in y − x be?

# %%
figure, axes = plt.subplots(figsize=(3.2, 3.6))
plots.heat_map(axes, y - x, words, features, title="y − x")
axes.set(xlabel="feature", ylabel="word")
plots.show(figure, "What each word has gained or lost. Station: place minus 0.45, motion plus 0.55, time plus 0.20. "
                   "On: place minus 0.45, motion plus 0.28, rail plus 0.20. Both words 'the' gained 0.43 everywhere.")
station_has_lost_place = (y - x)[4, 1].item() < -0.4
assert station_has_lost_place

# %% [markdown]
# "station" has lost almost half of its *place*. So it is no plain addition. Split y into two parts: what a word gave
# to itself, and what all others gave.

# %%
own_weight = all_weights.diagonal()  # (T,)
from_itself = own_weight[:, None] * x  # (T, D)
from_others = (all_weights - torch.diag(own_weight)) @ x  # (T, D)
y_is_the_sum_of_both_parts = torch.allclose(y, from_itself + from_others, atol=1e-6)
station_keeps_a_third_of_itself = abs(own_weight[4].item() - 1 / 3) < 0.02
train_keeps_most_of_itself = own_weight[1].item() > 0.85
assert y_is_the_sum_of_both_parts
assert station_keeps_a_third_of_itself
assert train_keeps_most_of_itself
named(own_weight)

# %% [markdown]
# Context *is* added, and at the same time the word itself is turned down, to its own weight. How far do the
# words turn from where they pointed? "the" pointed nowhere, so we leave it out.

# %%
turned = torch.cosine_similarity(x, y)  # (T,)
nobody_turns_far = all(turned[i] > 0.85 for i in (1, 2, 4, 5, 6))
assert nobody_turns_far
{words[i]: round(turned[i].item(), 2) for i in (1, 2, 4, 5, 6)}

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
the_spread_never_grows = bool((spread(ten_rounds).diff() < 1e-6).all())
assert after_five_rounds_all_words_are_one
assert the_spread_never_grows
print("spread:", [round(s, 2) for s in spread(ten_rounds).tolist()])

# %% [markdown]
# After five rounds, seven copies of one vector. The reason is in the formula: each new vector is a weighted
# average, and no weight is zero, so the outermost words are pulled inwards in every round.
#
# Which vector is it? Is it at least the average of the sentence?

# %%
final = ten_rounds[-1, 0]  # (D,)
it_is_not_the_average = (final - x.mean(dim=0)).norm().item() > 0.5
there_it_stops = torch.allclose(attend(ten_rounds[-1]), ten_rounds[-1], atol=1e-6)
assert it_is_not_the_average
assert there_it_stops
print("all words:", [round(v, 2) for v in final.tolist()], " average:", [round(v, 2) for v in x.mean(dim=0).tolist()])

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
plots.show(figure, "The motion of each word, round by round. From x, all lines meet at 0.9 by round 5. From 1.5 x, "
                   "they run in three bundles for about ten rounds: left, then train with station and the, then on "
                   "with time. The first two meet before round 30, and the last joins before round 100.")

# %% [markdown]
# Longer vectors have larger scores, larger scores make sharper weights, and sharp weights mix slowly. For a while
# the words form groups that make sense: *on time* here, *train* and *station* there. In the end all flow together.
#
# **Predict:** three times as long, and a thousand rounds. How many groups are left?

# %%
longest = rounds(3 * x, 1000)[-1]  # (T, D)
across = torch.softmax(longest @ longest.T, dim=-1)[1, 2].item()  # the weight of "left" for "train"
three_groups_stay = len(groups(longest)) == 3
the_weight_between_them_is_below_rounding = 0 < across < torch.finfo(torch.float32).eps
assert three_groups_stay
assert the_weight_between_them_is_below_rounding
groups(longest)

# %% [markdown]
# On paper they would meet in the end, since no weight is zero. In the computer such a weight is too small to change
# a sum.

# %% [markdown] name="open-question"
# ## The open question
#
# **When does it stop?** Left alone, when words have become copies of each other. One round adds context, many rounds
# wash the words out, and nothing in the formula says how many are right.
#
# **Where do the vectors come from?** We made them up, and all that you have seen hangs on them. Could they be found
# instead? Ask for something about the new "station" only, and see at which words a gradient arrives.

# %%
wanted = x.clone().requires_grad_()
attend(wanted)[4].sum().backward()  # a wish for the new "station"
arrives = wanted.grad.norm(dim=1)  # (T,)
a_wish_for_one_word_reaches_all_vectors = bool((arrives > 0).all())
assert a_wish_for_one_word_reaches_all_vectors
named(arrives)

# %% [markdown]
# At all of them. Nothing in `attend` can be trained, but the vectors that go in can: training will find them, and soon
# it will find more than the vectors.

# %% [markdown]
# ## Summary
#
# - Score every word with every word, softmax along each row, mix: a new sequence of the same shape.
# - A dot product is cheap for a pair and lets length speak. A cosine hears the direction alone.
# - Nothing is trained; order and distance have no influence; any length will do. How many words there are does count.
# - Context comes in, and the word itself is turned down to its own weight.
# - Repeated, the mixing turns different words into copies. Longer vectors delay it.
#
# **Think about it.** *The dog bit the man* and *The man bit the dog* give the same new vectors. Name two ways to make
# them differ. Does your way still work for a sentence longer than any you thought of?
#
# **In the paper.** In equation 1 of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), put x in the place of Q, K
# and V and leave out the √d: that is this lesson, the simplest case. Section 3.5 there adds positions, because without
# them order has no influence. [Dong and colleagues 2021](https://arxiv.org/abs/2103.03404) study how attention alone,
# layer upon layer, makes all words alike, and what prevents it.
#
# **Next.** Before attention, a translating network had to press a whole sentence into one vector. Lesson 03 shows
# where that breaks, and mends it by attention whose scores come from a small *trained* network: version 0.
