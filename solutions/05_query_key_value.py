# %% [markdown]
# # 05 · Versions 3 to 5: query, key, value
#
# *100 minutes · needs lesson 04 · three exercises*
#
# **At the end you can**
#
# - put many questions to a sentence in one matrix product (version 3);
# - give each word a key and a value, say what that buys, and let one sentence ask another (version 4);
# - let a sentence ask itself (version 5), and say what each of the three learned matrices is for;
# - answer the question "why do we pass the same input three times?".

# %%
import timeit

import matplotlib.pyplot as plt
import torch

from course_lib import check
from course_lib.attention import scaled_dot_product_attention_single as attention_v2
from course_lib.display import plots, style
from course_lib.training import fit

torch.set_num_threads(1)

# %% [markdown]
# ## One sentence
#
# *Jane visite l'Afrique en septembre.* Five words, and for each of them six numbers that we make up. The first four
# features say what **kind** of thing a word is: *person*, *action*, *place*, *time*. The last two say something about
# its **content**: has it to do with *travel*, is it *warm*?
#
# "en" may lead to a place or to a time, so it gets a little of both. About Jane we know nothing but that she is a
# person.

# %%
words = ["Jane", "visite", "l'Afrique", "en", "septembre"]
kinds, contents = ["person", "action", "place", "time"], ["travel", "warm"]
x = torch.tensor([[2.0, 0, 0, 0, 0, 0],
                  [0.0, 2, 0, 0, 2, 0],
                  [0.0, 0, 2, 0, 0, 2],
                  [0.0, 0, 1, 1, 0, 0],
                  [0.0, 0, 0, 2, 0, 1]])  # (N, D) = (5, 6)
figure, axes = plt.subplots(figsize=(4, 3.2))
plots.heat_map(axes, x, words, kinds + contents, title="x, as we made it")
axes.set(xlabel="feature", ylabel="word")
plots.show(figure, "Five words, six features. Jane: person 2. Visite: action 2, travel 2. L'Afrique: place 2, warm 2. "
                   "En: place 1, time 1. Septembre: time 2, warm 1.")

# %% [markdown]
# ## One number first
#
# You want to know: **who?** A question is a vector, too. It asks for a person, three of it, and for nothing else.
#
# Version 2 multiplies feature by feature, adds up, and divides by the root of the width. **Before you run the cell**,
# work out Jane's score on paper. The root of six is about 2.45.

# %%
who = torch.tensor([3.0, 0, 0, 0, 0, 0])  # (D,)
by_hand = 3 * 2 / 6**0.5
janes_score_is_the_root_of_six = abs(by_hand - 6**0.5) < 1e-12 and abs((x[0] @ who / 6**0.5).item() - by_hand) < 1e-6
assert janes_score_is_the_root_of_six
round(by_hand, 2)

# %% [markdown]
# ## Three questions
#
# Now *who?*, *where?* and *when?*. Version 2 takes one query, so we call it three times.
# **Predict:** two of the five words know something about a time. What will the answer to *when?* be made of?

# %%
questions = ["Who?", "Where?", "When?"]
queries = 3 * torch.eye(6)[[0, 2, 3]]  # (M, D) = (3, 6), one question per row
answers = torch.stack([attention_v2(query, x) for query in queries])  # (M, D)
figure, axes = plt.subplots(figsize=(4.2, 2.4))
plots.heat_map(axes, answers, questions, kinds + contents, title="version 2, three times")
axes.set(xlabel="feature", ylabel="question")
plots.show(figure, "Three answers, six features each. Who: person 1.49, everything else below 0.4. Where: place 1.48, "
                   "warm 1.34. When: time 1.48, warm 0.76, place 0.30.")

# %%
each_answer_is_mostly_what_was_asked_for = answers.argmax(dim=1).tolist() == [0, 2, 3]
when_gets_nearly_twice_as_much_time_as_warm = 1.9 < (answers[2, 3] / answers[2, 5]).item() < 2
assert each_answer_is_mostly_what_was_asked_for
assert when_gets_nearly_twice_as_much_time_as_warm
{question: (kinds + contents)[i] for question, i in zip(questions, answers.argmax(dim=1).tolist(), strict=True)}

# %% [markdown] name="version-3"
# ## Version 3: many queries are one matrix product
#
# Lesson 00 turned a loop of weighted sums into one product. Here is a loop again. The questions already stand below
# each other, as the rows of a matrix. What shape has `queries @ x.T`, and what stands in its row m?

# %%
table = queries @ x.T  # (M, D) @ (D, N) = (M, N)
row_m_holds_the_scores_of_question_m = all(torch.equal(table[m], x @ queries[m]) for m in range(3))
assert row_m_holds_the_scores_of_question_m
figure, axes = plt.subplots(figsize=(3.8, 2.6))
plots.heat_map(axes, table, questions, words, title="queries @ x.T")
axes.set(xlabel="word", ylabel="question")
plots.show(figure, "A table of scores, three questions by five words. Who: Jane 6, all others 0. Where: l'Afrique 6, "
                   "en 3. When: septembre 6, en 3.")

# %% [markdown]
# One row per question, one column per word. All that is left is version 2 on every row.
#
# | part | version 2 | version 3 |
# |---|---|---|
# | **inputs** | query $q$ (D,), inputs $X$ (N, D) | **queries $Q$ (M, D)**, inputs $X$ (N, D) |
# | **similarity** | $X q \,/ \sqrt{D}$ | $\boldsymbol{Q X^\top / \sqrt{D}}$ |
# | **outputs** | scores (N,), weights (N,), mixture (D,) | **scores (M, N), weights (M, N), result (M, D)** |

# %% [markdown]
# ### Exercise 1: `attention_query_matrix`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Version 3, for any number of queries and inputs, without a loop. The docstring is the whole contract.
#
# <details><summary>Hint 1: a question</summary>
#
# In the table of scores, which sums have to be one after the softmax: those of the rows or those of the columns? Which
# `dim` is that?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the table of scores, (M, N), divided by the root of the width
# 2. a softmax for every query by itself
# 3. one product mixes all inputs for all queries; check that its shape is (M, D)
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import attention_query_matrix

# %%
attention_v3 = check(attention_query_matrix).verified

# %% [markdown]
# From here on `attention_v3` is your own function as soon as the card says *right*. Is it the same attention?
# Two tests: with one query it has to be version 2, and with three it has to be the loop.

# %%
with_one_query_it_is_version_2 = torch.allclose(attention_v3(queries[:1], x)[0], attention_v2(who, x))
a_loop_of_version_2_is_version_3 = torch.allclose(attention_v3(queries, x), answers)
assert with_one_query_it_is_version_2
assert a_loop_of_version_2_is_version_3
tuple(attention_v3(queries[:1], x).shape), tuple(attention_v3(queries, x).shape)

# %% [markdown]
# Nothing new comes out. What is it good for? Ask 500 questions about 50 inputs, 64 wide.
# **Predict:** is one product twice as fast as the loop, or ten times, or more?

# %%
many_queries, many = torch.randn(500, 64), torch.randn(50, 64)


def seconds(function):
    return min(timeit.repeat(function, number=1, repeat=3))


# %%
loop = seconds(lambda: [attention_v2(query, many) for query in many_queries])
at_once = seconds(lambda: torch.softmax(many_queries @ many.T / 8, dim=1) @ many)
one_product_beats_the_loop = loop > 2 * at_once  # mostly saved overhead: 2,000 inputs, 512 wide, gave 3 times
assert one_product_beats_the_loop
print(f"at these sizes, one product is {loop / at_once:.0f} times as fast as the loop")
print(f"`attention_v3` is {loop / seconds(lambda: attention_v3(many_queries, many)):.1f} times as fast as the loop")

