# %% [markdown]
# # 07 · Masks
#
# *125 minutes: reading 45, predicting 25, writing 55 · needs lesson 06 · five exercises ·
# two sittings of 65 and 60 minutes*
#
# **At the end you can**
#
# - say what a decoder learns that sees the future, and what becomes of it when it writes;
# - hide keys in the right place of attention, with the right number, on the right axis;
# - test any function for leaks from the future, and say what each test can miss;
# - hand a mask to PyTorch the right way round.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, intervene, mine, predict, shipped
from course_lib.display import plots
from course_lib.display.drawings import masks as draw

torch.set_num_threads(1)

# %% [markdown] name="cheating"
# ## What can go wrong?
#
# A **decoder** learns to say the next word. For training it gets whole sentences, and at
# each place it has to say the word that follows. Attention lets each place see all places.
# Does that do any harm?
#
# Let it guess something that nobody can foresee: the rolls of **a fair die**. An honest
# guesser says "one sixth each". It is right once in six rolls, and its loss is −ln(1/6), or
# 1.79.
#
# Our guesser is one layer of attention. It gets rows of six rolls. At each of the six places
# it has to say the next roll, so at the sixth place it has to say a seventh roll that it is
# not given. We train it for 600 steps and test it on 2,000 new rows.

# %%
from course_lib.experiments import die

seeing_all = die.train(F.scaled_dot_product_attention, mask=None)

# %% tags=["predict"]
predict(
    "How often is it right at the first five places, and at the sixth?",
    {
        "always, and once in six": (
            True,
            "At place 3 it is asked for what stands at place 4, and it can look there. "
            "After place 6 nothing stands.",
        ),
        "once in six at all six places": "So it is with an honest guesser. What can "
        "this one see?",
        "always, at all six places": "Where should it see the seventh roll?",
        "a little over once in six at all places": "Old rolls say nothing about the "
        "next one. What else is given?",
    },
    concept="C068",
)

# %% tags=["nbval-ignore-output"]
hits, losses = die.as_in_training(seeing_all)
print("hits:", [round(share, 2) for share in hits.tolist()])
print("loss:", [round(loss, 2) for loss in losses.tolist()])

# %% [markdown]
# It has not learned to foresee a die. It has learned to **copy**: the roll that it is asked
# for at place 3 is the input of place 4.
#
# ### Yours: let it write
#
# When a decoder writes, the roll that it has to say does not exist yet. Which rolls may the
# guesser get before it says roll number t? Write `lambda rolls, t: …` for rolls (B, 7), which
# are numbered from 0.

# %% tags=["yours"]
given = lambda rolls, t: rolls[:, :t]  # yours: a function of rolls and t
intervene(
    "before roll t the guesser gets the t rolls that exist, for each t from 1 to 6",
    given,
    run=lambda choose: [choose(die.rows(2, 1), t).tolist() for t in range(1, 7)],
    holds=lambda got: got == [die.rows(2, 1)[:, :t].tolist() for t in range(1, 7)],
    among=callable,
    shows="before roll 2 of two rows it gets {result[1]}",
    otherwise="Before roll 2 there are two rolls: number 0 and number 1.",
)

# %% tags=["predict"]
predict(
    "As in training it is always right at place 3. When it writes, its loss there is …",
    {
        "well above 1.79": (
            True,
            "It is as sure as ever, and five times in six it is wrong. “One sixth "
            "each” would do better.",
        ),
        "1.79, as for every honest guesser": "An honest one says “one sixth each”. Has "
        "it learned to say that?",
        "near 0, as in training": "In training it looked at place 4. What stands there "
        "now?",
    },
    concept="C068",
)

# %%
writing = die.when_it_writes(seeing_all, lambda rolls, t: rolls[:, :t])
figure = draw.losses({"as in training": losses, "when it writes": writing})
plots.show(figure, "writing")

# %% [markdown]
# Splendid in training, and worse than knowing nothing where it counts. Is that only because
# our guesser is so small? Here is a larger one, with biases and all the parts of lesson 08.

# %% tags=["nbval-ignore-output"]
larger = die.train(F.scaled_dot_product_attention, None, wires=True)
larger_hits, larger_losses = die.as_in_training(larger)
larger_writing = die.when_it_writes(larger, lambda rolls, t: rolls[:, :t])
print("hits:              ", [round(share, 2) for share in larger_hits.tolist()])
print("loss when it writes:", [round(loss, 2) for loss in larger_writing.tolist()])

# %% [markdown]
# The larger one is worse still: it is even surer of itself.

# %% tags=["claim"]
# The proof
claim("without a mask five places are right, and the last one guesses",
      hits[:5].min() > 0.95 and hits[5] < 0.25)
claim("when it writes, it loses more than an honest guesser, small or large",
      min(writing.min(), larger_writing[:5].min()) > 1.85)

# %% [markdown] name="test-time"
# ## What may a word see?
#
# Take a sentence that a decoder should learn to write. When it is used, it writes one word
# after another. (Its first word follows a special token, `<start>`, which we leave out
# here.)

# %%
words = "Jane visits Africa in September".split()
T = len(words)
for i in range(T - 1):
    print(f"sees {' '.join(words[: i + 1]):23} has to say {words[i + 1]}")

# %% [markdown]
# This list is the rule. In training all its lines run **at once**, as the rows of one
# matrix. Row i gets what it would have if it were really writing: word i and those before
# it. All the rest is hidden from it by a table of True and False, an **attention mask**.
# Our mask has a name of its own, **causal mask**. **The mask imitates test time.**

# %% tags=["predict"]
predict(
    "In training the first row says “visited” and not “visits”. The second row sees …",
    {
        "Jane visits": (
            True,
            "The rows are made from the sentence, not from what was said. All of them "
            "run at once.",
        ),
        "Jane visited": "That is so when it writes. In training nothing that it says "
        "goes back in.",
        "Jane": "The second row has two words. Which ones?",
        "nothing, as the first row was wrong": "A wrong answer costs loss. It stops "
        "nobody.",
    },
    concept="C071",
)

# %% [markdown]
# In training the first part is always perfect. This is called **teacher forcing**. Later the
# decoder has to go on from words of its own, and some of them may be wrong. The mask does
# not imitate that. Lesson 11 comes back to it.
#
# In our table a row is the word that asks, and a column is the word that is asked. **True
# means: may attend.**

# %% [markdown]
# ### Exercise 1: `causal_mask`
#
# ★☆☆ · 5 minutes · about 1 line
#
# The mask for T tokens. Before you write it, draw it on paper for T = 3.
#
# <details><summary>Hint 1: a question</summary>
#
# Does a word see itself? Count the entries that are True in the first row, in the second, in
# the last.
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# Either start from a square of True and keep one of its two triangles (which one, and with
# the diagonal or without?), or compare the numbers of the rows, as a column, with the
# numbers of the columns.
#
# </details>

# %% tags=["exercise"]
from course_lib.masks import causal_mask

# %%
causal = check(causal_mask).verified

# %%
plots.show(draw.who_sees_whom({"causal(5)": causal(T)}, [words]), "causal-mask")

