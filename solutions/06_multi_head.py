# %% [markdown]
# # 06 · Version 6: multi-head attention
#
# *80 minutes · needs lesson 05 · one exercise*
#
# **At the end you can**
#
# - say what one attention pattern cannot do, and let several heads do it side by side;
# - turn a list of heads into four matrices, and load them into PyTorch's own layer;
# - say what heads cost, what Keras means by `key_dim`, and what the number of heads changes;
# - climb the whole ladder from version 0 to version 6, and say what each rung mends.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check
from course_lib.attention import scaled_dot_product_attention
from course_lib.display import plots

torch.set_num_threads(1)

# %% [markdown]
# ## One number first
#
# *Marie écrit à Jane*, "Marie writes to Jane". The verb has two questions, *who writes?* and *who reads?*, and both
# answers are persons. Let Marie be number 10 and Jane number 20. A softmax shares its weight between them, half and
# half. **Work out** what arrives at the verb. Then let Jane write to Marie.

# %%
from course_lib.attention import self_attention as version_5


def letter(writer, reader):
    """Three words with the features writes, is a verb, reads, number: (N, D) = (3, 4)."""
    return torch.tensor([[1.0, 0, 0, writer], [0.0, 1, 0, 0], [0.0, 0, 1, reader]])


def verb_hears(writer, reader, *asks):
    """What one head hands to the verb, which asks so strongly who writes and who reads: (1,)."""
    W_q, role, number = torch.zeros(4, 4), torch.diag(torch.tensor([1.0, 1, 1, 0])), torch.eye(4)[:, 3:]
    W_q[1, [0, 2]] = 2 * torch.tensor(asks)  # the scores are divided by √4
    return version_5(letter(writer, reader), W_q, role, number)[1]


one_day, another_day = verb_hears(10, 20, 30.0, 30.0), verb_hears(20, 10, 30.0, 30.0)
who_writes_is_lost = torch.allclose(one_day, another_day)
assert who_writes_is_lost
one_day.item(), another_day.item()

# %% [markdown]
# Fifteen, both times. Would other shares help? A score that is larger by ln 3 makes them ¾ and ¼. **Predict:** are
# writer and reader known then?

# %%
three_quarters = 30.0 + torch.tensor(3.0).log().item(), 30.0
these, others = verb_hears(10, 20, *three_quarters), verb_hears(5, 35, *three_quarters)
other_shares_do_not_help = torch.allclose(these, others)
hidden = verb_hears(10, 20, 30.0 + torch.tensor(100.0).log().item(), 30.0)  # shares of 100/101 and 1/101
whoever_can_divide_reads_both = divmod(round(101 * hidden.item()), 100) == (10, 20)
assert other_shares_do_not_help
assert whoever_can_divide_reads_both
round(these.item(), 2), round(others.item(), 2), round(hidden.item(), 4)

# %% [markdown]
# 10 and 20 give what 5 and 35 give. Where two answers use the **same feature** and a matrix reads the mixture, one of
# the two is lost, whatever the shares. (Shares of 100/101 and 1/101 still hide two whole numbers below 100 in it, for
# whoever can divide: 101 times the last number is 1020, so 10 and 20. A matrix cannot do that.)
#
# ## The sentence
#
# *Jane visite l'Afrique en septembre*, with the six features of lesson 05. Four say what kind of thing a word is, two
# say what it is about.

# %%
words = ["Jane", "visite", "l'Afrique", "en", "septembre"]
features = ["person", "action", "place", "time", "travel", "warm"]
x = torch.tensor([[2.0, 0, 0, 0, 0, 0],
                  [0.0, 2, 0, 0, 2, 0],
                  [0.0, 0, 2, 0, 0, 2],
                  [0.0, 0, 1, 1, 0, 0],
                  [0.0, 0, 0, 2, 0, 1]])  # (N, D) = (5, 6)


def pattern(queries, keys):
    """Who looks at whom: the weights of one head."""
    return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)  # (N, N)


x.shape

# %% [markdown]
# Let a place ask for a person, an action and a time, all in one query. **Predict:** if it wishes for all three alike,
# how much weight can each of the answers get at most?

# %%
W_q, W_k = torch.zeros(6, 6), torch.eye(6)  # the key says what a word is
W_q[2, [0, 1, 3]] = 4.0  # a place asks for a person, an action and a time
africa_asks_all = pattern(x @ W_q, x @ W_k)[2]  # (N,)
no_answer_gets_more_than_a_third = bool((africa_asks_all < 0.34).all())
assert no_answer_gets_more_than_a_third
{word: round(weight, 2) for word, weight in zip(words, africa_asks_all.tolist(), strict=True)}

# %% [markdown]
# A third each, however sure the match is. (With wishes of 6, 4 and 4 Jane would get 0.93.) Is anything lost?
# **Predict:** let the value be three times the word. What arrives at "l'Afrique"?

# %%
one_head = version_5(x, W_q, W_k, 3 * torch.eye(6))  # (N, D)
three_thirds_are_whole = bool((one_head[2, [0, 1, 3]] > 1.9).all())
assert three_thirds_are_whole
{name: round(value, 2) for name, value in zip(features, one_head[2].tolist(), strict=True)}

# %% [markdown]
# All three answers, whole. Here no two answers use the same feature, so one head is enough. With the two persons above
# it is not. A layer cannot know in advance which answers will collide.

# %% [markdown] name="three-heads"
# ## Three questions, three heads
#
# So take version 5 three times, once for each question. Each copy is called a **head**, and has matrices of its own.
#
# | head | asked by | answered by | hands over |
# |---|---|---|---|
# | **What?** | a person, a place, a time | an action | action, travel |
# | **When?** | a person, an action, a place | a time | time, warm |
# | **Who?** | an action, a place, a time | a person | person |
#
# We write the matrices by hand, two columns each. Of queries and keys only the first column is used.

# %%
kind = {name: i for i, name in enumerate(features)}
table = {"What?": (["person", "place", "time"], "action", ["action", "travel"]),
         "When?": (["person", "action", "place"], "time", ["time", "warm"]),
         "Who?": (["action", "place", "time"], "person", ["person"])}