# %% [markdown] name="two-jobs"
# ## One vector, two jobs
#
# Look at the answer to *when?* once more: it has nearly twice as much *time* as *warm*. You asked for a time. Now you
# are told: it is a time. What you did not know is that it is warm then, and that is the smaller part of the answer.
#
# So ask better? **Predict:** is there any question to which version 3 answers *warm* and nothing else? We try a
# thousand.

# %%
generator = torch.Generator().manual_seed(0)
any_questions = 5 * torch.randn(1000, 6, generator=generator)  # (M, D)
mixtures = attention_v3(any_questions, x)  # (M, D)
labels, warm = mixtures[:, 2] + mixtures[:, 3], mixtures[:, 5]  # (M,), (M,)
so_it_is_in_every_row_of_x = bool((x[:, 5] <= x[:, 2] + x[:, 3]).all())
assert so_it_is_in_every_row_of_x
{word: f"place + time {row[2] + row[3]:.0f}, warm {row[5]:.0f}" for word, row in zip(words, x.tolist(), strict=True)}

# %%
figure, axis = plt.subplots(figsize=(4.4, 3))
axis.plot(labels, warm, ".", markersize=4, label="answers")
axis.plot([0, 2], [0, 2], "--", color="black", label="as much warm as place and time")
axis.set(xlabel="place + time in the answer", ylabel="warm in the answer")
axis.legend(fontsize=8)
plots.show(figure, "A thousand answers as dots: place plus time to the right, warm upwards. All dots lie on or below "
                   "the diagonal, so no answer has more warm than place and time together.")

# %% [markdown]
# Not one. The reason is in x. Only "l'Afrique" and "septembre" are warm, and each has at least as much *place* or
# *time* as it has *warm*. What holds for every row holds for every mixture of the rows.
#
# Each row of x has two jobs. It is **compared**, and for that it needs the kind. It is **delivered**, and for that it
# needs the content. In version 3 one vector does both jobs, so the label is delivered with the goods.

# %% [markdown] name="retrieval"
# ## How a search does it
#
# You look for a video. You type a **text**. It is compared with the **titles**. You get the **videos**. Your text is
# not compared with pixels, and it is not the title that you want to watch.
#
# | part | in the search | in attention |
# |---|---|---|
# | what you ask with | the text you type | **query** |
# | what it is compared with | the title | **key** |
# | what you get | the video | **value** |
#
# In numbers: texts and titles count four words. A "video" is the brightness of its six frames. There are three, with
# the titles *Journey to Africa*, *Cooking in September* and *Cooking in Africa*. **Predict:** you type *Africa
# journey*. Which video comes, and is it the only one?

# %%
vocabulary = ["Africa", "September", "journey", "cooking"]
titles = ["Journey to Africa", "Cooking in September", "Cooking in Africa"]
text = 4 * torch.tensor([1.0, 0, 1, 0])  # (4,), the query
title_vectors = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])  # (3, 4), the keys
videos = torch.tensor([[0.1, 0.2, 0.4, 0.6, 0.8, 1.0], [0.5] * 6, [0.9, 0.7, 0.5, 0.3, 0.1, 0.1]])  # (3, 6), the values
weights = torch.softmax(title_vectors @ text / 4**0.5, dim=0)  # (3,)
delivered = weights @ videos  # (6,)

# %%
the_best_title_decides = torch.allclose(delivered, videos[0], atol=0.15)
assert the_best_title_decides
dict(zip(titles, [round(weight, 2) for weight in weights.tolist()], strict=True))

# %%
figure, (above, below) = plt.subplots(2, 1, figsize=(5.4, 3.6), height_ratios=[3, 1], sharex=True)
plots.heat_map(above, videos, titles, range(1, 7), title="three videos")
plots.heat_map(below, delivered[None], ["delivered"], range(1, 7))
below.set_xlabel("frame")
above.tick_params("x", labelbottom=False)
plots.show(figure, "Three videos of six frames. Journey to Africa gets brighter from 0.1 to 1, Cooking in September "
                   "stays at 0.5, Cooking in Africa gets darker from 0.9 to 0.1. Below, what is delivered: nearly the "
                   "first video, up from 0.20 to 0.89.")

# %% [markdown]
# A Python dictionary works like this, too: `library[key]` gives a value. But there the key has to be equal, and one
# value comes, or an error. Attention compares with **all** keys and delivers something of **every** value. It is a
# soft dictionary, and so it has slopes to learn from.

# %% [markdown] name="version-4"
# ## Version 4: keys and values apart
#
# Make two vectors from each word: a key to be compared, a value to be delivered. The simplest way from one vector to
# another is a matrix. Ours keep some features and drop the others; later they will be learned.

# %%
W_k = torch.eye(6)[:, :4]  # (D_x, D_q) = (6, 4), keeps the kind
W_v = torch.eye(6)[:, 4:]  # (D_x, D_v) = (6, 2), keeps the content
keys, values = x @ W_k, x @ W_v  # (N, D_q), (N, D_v)
figure, axes = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
plots.heat_map(axes[0], keys, words, kinds, title="keys = x @ W_k", kind="key")
plots.heat_map(axes[1], values, words, contents, title="values = x @ W_v", kind="value")
plots.show(figure, "Keys, five words by four kinds: Jane person 2, visite action 2, l'Afrique place 2, en place 1 and "
                   "time 1, septembre time 2. Values, five words by two contents: visite travel 2, l'Afrique warm 2, "
                   "septembre warm 1, the others 0.")

# %% [markdown]
# And who asks? **Someone else.** Picture a writer who turns our sentence into English, word by word. After *Jane* comes
# an action; after *Jane visits*, a place; after *Jane visits Africa in*, a time. Each of these wishes has a strength
# of 4.
#
# One number first. The query is *action* 4, the key of "visite" is *action* 2, and the width is 4.
# **Work out** its score, then its weight. (e⁴ is about 55, and e⁰ is 1.)

# %%
writer = ["Jane ...", "Jane visits ...", "Jane visits Africa in ..."]
wishes = 4 * torch.eye(4)[1:]  # (M, D_q) = (3, 4): an action, a place, a time
score_by_hand = 4 * 2 / 4**0.5
weight_by_hand = 55 / (55 + 4)  # four other words with a score of 0
scores = wishes @ keys.T / 4**0.5  # (M, N)
the_score_is_four = score_by_hand == scores[0, 1].item() == 4
paper_agrees = abs(torch.softmax(scores[0], dim=0)[1].item() - weight_by_hand) < 0.001
assert the_score_is_four
assert paper_agrees
round(weight_by_hand, 2)

# %% [markdown]
# Queries from one sequence, keys and values from another: this is **cross-attention**. The paper calls it
# *encoder–decoder attention*. One thing is still missing. Our wishes come ready made; in a Transformer they are made,
# too, by a third matrix, from the vectors of the writer's words. Version 5 brings it.
#
# | part | version 3 | version 4 |
# |---|---|---|
# | **inputs** | $Q$ (M, D), $X$ (N, D) | $Q (M, D_q)$, $X (N, D_x)$, $\boldsymbol{W_k (D_x, D_q), W_v (D_x, D_v)}$ |
# | **similarity** | $Q X^\top / \sqrt{D}$ | $Q \boldsymbol{K}^\top / \sqrt{D_q}$, where the keys are $K = X W_k$ |
# | **outputs** | scores, weights (M, N), result (M, D) | scores, weights (M, N), result $\boldsymbol{(M, D_v)}$ |
#
# The widths have come apart, too. Queries and keys still share one. The inputs and the values have their own.

