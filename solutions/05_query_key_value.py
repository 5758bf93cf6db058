# %% [markdown]
# # 05 · Versions 3 to 5: query, key, value
#
# *135 minutes: reading 55, predicting 25, writing 55 · needs lesson 04 · three exercises ·
# two sittings of 60 and 75 minutes*
#
# **At the end you can**
#
# - put many questions to a sentence in one matrix product (version 3);
# - give each word a key and a value, say what that buys, and let one sentence ask another
#   (version 4);
# - let a sentence ask itself (version 5), and design the matrices that make one word look at
#   another;
# - answer the question "why do we pass the same input three times?".

# %%
import torch

from course_lib import check, claim, intervene, predict, shipped
from course_lib.attention import scaled_dot_product_attention_single as attention_v2
from course_lib.display import instruments, plots
from course_lib.display.drawings import projection as draw
from course_lib.display.drawings.one_query import one_query

torch.set_num_threads(1)

# %% [markdown]
# ## One sentence
#
# *Jane visite l'Afrique en septembre.* Five words, and for each of them six numbers that we
# make up. The first four features say what **kind** of thing a word is: *person*, *action*,
# *place*, *time*. The last two say something about its **content**: has it to do with
# *travel*, is it *warm*?
#
# "en" may lead to a place or to a time, so it gets a little of both. About Jane we know
# nothing but that she is a person.

# %%
words = ["Jane", "visite", "l'Afrique", "en", "septembre"]
kinds, contents = ["person", "action", "place", "time"], ["travel", "warm"]
x = torch.tensor([[2.0, 0, 0, 0, 0, 0], [0, 2, 0, 0, 2, 0], [0, 0, 2, 0, 0, 2],
                  [0, 0, 1, 1, 0, 0], [0, 0, 0, 2, 0, 1]])  # (N, D) = (5, 6)
plots.show(plots.panels({"x": x}, words, kinds + contents), "five-words")

# %% [markdown]
# ### Three questions
#
# A question is a vector, too. *Who?* asks for a person, three of it, and for nothing else.
# Then there are *where?* and *when?*. Version 2 takes one query, so we call it three times.

# %%
questions = ["Who?", "Where?", "When?"]
queries = 3 * torch.eye(6)[[0, 2, 3]]  # Q: (M, D) = (3, 6), one question per row
queries

# %% tags=["predict"]
predict(
    "“septembre” is time 2, warm 1; “en” is place 1, time 1. The answer to *when?* has "
    "most of …",
    {
        "warm, which nobody asked about": "“septembre” hands over all it is. But of "
        "its warm there is half as much as of its time.",
        "time": (
            True,
            "The word that fits the question best is handed over, and it fits because "
            "it has much of what was asked for.",
        ),
        "place and time alike": "“en” has as much place as time. But “septembre” "
        "scores twice as high.",
    },
    concept="C042",
)

# %%
answers = torch.stack([attention_v2(query, x) for query in queries])  # (M, D)
plots.show(plots.panels({"version 2, three times": answers}, questions,
                        kinds + contents, labels=("feature", "question")),
           "three-answers")

# %% tags=["claim"]
# The proof
claim("each answer has most of what was asked for, and when nearly twice as much time "
      "as warm", answers.argmax(dim=1).tolist() == [0, 2, 3]
      and 1.9 < answers[2, 3] / answers[2, 5] < 2)

# %% [markdown] name="version-3"
# ## Version 3: many queries are one matrix product
#
# Lesson 00 turned a loop of weighted sums into one product. Here is a loop again. The
# questions already stand below each other, as the rows of a matrix $Q$. Row $m$ of
# $Q X^\top$ holds the dot products of question $m$ with all words: its scores.

# %%
table = queries @ x.T  # (M, D) @ (D, N) = (M, N)
plots.show(plots.panels({"Q Xᵀ": table}, questions, words, "score",
                        labels=("word", "question")), "scores-of-questions")

# %% [markdown]
# All that is left is version 2 on every row.
#
# | part | version 2 | version 3 |
# |---|---|---|
# | **inputs** | query $q$ (D,), inputs $X$ (N, D) | **queries $Q$ (M, D)**, inputs $X$ (N, D) |
# | **similarity** | $X q \,/ \sqrt{D}$ | $\boldsymbol{Q X^\top / \sqrt{D}}$ |
# | **outputs** | scores (N,), weights (N,), mixture (D,) | **scores (M, N), weights (M, N), result (M, D)** |

# %% tags=["predict"]
predict(
    "Which numbers of this table have to add up to 1 after the softmax?",
    {
        "each row": (True, "A row is one question, and its weights are shares of one "
                           "answer."),
        "each column": "A column is one word. Several questions may want all of it, or "
        "none.",
        "all fifteen": "Then an easy question would take the weight of a hard one.",
    },
    concept="C040",
)

# %% [markdown]
# ### Exercise 1: `attention_query_matrix`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# Version 3, for any number of queries and inputs, without a loop. The docstring is the
# whole contract.
#
# <details><summary>Hint 1: a question</summary>
#
# In `torch.softmax(scores, dim=...)`, which `dim` runs along a row?
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

# %% tags=["claim"]
# The proof
claim("version 3 with one query is version 2, and with three the loop",
      torch.allclose(attention_v3(queries[:1], x)[0], attention_v2(queries[0], x))
      and torch.allclose(attention_v3(queries, x), answers))

# %% [markdown] name="two-jobs"
# ## One vector, two jobs
#
# The answer to *when?* has nearly twice as much *time* as *warm*. You asked for a time. Now
# you are told: it is a time. What you did not know is that it is warm then, and that is the
# smaller part.
#
# ### Yours: ask better
#
# Find a question, six numbers up to 20, to which version 3 answers with more *warm* than
# *place* and *time* together. Or, after some tries, `None`, if you think that there is none.

# %%
def label_and_warm(question):
    """Place + time, and warm, in the answer to six numbers."""
    if question is not None:
        answer = attention_v3(torch.tensor([question], dtype=torch.float32), x)[0]
        return round((answer[2] + answer[3]).item(), 2), round(answer[5].item(), 2)


# %% tags=["yours"]
better = None  # yours: six numbers up to 20, or None
intervene(
    "an answer with more warm than place and time together, or None if there is none",
    better,
    run=label_and_warm,
    holds=lambda found: found is None or found[1] > found[0],
    among=lambda q: q is None or (len(q) == 6 and max(map(abs, q)) <= 20),
    shows="place + time and warm in its answer: {result}",
    otherwise="Look at the words that are warm: what else is each of them?",
)

# %% [markdown]
# There is none. Only "l'Afrique" and "septembre" are warm, and each has at least as much
# *place* or *time* as it has *warm*. What holds for every row holds for every mixture of
# the rows.
#
# Each row of x has two jobs. It is **compared**, and for that it needs the kind. It is
# **delivered**, and for that it needs the content. In version 3 one vector does both jobs,
# so the label is delivered with the goods.

# %% tags=["claim"]
# The proof
claim("no word of x has more warm than place and time together, so no mixture has",
      bool((x[:, 5] <= x[:, 2] + x[:, 3]).all()))

