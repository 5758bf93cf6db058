# %% [markdown]
# # 06 · Version 6: multi-head attention
#
# *80 minutes · needs lesson 05 · one exercise*
#
# **At the end you can**
#
# - say what one attention pattern cannot do, and let several heads do it side by side;
# - turn a list of heads into four matrices, and load them into PyTorch's own layer;
# - say what heads cost, what Keras means by `key_dim`, and when more heads make things worse;
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
# Lesson 05 ended with a word that has several questions. "l'Afrique" may want to know *who?* and *when?* at the same
# time. Say that Jane answers 10 and "septembre" answers 20. A softmax shares its weight between them, half and half.
#
# **Work out** what arrives. Then let Jane answer 20 and "septembre" 10.

# %%
one_day = 0.5 * 10 + 0.5 * 20
another_day = 0.5 * 20 + 0.5 * 10
the_two_days_look_alike = one_day == another_day == 15
assert the_two_days_look_alike
one_day, another_day

# %% [markdown]
# Fifteen, both times. **Who said what is lost**: a mixture has no places for two answers.
#
# ## The sentence
#
# *Jane visite l'Afrique en septembre*, with the six features of lesson 05. Four say what kind of thing a word is, two
# say what it is about.

# %%
from course_lib.attention import self_attention as version_5

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
# Let a place ask for a person, an action and a time, all in one query. **Predict:** how much weight can each of the
# three answers get at most?

# %%
W_q, W_k = torch.zeros(6, 6), torch.eye(6)  # the key says what a word is
W_q[2, [0, 1, 3]] = 4.0  # a place asks for a person, an action and a time
africa_asks_all = pattern(x @ W_q, x @ W_k)[2]  # (N,)
no_answer_gets_more_than_a_third = bool((africa_asks_all < 0.34).all())
assert no_answer_gets_more_than_a_third
{word: round(weight, 2) for word, weight in zip(words, africa_asks_all.tolist(), strict=True)}

# %% [markdown]
# A third each, however sure the match is. Version 5 can follow one relation well, or several badly.

# %% [markdown] name="three-heads"
# ## Three questions, three heads
#
# So take version 5 three times. Each copy is called a **head**, and each gets matrices of its own.
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
# One score on paper: in head *Who?*, "l'Afrique" has the query (4, 0) and Jane the key (2, 0). The width of the head
# is 2, so the score is 8 / √2, about 5.7. **Predict** the row of "l'Afrique" in each of the three maps. And what does
# Jane do in head *Who?*, where she asks nothing? (Where you can run the cell, buttons below show one map at a time.)

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
jane_looks_at_all_alike = torch.allclose(maps[2, 0], torch.full((5,), 0.2))
assert africa_gets_three_answers
assert each_of_them_nearly_whole
assert jane_looks_at_all_alike
dict(zip(heads, africa_looks_at, strict=True))

# %% [markdown]
# In one sentence, one word now has three sure answers. Who asks nothing has a query of zeros, and zeros weigh all words
# alike.

# %% [markdown] name="concat"
# ## Split, attend, concatenate
#
# Each head hands over two numbers a word. **Do not add them up**: that would be the fifteen again. Put them
# **side by side**, so that every head has places of its own. This is called *concatenation*.

# %%
outputs = [version_5(x, *matrices) for matrices in heads.values()]  # a list of single heads, (N, 2) each
side_by_side = torch.cat(outputs, dim=-1)  # (N, 3 * 2) = (5, 6)
every_head_keeps_its_places = all(torch.equal(side_by_side[:, 2 * i : 2 * i + 2], outputs[i]) for i in range(3))
assert every_head_keeps_its_places
[tuple(output.shape) for output in outputs], tuple(side_by_side.shape)

# %% [markdown]
# Six numbers a word again, but they stand in the order of the heads: *action, travel, time, warm, person*, and one
# empty place. A last matrix, **W_o**, brings what the heads say back to the features of x.

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
africa = dict(zip(features, [round(value, 1) for value in result[2].tolist()], strict=True))
africa_knows_who_what_and_when = all(africa[name] > 1.8 for name in ("person", "action", "time"))
assert africa_knows_who_what_and_when
africa