heads = {}
for question, (askers, answer, gifts) in table.items():
    W_q, W_k, W_v = torch.zeros(3, 6, 2)  # each (D, d_head) = (6, 2)
    W_q[[kind[asker] for asker in askers], 0] = 2.0
    W_k[kind[answer], 0] = 1.0
    for column, gift in enumerate(gifts):
        W_v[kind[gift], column] = 1.0
    heads[question] = W_q, W_k, W_v
list(heads)

# %% [markdown]
# One score on paper: in head *Who?*, "l'Afrique" has the query (4, 0) and Jane the key (2, 0). The width of the head is
# 2, so the score is $8 / \sqrt{2}$, about 5.7. **Predict** the row of "l'Afrique" in each of the three maps. And what
# does Jane do in head *Who?*, where she asks nothing? (Where you can run the cell, buttons below show one map at a
# time.)

# %%
maps = torch.stack([pattern(x @ W_q, x @ W_k) for W_q, W_k, _ in heads.values()])  # (H, N, N)
score_of_jane = (x[2] @ heads["Who?"][0]) @ (x[0] @ heads["Who?"][1]) / 2**0.5
paper_agrees = abs(score_of_jane.item() - 8 / 1.414) < 0.01
assert paper_agrees
plots.attention_figure(maps, words, words, heads=list(heads), alt=(
    "Three maps, five words by five. What: all but visite look at visite with 0.99. When: Jane, visite and l'Afrique "
    "look at septembre with 0.93, en with 0.70. Who: all but Jane look at Jane with 0.99. The one who answers asks "
    "nothing and looks at all five words alike, 0.20 each."))

# %%
africa_looks_at = [words[i] for i in maps[:, 2].argmax(dim=-1)]
africa_gets_three_answers = africa_looks_at == ["visite", "septembre", "Jane"]
each_of_them_nearly_whole = bool((maps[:, 2].amax(dim=-1) > 0.9).all())
look_at_all_alike = [[words[i] for i in (head.amax(dim=-1) < 0.21).nonzero()[:, 0]] for head in maps]
only_who_answers_asks_nothing = look_at_all_alike == [["visite"], ["septembre"], ["Jane"]]
assert africa_gets_three_answers
assert each_of_them_nearly_whole
assert only_who_answers_asks_nothing
dict(zip(heads, africa_looks_at, strict=True))

# %% [markdown]
# In one sentence, one word now has three sure answers. Who asks nothing has a query of zeros, and zeros weigh all words
# alike.

# %% [markdown] name="concat"
# ## Split, attend, concatenate
#
# Each head hands over two numbers for each word. **Do not add them as they are**: action, time and person would be one
# number, as in the fifteen. Put them **side by side**, so that every head has places of its own. This is called
# *concatenation*.

# %%
outputs = [version_5(x, *matrices) for matrices in heads.values()]  # a list of single heads, (N, 2) each
side_by_side = torch.cat(outputs, dim=-1)  # (N, 3 * 2) = (5, 6)
[tuple(output.shape) for output in outputs], tuple(side_by_side.shape)

# %% [markdown]
# And the two persons? Give *who writes?* a head, and *who reads?* another one.

# %%
def two_heads_hear(writer, reader):
    """What the verb gets from two heads, side by side: (2,)."""
    return torch.cat([verb_hears(writer, reader, 30.0, 0.0), verb_hears(writer, reader, 0.0, 30.0)])


letters = torch.tensor([[10.0, 20], [20, 10], [5, 35]])
two_heads_tell_all_letters_apart = all(torch.allclose(two_heads_hear(*pair), pair) for pair in letters)
assert two_heads_tell_all_letters_apart
[[round(number, 2) for number in two_heads_hear(*pair).tolist()] for pair in letters]

# %% [markdown]
# Both numbers arrive, which one head had mixed.
#
# In our sentence six numbers stand side by side for each word, in the order of the heads: *action, travel, time, warm,
# person*, and one empty place. A last matrix, **$W_o$**, brings what the heads say back to the features of x.

# %%
W_o = torch.zeros(6, 6)  # (H * d_head, D)
for row, name in enumerate(["action", "travel", "time", "warm", "person"]):
    W_o[row, kind[name]] = 1.0
result = side_by_side @ W_o  # (N, D)
in_the_order_of_heads = ["action", "travel", "time", "warm", "person", "–"]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
plots.heat_map(axes[0], side_by_side, words, in_the_order_of_heads, title="heads side by side")
plots.heat_map(axes[1], result, [""] * 5, features, title="after W_o")
plots.show(figure, "Two tables of five words. Left, in the order of the heads: l'Afrique has action 1.97, travel 1.97, "
                   "time 1.93, warm 0.94, person 1.97. Right, after W_o, the same numbers stand under person, action, "
                   "place, time, travel, warm; place is 0 for every word.")

# %%
knows = dict(zip(features, [round(value, 1) for value in result[2].tolist()], strict=True))
africa_knows_who_what_and_when = all(knows[name] > 1.8 for name in ("person", "action", "time"))
w_o_adds_the_heads_up = torch.allclose(sum(a @ b for a, b in zip(outputs, W_o.split(2), strict=True)), result)
where_no_answers_meet_one_head_says_the_same = torch.cosine_similarity(result[2], one_head[2], dim=0).item() > 0.99
assert africa_knows_who_what_and_when
assert w_o_adds_the_heads_up
assert where_no_answers_meet_one_head_says_the_same
knows

# %% [markdown]
# So `W_o` does add the heads up, after each has got rows of its own. Here it only sorts. A learned one also mixes: it
# is the one place where the heads **meet**.

# %% [markdown] name="in-signs"
# ## In signs
#
# $$
# \mathrm{head}_i = \mathrm{Attention}(x W_i^Q,\; x W_i^K,\; x W_i^V), \qquad i = 1, \dots, h
# $$
#
# $$
# \mathrm{MultiHead}(x) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O
# $$
#
# $d$ is the width of a word, $d_k$ that of a query and a key, $d_v$ that of a value. $W_i^Q$ and $W_i^K$ share $d_k$,
# because they meet in a dot product. **Predict:** may $d_v$ differ from $d_k$? And must the concatenation be as wide as
# a word?