# %% [markdown] name="real-word"
# ### A real word
#
# Is a real vector like that? The course ships word vectors of a trained model, 384 numbers
# per word. They have no column *time*. But we can ask what the eleven other months have in
# common, their mean, and split "september" into the part that points that way and the rest.

# %%
vectors = shipped.word_vectors()
months = ("january february march april may june july august september october "
          "november december").split()
shared = torch.stack([vectors[m] for m in months if m != "september"]).mean(0)
shared = shared / shared.norm()  # what the other months have in common, of length 1


def part_along(vector, direction):
    """The share of a vector's squared length that points in a direction of length 1."""
    return ((vector @ direction) ** 2 / (vector @ vector)).item()


# %% tags=["predict"]
predict(
    "How much of the vector of “september” (of its squared length, from 0 to 1) says "
    "only that it is a month?",
    {
        0.02: "So it is with a word that is no month. This one is.",
        0.1: "That would be a word that is a little like a month.",
        0.25: "So it is with “africa” and what countries share. Months are more alike.",
        0.5: (True, "Half of it is the label that all months share."),
        0.9: "Then months could hardly be told apart.",
    },
    concept="C042",
    within=0.08,
)

# %%
def like_the_rest(word):
    """Of a month: how much is the label, and the seven words most like what is left."""
    label = torch.stack([vectors[month] for month in months if month != word]).mean(0)
    label = label / label.norm()
    rest = vectors[word] - (vectors[word] @ label) * label
    names = [name for name in vectors if name not in months]
    close = torch.stack([torch.cosine_similarity(vectors[name], rest, 0)
                         for name in names])
    most_like = [names[i] for i in close.topk(7).indices]
    return round(part_along(vectors[word], label), 2), most_like


like_the_rest("september")

# %% [markdown]
# Half of it is the label. And the rest? *nine*: it is the ninth month. *autumn*, *hot*
# (and *black* and *berlin*, for whatever reason). This is what you would like to be told
# when you ask *when?*. Both lie in one vector, and whoever compares by it delivers it whole.
#
# ### Yours: the odd month
#
# One month is hardly a month: the label is less than a quarter of its vector. Which one, and
# why? The words that are like the rest will tell you.

# %% tags=["yours"]
month = "may"  # yours: a month
intervene(
    "a month of which the label is less than a quarter",
    month,
    run=like_the_rest,
    holds=lambda found: found[0] < 0.25,
    among=months,
    shows="the label is {result[0]:.2f} of “{choice}”; the rest is like {result[1]}",
    otherwise="Which month's name means something else as well?",
)

# %% tags=["claim"]
# The proof
others = [name for name in vectors if name not in months]
seasons = dict(zip(months, ["winter"] * 2 + ["spring"] * 3 + ["summer"] * 3
                   + ["autumn"] * 3 + ["winter"], strict=True))
claim("half of “september” says only that it is a month, and of no word that is not "
      "one a quarter does", 0.4 < part_along(vectors["september"], shared) < 0.6
      and max(part_along(vectors[name], shared) for name in others) < 0.25)
claim("the rest of most months has its season among the seven words most like it",
      sum(season in like_the_rest(name)[1] for name, season in seasons.items()) > 6)

# %% [markdown] name="retrieval"
# ## How a search does it
#
# You look for a video. You type a **text**. It is compared with the **titles**. You get the
# **videos**. Your text is not compared with pixels, and it is not the title that you want
# to watch.
#
# | part | in the search | in attention |
# |---|---|---|
# | what you ask with | the text you type | **query** |
# | what it is compared with | the title | **key** |
# | what you get | the video | **value** |
#
# In numbers: texts and titles count four words, *Africa*, *September*, *journey* and
# *cooking*. A "video" is six numbers, its frames. There are three: those of *Journey to Africa*
# grow, those of *Cooking in September* stay, those of *Cooking in Africa* fall.