# %% [markdown]
# Here `W_o` only sorts. A learned one also mixes: it is the one place where the heads **meet**.

# %% [markdown] name="in-signs"
# ## In signs
#
# head_i = Attention(x W_i^Q, x W_i^K, x W_i^V), for i = 1 … h
#
# MultiHead(x) = Concat(head_1, …, head_h) W^O
#
# | matrix | shape | how many | here |
# |---|---|---|---|
# | W_i^Q and W_i^K | d × d_k | h of each | 6 × 2, three of each |
# | W_i^V | d × d_v | h | 6 × 2, three |
# | W^O | h·d_v × d | one | 6 × 6 |
#
# W_i^Q and W_i^K share d_k, because they meet in a dot product. W^O has a row for each number of the concatenation,
# and a column for each number of the model.
#
# **Predict:** may d_v differ from d_k? And must h·d_v be d?

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
# d_v is free, and h·d_v with it: W^O brings the width back. Vaswani and colleagues take d_model = 512, h = 8 and
# **d_k = d_v = d_model / h = 64** (section 3.2.2). With that, all four matrices are 512 × 512 once the heads are put
# together.
#
# A claim you may meet: *"the outputs for query, key and value, three in all, are concatenated."* In our sentence it
# looks right, since three heads were. **Predict** for the sizes of the paper: how many outputs are concatenated?

# %%
d_model, num_heads, d_head = 512, 8, 64
tokens = torch.randn(5, d_model, generator=g)  # (N, d_model)
in_the_paper = [version_5(tokens, *torch.randn(3, d_model, d_head, generator=g) / d_model**0.5)
                for _ in range(num_heads)]  # a list of (N, d_head)
joined = torch.cat(in_the_paper, dim=-1)  # (N, h * d_head)
eight_outputs_are_concatenated = len(in_the_paper) == 8 and joined.shape[-1] == 8 * 64 == d_model
three_would_not_fill_w_o = 3 * d_head < d_model
assert eight_outputs_are_concatenated
assert three_would_not_fill_w_o
len(in_the_paper), tuple(joined.shape)

# %% [markdown]
# **Verdict: false.** h head outputs are concatenated. Three is the number of *projections* of every head, and query,
# key and value end inside it.

# %% [markdown] name="fused"
# ## From a list to one matrix
#
# Eight heads in a Python loop are 24 small products. Lesson 05 has shown what a loop costs. Can one product make the
# queries of all heads?
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
# | | version 5 | version 6 |
# |---|---|---|
# | **inputs** | x (N, D_x), W_q, W_k, W_v | **query (B, Tq, d), key, value (B, Tk, d)**, W_q, W_k, W_v, **W_o** |
# | **similarity** | x W_q · (x W_k)ᵀ / √D_k | **in each head:** query W_q · (key W_k)ᵀ / **√d_head** |
# | **outputs** | scores, weights (N, N), result (N, D_v) | scores, weights **(B, H, Tq, Tk)**, result **(B, Tq, d)** |
#
# Three inputs, so that it can be version 4 or version 5: a sentence may ask another one, or itself. There is a batch
# axis B, for several sentences at once. And there is a **mask**: True = may attend. A masked key gets no weight. (Where
# masks come from is lesson 07.)

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

# %% [markdown]
# Now hide "septembre" from everybody. **Predict:** who answers "l'Afrique" when it asks *when?*, and is the answer as
# good?

# %%
mask = torch.tensor([[True, True, True, True, False]]).expand(5, 5)  # (Tq, Tk)
with torch.no_grad():
    without = yours(sentence, sentence, sentence, mask)[0, 2]  # (D,)
en_answers_in_its_place = 0.8 < without[kind["time"]].item() < 0.9
nothing_of_september_is_left = without[kind["warm"]].item() < 0.2
assert en_answers_in_its_place
assert nothing_of_september_is_left
{name: round(without[kind[name]].item(), 2) for name in ("person", "action", "time", "warm")}

# %% [markdown]
# "en" is half a time word, and gives what it has. The little *warm* left is the share of "l'Afrique" itself. The other
# two heads hardly noticed.