# %% [markdown] name="one-row"
# ## What a mask does to a row
#
# Now the mask has to do something. Give each word four numbers: how much *person*, *travel*,
# *place* and *time* is in it. The words themselves are query, key and value, so the score is
# word · word $/ \sqrt{4}$.

# %%
table = {"Jane": [2.0, 1, 0, 0], "visits": [1.0, 2, 1, 0], "Africa": [0.0, 2, 2, 0],
         "in": [0.0, 0, 1, 1], "September": [0.0, 0, 0, 2], "sleeps": [1.0, 0, 0, 1],
         "<pad>": [0.0, 0, 0, 0]}
x = torch.tensor([table[word] for word in words])  # (T, D) = (5, 4)
scores = x @ x.T / 2  # (T, T)
dict(zip(words, scores[1].tolist(), strict=True))  # the row of "visits"

# %% [markdown]
# The row of "visits" may see "Jane" and itself, with scores 2 and 3. As if all five were
# there, these two weights would be 0.15 and 0.40.

# %% tags=["predict"]
predict(
    "With the other three words hidden, the weights of “Jane” and “visits” …",
    {
        "both grow, by the same factor": (
            True,
            "The exponentials stay, and only their sum shrinks: 0.27 and 0.73.",
        ),
        "both grow, by the same amount": "They are exponentials, divided by their sum. "
        "What becomes smaller?",
        "stay as they are": "Then the row would have a sum of 0.55.",
        "become one half each": "Their scores are still 2 and 3.",
    },
    concept="C069",
)

# %%
all_five = torch.softmax(scores[1], dim=0)
only_two = torch.softmax(scores[1, :2], dim=0)
print("all five:", [round(w, 2) for w in all_five.tolist()])
print("only two:", [round(w, 2) for w in only_two.tolist()])

# %% [markdown] name="before-or-after"
# ## Before the softmax, or after it?
#
# We cannot cut the row to two words: in a matrix all rows have the same length. There are
# two ways to hide the other three.
#
# - **After:** take the softmax of all five, then set three weights to zero.
# - **Before:** set three scores to −∞, then take the softmax, as $e^{-\infty} = 0$.

# %%
mask = causal(T)


def zeros_after(scores):
    return torch.softmax(scores, dim=-1) * causal(len(scores))


def minus_infinity_before(scores):
    hidden = ~causal(len(scores))
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)


# %% [markdown]
# Now change the future. "Africa" is hidden from "visits". Let its score there be 6 in place
# of 3.

# %% tags=["predict"]
predict(
    "With zeros after the softmax, what does “visits” now give “Jane”?",
    {
        "about a tenth of what it gave": (
            True,
            "The weight of “Africa” was set to zero, but its exponential stands in the "
            "denominator.",
        ),
        "as much as before: “Africa” is hidden": "Its weight is. Is that the only "
        "place where its score goes?",
        "more: nobody else is left": "What was divided by what, before the zeros?",
    },
    concept="C069",
)

# %%
louder = scores.clone()
louder[1, 2] = 6.0
of_jane = {how.__name__: [how(scores)[1, 0].item(), how(louder)[1, 0].item()]
           for how in (zeros_after, minus_infinity_before)}
{name: [round(weight, 3) for weight in pair] for name, pair in of_jane.items()}

# %% [markdown]
# This is a **leak**: what is hidden still has its say, through the denominator. We hid the
# voice of "Africa", and not its loudness.
#
# A friend says: "Then divide what is left by its sum, and all is well."

# %% tags=["predict"]
predict(
    "Zeros after the softmax, then each row divided by its sum. Is that right?",
    {
        "on paper, but not in the computer": (
            True,
            "On paper the denominator cancels. But a hidden score far above the others "
            "leaves them weights of exactly 0, and 0 / 0 is not a number.",
        ),
        "yes: it is the same formula": "With numbers of any size it is. What does a "
        "hidden score of 200 do to the other weights?",
        "no: the loudness still gets through": "Divide two remaining weights by each "
        "other: the denominator is gone.",
    },
    concept="C069",
)

# %% [markdown]
# ### Yours: a row that is lost
#
# Choose the score of a hidden third word, so that nothing is left of the two others.

# %%
def divided_again(hidden_score):
    """Zeros after the softmax of the scores 2, 3 and a hidden one; then divide."""
    left = torch.softmax(torch.tensor([2.0, 3.0, hidden_score]), 0)[:2]
    return (left / left.sum()).tolist()


# %% tags=["yours"]
hidden_score = 200.0  # yours: a number below 1,000
intervene(
    "the two weights that are left are not numbers",
    hidden_score,
    run=divided_again,
    holds=lambda weights: all(weight != weight for weight in weights),
    among=lambda score: -1000 < score < 1000,
    shows="weights of {result}",
    otherwise="It has to be so far above 2 and 3 that their share is rounded to 0.",
)

# %% tags=["claim"]
# The proof
claim("zeros afterwards let a hidden score through, and −∞ before does not",
      of_jane["zeros_after"][1] < of_jane["zeros_after"][0] / 5
      and len(set(of_jane["minus_infinity_before"])) == 1)
claim("divided again it is the same for small scores, and lost for large ones",
      abs(divided_again(6.0)[0] - only_two[0]) < 1e-6
      and all(weight != weight for weight in divided_again(200.0)))

# %% [markdown] name="strip"
# ## Masked attention, drawn
#
# From scores to weights, for all five words. What is masked is hatched.

# %%
plots.show(draw.strip(scores, mask, words), "strip")

# %% [markdown]
# The first word sees itself alone. It gives itself the weight 1, whatever its score.
#
# In **masked multi-head attention** each head has scores of its own. How many masks do we
# need? **One.** Who may see whom is a matter of places, and not of what a head looks for.
# Here is your layer of lesson 06 with two heads.

# %%
MultiHeadAttention = mine("MultiHeadAttention")  # your own, from lesson 06

torch.manual_seed(1)
two_heads = MultiHeadAttention(d_model=4, num_heads=2)
result = two_heads(x[None], x[None], x[None], mask)[0].detach()  # (T, D)

# %% tags=["predict"]
predict(
    "We take its mask away. Which rows of the result stay as they are?",
    {
        "the last one only": (
            True,
            "With the mask the last word saw all words, too. All others gain some.",
        ),
        "the first one only": "With the mask the first word sees itself. And without?",
        "none: each head has other scores": "The mask changes no score that it shows. "
        "Which row hid nothing?",
        "all: W_o mixes the heads anyway": "W_o mixes features of one word, not words.",
    },
    concept="C070",
)

# %%
unmasked = two_heads(x[None], x[None], x[None])[0].detach()
moves = (result - unmasked).abs().amax(dim=1)  # (T,)
dict(zip(words, [round(move, 3) for move in moves.tolist()], strict=True))

# %% [markdown]
# And this is the way through both heads. The steps of a head are those above: project,
# score, mask, softmax, mix.