# %%
titles = ["Journey to Africa", "Cooking in September", "Cooking in Africa"]
title_vectors = torch.tensor(
    [[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])  # keys: (3, 4)
videos = torch.tensor([[0.1, 0.2, 0.4, 0.6, 0.8, 1.0], [0.5] * 6,
                       [0.9, 0.7, 0.5, 0.3, 0.1, 0.1]])  # values: (3, 6)


def search(text):
    """For a text as four numbers: scores (3,), weights (3,), what is delivered (6,)."""
    scores = title_vectors @ torch.tensor(text, dtype=torch.float32) / 4**0.5
    weights = scores.softmax(0)
    return scores, weights, weights @ videos


# %% tags=["predict"]
predict(
    "You type *Africa journey*: 4 of each. What is delivered?",
    {
        "the first video, exactly": "So would a dictionary deliver it. A softmax gives "
        "every title some weight.",
        "the first video, with a little of the third": (
            True,
            "The third title shares one of your two words, so its video gets a small "
            "weight, and the frames are mixed.",
        ),
        "the title of the first video": "The title is what is *compared*. You get what "
        "belongs to it.",
        "the first and the third, half and half": "The first title has both your "
        "words, the third has one. Twice the score is far more than twice the weight.",
    },
    concept="C045",
)

# %%
typed = [4.0, 0, 4, 0]
scores, weights, delivered = search(typed)
plots.show(one_query(titles, typed, title_vectors, scores, weights, videos, delivered,
                     asks="Africa, journey"), "video-search")

# %% [markdown]
# A Python dictionary works like this, too: `library[key]` gives a value. But there the key
# has to be equal, and one value comes, or an error. Attention compares with **all** keys
# and delivers something of **every** value. It is a soft dictionary, and so it has slopes
# to learn from.
#
# ### Yours: another film
#
# Type four numbers from 0 to 10, for *Africa*, *September*, *journey* and *cooking*, so that
# *Cooking in Africa* gets more than 0.95 of the weight.

# %% tags=["yours"]
text = [8, 0, 0, 8]  # yours: four numbers from 0 to 10
intervene(
    "“Cooking in Africa” gets more than 0.95 of the weight",
    text,
    run=lambda text: search(text)[1][2].item(),
    holds=lambda weight: weight > 0.95,
    among=lambda text: len(text) == 4 and min(text) >= 0 and max(text) <= 10,
    shows="it gets {result:.2f}",
    otherwise="Each of its words stands in another title, too. And a longer query "
    "makes any match surer.",
)

# %% tags=["claim"]
# The proof
claim("what is delivered is nearly the first video",
      torch.allclose(delivered, videos[0], atol=0.15)
      and not torch.allclose(delivered, videos[0], atol=0.01))
claim("neither word alone finds “Cooking in Africa”, however strong",
      max(search(word)[1][2].item() for word in ([10, 0, 0, 0], [0, 0, 0, 10])) < 0.51)

# %% [markdown] name="version-4"
# ## Version 4: keys and values apart
#
# Make two vectors from each word: a key to be compared, a value to be delivered. The
# simplest way from one vector to another is a matrix, a **projection**. Ours keep some
# features and drop the others; later they will be learned.

# %%
W_k = torch.eye(6)[:, :4]  # (D_x, D_q) = (6, 4), keeps the kind
W_v = torch.eye(6)[:, 4:]  # (D_x, D_v) = (6, 2), keeps the content
keys, values = x @ W_k, x @ W_v  # K: (N, D_q), V: (N, D_v)
plots.show(draw.products(x, words, kinds + contents,
                         ("W_k", W_k, "keys", "key", kinds),
                         ("W_v", W_v, "values", "value", contents), framed=2),
           "keys-and-values")

# %% tags=["predict"]
predict(
    "In x, “l'Afrique” gets place 3 in the place of 2. What of it changes?",
    {
        "its key and its value": "Go along its row and down a column of W_v: where is "
        "the number that meets *place*?",
        "its key alone": (
            True,
            "The row *place* of W_v is 0. What this matrix does not read cannot reach "
            "the value.",
        ),
        "its value alone": "The value reads *travel* and *warm*.",
        "the keys of all five words": "Every row of x is multiplied by itself, without "
        "the others.",
    },
    concept="C050",
)

# %%
moved = x.clone()
moved[2, 2] = 3
{"rows of the keys that change": (moved @ W_k != keys).any(1).sum().item(),
 "rows of the values that change": (moved @ W_v != values).any(1).sum().item()}

# %% [markdown]
# And who asks? **Someone else.** Picture a writer who turns our sentence into English, word
# by word. After *Jane* comes an action; after *Jane visits*, a place; after *Jane visits
# Africa in*, a time. A query says which, with a strength of 4.
#
# One number first. The query is *action* 4, the key of "visite" is *action* 2, and the width
# is 4. So the score is $4 \cdot 2 / \sqrt{4} = 4$. The other four words have a score of 0,
# and $e^4$ is about 55: "visite" gets $55 / (55 + 4)$ of the weight, 0.93.

# %%
writer = ["Jane ...", "Jane visits ...", "Jane visits Africa in ..."]
wishes = 4 * torch.eye(4)[1:]  # Q: (M, D_q) = (3, 4): an action, a place, a time
scores = wishes @ keys.T / 4**0.5  # (M, N)
plots.show(plots.panels({"weights": torch.softmax(scores, 1)}, writer, words, "weight",
                        labels=("is asked", "asks")), "writer-asks")

# %% [markdown]
# Queries from one sequence, keys and values from another: this is **cross-attention**. The
# paper calls it *encoder–decoder attention*.
#
# | part | version 3 | version 4 |
# |---|---|---|
# | **inputs** | $Q$ (M, D), $X$ (N, D) | $Q$ (M, D_q), $X$ (N, D_x), $\boldsymbol{W_k (D_x, D_q), W_v (D_x, D_v)}$ |
# | **similarity** | $Q X^\top / \sqrt{D}$ | $Q \boldsymbol{K}^\top / \sqrt{D_q}$, where the keys are $K = X W_k$ |
# | **outputs** | scores, weights (M, N), result (M, D) | scores, weights (M, N), result $\boldsymbol{(M, D_v)}$ |
#
# The widths have come apart, too. Queries and keys still share one. The inputs and the
# values have their own.

# %% tags=["predict"]
predict(
    "After *Jane visits* the query asks for a place, 4. What does the writer receive?",
    {
        "place 2 and warm 2, all of “l'Afrique”": "So it was in version 3. Which of "
        "its features reach the value?",
        "mostly warm, and no place": (
            True,
            "The place was compared and has done its work. Only contents are "
            "delivered: a little less than warm 2, since other words have weight, too.",
        ),
        "mostly travel": "That is what “visite” hands over, and it is no place.",
        "the key of “l'Afrique”": "A key is compared and never delivered.",
    },
    concept="C041",
)

# %% [markdown]
# ### Exercise 2: `cross_attention`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Try it wrong on purpose, too: mix the keys instead of the values, and read what the card
# says.
#
# <details><summary>Hint 1: a question</summary>
#
# There are three widths: D_q, D_x and D_v. Which two vectors meet in a dot product, and how
# many products does it add up? That number is under the root.
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

# %%
received = cross(wishes, x, W_k, W_v)  # (M, D_v)
plots.show(plots.panels({"the writer receives": received},
                        ["an action", "a place", "a time"], contents, "value",
                        labels=("content", "asked for")), "writer-receives")

# %% [markdown] name="own-query-matrix"
# ### Whoever asks has a matrix, too
#
# These queries came ready made. In a Transformer they are made as well, from what the
# writer has written so far, by a matrix of their own: $W_q$. So cross-attention has **three**
# matrices. One reads the sequence that asks, two read the sequence that is asked.
#
# Our writer's last words are *Jane*, a person; *visits*, an action; and *in*, which leads to
# a time. ("in" after "Africa" could lead to a place as well. We keep it simple.)
#
# ### Yours: the writer's $W_q$
#
# Row *person* of $W_q$ says what is wanted after a person, and so on. Choose it, four
# numbers up to 9 per row, so that the three words look most at "visite", "l'Afrique" and
# "septembre".

# %%
written = 2 * torch.eye(3)  # Y: (M, D_y), a person, an action, "in"


# %% tags=["yours"]
W_q_of_writer = [[0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]]  # yours: three rows of four
intervene(
    "the writer looks at visite, l'Afrique and septembre, each with more than 0.8",
    W_q_of_writer,
    run=lambda W_q: torch.softmax(written @ torch.tensor(W_q).float() @ keys.T / 2,
                                  1)[range(3), [1, 2, 4]].tolist(),
    holds=lambda weights: min(weights) > 0.8,
    among=lambda W_q: max(abs(number) for row in W_q for number in row) <= 9,
    shows="these weights are {result[0]:.2f}, {result[1]:.2f} and {result[2]:.2f}",
    otherwise="A row says what is wanted: person, action, place, time.",
)

# %% tags=["claim"]
# The proof
claim("a number of x that W_v does not read reaches the key and not the value",
      not torch.equal(moved @ W_k, keys) and torch.equal(moved @ W_v, values))
claim("the writer who asked for a place receives warm, and no place",
      received.shape == (3, 2) and received[1, 1] > 1.6 and received[1, 0] < 0.1)
claim("with two matrices that change nothing, version 4 is version 3",
      torch.allclose(cross(queries, x, torch.eye(6), torch.eye(6)),
                     attention_v3(queries, x)))

# %% [markdown] name="decouple"
# ## What the separation buys
#
# The writer got *warm* without *place*. Was a new kind of attention needed for that? Put one
# matrix before version 3 and one after it: $q \cdot (x W_k)$ is $(q W_k^\top) \cdot x$, and
# $A\,(X W_v)$ is $(A X)\,W_v$ for any weights $A$. The same numbers come out.
#
# So next to a learned $W_q$, $W_k$ adds no new pattern. What it does: the comparison gets
# narrow, $D_q$ numbers in the place of $D_x$. And one thing version 3 can never do, a true
# **second source**, as in the search: keys from the titles, values from the videos.

# %% tags=["predict"]
predict(
    "“septembre” should be found more surely than the other words, and what it hands "
    "over should stay what it is. In which version can its own row alone do that?",
    {
        "in version 3, by a longer row of x": "A longer row is found more surely. It "
        "is also delivered, as long as it now is.",
        "in version 4, by a longer key": (
            True,
            "The key is compared and not delivered. In version 3 the same row is both.",
        ),
        "in both": "What becomes of the answer in version 3, when the row is ten times "
        "as long?",
        "in none of them": "Which vector decides how surely a word is found, and which "
        "one is delivered?",
    },
    concept="C042",
)

# %%
louder = torch.ones(5, 1)
louder[4] = 3  # the fifth word, three times as long
as_row = attention_v3(queries[2:], x * louder)  # (1, D)
as_key = torch.softmax(wishes[2:] @ (keys * louder).T / 2, 1) @ values  # (1, D_v)
for how, got in (("a longer row:", as_row[0, 4:]), ("a longer key:", as_key[0])):
    print(how, dict(zip(contents, [round(g, 2) for g in got.tolist()], strict=True)))

# %% tags=["claim"]
# The proof
between = wishes @ W_k.T * (6 / 4) ** 0.5  # version 3 divides by √6, version 4 by √4
claim("between two matrices version 3 is version 4",
      torch.allclose(attention_v3(between, x) @ W_v, received))
claim("a longer row is delivered longer, a longer key is not",
      as_row[0, 5] > 2.5 and as_key[0, 1] <= 1)

# %% [markdown] name="one-line"
# ## All of it in one line
#
# François Chollet, in chapter 11 of *Deep Learning with Python* (second edition, 2021), puts
# attention into one line. In our letters:
#
# **outputs = sum(C * pairwise(A, B))**
#
# Compare each A with each B; with these weights, add up the C.

# %% tags=["predict"]
predict(
    "Which is which?",
    {
        "A query, B value, C key": "C is what is added up, so it is what is delivered.",
        "A key, B query, C value": "There is one output per row of A. One asks, one "
        "receives.",
        "A query, B key, C value": (
            True,
            "A and B are compared, C is delivered, and each row of A gets an output.",
        ),
        "A value, B key, C query": "A and B are compared with each other. A value is "
        "compared with nothing.",
    },
    concept="C046",
)


# %%
def pairwise(A, B):
    return torch.softmax(A @ B.T / A.shape[1] ** 0.5, dim=1)  # (M, N)


A, B, C = wishes, keys, values
outputs = sum(C[n] * pairwise(A, B)[:, n, None] for n in range(len(C)))  # (M, D_v)
outputs

# %% [markdown]
# It is version 4, in a plain Python sum. The same line holds all versions of this lesson.
# Version 3 is `A = queries, B = C = inputs`. And what if all three are the sentence, `A = B =
# C = x`? Keep that question for the second sitting.

# %% tags=["claim"]
# The proof
claim("the one line is version 4", torch.allclose(outputs, received))

# %% [markdown] name="two-attentions"
# ## Two attentions side by side
#
# In lesson 03 a **recurrent network** (RNN) translated with attention. That was
# cross-attention, too: the decoder asked the encoder. So what is new? Orange asks, blue is
# asked, and what flows back is green. Along a thick arrow one waits for the other.

# %%
plots.show(draw.two_attentions(words, ["Jane", "visits", "Africa"], 1,
                               torch.softmax(scores, 1)[0]), "two-attentions")

# %% [markdown]
# | part | RNN with attention (lesson 03) | Transformer (version 4) |
# |---|---|---|
# | **query** | decoder state $s$, $(D_s,)$, one at a time | one row per target word, $(M, D_q)$, all at once |
# | **key** | $h_n W_e$, made from an encoder state | $X W_k$, $(N, D_q)$ |
# | **value** | the encoder state $h_n$ as it is, $(N, D_h)$ | $X W_v$, $(N, D_v)$ |
# | **score** | $v \cdot \tanh(s W_d + k)$, a small network | $q \cdot k \,/ \sqrt{D_q}$ |
# | **one after another** | N steps to read, M steps to write | nothing inside the layer |
#
# So a key and a value were already apart in version 0.

# %% tags=["predict"]
predict(
    "The **first** of our five words is changed a little. How many of a GRU's five "
    "states move, and how many of the five results, when each word asks all five?",
    {
        "5 and 5": (
            True,
            "In both, everything depends on the first word. What makes the GRU wait is "
            "*how*: state 5 needs state 4, finished.",
        ),
        "5 and 1": "Each of the five results is a mixture of all five words.",
        "1 and 5": "A state is handed on from word to word.",
        "1 and 1": "Then neither could use what stands elsewhere.",
    },
    concept="C047",
)

# %%
torch.manual_seed(0)
gru = torch.nn.GRU(6, 6)
nudged = x.clone()
nudged[0] += 0.1
states = ((gru(nudged)[0] - gru(x)[0]).abs() > 1e-6).any(1)  # (N,)
results = ((pairwise(nudged, nudged) @ nudged - pairwise(x, x) @ x).abs() > 1e-6).any(1)
states.tolist(), results.tolist()

# %% [markdown]
# No result of version 4 needs another result, so all can be computed at once. This is true
# while a Transformer is **trained**, when all target words are known. When it *writes*, it
# goes word by word as well: the next query needs the word before it (lesson 11).

# %% tags=["claim"]
# The proof
claim("the first word reaches all states of the GRU and all results of the attention",
      bool(states.all() and results.all()))

# %% tags=["predict", "later"]
predict(
    "Somebody mixes the *keys* with the weights, in the place of the values. What does "
    "a reader who asks *when?* get?",
    {
        "the answer, in another order": "Keys and values are different views. Which "
        "one holds what nobody asked about?",
        "what was asked for, once more": (
            True,
            "A key says what a word is compared by. You asked for a time and are told: "
            "a time.",
        ),
        "nothing: the shapes do not fit": "They fit, and that is the trouble. The "
        "result is as wide as a key.",
    },
    concept="C042",
)

# %% [markdown] name="intra-attention"
# ## Second sitting: a sentence that asks itself
#
# *(A good place for a break. What is needed from above: `x`, `keys`, `values`, `cross` and
# `pairwise`.)*
#
# The question that was left: in `pairwise`, A, B and C are all the same sentence. Each word
# asks, each word is compared, each word delivers. This is **self-attention**, also called
# **intra-attention**: it relates the places *within* one sequence to each other, and gives a
# new vector for each of them. You have met it untrained, in lesson 02.
#
# It was in use before the Transformer. Section 2 of the paper names some uses, with these
# references:
#
# | used for | by |
# |---|---|
# | reading, word by word | Cheng et al. 2016, [arXiv:1601.06733](https://arxiv.org/abs/1601.06733) |
# | does one sentence follow from another? | Parikh et al. 2016, [arXiv:1606.01933](https://arxiv.org/abs/1606.01933) |
# | one vector for a whole sentence | Lin et al. 2017, [arXiv:1703.03130](https://arxiv.org/abs/1703.03130) |
# | writing summaries | Paulus et al. 2017, [arXiv:1705.04304](https://arxiv.org/abs/1705.04304) |

# %% tags=["predict"]
predict(
    "Which of these is intra-attention?",
    {
        "each word of a question looks at the words of a text": "Two sequences: one "
        "asks, the other is asked.",
        "each word of a review looks at the words of that review": (
            True,
            "One sequence in all three parts.",
        ),
        "a decoder looks at the states of its encoder": "Two sequences, though both "
        "say the same. This was lesson 03.",
    },
    concept="C044",
)

# %% tags=["predict"]
predict(
    "The sentence asks itself with its own rows, `pairwise(x, x)`. Where does "
    "“l'Afrique” look most?",
    {
        "at “visite”, which goes with it": "Nothing in its row asks for an action.",
        "at itself": (
            True,
            "No other row is as much like its own: place and warm, as in lesson 02. "
            "That is seldom what one wants to know.",
        ),
        "at “septembre”, which is warm, too": "It shares one feature. Who shares two?",
        "at “en”, which leads to a place": "“en” has place 1. Who has place 2?",
    },
    concept="C043",
)

# %%
by_likeness = pairwise(x, x)  # (N, N)
plots.show(plots.panels({"pairwise(x, x)": by_likeness}, words, words, "weight",
                        labels=("is asked", "asks")), "by-likeness")

# %% [markdown]
# ### What would "l'Afrique" ask?
#
# It knows that it is a place. It might ask: *what's happening in Africa?* Its question should
# be about an **action**. So the query needs a matrix of its own, which turns what a word
# **is** into what it **wants**: $W_q$, as the writer had. Queries and keys share a width,
# which version 4 called $D_q$; from here on it is $D_k$, as in the paper.
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
asks = x @ W_q  # Q: (N, D_k)
plots.show(draw.products(x, words, kinds + contents,
                         ("W_q", W_q, "queries", "query", kinds), framed=2), "queries")

# %% tags=["claim"]
# The proof
claim("asked by its own rows, each word but “en” looks most at itself",
      by_likeness.argmax(1)[[0, 1, 2, 4]].tolist() == [0, 1, 2, 4])

# %% [markdown] name="version-5"
# ## Version 5
#
# | part | version 4 | version 5 |
# |---|---|---|
# | **inputs** | $Q$ (M, D_q), $X$ (N, D_x), $W_k$, $W_v$ | $\boldsymbol{x (N, D_x), W_q (D_x, D_k)}$, $W_k$, $W_v$ |
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
# Your `cross_attention` takes queries from elsewhere. What if they do not come from
# elsewhere?
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

# %% [markdown] name="contextual"
# ## What Africa has learned
#
# Take the third word. Its query, $q_3$, asks for *action* 4. The key of the first word,
# $k_1$, says *person* 2, and $k_2$ says *action* 2. So $q_3 k_1 / \sqrt{4}$ is 0, and
# $q_3 k_2 / \sqrt{4}$ is 4: again "visite" gets 55 of 59 parts.
#
# The third row of the result is called **A⟨3⟩**. It is a **contextual embedding** of
# "l'Afrique": a vector for this word **in this sentence**.

# %% tags=["predict"]
predict(
    "The value of “l'Afrique” itself is *travel* 0, *warm* 2. What is A⟨3⟩, about?",
    {
        "travel 0, warm 2": "That is what it hands over. What does it receive?",
        "travel 0.9, warm 0.9": "Whose value gets 0.93 of the weight?",
        "travel 1.9, warm 0": (
            True,
            "0.93 of the value of “visite”, which is travel 2, and next to nothing of "
            "the others: its own value has a weight of 0.02.",
        ),
        "action 4, place 2": "These are numbers of a query and a key. What is mixed?",
    },
    concept="C051",
)

# %%
A3 = version_5(x, W_q, W_k, W_v)[2]  # (D_v,)
dict(zip(contents, [round(a, 2) for a in A3.tolist()], strict=True))

# %% [markdown] name="step-by-step"
# ### Watch it step by step
#
# The sentence stands at the left, the three matrices above, and what they make of it below
# them. Before you press *2 compare*: which word will the query of "septembre" fit?

# %%
instruments.show("projection", "instrument-projection", names=words,
                 features=kinds + contents, asked=kinds, handed=contents, x=x, W_q=W_q,
                 W_k=W_k, W_v=W_v, asks=2)

# %% [markdown]
# ### Yours: what happens in Africa
#
# In a sentence with another action A⟨3⟩ is another vector, though the word is the same.
# Replace "visite": six numbers (*person, action, place, time, travel, warm*) up to 4, so that
# A⟨3⟩ has *warm* above 1.5 and *travel* below 0.1.

# %% tags=["yours"]
other_word = [0, 2, 0, 0, 0, 2]  # yours: six numbers up to 4, in the place of “visite”
intervene(
    "A⟨3⟩ has warm above 1.5 and travel below 0.1",
    other_word,
    run=lambda word: version_5(torch.cat([x[:1], torch.tensor([word]).float(), x[2:]]),
                               W_q, W_k, W_v)[2].tolist(),
    holds=lambda A3: A3[1] > 1.5 and A3[0] < 0.1,
    among=lambda word: len(word) == 6 and max(map(abs, word)) <= 4,
    shows="A⟨3⟩ is travel {result[0]:.2f}, warm {result[1]:.2f}",
    otherwise="It has to be found by the query of “l'Afrique”, and to hand over warm.",
)

# %% tags=["claim"]
# The proof
by_hand = 55 / 59 * values[1] + 1 / 59 * (values[0] + values[2] + values[3] + values[4])
claim("by hand and by version 5, A⟨3⟩ is about travel",
      torch.allclose(A3, by_hand, atol=0.01) and A3[0] > 1.8 and A3[1] < 0.1)
claim("version 5 is version 4 with one source",
      torch.allclose(version_5(x, W_q, W_k, W_v), cross(x @ W_q, x, W_k, W_v)))

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

# %% tags=["predict"]
predict(
    "All of W_q is doubled. A⟨3⟩ becomes …",
    {
        "twice as long": "Queries are compared. What is delivered are values.",
        "even more like the value of “visite”": (
            True,
            "Scores of 8 and 0 in the place of 4 and 0: nearly all the weight, and not "
            "a number more is handed over.",
        ),
        "what it was: a softmax sums to one": "It does. But it exponentiates "
        "differences, and these have doubled.",
        "even more like all five values together": "So it would be with *half* of W_q.",
    },
    concept="C052",
)

# %%
Q, K, V = x @ W_q, x @ W_k, x @ W_v
terms = {"Q Kᵀ": Q @ K.T}
terms["Q Kᵀ / √d_k"] = terms["Q Kᵀ"] / K.shape[1] ** 0.5
terms["softmax(...)"] = torch.softmax(terms["Q Kᵀ / √d_k"], dim=1)
terms["softmax(...) V"] = terms["softmax(...)"] @ V
for term, matrix in terms.items():
    print(f"{term:16}{tuple(matrix.shape)}   largest number {matrix.max():.2f}")
doubled = version_5(x, 2 * W_q, W_k, W_v)[2]  # (D_v,)
print("A⟨3⟩, W_q doubled:", [round(a, 2) for a in doubled.tolist()])

# %% tags=["claim"]
# The proof
claim("the equation is version 5",
      torch.allclose(terms["softmax(...) V"], version_5(x, W_q, W_k, W_v)))
claim("with W_q doubled A⟨3⟩ is nearer to the value of “visite”, and no longer than it",
      A3[0] + 0.1 < doubled[0] <= values[1, 0])

# %% [markdown] name="pattern"
# ## The attention pattern
#
# The table of weights has a row and a column for each word. It is called the **attention
# pattern**: an N × N map of who looks at whom. There are two ways to draw it. In the second,
# a **bigger circle means a better match**.

# %%
pattern = terms["softmax(...)"]  # (N, N)
plots.show(draw.pattern(pattern, words), "pattern")

# %% tags=["predict"]
predict(
    "A sentence of ten words in the place of five. How many times as many circles has "
    "its pattern?",
    {
        1: "The matrices stay as they are. The pattern has a row per word.",
        2: "Twice as many rows. And how long is a row?",
        4: (True, "Ten rows of ten. This square is the price of letting all ask all."),
        5: "Count the rows, and then the circles of one.",
        10: "Ten rows of ten are 100. Compared with 25?",
    },
    concept="C056",
)

# %% [markdown]
# "en", half place and half time, looks at two words alike. "l'Afrique" asks "visite", and
# "visite" asks "Jane": a relation with a direction.

# %% tags=["claim"]
# The proof
claim("“en” looks at visite and l'Afrique alike, and every row sums to one",
      abs(pattern[3, 1] - pattern[3, 2]) < 1e-6 and pattern[3, 1] > 0.35
      and torch.allclose(pattern.sum(1), torch.ones(5)))
claim("“l'Afrique” looks at “visite”, and “visite” does not look back",
      pattern[2, 1] > 0.9 and pattern[1, 2] < 0.05)

# %% [markdown] name="learnable"
# ## Three matrices to learn
#
# We wrote $W_q$, $W_k$ and $W_v$ by hand. A network learns them. Each is one layer of the
# plainest kind: every input joined to every output, no bias, no activation. A thick line is
# one of our numbers; a thin one is a zero that training may change.

# %%
plots.show(draw.layers(kinds + contents,
                       ("W_q", W_q, "query", [f"wants {kind}" for kind in kinds]),
                       ("W_k", W_k, "key", [f"is {kind}" for kind in kinds]),
                       ("W_v", W_v, "value", [f"gives {part}" for part in contents])),
           "three-layers")

# %% tags=["predict"]
predict(
    "How many numbers are there to learn in all three, for a sentence of **50** words?",
    {
        60: (True, "6 · 4 + 6 · 4 + 6 · 2, for a sentence of any length: all words go "
                   "through the same three layers."),
        24: "That is W_q alone.",
        600: "Ten times as many words. Does any matrix have a row per word?",
        3000: "50 words times 60. Does each word have matrices of its own?",
        2500: "That is the pattern, 50 × 50. Weights are computed, not learned.",
    },
    concept="C049",
)

# %%
learned = [W.clone().requires_grad_() for W in (W_q, W_k, W_v)]
version_5(x, *learned)[2].sum().backward()  # a number made of A⟨3⟩, and its slopes
{name: (tuple(W.shape), round(W.grad.abs().max().item(), 2))
 for name, W in zip(["W_q", "W_k", "W_v"], learned, strict=True)}

# %% [markdown]
# The second number is the largest slope: a gradient reaches all three. In PyTorch such a
# layer is `nn.Linear` without bias, which keeps its matrix as (out, in), on its side.

# %% tags=["claim"]
# The proof
claim("the three matrices have 60 numbers, and a gradient reaches each matrix",
      sum(W.numel() for W in learned) == 60
      and all(W.grad.abs().max() > 0 for W in learned))

# %% [markdown] name="three-times"
# ## Why do we pass the same input three times?
#
# PyTorch's attention layer is called as `layer(x, x, x)`. Who meets this line for the first
# time asks the question above. Here is PyTorch's layer with one set of matrices, and one
# part at a time is given to another sentence.

# %%
torch.manual_seed(0)
layer = torch.nn.MultiheadAttention(6, num_heads=1, bias=False, batch_first=True)
out, weights = layer(x, x, x)  # (N, 6), (N, N)
another = torch.randn(5, 6)
calls = {"query": (another, x, x), "key": (x, another, x), "value": (x, x, another)}

# %% tags=["predict"]
predict(
    "Which of the three changes leaves the *weights* as they were?",
    {
        "another query": "The query is half of each score.",
        "another key": "The key is the other half of each score.",
        "another value": (
            True,
            "Weights come from queries and keys. The value is what they share out.",
        ),
        "none of them": "Which of the three is not compared with anything?",
    },
    concept="C048",
)

# %%
{part: {"weights stay": torch.allclose(layer(*three)[1], weights, atol=1e-6),
        "result stays": torch.allclose(layer(*three)[0], out, atol=1e-6)}
 for part, three in calls.items()}

# %% [markdown]
# The three arguments are not three pieces of information. They are three **parts to play**:
# who asks, who is compared, who delivers. In self-attention the same actor plays all three,
# in three costumes: $W_q$, $W_k$, $W_v$.
#
# The first change, `layer(another, x, x)`, is cross-attention. PyTorch's layer projects its
# queries, too: it is your version 4 behind a $W_q$. And at its end stands a fourth matrix.
# What that one is for comes now.

# %% tags=["claim"]
# The proof
torchs_q, torchs_k, torchs_v = (W.T for W in layer.in_proj_weight.chunk(3))  # (6, 6)
claim("PyTorch's layer is version 5, and then a fourth matrix",
      torch.allclose(layer.out_proj(version_5(x, torchs_q, torchs_k, torchs_v)), out,
                     atol=1e-5)
      and not torch.allclose(version_5(x, torchs_q, torchs_k, torchs_v), out))
claim("its cross-attention is version 4, its queries times W_q",
      torch.allclose(layer.out_proj(cross(another @ torchs_q, x, torchs_k, torchs_v)),
                     layer(another, x, x)[0], atol=1e-5))
claim("only another value leaves the weights alone, and each part changes the result",
      [torch.allclose(layer(*three)[1], weights, atol=1e-6) for three in calls.values()]
      == [False, False, True]
      and not any(torch.allclose(layer(*three)[0], out) for three in calls.values()))

# %% [markdown] name="change"
# ## Attention writes a change
#
# Back to A⟨3⟩, which is *travel* 1.86 and *warm* 0.05. The word has learned what happens
# there. But is it still a place? Version 5 has **replaced** the word by what the words gave
# it.
#
# So in a Transformer the result is not taken as the new word. It is taken as a **change**,
# $\Delta E$, and added to the word: $E + \Delta E$. For that it needs the width of x again. A
# last matrix, $W_o$, brings it there. Ours puts *travel* and *warm* back in their places.

# %% tags=["predict"]
predict(
    "In E + ΔE, “l'Afrique” is …",
    {
        "travel 1.9 and nothing else": "That is ΔE. What is it added to?",
        "place 2, warm 2, travel 1.9": (
            True,
            "All that it was, and what it has been told.",
        ),
        "place 2, warm 2, as before": "A change of *travel* 1.86 has been added.",
        "place 1, warm 1, travel 0.9": "E and ΔE are added. Nothing is divided by two.",
    },
    concept="C053",
)

# %%
W_o = W_v.T  # (D_v, D_x) = (2, 6)
delta = version_5(x, W_q, W_k, W_v) @ W_o  # ΔE: (N, D_x)
plots.show(plots.panels({"E": x, "ΔE": delta, "E + ΔE": x + delta}, words,
                        kinds + contents, numbers=True), "change")

# %% [markdown]
# *A warm place someone visits*: that is what "l'Afrique" means in this sentence. And "visite"
# still knows that it is an action, for the next layer to find. Lesson 08 builds this sum, the
# *skip connection*, and shows what breaks without it.

# %% tags=["claim"]
# The proof
claim("“l'Afrique” is still a warm place, and has gained travel",
      (x + delta)[2, 2] == 2 and (x + delta)[2, 5] >= 2 and (x + delta)[2, 4] > 1.8)

# %% [markdown] name="square"
# ## A claim to test: "three square matrices"
#
# *"Self-attention has three square matrices, $W_Q$, $W_K$ and $W_V$."* Ours were 6 × 4 and
# 6 × 2. Each needs as many rows as x has features, and a query meets a key in a dot product.
# That is all. In the paper each is 512 × 64 (section 3.2.2), and eight of each are used. In
# code the eight often stand side by side, and 8 · 64 = 512: that one is square. What *is*
# tied to x is $W_o$: it has to end in the width of x, or $\Delta E$ could not be added.
# **Verdict: false.** So is one column enough?
#
# ### Yours: design $W_q$ and $W_k$
#
# Now you are the one who designs. With **one column** each ($d_k = 1$), $W_q$ and $W_k$ are
# six numbers each (*person, action, place, time, travel, warm*), up to 9. Choose them so that
# "en" looks at "septembre" with more than 0.9 of its weight, **and** "Jane" at "visite".

# %%
def looks(W_q, W_k):
    """The pattern (N, N) of matrices of one column, given as six numbers each."""
    q, k = x @ torch.tensor(W_q).float(), x @ torch.tensor(W_k).float()  # (N,), (N,)
    return torch.softmax(q[:, None] * k[None, :], dim=1)  # √1 is 1


# %% tags=["yours"]
design = ([-3, 0, 3, 3, 0, 0], [0, -2, 0, 2, 0, 0])  # yours: W_q and W_k, six each
intervene(
    "“en” looks at “septembre” and “Jane” at “visite”, each with more than 0.9",
    design,
    run=lambda design: looks(*design),
    holds=lambda pattern: pattern[3, 4] > 0.9 and pattern[0, 1] > 0.9,
    among=lambda design: [len(column) for column in design] == [6, 6]
    and max(abs(number) for column in design for number in column) <= 9,
    shows="en to septembre {result[3][4]:.2f}, Jane to visite {result[0][1]:.2f}",
    otherwise="A query is one number now, and so is a key. What does a negative query "
    "like?",
)

# %% tags=["predict"]
predict(
    "And could “l'Afrique”, in the same two columns, look with more than half its "
    "weight at a **third** word?",
    {
        "yes, with larger numbers": "They make it surer. Surer of which words?",
        "no: one column has room for two": (
            True,
            "A query of one number wants the largest key if it is positive, the "
            "smallest if it is negative. There is no third wish.",
        ),
        "no: one column has room for one": "You have just found two.",
        "yes: six numbers can tell six words apart": "They make *one* number of each "
        "word. Whom can a single number ask for?",
    },
    concept="C054",
)


# %%
def most_wanted(d_k, tries=3000):
    """The largest number of different words that get more than half of some weight."""
    generator = torch.Generator().manual_seed(0)
    q, k = 3 * torch.randn(2, tries, 6, d_k, generator=generator)
    weights = torch.softmax(x @ q @ (x @ k).mT / d_k**0.5, dim=-1)  # (tries, N, N)
    return (weights > 0.5).any(1).sum(1).max().item()


{d_k: most_wanted(d_k) for d_k in (1, 2, 4)}

# %% [markdown]
# The width $d_k$ says how rich the questions can be. (A product $W_q W_k^\top$ of one column
# each is a matrix of *rank* 1.)

# %% tags=["claim"]
# The proof
claim("with one column never more than two words are looked at, with two columns more",
      most_wanted(1) == 2 < most_wanted(2))
claim("widths of values and of keys are free",
      all(version_5(x, *(torch.ones(6, d) for d in (d_k, d_k, d_v))).shape == (5, d_v)
          for d_k in (1, 9) for d_v in (2, 7)))

# %% [markdown] name="relations-and-content"
# ## Who relates to whom, and what is handed over
#
# $W_q$ and $W_k$ make the weights: they decide **who relates to whom**. $W_v$ decides **what
# is handed over**. Can the parts of $W_q$ and $W_k$ be told apart? The scores are
#
# $$
# Q K^\top = x W_q\, (x W_k)^\top = x\, (\boldsymbol{W_q W_k^\top})\, x^\top
# $$
#
# Only the product of the two appears. Take a matrix $M$ that has an **inverse**: a matrix
# $M^{-1}$ that undoes it, so that $M M^{-1}$ changes nothing.

# %% tags=["predict"]
predict(
    "Put W_q M in the place of W_q and W_k (M⁻¹)ᵀ in the place of W_k. Both "
    "matrices are new. What becomes of the result?",
    {
        "all of it changes": "Multiply the two new matrices as the scores do. What is "
        "left of M?",
        "nothing changes": (
            True,
            "In the product M meets its inverse. Neither matrix means anything alone.",
        ),
        "the weights change, the result does not": "The result is values mixed by the "
        "weights.",
        "it is multiplied by M": "Queries and keys are not delivered.",
    },
    concept="C055",
)

# %%
M = torch.ones(4, 4).triu()  # (D_k, D_k)
new_q, new_k = W_q @ M, W_k @ torch.linalg.inv(M).T
print("largest change of W_q:", (new_q - W_q).abs().max().item())
change = version_5(x, new_q, new_k, W_v) - version_5(x, W_q, W_k, W_v)
print("largest change of the result:", change.abs().max().item())

# %% [markdown]
# So do not read meaning into $W_q$ or $W_k$ alone. Their product can be read, row by row: row
# *place* says how much **more** a place looks for an action than for the other kinds. In the
# same way, $W_v W_o$ says what becomes of a content that is handed over. The two products are
# called **QK circuit** and **OV circuit** ([Elhage et al.
# 2021](https://transformer-circuits.pub/2021/framework/index.html)).

# %%
circuits = {"W_q W_kᵀ: relations": W_q @ W_k.T, "W_v W_o: content": W_v @ W_o}
plots.show(plots.panels(circuits, kinds + contents, kinds + contents, numbers=True),
           "two-circuits")

# %% tags=["claim"]
# The proof
claim("two new matrices with the same product give the same result",
      torch.allclose(version_5(x, new_q, new_k, W_v), version_5(x, W_q, W_k, W_v),
                     atol=1e-5) and (new_q - W_q).abs().max() > 1)

# %% [markdown] name="trained"
# ## Does training find them?
#
# We know the four questions because we wrote them. Start from random matrices, and show the
# network only what each word should **receive**: a place the content of the action, a person
# the content of the action, and so on. The content is random and new in each sentence, and
# nobody says where it comes from.

# %%
from course_lib.experiments import relations

LOOKS_FOR = relations.LOOKS_FOR  # whose content each of the four should receive
[f"{kind}: {kinds[n]}" for kind, n in zip(kinds, LOOKS_FOR.tolist(), strict=True)]

# %% [markdown]
# This is what is made small:

# %% tags=["given"]
from course_lib.experiments.relations import error

# %% tags=["predict"]
predict(
    "Fifty trainings, each from other random numbers. What will they have in common?",
    {
        "W_q and W_k, each by itself": "Remember M: other matrices do the same.",
        "the product W_q W_kᵀ, nearly": (
            True,
            "What the task asks for is a pattern, and the pattern depends on the "
            "product alone.",
        ),
        "nothing: other beginnings, other ends": "Nearly all solve the task. What "
        "does that ask of the scores?",
    },
    concept="C055",
)

# %%
trained = relations.train(seed=0)
fresh = relations.sentences(500, torch.Generator().manual_seed(1))
print(f"error of ours: {error([W_q, W_k, W_v], *fresh):.4f}, "
      f"of those trained: {error(trained, *fresh):.4f}")

# %%
from course_lib.experiments.stored import compare, stored

found = stored("05-relations")  # 50 trainings each
plots.show(draw.relations(found), "relations")

# %% [markdown]
# Training does better than we did by hand: nothing held it to twos. Each dot is a training; 1
# means *points the same way as ours*. The patterns are found, and where they are, the product
# is nearly ours. $W_q$ alone is seldom like ours.
#
# From large random numbers (1.0), ten of fifty miss a relation after 300 steps. After 1,500
# one still does. A large beginning is a sure pattern, and a wrong one: its softmax has next to
# no slope (lesson 04).

# %% tags=["claim"]
# The proof
missed = [sum(row["least"] < 0.5 for row in found
              if (row["std"], row["steps"]) == (1, n)) for n in (300, 1500)]
claim("all that begin small find the four relations, and with time most of the others",
      min(row["least"] for row in found if row["std"] < 1) > 0.9
      and 2 * missed[1] < missed[0] < 20)
claim("training does better than our matrices by hand",
      error(trained, *fresh) < error([W_q, W_k, W_v], *fresh) / 2)
they = [row for row in found if row["least"] > 0.9]
claim("where they are found, what is alike is the product, and seldom W_q",
      min(row["like_product"] for row in they) > 0.7
      and sum(row["like_W_q"] > 0.7 for row in they) < len(they) / 10)
claim("one of them, trained again, comes out as it is stored",
      compare("05-relations") == [])
claim("the trained values are the two contents",
      torch.allclose(trained[2][4:], torch.eye(2), atol=0.1))

# %% [markdown] name="opened"
# ## A trained one, opened
#
# The course's translator has learned its matrices from sentences. Its encoder has four sets
# of them in each layer (lesson 06 says why). Here is $W_q W_k^\top$ of the second set of the
# first layer, asked about real words: each square is the mean score of some words of one
# kind with some of another. Positions, which count as well, are left out.

# %%
translator = shipped.translator()  # of lesson 11
groups = {"verbs": ["achète", "aime", "garde", "trouve", "vend", "voit"],
          "ne, pas": ["ne", "pas"], "articles": ["le", "la", "un", "une"],
          "nouns": ["chat", "chien", "maison", "pomme", "femme", "oiseau"],
          "adjectives": ["blanc", "rouge", "petit", "grand", "vieux", "noir"]}

# %% tags=["predict"]
predict(
    "*achète* is “buys”, and *n'achète pas* is “does not buy”. In this set, what do "
    "verbs want most?",
    {
        "other verbs": "So it is in the first set, which we show beside it.",
        "*ne* and *pas*": (
            True,
            "What becomes of the verb in English depends on them. Nobody told the "
            "network.",
        ),
        "nouns": "A noun is no reason to write “does not buy”.",
        "articles": "They say little about the verb.",
    },
    concept="C055",
)

# %%
def by_kind(head):
    """The mean score of each kind of words with each kind: (5, 5)."""
    return torch.tensor([[relations.wants(translator, head, a, b).mean()
                          for b in groups.values()] for a in groups.values()])


sets = {"first set": by_kind(1), "second set": by_kind(2)}
plots.show(plots.panels(sets, list(groups), list(groups), "score",
                        labels=("is asked", "asks")), "opened")

# %% [markdown]
# This is one network. Another training may share its work among the sets in another way.
# What can be said is what these matrices do.
#
# ### Yours: a relation with a direction
#
# A product $W_q W_k^\top$ need not be symmetric. Find two French words such that, in one of
# the four sets, the first wants the second by more than 2, and the second wants the first by
# less than 0.

# %% tags=["yours"]
relation = ("vend", "pas", 2)  # yours: two words of the groups, and a set, 1 to 4
intervene(
    "the first wants the second by more than 2, the second the first by less than 0",
    relation,
    run=lambda three: [relations.wants(translator, three[2], [a], [b]).item()
                       for a, b in (three[:2], three[1::-1])],
    holds=lambda scores: scores[0] > 2 and scores[1] < 0,
    among=lambda three: set(three[:2]) <= set(sum(groups.values(), []))
    and three[2] in (1, 2, 3, 4),
    shows="there {result[0]:.1f}, back {result[1]:.1f}",
    otherwise="Begin with what the second set's picture shows.",
)

# %% tags=["claim"]
# The proof
verbs = by_kind(2)[0]
claim("in the second set verbs want “ne” and “pas” most, and these do not want verbs",
      verbs.argmax() == 1 and verbs[1] > 0.5 and by_kind(2)[1, 0] < 0.1)
claim("in the first set verbs want verbs", by_kind(1)[0].argmax() == 0)

# %% tags=["predict", "later"]
predict(
    "A colleague prints W_q of a trained model and says: “column 7 stands for "
    "*negation*”. What do you answer?",
    {
        "that W_k has to be looked at, too": (
            True,
            "Only the product counts: another W_q, with a W_k that fits, does the "
            "same.",
        ),
        "that W_q holds contents, not relations": "Contents are what W_v hands over.",
        "that columns are rows in PyTorch": "They are, and it is not the point.",
    },
    concept="C055",
)

# %% [markdown]
# ## Summary
#
# - **Version 3**: many queries are the rows of a matrix, and one product compares all with
#   all.
# - **Version 4**: a key to be compared, a value to be delivered. The queries come from
#   elsewhere, through a matrix of their own: cross-attention.
# - **Version 5**: the queries come from the input, too: self-attention.
# - $\mathrm{softmax}(Q K^\top / \sqrt{d_k})\, V$: who fits whom, scaled, as shares, handed out.
# - $W_q$ and $W_k$ decide who relates to whom, and only through their product. $W_v$ decides
#   what is handed over.
# - No matrix has to be square. The result is a change, which is added to the word.
#
# **Think about it.** Let $W_q$ and $W_k$ be the same matrix. Which relation can no such
# matrix give: a *time* looks mostly at a *place*, or a *person* and an *action* look mostly
# at each other?
#
# <details><summary>An answer</summary>
#
# The second. A word's score with itself is then the squared length of its key, and of two
# words the one with the longer key scores at least as high with itself as with the other
# ($k_1 \cdot k_2 \le |k_1| |k_2|$). So it cannot look mostly at the other one. A time can
# look mostly at a place, whose key points the same way and is longer.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): equation 1 in
# section 3.2.1; section 3.2.3 for its three uses, of which you now have two, and the third
# needs a mask; section 2 for self-attention before the Transformer. Section 3.1 adds the
# result to the input.
#
# **Next.** One set of matrices gives one pattern, and a word has more than one question.
# Lesson 06 lets several version 5s work side by side: version 6, multi-head attention.
