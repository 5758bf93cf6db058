# %% [markdown]
# # 07 · Masks
#
# *85 minutes · needs lesson 06 · five exercises*
#
# **At the end you can**
#
# - catch a decoder that sees the future, and stop it;
# - say where in attention a mask has to act, and why, and what an empty row should give;
# - test any function for leaks from the future, and say what each test can miss;
# - hide padding without mixing up the axes, and hand a mask to PyTorch the right way round.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check
from course_lib.display import plots

torch.set_num_threads(1)

# %% [markdown] name="cheating"
# ## What can go wrong?
#
# A decoder learns to say the next word. For training it gets whole sentences, and at every place it has to say the
# word that follows. Attention lets every place see every place. Does that harm?
#
# Let it guess something nobody can guess: **a fair die**. Whatever was rolled before, each face comes up next once
# in six rolls. An honest guesser says "one sixth each". **One number first:** what is its loss, −ln(1/6)?

# %%
honest_hits = 1 / 6
honest_loss = -torch.tensor(honest_hits).log().item()
the_honest_loss_is_1_79 = round(honest_loss, 2) == 1.79
assert the_honest_loss_is_1_79
round(honest_loss, 2)

# %% [markdown]
# Here is the guesser: one layer of attention. Each roll becomes a vector, and its place adds another. Three matrices
# make query, key and value, and a last one turns the result into six logits.

# %%
def new_guesser(generator, T, D):
    """Vectors for 6 faces and for T places, then W_q, W_k, W_v and W_o, all ready to train."""
    shapes = [(6, D), (T, D), (D, D), (D, D), (D, D), (D, 6)]
    scales = [1, 1] + [D**-0.5] * 4
    return nn.ParameterList(scale * torch.randn(shape, generator=generator)
                            for shape, scale in zip(shapes, scales, strict=True))


def guess(guesser, attention, mask, rolls):
    """Six logits for the next roll, at every place: (batch, T, 6)."""
    faces, places, W_q, W_k, W_v, W_o = guesser
    x = faces[rolls] + places  # (batch, T, D)
    return attention(x @ W_q, x @ W_k, x @ W_v, mask) @ W_o


# %% [markdown]
# It trains on rows of seven rolls: at each of the first six, it has to say the next one. Then it is tested on 1,000
# new rows. Its attention will keep its weights, so that we can see where it looks; yours takes over soon.

# %%
from course_lib.training import fit


def learn_the_die(attention, mask, seed, T=6, D=16, batch=32, steps=120):
    """Train on rolls of a fair die; return the hit rate and the loss at each of the T places, on new rolls: (2, T)."""
    generator = torch.Generator().manual_seed(seed)
    guesser = new_guesser(generator, T, D)

    def play(guesser, rolls):
        """The logits, the losses and the rolls that followed, at each of the T places."""
        logits, following = guess(guesser, attention, mask, rolls[:, :-1]), rolls[:, 1:]
        return logits, F.cross_entropy(logits.transpose(1, 2), following, reduction="none"), following

    batches = [(torch.randint(6, (batch, T + 1), generator=generator),) for _ in range(steps)]
    fit(guesser, lambda *given: play(*given)[1].mean(), batches, torch.optim.Adam(guesser.parameters(), lr=0.03))
    logits, losses, following = play(guesser, torch.randint(6, (1000, T + 1), generator=generator))
    hits = (logits.argmax(-1) == following).float()  # (1000, T)
    return torch.stack([hits.mean(0), losses.detach().mean(0)])


# %%
looks = []  # the weights of every call: (batch, T, T)


def watched(query, key, value, mask):
    """Attention that hides nothing and keeps its weights."""
    looks.append(torch.softmax(query @ key.transpose(1, 2) / query.shape[-1] ** 0.5, -1))
    return looks[-1] @ value

# %% [markdown]
# **Predict:** how often is it right at each of the six places? An honest guesser is right once in six, on average.
# And is its loss at the last place 1.79?

# %%
seen = torch.stack([learn_the_die(watched, None, seed) for seed in range(3)])  # (3, 2, T)
weight_on_the_next_place = looks[-1].diagonal(1, 1, 2).mean().item()  # on the new rows
it_knows_five_rolls_in_advance = seen[:, 0, :5].min().item() > 0.95
it_looks_at_the_next_place = weight_on_the_next_place > 0.95
the_last_place_only_guesses = seen[:, 0, 5].max().item() < 0.25
and_is_too_sure_of_its_guess = seen[:, 1, 5].min().item() > 2
assert it_knows_five_rolls_in_advance
assert it_looks_at_the_next_place
assert the_last_place_only_guesses
assert and_is_too_sure_of_its_guess
for name, at_each_place in zip(("hits", "loss"), seen.mean(0).tolist(), strict=True):
    print(name, "at each place:", [round(value, 2) for value in at_each_place])
print(f"weight on the next place: {weight_on_the_next_place:.2f}")

# %% [markdown]
# It has not learned to look into the future of a die. It has learned to **copy**: the roll it is asked for at place 3
# is the input of place 4, and that is where it looks. Only the last place has nothing to copy from.
#
# And the last place is the one that counts. When a decoder writes, the word it looks for does not exist yet: it
# always stands at the last place. This one is perfect in training, and when it is needed, it is sure of what it cannot
# know: its loss there is above 2, worse than saying "one sixth each".

# %% [markdown] name="test-time"
# ## What may a word see?
#
# Take a sentence that a decoder should learn to write. When it is used, it writes one word after another. (Its first
# word follows a special token, `<start>`, which we leave out here.) **Predict:** what does it see before it writes
# "Africa"?

# %%
words = "Jane visits Africa in September".split()
T = len(words)
for i in range(T - 1):
    print(f"sees {' '.join(words[: i + 1]):23} has to say {words[i + 1]}")