# %%
def one_head(n):
    """Every step of head n of your layer, by hand."""
    q, k, v = (W(x)[:, 2 * n : 2 * n + 2].detach()
               for W in (two_heads.W_q, two_heads.W_k, two_heads.W_v))  # (T, 2) each
    scores = q @ k.T / 2**0.5  # (T, T)
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
    return {"q": q, "k": k, "v": v, "scores": scores, "weights": weights,
            "out": weights @ v}


# %%
by_hand = [one_head(0), one_head(1)]
plots.show(draw.masked_heads(x, mask, by_hand, result, words), "masked-heads")

# %% [markdown]
# ### Where trained heads look back
#
# The decoder of the course's translator has learned with such a mask. We give it the words
# that it should write. Here are the four heads of its first layer.

# %%
from course_lib.experiments import looking

translator = shipped.translator()
written, where, its_mask = looking.heads_of_decoder(
    translator, "Jane ne visite pas l'Afrique en septembre",
    "Jane does not visit Africa in September")
maps = {f"head {n}": weights for n, weights in enumerate(where["layer 1"], 1)}
plots.show(plots.panels(maps, written, written, "weight", numbers=False, mask=its_mask,
                        labels=("is asked", "asks")), "decoder-heads")

# %% [markdown]
# Four heads, four patterns, one triangle. "September" looks mostly at "in" in three of the
# heads: the word before it. After the softmax there is nothing above the diagonal, not even
# a little.

# %% tags=["claim"]
# The proof
out = torch.cat([head["out"] for head in by_hand], dim=1)  # (T, D)
claim("by hand both heads come to what your layer gives",
      torch.allclose(two_heads.W_o(out), result, atol=1e-5))
claim("without the mask the last row alone stays",
      (moves < 1e-6).tolist() == [False] * 4 + [True])
claim("the translator's heads give what is ahead exactly nothing",
      its_mask.tril().equal(its_mask)
      and all(not heads[:, ~its_mask].any() for heads in where.values()))

# %% [markdown] name="large-number"
# ## A claim to test
#
# *"To mask a score, replace it by a very large number."* You will find this sentence in more
# than one tutorial.
#
# ### Yours: a number that hides
#
# In the row of "visits" put one number in the three hidden places. Find a number, not −∞, for
# which these places get a weight below one in a million together. Try the tutorial's first.

# %%
def hidden_weight(number):
    """What the three hidden places get together, with this number as their score."""
    row = scores[1].masked_fill(~mask[1], number)  # (T,)
    return torch.softmax(row, dim=0)[2:].sum().item()


# %% tags=["yours"]
number = -1e9  # yours: try 1e9, 0 and others
intervene(
    "what is hidden gets less than a millionth",
    number,
    run=hidden_weight,
    holds=lambda weight: weight < 1e-6,
    among=lambda number: abs(number) < 1e30,
    shows="with {choice:g} it gets {result:.7f}",
    otherwise="The two scores that may be seen are 2 and 3.",
)

# %%
{number: round(hidden_weight(number), 5) for number in (1e9, 1.0, 0.0, -5.0, -1e9)}

# %% [markdown]
# **Verdict: false.** A large number does the opposite: it gets everything. Zero is no better
# hidden than any other score. It has to be a large **negative** number, and "large" means:
# far below every score that can occur. −∞ is below all of them. So why would anyone take
# something else?

# %% tags=["claim"]
# The proof
claim("a large number takes everything, zero hides nothing, a large negative one hides",
      hidden_weight(1e9) == 1 and hidden_weight(0.0) > 0.05
      and hidden_weight(-1e9) == 0 == hidden_weight(float("-inf")))

# %% [markdown] name="empty-row"
# ## A row with nothing left
#
# Two words. The second may see both; the first may see **nobody**. Such rows do occur: you
# will meet them below, with padding.

# %%
two = x[:2]  # "Jane", "visits": (2, D)
nobody = torch.tensor([[False, False], [True, True]])  # True = may attend

# %% tags=["predict"]
predict(
    "Both scores of the first row are −∞. Its weights are …",
    {
        "not numbers": (True, "Each exponential is 0, and so is their sum: 0 / 0."),
        "zeros: there is nothing to see": "They are divided by their sum. What is it?",
        "one half each: the scores are equal": "So it is with equal finite scores. "
        "PyTorch subtracts the largest first, and −∞ − (−∞) is not a number.",
        "an error is raised": "Softmax asks no questions.",
    },
    concept="C069",
)

# %%
weights = torch.softmax((two @ two.T / 2).masked_fill(~nobody, float("-inf")), dim=-1)
weights

# %% [markdown]
# One spoilt row. Nobody needs it, so we leave it out of the loss: the loss looks at the
# second word only.

# %%
W_v = torch.eye(4, requires_grad=True)  # the value matrix
loss = (weights @ (two @ W_v))[1].sum()

# %% tags=["predict"]
predict(
    "The loss uses only the second row, which is fine. The gradient of W_v is …",
    {
        "not a number, all of it": (
            True,
            "The spoilt row is multiplied by a gradient of 0, and NaN · 0 is NaN.",
        ),
        "fine: the first row is left out": "Its gradient is 0. And what is it "
        "multiplied by, on the way to W_v?",
        "half spoilt: one word of two": "Each word adds to each number of W_v.",
    },
    concept="C069",
)

# %%
(gradient,) = torch.autograd.grad(loss, W_v)
gradient

# %% [markdown]
# One such row in a batch, and after the next step every number of $W_v$ is lost.
#
# What *should* such a row give? The formula does not say, so we have to **decide**. A first
# idea is to fill with the smallest number that the **dtype** has, the kind of number that a
# tensor holds. Ours is `float32`, and `torch.finfo` knows its limits. It lies far below
# every score, and a row full of it has a softmax.

# %%
smallest = torch.finfo(torch.float32).min
print(f"the smallest: {smallest:.1e}")


def filled(x):
    """Attention whose masked scores are the smallest number."""
    weights = torch.softmax((x @ x.T / 2).masked_fill(~nobody, smallest), dim=-1)
    return weights @ x


# %% tags=["predict"]
predict(
    "The first word may see nobody. What does it get from `filled`?",
    {
        "the mean of both words": (
            True,
            "Its scores are equal, and equal scores have equal weights. The mask hides "
            "nothing.",
        ),
        "almost nothing at all": "A score is compared with the others of its row only.",
        "itself and nobody else": "Its own score is as low as that of the other word.",
    },
    concept="C069",
)

# %%
filled(two)[0].tolist(), two.mean(0).tolist()

# %% [markdown]
# Finite, and a leak: the word that may see nobody gets the mean of everybody. So we decide
# for **zeros**. After the softmax, what is hidden gets the weight 0 once more. In every other
# row it has that already.

# %%
def closed(x):
    """The same, and zeros once more."""
    weights = torch.softmax((x @ x.T / 2).masked_fill(~nobody, smallest), dim=-1)
    return weights.masked_fill(~nobody, 0.0) @ x


def first_is_blind(x):
    """The first word gets zeros, the second one sees both."""
    return torch.stack([torch.zeros(4), x.sum(0)])


