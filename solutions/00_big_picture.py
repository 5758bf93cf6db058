# %% [markdown]
# # 00 · The big picture: the whole Transformer first
#
# *45 minutes · needs Python and [a little PyTorch](../docs/primer.md) · one exercise*
#
# **At the end you can**
#
# - draw the Transformer of 2017 as a handful of blocks, and say what each is for;
# - count the operations of one block, kind by kind;
# - replace a loop by a matrix product, and read the card that judges your answer.

# %% [markdown]
# ## How a lesson works
#
# - **Predict before you run.** Most cells follow a question. Write your answer down, then run the cell. A wrong
#   one shows you where to look.
# - **Claims are run.** A line such as `assert memory_is_as_long_as_the_source` stops the lesson if its claim is
#   false.
# - **Exercises have a card.** It says at once whether your code is right, and if not, what it did instead.
# - **Hints fold open.** The first is a question, the second gives the steps. Neither gives the answer. If the same
#   mistake comes twice, the card offers them, too.
# - **Your code is used.** `check(...).verified` is your own function once it is right, and the course's until then.
#   You can always read on.
# - **Nothing is fetched.** Every lesson runs on your own machine, without a network.

# %%
import copy
import timeit
from collections import Counter

import matplotlib.pyplot as plt
import torch

from course_lib import check
from course_lib.display import plots

torch.set_num_threads(1)

# %% [markdown] name="whole-machine"
# ## The whole machine
#
# A French sentence goes in. An English one comes out, one word at a time. What has to happen between the two?
#
# Here is the answer of 2017, complete. Words enter at the bottom. **Before you read on**, follow one French word with
# your finger until it helps to choose an English one. How many kinds of box do you meet?

# %%
from course_lib.display.drawings import draw_transformer

figure, axes = plt.subplots(figsize=(9.6, 8.5))
draw_transformer(axes)
plots.show(figure, "Block diagram. Left, the encoder: the French words go through embedding and position, then six "
                   "times through self-attention, add and norm, feed-forward, add and norm. What leaves the last of "
                   "the six, called memory, goes to all six layers of the decoder, on the right: the English words so "
                   "far go through embedding and position, and six times through masked self-attention, "
                   "cross-attention to the memory, and feed-forward, each followed by add and norm. Linear and softmax "
                   "give the next word. All boxes but embedding and linear bear a lesson number.")

# %% [markdown]
# Eight kinds of box; a ninth, masked self-attention, is met by English words only. From the bottom to the top:
#
# - **Embedding** turns each word into a vector, a list of numbers. **Position** adds where the word stands.
# - The **encoder** reads. In *self-attention* each word takes in what it needs from the other words. *Feed-forward*
#   then works on each word alone. The arrow around each of them lets the old vector through; *add & norm* joins the
#   two.
# - What leaves the **last** encoder layer is called **memory**: one vector for each French word.
# - The **decoder** writes. Each of its layers looks back at the words written so far (*masked*: it must not see the
#   future), and at the one memory (*cross-attention*).
# - **Linear** and **softmax** turn the last vector into one probability for each word of the vocabulary.
#
# The black labels say in which lesson you build a part. What has none comes from PyTorch: the embedding is a table,
# and the linear layer a matrix product.

# %% [markdown]
# ## Run a whole one
#
# PyTorch has both stacks ready made, as `torch.nn.Transformer`. Today it is a black box. We give it words as numbers:
# each word is replaced by its place in one list of all words. PyTorch takes several sentences at once, a *batch* of B;
# ours is B = 1.

# %%
french = "Jane visite l'Afrique en septembre".split()  # Ts = 5 words, the source
english = "<sos> Jane visits Africa".split()  # Tt = 4 words so far, the target
vocabulary = sorted({*french, *english, "in", "September", "<eos>"})
source_ids = torch.tensor([[vocabulary.index(word) for word in french]])  # (B, Ts) = (1, 5)
target_ids = torch.tensor([[vocabulary.index(word) for word in english]])  # (B, Tt) = (1, 4)
source_ids, target_ids