# %% [markdown]
# This list is the rule. In training all its lines run **at once**, as the rows of one matrix. So row i gets what it
# would have had if it were really writing: word i and those before it. The rest is hidden. **The mask imitates test
# time.**
#
# One difference remains. In training the part a row sees is the *perfect* first part: the true words. This is called
# **teacher forcing**. Later, the decoder has to go on from words of its own, and some of them may be wrong. Lesson 11
# comes back to that.
#
# We write the rule as a table of True and False. A row is the word that asks, a column the word that is asked.
# **True means: may attend.**

# %% [markdown]
# ### Exercise 1: `causal_mask`
#
# ★☆☆ · 5 minutes · about 1 line
#
# The mask for T tokens. Before you write it, draw it on paper for T = 3.
#
# <details><summary>Hint 1: a question</summary>
#
# Does a word see itself? Count the entries that are True in the first row, in the second, in the last.
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# Either start from a square of True and keep one of its two triangles (which one, and with the diagonal or without?),
# or compare the numbers of the rows, as a column, with the numbers of the columns.
#
# </details>

# %% tags=["exercise"]
from course_lib.masks import causal_mask

# %%
causal = check(causal_mask).verified

# %%
def draw_mask(axis, mask, names, title):
    """A mask as a picture: 1 is True, 0 is False."""
    plots.heat_map(axis, mask.int(), names, names, title=title, numbers=False)
    for i, row in enumerate(mask.int().tolist()):
        for j, value in enumerate(row):
            axis.text(j, i, value, ha="center", va="center", color="black" if value else "white")
    axis.set(xlabel="is asked", ylabel="asks")


figure, axis = plt.subplots(figsize=(3.2, 3.2))
draw_mask(axis, causal(T), words, "causal(5)")
plots.show(figure, "A square of five by five. Ones on and below the diagonal, zeros above it: the first row has a "
                   "single one, the last row five.")

# %% [markdown]
# ## One weight by hand
#
# Now the mask has to do something. Give each word four numbers: how much *person*, *travel*, *place* and *time* is in
# it. The words themselves are query, key and value, so the score is word · word $/ \sqrt{4}$.

# %%
table = {"Jane": [2.0, 1, 0, 0], "visits": [1.0, 2, 1, 0], "Africa": [0.0, 2, 2, 0], "in": [0.0, 0, 1, 1],
         "September": [0.0, 0, 0, 2], "sleeps": [1.0, 0, 0, 1], "<pad>": [0.0, 0, 0, 0]}
x = torch.tensor([table[word] for word in words])  # (T, D) = (5, 4)
scores = x @ x.T / 2  # (T, T)
dict(zip(words, scores[1].tolist(), strict=True))  # the row of "visits"

# %% [markdown]
# "visits" may see "Jane" and itself, with scores 2 and 3. On paper: $e^2 \approx 7.4$ and $e^3 \approx 20.1$.
# **Work out** the weight of "Jane": once as if all five words were there, once with the last three hidden.

# %%
all_five = 7.4 / (7.4 + 20.1 + 20.1 + 1.6 + 1.0)
only_two = 7.4 / (7.4 + 20.1)
paper_agrees_with_all_five = abs(all_five - torch.softmax(scores[1], 0)[0].item()) < 0.01
paper_agrees_with_two = abs(only_two - torch.softmax(scores[1, :2], 0)[0].item()) < 0.01
assert paper_agrees_with_all_five
assert paper_agrees_with_two
print(f"all five: {all_five:.2f}   only two: {only_two:.2f}")

# %% [markdown] name="before-or-after"
# ## Before the softmax, or after it?
#
# We cannot cut the row to two words: in a matrix all rows are equally long. There are two ways to hide the other three.
#
# - **After:** take the softmax of all five, then set three weights to zero.
# - **Before:** set three scores to −∞, then take the softmax. (e to the −∞ is 0.)
#
# **Predict:** what does each row of weights sum to?

# %%
mask = causal(T)
after = torch.softmax(scores, -1) * mask  # (T, T)
before = torch.softmax(scores.masked_fill(~mask, float("-inf")), -1)  # (T, T)
after_the_weights_no_longer_sum_to_one = after[1].sum().item() < 0.6
before_they_do = torch.allclose(before.sum(-1), torch.ones(T))
assert after_the_weights_no_longer_sum_to_one
assert before_they_do
print("after: ", [round(w, 2) for w in after[1].tolist()], " sum", round(after[1].sum().item(), 2))
print("before:", [round(w, 2) for w in before[1].tolist()], " sum", round(before[1].sum().item(), 2))

# %% [markdown]
# A smaller sum is not the worst of it. Change something in the future: let "Africa" score 6 for "visits" instead of 3.
# "Africa" is hidden, so nothing should happen. **Predict:** does the weight of "Jane" change?

# %%
louder = scores[1].clone()
louder[2] = 6.0
jane_after = [torch.softmax(row, 0)[0].item() for row in (scores[1], louder)]
jane_before = [torch.softmax(row.masked_fill(~mask[1], float("-inf")), 0)[0].item() for row in (scores[1], louder)]
after_the_future_leaks = jane_after[1] < jane_after[0] / 5
before_nothing_moves = jane_before[0] == jane_before[1]
assert after_the_future_leaks
assert before_nothing_moves
print("Jane, zero after: ", [round(w, 3) for w in jane_after])
print("Jane, −∞ before:  ", [round(w, 3) for w in jane_before])

# %% [markdown]
# With zeros afterwards, the hidden word still stands **below the fraction line** of every other weight. The future
# leaks through the denominator. With −∞ before, it never takes part.
#
# Could one divide by the sum once more? On paper that gives exactly the weights of "before". **Predict:** and in
# the computer, if a hidden word scores 200?