# %% [markdown] name="as-in-torch"
# ## Is it the real thing?
#
# PyTorch has this layer as `nn.MultiheadAttention`. It keeps W_q, W_k and W_v as one matrix of shape (3d, d). We take
# random weights of **your** layer, put them into torch's, and ask both. Two traps: torch wants the batch first only if
# you say so, and in its masks **True means hidden**.

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
# After the projection every word has 32 numbers, eight for each of four heads. **Predict:** how much do the weights
# of head 1 change if you change the 24 numbers that belong to the other heads?
#
# A gradient answers that: for each head, how strongly do its weights depend on each slice of the queries?

# %%
tokens = torch.randn(6, 32, generator=g)  # (N, d)
queries, keys = mine.W_q(tokens).detach().requires_grad_(), mine.W_k(tokens).detach()  # (N, d) each
quarter = [slice(8 * i, 8 * i + 8) for i in range(4)]
depends = torch.zeros(4, 4)  # row: weights of a head; column: slice of the features
for i, s in enumerate(quarter):
    (slope,) = torch.autograd.grad(pattern(queries[:, s], keys[:, s])[:, 0].sum(), queries)  # (N, d)
    depends[i] = torch.stack([slope[:, t].norm() for t in quarter])

# %%
the_slices_of_others_have_no_influence = bool((depends[~torch.eye(4, dtype=torch.bool)] == 0).all())
its_own_slice_has = bool((depends.diag() > 0).all())
assert the_slices_of_others_have_no_influence
assert its_own_slice_has
figure, axes = plt.subplots(figsize=(4, 3.4))
plots.heat_map(axes, depends, [f"head {i}" for i in range(1, 5)], [f"slice {i}" for i in range(1, 5)],
               title="size of the gradient")
axes.set(xlabel="projected features", ylabel="weights of")
plots.show(figure, "Four heads by four slices of the projected features. On the diagonal the gradient has a "
                   "size above 0. Everywhere else it is 0.")

# %% [markdown]
# Exactly zero. Inside a head, all features go into the same score and the same softmax: they have to work **together**.
# Between heads, nothing is shared until W_o. That is why heads *can* learn different relations. Nothing forces them to.

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
# What does grow is the softmax: there are h maps of N × N weights instead of one. So the paper puts it carefully: the
# cost is *"similar to that of single-head attention with full dimensionality"* (section 3.2.2).

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
def parameters(width, num_heads, d_head):
    """Three projections to all heads and one back, each with its bias."""
    inner = num_heads * d_head
    return 3 * (width * inner + inner) + (inner * width + width)


in_torch = sum(p.numel() for p in nn.MultiheadAttention(256, 4).parameters())
keras_layer_is_four_times_as_large = parameters(256, 4, 256) == 1_051_904 > 3.9 * in_torch
torch_layer_has_heads_of_64 = parameters(256, 4, 64) == in_torch == 263_168
assert keras_layer_is_four_times_as_large
assert torch_layer_has_heads_of_64
print(f"Keras, key_dim=256: {parameters(256, 4, 256):,}   torch: {in_torch:,}   Keras, key_dim=64: "
      f"{parameters(256, 4, 64):,}")

# %% [markdown]
# **Verdict: false.** It has four heads, each as wide as the model, four times the numbers to train. `key_dim=64` is
# torch's layer. (Where Keras is installed, `tests/test_keras.py` counts its parameters, puts one set of weights into
# both layers, and compares what they say.)

# %% [markdown] name="more-heads"
# ## Are more heads better?
#
# *"More heads make the layer more expressive."* At the same width, and so at the same cost? Let us make a task that
# needs **two** relations at once.
#
# Eight words. Each has a name, a content of eight random numbers, and two addresses: the names of two words, which may
# be the same. Each word has to report the content found at its first address **and** at its second.
#
# **Predict** the error of one head. It can hand over one mixture of eight numbers, and sixteen are asked for. In one
# case of eight, both addresses are the same. (The contents have variance 1, so reporting nothing has an error of 1.)