# %% [markdown]
# `<sos>` means *start of sentence*: it gives the decoder something to begin with.
#
# Now the machine, small and untrained: vectors of 32 numbers instead of 512, two layers on each side instead of six.
# The stacks begin after the embedding and end before the last linear layer, so we add those. For the positions we take
# random numbers; lesson 09 finds better ones.

# %%
torch.manual_seed(0)
D = 32
embedding = torch.nn.Embedding(len(vocabulary), D)
positions = torch.randn(5, D)
machine = torch.nn.Transformer(D, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=64,
                               dropout=0.0, batch_first=True)
to_words = torch.nn.Linear(D, len(vocabulary))
mask = torch.nn.Transformer.generate_square_subsequent_mask(4)  # hides the future: lesson 07
print(f"{sum(p.numel() for p in machine.parameters()):,} numbers to train in the two stacks")

# %% [markdown]
# **Predict** four shapes: the source after the embedding, the memory, the decoder's output, and the probabilities.
# There are 1 sentence, 5 French words, 4 English words, 32 numbers in a vector, and 11 words in the vocabulary.

# %%
source = embedding(source_ids) + positions[:5]  # (B, Ts, D)
target = embedding(target_ids) + positions[:4]  # (B, Tt, D)
memory = machine.encoder(source)  # (B, Ts, D)
output = machine.decoder(target, memory, tgt_mask=mask)  # (B, Tt, D)
probabilities = torch.softmax(to_words(output), dim=-1)  # (B, Tt, 11)
stations = {"source": source, "target": target, "memory": memory, "output": output, "probabilities": probabilities}
for name, tensor in stations.items():
    print(f"{name:14}{tuple(tensor.shape)}")

# %%
def decode(first, second):
    """The decoder, layer by layer, with a memory for each."""
    x = machine.decoder.layers[0](target, first, tgt_mask=mask)
    return machine.decoder.norm(machine.decoder.layers[1](x, second, tgt_mask=mask))


empty = torch.zeros_like(memory)
memory_is_as_long_as_the_source = memory.shape == source.shape
one_memory_serves_both_layers = torch.allclose(decode(memory, memory), output, atol=1e-6)
without = decode(empty, memory), decode(memory, empty)
neither_can_do_without = not any(torch.allclose(other, output, atol=0.1) for other in without)
the_two_stacks_are_the_whole = torch.allclose(machine(source, target, tgt_mask=mask), output, atol=1e-6)
assert memory_is_as_long_as_the_source
assert one_memory_serves_both_layers
assert neither_can_do_without
assert the_two_stacks_are_the_whole
the_two_stacks_are_the_whole

# %% [markdown]
# A table with one row per word goes in, and a table of the **same shape** comes out. That is why layers can be stacked.
#
# The last row of probabilities is the machine's guess at the word after *Africa*. **Predict:** will it say *in*?

# %%
guess = probabilities[0, -1].detach()  # (11,)
it_knows_nothing_yet = guess.max().item() < 0.5
assert it_knows_nothing_yet
figure, axis = plt.subplots(figsize=(8, 2.6))
axis.bar(vocabulary, guess)
axis.set(xlabel="next word", ylabel="probability", ylim=(0, 1))
axis.tick_params("x", rotation=45)
plots.show(figure, "Bar chart of eleven words, French and English mixed: each gets a little of the probability, "
                   "none of them more than about a fifth, and the right word, in, less than most.")

# %% [markdown]
# It has every part of a translator and knows no French. (With another seed it may say *in* by luck.) In lesson 11 a
# Transformer made of **your own functions** is trained, and translates this very sentence.