# %%
row = torch.tensor([2.0, 3.0, 200.0])
left = torch.softmax(row, 0) * torch.tensor([True, True, False])
renormalised = left / left.sum()
on_paper_it_is_the_same = torch.allclose(after[1] / after[1].sum(), before[1])
in_the_computer_it_is_lost = renormalised.isnan().all().item()
assert on_paper_it_is_the_same
assert in_the_computer_it_is_lost
print("left:", left.tolist(), " divided by their sum:", renormalised.tolist())

# %% [markdown] name="strip"
# ## The whole way in one strip
#
# From scores to weights, for all five words. **Before you look:** which row of weights can you tell without computing?

# %%
steps = {"scores": scores, "masked": scores, "exponentials": scores.exp() * mask, "weights": before}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.6), sharey=True, layout="constrained")
for axis, (title, matrix) in zip(axes, steps.items(), strict=True):
    plots.heat_map(axis, matrix, words, words, title=title, kind="weight" if title == "weights" else None)
    axis.set(xlabel="is asked")
for i, j in (~mask).nonzero().tolist():  # cover what is hidden
    axes[1].add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="white", edgecolor="grey", hatch="//"))
    axes[1].text(j, i, "−∞", ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})
axes[0].set(ylabel="asks")
the_first_word_keeps_all_its_weight = before[0, 0].item() == 1
assert the_first_word_keeps_all_its_weight
plots.show(figure, "Four squares of five by five. Scores: all filled, Africa with itself 4.00. Masked: minus infinity, "
                   "hatched, above the diagonal. Exponentials: zeros there, Africa with itself 54.60. Weights: each "
                   "row sums to one; row 1 is 1.00; row 2 is 0.27 and 0.73; row 3 is 0.04, 0.26, 0.71.")

# %% [markdown]
# The first row: a word that sees itself alone gives itself weight 1, whatever its score.

# %% [markdown] name="large-number"
# ## A claim to test
#
# *"To mask a score, replace it by a very large number."*
#
# **Predict:** in the row of "visits" we put a number in the three hidden places. How much weight do these places get
# together, for 10⁹, 1, 0, −5, −10⁹ and −∞?

# %%
numbers = [1e9, 1.0, 0.0, -5.0, -1e9, float("-inf")]
hidden = {number: torch.softmax(scores[1].masked_fill(~mask[1], number), 0)[2:].sum().item() for number in numbers}
a_large_number_takes_everything = hidden[1e9] == 1
zero_is_not_hidden = hidden[0.0] > 0.05
minus_five_leaks_a_little = 0 < hidden[-5.0] < 0.01
a_large_negative_number_hides = hidden[-1e9] == 0 == hidden[float("-inf")]
assert a_large_number_takes_everything
assert zero_is_not_hidden
assert minus_five_leaks_a_little
assert a_large_negative_number_hides
{number: round(weight, 4) for number, weight in hidden.items()}

# %% [markdown]
# **Verdict: false.** A large number does the opposite of hiding. It has to be a large **negative** number, and "large"
# means: far below every score that can occur. −∞ is below all of them. So why would anyone take something else?

# %% [markdown] name="empty-row"
# ## A row with nothing left
#
# Two words. The second may see both; the first may see **nobody**. **Predict:** what are its weights with −∞?

# %%
two = x[:2]  # "Jane", "visits": (2, D)
W_v = torch.eye(4, requires_grad=True)
nobody = torch.tensor([[False, False], [True, True]])  # True = may attend
weights = torch.softmax((two @ two.T / 2).masked_fill(~nobody, float("-inf")), -1)  # (2, 2)
an_empty_row_is_nan = weights[0].isnan().all().item() and weights[1].isfinite().all().item()
assert an_empty_row_is_nan
weights

# %% [markdown]
# Every exponential is 0, and so is their sum: 0 / 0 is not a number. One spoilt row, and nobody needs it. So we leave
# it out of the loss. **Predict:** is the gradient of the value matrix all right then?

# %%
out = weights @ (two @ W_v)  # (2, D)
out[1].sum().backward()  # the loss looks at the second word only
one_nan_spoils_the_gradient = W_v.grad.isnan().all().item()
assert one_nan_spoils_the_gradient
W_v.grad

# %% [markdown]
# NaN times zero is NaN. One such row in a batch, and after the next step every number in `W_v` is lost. And such rows
# do occur: you will meet them below, with padding.
#
# What *should* such a row give? The formula does not say, so we have to **decide**. What did PyTorch decide? It has a
# function and a module, `nn.MultiheadAttention`. The module means the opposite by True, so its mask gets a `~`, which
# turns True and False round. It may return its weights as well, or not.

# %%
torch.manual_seed(0)  # for the random weights of the module
batch = two[None]  # (1, 2, D)
module = nn.MultiheadAttention(4, 1, batch_first=True)
nn.init.constant_(module.out_proj.bias, 0.5)  # as if it had trained: a fresh one is 0
empty_row = {"function": F.scaled_dot_product_attention(batch, batch, batch, attn_mask=nobody)[0, 0]}
for wanted in (False, True):
    out = module(batch, batch, batch, attn_mask=~nobody, need_weights=wanted)[0]
    empty_row[f"module, need_weights={wanted}"] = out[0, 0]
the_function_gives_zeros = not empty_row["function"].any()
the_module_gives_its_output_bias = torch.equal(empty_row["module, need_weights=False"], module.out_proj.bias)
or_nan_if_weights_are_wanted = empty_row["module, need_weights=True"].isnan().all().item()
assert the_function_gives_zeros
assert the_module_gives_its_output_bias
assert or_nan_if_weights_are_wanted
{name: row.tolist() for name, row in empty_row.items()}