# %% [markdown]
# ### Yours: a test that catches the leak
#
# Write a test of any such attention f: `lambda f: …`, True where the first word of `f(x)`,
# which may see nobody, notices what stands in the sentence x. You have `two`. Make the
# sentence to compare it with yourself.

# %% tags=["yours"]
leaks = lambda f: not torch.equal(f(two)[0], f(2 * two)[0])  # yours: a function of f
intervene(
    "True for `filled`, False for `closed` and for `first_is_blind`",
    leaks,
    run=lambda test: [test(f) for f in (filled, closed, first_is_blind)],
    holds=lambda verdicts: verdicts == [True, False, False],
    among=callable,
    shows="it says {result}",
    otherwise="Two sentences, and the first row of each result: do these rows differ? "
    "The second row may.",
)

# %% tags=["claim"]
# The proof
claim("one spoilt row spoils the whole gradient of W_v",
      bool(weights[0].isnan().all() and gradient.isnan().all()))
claim("with the smallest number a blind word sees all, with zeros nothing",
      torch.allclose(filled(two)[0], two.mean(0)) and not closed(two)[0].any())
claim("zeros once more change no other row",
      torch.equal(filled(two)[1], closed(two)[1]))

# %% [markdown]
# ## Attention with a mask
#
# $$
# \mathrm{Attention}(Q, K, V) =
# \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}} + M\right) V,
# \qquad
# M_{ij} = \begin{cases} 0 & \text{where } i \text{ may attend to } j \\
# -\infty & \text{elsewhere} \end{cases}
# $$
#
# The projections have moved out, and a batch axis has moved in:
#
# | what | shape |
# |---|---|
# | query | (B, Tq, d) |
# | key | (B, Tk, d) |
# | value | (B, Tk, dv) |
# | mask | (B, Tq, Tk), or (Tq, Tk), one for all sentences, or (B, 1, Tk), one row for all queries |
# | result | (B, Tq, dv) |
#
# In the paper's figure 2 the mask is the small box "Mask (opt.)" between scale and softmax.

# %% [markdown]
# ### Exercise 2: `scaled_dot_product_attention`
#
# ★★☆ · 15 minutes · about 6 lines
#
# The heart of the Transformer: every later lesson calls it. Try it wrong on purpose, too:
# mask after the softmax, or use −∞ and nothing else, and read the card.
#
# <details><summary>Hint 1: a question</summary>
#
# `key.T` would turn all three axes round. Which two have to change places? And on which
# value of *its* mask does `masked_fill` fill?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a score for each query and key of a sentence, divided by √d: (B, Tq, Tk)
# 2. if there is a mask: where it is False, something so low that no weight is left, even in a
#    row with nothing else
# 3. softmax over the keys
# 4. mix the values; where a mask leaves a row nothing, there should be nothing to mix
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import scaled_dot_product_attention

# %%
attend = check(scaled_dot_product_attention).verified

# %% [markdown]
# Does it do what the drawing shows? It returns mixtures, not weights. But let the values be
# the rows of the identity matrix: the value of word j is a one at place j. So the mixture
# shows each weight.

# %%
eye = torch.eye(T)[None]  # (1, T, T)
read_off = attend(x[None], x[None], eye, mask)[0]  # (T, T)
print("row of 'visits':", [round(w, 2) for w in read_off[1].tolist()])

# %% tags=["claim"]
# The proof
claim("your attention has the weights of the drawing",
      torch.allclose(read_off, minus_infinity_before(scores), atol=1e-6))

# %% [markdown]
# *A good place for a break: the second sitting tests the mask, and hides padding.*

# %% [markdown] name="one-pass"
# ## One pass, five lines
#
# Here is a layer of self-attention with your mask. We run it once on the whole sentence.
# Then we run it five times, on "Jane", "Jane visits", and so on, and keep the last row of
# each.

# %%
def layer(x):
    """Self-attention in which no word sees the future: (T, D) -> (T, D)."""
    return attend(x[None], x[None], x[None], causal(len(x)))[0]


# %% tags=["predict"]
predict(
    "How do the five last rows compare with the five rows of the single pass?",
    {
        "they are the same, up to rounding": (
            True,
            "In the single pass each row sees just what it would have alone.",
        ),
        "only the fifth is the same": "So it is without a mask.",
        "they are close: shorter rows have fewer weights": "What is masked has no "
        "weight in the long row, either.",
    },
    concept="C071",
)

# %%
one_by_one = torch.stack([layer(x[: i + 1])[-1] for i in range(T)])
print("largest difference:", round((layer(x) - one_by_one).abs().max().item(), 5))

# %% [markdown]
# Nothing is lost by going through the sentence once. One pass trains the decoder on all its
# lines: with T words, T lessons for the price of one.

# %% tags=["claim"]
# The proof
claim("one masked pass is five separate passes",
      torch.allclose(layer(x), one_by_one, atol=1e-6))

# %% [markdown] name="causality"
# ## Does anything leak?
#
# It is easy to get a mask wrong by one. So do not trust it: test it. First by
# **perturbation**: replace "in", the fourth word, by something absurd.

# %%
absurd = x.clone()
absurd[3] = torch.tensor([50.0, -50.0, 50.0, -50.0])

# %% tags=["predict"]
predict(
    "Which rows of `layer` may change?",
    {
        "the fourth and the fifth": (
            True,
            "Those are the words that see the fourth: itself and all after it.",
        ),
        "only the fourth row": "Who else may attend to it?",
        "all of the first four": "That is the other triangle: it sees them, and they "
        "do not see it.",
        "only the fifth row": "Does a word see itself?",
    },
    concept="C072",
)

# %%
moved = (layer(absurd) - layer(x)).norm(dim=1)  # (T,)
dict(zip(words, [round(m, 1) for m in moved.tolist()], strict=True))

# %% [markdown]
# That was one change of one word. The **gradient** asks about small changes of every word:
# how much does $\text{out}_t$ move when $x_s$ moves? For $s > t$ it has to be exactly zero.
# We take its norm for every pair, in five versions.

# %%
def influence(function):
    """Norm of d out_t / d x_s for all t and s: (T, T)."""
    jacobian = torch.autograd.functional.jacobian(function, x)  # (T, D, T, D)
    return jacobian.norm(dim=(1, 3))


versions = {
    "no mask": lambda x: attend(x[None], x[None], x[None])[0],
    "zeros afterwards": lambda x: zeros_after(x @ x.T / 2) @ x,
    "yours": layer,
    "yours, two heads": lambda x: two_heads(x[None], x[None], x[None], mask)[0],
    "detached mean": lambda x: layer(x) + x.detach().mean(0)}

# %% [markdown]
# The last one adds the mean over the whole sentence to each word. The mean is **detached**:
# no gradient flows through it.

# %% tags=["predict"]
predict(
    "Which of the five leak, and in which does the gradient say so?",
    {
        "three leak, the gradient shows two": (
            True,
            "No mask and zeros afterwards are seen. The mean is a leak, too, and "
            "through it no gradient flows.",
        ),
        "three leak, the gradient shows three": "What does *detached* mean for a "
        "gradient?",
        "two leak, the gradient shows two": "Does the first word notice if the last "
        "one is replaced, in each of the five?",
        "two leak, the gradient shows three": "It never shows what is not there.",
    },
    concept="C072",
)