# %% [markdown]
# ### Exercise 2: `cross_attention`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Try it wrong on purpose, too: mix the keys instead of the values, and read what the card says.
#
# <details><summary>Hint 1: a question</summary>
#
# There are three widths: D_q, D_x and D_v. Which two vectors meet in a dot product, and how many products does it add
# up? That number is under the root.
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. keys from the inputs, values from the inputs
# 2. your answer to exercise 1, with the keys where inputs are compared
# 3. and with the values where inputs are mixed
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import cross_attention

# %%
cross = check(cross_attention).verified

# %% [markdown]
# Two tests. If both matrices change nothing, version 4 has to be version 3. And the writer should get an answer to each
# wish. **Predict:** after *Jane visits* the wish is for a place. Which content is delivered?

# %%
unchanged = torch.eye(6)
with_identities_it_is_version_3 = torch.allclose(cross(queries, x, unchanged, unchanged), attention_v3(queries, x))
assert with_identities_it_is_version_3
tuple(cross(queries, x, unchanged, unchanged).shape)

# %%
delivered = cross(wishes, x, W_k, W_v)  # (M, D_v)
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained", width_ratios=[2, 1])
plots.heat_map(axes[0], torch.softmax(scores, dim=1), writer, words, title="weights", kind="weight")
plots.heat_map(axes[1], delivered, ["an action", "a place", "a time"], contents, title="delivered")
plots.show(figure, "Weights: the wish for an action gives visite 0.93; for a place, l'Afrique 0.84 and en 0.11; for a "
                   "time, septembre 0.84 and en 0.11. Delivered: travel 1.86 for the action, warm 1.70 for the place, "
                   "warm 0.87 for the time.")

# %% [markdown] name="decouple"
# ## What the separation buys
#
# The writer who wished for a place got *warm*, and no *place*. **Predict:** can version 3 give the same numbers, with
# one matrix before it and one after it? And in version 3 alone, make the queries ten times as long, or the inputs: when
# does the match get surer, and when do the delivered numbers grow?

# %%
before = wishes @ W_k.T * (6 / 4) ** 0.5  # (M, D_x); under the root, version 3 has 6 and version 4 has 4
between_two_matrices_it_is_version_4 = torch.allclose(attention_v3(before, x) @ W_v, cross(wishes, x, W_k, W_v))
sure, loud = attention_v3(10 * queries, x), attention_v3(queries, 10 * x)  # (M, D) each
longer_queries_deliver_one_word_no_louder = torch.allclose(sure, x[[0, 2, 4]], atol=1e-4)
longer_inputs_deliver_one_word_ten_times_as_loud = torch.allclose(loud, 10 * x[[0, 2, 4]], atol=1e-3)
assert between_two_matrices_it_is_version_4
assert longer_queries_deliver_one_word_no_louder
assert longer_inputs_deliver_one_word_ten_times_as_loud
{"longer query": [round(v) for v in sure[1].tolist()], "longer inputs": [round(v) for v in loud[1].tolist()]}

# %% [markdown]
# It can: $q \cdot (x W_k)$ is $(q W_k^\top) \cdot x$, and $A\,(x W_v)$ is $(A x)\,W_v$ for any weights $A$. So next to
# a learned matrix for the queries, `W_k` adds no new pattern. It makes the comparison narrow, $D_q$ numbers and not
# $D_x$, and the keys are computed once for all queries. What one vector could not do is a true **second source**, as in
# the video search: keys from the titles, values from the videos. PyTorch's layer takes one, as you will see.
#
# A longer query makes any match sure, in version 3 too, and delivers no more. It is different where one *word* is to be
# found more surely than the others: a longer row of x is delivered louder as well, a longer key is not.

# %% [markdown] name="one-line"
# ## All of it in one line
#
# François Chollet, in chapter 11 of *Deep Learning with Python* (second edition, 2021), puts attention into one line.
# In our letters:
#
# **outputs = sum(C * pairwise(A, B))**
#
# Compare each A with each B; with these weights, add up the C. Which of the three is the query, which the key, which
# the value? **Decide** before you run the cell.

# %%
def pairwise(A, B):
    return torch.softmax(A @ B.T / A.shape[1] ** 0.5, dim=1)  # (M, N)


A, B, C = wishes, keys, values  # A asks: query. B is compared: key. C is delivered: value.
outputs = sum(C[n] * pairwise(A, B)[:, n, None] for n in range(len(C)))  # (M, D_v), a plain Python sum
the_one_line_is_version_4 = torch.allclose(outputs, cross(wishes, x, W_k, W_v))
assert the_one_line_is_version_4
tuple(outputs.shape)

# %% [markdown]
# The same line holds all versions of this lesson. Version 3 is `A = queries, B = C = inputs`. What if all three are the
# sentence, `A = B = C = x`? Keep that question for a moment.

# %% [markdown] name="two-attentions"
# ## Two attentions side by side
#
# In lesson 03 a recurrent network (RNN) translated with attention. That was cross-attention, too: the decoder asked the
# encoder. So what is new in version 4? First find the query, the key and the value in each.

# %%
def box(axis, x, y, text, colour):
    axis.text(x, y, text, ha="center", va="center", fontsize=10, zorder=3,
              bbox={"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "#2b2b33"})


def arrow(axis, start, end, **style):
    axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "shrinkA": 15, "shrinkB": 15} | style)


def draw(axis, below, above, title, chained):
    """Five source words below, three target words above; where chained, each waits for the one before it."""
    for n, word in enumerate(words):
        axis.text(n, -0.55, word, ha="center", fontsize=9, style="italic")
        box(axis, n, 0, below[n], "#bfe0c2")
    for m, word in enumerate(["Jane", "visits", "Africa"]):
        axis.text(1 + m, 2.4, word, ha="center", fontsize=9, style="italic")
        box(axis, 1 + m, 2, above[m], "#f6c177")
        for n in range(5):
            arrow(axis, (1 + m, 2), (n, 0), color="#8a8577", linewidth=0.8, linestyle=":")
    for y, first, last in ((0, 0, 4), (2, 1, 3)) if chained else ():
        for i in range(first, last):
            arrow(axis, (i, y), (i + 1, y), color="#2b2b33", linewidth=2)
    axis.set(title=title, xlim=(-0.6, 4.6), ylim=(-0.8, 2.8))
    axis.axis("off")


# %%
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.4), layout="constrained")
states, questions = ["$s_0$", "$s_1$", "$s_2$"], ["$q_1$", "$q_2$", "$q_3$"]  # s_0 is the state before the first word
draw(axes[0], [f"$h_{n}$" for n in range(1, 6)], states, "RNN: along a thick arrow, one waits for the other", True)
draw(axes[1], [f"$k_{n}\\,v_{n}$" for n in range(1, 6)], questions, "Transformer: nothing waits", False)
plots.show(figure, "Two drawings with five French words below and three English words above; dotted lines lead from "
                   "each upper box to each lower box. Left, RNN: states h1 to h5 are joined by thick arrows, so are "
                   "s0 to s2. Right, Transformer: each word has a key and a value, each English word a query, and "
                   "there are no thick arrows.")