# %%
g = torch.Generator().manual_seed(0)
d, h, d_k, d_v = 6, 4, 2, 5
many = [version_5(x, torch.randn(d, d_k, generator=g), torch.randn(d, d_k, generator=g),
                  torch.randn(d, d_v, generator=g)) for _ in range(h)]  # h times (N, d_v)
joined = torch.cat(many, dim=-1)  # (N, h * d_v)
back = joined @ torch.randn(h * d_v, d, generator=g)  # (N, d)
d_v_is_free_and_w_o_brings_the_width_back = joined.shape == (5, 20) and back.shape == x.shape
assert d_v_is_free_and_w_o_brings_the_width_back
tuple(joined.shape), tuple(back.shape)

# %% [markdown] name="sizes-of-the-paper"
# ### The sizes of the paper
#
# $d_v$ is free, and the width of the concatenation with it: $W^O$ brings the width back. Vaswani and colleagues take
# $d_\text{model} = 512$ and $h = 8$, and cut the width of a word among the heads (section 3.2.2).
#
# A claim you may meet: *"the outputs for query, key and value, three in all, are concatenated."* In our sentence it
# looks right, since three heads were. **Predict** for the sizes of the paper: how many outputs, and how wide is each?

# %%
in_torch = nn.MultiheadAttention(512, 8)
W_o_takes, d_head = in_torch.out_proj.in_features, in_torch.head_dim
eight_outputs_are_concatenated = W_o_takes // d_head == 8
assert eight_outputs_are_concatenated
print(f"W_o takes {W_o_takes} numbers, a head hands over {d_head}: {W_o_takes // d_head} outputs side by side")

# %% [markdown]
# **Verdict: false.** h head outputs are concatenated. Three is the number of *projections* of every head, and query,
# key and value end inside it.
#
# | matrix | shape | how many | here | in the paper |
# |---|---|---|---|---|
# | $W_i^Q$ and $W_i^K$ | $d \times d_k$ | $h$ of each | 6 × 2, three of each | 512 × 64, eight of each |
# | $W_i^V$ | $d \times d_v$ | $h$ | 6 × 2, three | 512 × 64, eight |
# | $W^O$ | $h d_v \times d$ | one | 6 × 6 | 512 × 512 |
#
# With $d_k = d_v = d_\text{model} / h = 64$, all four are 512 × 512 once the heads are put together.

# %% [markdown] name="fused"
# ## From a list to one matrix
#
# Eight heads in a Python loop are 24 small products. At the sizes of the paper they are about as fast on a CPU as three
# wide ones. But can one product make the queries of all heads, for order's sake?
#
# Put the small matrices side by side, too. **Predict:** in `x @ wide_q`, where are the queries of head 2?

# %%
wide_q, wide_k, wide_v = (torch.cat(of_all_heads, dim=1) for of_all_heads in zip(*heads.values(), strict=True))
Q, K, V = x @ wide_q, x @ wide_k, x @ wide_v  # (N, H * d_head) each
slices = [slice(0, 2), slice(2, 4), slice(4, 6)]
columns_2_and_3_are_head_2 = torch.equal(Q[:, slices[1]], x @ heads["When?"][0])
assert columns_2_and_3_are_head_2
tuple(wide_q.shape), tuple(Q.shape)

# %%
from_slices = torch.cat([pattern(Q[:, s], K[:, s]) @ V[:, s] for s in slices], dim=-1) @ W_o  # (N, D)
difference = (from_slices - result).abs().max().item()
one_wide_matrix_does_what_the_list_did = difference < 1e-6
assert one_wide_matrix_does_what_the_list_did
print(f"largest difference from the list of heads: {difference:.6f}")

# %% [markdown]
# Four square matrices hold it all, and head i is a **slice of columns**. So a head is a subspace: its own few
# directions to compare in, its own few to hand over.
#
# The slices are still taken in a loop. But `@` works on whole stacks of matrices: (3, 5, 2) @ (3, 2, 5) are three
# products in one. Stack the heads along a new axis in front, and the attention of all heads is one call.
# `scaled_dot_product_attention` is version 3 with keys and values, for stacks. (You will write it in lesson 07.) torch
# has one of the same name.

# %%
stacks = [torch.stack([projected[:, s] for s in slices]) for projected in (Q, K, V)]  # (H, N, d_head) each
all_at_once = scaled_dot_product_attention(*stacks)  # (H, N, d_head)
a_stack_is_the_list = torch.allclose(all_at_once, torch.stack(outputs), atol=1e-6)
torchs_own_gives_the_same = torch.allclose(F.scaled_dot_product_attention(*stacks), all_at_once, atol=1e-6)
assert a_stack_is_the_list
assert torchs_own_gives_the_same
tuple(stacks[0].shape), tuple(all_at_once.shape)

# %% [markdown]
# ### The slip that nearly everybody makes once
#
# So from (N, 6) we want (3, N, 2), if possible without any loop. Why not `Q.view(3, 5, 2)`? The shape is right.
# **Predict** what is in head 1. To see it, we write into every place which word and which feature it belongs to: 42 is
# word 4, feature 2.

# %%
places = 10 * torch.arange(1, 6)[:, None] + torch.arange(1, 7)  # (N, 6)
wanted = torch.stack([places[:, s] for s in slices])  # (H, N, d_head)
by_view = places.view(3, 5, 2)  # the same shape
a_view_mixes_words_up = by_view[0].flatten().tolist() == [11, 12, 13, 14, 15, 16, 21, 22, 23, 24]
assert a_view_mixes_words_up
print("head 1, wanted: ", wanted[0].tolist())
print("head 1, by view:", by_view[0].tolist())

# %% [markdown]
# The "head" on the second line has all six features of word 1 and four of word 2, and has never heard of words 3 to
# 5. Nothing raises an error. The last axis has to be **cut** first; then two axes have to be **swapped**.