# %%
flows = {name: influence(function) for name, function in versions.items()}
plots.show(plots.panels(flows, words, words, wide=5, numbers=False,
                        labels=("input that moves, s", "output, t")), "influence")
{name: round(flow.triu(1).max().item(), 2) for name, flow in flows.items()}

# %% [markdown]
# The second map is the leak through the denominator: no weight goes to the future, and still
# the future has its say. In the last one the gradient is blind. It finds only smooth leaks,
# near this one x.

# %% tags=["claim"]
# The proof
ahead = {name: flow.triu(1).max().item() for name, flow in flows.items()}
mean = versions["detached mean"]
claim("a changed word reaches itself and those after it", moved[:3].max() == 0
      and moved[3:].min() > 0.1)
claim("through your mask no gradient comes from the future, in one head or two",
      ahead["yours"] == ahead["yours, two heads"] == 0
      and min(ahead["no mask"], ahead["zeros afterwards"]) > 0.5)
claim("a leak that is detached is not seen by the gradient",
      ahead["detached mean"] == 0 and not torch.allclose(mean(absurd)[:3], mean(x)[:3]))

# %% [markdown]
# ### Exercise 3: `hides_the_future`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Write a test for anybody's self-attention. It gets a function, calls it, and says True or
# False. Five suspects have letters, `suspects("hides_the_future")` gives them to you; the
# check knows more. Let no leak through. And a function that only mixes the past, however it
# likes, is innocent.
#
# <details><summary>Hint 1: a question</summary>
#
# Row t may depend on what came before it. So what has to stay the same when everything after
# it changes, or is not there at all?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a sentence of several random tokens
# 2. the result for the whole of it, and for each of its beginnings alone
# 3. compare the rows that both have, up to rounding
#
# </details>

# %% tags=["exercise"]
from course_lib.black_box_tests import hides_the_future

# %%
keeps_it = check(hides_the_future).verified

# %%
from course_lib.checks import suspects

of_any_width = [name for name in versions if name != "yours, two heads"]
verdicts = {name: keeps_it(versions[name]) for name in of_any_width}
verdicts | {str(suspect): keeps_it(suspect) for suspect in suspects("hides_the_future")}

# %% [markdown]
# Your test finds what the gradient missed. (The two heads are left out: they only take words
# that are 4 wide.)
#
# ### Yours: a leak in somebody's model
#
# Here is a decoder of four parts. It calls your attention with your mask, and all the same it
# lets the future through. Find the part with your test.

# %%
from course_lib.experiments import planted

parts = planted.parts(attend, causal)
print("the whole decoder hides the future:", keeps_it(lambda x: planted.run(x, parts)))
print("its parts:", list(parts))

# %% tags=["yours"]
leaky = "standardize"  # yours: the name of a part
intervene(
    "without this part, the others together hide the future",
    leaky,
    run=lambda name: keeps_it(lambda x: planted.run(
        x, {part: parts[part] for part in parts if part != name})),
    holds=bool,
    among=parts,
    shows="the others together: {result}",
    otherwise="Ask your test about each part alone: `keeps_it(parts[name])`.",
)

# %% [markdown]
# Look at it: `planted.standardized` takes the mean of each feature **over the words of the
# sentence**, and so over the future. No attention has any part in this leak, and no mask
# could stop it. The norm of lesson 08 takes the mean within one word.
#
# Your test has its limits, too. With six words it misses a leak from seven words ahead.
# Tests find leaks. Only the code proves that there is none.

# %% tags=["claim"]
# The proof
claim("your test finds the leaks of both kinds, and accuses nobody else",
      verdicts == {"no mask": False, "zeros afterwards": False, "yours": True,
                   "detached mean": False})
claim("one part of four leaks, though the mask of the attention is right",
      [name for name in parts if not keeps_it(parts[name])] == ["standardize"])

# %% [markdown] name="die-again"
# ## The die again
#
# Another test needs no look inside: train on a die. Whoever hides the future cannot do better
# than one in six, nor lose less than 1.79.
#
# ### Yours: a leak that the die cannot see
#
# Or is it so? Write a mask that lets some of the future through, and with which neither hits
# nor loss give it away. It is (6, 6) and True where a place may attend. `causal(6)` is yours,
# and `torch.Tensor.triu` and `tril` cut triangles.

# %%
def trained_with(mask):
    """Hits and loss at the first five places, after 600 steps with your attention."""
    hits, losses = die.as_in_training(die.train(attend, mask))
    return round(hits[:5].mean().item(), 2), round(losses[:5].mean().item(), 2)


square = torch.ones(6, 6, dtype=torch.bool)

# %% tags=["yours", "nbval-ignore-output"]
sly = causal(6) | square.triu(2)  # yours: a mask (6, 6) that shows some of the future
intervene(
    "part of the future is seen, hits are below 0.25 and the loss is above 1.74",
    sly,
    run=trained_with,
    holds=lambda found: found[0] < 0.25 and found[1] > 1.74,
    among=lambda mask: mask.shape == (6, 6) and mask.dtype == torch.bool
    and mask.any(1).all() and mask.triu(1).any(),
    shows="hits {result[0]}, loss {result[1]}",
    otherwise="The next roll is what it is asked for. What does the one after it say "
    "of the next one?",
)

# %% [markdown]
# The rolls are independent, so a later one says nothing of the next one. **Silence proves
# nothing**: in a sentence this leak would tell a lot.
#
# Now four more ways to hide the future, or not. *One place too far* lets each place see one
# more. *Zeros afterwards* is the wrong order of above: mask after the softmax.

# %% tags=["predict"]
predict(
    "Zeros afterwards, with a skip connection and a feed-forward network. Its hits …",
    {
        "come near 1 in most runs": (
            True,
            "All the future that it is shown is the size of a denominator. Training "
            "makes a code of it, and reads the next roll off.",
        ),
        "stay at one in six; only the loss falls": "So it nearly is in our smallest "
        "guesser, where the leak can only scale what is said. And with a network after "
        "it?",
        "stay at one in six, and the loss at 1.79": "You have seen the denominator "
        "leak. Will training leave it unused?",
    },
    concept="C068",
)

# %%
from course_lib.experiments.stored import compare, stored

rows = stored("07-die")  # six minutes of training, done once
plots.show(draw.of_the_die(rows, list(die.WAYS)), "die-results")


# %%
def of(way, number, **settings):
    """The stored numbers of one way to hide the future, over three seeds and more."""
    at = {"way": way} | settings
    return [row[number] for row in rows if at.items() <= row.items()]


zeros = of("zeros afterwards", "hits", wires=1, steps=600)
[round(share, 2) for share in zeros]