# %%
def lookups(generator, B=32, N=8):
    """A batch of the task: x (B, N, 32) and what every word has to report (B, N, 16)."""
    names = torch.eye(N)
    content = torch.randn(B, N, 8, generator=generator)
    first, second = torch.randint(N, (2, B, N), generator=generator)
    x = torch.cat([names.expand(B, N, N), names[first], names[second], content], dim=-1)  # (B, N, 32)
    found = [content[torch.arange(B)[:, None], address] for address in (first, second)]  # (B, N, 8) each
    return x, torch.cat(found, dim=-1)


# %%
from course_lib.training import fit


def error(layer, x, wanted):
    return ((layer(x, x, x)[..., :16] - wanted) ** 2).mean()


def train(num_heads, seed, steps=200):
    """Train your layer on the task; return the mean error of the last twenty steps."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = Version6(32, num_heads)
    batches = (lookups(generator) for _ in range(steps))
    errors = fit(layer, error, batches, torch.optim.Adam(layer.parameters(), lr=0.03))
    return errors[-20:].mean().item()


# %% [markdown]
# The same width of 32, the same number of parameters, six numbers of heads, three seeds each. It takes some seconds, or
# a good while longer where `forward` has loops: `range(1)` instead of `range(3)` will do, too.

# %%
numbers = [1, 2, 4, 8, 16, 32]
errors = torch.tensor([[train(num_heads, seed) for seed in range(3)] for num_heads in numbers])  # (6, 3)
figure, axis = plt.subplots(figsize=(5.6, 3.4))
axis.loglog(numbers, errors, "o", color="#46327e", alpha=0.6)
axis.loglog(numbers, errors.median(dim=1).values, "-", color="#46327e", label="median of three seeds")
axis.axhline(7 / 16, linestyle="--", color="black", label="7/16: one mixture for two answers")
axis.set(xlabel="heads (each 32 / heads wide)", ylabel="error", xticks=numbers, xticklabels=numbers)
axis.minorticks_off()
axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.46, 0.86))
plots.show(figure, "Error over the number of heads, both axes logarithmic. One head stays at 7/16. With two heads it "
                   "falls to about 0.0001, with four and eight it is a little higher. With 16 heads it rises to about "
                   "0.08, with 32 to about 0.5.")

# %%
one_head_is_stuck_at_seven_sixteenths = bool((errors[0] - 7 / 16).abs().max() < 0.04)
two_heads_solve_it = bool(errors[1].max() < 0.01)
eight_heads_do_as_well = bool(errors[3].max() < 0.01)
sixteen_heads_are_far_worse = bool(errors[4].min() > 4 * errors[3].max())
heads_of_width_one_fail = bool(errors[5].min() > 0.3)
assert one_head_is_stuck_at_seven_sixteenths
assert two_heads_solve_it
assert eight_heads_do_as_well
assert sixteen_heads_are_far_worse
assert heads_of_width_one_fail
two_heads_solve_it, sixteen_heads_are_far_worse

# %% [markdown]
# **Verdict: half true.** One head is too few as soon as two answers are needed at once: in seven of eight cases half of
# what is asked for is missing, and 7/8 · 1/2 is 7/16. But heads are cut from a fixed width, and too many are too
# narrow.
#
# Why does a head of width 1 fail? Its query and key are single numbers, and the score is their product.
# **Predict:** of eight keys, how many can ever get the largest weight?

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
# Along a line, only the two ends can win. On a circle, each of the eight can, but its neighbours come close, so long
# queries are needed to tell them apart. Width is what a head sees sharply with.
#
# The paper saw the same in translation, at equal cost: one head was 0.9 BLEU worse than the best, and *"quality also
# drops off with too many heads"* (section 6.2 and Table 3, rows A: of 1, 4, 8, 16 and 32 heads, 8 and 16 did best).

# %% [markdown] name="ladder"
# ## The ladder
#
# Seven versions. Each mends one thing in the one before it.
#
# | version | what is new | what it mends | what it leaves |
# |---|---|---|---|
# | **0** | a network scores each input; softmax; mix | one vector for a sentence is too narrow | the network is slow |
# | **1** | query · input scores | nothing to train, d times less memory | wide vectors blind the softmax |
# | **2** | … / √D | the spread of the scores is 1 at any width | one query at a time |
# | **3** | queries as the rows of a matrix | all queries in one product | inputs are compared and mixed as one vector |
# | **4** | keys = inputs W_k, values = inputs W_v | one view to compare, one to mix | somebody else has to ask |
# | **5** | queries = x W_q | a sentence asks itself | one pattern for all questions |
# | **6** | h heads side by side, then W_o | several questions at once, no dearer | it sees the future, but no order |
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
africa, wishes, keys = x[2:3], 4 * torch.eye(4)[1:], x[:, :4]  # (1, D), (M, 4), (N, 4)
W_q5 = torch.zeros(6, 4)  # in lesson 05: a person asks for an action, an action for a person ...
W_q5[[0, 1, 2, 3], [1, 0, 1, 2]] = 2.0
hidden = torch.tanh(africa @ torch.randn(6, 4, generator=g) + x @ torch.randn(6, 4, generator=g))  # (N, 4)
rungs = [("0: a network scores", ["l'Afrique"], torch.softmax(hidden @ torch.randn(4, generator=g), 0)[None]),
         ("1: dot product", ["l'Afrique"], torch.softmax(africa @ x.T, -1)),
         ("2: divided by √D", ["l'Afrique"], pattern(africa, x)),
         ("3: many queries", words, pattern(x, x)),
         ("4: keys, another asks", ["Jane …", "Jane visits …", "… Africa in …"], pattern(wishes, keys)),
         ("5: it asks itself", words, pattern(x @ W_q5, keys)),
         *((f"6: head {question}", words, head) for question, head in zip(heads, maps, strict=True))]

# %%
titles, rows, weights = zip(*rungs, strict=True)
plots.attention_figure(weights, rows, words, heads=list(titles), alt=(
    "Nine maps over the five words. Versions 0, 1 and 2 have one row, l'Afrique: 0 spreads its weight, 1 puts 0.99 "
    "on l'Afrique itself, 2 puts 0.80 there. Version 3 has five rows, each word mostly looks at itself. Version 4 has "
    "three rows, the wishes of a writer: visite, l'Afrique, septembre. In version 5 l'Afrique looks at visite. In the "
    "three heads of version 6 it looks at visite, at septembre and at Jane."))

# %%
africa_in = {title: head[words.index("l'Afrique") if len(head) == 5 else 0] for title, _, head in rungs}
looks_at = {title: words[row.argmax()] for title, row in africa_in.items() if title[0] not in "04"}
compared_as_it_is_a_word_finds_itself = [looks_at[title] for title in titles[1:4]] == ["l'Afrique"] * 3
with_its_own_question_it_finds_others = "l'Afrique" not in [looks_at[title] for title in titles[5:]]
assert compared_as_it_is_a_word_finds_itself
assert with_its_own_question_it_finds_others
looks_at

# %% [markdown]
# ## Summary
#
# - One pattern shares its weight among all questions, and a mixture does not say who said what.
# - **Version 6**: h heads, each a version 5 in a slice of its own; their outputs stand side by side; W_o joins them.
# - Four matrices hold all heads. Cut the last axis, then swap: a `view` alone mixes up the words.
# - Parameters and products do not depend on h. In Keras `key_dim` is the width of one head.
# - Heads are independent up to W_o. Too few cannot answer all questions, too many are too narrow to see.
#
# **Think about it.** After training, somebody finds that a head can be removed and nothing gets worse. What may that
# head have learned? Would you have got the same result if you had trained without it from the start?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.2.2 with the formula, the sizes
# and the cost; Table 3, rows (A), for the number of heads. [Michel et al. 2019](https://arxiv.org/abs/1905.10650)
# remove heads from trained models. Keras documents `key_dim` as the
# [size of each attention head](https://keras.io/api/layers/attention_layers/multi_head_attention/).
#
# **Next.** Attention is complete, and it sees too much. A decoder that is to guess the next word can simply look at it.
# Lesson 07 gives you masks.