# %% [markdown] name="version-6"
# ## Version 6
#
# | part | version 5 | version 6 |
# |---|---|---|
# | **inputs** | $x$, $W_q, W_k, W_v$ | $Q$ **(B, Tq, d)**, $K, V$ **(B, Tk, d)**, $W_q, W_k, W_v, \boldsymbol{W_o}$ |
# | **similarity** | $x W_q\, (x W_k)^\top / \sqrt{D_k}$ | **per head:** $Q W_q (K W_k)^\top / \sqrt{d_\text{head}}$ |
# | **outputs** | scores, weights (N, N), out $(N, D_v)$ | scores, weights **(B, H, Tq, Tk)**, out **(B, Tq, d)** |
#
# Three inputs, query $Q$, key $K$ and value $V$, so that it can be version 4 or version 5: a sentence may ask another
# one, or itself. There is a batch axis B, for several sentences at once. And there is a **mask**: True = may attend. A
# masked key gets no weight. (Where masks come from is lesson 07.)

# %% [markdown]
# ### Exercise: `MultiHeadAttention`
#
# ★★★ · 30 minutes · about 8 lines
#
# The constructor is finished: it holds the four layers. `nn.Linear` multiplies by its matrix and adds a bias. Write
# `forward`, without a loop over the heads if you can. A loop that is right is right, too.
#
# You may call `scaled_dot_product_attention(query, key, value, mask)` for the part inside the heads, or write that part
# yourself. Its mask has to fit the scores, and they now have four axes. Leave the mask for last: the card tells you
# when nothing else is missing. (`F.scaled_dot_product_attention` is torch's own. It computes the same in one step and
# never writes the table of weights down, so the course's own answer takes it.)
#
# <details><summary>Hint 1: a question about the split</summary>
#
# You have (B, T, d_model). Which axis do you cut into num_heads × d_head, and in which order do the two new axes stand
# then? Where must the head axis be, so that `q @ k.transpose(-2, -1)` compares tokens within a head?
#
# </details>
# <details><summary>Hint 2: a question about the mask</summary>
#
# torch lines up shapes from the right. Which of the three mask shapes meets (B, H, Tq, Tk) in the right way as it is?
# Where do the others need an axis of size 1? (If you write the softmax yourself: what does it divide by where every
# score of a row is −∞?)
#
# </details>
# <details><summary>Hint 3: the steps</summary>
#
# 1. three layers make q, k and v; the last axis of each is cut into heads, and the head axis goes before the tokens
# 2. the mask gets an axis for the heads where it needs one
# 3. attention in every head: (B, H, Tq, d_head)
# 4. the head axis goes back to where it came from, the last two axes are joined, and W_o does the rest
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import MultiHeadAttention

# %%
Version6 = check(MultiHeadAttention).verified

# %% [markdown]
# From here on `Version6` is your own class as soon as the card says *right*. First test: put our matrices into it.
# (`nn.Linear` keeps its weight as (out, in), so they have to be turned.) Does it say what the list of heads said?

# %%
yours = Version6(d_model=6, num_heads=3)
with torch.no_grad():
    for layer, matrix in ((yours.W_q, wide_q), (yours.W_k, wide_k), (yours.W_v, wide_v), (yours.W_o, W_o)):
        layer.weight.copy_(matrix.T)
        layer.bias.zero_()
    sentence = x[None]  # (B, N, D) = (1, 5, 6)
    said = yours(sentence, sentence, sentence)  # (B, N, D)
yours_is_the_list_of_heads = (said[0] - result).abs().max().item() < 1e-6
assert yours_is_the_list_of_heads
dict(zip(features, [round(value, 1) for value in said[0, 2].tolist()], strict=True))

# %% [markdown] name="as-in-torch"
# ## Is it the real thing?
#
# PyTorch has this layer as `nn.MultiheadAttention`. It keeps $W_q$, $W_k$ and $W_v$ as one matrix of shape (3d, d). We
# take random weights of **your** layer, put them into torch's, and ask both. Two traps: torch wants the batch first
# only if you say so, and in its masks **True means hidden**.

# %%
torch.manual_seed(0)
mine, theirs = Version6(32, 4), nn.MultiheadAttention(32, 4, batch_first=True)
with torch.no_grad():
    theirs.in_proj_weight.copy_(torch.cat([mine.W_q.weight, mine.W_k.weight, mine.W_v.weight]))
    theirs.in_proj_bias.copy_(torch.cat([mine.W_q.bias, mine.W_k.bias, mine.W_v.bias]))
    theirs.out_proj.weight.copy_(mine.W_o.weight)
    theirs.out_proj.bias.copy_(mine.W_o.bias)
    asks, told = torch.randn(2, 3, 32), torch.randn(2, 7, 32)  # (B, Tq, d), (B, Tk, d)
    may = torch.rand(3, 7) < 0.6
    may[:, 0] = True  # everybody may attend to something
    difference = mine(asks, told, told, may) - theirs(asks, told, told, attn_mask=~may)[0]
equal_to_torch_within_1e_6 = difference.abs().max().item() < 1e-6
assert equal_to_torch_within_1e_6
equal_to_torch_within_1e_6, tuple(difference.shape)

# %% [markdown] name="independent"
# ## What a head knows of the others
#
# After the projection every word has 32 numbers, eight for each of four heads. **Predict:** how much does the output
# of head 1 change if you change the 24 numbers that belong to the other heads?
#
# Ask your own layer. With $W_q = W_o = I$, what you hand in as queries *is* the projection, and what comes out are the
# heads side by side. A gradient says how strongly each head depends on each slice of the queries.

# %%
bare = Version6(32, 4)
with torch.no_grad():
    for of_bare in (bare.W_q, bare.W_o):
        of_bare.weight.copy_(torch.eye(32))
        of_bare.bias.zero_()
tokens = torch.randn(1, 6, 32, generator=g)  # (B, N, d)
queries = mine.W_q(tokens).detach().requires_grad_()  # (B, N, d)
joined = bare(queries, tokens, tokens)  # (B, N, d): the heads side by side
quarter = [slice(8 * i, 8 * i + 8) for i in range(4)]


def depends(out):
    """How strongly each quarter of out depends on each quarter of the queries: (4, 4)."""
    slopes = [torch.autograd.grad(out[..., s].sum(), queries, retain_graph=True)[0] for s in quarter]  # (B, N, d) each
    return torch.stack([torch.stack([slope[..., t].norm() for t in quarter]) for slope in slopes])