# %% [markdown]
# | part | RNN with attention (lesson 03) | Transformer (version 4) |
# |---|---|---|
# | **query** | decoder state $s$, $(D_s,)$, one at a time | one row for each target word, $(M, D_q)$, all at once |
# | **key** | $h_n W_e$, made from an encoder state | $X W_k$, $(N, D_q)$ |
# | **value** | the encoder state $h_n$ as it is, $(N, D_h)$ | $X W_v$, $(N, D_v)$ |
# | **score** | $v \cdot \tanh(s W_d + k)$, a small network | $q \cdot k \,/ \sqrt{D_q}$ |
# | **one after another** | N steps to read, M steps to write | nothing inside the layer |
#
# So a key and a value were already apart in version 0. Is the last row true? **Predict:** nudge the **first** word. How
# many of a GRU's five states move, and how many rows of `pairwise(x, x) @ x`? And a simpler recurrence,
# $h_n = h_{n-1} / 2 + x_n$: does each of its states have to wait for the one before it?

# %%
torch.manual_seed(0)
gru = torch.nn.GRU(6, 6)
nudged = x.clone()
nudged[0] += 0.1
states_moved = ((gru(nudged)[0] - gru(x)[0]).abs() > 1e-6).any(dim=1).tolist()
rows_moved = ((pairwise(nudged, nudged) @ nudged - pairwise(x, x) @ x).abs() > 1e-6).any(dim=1).tolist()
state, one_by_one = torch.zeros(6), []
for word in x:
    state = state / 2 + word
    one_by_one.append(state)
halvings = torch.arange(5)[:, None] - torch.arange(5)  # (N, N): how often word j is halved until state i
all_at_once = (0.5**halvings).tril() @ x  # (N, D)
all_states_and_all_rows_depend_on_the_first_word = states_moved == rows_moved == [True] * 5
a_linear_recurrence_need_not_wait = torch.allclose(all_at_once, torch.stack(one_by_one))
assert all_states_and_all_rows_depend_on_the_first_word
assert a_linear_recurrence_need_not_wait
{"states": states_moved, "rows": rows_moved}

# %% [markdown]
# All states depend on the first word; so do all rows of the attention, and there nothing waits. What makes the GRU wait
# is that its step is **not linear** and needs the finished state. A linear recurrence can be computed all at once.
#
# So can all rows of version 4, since none needs another row's result. This is true while a Transformer is **trained**,
# when all target words are known. When it *writes*, it goes word by word as well: the next query needs the word before
# it (lesson 11).

# %% [markdown] name="intra-attention"
# ## A sentence that asks itself
#
# The question from above: A, B and C are all the same sentence. Each word asks, each word is compared, each word
# delivers. This is **self-attention**, also called **intra-attention**: it relates the places *within* one sequence to
# each other, and gives a new vector for each of them (section 2 of the paper).
#
# You have met it untrained, in lesson 02. It was in use before the Transformer. The paper names four uses:
#
# | used for | by |
# |---|---|
# | reading a text word by word | Cheng et al. 2016, [arXiv:1601.06733](https://arxiv.org/abs/1601.06733) |
# | does one sentence follow from another? | Parikh et al. 2016, [arXiv:1606.01933](https://arxiv.org/abs/1606.01933) |
# | one vector for a whole sentence | Lin et al. 2017, [arXiv:1703.03130](https://arxiv.org/abs/1703.03130) |
# | writing summaries | Paulus et al. 2017, [arXiv:1705.04304](https://arxiv.org/abs/1705.04304) |
#
# **Predict:** how many rows and columns has the table of weights now?

# %%
self_weights = pairwise(x, x)  # (N, N)
cross_weights = pairwise(wishes, keys)  # (M, N)
every_word_asks_and_is_asked = self_weights.shape == (5, 5)
that_is_lesson_02_with_a_scale = torch.allclose(self_weights, torch.softmax(x @ x.T / 6**0.5, dim=1))
assert every_word_asks_and_is_asked
assert that_is_lesson_02_with_a_scale
print("cross-attention:", tuple(cross_weights.shape), " self-attention:", tuple(self_weights.shape))

# %% [markdown]
# ### What would "l'Afrique" ask?
#
# In lesson 02 each word asked for words **like itself**. That is seldom what one wants to know. "l'Afrique" knows that
# it is a place. It might ask: *what's happening in Africa?* Its question should be about an **action**.
#
# So the query needs a matrix of its own, `W_q`, which turns what a word **is** into what it **wants**. Queries and keys
# share a width, which version 4 called $D_q$; from here on it is $D_k$, as in the paper.
#
# | a word that is ... | ... asks | row of $W_q$ |
# |---|---|---|
# | a person | what does she do? | action 2 |
# | an action | who does it? | person 2 |
# | a place | what's happening there? | action 2 |
# | a time | where is it spent? | place 2 |

# %%
W_q = torch.zeros(6, 4)  # (D_x, D_k)
W_q[0, 1] = W_q[1, 0] = W_q[2, 1] = W_q[3, 2] = 2.0
asks = x @ W_q  # (N, D_k)
figure, axes = plt.subplots(1, 2, figsize=(6.8, 3), layout="constrained")
plots.heat_map(axes[0], asks, words, kinds, title="queries: what it wants", kind="query")
plots.heat_map(axes[1], keys, words, kinds, title="keys: what it is", kind="key")
plots.show(figure, "Queries: Jane wants action 4, visite person 4, l'Afrique action 4, en action 2 and place 2, "
                   "septembre place 4. Keys as before: Jane person 2, visite action 2, l'Afrique place 2, en place 1 "
                   "and time 1, septembre time 2.")

# %% [markdown]
# Take the third word. Its query, $q_3$, says *what's happening in Africa?*, which is action 4. The key of the first
# word, $k_1$, says *person* 2, and $k_2$ says *action* 2. **On paper:** the scores $q_3 \cdot k_1 / \sqrt{4}$ and
# $q_3 \cdot k_2 / \sqrt{4}$, then the weight of "visite".

# %%
person_score, action_score = 4 * 0 / 4**0.5, 4 * 2 / 4**0.5
africas_scores = asks[2] @ keys.T / 4**0.5  # (N,)
the_scores_are_zero_and_four = africas_scores[:2].tolist() == [person_score, action_score] == [0, 4]
africa_picks_visite = torch.softmax(africas_scores, dim=0)[1].item() > 0.9
assert the_scores_are_zero_and_four
assert africa_picks_visite
dict(zip(words, africas_scores.tolist(), strict=True))

# %% [markdown] name="version-5"
# ## Version 5
#
# | part | version 4 | version 5 |
# |---|---|---|
# | **inputs** | $Q (M, D_q)$, $X (N, D_x)$, $W_k$, $W_v$ | $\boldsymbol{x (N, D_x), W_q (D_x, D_k)}$, $W_k$, $W_v$ |
# | **similarity** | $Q\, (X W_k)^\top / \sqrt{D_q}$ | $\boldsymbol{x W_q}\, (x W_k)^\top / \sqrt{D_k}$ |
# | **outputs** | scores, weights (M, N), result $(M, D_v)$ | **scores, weights (N, N), result** $(N, D_v)$ |
#
# One source, three views of it: what a word **wants**, what it **is**, what it **gives**.