# %% [markdown] name="the-way"
# ## The way through the course
#
# Now we take the whole apart and build it again from nothing, in small steps.
#
# | lesson | you build | because |
# |---|---|---|
# | 01 | attention before networks | max-pooling and TF-IDF already choose what counts |
# | 02 | self-attention with nothing trained | a word should take its meaning from its sentence |
# | 03 | **version 0**: a small network scores each input | one vector is too narrow for a whole sentence |
# | 04 | **version 1**: a dot product scores | the network is slow |
# | 04 | **version 2**: divided by $\sqrt{d}$ | wide vectors blind the softmax |
# | 05 | **version 3**: many queries at once | one query at a time is slow |
# | 05 | **version 4**: keys and values apart | comparing and mixing are two jobs |
# | 05 | **version 5**: self-attention | a sentence can ask itself |
# | 06 | **version 6**: many heads | one set of weights blends two answers into one |
# | 07 | masks | the future must stay hidden, and so must the padding |
# | 08 | the wires: skip connections, norms, feed-forward | bare attention does not stack |
# | 09 | positions | attention does not see the order of the words |
# | 10 | the encoder, for classifying texts | to read |
# | 11 | the decoder, for translating | to write what was read |
# | 12 | a language model | to write on, with no source |
# | 13 | a Vision Transformer | an image can be a sentence of patches |
# | 14 | the general view, and an audit of claims | what is special about attention, and what is not? |
# | 15 | a place for real weights in your own code | the last check: trained weights of others must fit it |

# %% [markdown] name="attention-alone"
# ## What is in the box?
#
# Just before 2017, networks that translate were mostly *recurrent* (RNN, LSTM, GRU), reading word after word, and some
# were made of *convolutions*, which slide a small window. **Predict:** which of these are inside the black box?

# %%
parts = Counter(type(module).__name__ for module in machine.modules())
for name, how_many in parts.most_common():
    print(f"{how_many:3}  {name}")


# %%
def older_parts(network):
    names = {type(module).__name__ for module in network.modules()}
    return [name for name in names if any(old in name for old in ("RNN", "LSTM", "GRU", "Conv"))]


the_search_would_find_them = all(map(older_parts, (torch.nn.LSTM(4, 4), torch.nn.Conv1d(4, 4, 3))))
no_recurrence_and_no_convolution = older_parts(machine) == []
assert the_search_would_find_them
assert no_recurrence_and_no_convolution
older_parts(machine)

# %% [markdown]
# None. (`NonDynamicallyQuantizableLinear` is a plain linear layer: the last step of attention.) Then what carries
# information from word to word? Silence every attention layer, and change the first French word. **Predict:** how many
# of the five vectors in memory change, and how many of the decoder's four?

# %%
silent = copy.deepcopy(machine)
for module in silent.modules():
    if isinstance(module, torch.nn.MultiheadAttention):
        torch.nn.init.zeros_(module.out_proj.weight)  # whatever attention finds, nothing of it comes out
other = source.clone()
other[0, 0] = source[0, 1]


def changed(stack, *more):
    """How many vectors of a result change with the first French word."""
    return ((stack(other, *more) - stack(source, *more)).abs().amax(dim=-1) > 1e-4).sum().item()


reached = {name: (changed(m.encoder), changed(m, target)) for name, m in (("whole", machine), ("silent", silent))}
attention_alone_connects_words = reached == {"whole": (5, 4), "silent": (1, 0)}
assert attention_alone_connects_words
reached

# %% [markdown]
# **Attention alone** carries information from word to word. Hence the title, *Attention Is All You Need*.
#
# **A claim to test:** "a Transformer is mostly attention". **Predict:** of all numbers trained in the two stacks at
# full size, do more than half belong to attention?

# %%
with torch.device("meta"):  # shapes without memory: nothing is filled with numbers
    full_size = torch.nn.Transformer(512, nhead=8, dim_feedforward=2048, batch_first=True)  # 6 layers on each side


def by_part(network):
    numbers = {"attention": 0, "feed-forward": 0, "norm": 0}
    for name, parameter in network.named_parameters():
        part = "attention" if "attn" in name else "feed-forward" if "linear" in name else "norm"
        numbers[part] += parameter.numel()
    return numbers