# %%
before_W_o, after_W_o = depends(joined), depends(mine.W_o(joined))
other_heads = ~torch.eye(4, dtype=torch.bool)
the_slices_of_others_have_no_influence = bool((before_W_o[other_heads] == 0).all())
its_own_slice_has = bool((before_W_o.diag() > 0).all())
others_to_own = after_W_o[other_heads].mean() / after_W_o.diag().mean()
after_W_o_the_others_count_as_much = 0.7 < others_to_own.item() < 1.4
assert the_slices_of_others_have_no_influence
assert its_own_slice_has
assert after_W_o_the_others_count_as_much
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for axis, matrix, rows in zip(axes, (before_W_o, after_W_o), ("head", "part"), strict=True):
    plots.heat_map(axis, matrix, [f"{rows} {i}" for i in range(1, 5)], [f"slice {i}" for i in range(1, 5)])
    axis.set(xlabel="projected features", title="before W_o" if rows == "head" else "after W_o")
plots.show(figure, "Two maps of gradients, four parts of the output by four slices of the projected features. Before "
                   "W_o only the diagonal has a size above 0. After W_o every square has one.")

# %% [markdown]
# Exactly zero, until $W_o$ mixes; then the others count as much as its own slice. Inside a head, all features go into
# the same score and the same softmax: they have to work **together**. Between heads, nothing is shared. So heads *can*
# learn different relations. Do they? The last experiment of this lesson looks.

# %% [markdown] name="cost"
# ## What do heads cost?
#
# Eight heads instead of one. **Predict:** eight times the parameters, eight times the arithmetic, or what? We ask
# torch's layer at the width of the paper, for 128 words. A FLOP is a multiplication or an addition of two numbers.

# %%
from torch.utils.flop_counter import FlopCounterMode

costs = {}
for num_heads in (1, 2, 8, 16):
    with torch.device("meta"):  # shapes without numbers
        layer, tokens = nn.MultiheadAttention(512, num_heads, batch_first=True), torch.empty(1, 128, 512)
    with FlopCounterMode(display=False) as counter:
        layer(tokens, tokens, tokens)
    costs[num_heads] = sum(p.numel() for p in layer.parameters()), counter.get_total_flops()
    print(f"h = {num_heads:2}: {costs[num_heads][0]:,} parameters, {costs[num_heads][1]:,} FLOPs in products")

# %%
four_layers = 4 * (512 * 512 + 512)
four_projections, scores_and_mixing = 4 * 2 * 128 * 512 * 512, 2 * 2 * 128 * 128 * 512
all_have_1_050_624_parameters = {parameters for parameters, _ in costs.values()} == {four_layers} == {1_050_624}
all_need_the_same_products = {flops for _, flops in costs.values()} == {four_projections + scores_and_mixing}
assert all_have_1_050_624_parameters
assert all_need_the_same_products
all_have_1_050_624_parameters, all_need_the_same_products

# %% [markdown]
# The same, to the last number. Heads do not make the matrices larger; they cut them. h dot products of width d / h add
# up as many products as one of width d.
#
# What does grow is the softmax: there are h maps of N × N weights instead of one, and that takes time. On one core,
# with 1,024 words, torch's layer took 1.6 times as long with eight heads as with one, and 7 times with 64; without
# writing the maps down (`need_weights=False`), 1.1 and 2.5 times. The paper puts it carefully: the cost is *"similar to
# that of single-head attention with full dimensionality"* (section 3.2.2).

# %% [markdown] name="keras"
# ## The same layer in Keras, and a trap
#
# ```python
# layer = keras.layers.MultiHeadAttention(num_heads=4, key_dim=256)
# result = layer(query=x, value=x, key=x)      # mind the order: value comes before key
# ```
#
# The width of x is 256. *"That is `nn.MultiheadAttention(256, 4)`."* **Predict:** is it? In Keras, `key_dim` is the
# width of **one** head, and the layer takes the width of x from x.

# %%
from course_lib.experiments import heads as any_widths  # a layer whose heads may have any width

in_torch = sum(p.numel() for p in nn.MultiheadAttention(256, 4).parameters())
built = {}
for key_dim in (256, 64):
    layer = any_widths.Attention(heads=4, d_k=key_dim, d_v=key_dim, d_model=256)
    built[key_dim] = sum(p.numel() for p in layer.parameters())
keras_layer_is_four_times_as_large = built[256] == 1_051_904 and built[256] > 3.9 * in_torch
torch_layer_has_heads_of_64 = built[64] == in_torch == 263_168
assert keras_layer_is_four_times_as_large
assert torch_layer_has_heads_of_64
print(f"four heads of width 256: {built[256]:,}   torch: {in_torch:,}   four heads of width 64: {built[64]:,}")

# %% [markdown]
# **Verdict: false.** It has four heads, each as wide as the model, four times the numbers to train. `key_dim=64` is
# torch's layer. (We built both readings in torch. Where Keras is installed, `tests/test_keras.py` counts its
# parameters, puts one set of weights into both layers, and compares what they say.)

# %% [markdown] name="more-heads"
# ## Are more heads better?
#
# *"More heads make the layer more expressive."* At the same width, and so at the same cost? Let us make a task that
# needs **two** relations at once.
#
# Eight words. Each has a name, a content of eight random numbers, and two addresses: the names of two words, which may
# be the same. Each word has to report the content found at its first address **and** at its second.
#
# **Predict** the error of one head. (The contents have variance 1, so reporting nothing has an error of 1.)
#
# On paper: let its mixture be $m = a \cdot \text{first} + b \cdot \text{second}$, with $b = 1 - a$. Scaled as well as
# possible, $m$ misses these shares of the two contents:
#
# $$
# \frac{b^2}{a^2 + b^2} \qquad\text{and}\qquad \frac{a^2}{a^2 + b^2}
# $$
#
# The sum is **1** for every $a$: whatever the shares, a matrix that reads $m$ loses one of two answers, half of what is
# asked for. In one case of eight both addresses are the same, and nothing need be lost. 7/8 · 1/2 is **7/16**. Does a
# trained head do better?

# %% tags=["given"]
from course_lib.experiments.heads import lookups

# %%
from course_lib.training import fit