# %% [markdown]
# ### Exercise 3: `self_attention`
#
# ★★☆ · 10 minutes · 1 to 5 lines
#
# <details><summary>Hint 1: a question</summary>
#
# Your `cross_attention` takes queries from elsewhere. What if they do not come from elsewhere?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. three products with x, one for each matrix
# 2. scores of every query with every key, scaled by the width that these two share
# 3. softmax for every query, and the mixture of the values
#
# Steps 2 and 3 stand in your answer to exercise 2 already.
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import self_attention

# %%
version_5 = check(self_attention).verified

# %% [markdown]
# Two tests again. Version 5 has to be version 4 with one source for everything. And with three matrices that change
# nothing, it has to be version 3, asked by the sentence itself.

# %%
version_5_is_version_4_with_one_source = torch.allclose(version_5(x, W_q, W_k, W_v), cross(x @ W_q, x, W_k, W_v))
with_three_identities_the_sentence_asks_version_3 = torch.allclose(
    version_5(x, unchanged, unchanged, unchanged), attention_v3(x, x))
assert version_5_is_version_4_with_one_source
assert with_three_identities_the_sentence_asks_version_3
tuple(version_5(x, W_q, W_k, W_v).shape)

# %% [markdown] name="contextual"
# ## What Africa has learned
#
# The third row of the result is **A⟨3⟩**, the *contextual embedding* of "l'Afrique": a vector for this word **in this
# sentence**. **Predict:** the value of "l'Afrique" itself is *travel* 0, *warm* 2. What is A⟨3⟩?

# %%
A = version_5(x, W_q, W_k, W_v)  # (N, D_v)
africa = A[2]  # (D_v,), this is A⟨3⟩
by_hand = 55 / 59 * values[1] + 1 / 59 * (values[0] + values[2] + values[3] + values[4])
paper_and_code_agree = torch.allclose(africa, by_hand, atol=0.01)
africa_is_now_about_travel = africa[0].item() > 1.8 and africa[1].item() < 0.1
assert paper_and_code_agree
assert africa_is_now_about_travel
dict(zip(contents, [round(a, 2) for a in africa.tolist()], strict=True))

# %% [markdown]
# It is full of *travel*: the answer to its question is "visite". In a sentence with another action, A⟨3⟩ would be
# another vector, with the same x for the word. Replace "visite" by a word that is an action, and *warm* instead of
# *travel*. **Predict** A⟨3⟩.

# %%
other = x.clone()
other[1] = torch.tensor([0.0, 2, 0, 0, 0, 2])  # "chauffe", heats
africa_elsewhere = version_5(other, W_q, W_k, W_v)[2]
the_same_word_gets_another_vector = africa_elsewhere[0].item() < 0.1 and africa_elsewhere[1].item() > 1.8
assert the_same_word_gets_another_vector
dict(zip(contents, [round(a, 2) for a in africa_elsewhere.tolist()], strict=True))

# %% [markdown] name="step-by-step"
# ## Watch it step by step
#
# First the projection. The sentence goes in once, and three tables come out. The frame marks the third word.

# %%
def frame(axis, row, width):
    axis.add_patch(plt.Rectangle((-0.5, row - 0.5), width, 1, fill=False, edgecolor="red", linewidth=3, zorder=5))


tables = {"x": (x, kinds + contents), "query = x W_q": (asks, kinds), "key = x W_k": (keys, kinds),
          "value = x W_v": (values, contents)}
figure, axes = plt.subplots(1, 4, figsize=(12.5, 3), layout="constrained", width_ratios=[6, 4, 4, 2])
for axis, (title, (matrix, features)) in zip(axes, tables.items(), strict=True):
    plots.heat_map(axis, matrix, words if axis is axes[0] else [""] * 5, features, title=title)
    frame(axis, 2, matrix.shape[1])
plots.show(figure, "Four tables with the row of l'Afrique framed. x: place 2, warm 2. Query: action 4. Key: place 2. "
                   "Value: warm 2.")

# %% [markdown]
# Then the scores. The query of "l'Afrique" goes from key to key. It is multiplied with each, feature by feature, and
# the products are added up. **Cover the picture**, and say the five sums first.

# %%
def compare(axis, n):
    """One step: the query of l'Afrique against the key of word n."""
    rows = torch.stack([asks[2], keys[n], asks[2] * keys[n]])  # (3, D_k)
    plots.heat_map(axis, rows, ["query", "key", "product"] if n == 0 else [""] * 3, kinds, limit=8)  # for all steps
    axis.set_title(f"{words[n]}\nsum {rows[2].sum():.0f}", fontsize=10)
    frame(axis, 2, 4)


# %%
sums = (asks[2] * keys).sum(dim=1)  # (N,)
only_the_key_of_visite_fits = sums.tolist() == [0, 8, 0, 0, 0]
assert only_the_key_of_visite_fits
figure, axes = plt.subplots(1, 5, figsize=(12.5, 2.8), layout="constrained")
for n, axis in enumerate(axes):
    compare(axis, n)
plots.show(figure, "Five steps. Each shows the query of l'Afrique, action 4, above the key of one word and their "
                   "product. Sums: Jane 0, visite 8, l'Afrique 0, en 0, septembre 0.")

# %% [markdown]
# Last, from the five sums to A⟨3⟩.

# %%
stages = {"score = sum / √4": africas_scores, "weight = softmax": torch.softmax(africas_scores, dim=0)}
figure, axes = plt.subplots(1, 4, figsize=(12, 2.9), layout="constrained", width_ratios=[3, 3, 2, 2])
for axis, (title, numbers) in zip(axes, stages.items(), strict=False):
    axis.barh(words, numbers)
    axis.bar_label(axis.containers[0], fmt="%.2f", fontsize=8, padding=2)
    axis.set(title=title, xlim=(0, 1.25 * numbers.max()), xticks=[0, numbers.max().ceil()])
    axis.invert_yaxis()
axes[1].set_yticklabels([])
shares = stages["weight = softmax"][:, None] * values  # (N, D_v)
plots.heat_map(axes[2], shares, [""] * 5, contents, title="weight * value")
plots.heat_map(axes[3], shares.sum(dim=0)[None], ["A⟨3⟩"], contents, title="their sum")
plots.show(figure, "From scores to the result. Scores: visite 4, the others 0. Weights: visite 0.93, the others 0.02. "
                   "Weight times value: travel 1.86 from visite, warm 0.03 from l'Afrique and 0.02 from septembre. "
                   "Their sum: travel 1.86, warm 0.05.")

# %% [markdown]
# If you would rather move the query by hand: type `slide()` into a cell of your own. Without `ipywidgets` it says so,
# and you have lost nothing: the strip above holds the same five steps.

# %%
def step(number):
    figure, axis = plt.subplots(figsize=(3.2, 2.6))
    compare(axis, number - 1)
    axis.set_yticks(range(3), ["query", "key", "product"])
    plots.show(figure, f"Step {number}: the query of l'Afrique against the key of {words[number - 1]}.")


def slide():
    """Step through the comparison with a slider."""
    try:
        from ipywidgets import interact
    except ImportError:
        return print("There is no ipywidgets here. The strip above shows the same steps.")
    interact(step, number=(1, 5))


step(2)

# %% [markdown] name="equation"
# ## The equation, term by term
#
# You have now computed every part of the best known line of the paper, its equation 1:
#
# $$
# \mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
# $$
#
# | term | what it says |
# |---|---|
# | $Q, K, V$ | what each word wants, is, gives |
# | $Q K^\top$ | who fits whom |
# | $/ \sqrt{d_k}$ | keeps the spread the same at any width, if features vary independently |
# | softmax | shares: each row sums to one |
# | $\cdot\, V$ | the shares are handed out |
#
# (If query and key agree, the scores still grow: with a correlation of 0.71 and variances of 1, they are
# $0.71 \sqrt{d_k}$ on average. That is 2.8 at width 16 and 22.7 at width 1,024.)
#
# **Predict** the shape after each step. Then assemble the equation.