# %% [markdown]
# | | hits | loss | when it writes |
# |---|---|---|---|
# | no mask, or one place too far | 1 | near 0 | 3 and more |
# | zeros afterwards, plain | 0.16 to 0.24 | below 1.79 | 2.5 and more |
# | zeros afterwards, with the parts of lesson 08 | up to 1 | down to 0 | up to 50 |
# | next roll hidden | one in six | 1.79 | 1.79 |
# | causal mask | one in six | 1.79 | 1.79 |
#
# Zeros afterwards are the most dangerous of all. In the smallest guesser the leak can only
# make all six logits of a row larger or smaller together. Then the largest stays the
# largest, and the hits should stay at one in six. Why are they up to 0.24? We train three
# more, and ask each of them twice: with numbers of 32 bits, and of 64.

# %% tags=["nbval-ignore-output"]
def share_of_hits(guesser):
    """At the first five places."""
    return die.as_in_training(guesser)[0][:5].mean().item()


three_more = [die.train(die.zeros_afterwards, causal(6), seed=n) for n in range(3)]
in_32_bits = [share_of_hits(guesser) for guesser in three_more]
in_64_bits = [share_of_hits(guesser.double()) for guesser in three_more]
print("32 bits:", [round(share, 2) for share in in_32_bits])
print("64 bits:", [round(share, 2) for share in in_64_bits])

# %% [markdown]
# It is rounding, as with the score of 200: what is hidden becomes so loud that other weights
# are rounded to 0.
#
# With more parts and more steps the same mistake copies the future whole. So watch the
# **loss**, and let it **write**.

# %% tags=["claim"]
# The proof
claim("with a causal mask it learns and writes as an honest guesser does",
      max(of("causal mask", "hits")) < 0.2 and min(of("causal mask", "loss")) > 1.78
      and max(of("causal mask", "writing")) < 1.82)
claim("no mask and one place too far copy, after 120, 600 and 3,000 steps",
      min(of("no mask", "hits") + of("one place too far", "hits")) > 0.95
      and min(of("no mask", "writing") + of("one place too far", "writing")) > 2.5)
claim("zeros afterwards: plain, the loss is below honest ones; with more it copies",
      max(of("zeros afterwards", "hits", wires=0)) < 0.3 and min(zeros) > 0.6
      and max(of("zeros afterwards", "loss")) < min(of("causal mask", "loss")) - 0.002)
claim("in the smallest guesser more hits than one in six come from rounding",
      max(of("zeros afterwards", "hits", wires=0)) > 0.19
      and max(abs(share - 1 / 6) for share in in_64_bits) < 0.015)
claim("a die does not see a leak that leaves out the next roll",
      max(of("next roll hidden", "hits")) < 0.2
      and min(of("next roll hidden", "loss")) > 1.78)
claim("no mask and your mask, trained again, come out as they are stored",
      not compare("07-die"))

# %% [markdown] name="padding"
# ## The other thing to hide
#
# Sentences of a batch have different lengths, but a tensor must be rectangular. The shorter
# ones are filled up with a special token, `<pad>`. This is called **padding**. Here its vector
# is all zeros.

# %%
vocabulary = ["<pad>", "Jane", "visits", "Africa", "in", "September", "sleeps"]
vectors = torch.tensor([table[word] for word in vocabulary])  # (7, D)
ids = torch.tensor([[1, 2, 3, 4, 5], [1, 6, 0, 0, 0]])  # (B, T) = (2, 5)
both = vectors[ids]  # (B, T, D)
alone = both[1:, :2]  # (1, 2, D): "Jane sleeps"

# %% tags=["predict"]
predict(
    "“Jane sleeps” is followed by three paddings, all zeros. “Jane” now gets …",
    {
        "a smaller vector": (
            True,
            "A score of 0 is not a weight of 0. The paddings take their share, and "
            "give zeros for it.",
        ),
        "what it gets alone: zeros change nothing": "What is e to the 0, in the "
        "denominator?",
        "zeros": "Its own score is larger than that of a padding.",
    },
    concept="C073",
)

# %%
jane_alone = attend(alone, alone, alone)[0, 0]
jane_padded = attend(both, both, both)[1, 0]
print("alone: ", [round(v, 2) for v in jane_alone.tolist()])
print("padded:", [round(v, 2) for v in jane_padded.tolist()])

# %% [markdown]
# How a sentence is read would depend on its neighbours in the batch. Does that matter in a
# real model? The course's translator masks its padding. We take 50 sentences that it was not
# trained on, put three paddings after each, and leave its mask out.

# %%
from course_lib.experiments import filled_up

careless = filled_up.as_alone(translator, paddings=3, hidden=False, how_many=50)
careful = filled_up.as_alone(translator, paddings=3, hidden=True, how_many=50)

# %% tags=["predict"]
predict(
    "How many of the 50 does it translate as it does without padding?",
    {
        "about half": (
            True,
            "Its mask hid all padding in training, so it never learned what padding "
            "means. It reads noise there.",
        ),
        "all: three paddings are few": "They come with vectors and positions, as words "
        "do.",
        "none": "Most of the weight still goes to words.",
    },
    concept="C073",
)

# %% tags=["nbval-ignore-output"]
{"mask left out": careless, "with its mask": careful}

# %% [markdown]
# A translator that is trained without this mask may learn to ignore padding. The mask makes
# it certain, for any number of paddings.
#
# So padding has to be hidden, as a **key**. First we need to know which tokens are real.

# %% tags=["claim"]
# The proof
claim("padding of zeros makes “Jane” smaller",
      jane_padded.norm() < 0.9 * jane_alone.norm())
claim("the translator needs its padding mask", careful == 50 and careless < 42)

# %% [markdown]
# ### Exercise 4: `padding_mask`
#
# ★☆☆ · 10 minutes · about 2 lines
#
# From the lengths of the sentences to a table of True and False. A tensor lives on a
# **device**, the processor or a graphics card, and two of them can only be compared on the
# same one. So make the table where the lengths are: `torch.arange(T, device=lengths.device)`.
# (Where there is no graphics card, the check imitates one.)
#
# <details><summary>Hint 1: a question</summary>
#
# A sentence of length 2 fills the places 0 and 1. Which comparison of a place with a length
# is True there alone?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the width T: max_len, or the longest length
# 2. the numbers of the places, 0 to T − 1, where the lengths live (`device=`)
# 3. compare every place with every length: one of them has to stand as a column
#
# </details>

# %% tags=["exercise"]
from course_lib.masks import padding_mask

# %%
real_tokens = check(padding_mask).verified

# %% [markdown] name="broadcast"
# ## Which axis is which?
#
# The scores of our batch are (B, Tq, Tk) = (2, 5, 5), and the mask is (B, T) = (2, 5).
# Broadcasting lines axes up **from the right**, so 2 meets 5, and torch raises an error. We
# were lucky. Now take a batch of **five** sentences of five places: the long one, and four
# times the short one.

# %%
lengths = torch.tensor([5, 2, 2, 2, 2])
five = torch.cat([both[:1], both[1:].expand(4, -1, -1)])  # (B, T, D) = (5, 5, 4)
wrong = attend(five, five, five, real_tokens(lengths))  # its mask is (5, 5)