def error(layer, x, wanted, *addresses):
    return ((layer(x, x, x)[..., :16] - wanted) ** 2).mean()


def train(num_heads, seed, steps=200, lr=0.03, make=Version6):
    """Train your layer on the task; return it, and the mean error of the last twenty steps."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = make(32, num_heads)
    batches = (lookups(generator) for _ in range(steps))
    errors = fit(layer, error, batches, torch.optim.Adam(layer.parameters(), lr=lr))
    return layer, errors[-20:].mean().item()


# %%
layers, errors = {}, {}
for num_heads in (1, 2):
    layers[num_heads], errors[num_heads] = zip(*(train(num_heads, seed) for seed in range(3)), strict=True)
    print(f"h = {num_heads}: errors of three seeds", [round(e, 4) for e in errors[num_heads]])
one_head_is_stuck_at_seven_sixteenths = all(abs(e - 7 / 16) < 0.04 for e in errors[1])
two_heads_solve_it = max(errors[2]) < 0.01
assert one_head_is_stuck_at_seven_sixteenths
assert two_heads_solve_it

# %% [markdown] name="open-heads"
# ### What did the two heads learn?
#
# The same width, the same number of parameters, and two heads solve what one cannot. Open them. **Predict:** where does
# each head look, at the first address, at the second, or half at both?

# %% [markdown]
# A layer does not hand out its weights. But it mixes values with them. So let each word carry its own place as its
# value, a row of the identity, and let nothing be projected: what comes out is the weights.

# %%
import copy


def weights_of(layer, x):
    """Where both heads of a layer look: (B, N, 32) -> (B, H, N, N), for up to 16 words."""
    B, N = x.shape[:2]
    places = torch.eye(16)[:N].repeat(1, 2).expand(B, N, 32)  # once for each head
    bare = copy.deepcopy(layer)
    with torch.no_grad():
        for part in (bare.W_v, bare.W_o):
            part.weight.copy_(torch.eye(32))
            part.bias.zero_()
        return bare(x, x, places).unflatten(-1, (2, 16))[..., :N].movedim(2, 1)


# %%
x_new, _, first, second = lookups(torch.Generator().manual_seed(100), B=200)
differ = first != second  # (B, N), words with two different addresses
tuple(x_new.shape), int(differ.sum())

# %%
shares = []  # for each seed, head by address: how much weight it gives there, on average
for layer in layers[2]:
    weights = weights_of(layer, x_new)  # (B, H, N, N)
    shares.append(torch.stack([torch.stack([weights[:, h].gather(-1, address[..., None])[..., 0][differ].mean()
                                            for address in (first, second)]) for h in range(2)]))  # (H, 2)

# %%
each_head_follows_one_address = all(sorted(share.argmax(1).tolist()) == [0, 1] for share in shares)
and_hardly_sees_the_other = all(share.amax(1).min() > 0.9 and share.amin(1).max() < 0.1 for share in shares)
assert each_head_follows_one_address
assert and_hardly_sees_the_other

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.8), layout="constrained")
for seed, (axis, share) in enumerate(zip(axes, shares, strict=True)):
    plots.heat_map(axis, share, ["head 1", "head 2"], ["1st address", "2nd address"], title=f"seed {seed}")
plots.show(figure, "Three maps, one for each seed: two heads by two addresses, and the share of the weight. In each "
                   "map one head gives nearly all its weight to the first address, the other to the second.")

# %% [markdown]
# Nobody told them. One head follows the first address, the other one the second; which does which hangs on the random
# start. A head is a small attention in a **subspace** that it has learned: here, that of one address.
#
# ### And more heads?
#
# Heads are cut from a fixed width. With 16 of them, each has two features; with 32, one. We trained six numbers of
# heads for 3,000 steps, which takes some minutes. The results are stored in a small file, which names the command that
# makes it. **Predict** the error for each number of heads, after 200, 1,000 and 3,000 steps.

# %%
from course_lib.experiments.stored import stored

rows = stored("06-heads")
at = {(row["heads"], row["d_k"], row["d_v"], row["seed"]): row for row in rows}
numbers, lines = [1, 2, 4, 8, 16, 32], {}
for steps in (200, 1000, 3000):
    lines[steps] = torch.tensor([[at[h, 32 // h, 32 // h, seed][f"at_{steps}"] for seed in range(3)] for h in numbers])
figure, axis = plt.subplots(figsize=(5.6, 3.4))
for (steps, line), color in zip(lines.items(), ("#9a86c8", "#6a51a3", "#2d1457"), strict=True):  # (6, 3)
    axis.loglog(numbers, line, "o", color=color, alpha=0.6, markersize=4)
    axis.loglog(numbers, line.median(dim=1).values, "-", color=color, label=f"{steps:,} steps")
axis.axhline(7 / 16, linestyle="--", color="black", label="7/16")
axis.set(xlabel="heads (each 32 / heads wide)", ylabel="error", xticks=numbers, xticklabels=numbers)
axis.minorticks_off()
axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.46, 0.88))
plots.show(figure, "Error over the number of heads, both axes logarithmic, three lines for 200, 1,000 and 3,000 steps. "
                   "One head is at 7/16 on all lines. From two to eight heads all lines are below 0.001. With 16 heads "
                   "the error falls from about 0.08 to about 0.002 with more steps. With 32 it stays near 0.4.")

# %%
more_steps_do_not_help_one_head = bool((lines[3000][0] > 0.4).all())
sixteen_heads_are_slow = bool(lines[200][4].min() > 10 * lines[200][3].max())
and_learn_it_later = bool(lines[3000][4].max() < 0.01)
heads_of_width_one_fail = bool(lines[3000][5].min() > 0.3)
the_stored_error_comes_out_again = 1 / 3 < sorted(errors[2])[1] / lines[200][1].median().item() < 3
assert more_steps_do_not_help_one_head
assert sixteen_heads_are_slow
assert and_learn_it_later
assert heads_of_width_one_fail
assert the_stored_error_comes_out_again
sixteen_heads_are_slow, and_learn_it_later, heads_of_width_one_fail

# %% [markdown]
# **Verdict: half true.** Sixteen heads are not too narrow, only slower. Heads of width 1 do fail. And in one layer,
# read out by a matrix, one head loses one of two answers. **Predict:** do two layers of one head each, one after the
# other?

# %%
class TwoLayers(nn.Module):
    """Two layers of one head. What goes into a layer is added to what comes out (the skip of lesson 08)."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.first, self.second = Version6(d_model, num_heads), Version6(d_model, num_heads)

    def forward(self, x, key, value):
        x = x + self.first(x, x, x)
        return x + self.second(x, x, x)