# %%
Q, K, V = x @ W_q, x @ W_k, x @ W_v
terms = {"Q Kᵀ": Q @ K.T}
terms["Q Kᵀ / √d_k"] = terms["Q Kᵀ"] / K.shape[1] ** 0.5
terms["softmax(...)"] = torch.softmax(terms["Q Kᵀ / √d_k"], dim=1)
terms["softmax(...) V"] = terms["softmax(...)"] @ V
the_equation_is_version_5 = torch.allclose(terms["softmax(...) V"], version_5(x, W_q, W_k, W_v))
assert the_equation_is_version_5
for term, matrix in terms.items():
    print(f"{term:16}{tuple(matrix.shape)}   largest number {matrix.max():.2f}")

# %% [markdown] name="pattern"
# ## The attention pattern
#
# The table of weights has a row and a column for each word. It is called the **attention pattern**: an N × N map of who
# looks at whom. There are two ways to draw it. In the second, a **bigger circle means a better match**.
# **Predict:** "en" is half place, half time. Where does it look?

# %%
pattern = terms["softmax(...)"]  # (N, N)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plots.heat_map(axes[0], pattern, words, words, title="as a heat map", kind="weight")
rows, columns = torch.meshgrid(torch.arange(5), torch.arange(5), indexing="ij")
axes[1].scatter(columns, rows, s=900 * pattern, color=style.WEIGHT)
axes[1].set_xticks(range(5), words, rotation=45, ha="right")
axes[1].set_yticks(range(5), words)
axes[1].set(title="as circles", xlim=(-0.6, 4.6), ylim=(4.6, -0.6), aspect="equal")
for axis in axes:
    axis.set(xlabel="is asked", ylabel="asks")
plots.show(figure, "The pattern, 5 by 5, as numbers and as circles. Jane gives visite 0.93. Visite gives Jane 0.93. "
                   "L'Afrique gives visite 0.93. En gives visite and l'Afrique 0.38 each, and itself 0.14. Septembre "
                   "gives l'Afrique 0.84 and en 0.11. All other circles are dots.")

# %%
every_row_sums_to_one = torch.allclose(pattern.sum(dim=1), torch.ones(5))
en_looks_at_two_words_alike = abs(pattern[3, 1] - pattern[3, 2]).item() < 1e-6 and pattern[3, 1].item() > 0.35
assert every_row_sums_to_one
assert en_looks_at_two_words_alike
{word: words[i] for word, i in zip(words, pattern.argmax(dim=1).tolist(), strict=True) if word != "en"}

# %% [markdown]
# "l'Afrique" asks "visite", and "visite" asks "Jane": a relation with a direction. In lesson 02 the table of scores was
# symmetric. **Predict:** can such a table, too, say who looks at whom as ours does?

# %%
mutual = torch.zeros(6, 6)
for i, j, strength in ((0, 1, 6.0), (1, 2, 4.0), (2, 3, 2.0)):  # person–action, action–place, place–time
    mutual[i, j] = mutual[j, i] = strength
from_symmetric = torch.softmax(x @ mutual @ x.T / 2, dim=1)  # (N, N)
looks_at = [P.argmax(dim=1)[[0, 1, 2, 4]].tolist() for P in (pattern, from_symmetric)]  # "en" looks at two alike
one_way = [round((P[2, 1] / P[1, 2]).item(), 1) for P in (pattern, from_symmetric)]  # l'Afrique to visite : back
a_symmetric_table_does_it_too = looks_at[0] == looks_at[1] and min(one_way) > 50
assert a_symmetric_table_does_it_too
one_way

# %% [markdown]
# It can, since the softmax goes row by row. "l'Afrique" asks "visite", and "visite" asks whoever scores more.

# %% [markdown] name="learnable"
# ## Three matrices to learn
#
# We wrote `W_q`, `W_k` and `W_v` by hand. A network learns them. Each is one layer of the plainest kind: every input
# joined to every output, no bias, no activation. A thick line is one of our numbers; a thin line is a zero that
# training may change.

# %%
def draw_layer(axis, W, outputs, title):
    """One linear layer: six features on the left, the outputs on the right, one line per weight."""
    top = (6 - len(outputs)) / 2
    for i, feature in enumerate(kinds + contents):
        axis.text(-0.08, i, feature, ha="right", va="center", fontsize=9)
        for j in range(len(outputs)):
            used = W[i, j].item() != 0
            axis.plot([0, 1], [i, top + j], color="#2b2b33" if used else "#d8d3c5", linewidth=1 + used, zorder=used)
    for j, output in enumerate(outputs):
        axis.text(1.08, top + j, output, va="center", fontsize=9)
    axis.scatter([0] * 6 + [1] * len(outputs), [*range(6), *(top + j for j in range(len(outputs)))], s=60, zorder=3)
    axis.set(title=title, xlim=(-0.7, 1.9), ylim=(5.6, -0.6))
    axis.axis("off")


# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
draw_layer(axes[0], W_q, [f"wants {kind}" for kind in kinds], "W_q makes the query")
draw_layer(axes[1], W_k, [f"is {kind}" for kind in kinds], "W_k makes the key")
draw_layer(axes[2], W_v, [f"gives {content}" for content in contents], "W_v makes the value")
plots.show(figure, "Three small networks, each with six inputs. W_q has four outputs; thick lines lead from person and "
                   "place to wants action, from action to wants person, from time to wants place. W_k has four; thick "
                   "lines join each kind to itself. W_v has two; thick lines join travel to travel and warm to warm.")

# %% [markdown]
# All five words go through the **same** three layers. In PyTorch such a layer is `nn.Linear` without bias, which keeps
# its matrix as (out, in), on its side. **Predict:** how many numbers are there to learn, and do they depend on the
# length of the sentence?

# %%
learned = [W.clone().requires_grad_() for W in (W_q, W_k, W_v)]
version_5(x, *learned)[2].sum().backward()  # something about A⟨3⟩
a_gradient_reaches_all_three = all(W.grad.abs().max().item() > 0 for W in learned)
assert a_gradient_reaches_all_three
print(sum(W.numel() for W in learned), "numbers; no shape holds the five of our five words:")
{name: tuple(W.shape) for name, W in zip(["W_q", "W_k", "W_v"], learned, strict=True)}

# %% [markdown] name="three-times"
# ## Why do we pass the same input three times?
#
# PyTorch's own layer is called like this: `attention(x, x, x)`. At first sight it looks as if it got the
# same information three times. Does it?
#
# Here is the layer with one head. (Heads are lesson 06.) Its three matrices lie on top of each other in one parameter,
# and a fourth one follows at the end. **Predict:** will your version 5 give the same numbers?

# %%
torch.manual_seed(0)
layer = torch.nn.MultiheadAttention(6, num_heads=1, bias=False, batch_first=True)
torchs_q, torchs_k, torchs_v = (W.T for W in layer.in_proj_weight.chunk(3))  # (6, 6) each, stored (out, in)
out, weights = layer(x, x, x)  # (N, 6), (N, N)
yours = version_5(x, torchs_q, torchs_k, torchs_v)  # (N, 6)
equal = {"version 5": torch.allclose(yours, out, atol=1e-5),
         "version 5, then the fourth matrix": torch.allclose(layer.out_proj(yours), out, atol=1e-5)}