# %% [markdown]
# Three answers from one library: the function gives zeros, the module its output bias (zero at the start), or NaN.
# How would one make zeros? A first idea is the smallest number that the **dtype** has, the kind of number that a tensor
# holds; ours is `float32`, and `torch.finfo` knows its limits. (Fill a tensor of dtype `float16` with −10⁹, and torch
# raises an error: it does not fit.) That number is far below every score, and a row full of it has a softmax.
# **Predict:** which weights does the first word get now?

# %%
smallest = torch.finfo(torch.float32).min
filled = torch.softmax((two @ two.T / 2).masked_fill(~nobody, smallest), -1)
nothing_is_nan_now = filled.isfinite().all().item()
it_sees_all_that_is_hidden = filled[0].tolist() == [0.5, 0.5]
assert nothing_is_nan_now
assert it_sees_all_that_is_hidden
print(f"smallest: {smallest:.1e}   weights: {filled.tolist()[0]}")

# %% [markdown]
# Finite, but look at it: the word that may see nobody gets the mean of everybody. In such a row the mask hides nothing.
# So we decide for **zeros**: after the softmax, what is hidden gets weight 0 once more. In every other row it has that
# already.

# %%
closed = filled.masked_fill(~nobody, 0.0)
the_other_row_is_untouched = torch.equal(closed[1], weights[1])
assert the_other_row_is_untouched
closed

# %% [markdown]
# Two tests. Add 100 to the hidden word: by how much does the empty row move, filled alone and with zeros? And is the
# gradient of the value matrix all right again? **Predict** both.

# %%
another = two + torch.tensor([[0.0], [100.0]])  # "visits" is hidden from "Jane"
moved_when_filled = (filled @ another - filled @ two)[0].abs().max().item()
moved_when_closed = (closed @ another - closed @ two)[0].abs().max().item()
the_smallest_number_alone_lets_it_through = moved_when_filled > 10
W_v.grad = None
(closed @ (two @ W_v))[1].sum().backward()  # the same loss as before
the_gradient_is_what_the_second_word_says = torch.allclose(W_v.grad, (weights[1] @ two)[:, None].expand(4, 4))
assert the_smallest_number_alone_lets_it_through
assert the_gradient_is_what_the_second_word_says
print("moved, filled alone:", moved_when_filled, "  with zeros:", moved_when_closed)
print("first column of the gradient:", [round(g, 2) for g in W_v.grad[:, 0].tolist()])

# %% [markdown]
# ## Attention with a mask
#
# | part | version 5 | with a mask, in a batch |
# |---|---|---|
# | **inputs** | $x$ $(N, D_x)$ | query (B, Tq, d), key (B, Tk, d), value (B, Tk, dv), **mask** like (B, Tq, Tk) |
# | **similarity** | $x W_q\, (x W_k)^\top / \sqrt{D_k}$ | query · key $/\sqrt{d}$, **lowest where the mask is False** |
# | **outputs** | scores, weights (N, N), out $(N, D_v)$ | scores, weights (B, Tq, Tk), out (B, Tq, dv) |
#
# The projections moved out, and a batch axis moved in. The mask may also be (Tq, Tk), one for all sentences, or
# (B, 1, Tk), one row for all queries. In the paper's drawing of scaled dot-product attention
# (figure 2), this is the small box "Mask (opt.)" between scale and softmax.

# %% [markdown]
# ### Exercise 2: `scaled_dot_product_attention`
#
# ★★☆ · 15 minutes · about 6 lines
#
# The heart of the Transformer: every later lesson calls it. Try it wrong on purpose, too: mask after the softmax, or
# use −∞ and nothing else, and read the card.
#
# <details><summary>Hint 1: a question</summary>
#
# `key.T` would turn all three axes round. Which two have to change places? And on which value of *its* mask does
# `masked_fill` fill?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a score for each query and key of a sentence, divided by √d: (B, Tq, Tk)
# 2. if there is a mask: where it is False, something so low that no weight is left, even in a row with nothing else
# 3. softmax over the keys
# 4. mix the values; where a mask leaves a row nothing, there should be nothing to mix
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import scaled_dot_product_attention

# %%
attend = check(scaled_dot_product_attention).verified

# %% [markdown]
# Does it do what the strip shows? It returns mixtures, not weights. But there is a trick: let the values be the rows
# of the identity matrix. **Predict:** what comes out then?

# %%
out = attend(x[None], x[None], torch.eye(T)[None], causal(T))  # (1, T, T)
the_mixtures_are_the_weights = torch.allclose(out[0], before, atol=1e-6)
assert the_mixtures_are_the_weights
print("row of 'visits':", [round(w, 2) for w in out[0, 1].tolist()])

# %% [markdown]
# Each output is a mixture of the values, and the value of word j is a one at place j. So the mixture holds one
# weight a place: the row of the strip.
#
# Now the promise of the mask: one pass over the whole sentence, and each row sees just what it would have at test
# time. **Predict:** run the sentence as five separate sentences, "Jane", "Jane visits", and so on, and keep the last
# row of each. How far is that from the single pass?

# %%
def layer(x):
    """Self-attention of one sentence in which no word sees the future: (T, D) -> (T, D)."""
    return attend(x[None], x[None], x[None], causal(len(x)))[0]


one_by_one = torch.stack([layer(x[: i + 1])[-1] for i in range(T)])  # five passes, each one word longer
one_pass_is_five_passes = torch.allclose(layer(x), one_by_one, atol=1e-6)
assert one_pass_is_five_passes
print(f"largest difference is below a millionth: {(layer(x) - one_by_one).abs().max().item() < 1e-6}")

# %% [markdown]
# Nothing is lost by going through the sentence once: one pass trains the decoder on all its lines.