# %%
in_two_layers = [train(1, seed, steps=300, lr=0.01, make=TwoLayers)[1] for seed in range(3)]
a_second_layer_gets_most_of_both = max(in_two_layers) < 0.25
assert a_second_layer_gets_most_of_both
[round(e, 3) for e in in_two_layers]

# %% [markdown]
# Most of both, with twice the parameters. And why do heads of width 1 fail? Their keys have width 1, and their values,
# too. The same task, with keys and values of different widths, tells which of the two it is.

# %%
compared = {"2 heads, keys 1, values 16": (2, 1, 16), "2 heads, keys 2, values 16": (2, 2, 16),
            "16 heads, keys 1, values 2": (16, 1, 2), "16 heads, keys 2, values 1": (16, 2, 1),
            "32 heads, keys 1, values 1": (32, 1, 1), "32 heads, keys 1, values 2": (32, 1, 2),
            "32 heads, keys 1, values 8": (32, 1, 8)}
ends = {name: [at[*shape, seed]["at_3000"] for seed in range(3)] for name, shape in compared.items()}
figure, axis = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for i, values in enumerate(ends.values()):
    axis.semilogx(values, [i] * 3, "o", color="#2d1457", alpha=0.6)
axis.set(yticks=range(7), yticklabels=ends, xlabel="error after 3,000 steps")
axis.invert_yaxis()
plots.show(figure, "Errors after 3,000 steps, three seeds each, on a logarithmic axis. Keys of width 1: about 0.6 with "
                   "two heads, about 0.4 with 16 and with 32. Keys of width 2: about 0.001 and less, also where the "
                   "values have width 1. 32 heads with keys of width 1: 0.06 to 0.11 with values of width 2, 0.012 and "
                   "less with values of width 8.")

# %%
narrow_keys_fail = all(min(ends[name]) > 0.3 for name in list(ends)[:5:2])
narrow_values_do_not = max(ends["16 heads, keys 2, values 1"]) < 0.01
keys_of_width_two_are_enough = max(ends["2 heads, keys 2, values 16"]) < 0.01
many_heads_with_wide_values_make_up_for_it = max(ends["32 heads, keys 1, values 8"]) < 0.05
assert narrow_keys_fail
assert narrow_values_do_not
assert keys_of_width_two_are_enough
assert many_heads_with_wide_values_make_up_for_it

# %% [markdown]
# It is the keys, unless many heads hand over more than they did: values of width 2 already take 0.4 down to 0.11 and
# less. A query and a key of width 1 are single numbers, and the score is their product. **Predict:** of eight keys, how
# many can ever get the largest weight?

# %%
def winners(keys):
    """Which of the keys get the largest weight of any of many queries?"""
    queries = torch.randn(5000, keys.shape[1], generator=torch.Generator().manual_seed(1))  # (M, d_head)
    return sorted(set((queries @ keys.T).argmax(dim=1).tolist()))


on_a_line = torch.tensor([[-3.0], [-2], [-1], [-0.5], [0.5], [1], [2], [3]])  # eight keys of width 1
angles = torch.arange(8) * torch.pi / 4
on_a_circle = torch.stack([angles.cos(), angles.sin()], dim=1)  # eight keys of width 2
on_a_line_only_the_two_ends_win = winners(on_a_line) == [0, 7]
on_a_circle_each_can_win = winners(on_a_circle) == list(range(8))
assert on_a_line_only_the_two_ends_win
assert on_a_circle_each_can_win
winners(on_a_line), winners(on_a_circle)

# %% [markdown]
# Along a line, only the two ends can win. On a circle, each of the eight can. So count: two addresses, eight words and
# eight numbers are 128 numbers. A head with keys of width 1 finds two words, and hands over at most eight numbers of
# each. **Predict** for the five rows with keys of width 1: which hand over 128 or more?

# %%
counted = {name: h * 2 * min(d_v, 8) for name, (h, d_k, d_v) in compared.items() if d_k == 1}
for name, count in counted.items():
    print(f"{name:26} {count:3} numbers, {max(0, 1 - count / 128):3.0%} missing, error {max(ends[name]):.2f} at most")

# %%
below_128_the_error_is_large_but_less_than_is_missing = all(
    0.3 < max(ends[name]) < 1 - count / 128 for name, count in counted.items() if count < 128)
from_128_on_it_is_small = all(max(ends[name]) < 0.15 for name, count in counted.items() if count >= 128)
assert below_128_the_error_is_large_but_less_than_is_missing
assert from_128_on_it_is_small

# %% [markdown]
# The count says which shapes can be enough. It is not the error: below 128 the error is smaller than the missing share.
# That narrow keys cannot make every pattern is known as the **low-rank bottleneck** (Bhojanapalli et al. 2020).
#
# The paper counted heads in translation, at equal cost: one head was 0.9 BLEU worse than the best, and *"quality also
# drops off with too many heads"* (section 6.2 and Table 3, rows A: of 1, 4, 8, 16 and 32 heads, 8 and 16 did best; even
# 32 heads had keys of width 16 there).

# %% [markdown] name="ladder"
# ## The ladder
#
# Seven versions. Each mends one thing in the one before it.
#
# | version | what is new | what it mends | what it leaves |
# |---|---|---|---|
# | **0** | a network scores each input; softmax; mix | one vector for a sentence is too narrow | the network is slow |
# | **1** | query · input scores | nothing to train, d times less memory | wide vectors blind the softmax |
# | **2** | … $/ \sqrt{D}$ | the spread of the scores is 1 at any width | one query at a time |
# | **3** | queries as the rows of a matrix | all queries in one product | inputs are compared and mixed as one vector |
# | **4** | keys $X W_k$, values $X W_v$ | one view to compare, one to mix | somebody else has to ask |
# | **5** | queries $x W_q$ | a sentence asks itself | one pattern for all questions |
# | **6** | h heads side by side, then $W_o$ | several questions, no more products | it sees the future, but no order |
#
# From rung 1 upwards each version **contains** the one below. **Predict** for each step down: what do you have to
# choose so that the upper version becomes the lower one? Then run it.