the_fourth_matrix_is_needed = list(equal.values()) == [False, True]
assert the_fourth_matrix_is_needed
equal

# %% [markdown]
# With the fourth matrix, it does. The three arguments are not three pieces of information. They are three **parts to
# play**: who asks, who is compared, who delivers. In self-attention the same actor plays all three, in three costumes:
# `W_q`, `W_k`, `W_v`.
#
# To see that the parts differ, give one of them to another sentence. **Predict:** which of the three changes leaves the
# weights as they were?

# %%
another = torch.randn(5, 6, generator=generator)
changed = {"query": (another, x, x), "key": (x, another, x), "value": (x, x, another)}
same_weights = {part: torch.allclose(layer(*three)[1], weights, atol=1e-6) for part, three in changed.items()}
same_result = {part: torch.allclose(layer(*three)[0], out, atol=1e-6) for part, three in changed.items()}
only_the_value_leaves_the_weights_alone = same_weights == {"query": False, "key": False, "value": True}
each_part_matters_for_the_result = not any(same_result.values())
assert only_the_value_leaves_the_weights_alone
assert each_part_matters_for_the_result
same_weights

# %% [markdown]
# The first change, `layer(another, x, x)`, has a name: cross-attention. That is why the call has three arguments. Is it
# your version 4? **Predict:** what has to be done to `another` before it goes in as the queries?

# %%
of_torch = layer(another, x, x)[0]  # (5, 6)
by_version_4 = {"as they are": another, "times W_q": another @ torchs_q}
equal = {how: torch.allclose(layer.out_proj(cross(asking, x, torchs_k, torchs_v)), of_torch, atol=1e-5)
         for how, asking in by_version_4.items()}
cross_attention_projects_its_queries_too = equal == {"as they are": False, "times W_q": True}
assert cross_attention_projects_its_queries_too
equal

# %% [markdown]
# PyTorch's cross-attention projects its queries, too: it is version 4 behind a `W_q`. With x in all three places, it is
# version 5.

# %% [markdown] name="change"
# ## Attention writes a change
#
# Back to A⟨3⟩, which is *travel* 1.86 and *warm* 0.05. The word has learned what happens there. But is it still a
# place? Is it still warm? Version 5 has **replaced** the word by what the words gave it.
#
# So in a Transformer the result is not taken as the new word. It is taken as a **change**, ΔE, and added to the word:
# E + ΔE. For that it needs the width of x again. A last matrix, `W_o`, brings it there: it is the fourth matrix in
# PyTorch's layer. (Lesson 00 saw a matrix before the mixing and one after it: they are `W_v` and `W_o`.) Ours puts
# *travel* and *warm* back in their places. **Predict** the row of "l'Afrique".

# %%
W_o = W_v.T  # (D_v, D_x) = (2, 6)
delta = A @ W_o  # (N, D_x)
figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.2), layout="constrained")
for axis, matrix, title in zip(axes, (x, delta, x + delta), ("E", "ΔE", "E + ΔE"), strict=True):
    plots.heat_map(axis, matrix, words, kinds + contents, title=title, limit=plots.one_scale(x, delta, x + delta))
    frame(axis, 2, 6)
plots.show(figure, "Three tables on one scale, the row of l'Afrique framed. E: place 2, warm 2. Delta E: travel 1.86, "
                   "warm 0.05, and no kinds at all. The sum: place 2, as in E, travel 1.86, warm 2.05.")

# %%
africa_is_still_a_warm_place = (x + delta)[2, 2].item() == 2 and (x + delta)[2, 5].item() >= 2
and_has_gained_travel = (x + delta)[2, 4].item() > 1.8
assert africa_is_still_a_warm_place
assert and_has_gained_travel
{feature: round(v, 2) for feature, v in zip(kinds + contents, (x + delta)[2].tolist(), strict=True)}

# %% [markdown]
# *A warm place someone visits*: that is what "l'Afrique" means in this sentence. And "visite" still knows that it
# is an action, for the next layer to find. Lesson 08 builds this sum, the *skip connection*, and shows what breaks
# without it.

# %% [markdown] name="square"
# ## A claim to test: "three square matrices"
#
# *"Self-attention has three square matrices, $W_Q$, $W_K$ and $W_V$."*
#
# Ours were 6 × 4 and 6 × 2. **Predict:** is one column enough for a matrix, and may it have more columns than x has
# features? Which widths have to agree?

# %%
def random_matrices(d_q, d_k, d_v):
    return [torch.randn(6, width, generator=generator) for width in (d_q, d_k, d_v)]


shapes = {(d_k, d_v): tuple(version_5(x, *random_matrices(d_k, d_k, d_v)).shape)
          for d_k in (1, 9) for d_v in (2, 7)}
none_has_to_be_square = all(shape == (5, d_v) for (_, d_v), shape in shapes.items())
assert none_has_to_be_square
shapes

# %% [markdown]
# Every choice works, and nine columns are as welcome as one. Now give queries and keys different widths.

# %%
try:
    version_5(x, *random_matrices(3, 4, 2))
    query_and_key_must_share_a_width = False
except (RuntimeError, ValueError):
    query_and_key_must_share_a_width = True
    print("queries of width 3 and keys of width 4 have no dot product")
assert query_and_key_must_share_a_width

# %% [markdown]
# **Verdict: false.** Each matrix has as many rows as x has features; how many columns it has is free, and the values
# may have a width of their own. One thing only is required: `W_q` and `W_k` share $d_k$, because a query and a key meet
# in a dot product.
#
# In the paper all three are 512 × 64 (section 3.2.2), and eight of each are used. In code the eight often stand side by
# side, and 8 · 64 = 512: that one matrix is square. What *is* tied to x is the last matrix: `W_o` has to end in the
# width of x, or ΔE could not be added.

# %% [markdown] name="relations-and-content"
# ## Who relates to whom, and what is handed over
#
# Three matrices are to be learned. What will each of them learn? `W_q` and `W_k` make the weights: they decide **who
# relates to whom**. `W_v` decides **what is handed over**. Can the parts of `W_q` and `W_k` be told apart? The scores
# are
#
# $$
# Q K^\top = x W_q\, (x W_k)^\top = x\, (\boldsymbol{W_q W_k^\top})\, x^\top
# $$
#
# Only the product of the two appears. Take a matrix $M$ that has an **inverse**: a matrix $M^{-1}$ that undoes it, so
# that $M M^{-1}$ changes nothing. **Predict:** put $W_q M$ in the place of $W_q$ and $W_k (M^{-1})^\top$ in the place
# of $W_k$. Both are new. What happens to the result?

# %%
M = torch.ones(4, 4).triu()  # (D_k, D_k)
new_q, new_k = W_q @ M, W_k @ torch.linalg.inv(M).T
only_the_product_counts = torch.allclose(version_5(x, new_q, new_k, W_v), version_5(x, W_q, W_k, W_v), atol=1e-5)
both_matrices_are_new = not torch.allclose(new_q, W_q) and not torch.allclose(new_k, W_k)
assert only_the_product_counts
assert both_matrices_are_new
new_q[:4]