numbers, ours = by_part(full_size), by_part(machine)
feed_forward_holds_more_than_half = numbers["feed-forward"] > sum(numbers.values()) / 2
in_our_small_machine_attention_does = ours["attention"] > sum(ours.values()) / 2
assert feed_forward_holds_more_than_half
assert in_our_small_machine_attention_does
for part, how_many in numbers.items():
    print(f"{part:13}{how_many:>11,}   ours: {ours[part]:>7,}")

# %% [markdown]
# **Verdict: false at this size**, if you count numbers: more than half of them sit in feed-forward, which is four times
# as wide inside as its words. In the small machine above it is twice as wide, and attention has more than half.
#
# Does our total agree with the paper? Its Table 3 gives 65 million. Missing here is the embedding: a vocabulary of
# about 37,000 entries (section 5.1), 512 numbers each, shared by source, target and the last linear layer.

# %%
total = sum(numbers.values()) + 37_000 * 512
it_has_the_size_of_the_papers_model = abs(total / 65e6 - 1) < 0.05
assert it_has_the_size_of_the_papers_model
print(f"{total / 1e6:.0f} million")

# %% [markdown] name="history"
# ## How people got there
#
# Seven ways to hand a text to a machine, and the gap that each left.
#
# | year | idea | what it could not do yet |
# |---|---|---|
# | – | **tokens**: a text as a list of word numbers | say which words are alike: 7 is no closer to 8 than to 900 |
# | 1954 | **bag of words**: how often each word occurs | see the order |
# | 2013 | **word2vec**: a learned vector for each word | give *bank* two meanings: one vector for all sentences |
# | 1997 | **LSTM**: a recurrent network with a memory | work on all words at once: it reads one by one |
# | 2014 | **neural translation**: one network reads, one writes | give a long sentence more room than one vector |
# | 2014 | **attention**: the writer looks back at every word | do without recurrence: still step by step |
# | 2017 | **Transformer**: attention without recurrence | stay cheap for long texts: each word looks at each |
#
# Sources, in this order: Harris, *Distributional Structure*, Word 10 (1954) · Mikolov et al.,
# [arXiv:1301.3781](https://arxiv.org/abs/1301.3781) · Hochreiter and Schmidhuber, Neural Computation 9(8) (1997) ·
# Cho et al., [arXiv:1406.1078](https://arxiv.org/abs/1406.1078), and Sutskever et al.,
# [arXiv:1409.3215](https://arxiv.org/abs/1409.3215) · Bahdanau et al.,
# [arXiv:1409.0473](https://arxiv.org/abs/1409.0473) · Vaswani et al.,
# [arXiv:1706.03762](https://arxiv.org/abs/1706.03762).
#
# The rows follow the ideas, not the years. And Harris wrote of a *bag of words* to say that a language is more.
#
# Two of these gaps we can measure. **Predict:** what does a bag of words make of these two headlines?

# %%
bags = [Counter(headline.split()) for headline in ("dog bites man", "man bites dog")]
a_bag_of_words_cannot_tell_who_bit_whom = bags[0] == bags[1]
assert a_bag_of_words_cannot_tell_who_bit_whom
bags

# %% [markdown]
# The second gap is about time. A recurrent network needs the result for word 4 before it can begin with word 5.
# Attention compares all words with all words in one go.
#
# PyTorch records which result was made from which, so we can count how many operations have to **wait for each
# other**. **Predict:** how does that number grow when the sentence becomes twice as long?

# %%
def longest_chain(node):
    """The largest number of operations one after another, from a result back to its inputs."""
    return 1 + max((longest_chain(earlier) for earlier, _ in node.next_functions if earlier), default=0)


def recurrent(x, W):
    state = torch.zeros(1, x.shape[1])
    for t in range(len(x)):
        state = torch.tanh(x[t : t + 1] + state @ W)  # needs the state before it
    return state


def attention(x, W):
    return torch.softmax(x @ W @ x.T, dim=-1) @ x