# %% [markdown] name="causality"
# ## Does anything leak?
#
# A mask is easy to get wrong by one. So do not trust it: test it. First by **perturbation**. Replace "September" by
# something absurd. **Predict:** which rows change?

# %%
absurd = x.clone()
absurd[4] = torch.tensor([50.0, -50.0, 50.0, -50.0])
moved = (layer(absurd) - layer(x)).norm(dim=1)  # (T,)
earlier_words_do_not_notice = moved[:4].max().item() == 0
september_itself_does = moved[4].item() > 1
assert earlier_words_do_not_notice
assert september_itself_does
dict(zip(words, [round(m, 1) for m in moved.tolist()], strict=True))

# %% [markdown]
# That was one change of one word. The **gradient** asks about small changes of every word: how much does $\text{out}_t$
# move when $x_s$ moves? For $s > t$ it has to be exactly zero. We draw its norm for every pair, in five versions: no
# mask; zeros after the softmax; your attention with your mask; the same plus a mean over the whole sentence, which is
# **detached**: no gradient flows through it; and **masked multi-head attention**, two heads of lesson 06 that share
# this mask. **Predict:** which of them leak, and in which is the upper triangle empty?

# %%
from course_lib.attention import MultiHeadAttention


def influence(function):
    """Norm of d out_t / d x_s for all t and s: (T, T)."""
    jacobian = torch.autograd.functional.jacobian(function, x)  # (T, D, T, D)
    return jacobian.norm(dim=(1, 3))


torch.manual_seed(0)
two_heads = MultiHeadAttention(4, 2)
versions = {"no mask": lambda x: attend(x[None], x[None], x[None])[0],
            "zero after the softmax": lambda x: torch.softmax(x @ x.T / 2, -1) * mask @ x,
            "yours": layer,
            "detached mean": lambda x: layer(x) + x.detach().mean(0),
            "two heads": lambda x: two_heads(x[None], x[None], x[None], causal(len(x)))[0]}
maps = {name: influence(function) for name, function in versions.items()}
above = {name: m[~mask].max().item() for name, m in maps.items()}
nothing_comes_from_the_future = above["yours"] == above["two heads"] == 0
zero_afterwards_lets_it_through = above["zero after the softmax"] > 0.5
a_leak_that_is_detached_is_missed = above["detached mean"] == 0
assert nothing_comes_from_the_future
assert a_leak_that_is_detached_is_missed
assert zero_afterwards_lets_it_through
{name: round(largest, 2) for name, largest in above.items()}  # the largest entry above the diagonal

# %%
figure, axes = plt.subplots(1, 5, figsize=(17, 3.8), sharey=True, layout="constrained")
for axis, (name, matrix) in zip(axes, maps.items(), strict=True):
    plots.heat_map(axis, matrix, words, words, title=name)
    axis.set(xlabel="input that moves, s")
axes[0].set(ylabel="output, t")
plots.show(figure, "Five squares of gradient norms. Without a mask every entry is positive. With zeros after the "
                   "softmax the upper triangle is still filled. With the mask before it, in one head and in two, every "
                   "entry above the diagonal is 0.00, and with a detached mean as well.")

# %% [markdown]
# The second picture is the leak through the denominator: no weight goes to the future, and the future still
# has its say. The fourth leaks as well, and the gradient is blind to it: it finds only smooth leaks near this one x.
#
# ### Exercise 3: `hides_the_future`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Make a test of it, for anybody's self-attention. It gets a function, calls it, and says True or False. Five suspects
# have letters, `suspects("hides_the_future")` gives them to you; the check knows more. Let no leak through, and accuse
# nobody who is innocent: one may mix the past as one likes.
#
# <details><summary>Hint 1: a question</summary>
#
# Row t may depend on what came before it. So what has to stay the same when everything after it changes, or is not
# there at all?
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

# %% [markdown]
# **Predict:** does your test find the leak that the gradient missed?

# %%
from course_lib.checks import suspects

verdicts = {str(suspect): keeps_it(suspect) for suspect in suspects("hides_the_future")}
three_of_five_leak = sum(verdicts.values()) == 2
your_layer_does_not = keeps_it(layer)
without_a_mask_it_leaks = not keeps_it(versions["no mask"])
what_is_detached_is_found = not keeps_it(versions["detached mean"])
assert three_of_five_leak
assert your_layer_does_not
assert without_a_mask_it_leaks
assert what_is_detached_is_found
verdicts

# %% [markdown]
# A detached value or an argmax slips past the gradient; change finds them. But change has its limits, too: a test with
# six words misses a leak from seven words ahead. Tests find leaks; only the code proves that there is none.
#
# ## The die again
#
# The same guesser, with **your** attention and **your** mask. Beside it, three that leak: each place sees one place
# too far; zeros after the softmax; and a mask that hides the next roll alone and shows all those after it.
# **Predict** for each: do the hits give it away? Does the loss?

# %%
def zeros_afterwards(query, key, value, mask):
    """Attention that hides after the softmax."""
    return torch.softmax(query @ key.transpose(1, 2) / query.shape[-1] ** 0.5, -1) * mask @ value


# %%
square = torch.ones(6, 6, dtype=torch.bool)
guessers = {"your mask": (attend, causal(6)), "one place too far": (attend, square.tril(1)),
            "zeros afterwards": (zeros_afterwards, causal(6)), "next roll hidden": (attend, ~square.triu(1).tril(1))}
hits, losses = {}, {}
for name, how in guessers.items():
    runs = torch.stack([learn_the_die(*how, seed) for seed in range(3)])[:, :, :5]  # without the last place
    hits[name], losses[name] = runs.mean(-1).T.tolist()  # one a seed
    print(f"{name:18} hits {runs[:, 0].mean():.2f}   loss {runs[:, 1].mean():.2f}")