# %% [markdown]
# Nothing happens. So do not read meaning into `W_q` or `W_k` alone. Their product can be read, row by row: row *place*
# says how much **more** a place looks for an action than for the other kinds. Only differences within a row count. In
# the same way, `W_v W_o` says what becomes of a content that is handed over. The two products are called **QK circuit**
# and **OV circuit** ([Elhage et al. 2021](https://transformer-circuits.pub/2021/framework/index.html)).

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
plots.heat_map(axes[0], W_q @ W_k.T, kinds + contents, kinds + contents, title="W_q W_kᵀ: relations")
axes[0].set(xlabel="is asked", ylabel="asks")
plots.heat_map(axes[1], W_v @ W_o, kinds + contents, kinds + contents, title="W_v W_o: content")
axes[1].set(xlabel="arrives", ylabel="is handed over")
lowered = W_q @ W_k.T
lowered[2, :4] -= 5  # the row place, all four kinds; place and action is now 2 - 5
only_differences_count = torch.allclose(torch.softmax(x @ lowered @ x.T / 2, dim=1), pattern, atol=1e-6)
assert only_differences_count
plots.show(figure, "Two tables of six by six features. Relations: person asks action, action asks person, place asks "
                   "action, time asks place, all with 2; the rest is 0. Content: travel becomes travel and warm "
                   "becomes warm, with 1; the rest is 0.")

# %% [markdown]
# ## Does training find them?
#
# We know the four questions because we wrote them. Start from random matrices, and show the network only what each word
# should **receive**: a place the content of the action, a person the content of the action, and so on. The content
# is random and new in each sentence, and nobody says where it comes from.

# %%
looks_for = torch.tensor([1, 0, 1, 2])  # person, action, place, time: whose content it should receive


def sentences(how_many, generator):
    content = torch.randn(how_many, 4, 2, generator=generator)
    return torch.cat([2 * torch.eye(4).expand(how_many, 4, 4), content], dim=-1), content  # (B, 4, 6), (B, 4, 2)


def train(seed, steps=300):
    generator = torch.Generator().manual_seed(seed)
    matrices = torch.nn.ParameterList(torch.randn(6, width, generator=generator) / 2 for width in (4, 4, 2))

    def error(matrices, x, content):
        W_q, W_k, W_v = matrices
        weights = torch.softmax(x @ W_q @ (x @ W_k).mT / 2, dim=-1)  # (B, 4, 4)
        return ((weights @ (x @ W_v) - content[:, looks_for]) ** 2).mean()

    batches = (sentences(32, generator) for _ in range(steps))
    fit(matrices, error, batches, torch.optim.Adam(matrices.parameters(), lr=0.03))
    return [W.detach() for W in matrices]


# %% [markdown]
# Three trainings, each from other random numbers. **Predict:** does their `W_q` look like ours? Like each other? Do the
# patterns, do the `W_v`?

# %%
trained = [train(seed) for seed in range(3)]
new_sentence, content = (t[0] for t in sentences(1, generator))  # (4, 6), (4, 2)
patterns = [pairwise(new_sentence @ q, new_sentence @ k) for q, k, _ in trained]  # (4, 4) each
figure, axes = plt.subplots(3, 3, figsize=(9, 9), layout="constrained", width_ratios=[4, 4, 2])
for line, (q, _, v), pattern in zip(axes, trained, patterns, strict=True):
    plots.heat_map(line[0], q, kinds + contents, [1, 2, 3, 4], "W_q", limit=plots.one_scale(*(m[0] for m in trained)))
    plots.heat_map(line[1], pattern, kinds, kinds, "pattern of a new sentence", kind="weight")
    plots.heat_map(line[2], v, kinds + contents, contents, "W_v", limit=plots.one_scale(*(m[2] for m in trained)))
plots.show(figure, "Three trainings below each other. W_q: numbers of both signs, other ones each time. The pattern of "
                   "a new sentence is the same each time: person and place look at action, action at person, time at "
                   "place, each with nearly all its weight. W_v: one from travel to travel and from warm to warm, zero "
                   "in the rows person, action and place, and other numbers each time in the row time.")

# %%
receives = torch.stack([version_5(new_sentence, *matrices) for matrices in trained])  # (3, 4, 2)
the_four_questions_were_found = all(bool((pattern[range(4), looks_for] > 0.9).all()) for pattern in patterns)
the_products_ask_them = all((q @ k.T)[:4, :4].argmax(dim=1).equal(looks_for) for q, k, _ in trained)
the_content_is_handed_over_as_it_is = all(torch.allclose(v[4:], torch.eye(2), atol=0.1) for *_, v in trained)
every_q = torch.nn.functional.normalize(torch.stack([W_q, *(q for q, *_ in trained)]).flatten(1), dim=1)  # (4, 24)
no_w_q_looks_like_another = (every_q @ every_q.T).triu(1).abs().max().item() < 0.7  # cosines, ours included
a_new_sentence_gets_what_it_should = torch.allclose(receives, content[looks_for].expand(3, 4, 2), atol=0.3)
assert the_four_questions_were_found
assert the_products_ask_them
assert the_content_is_handed_over_as_it_is
assert no_w_q_looks_like_another
assert a_new_sentence_gets_what_it_should
{kind: [kinds[pattern[i].argmax()] for pattern in patterns] for i, kind in enumerate(kinds)}

# %% [markdown]
# All three have found the four relations and the content. No `W_q` looks like another, nor like ours; only the products
# with `W_k` agree in what each kind looks for. (With `W_k` held at the identity, six of six trainings found them, too.)
#
# The row *time* of `W_v` is another each time. **Predict:** raise one row of `W_v` by 1, that of each kind in turn. For
# which kinds do the results move?

# %%
def moved_by(kind):
    """How far the results move at most, over the three trainings, when a row of W_v is raised by 1."""
    raised = torch.zeros(6, 2)
    raised[kind] = 1
    after = torch.stack([version_5(new_sentence, q, k, v + raised) for q, k, v in trained])
    return (after - receives).abs().max().item()


the_row_time_hardly_matters = moved_by(3) < 0.2
each_other_row_does = min(moved_by(kind) for kind in range(3)) > 1
assert the_row_time_hardly_matters
assert each_other_row_does
{kind: round(moved_by(i), 2) for i, kind in enumerate(kinds)}

# %% [markdown]
# Nobody looks at the time, so what it would hand over hardly matters. And note what was easy here: each word had
# **one** question. "visite" may want to know *who*, *where* and *when* at the same time. With one pattern it can only
# share its weight among them.

# %% [markdown]
# ## Summary
#
# - **Version 3**: many queries are the rows of a matrix, and one product compares all with all.
# - **Version 4**: a key to be compared, a value to be delivered; made from one x, it is version 3 between two matrices.
#   The queries come from elsewhere: cross-attention.
# - **Version 5**: the queries come from the input, too: self-attention. It is version 4 with one source.
# - $\mathrm{softmax}(Q K^\top / \sqrt{d_k})\, V$: who fits whom, scaled, as shares, handed out.
# - $W_q$ and $W_k$ decide who relates to whom, and only through their product. $W_v$ decides what is handed over.
# - No matrix has to be square. The result is a change, which is added to the word.
#
# **Think about it.** Let `W_q` and `W_k` be the same matrix. A word's score with itself is then the squared length of
# its key. Which relation can no such matrix give: a *time* looks mostly at a *place*, or a *person* and an *action*
# look mostly at each other? Why?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): equation 1 in section 3.2.1; section 3.2.3
# for its three uses, of which you now have two, and the third needs a mask; section 2 for self-attention before the
# Transformer. Section 3.1 adds the result to the input.
#
# **Next.** One set of matrices gives one pattern, and a word has more than one question. Lesson 06 lets several version
# 5s work side by side: version 6, multi-head attention.