# %%
from course_lib import attention

one, eye = Version6(6, 1), torch.eye(6)
w_q, w_k, w_v = torch.randn(3, 6, 6, generator=g) / 2
with torch.no_grad():
    for layer, matrix in ((one.W_q, w_q), (one.W_k, w_k), (one.W_v, w_v), (one.W_o, eye)):
        layer.weight.copy_(matrix.T)
        layer.bias.zero_()
    v6 = one(sentence, sentence, sentence)[0]
v5, v4 = version_5(x, w_q, w_k, w_v), attention.cross_attention(x @ w_q, x, w_k, w_v)
v4_plain, v3 = attention.cross_attention(x, x, eye, eye), attention.attention_query_matrix(x, x)
v2, v1 = attention.scaled_dot_product_attention_single, attention.dot_product_attention
steps = {"6, with one head and W_o = I, is 5": (v6, v5), "5 is 4 with queries x W_q": (v5, v4),
         "4, with W_k = W_v = I, is 3": (v4_plain, v3), "3, row by row, is 2": (v3, torch.stack([v2(q, x) for q in x])),
         "2, with a query √D times as long, is 1": (v2(6**0.5 * x[2], x), v1(x[2], x))}

# %%
each_version_contains_the_one_below = all(torch.allclose(a, b, atol=1e-5) for a, b in steps.values())
assert each_version_contains_the_one_below
print("\n".join(steps))

# %% [markdown]
# Version 0 stands by itself: no choice of a dot product makes a hidden layer.

# %% [markdown] name="recap"
# ## All of it in one picture
#
# The same sentence on every rung: who looks at whom? The score network of version 0 is untrained here, the matrices of
# versions 4 and 5 are those of lesson 05, and version 6 has the three heads from above.
#
# **Before you look**, say for each version how many rows its map has, and where "l'Afrique" looks. Then use the buttons
# to go up and down the ladder.

# %%
place, wishes, keys = x[2:3], 4 * torch.eye(4)[1:], x[:, :4]  # (1, D), (M, 4), (N, 4)
W_q5 = torch.zeros(6, 4)  # in lesson 05: a person asks for an action, an action for a person ...
W_q5[[0, 1, 2, 3], [1, 0, 1, 2]] = 2.0
hidden = torch.tanh(place @ torch.randn(6, 4, generator=g) + x @ torch.randn(6, 4, generator=g))  # (N, 4)
rungs = [("0: a network scores", ["l'Afrique"], torch.softmax(hidden @ torch.randn(4, generator=g), 0)[None]),
         ("1: dot product", ["l'Afrique"], torch.softmax(place @ x.T, -1)),
         ("2: divided by √D", ["l'Afrique"], pattern(place, x)),
         ("3: many queries", words, pattern(x, x)),
         ("4: keys, another asks", ["Jane …", "Jane visits …", "… Africa in …"], pattern(wishes, keys)),
         ("5: it asks itself", words, pattern(x @ W_q5, keys)),
         *((f"6: head {question}", words, head) for question, head in zip(heads, maps, strict=True))]

# %%
titles, rows, weights = zip(*rungs, strict=True)
plots.attention_figure(weights, rows, words, heads=list(titles), alt=(
    "Nine maps over the five words. Versions 0, 1 and 2 have one row, l'Afrique: 0 spreads its weight, 1 puts 0.99 "
    "on l'Afrique itself, 2 puts 0.80 there. Version 3 has five rows: four words look mostly at themselves, en equally "
    "at l'Afrique, itself and septembre. Version 4 has three rows, the wishes of a writer: visite, l'Afrique, "
    "septembre. In version 5 l'Afrique looks at visite. In the "
    "three heads of version 6 it looks at visite, at septembre and at Jane."))

# %%
africa_in = {title: head[words.index("l'Afrique") if len(head) == 5 else 0] for title, _, head in rungs}
looks_at = {title: words[row.argmax()] for title, row in africa_in.items() if title[0] not in "04"}
compared_as_it_is_it_finds_itself = [looks_at[title] for title in titles[1:4]] == ["l'Afrique"] * 3
so_do_all_words_but_en = [words[i] for i in (rungs[3][2].diag() < 0.5).nonzero()[:, 0]] == ["en"]
with_its_own_question_it_finds_others = "l'Afrique" not in [looks_at[title] for title in titles[5:]]
assert compared_as_it_is_it_finds_itself
assert so_do_all_words_but_en
assert with_its_own_question_it_finds_others
looks_at

# %% [markdown]
# ## Summary
#
# - One pattern shares its weight among all questions. Where two answers use the same features and a matrix reads the
#   mixture, one is lost.
# - **Version 6**: h heads, each a version 5 in a slice of its own; their outputs stand side by side; $W_o$ joins them.
# - Four matrices hold all heads. Cut the last axis, then swap: a `view` alone mixes up the words.
# - Parameters and products do not depend on h; the time does, with h tables of weights. In Keras `key_dim` is the width
#   of one head.
# - Heads are independent up to $W_o$, and in training they divided the work. In one layer, one head lost one of two
#   answers; a second layer got most of both. A head with keys of width 1 finds two words only.
#
# **Think about it.** After training, somebody finds that a head can be removed and nothing gets worse. What may that
# head have learned? Would you have got the same result if you had trained without it from the start?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2.2 with the formula, the sizes
# and the cost; Table 3, rows (A), for the number of heads. [Michel et al. 2019](https://arxiv.org/abs/1905.10650)
# remove heads from trained models. [Bhojanapalli et al. 2020](https://arxiv.org/abs/2002.07028): keys that are too
# narrow. Keras documents `key_dim` as the
# [size of each attention head](https://keras.io/api/layers/attention_layers/multi_head_attention/).
#
# **Next.** Attention is complete, and it sees too much. A decoder that is to guess the next word can simply look at it.
# Lesson 07 gives you masks.