# %% tags=["predict"]
predict(
    "Five sentences of five places, and a mask (B, T) = (5, 5). What happens?",
    {
        "no error; query t uses sentence t's mask": (
            True,
            "It is taken for (Tq, Tk): the batch landed on the queries.",
        ),
        "no error, and all is right": "It fits. Which axis of the scores does B meet?",
        "an error, as with two sentences": "There 2 met 5. What meets what now?",
        "no error; the padding asks nothing": "Queries are the middle axis. Whose "
        "lengths stand there?",
    },
    concept="C073",
)

# %%
right = attend(five, five, five, real_tokens(lengths)[:, None, :])  # (B, 1, T)
print("alone:", [round(v, 2) for v in jane_alone.tolist()])
print("wrong:", [round(v, 2) for v in wrong[1, 0].tolist()])
print("right:", [round(v, 2) for v in right[1, 0].tolist()])

# %% [markdown]
# | tensor | batch | query | key |
# |---|---|---|---|
# | scores (B, Tq, Tk) | 5 | 5 | 5 |
# | mask (B, T) | – | **5** | 5 |
# | `mask[:, None, :]` (B, 1, T) | 5 | 1 | 5 |
#
# That happens whenever B = Tq. With B = 1 the result is even right, so no test with one
# sentence finds the mistake. So a padding mask carries its middle axis with it from the
# start. The size 1 there means: the same for every query.

# %% tags=["claim"]
# The proof
claim("without a middle axis nothing is raised, and Jane sees padding",
      wrong.shape == right.shape
      and torch.allclose(wrong[1, 0], jane_padded, atol=1e-6))
claim("with it Jane is as she is alone",
      torch.allclose(right[1, 0], jane_alone, atol=1e-6))

# %% [markdown]
# ### Exercise 5: `padding_mask_from_ids`
#
# ★☆☆ · 5 minutes · about 1 line
#
# The usual way to a padding mask: ask the token numbers themselves, and return it ready for
# attention.
#
# <details><summary>Hint 1: a question</summary>
#
# Which tokens are real, if `pad_id` is 7? And if the padding stands on the left?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one comparison, for all tokens at once
# 2. a new axis between batch and keys
#
# </details>

# %% tags=["exercise"]
from course_lib.masks import padding_mask_from_ids

# %%
hide_padding = check(padding_mask_from_ids).verified


# %% [markdown]
# Fill "Jane sleeps" up with no, three or fifty paddings:

# %%
def jane_with(paddings):
    padded = torch.tensor([[1, 6] + [0] * paddings])  # (1, 2 + paddings)
    words = vectors[padded]
    return attend(words, words, words, hide_padding(padded))[0, 0]


{n: [round(v, 2) for v in jane_with(n).tolist()] for n in (0, 3, 50)}

# %% [markdown]
# The paddings still ask, as queries, and get some answer. Nobody reads it: the loss will
# leave these rows out (lesson 11).

# %% [markdown] name="both-masks"
# ## Both at once
#
# A decoder needs both: no future **and** no padding.
#
# ### Yours: put the masks together
#
# `causal(5)` is (5, 5), and `hide_padding(ids)` is (2, 1, 5).

# %% tags=["yours"]
together = causal(5) & hide_padding(ids)  # yours: one mask (2, 5, 5), of these two
intervene(
    "each sentence hides its padding and its future, and nothing else",
    together,
    run=lambda masks: masks.sum((1, 2)).tolist(),
    holds=lambda seen: seen == [15, 9],
    among=lambda masks: masks.shape == (2, 5, 5) and masks.dtype == torch.bool,
    shows="the sentences have {result[0]} and {result[1]} times True",
    otherwise="A word may be seen if it is not in the future and if it is real.",
)

# %%
allowed = {"Jane visits Africa in September": causal(5) & hide_padding(ids)[0],
           "Jane sleeps": causal(5) & hide_padding(ids)[1]}
names = [[vocabulary[i] for i in sentence] for sentence in ids.tolist()]
plots.show(draw.who_sees_whom(allowed, names), "both-masks")

# %% [markdown]
# Programs that *write* often put the padding on the **left**, so that all sentences end at
# the same place.

# %%
left = torch.tensor([[0, 0, 0, 1, 6]])  # <pad> <pad> <pad> Jane sleeps: (1, T)
on_the_left = causal(5) & hide_padding(left)  # (1, T, T)

# %% tags=["predict"]
predict(
    "With both masks, how many of its five rows may see nobody?",
    {
        "three": (
            True,
            "A padding sees itself and paddings before it, and all of them are hidden. "
            "So there are empty rows in an ordinary sentence.",
        ),
        "none: each word sees itself": "The causal mask lets it. And the other one?",
        "one, the first": "What may the second padding see, that is real?",
        "five": "“Jane” may see “Jane”.",
    },
    concept="C073",
)

# %%
on_the_left.int()[0]

# %% [markdown]
# With −∞ alone these three rows would be NaN, and after two steps of training all of $W_q$,
# $W_k$ and $W_v$. That is why the check asked for an empty row.

# %%
of_yours = attend(vectors[left], vectors[left], vectors[left], on_the_left)[0]  # (T, D)
of_yours

# %% tags=["claim"]
# The proof
claim("paddings do not matter, none, three or fifty",
      all(torch.allclose(jane_with(n), jane_alone, atol=1e-6) for n in (0, 3, 50)))
claim("with padding on the left three rows are empty, and yours stay finite",
      on_the_left.any(-1).tolist() == [[False, False, False, True, True]]
      and bool(of_yours.isfinite().all()))

# %% [markdown] name="three-conventions"
# ## A mask in PyTorch
#
# Sooner or later you hand a mask to PyTorch, and there two opposite meanings of True live in
# one library:
#
# | where | True means |
# |---|---|
# | this course | may attend |
# | `F.scaled_dot_product_attention` | may attend |
# | `nn.MultiheadAttention`: `attn_mask`, `key_padding_mask` | **not** allowed |
# | `nn.Transformer…`: `src_mask`, `tgt_mask`, `src_key_padding_mask`, … | **not** allowed |

# %%
three = x[None, :3]  # (1, 3, D)
torch.manual_seed(0)
module = nn.MultiheadAttention(4, 1, batch_first=True)


def weights_of_module(**masks):
    """The weights of nn.MultiheadAttention: (3, 3)."""
    return module(three, three, three, **masks)[1][0].detach()


# %% tags=["predict"]
predict(
    "The module gets our causal mask as it is. What does the last row give?",
    {
        "not numbers": (
            True,
            "The last row is all True, and True is shut out there. It may see nobody.",
        ),
        "the mean of all three": "So it would be if nobody were masked, with equal "
        "scores.",
        "only the first word": "Which places of our last row are True?",
        "what it should": "What does True mean to the module?",
    },
    concept="C070",
)

# %%
weights_of_module(attn_mask=causal(3))

# %% [markdown]
# The first row sees the future alone, and the last row is spoilt. Only the last row gives the
# mistake away.
#
# ### Yours: the right way round
#
# Write the mask as the module wants it.