with_the_mask_it_only_guesses = max(hits["your mask"]) < 0.2 and min(losses["your mask"]) > honest_loss - 0.05
one_place_too_far_is_enough_to_cheat = min(hits["one place too far"]) > 0.95
the_hits_miss_the_zeros = max(hits["zeros afterwards"]) < 0.2
the_loss_finds_them = max(losses["zeros afterwards"]) < honest_loss - 0.05
the_skipping_leak_stays_unseen = min(losses["next roll hidden"]) > honest_loss - 0.05
assert with_the_mask_it_only_guesses
assert one_place_too_far_is_enough_to_cheat
assert the_hits_miss_the_zeros
assert the_loss_finds_them
assert the_skipping_leak_stays_unseen

# %% [markdown]
# Random data make a good test of any model that has to predict, if you look at the loss and not at the hits. With zeros
# afterwards, the future scales all six logits of a row alike: the largest stays the largest, hits stay at one in six,
# and the loss falls below 1.79. And silence proves nothing: a leak that skips the next roll leaves a die unpredictable.

# %% [markdown] name="padding"
# ## The other thing to hide
#
# Sentences of a batch have different lengths, but a tensor must be rectangular. The shorter one is filled up with
# `<pad>`. Its vector is all zeros. **Predict:** is it harmless, then? Does "Jane" get the same vector in "Jane
# sleeps" whether padding follows or not?

# %%
vocabulary = ["<pad>", "Jane", "visits", "Africa", "in", "September", "sleeps"]
vectors = torch.tensor([table[word] for word in vocabulary])  # (7, D)
ids = torch.tensor([[1, 2, 3, 4, 5], [1, 6, 0, 0, 0]])  # (B, T) = (2, 5)
both = vectors[ids]  # (B, T, D)
alone = both[1:, :2]  # (1, 2, D): "Jane sleeps"
jane_alone, jane_padded = attend(alone, alone, alone)[0, 0], attend(both, both, both)[1, 0]
padding_changes_jane = (jane_alone - jane_padded).norm().item() > 0.3
assert padding_changes_jane
print("alone: ", [round(v, 2) for v in jane_alone.tolist()])
print("padded:", [round(v, 2) for v in jane_padded.tolist()])

# %% [markdown]
# Lesson 02 had the reason: a score of zero is not a weight of zero. Three paddings take their share of "Jane" and give
# nothing for it. How a sentence is read would depend on its neighbours in the batch.
#
# So padding has to be hidden, as a **key**. First we need to know which tokens are real.

# %% [markdown]
# ### Exercise 4: `padding_mask`
#
# ★☆☆ · 10 minutes · about 2 lines
#
# From the lengths of the sentences to a table of True and False. A tensor lives on a **device**, the processor or a
# graphics card, and two of them can only be compared on the same one. So make the table where the lengths are:
# `torch.arange(T, device=lengths.device)`, or torch raises an error on a graphics card. (Where there is none, the check
# imitates one.)
#
# <details><summary>Hint 1: a question</summary>
#
# A sentence of length 2 fills the places 0 and 1. Which comparison of a place with a length is True there alone?
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
# Our batch has 2 sentences of 5 places. The scores are (B, Tq, Tk) = (2, 5, 5), and the mask is (B, T) = (2, 5).
# **Predict:** what happens if we just hand it over?

# %%
real = real_tokens(torch.tensor([5, 2]), 5)  # (B, T)
batch_scores = both @ both.transpose(1, 2) / 2  # (B, Tq, Tk)
try:
    batch_scores.masked_fill(~real, smallest)
    two_sentences_of_five_raise = False
except RuntimeError as error:
    two_sentences_of_five_raise = True
    print(error)
assert two_sentences_of_five_raise

# %% [markdown]
# Broadcasting lines axes up **from the right**:
#
# | tensor | batch | query | key |
# |---|---|---|---|
# | scores (B, Tq, Tk) | 2 | 5 | 5 |
# | mask (B, T) | – | **2** | 5 |
# | `mask[:, None, :]` (B, 1, T) | 2 | 1 | 5 |
#
# The batch of the mask lands on the queries, and 2 does not fit 5. We were lucky. **Predict:** what if there are
# five sentences of five places?

# %%
lengths = torch.tensor([5, 2, 2, 2, 2])
five = torch.cat([both[:1], both[1:].expand(4, -1, -1)])  # (5, 5, D): the long sentence, four times the short one
wrong = attend(five, five, five, real_tokens(lengths))  # (B, T) taken for (Tq, Tk)
right = attend(five, five, five, real_tokens(lengths)[:, None, :])  # (B, 1, T)
five_sentences_of_five_raise_nothing = wrong.shape == right.shape
and_jane_takes_in_padding_again = torch.allclose(wrong[1, 0], jane_padded, atol=1e-6)
with_the_axis_jane_is_jane = torch.allclose(right[1, 0], jane_alone, atol=1e-6)
assert five_sentences_of_five_raise_nothing
assert and_jane_takes_in_padding_again
assert with_the_axis_jane_is_jane
print("wrong:", [round(v, 2) for v in wrong[1, 0].tolist()], " right:", [round(v, 2) for v in right[1, 0].tolist()])

# %% [markdown]
# No error, and wrong: query t of *every* sentence used the padding of sentence t. That happens whenever B = Tq. With
# B = 1 the result is even right, so no test with one sentence finds the slip. With Tq = 1 the one query is answered B
# times: (2, 1, 4) becomes (2, 2, 4). So a padding mask carries its middle axis with it from the start. The size 1 there
# means: the same for every query.