# %%
lengths = [4, 8, 16, 32, 64]
W = torch.randn(8, 8, requires_grad=True)
chains = {f: [longest_chain(f(torch.randn(T, 8), W).grad_fn) for T in lengths] for f in (recurrent, attention)}
sixteen_times_the_words_wait_longer = chains[recurrent][-1] > 10 * chains[recurrent][0]
attention_waits_no_longer = len(set(chains[attention])) == 1
assert sixteen_times_the_words_wait_longer
assert attention_waits_no_longer
figure, axis = plt.subplots(figsize=(5, 3.2))
for function, style in ((recurrent, "s--"), (attention, "o-")):
    axis.plot(lengths, chains[function], style, label=function.__name__)
axis.set(xlabel="words in the sentence", ylabel="operations in a row")
axis.legend()
plots.show(figure, "Operations that wait for each other, over the number of words from 4 to 64: a straight line "
                   "upwards for the recurrent network, a flat line near zero for attention.")

# %% [markdown]
# With a single sentence, a computer with thousands of units side by side has little to do while it waits. The
# introduction of the 2017 paper names this as the reason for doing without recurrence. Lesson 12 measures it in
# seconds.

# %% [markdown] name="vectorising"
# ## A word you will meet: vectorising
#
# *Vectorising* your code means: writing a loop over many numbers as one operation on a whole vector or matrix. The
# result stays the same. The work moves from Python into one fast routine.
#
# Take three lights. Each is described by three numbers: how much *red*, *green* and *blue* it has. Mix half of coral
# with half of amber. **One number first:** how much red is in the mixture?

# %%
lights = ["coral", "amber", "blue"]
colours = torch.tensor([[0.90, 0.35, 0.25], [0.98, 0.80, 0.30], [0.20, 0.45, 0.70]])  # (N, D) = (3, 3)
red = 0.5 * 0.90 + 0.5 * 0.98 + 0.0 * 0.20
the_red_is_0_94 = abs(red - 0.94) < 1e-9
assert the_red_is_0_94
red

# %% [markdown]
# Green and blue go the same way. With a loop, for any number of vectors:

# %%
def mix_by_loop(weights, x):
    total = torch.zeros(x.shape[1])  # (D,)
    for weight, row in zip(weights, x, strict=True):
        total = total + weight * row
    return total


[round(number, 3) for number in mix_by_loop(torch.tensor([0.5, 0.5, 0.0]), colours).tolist()]

# %% [markdown]
# ### How to read a card
#
# You will write this without the loop. First a wrong answer, which counts as none of yours (`record=False`).
# **Predict:** what does this function forget?

# %%
def plain_sum(weights, x):
    return x.sum(dim=0)


check(plain_sum, "weighted_sum", record=False)

# %% [markdown]
# Read it from the top.
#
# - **Likely cause** names the thought behind the code, where the card knows it. Where it does not, **Closest mistake**
#   says which known one most of your wrong results are those of, and **What we see** describes them.
# - **Example** is the smallest call that went wrong: do it on paper.
# - **Expected** and **Got** stand below each other, with the wrong numbers marked. **What failed** points at the first.
# - **Asked**, folded below, is the task in one line.
# - **Later cells** says whose function is used from here on.
#
# Nothing is counted, nothing is sent anywhere.

# %% [markdown]
# ### Exercise 1: `weighted_sum`
#
# ★☆☆ · 10 minutes · about 1 line
#
# The same as `mix_by_loop`, without a loop. The docstring is the whole contract: replace the last line of the cell by
# your own.
#
# <details><summary>Hint 1: a question</summary>
#
# `weights` has shape (N,) and `x` has shape (N, D). Which product of a vector and a matrix has shape (D,)? On which
# side must the vector stand?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. multiply each row by its weight, all rows at once
# 2. add up the rows, so that the axis of length N disappears
#
# One operator does both steps.
#
# </details>

# %% tags=["exercise"]
from course_lib.attention import weighted_sum

# %%
mix = check(weighted_sum).verified