# %% tags=["yours"]
for_module = ~causal(3)  # yours: a mask (3, 3)
intervene(
    "the module sees each word and those before it",
    for_module,
    run=lambda mask: (weights_of_module(attn_mask=mask) > 0).tolist(),
    holds=lambda seen: seen == causal(3).tolist(),
    among=lambda mask: mask.shape == (3, 3) and mask.dtype == torch.bool,
    shows="who is seen: {result}",
    otherwise="`~` turns True and False round.",
)

# %% [markdown]
# When you read other people's code, ask of every mask first: *what does True mean here?*

# %% [markdown] name="module-weights"
# ## Further: an empty row, with weights and without
#
# What does PyTorch do with a row that may see nobody? The answer depends on whether the
# module is asked for its weights (`need_weights`). Its output bias is 0.5 here, as if it had
# been trained; a fresh one is 0.

# %%
nn.init.constant_(module.out_proj.bias, 0.5)
batch = two[None]  # (1, 2, D)
function = F.scaled_dot_product_attention
empty_row = {"function": function(batch, batch, batch, nobody)[0, 0]}
for wanted in (False, True):
    answer = module(batch, batch, batch, attn_mask=~nobody, need_weights=wanted)[0]
    empty_row[f"module, need_weights={wanted}"] = answer[0, 0]
{name: row.tolist() for name, row in empty_row.items()}

# %% [markdown]
# Three answers from one library: zeros, the output bias, NaN. With weights the module takes
# another way through its code: it computes the softmax itself. Without, it calls the
# function.

# %% [markdown] name="mask-hints"
# ## Further: floats and hints
#
# A mask of **floats** is a third thing: it is *added* to the scores. Add 1 to the score of the
# last word, and its weight grows by e, compared with the first word's. In both:

# %%
def weights_of_function(mask=None, **more):
    """The weights of F.scaled_dot_product_attention, read off with the identity."""
    return function(three, three, torch.eye(3)[None], mask, **more)[0]


def odds(weights):
    """The last word's weight over the first word's, for each query."""
    return weights[:, 2] / weights[:, 0]


plus_one = torch.tensor([0.0, 0, 1]).expand(3, 3)
factors = [odds(weights_of_function(plus_one)) / odds(weights_of_function()),
           odds(weights_of_module(attn_mask=plus_one)) / odds(weights_of_module())]
[[round(factor, 2) for factor in each.tolist()] for each in factors]

# %% [markdown]
# And there is `is_causal=True`. To the function it *is* a causal mask. To the module it is a
# **hint** that the mask which is handed over is causal, and the mask is needed as well.
# Nobody checks the hint. Here the mask hides nobody, and the hint is wrong:

# %%
def refuses(call, **masks):
    """Does it raise an error that says these masks do not go together?"""
    try:
        call(**masks)
    except RuntimeError:
        return True
    return False


hinted = {"attn_mask": torch.zeros(3, 3, dtype=torch.bool), "is_causal": True}
with_hint = [module(three, three, three, need_weights=wanted, **hinted)[0]
             for wanted in (False, True)]
without = module(three, three, three)[0]
believed = [not torch.allclose(out, without) for out in with_hint]
print("without weights, with weights:", believed)

# %% [markdown]
# A wrong hint is believed where no weights are asked for, and ignored where they are. The
# layers of `nn.Transformer` read masks as the module does: does the first word notice when
# the last one is replaced?

# %%
shut_out = torch.tensor([False, False, True])  # the last word, in the module's meaning
another = torch.cat([three[:, :2], -three[:, 2:]], dim=1)  # (1, 3, D)
encoder = nn.TransformerEncoderLayer(4, 1, 8, dropout=0.0, batch_first=True)
decoder = nn.TransformerDecoderLayer(4, 1, 8, dropout=0.0, batch_first=True)


def notices(run, **masks):
    """Does the first word's output depend on the last word?"""
    one, other = (run(sentence, **masks)[:, 0] for sentence in (three, another))
    return not torch.allclose(one, other)


# %%
of_encoder = [notices(encoder), notices(encoder, src_mask=shut_out.expand(3, 3)),
              notices(encoder, src_key_padding_mask=shut_out[None])]
of_decoder = [notices(decoder, memory=three),
              notices(decoder, memory=three, tgt_mask=shut_out.expand(3, 3)),
              notices(decoder, memory=three, tgt_key_padding_mask=shut_out[None])]
{"encoder layer": of_encoder, "decoder layer": of_decoder}

# %% tags=["claim"]
# The proof
causal_weights = weights_of_module(attn_mask=causal(3))
claim("our mask as it is makes the module see the future, and empties the last row",
      causal_weights[0, 0] == 0 < causal_weights[0, 1]
      and bool(causal_weights[2].isnan().all()))
claim("an empty row: zeros, the output bias, or NaN where weights are wanted",
      not empty_row["function"].any()
      and bool((empty_row["module, need_weights=False"] == 0.5).all()
               and empty_row["module, need_weights=True"].isnan().all()))
claim("floats are added to the scores", torch.allclose(
    torch.stack(factors), torch.ones(2, 3).exp(), atol=1e-4))

# %% tags=["claim"]
# The proof
claim("the function makes its own causal mask, and takes no second one",
      torch.equal(weights_of_function(is_causal=True) > 0, causal(3))
      and refuses(weights_of_function, mask=causal(3), is_causal=True))
claim("to the module it is a hint: it needs the mask, and is believed without weights",
      refuses(weights_of_module, is_causal=True) and believed == [True, False])
claim("the layers shut out what is True",
      of_encoder == of_decoder == [True, False, False]
      and refuses(encoder, src=three, is_causal=True))

# %% [markdown]
# ## Summary
#
# - A decoder that sees the future learns to copy. Its loss looks splendid, and when it writes
#   it does worse than knowing nothing.
# - The mask gives each row just what it would have at test time, with a perfect first part.
#   One masked pass equals T separate passes. All heads share one mask.
# - Hide before the softmax, with something far below every score. After it, the future leaks
#   through the denominator, and training will use that.
# - A row with nothing left is NaN with −∞. With a large negative number it is the mean of all
#   that is hidden, a leak. We decided: zeros.
# - Test for leaks: change the future, take the gradient, train on random data, let it write.
#   Each misses some leaks. Tests find leaks; only the code proves that there is none.
# - Padding is hidden as a key: (B, 1, T). Masks are combined with `&`.
#
# **Think about it.** In a translator, no word of the decoder may look ahead, but every word
# of the encoder may. Why is that no cheating?
#
# <details><summary>An answer</summary>
#
# What counts is what exists at test time. The French sentence is there, whole, before the
# first English word is written. So all of it may be seen, by every word of the encoder and of
# the decoder.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.1 (the
# decoder: mask, and outputs offset by one) and section 3.2.3 (illegal connections are set to
# −∞ at the input of the softmax); figure 2, left. The conventions are in PyTorch's
# documentation, under
# [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
# and [MultiheadAttention](https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html).
#
# **Next.** Attention now has all its parts. Stack it a few times as it is, and the words
# become alike, as in lesson 02. Lesson 08 adds what it takes to go deep: skip connections,
# norms and the feed-forward network.