# %% [markdown]
# ### Exercise 5: `padding_mask_from_ids`
#
# ★☆☆ · 5 minutes · about 1 line
#
# The usual way to a padding mask: ask the token numbers themselves, and return it ready for attention.
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
# **Predict:** fill "Jane sleeps" up with no, three or fifty paddings. What does "Jane" get?

# %%
def jane_with(paddings):
    padded = torch.tensor([[1, 6] + [0] * paddings])  # (1, 2 + paddings)
    return attend(vectors[padded], vectors[padded], vectors[padded], hide_padding(padded))[0, 0]


padding_no_longer_matters = all(torch.allclose(jane_with(n), jane_alone, atol=1e-6) for n in (0, 3, 50))
assert padding_no_longer_matters
{n: [round(v, 2) for v in jane_with(n).tolist()] for n in (0, 3, 50)}

# %% [markdown]
# The paddings still ask, as queries, and get some answer. Nobody reads it: the loss will leave these rows out
# (lesson 11).

# %% [markdown] name="both-masks"
# ## Both at once
#
# A decoder needs both: no future **and** no padding. With True for "may attend", that is `&`.
# **Predict** the shape of (5, 5) & (2, 1, 5).

# %%
together = causal(T) & hide_padding(ids)  # (B, T, T)
the_shapes_broadcast_to_b_t_t = together.shape == (2, 5, 5)
every_row_has_somebody = together.any(-1).all().item()
assert the_shapes_broadcast_to_b_t_t
assert every_row_has_somebody
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
for axis, allowed, sentence in zip(axes, together, ids, strict=True):
    names = [vocabulary[i] for i in sentence]
    draw_mask(axis, allowed, names, " ".join(name for name in names if name != "<pad>"))
plots.show(figure, "Two squares of five by five. Jane visits Africa in September: ones on and below the diagonal. Jane "
                   "sleeps: ones in the first column and, from the second row on, in the second; the columns of the "
                   "three paddings are all zero.")

# %% [markdown]
# Programs that *write* often put the padding on the **left**, so that all sentences end at the same place.
# **Predict:** which rows of "`<pad>` `<pad>` `<pad>` Jane sleeps" may see anybody?

# %%
left = torch.tensor([[0, 0, 0, 1, 6]])  # (1, T)
allowed = causal(T) & hide_padding(left)  # (1, T, T)
three_rows_are_empty = allowed.any(-1).tolist() == [[False, False, False, True, True]]
assert three_rows_are_empty
allowed.int()[0]

# %% [markdown]
# Three empty rows in an ordinary sentence. With −∞ alone they would be NaN. One step of training later every output
# would be, and after two steps all of $W_q$, $W_k$ and $W_v$.

# %%
of_torch = F.scaled_dot_product_attention(vectors[left], vectors[left], vectors[left], allowed)[0]  # (T, D)
of_yours = attend(vectors[left], vectors[left], vectors[left], allowed)[0]  # (T, D)
torch_gives_zeros_there = not of_torch[:3].any()
yours_is_finite_there = of_yours.isfinite().all().item()
what_is_read_is_the_same = torch.allclose(of_yours[3:], of_torch[3:], atol=1e-6)
assert torch_gives_zeros_there
assert yours_is_finite_there
assert what_is_read_is_the_same
of_yours

# %% [markdown] name="three-conventions"
# ## Three conventions in one library
#
# Sooner or later you hand a mask to PyTorch. For its module you have turned one round already. But the module takes
# two masks, and the function a third. Three words, and a mask that is True at the last of them only. **Predict:** how
# much weight does that word get in the function, and in the module as `attn_mask` and as `key_padding_mask`?

# %%
three = x[None, :3]  # (1, 3, D)
marked = torch.tensor([False, False, True])
module = nn.MultiheadAttention(4, 1, batch_first=True)


def by_function(mask, **more):
    """The weights of F.scaled_dot_product_attention, read off with the identity as values: (3, 3)."""
    return F.scaled_dot_product_attention(three, three, torch.eye(3)[None], mask, **more)[0]


def by_module(**masks):
    """The weights of nn.MultiheadAttention: (3, 3)."""
    return module(three, three, three, **masks)[1][0].detach()


in_the_function_true_takes_part = torch.equal(by_function(marked.expand(3, 3))[:, 2], torch.ones(3))
in_the_module_true_is_shut_out = torch.equal(by_module(attn_mask=marked.expand(3, 3))[:, 2], torch.zeros(3))
for_padding_it_is_shut_out_too = torch.equal(by_module(key_padding_mask=marked[None])[:, 2], torch.zeros(3))
assert in_the_function_true_takes_part
assert in_the_module_true_is_shut_out
assert for_padding_it_is_shut_out_too
print("function, weight of the marked word:", by_function(marked.expand(3, 3))[:, 2].tolist())
print("module, weight of the marked word:  ", by_module(attn_mask=marked.expand(3, 3))[:, 2].tolist())
print("the same, as key_padding_mask:      ", by_module(key_padding_mask=marked[None])[:, 2].tolist())

# %% [markdown] name="mask-table"
# Two opposite meanings of True live in one library:
#
# | where | True means | `is_causal=True` |
# |---|---|---|
# | this course | may attend | – |
# | `F.scaled_dot_product_attention` | may attend | takes the place of `attn_mask` |
# | `nn.MultiheadAttention`: `attn_mask`, `key_padding_mask` | **not** allowed | a hint; needs `attn_mask` as well |
# | `nn.Transformer…`: `src_mask`, `tgt_mask`, `src_key_padding_mask`, … | **not** allowed | a hint, too |
#
# `is_causal=True` asks for a causal mask without handing one over. A hint says that the mask which is handed over is
# causal, and nobody checks it.
#
# A mask of **floats** is a third thing: it is *added* to the scores. **Predict:** add 1 to the score of the last word.
# By which factor does its weight grow, compared with the first word's?