# %% [markdown]
# From here on `mix` is your own function as soon as the card says *right*.
#
# What have you gained? Take 10,000 vectors. **Predict:** is the product ten times as fast as the loop, a hundred times,
# or more?

# %%
many_weights, many = torch.rand(10_000), torch.rand(10_000, 64)


def seconds(function):
    return min(timeit.repeat(lambda: function(many_weights, many), number=1, repeat=5))


loop = seconds(mix_by_loop)
the_product_beats_the_loop = loop / seconds(torch.matmul) > 50  # machines differ
assert the_product_beats_the_loop
print(f"PyTorch's product is {loop / seconds(torch.matmul):.0f} times as fast as the loop")
print(f"`mix` is {loop / seconds(mix):.0f} times as fast as the loop")

# %% [markdown]
# ### Many mixtures at once
#
# Now all mixtures of the three lights, in steps of one fortieth: 861 rows of weights. And because any vectors can be
# mixed, we mix **places** with the same weights: the three corners of a triangle. **Predict:** what will the picture
# look like?

# %%
n = 40
grid = torch.tensor([[a, b, n - a - b] for a in range(n + 1) for b in range(n + 1 - a)]) / n  # (T, N) = (861, 3)
corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]])  # (N, 2): where each light stands
paint = torch.stack([mix(weights, colours) for weights in grid])  # (T, 3)
places = torch.stack([mix(weights, corners) for weights in grid])  # (T, 2)
figure, axis = plt.subplots(figsize=(4.6, 4.2))
axis.scatter(*places.T, c=paint.clamp(0, 1), marker="h", s=62)
for name, (x, y), up in zip(lights, corners.tolist(), (-0.07, -0.07, 0.05), strict=True):
    axis.text(x, y + up, name, ha="center", va="center")
axis.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.12, 0.97))
axis.axis("off")
plots.show(figure, "A triangle of 861 dots with coral, amber and blue at its corners. The colours pass smoothly into "
                   "each other; the nearer a dot is to a corner, the more it has of that corner's colour.")

# %% [markdown]
# The loop over the 861 rows can go, too: stack the rows of weights, and one matrix product makes all mixtures.

# %%
all_at_once = grid @ colours  # (T, N) @ (N, D) = (T, D)
one_product_makes_all_mixtures = torch.allclose(all_at_once, paint, atol=1e-6)
assert one_product_makes_all_mixtures
tuple(all_at_once.shape)

# %% [markdown]
# Put words in place of lights. Each word has a row of weights, which says how much it takes from each word, and gets
# a mixture of all of them. **Every attention layer has this line in it.** How the weights are found is what the next
# lessons are about.
#
# Does PyTorch's own layer mix like this? It hands out its weights, so we can see. (It multiplies the words by one
# matrix before they are mixed and by another one after. Lesson 05 says why.)

# %%
torchs = torch.nn.MultiheadAttention(8, num_heads=1, batch_first=True)
words = torch.randn(1, 6, 8)  # (B, T, D)
out, weights = torchs(words, words, words)  # (B, T, D), (B, T, T)
values = words[0] @ torchs.in_proj_weight[16:].T  # (T, D), the matrix before
mixed = torch.stack([mix(row, values) for row in weights[0]])  # (T, D), your own function
torchs_attention_mixes_with_your_line = torch.allclose(torchs.out_proj(mixed), out[0], atol=1e-5)
assert torchs_attention_mixes_with_your_line
torchs_attention_mixes_with_your_line

# %% [markdown] name="operations"
# ## What does it compute all day?
#
# Your weighted sum was a matrix product. How much of a Transformer is? A saying goes: it is *data and matrix
# multiplications, repeated, and scaled with non-linear switches*. Let us count the operations of one encoder layer.
#
# One number first. Multiply a (2, 3) matrix by a (3, 4) matrix. Each of the 2 · 4 results needs 3 multiplications and
# 3 additions (the first one adds to zero). **How many operations is that?**

# %%
from torch.utils.flop_counter import FlopCounterMode

with FlopCounterMode(display=False) as counter:
    torch.ones(2, 3) @ torch.ones(3, 4)
by_hand = 2 * 2 * 3 * 4
torch_counts_as_we_do = counter.get_total_flops() == by_hand == 48
assert torch_counts_as_we_do
by_hand

# %% [markdown]
# In general, (a, b) times (b, c) costs $2abc$. Now the layer, for T words of width d, with a feed-forward part of
# width f:
#
# | product | shapes | operations |
# |---|---|---|
# | four products with learned matrices, the projections | (T, d) @ (d, d), four times | $8 T d^2$ |
# | compare each word with each | (T, d) @ (d, T) | $2 T^2 d$ |
# | mix the words | (T, T) @ (T, d) | $2 T^2 d$ |
# | feed-forward, out and back | (T, d) @ (d, f), (T, f) @ (f, d) | $4 T d f$ |
#
# The heads of lesson 06 share the width, so their number does not matter. **Predict:** how many
# operations for 128 words at full size, d = 512 and f = 2048: nearer to a million, a hundred million, or a billion?

# %%
def products(T, d=512, f=2048):
    """Operations in the matrix products of one encoder layer."""
    return {"words with words": 4 * T**2 * d, "projections": 8 * T * d**2, "feed-forward": 4 * T * d * f}


print(f"{sum(products(128).values()):,}")

# %% [markdown]
# Did we forget one? PyTorch can watch a real layer and count. (On a CPU it runs attention as a single fused step that
# the counter cannot see into, so we ask for the plain steps.)

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel

layer = torch.nn.TransformerEncoderLayer(512, nhead=8, dim_feedforward=2048, dropout=0.0, batch_first=True)
with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
    layer(torch.randn(1, 128, 512))
our_count_is_exact = counter.get_total_flops() == sum(products(128).values())
assert our_count_is_exact
print(f"{counter.get_total_flops():,}")

# %% [markdown]
# Equal to the last digit. Now everything in the layer that is no matrix product, a few operations for each number.
# (*ReLU* turns negative numbers into zero.)

# %%
def everything_else(T, d=512, f=2048, heads=8):
    """Operations outside the matrix products, a few for each number."""
    return {
        "scale and softmax": 6 * heads * T**2,  # divide by √d, find the largest, subtract, exponential, add up, divide
        "ReLU": T * f,
        "norms": 2 * 7 * T * d,  # mean, subtract, square, add up, divide, gain, bias
        "skips and biases": 2 * T * d + T * (5 * d + f),
    }


everything_else(128)

# %% [markdown]
# **Predict:** of a thousand operations, how many belong to matrix products?

# %%
def share_of_products(T, d=512, f=2048, heads=8):
    inside, outside = sum(products(T, d, f).values()), sum(everything_else(T, d, f, heads).values())
    return inside / (inside + outside)


more_than_990_in_a_thousand = share_of_products(128) > 0.99
more_than_970_however_long_the_text = share_of_products(10**9) > 0.97
fewer_in_our_small_machine = 0.94 < share_of_products(5, 32, 64, 4) < 0.96
assert more_than_990_in_a_thousand
assert more_than_970_however_long_the_text
assert fewer_in_our_small_machine
for size in ((128,), (10**9,), (5, 32, 64, 4)):
    print(f"{size[0]:,} words: {1000 * share_of_products(*size):.0f} of 1000")

# %% [markdown]
# At full size the saying holds, for operations; in our small machine, the last line, less. (Time is another matter:
# fetching numbers from memory takes time, too.)
#
# Which product is the largest? Only one of them grows with the square of the length. **Predict:** from how many words
# on does "words with words" cost more than both others together?

# %%
lengths = [round(2 ** (k / 4)) for k in range(20, 65)]
counts = torch.tensor([[*products(T).values(), sum(everything_else(T).values())] for T in lengths]).double()
shares = (counts / counts.sum(1, keepdim=True)).T  # (4, 45)
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.stackplot(lengths, shares, colors=["#f6c177", "#fbe3bd", "#a7c7e7", "#555555"], edgecolor="white")
for T, y, name in ((100, 0.2, "projections"), (12_000, 0.4, "words with words"), (200, 0.7, "feed-forward")):
    axis.text(T, y, name, ha="center", va="center")