# %%
plus_one = marked.float().expand(3, 3)


def odds(weights):
    """The last word's weight over the first word's, for each query."""
    return weights[:, 2] / weights[:, 0]


factors = torch.stack([odds(by_function(plus_one)) / odds(by_function(None)),
                       odds(by_module(attn_mask=plus_one)) / odds(by_module())])  # (2, 3)
floats_are_added = torch.allclose(factors, torch.ones(2, 3).exp(), atol=1e-4)
assert floats_are_added
print("function:", [round(f, 2) for f in factors[0].tolist()], " module:", [round(f, 2) for f in factors[1].tolist()])

# %% [markdown]
# By e, in both: the exponential turns a sum into a product. Next, the last column of the table.

# %%
def refuses(call, **masks):
    """Does it raise an error that says these masks do not go together?"""
    try:
        call(**masks)
    except RuntimeError:
        return True
    return False


the_function_makes_its_own_mask = torch.equal(by_function(None, is_causal=True) > 0, causal(3))
the_function_takes_one_or_the_other = refuses(by_function, mask=causal(3), is_causal=True)
the_module_wants_the_mask_as_well = refuses(by_module, is_causal=True)
assert the_function_makes_its_own_mask
assert the_function_takes_one_or_the_other
assert the_module_wants_the_mask_as_well
(by_function(None, is_causal=True) > 0).int()

# %% [markdown]
# **Predict:** the module gets a mask that hides nobody, and the hint that it is causal. Which of the two wins?

# %%
hinted = {"attn_mask": torch.zeros(3, 3, dtype=torch.bool), "is_causal": True}  # hides nobody, and a wrong hint
hint_won = [not torch.allclose(module(three, three, three, need_weights=wanted, **hinted)[0],
                               module(three, three, three)[0]) for wanted in (False, True)]
the_hint_wins_where_no_weights_are_wanted = hint_won == [True, False]
assert the_hint_wins_where_no_weights_are_wanted
print("a wrong hint wins without weights, with weights:", hint_won)

# %% [markdown]
# A wrong hint is believed where no weights are asked for, and ignored where they are. Now the table's last row. Does
# the first word notice when the last one is replaced, with no mask, and with each of two?

# %%
encoder = nn.TransformerEncoderLayer(4, 1, 8, dropout=0.0, batch_first=True)
decoder = nn.TransformerDecoderLayer(4, 1, 8, dropout=0.0, batch_first=True)
another_last_word = torch.cat([three[:, :2], -three[:, 2:]], dim=1)  # (1, 3, D)


def notices(run, **masks):
    """Does the first word's output depend on the last word?"""
    one, other = (run(sentence, **masks)[:, 0] for sentence in (three, another_last_word))
    return not torch.allclose(one, other)


# %%
of_encoder = [notices(encoder), notices(encoder, src_mask=marked.expand(3, 3)),
              notices(encoder, src_key_padding_mask=marked[None])]
of_decoder = [notices(decoder, memory=three), notices(decoder, memory=three, tgt_mask=marked.expand(3, 3)),
              notices(decoder, memory=three, tgt_key_padding_mask=marked[None])]
the_layers_shut_out_what_is_true = of_encoder == of_decoder == [True, False, False]
a_hint_is_not_enough_there = refuses(encoder, src=three, is_causal=True)
assert the_layers_shut_out_what_is_true
assert a_hint_is_not_enough_there
print("encoder layer:", of_encoder, " decoder layer:", of_decoder)

# %% [markdown]
# **Predict:** what does `nn.MultiheadAttention` do with *our* causal mask, handed over as it is?

# %%
weights = by_module(attn_mask=causal(3))  # (T, T)
the_past_is_hidden_and_the_future_seen = weights[0, 0].item() == 0 and weights[0, 1].item() > 0
the_last_row_is_empty = weights[2].isnan().all().item()
turned_round = by_module(attn_mask=~causal(3))
with_a_tilde_it_is_ours = torch.equal(turned_round > 0, causal(3))
assert the_past_is_hidden_and_the_future_seen
assert the_last_row_is_empty
assert with_a_tilde_it_is_ours
print("last row as it is:", weights[2].tolist())
print("with ~, who is seen:", (turned_round > 0).int().tolist())

# %% [markdown]
# The first row sees the future alone, and the last row is NaN. A `~` mends both. When you read other people's code,
# ask of every mask first: *what does True mean here?*

# %% [markdown]
# ## Summary
#
# - A decoder that sees the future learns to copy. Its loss looks splendid, and it can write nothing.
# - The mask gives each row just what it would have at test time, with a perfect first part. One masked pass equals
#   T separate passes.
# - Hide before the softmax, with something far below every score. After it, the future leaks through the denominator.
# - A row with nothing left is NaN with −∞. With a large negative number it is the mean of all that is hidden, a leak.
#   We decided: zeros.
# - Test for leaks: change the future, take the gradient, look at the loss on random data. Each misses some leaks. Tests
#   find leaks; only the code proves that there is none.
# - Padding is hidden as a key: (B, 1, T). Masks are combined with `&`.
#
# **Think about it.** In a translator, no word of the decoder may look ahead, but every word of the encoder may. Why is
# that no cheating? And can you think of a task that needs a third kind of mask?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.1 (the decoder: mask, and outputs
# offset by one) and section 3.2.3 (illegal connections are set to −∞ at the input of the softmax); figure 2, left.
# The conventions are in PyTorch's documentation, under
# [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
# and [MultiheadAttention](https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html).
#
# **Next.** Attention now has all its parts. Stack it a few times as it is, and the words become alike, as in
# lesson 02. Lesson 08 adds what it takes to go deep: skip connections, norms and the feed-forward network.