axis.annotate("everything else", (20_000, 0.99), (3_500, 1.07), arrowprops={"arrowstyle": "-"}, va="center")
axis.axvline(3072, color="black", linestyle=":")
axis.set(xscale="log", xlabel="words T", ylabel="share of operations", xlim=(32, 65536), ylim=(0, 1))
plots.show(figure, "Shares of the operations of a layer over the number of words, from 32 to 65,536. Words with "
                   "words grow from almost nothing to half at 3,072, a dotted line, and to nine tenths. In short texts "
                   "feed-forward takes two thirds and projections one third. Everything else is a thin line on top.")

# %%
T = 2 * 512 + 2048  # 2·d + f
words_with_words_take_half_at_2d_plus_f = products(T)["words with words"] == sum(products(T).values()) / 2
assert words_with_words_take_half_at_2d_plus_f
T

# %% [markdown]
# ### Then what are the switches for?
#
# Could we leave out what is no matrix product? **Predict:** what do two matrices in
# a row amount to, if nothing stands between them?

# %%
generator = torch.Generator().manual_seed(1)
x = torch.randn(5, 8, generator=generator)
A, B = torch.randn(2, 8, 8, generator=generator)
two_matrices_in_a_row_are_one = torch.allclose(x @ A @ B, x @ (A @ B), atol=1e-4)
assert two_matrices_in_a_row_are_one
two_matrices_in_a_row_are_one

# %% [markdown]
# To **one** matrix, and so would a hundred. Now put a ReLU between the two. Any single matrix sends −x to minus what it
# sends x to, and 2x to twice as much. **Predict:** does this hold with the ReLU? And in attention without its softmax?

# %%
def with_switch(x):
    return torch.relu(x @ A) @ B


def without_softmax(x):
    return x @ A @ x.T @ x  # words with words, then mixed


no_matrix_is_a_relu = not torch.allclose(with_switch(-x), -with_switch(x), atol=0.1)
attention_multiplies_words_by_words = torch.allclose(without_softmax(2 * x), 8 * without_softmax(x), atol=1e-2)
assert no_matrix_is_a_relu
assert attention_multiplies_words_by_words
no_matrix_is_a_relu, attention_multiplies_words_by_words

# %% [markdown]
# Neither is a single matrix. **Feed-forward** needs its switch: without the ReLU its two matrices would be one.
# Attention multiplies words by words (twice the words, eight times the result), so it would not collapse without the
# softmax. There the softmax does something else: it makes weights of scores.

# %% [markdown]
# ## Where you are
#
# What you have solved is remembered in a small file beside the notebooks. `progress()` draws the map of the course from
# it, here and in every lesson.

# %% tags=["nbval-ignore-output"]
from course_lib import progress

progress()

# %% [markdown]
# ## Summary
#
# - The encoder reads the source into a memory, one vector per word. The decoder writes, looking back at its own words
#   and, in every layer, at the memory.
# - A table with one row per word goes into each layer, and a table of the same shape comes out.
# - Attention is the only part that connects words: no recurrence, no convolution. At full size more than half of the
#   trained numbers are elsewhere.
# - At full size nearly all operations are matrix products. Without its ReLU, feed-forward would be one of them.
# - A weighted sum is a row of weights times a matrix. Every attention layer has it inside.
#
# **Think about it.** The encoder works on all French words at once. When the machine translates, the decoder writes
# one English word after another. In training it does *not* have to wait, although it is the same machine. What does
# it know then that it does not know later?
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): the whole machine is Figure 1, its parts
# are section 3, the sizes are Table 3.
#
# **Next.** Where do the weights of a weighted sum come from? Lesson 01 looks at two old answers that need no network:
# take the largest, and count words.
