# %% [markdown]
# # 12 · Language models: predict the next token
#
# *150 minutes · needs lessons 07 and 08 · six exercises*
#
# **At the end you can**
#
# - make a language model by counting and by training, and compare the two;
# - train on all beginnings of a text at once, and say which part of it can run in parallel;
# - compute attention without ever holding all of its scores, and measure what its steps wait for;
# - measure a language model in bits per character and in perplexity, and compare it with counting;
# - write with temperature, top-k, a context window and a cache, and say what each of them costs;
# - read the stack of blocks from outside, layer by layer, and check the reading.

# %%
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, mine
from course_lib.display import plots
from course_lib.training import fit

torch.set_num_threads(1)

# %% [markdown] name="next-token"
# ## What comes next?
#
# *the cat saw the dog and the dog ran*
#
# Now somebody goes on: *the …* What comes next? You cannot know. But you can say how likely each word is, and that is
# all a **language model** does: for each token, how probable is it to come next, given the tokens before?
#
# The simplest way is to count. **Before you run the cell:** "the" comes three times. How often is "dog" the next
# word? What would you say is its probability after "the"?

# %%
from collections import Counter

words = "the cat saw the dog and the dog ran".split()
after_the = [second for first, second in zip(words, words[1:], strict=False) if first == "the"]
dog_comes_two_times_in_three = after_the.count("dog") / len(after_the) == 2 / 3
assert dog_comes_two_times_in_three
Counter(after_the)

# %% [markdown]
# A whole text, among all of the same length, has a probability, too. Multiply: that of its first token, of the second
# given the first, of the third given the first two, and so on. So a model of the next token is a model of whole texts.
#
# A computer wants numbers. Each different word gets one, in order of appearance.

# %%
names = list(dict.fromkeys(words))
ids = torch.tensor([[names.index(word) for word in words]])  # (1, T) = (1, 9)
print(dict(enumerate(names)))
print(ids.tolist())

# %% [markdown] name="prefix-list"
# ## One sample makes many samples
#
# Training needs right answers. For translation a person gave them. Here the text itself does: cover the end, and
# uncover one word.
#
# **Predict:** this sentence has nine words. How many questions with an answer does it hold?

# %%
prefixes = [(words[:t], words[t]) for t in range(1, len(words))]
for known, answer in prefixes:
    print(f"{' '.join(known):31} → {answer}")
nine_words_make_eight_questions = len(prefixes) == 8
assert nine_words_make_eight_questions

# %% [markdown]
# Eight, and nobody had to label them. This is why there is so much to train on: every text that was ever written is
# full of answers.
#
# The eight questions overlap, so two rows will do for all of them: the tokens, and the tokens that follow them.

# %% [markdown]
# ### Exercise 1: `shift_labels`
#
# ★☆☆ · 5 minutes · about 1 line
#
# Make the two rows for a whole batch.
#
# <details><summary>Hint 1: a question</summary>
#
# Which token has nothing after it? Which one has nothing before it?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the inputs: all tokens but one, for each sentence
# 2. the targets: all tokens but another one
# 3. return both, inputs first
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import shift_labels

# %%
shift = check(shift_labels).verified

# %%
inputs, targets = shift(ids)  # (1, 8) each
for row in (inputs, targets):
    print(" ".join(f"{names[i]:5}" for i in row[0]))
the_targets_are_the_answers = [names[i] for i in targets[0]] == [answer for _, answer in prefixes]
assert the_targets_are_the_answers

# %% [markdown] name="bigrams"
# ## Version zero of a language model: pairs
#
# Look at one token only, the last one. Then all a model needs is a table: row i says what follows token i. Such pairs
# are called **bigrams**.
#
# By hand, for the row of "the": cat once, dog twice, so 1/3 and 2/3. **Predict** the row of "cat". And what should
# stand in the row of "ran", which nothing ever followed?

# %% [markdown]
# ### Exercise 2: `bigram_probs`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Count all pairs of a text and make each row sum to one. `alpha` is added to every count first: it stands for pairs
# that you did not see, but that may exist.
#
# <details><summary>Hint 1: a question</summary>
#
# `counts[first, second] += 1` with two tensors of indices looks right, and counts a pair once that is there twice. Do
# you know a way that adds up? (`torch.bincount`, `index_put_(…, accumulate=True)`, a loop, one-hot rows and a matrix
# product will all do.)
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a table (V, V) with the number of times each pair occurs
# 2. add alpha to all of it
# 3. divide each row by its sum
# 4. where that sum is 0, what is fair to all V tokens?
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import bigram_probs

# %%
count_pairs = check(bigram_probs).verified

# %%
table = count_pairs(ids[0], len(names))  # (V, V) = (6, 6)
figure, axis = plt.subplots(figsize=(4.4, 3.6))
plots.heat_map(axis, table, names, names)
axis.set(xlabel="next word", ylabel="word")
plots.show(figure, "A table of six words by six. After the: cat 0.33 and dog 0.67. After cat always saw, after saw "
                   "always the, after and always the. After dog: and or ran, a half each. After ran: 0.17 everywhere.")
nobody_knows_what_follows_ran = torch.allclose(table[names.index("ran")], torch.tensor(1 / 6))
assert nobody_knows_what_follows_ran

# %% [markdown] name="surprise"
# ## How good is it? Count the bits of surprise
#
# A good model gives what really comes a high probability p. The usual measure is $-\log_2 p$, in **bits**: 0 for a sure
# thing, 1 for a coin, 3 for one of eight. Averaged over a text, it is the cross-entropy of earlier lessons.
# (There the logarithm was natural. Divide by ln 2, and you have bits.)
#
# **Predict:** how many bits is "dog" after "the"? And "ran" after "cat", which the table never saw?

# %%
def surprise(table, first, second):
    """The bits of surprise when one word follows another."""
    return -table[names.index(first), names.index(second)].log2().item()


a_likely_word_costs_little = 0.58 < surprise(table, "the", "dog") < 0.59
an_unseen_pair_is_infinitely_surprising = surprise(table, "cat", "ran") == float("inf")
assert a_likely_word_costs_little
assert an_unseen_pair_is_infinitely_surprising
print("dog after the:", round(surprise(table, "the", "dog"), 2), " ran after cat:", surprise(table, "cat", "ran"))

# %% [markdown]
# One pair that was never seen, and the whole text is impossible. This is what `alpha` is for.

# %%
smooth = count_pairs(ids[0], len(names), 0.5)  # (6, 6)
smoothing_makes_everything_possible = surprise(smooth, "cat", "ran") == 3.0  # (0 + 1/2) / (1 + 6/2) = 1/8
it_costs_a_little_where_we_knew = surprise(smooth, "the", "dog") > surprise(table, "the", "dog")
assert smoothing_makes_everything_possible
assert it_costs_a_little_where_we_knew
print("dog after the:", round(surprise(smooth, "the", "dog"), 2), " ran after cat:", surprise(smooth, "cat", "ran"))

# %% [markdown] name="learned-table"
# ## A table, learned
#
# Counting works for pairs. For longer contexts the table would have a row for every context there is, so we shall need
# a network. As a rehearsal, give gradient descent a table for pairs: an `nn.Embedding` with V rows of V logits.
#
# **Predict:** the table starts with random numbers, and is trained on the loss alone. Which probabilities will it end
# with for "the"? And for "ran"?

# %% [markdown]
# ### Exercise 3: `BigramLM`
#
# ★☆☆ · 10 minutes · about 3 lines
#
# The constructor is finished. Write `forward`: logits always, and the loss where targets are given.
#
# <details><summary>Hint 1: a question</summary>
#
# `F.cross_entropy` wants one row of V logits for each target. How can a (B, T, V) tensor become a list of rows, and
# what must become of the targets?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. logits: look up a row for every token
# 2. no targets: return the logits, and None
# 3. otherwise flatten logits and targets for the loss, and return the logits as (B, T, V)
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import BigramLM

# %%
Bigram = check(BigramLM).verified

# %%
torch.manual_seed(0)
learner = Bigram(len(names))
losses = fit(learner, lambda model, x, y: model(x, y)[1], [(inputs, targets)] * 400,
             torch.optim.Adam(learner.parameters(), lr=0.1))
learned = learner.table.weight.detach().softmax(dim=-1)  # (V, V)
followed = [i for i, name in enumerate(names) if name != "ran"]
training_finds_the_counts = torch.allclose(learned[followed], table[followed], atol=0.02)
assert training_finds_the_counts
print("after the:", {name: round(p, 1) for name, p in zip(names, learned[0].tolist(), strict=True)})
print("after ran, at most:", round(learned[names.index("ran")].max().item(), 2))

# %%
least = -sum(table[i, j].log() for i, j in zip(inputs[0], targets[0], strict=True)) / 8  # of the counts
figure, axis = plt.subplots(figsize=(6, 2.6))
axis.plot(losses, label="while training")
axis.axhline(least, color="black", linestyle="--", label="of the counted table")
axis.set(xlabel="step", ylabel="loss", ylim=0)
axis.legend()
plots.show(figure, "The loss falls from between 1.5 and 3 to the dashed line of the counted table near 0.4, and stays "
                   "there.")
no_table_does_better_than_counting = bool(losses.min() > least - 1e-3)
assert no_table_does_better_than_counting

# %% [markdown]
# Where there was something to count, the same table came out. Cross-entropy has its lowest point where the
# probabilities *are* the counted shares. The row of "ran" was never asked, got no gradient, and is as random as it
# began. A network can go beyond a table: it can use in one context what it has learned in another.

# %% [markdown] name="decoder-only"
# ## A Transformer that only writes
#
# Now let the model see all the tokens before, not only the last. You have everything: the decoder of lesson 11, without
# the attention to a source. What is left is called **decoder-only**. (A model that writes token by token, each given
# all before it, is **autoregressive**.)
#
# | part | bigram table | decoder-only Transformer |
# |---|---|---|
# | **inputs** | the last token | **all tokens so far**, (B, T) |
# | **similarity** | none: a row is looked up | **version 6 with a causal mask**, in every block |
# | **outputs** | logits (B, T, V) | logits (B, T, V) |
#
# Here is a block, and what a model does with its blocks. Each norm comes *before* its sublayer (lesson 08). Your
# attention gets a causal mask. `mask` gives None only for `CausalAttention`, which has it built in.

# %%
import inspect

from course_lib.language_model import Block, LanguageModel

for method in (Block.forward, LanguageModel.forward, LanguageModel.mask):
    print(method.__qualname__, inspect.getsource(method).split('"""')[2])

# %%
parts = {"attention": mine("MultiHeadAttention"), "feed_forward": mine("FeedForward")}
torch.manual_seed(0)
tiny = LanguageModel(len(names), d_model=16, num_heads=4, d_ff=32, num_layers=2, **parts).eval()
logits = tiny(inputs).detach()  # (1, 8, 6)
it_speaks_at_every_place = logits.shape == (1, 8, 6)
assert it_speaks_at_every_place
tuple(logits.shape)

# %% [markdown] name="one-pass"
# ## One pass or eight?
#
# Eight questions, and only one pass through the model: it gave logits at every place. Is that fair? The fourth place
# has to guess "dog", and "dog" is the fifth input.
#
# **Predict:** ask the eight prefixes one by one, each in a pass of its own, and take the mean of the eight losses. How
# does it compare with the loss of the one pass?

# %%
one_pass = F.cross_entropy(logits[0], targets[0])
separate = torch.stack([F.cross_entropy(tiny(inputs[:, : t + 1])[0, -1:], targets[0, t : t + 1]) for t in range(8)])
one_masked_pass_is_t_separate_passes = torch.allclose(one_pass, separate.mean(), atol=1e-5)
assert one_masked_pass_is_t_separate_passes
print(f"one pass: {one_pass.item():.3f}  mean of eight passes: {separate.mean().item():.3f}")

# %% [markdown]
# Equal, so one sentence does make T samples. The causal mask is the reason: a place computes just what it would compute
# if nothing came after it. **Predict:** will the two still be equal if the mask lets everything through?

# %%
see_all = torch.ones(8, 8, dtype=torch.bool)
x = tiny.embed(inputs)  # (1, 8, 16)
for block in tiny.blocks:
    x = block(x, see_all)
unmasked = F.cross_entropy(tiny.predict(x)[0], targets[0])
without_the_mask_it_is_another_number = abs(unmasked - separate.mean()).item() > 1e-4
assert without_the_mask_it_is_another_number
print(f"without the mask: {unmasked.item():.3f}")

# %% [markdown]
# Another number. By chance it is a little better or worse: this model was never trained, and has not learned to use
# what it is shown. Training would soon teach it to copy the next word from the next place (lesson 07).

# %% [markdown] name="step-by-step"
# ## Step by step, or all at once
#
# A recurrent network also sees all the tokens before. It keeps a state, and reads a token at a time. At training time
# all tokens are known. **Predict:** can it take all eight at once, as attention did?

# %%
from course_lib.masks import causal_mask

torch.manual_seed(0)
gru = nn.GRU(16, 16, batch_first=True)
x, state, states = tiny.embed(inputs), None, []
for t in range(8):
    out, state = gru(x[:, t : t + 1], state)  # waits for the state before it
    states.append(out)
recurrence_is_a_loop = torch.allclose(gru(x)[0], torch.cat(states, dim=1), atol=1e-6)
assert recurrence_is_a_loop
print(len(states), "steps, each waiting for the one before")
running_sum = causal_mask(8).float() @ x[0]  # (8, 16): state t is state t - 1 plus token t, and yet one product
a_sum_needs_no_loop = torch.allclose(running_sum, x[0].cumsum(dim=0), atol=1e-5)
assert a_sum_needs_no_loop

# %% [markdown]
# `gru(x)` is one call, and can be trained on all eight questions, too. But inside it is this loop. A running sum also
# makes state t from state t − 1, and yet it is one masked product. A GRU is different: it puts each state through
# nonlinear functions, so its steps do not join into one product. Attention has no chain: all T rows of the score matrix
# are one product.
#
# ## A claim to test
#
# *"Attention is faster than recurrence."*
#
# **Predict:** a training step, forward and backward, over one text of 128 tokens. Which is faster? And over 4,096?
# Remember how many scores T tokens have.

# %%
import time

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention


class Textbook(MultiHeadAttention):
    """Version 6 word for word: it keeps every score, (B, H, T, T)."""

    def forward(self, x):
        q, k, v = (W(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
        out = scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1]))  # (B, H, T, d_head)
        return self.W_o(out.transpose(1, 2).flatten(2))


class Recurrent(nn.GRU):
    """A GRU of the same width."""

    def forward(self, x):
        return super().forward(x)[0]


# %%
def seconds(layer, T, texts=1):
    """How long a training step over texts of T tokens takes: forward and backward."""
    x, start = torch.randn(texts, T, 64), time.perf_counter()
    layer(x).sum().backward()
    return time.perf_counter() - start


def shortest(T):
    """Both layers in turn, several times, so that a busy moment hits both; of each the shortest time."""
    rounds = [[seconds(layer, T) for layer in layers.values()] for _ in range(max(4096 // T, 2))]
    return [min(taken) for taken in zip(*rounds, strict=True)]


lengths = [128, 256, 512, 1024, 2048, 4096]
layers = {"recurrence": Recurrent(64, 64, batch_first=True), "attention": Textbook(64, 4)}
cost = dict(zip(layers, zip(*map(shortest, lengths), strict=True), strict=True))

# %%
figure, axis = plt.subplots(figsize=(6, 3.4))
for (name, taken), marker in zip(cost.items(), "os", strict=True):
    axis.loglog(lengths, taken, marker=marker, label=name)
axis.set_xticks(lengths, [f"{T:,}" for T in lengths])
axis.minorticks_off()
axis.set(xlabel="tokens", ylabel="seconds for a training step")
axis.legend()
plots.show(figure, "Two rising lines on logarithmic axes. Attention begins far below recurrence and rises more "
                   "steeply: its lead is gone at the long end.")
lead = [r / a for r, a in zip(cost["recurrence"], cost["attention"], strict=True)]
attention_is_faster_at_512 = lead[2] > 1.3
its_quadratic_cost_catches_up = lead[5] < lead[2] / 2.5
assert attention_is_faster_at_512
assert its_quadratic_cost_catches_up
print(f"at 512 tokens recurrence takes {lead[2]:.1f} times as long")
print(f"at 4,096 tokens attention takes {1 / lead[5]:.1f} times as long")

# %% [markdown]
# At 512 tokens attention is clearly faster. But its scores grow with the square of the length, and its lead shrinks.
# Where do the lines cross in your figure? With us, on one core, it was between 1,024 and 2,048 tokens.
#
# Is it the chain of steps that makes recurrence slow? Give each step more to do. **Predict:** sixteen texts of 128
# tokens at once. How many times as long does each layer take for them as for one?

# %% tags=["nbval-ignore-output"]
rounds = [[[seconds(layer, 128, texts) for layer in layers.values()] for texts in (1, 16)] for _ in range(10)]
one, sixteen = torch.tensor(rounds).amin(dim=0)  # (2,) each: recurrence, attention
longer = dict(zip(layers, (sixteen / one).tolist(), strict=True))
sixteen_texts_are_cheap_for_recurrence = longer["recurrence"] < longer["attention"] / 2
assert sixteen_texts_are_cheap_for_recurrence
print("sixteen texts:", {name: f"{factor:.1f} times as long" for name, factor in longer.items()})
for texts, (gru_took, attention_took) in {"one text": one, "sixteen": sixteen}.items():
    print(f"{texts}: recurrence takes {gru_took / attention_took:.1f} times as long as attention")

# %% [markdown]
# **Verdict: it depends on the length, and on how many texts come at once.** A recurrent layer spends much of its time
# on getting from step to step. Other texts can share that time.
#
# (The course's own `MultiHeadAttention` asks torch for a faster version that never keeps all scores, explained below.
# Its time still grows with the square.)

# %% [markdown] name="quadratic"
# ## What a long context costs
#
# Every token is compared with every token. **Predict:** the text is twice as long. How many times as many scores? A
# novel has about 100,000 tokens. How much memory do the scores of one head need, at 4 bytes each?

# %%
def scores_of_one_head(T):
    """Bytes."""
    return T * T * 4


twice_the_text_four_times_the_scores = scores_of_one_head(8192) == 4 * scores_of_one_head(4096)
a_novel_needs_40_gigabytes_a_head = scores_of_one_head(100_000) == 40e9
assert twice_the_text_four_times_the_scores
assert a_novel_needs_40_gigabytes_a_head
for T in (1_000, 10_000, 100_000):
    print(f"{T:7,} tokens: {scores_of_one_head(T) / 1e9:6.3f} gigabytes for each head of each layer")

# %% [markdown]
# And the time? Multiply the time at 2,048 tokens by four: is that what we measured at 4,096? Then do the same for the
# novel.

# %%
expected = 4 * cost["attention"][4]
the_square_foretells_the_next_length = 0.3 < cost["attention"][5] / expected < 3.3
assert the_square_foretells_the_next_length
novel = cost["attention"][5] * (100_000 / 4096) ** 2
print(f"4,096 tokens: {expected:.2f} s expected, {cost['attention'][5]:.2f} s measured")
print(f"a novel, one layer, one training step: {novel:.0f} s")

# %% [markdown]
# This is one reason for a **context window**: a largest number of tokens that a language model looks at. The rest of
# this lesson uses 32.

# %% [markdown] name="fused-attention"
# ## Never keep all the scores
#
# The scores are only a step on the way to the output. But a weight is an exponential divided by the *sum* of all of
# them. So must all scores be there at once?
#
# By hand first. Mix the values 10, 20 and 60 with the scores 0, 1 and 2, and look at them one at a time. Keep three
# numbers only: the largest score so far, the sum of the weights exp(score − largest), and the sum of weight · value.
# When a larger score comes, both sums have to shrink. **Before you run the cell:** by which factor, when the score goes
# from 0 to 1?

# %%
import math


def one_at_a_time(scores, values):
    """A softmax-weighted mean that sees each score once."""
    largest, total, mixed = -math.inf, 0.0, 0.0
    for score, value in zip(scores, values, strict=True):
        shrink = math.exp(largest - max(largest, score))
        largest = max(largest, score)
        weight = math.exp(score - largest)
        total, mixed = shrink * total + weight, shrink * mixed + weight * value
        print(f"score {score}: shrink by {shrink:.3f}, total {total:.3f}, mean so far {mixed / total:.2f}")
    return mixed / total


by_hand = one_at_a_time([0, 1, 2], [10, 20, 60])

# %%
at_once = (torch.tensor([0.0, 1, 2]).softmax(0) @ torch.tensor([10.0, 20, 60])).item()
one_at_a_time_is_the_softmax = abs(by_hand - at_once) < 1e-5
assert one_at_a_time_is_the_softmax
print(f"one at a time {by_hand:.3f}, at once {at_once:.3f}")

# %% [markdown]
# After every score, the mean is right for what was seen so far. So read the keys in blocks of 64, and never hold more
# than (T, 64) scores. This is the idea behind *fused* attention. **Predict:** how far is its output from that
# of `scaled_dot_product_attention`, the textbook?

# %%
def in_blocks(q, k, v, size=64):
    """Attention that reads its keys block by block."""
    largest = torch.full((len(q), 1), -math.inf)  # (T, 1)
    total, mixed = torch.zeros(len(q), 1), torch.zeros_like(q)  # (T, 1), (T, d)
    for start in range(0, len(k), size):
        scores = q @ k[start : start + size].T / q.shape[-1] ** 0.5  # (T, size)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        shrink, weights = (largest - new).exp(), (scores - new).exp()
        total = shrink * total + weights.sum(-1, keepdim=True)
        mixed = shrink * mixed + weights @ v[start : start + size]
        largest = new
    return mixed / total


# %%
q, k, v = (torch.randn(1000, 16, generator=torch.Generator().manual_seed(i)) for i in range(3))
expected = scaled_dot_product_attention(q[None], k[None], v[None])[0]
blocks_change_nothing = torch.allclose(in_blocks(q, k, v), expected, atol=1e-5)
assert blocks_change_nothing
print("largest difference below 0.00001:", blocks_change_nothing)

# %% [markdown]
# And the backward pass? The textbook keeps its T × T weights for the gradients. Fused attention keeps one number for
# each row, the logarithm of its sum of exponentials, and works the weights out again. Let torch tell us what each of
# them keeps. **Predict:** twice the tokens, how many times the memory?

# %%
def kept_for_the_gradients(attend, T):
    """Bytes that are held between forward and backward, each piece of memory counted once."""
    q, k, v = (torch.randn(1, 4, T, 16, requires_grad=True) for _ in range(3))  # (B, H, T, d_head)
    pieces = {}

    def note(tensor):
        pieces[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        out = attend(q, k, v)  # while it lives, nothing that it needs is overwritten
    return sum(pieces.values()) if out.requires_grad else 0


# %%
two_ways = {"textbook": scaled_dot_product_attention, "fused": F.scaled_dot_product_attention}
memory = {name: [kept_for_the_gradients(attend, T) for T in lengths] for name, attend in two_ways.items()}
for name, held in memory.items():
    print(f"{name:8} {held[-1] / 1e6:6.1f} MB at {lengths[-1]:,} tokens")

# %%
growth = {name: held[-1] / held[-2] for name, held in memory.items()}
the_textbook_keeps_a_square = 3.8 < growth["textbook"] < 4.1
fused_attention_keeps_a_line = 1.9 < growth["fused"] < 2.1
assert the_textbook_keeps_a_square
assert fused_attention_keeps_a_line
print(f"from 2,048 to 4,096 tokens: textbook × {growth['textbook']:.1f}, fused × {growth['fused']:.1f}")

# %% [markdown]
# ## Where does the time go?
#
# A softmax does little with each number. So it is often called **memory-bound**: its numbers take longer to arrive from
# memory than to be worked on. A small array stays in the processor's cache, close to the arithmetic. If the softmax
# waits for memory, it gets through many more numbers per second there than in an array too large for the cache. We
# compare it with plain copying, which has no arithmetic at all, and with the exponentials alone. **Predict:** which of
# the three lines falls when the array outgrows the cache?

# %%
def fastest(step, rounds=15):
    """Seconds of the quickest of some runs."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    return min(taken)


work = {"copy": lambda x, room: room.copy_(x), "exp": lambda x, room: torch.exp(x, out=room),
        "softmax": lambda x, room: torch.softmax(x, -1, out=room)}
sizes = [2**n for n in (14, 16, 18, 20, 22)]  # how many numbers
rates = {name: [] for name in work}  # numbers per second
for size in sizes:
    x, room = torch.randn(size // 256, 256), torch.ones(size // 256, 256)
    for name, step in work.items():
        rates[name].append(size / fastest(lambda step=step, x=x, room=room: step(x, room)))

# %% tags=["nbval-ignore-output"]
figure, axis = plt.subplots(figsize=(6, 3.2))
for (name, rate), marker in zip(rates.items(), "os^", strict=True):
    axis.loglog([size * 4 / 1024 for size in sizes], [r / 1e9 for r in rate], marker=marker, label=name)
axis.set_xticks([64, 256, 1024, 4096, 16384], ["64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"])
axis.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
axis.minorticks_off()
axis.set(xlabel="size of the array", ylabel="billion numbers per second")
axis.legend()
plots.show(figure, "Numbers per second of copying, of exponentials and of a softmax, for arrays from 64 KiB to 16 MiB, "
                   "on logarithmic axes: three lines, copying highest.")
in_the_cache = {name: rate[1] for name, rate in rates.items()}  # 256 KiB
even_in_the_cache_a_softmax_is_slower_than_a_copy = in_the_cache["softmax"] < in_the_cache["copy"] / 2
assert even_in_the_cache_a_softmax_is_slower_than_a_copy
print(f"of its speed in the cache, softmax keeps {rates['softmax'][-1] / in_the_cache['softmax']:.0%} at 16 MiB, "
      f"copying {rates['copy'][-1] / in_the_cache['copy']:.0%}")

# %% [markdown]
# On our server, copying loses two thirds of its speed, and the softmax hardly any. It is about as slow as exponentials
# alone, in the cache or not. So *on this processor* the softmax waits for arithmetic. On a GPU, where arithmetic is far
# faster than memory, it does wait for memory, and that is what FlashAttention was written for.
#
# Which step of attention takes the time? First both versions as a whole. The textbook takes new memory for T × T
# numbers at each step. Then its four steps one by one, written into memory that is already there.

# %% tags=["nbval-ignore-output"]
T, d = 2048, 64
q, k, v = torch.randn(3, 1, 1, T, d)  # each (B, H, T, d_head)
scores, weights, out = torch.ones(1, 1, T, T), torch.ones(1, 1, T, T), torch.ones_like(q)
steps = {"scores = q kᵀ": lambda: torch.matmul(q, k.mT, out=scores),
         "scores / √d": lambda: torch.div(scores, d**0.5, out=weights),
         "softmax": lambda: torch.softmax(scores, -1, out=weights),
         "weights v": lambda: torch.matmul(weights, v, out=out)}
taken = {name: fastest(step) for name, step in steps.items()}
for name, attend in two_ways.items():
    print(f"{name:14} {1000 * fastest(lambda attend=attend: attend(q, k, v)):5.1f} ms")
for name, step in taken.items():
    print(f"{name:14} {1000 * step:5.1f} ms, {step / sum(taken.values()):.0%} of the four steps")

# %% [markdown]
# With us, the two products take most of the four steps' time: each score costs them 2 × 64 multiplications. It costs
# the softmax one exponential, a tenth to a seventh of the time. The textbook, in new memory, takes longer than the four
# together; how much longer changes from run to run. How much time fused attention saves depends on the processor. What
# it saves on every machine is memory. The operations still grow with the square, so the verdict above stays.
#
# (The running softmax is from Milakov and Gimelshein 2018, [arXiv:1805.02867](https://arxiv.org/abs/1805.02867).
# Attention without the square of memory: Rabe and Staats 2021, [arXiv:2112.05682](https://arxiv.org/abs/2112.05682),
# and FlashAttention, Dao et al. 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135).)
#
# ## A real text
#
# Python brings its own manual along, as plain text, in `pydoc_data`. It is not the same in each version of Python, so
# exact figures may differ a little from those in the text.
#
# Two traps lie in it. Whole paragraphs are repeated: a model that learned one by heart would do well on its copy. And
# neighbouring lines are alike: held-out lines would be too easy. **Predict** how to avoid both, before you read on.

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.language import LETTERS, manual, numbers

texts = manual()
train, validation, test = (set(text.split("\n\n")) for text in texts)
no_paragraph_of_the_test_is_elsewhere = not test & (train | validation)
assert no_paragraph_of_the_test_is_elsewhere
{name: len(text) for name, text in texts._asdict().items()}  # characters

# %% [markdown]
# `manual()` keeps each paragraph once, and deals out whole topics. Models learn from the **training** text. Whatever we
# choose, we choose by the **validation** text. The **test** text is kept for the end.

# %% [markdown] name="bits"
# ## Bits per character
#
# Models may cut a text into different tokens: characters, or larger pieces. A loss *per token* cannot be compared then.
# So we add up the bits of a whole text, and divide by its characters, whatever the tokens were.
#
# Papers often report **perplexity** instead: 2 to the power of the bits per token, which is e to the loss (lesson 11b).
# A choice among so many equally likely tokens would be as hard. (It depends on how the text is cut, so compare it with
# care.)
#
# **Predict:** 96 characters, all equally likely. How many bits is each? And what is the perplexity?

# %%
knowing_nothing = math.log2(len(LETTERS))
print(f"{knowing_nothing:.2f} bits, perplexity {2**knowing_nothing:.0f}")

# %% [markdown] name="n-grams"
# ## A strong opponent
#
# A new model should beat a good old one. The good old ones are **n-grams**: count what followed the last n − 1 tokens.
# Long contexts are precise, but mostly unseen. Short ones are vague, but seen often. How far should a context be
# trusted?
#
# **Interpolated Kneser-Ney** smoothing has two ideas (Kneser and Ney 1995; in this form Chen and Goodman 1998):
#
# 1. Every count is lowered by a **discount**: counts of 1 by one number, of 2 by another, larger ones by a third.
#    What is taken from a context's counts goes to the context that is one token shorter. With $c$ for the sum of its
#    counts:
#    $p = (\text{count} - \text{discount}) / c + (\text{sum of its discounts} / c) \cdot p$ of the shorter one.
# 2. A shorter context does not count how often a token came, but how many *different* tokens stood before. A word that
#    comes often, but always after the same word, is no good guess after another one.
#
# **Predict** for our nine words: "dog" came twice and "cat" once. After *fish*, which was never seen, does Kneser-Ney
# find one of them likelier?

# %% tags=["given"]
from course_lib.experiments.language import counted

# %%
small = counted(tuple(words), 2)
dog_and_cat_are_equally_likely = small[()][0]["dog"] == small[()][0]["cat"] == 1
assert dog_and_cat_are_equally_likely
print("after the, how often:            ", dict(small["the",][0]))
print("before each word, different ones:", dict(small[()][0]))  # "the" also stands at the beginning

# %% [markdown]
# Equally likely: both came after "the" and after nothing else. The discounts are estimated from how many counts are 1,
# 2, 3 and 4. The formula for p is one line of `bits_by_counting`, which goes from the shortest context to the longest.

# %% tags=["given"]
from course_lib.experiments.language import discounts

# %% tags=["nbval-ignore-output"]
of_pairs = discounts(counted(texts.train, 2), 2)[1]  # for contexts of one character
print("counts of 0, 1, 2 and more give", [round(d, 2) for d in of_pairs])

# %% tags=["given"]
from course_lib.experiments.language import bits_by_counting


# %%
def per_character(train, asked, n, V, characters):
    """What counting needs for a text."""
    return bits_by_counting(counted(train, n), asked, n, V) / characters


by_characters = {n: per_character(texts.train, texts.validation, n, len(LETTERS), len(texts.validation))
                 for n in (1, 2, 3, 4, 5, 6, 8, 10)}
two_characters_know_more_than_one = by_characters[3] < by_characters[2] < by_characters[1] < knowing_nothing
longer_contexts_help_less_and_less = 0 < by_characters[6] - by_characters[8] < by_characters[4] - by_characters[6]
assert two_characters_know_more_than_one
assert longer_contexts_help_less_and_less

# %% [markdown] name="byte-pairs"
# ## Larger tokens: byte pairs
#
# If tokens are characters, most of a model's few places go to spelling. Words are too many, and new ones are missing.
# In between lies **byte-pair encoding**: begin with characters, and again and again make the most frequent *pair* a
# token of its own (Gage 1994; Sennrich and colleagues 2016).
#
# A trick keeps it short. Write token number i as the character `chr(i)`. Then a text of tokens is a string, and to join
# a pair is one `replace`. **Predict** which pairs of characters are the most frequent in "the cat saw the dog and the
# dog ran". One of them is joined first.

# %% tags=["given"]
from course_lib.experiments.language import learn_pairs

# %%
first = "".join(LETTERS[ord(c)] for c in learn_pairs("the cat saw the dog and the dog ran", len(LETTERS) + 1)[0])
it_is_part_of_the_word_that_comes_three_times = first in "the "
assert it_is_part_of_the_word_that_comes_three_times
first

# %% tags=["given"]
from course_lib.experiments.language import written_in

# %%
V = 512
pairs = learn_pairs(texts.train, V)  # of the training text alone
spelled = list(LETTERS)
for one, other in pairs:
    spelled.append(spelled[ord(one)] + spelled[ord(other)])


def encode(text):
    """A text as token numbers (T,)."""
    return numbers(written_in(pairs, text))


data, test = encode(texts.train), encode(texts.test)
decoding_gives_the_text_back = "".join(spelled[i] for i in test) == texts.test
a_token_is_worth_two_characters_or_more = len(texts.test) / len(test) > 2
assert decoding_gives_the_text_back
assert a_token_is_worth_two_characters_or_more
print([spelled[i] for i in encode("the value of the attribute is a string")])

# %% [markdown]
# Now n-grams of these tokens, in bits per *character* again. **Predict:** which n does better than four characters? And
# which are better when each has its best n?

# %%
in_pairs = [written_in(pairs, text) for text in texts]
by_pairs = {n: per_character(in_pairs[0], in_pairs[1], n, V, len(texts.validation)) for n in range(1, 6)}
figure, axis = plt.subplots(figsize=(6, 3))
axis.plot(by_characters.keys(), by_characters.values(), "o-", label="characters")
axis.plot(by_pairs.keys(), by_pairs.values(), "s-", label="512 byte pairs")
axis.set(xlabel="n", ylabel="bits per character, validation", xticks=range(1, 11), ylim=(1.5, 5))
axis.legend()
plots.show(figure, "Bits per character of n-grams on the validation text. Characters fall from near 5 at n = 1 to "
                   "below 2 at n = 6 and then slowly to 1.8 at 10. Byte pairs begin between 3 and 4, are near 2 at "
                   "n = 3, and nearly level at 4 and 5.")
three_pairs_do_better_than_four_characters = by_pairs[3] < by_characters[4] - 0.1
in_the_end_characters_are_better = by_pairs[5] > by_characters[10] + 0.03
assert three_pairs_do_better_than_four_characters
assert in_the_end_characters_are_better

# %% [markdown]
# A token holds more than two characters here, so fewer are needed. But each token is rarer than a character, and there
# is less to count. The best counting model is the one with the lowest bits on the validation text. Now it gets the test
# text.

# %% tags=["nbval-ignore-output"]
best_n = min(by_characters, key=by_characters.get)
follow = counted(texts.train, best_n)
by_counting = bits_by_counting(follow, texts.test, best_n, len(LETTERS)) / len(texts.test)
print(f"characters, n = {best_n}: {by_counting:.2f} bits per character of the test text, "
      f"from {sum(len(counts) for counts, _ in follow.values()):,} counts")

# %% [markdown]
# ### Exercise 4: `get_batch`
#
# ★★☆ · 10 minutes · about 3 lines
#
# Our text is one long row of tokens. Cut pieces of `block_size` tokens out of it at random places, each with its
# targets.
#
# <details><summary>Hint 1: a question</summary>
#
# The last target of a piece lies one token beyond the piece. What is the last place where a piece can begin?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. draw batch_size places with `torch.randint`; its upper end is never drawn
# 2. x: block_size tokens from each place on
# 3. y: the same, one token later
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import get_batch

# %%
batch_of = check(get_batch).verified

# %%
torch.manual_seed(0)
x, y = batch_of(data, 8, 3)  # (3, 8) each
the_pieces_overlap_by_all_but_one = torch.equal(x[:, 1:], y[:, :-1])
assert the_pieces_overlap_by_all_but_one
tuple(x.shape), tuple(y.shape)

# %% [markdown] name="training"
# ## Train it
#
# Two blocks, 96 wide, of *your* attention and *your* feed-forward network. A context window of 32 tokens, sixteen
# pieces per step. No piece needs a start token: it begins anywhere in the text, and its first token is never a target.
#
# The optimiser is **AdamW**: Adam (lesson 04), which also shrinks every weight a little at each step. The two `betas`
# say how long it remembers: gradients for about 1 / (1 − 0.9) = 10 steps, their squares for about 100. The learning
# rate rises for a tenth of the steps and then falls to nearly 0.
#
# It takes about a minute. **Predict** its bits per character on the test text: counting needs about 1.83.

# %% tags=["nbval-ignore-output"]
WINDOW, STEPS = 32, 2000
torch.manual_seed(0)
model = LanguageModel(V, d_model=96, num_heads=4, d_ff=384, num_layers=2, dropout=0.05, **parts)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.99))
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, STEPS, pct_start=0.1)
batches = [batch_of(data, WINDOW, 16) for _ in range(STEPS)]


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


losses = fit(model, loss_of, batches, optimizer, schedule, clip=1.0)
model.eval()
print(f"{sum(p.numel() for p in model.parameters()):,} parameters; "
      f"on average each token was read {STEPS * 16 * WINDOW / len(data):.0f} times")

# %% tags=["given"]
from course_lib.experiments.language import bits_by_reading

# %% tags=["nbval-ignore-output"]
by_transformer = bits_by_reading(model, test, V, WINDOW) / len(texts.test)
on_what_it_read = bits_by_reading(model, data[:4000], V, WINDOW) / sum(len(spelled[i]) for i in data[:4000])
counting_wins_on_this_text = by_counting < by_transformer - 0.05
it_has_learned_much_by_heart = on_what_it_read < by_transformer - 0.3
assert counting_wins_on_this_text
assert it_has_learned_much_by_heart
print(f"counting {by_counting:.2f}, Transformer {by_transformer:.2f} bits per character")
print(f"the Transformer on its training text: {on_what_it_read:.2f}")

# %% [markdown]
# A model of the 1990s wins, without a single gradient, though with more counts than the Transformer has parameters. (We
# found our recipe in a dozen tries, on topics that are now in the test text. That favours the Transformer.) The
# Transformer knows its training text far better than a new one. What has to grow, so that it wins?
#
# Two things are easy to grow. The text: the docstrings of Python's standard library make it seven times as long. And
# the training: 8,000 or 16,000 steps in place of 2,000. **Predict** who wins with more steps alone, with more text
# alone, and with both. Counting gets the longer text, too.
#
# Three trainings of each kind are stored. The first of them is the one you have just run.

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.stored import stored

rows = stored("12-growing")
first = next(row for row in rows if (row["model"], row["text"], row["steps"]) == ("Transformer", "the manual", 2000))
today_agrees_with_what_is_stored = abs(by_transformer - first["test"]) < 0.15  # another Python has another manual
assert today_agrees_with_what_is_stored
print(f"today {by_transformer:.2f}, stored {first['test']:.2f}")

# %%
counting, reading = {}, {}
for row in rows:
    if row["model"] == "Transformer":
        reading.setdefault((row["text"], row["steps"]), []).append(row["test"])
    elif row["validation"] < counting.get(row["text"], row)["validation"] or row["text"] not in counting:
        counting[row["text"]] = row  # the best n, by the validation text
counting = {text: row["test"] for text, row in counting.items()}
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for axis, text in zip(axes, counting, strict=True):
    axis.axhline(counting[text], color="black", linestyle="--", label="counting, the best n")
    for steps in (2000, 8000, 16000):
        axis.plot([f"{steps:,}"] * 3, reading[text, steps], "o", color="C0",
                  label="Transformer, three trainings" if steps == 2000 else None)
    axis.set(title=text, xlabel="steps", xlim=(-0.5, 2.5))
axes[0].set_ylabel("bits per character, test")
axes[1].legend()
plots.show(figure, "Bits per character on the test text, two panels. The manual: counting, a dashed line, near 1.8; "
                   "the Transformer near 2.0 after 2,000 steps, higher after 8,000, above 2.2 after 16,000. The "
                   "manual and docstrings: counting near 1.75; the Transformer near 2.0 after 2,000 steps, a little "
                   "above the line after 8,000, below it after 16,000.")

# %%
short, long = counting
more_steps_alone_make_it_worse = min(reading[short, 8000]) > max(reading[short, 2000])
more_text_alone_does_little = min(reading[long, 2000]) > max(reading[short, 2000]) - 0.05
lead = {asked: min(row[asked] for row in rows if row["text"] == long and row["model"] != "Transformer")
        - max(row[asked] for row in rows if (row["text"], row["steps"]) == (long, 16000))
        for asked in ("validation", "test")}
with_both_it_overtakes = min(lead.values()) > 0
assert more_steps_alone_make_it_worse
assert more_text_alone_does_little
assert with_both_it_overtakes
print("lead with both, in bits or more:", {asked: round(bits, 3) for asked, bits in lead.items()})

# %% [markdown]
# **Verdict: with this recipe, text and training have to grow together.** More steps on the short text make it worse.
# More dropout mends that: one training of ours with 0.3 instead of 0.05, 8,000 steps, came to 1.99. Counting still won.
# More text alone does little: in 2,000 steps each of its tokens is read only 1.3 times on average. With both, the
# Transformer overtakes counting, by little. This is one small model. How text, training and the model's size should
# grow together is what **scaling laws** measure (Kaplan et al. 2020,
# [arXiv:2001.08361](https://arxiv.org/abs/2001.08361); Hoffmann et al. 2022,
# [arXiv:2203.15556](https://arxiv.org/abs/2203.15556)).

# %% [markdown] name="temperature"
# ## Let it write
#
# The model gives logits. To write, somebody has to choose a token. The likeliest one each time? Then it always writes
# the same, and soon repeats itself. So we **draw**, and two knobs say how boldly:
#
# - **temperature**: divide the logits by it before the softmax;
# - **top-k**: only the k likeliest tokens may be drawn at all.
#
# One number by hand: logits 2 and 0. At temperature 1 the odds are $e^2$ to 1, about 7.4. **Predict** the odds at
# temperature 2.

# %%
two = torch.tensor([2.0, 0.0])
odds = {T: (torch.softmax(two / T, 0)[0] / torch.softmax(two / T, 0)[1]).item() for T in (0.5, 1.0, 2.0)}
twice_as_hot_takes_the_root_of_the_odds = abs(odds[2.0] - odds[1.0] ** 0.5) < 1e-3
assert twice_as_hot_takes_the_root_of_the_odds
{T: round(o, 1) for T, o in odds.items()}

# %% [markdown]
# ### Exercise 5: `next_token_probs`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Both knobs, for a batch of logits.
#
# <details><summary>Hint 1: a question</summary>
#
# Lesson 07 kept a query from seeing some keys. What did it do to their scores, and when?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. where top_k is given and smaller than V: find the top_k-th largest logit of *each row* (`torch.topk`)
# 2. in a new tensor, whatever is smaller becomes −∞
# 3. softmax of the logits, divided by the temperature
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import next_token_probs

# %%
probabilities = check(next_token_probs).verified

# %%
begun = encode("The value of the ")[None]  # (1, T)
logits = model(begun)[:, -1].detach()  # (1, V)
order = logits[0].argsort(descending=True)[:12]
settings = {"temperature 1": (1.0, None), "temperature 0.5": (0.5, None), "temperature 2": (2.0, None),
            "top 5": (1.0, 5)}
figure, axes = plt.subplots(1, 4, figsize=(11, 3), sharey=True, layout="constrained")
for axis, (title, (temperature, top_k)) in zip(axes, settings.items(), strict=True):
    axis.barh([repr(spelled[i]) for i in order], probabilities(logits, temperature, top_k)[0, order])
    axis.set(title=title, xlabel="probability", xlim=(0, 1))
axes[0].invert_yaxis()
axes[0].set_ylabel("next token")
plots.show(figure, "Probabilities of the twelve likeliest tokens after 'The value of the', four times. Temperature 0.5 "
                   "makes the long bars longer, temperature 2 evens all of them out, top 5 leaves five bars.")

# %%
cold, hot = (probabilities(logits, T).max().item() for T in (0.5, 2.0))
colder_is_surer = cold > hot
left = (probabilities(logits, 1.0, 5) > 0).sum().item()
five_are_left = left == 5
assert colder_is_surer
assert five_are_left
print("tokens with a chance:", V, " with top 5:", left)

# %% [markdown]
# ### Exercise 6: `generate`
#
# ★★☆ · 15 minutes · about 4 lines
#
# Draw, append, and ask again. The model may be shown no more than its window.
#
# <details><summary>Hint 1: a question</summary>
#
# The model gives logits at every place. Which of them speaks about the token that is not there yet?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# as often as new tokens are wanted:
#
# 1. the last block_size tokens of the text, or all if there are fewer
# 2. the model's logits at the last place, as probabilities
# 3. a draw for each row (`torch.multinomial`)
# 4. the text, with the drawn tokens as one more column
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import generate

# %%
write = check(generate).verified

# %% [markdown]
# Your function draws from whatever logits a model gives. So the knobs go *around the model*. **Predict:** at
# temperature 1, at 0.5 with top-k 20, and at 2: what share of the words stands nowhere in the training text? Then read
# the three texts.

# %% tags=["nbval-ignore-output"]
class Tuned(nn.Module):
    """A model with both knobs turned: the logarithm of a probability is as good a logit as any."""

    def __init__(self, model, temperature, top_k=None):
        super().__init__()
        self.model, self.knobs = model, (temperature, top_k)

    def forward(self, context):
        return probabilities(self.model(context)[:, -1], *self.knobs).log()[:, None]  # (B, 1, V)


known, unknown = set(texts.train.split()), {}
for temperature, top_k in ((1.0, None), (0.5, 20), (2.0, None)):
    torch.manual_seed(1)
    drawn = write(Tuned(model, temperature, top_k), begun.repeat(16, 1), 60, WINDOW)  # (16, T + 60)
    written = ["".join(spelled[i] for i in row) for row in drawn]
    new = [word not in known for text in written for word in text.split()[4:-1]]  # the last may be cut off
    unknown[temperature] = sum(new) / len(new)
    print(f"--- temperature {temperature}, top-k {top_k}\n{written[0]}\n")
hotter_is_worse_at_spelling = unknown[0.5] < unknown[1.0] < unknown[2.0]
assert hotter_is_worse_at_spelling
print("words that the training text does not have:", {T: f"{share:.0%}" for T, share in unknown.items()})

# %% [markdown]
# The cool one mostly keeps to words that it has read. The hot one forgets how to spell. All have something of the
# *sound* of a manual. What they say is mostly nonsense: the model was asked for what comes next, not for what is true.

# %% [markdown] name="context-window"
# ## What lies beyond the window
#
# The window was 32 tokens. **Predict:** two stories begin differently, and then share their last 32 tokens. Both are
# continued with the same random seed. Will the continuations differ, and where?

# %%
one, other = test[:60].clone()[None], test[:60].clone()[None]
other[0, :28] = test[200:228]  # another beginning
continued = []
for beginning in (one, other):
    torch.manual_seed(0)
    continued.append(write(model, beginning, 40, WINDOW)[0, 60:])
they_begin_differently = not torch.equal(one[0, :28], other[0, :28])
beyond_the_window_there_is_nothing = torch.equal(*continued)
assert they_begin_differently
assert beyond_the_window_there_is_nothing
print("They differ in their first 28 tokens, and in", (continued[0] != continued[1]).sum().item(), "of 40 new ones")

# %% [markdown]
# Nowhere. For the model, text outside the window does not exist. A model can be *given* a longer window, since our
# sinusoids have no last position. But lesson 09 measured what happens at positions that were never trained.

# %% [markdown] name="kv-cache"
# ## Do not read it all again
#
# `generate` asks the model about the whole context, each time. Yet a causal mask means that nothing in the past changes
# when a token is added: its keys and values are what they were. So keep them. Only the new token needs a query.
#
# This is a **KV cache**. `WithCache` wraps a model, keeps its keys and values, and reads only what is new. **Predict:**
# how far will its logits be from those that are worked out anew?

# %%
from course_lib.language_model import WithCache

cached = WithCache(model)
context = test[None, :60]  # (1, 60)
with torch.no_grad():
    anew = model(context)[0]  # (60, V)
kept = torch.cat([cached(context[:, : t + 1])[0] for t in range(60)])  # (60, V), a token at a time
the_cache_changes_nothing = torch.allclose(anew, kept, atol=1e-5)
assert the_cache_changes_nothing
tuple(kept.shape), the_cache_changes_nothing

# %% [markdown]
# Now your own `generate` writes 384 tokens with the model, and with its cached version. The window is 400 here, so that
# it does not slide. The model was trained on 32, and writes badly so far out; only the time counts here.

# %%
def timed(reader):
    torch.manual_seed(0)
    start = time.perf_counter()
    text = write(reader, test[None, :4], 384, 400)
    return text, time.perf_counter() - start


rounds = [(timed(model), timed(WithCache(model))) for _ in range(2)]  # in turn
(text_anew, _), (text_kept, _) = rounds[0]
slow, quick = (min(taken for _, taken in side) for side in zip(*rounds, strict=True))
the_text_is_the_same = torch.equal(text_anew, text_kept)
the_cache_is_faster = slow / quick > 1.3
assert the_text_is_the_same
assert the_cache_is_faster
print(f"the same 384 tokens; without the cache it takes {slow / quick:.1f} times as long")

# %% [markdown]
# The cache costs memory: two vectors for each token in each layer. Here it also works only while the window grows. When
# the window slides, every token has a new position, and `WithCache` begins anew.

# %% [markdown] name="logit-lens"
# ## Looking into the stack
#
# One vector travels up through the blocks, at every place. At the bottom it is a word and a position. At the top a norm
# and a linear map read the *next* word off it. What is it in between?
#
# The **logit lens** looks: put the last norm and the last map behind *every* block, as if the stack ended there. The
# model was never trained for that. **Predict:** how many times the whole model's bits after no block, and after one?

# %% tags=["nbval-ignore-output"]
def read_after(blocks):
    """The model, read off after so many blocks."""
    def read(ids):
        x = model.embed(ids)  # (B, T, d_model)
        for block in model.blocks[:blocks]:
            x = block(x, causal_mask(ids.shape[1]))
        return model.predict(x)  # (B, T, V)

    return read


with torch.no_grad():
    depth = [bits_by_reading(read_after(blocks), test[:4000], V, WINDOW) for blocks in range(3)]
each_block_brings_it_nearer_to_the_next_word = depth[0] > depth[1] > depth[2]
assert each_block_brings_it_nearer_to_the_next_word
print("whole model = 1; after no block and one:", [round(bits / depth[2], 2) for bits in depth[:2]])

# %% [markdown]
# Does a lower vector say less about the next word, or is the lens just unable to read it? The lens was trained on
# vectors after two blocks. As a control, train a norm and a map for each lower height, and leave the blocks as they
# are. **Predict:** how much of the difference will disappear?

# %% tags=["nbval-ignore-output"]
import copy


def with_its_own_map(blocks):
    """The model cut off after so many blocks, its norm and map trained for that height."""
    short = copy.deepcopy(model).requires_grad_(False)
    short.blocks = short.blocks[:blocks]
    own = [p.requires_grad_() for part in (short.norm, short.out) for p in part.parameters()]
    fit(short, loss_of, batches[:300], torch.optim.Adam(own, lr=1e-3))
    return short.eval()


own = [bits_by_reading(with_its_own_map(blocks), test[:4000], V, WINDOW) for blocks in (0, 1)]
part_of_it_was_the_lens = own[0] < depth[0] - 0.2 * (depth[0] - depth[2])
the_rest_was_not = own[0] > own[1] > depth[2]
assert part_of_it_was_the_lens
assert the_rest_was_not
print("with maps of their own:", [round(bits / depth[2], 2) for bits in own])

# %% [markdown]
# Part of the difference was only the lens. The order stays: after each block, more of the next word can be read.
#
# Now token by token: the probability of the token that really comes, on a piece of a topic the model has never seen.

# %%
prose = [all(c.isalpha() or c in " ,." for c in spelled[i]) for i in test]
begin = next(t for t in range(1000, len(test)) if all(prose[t : t + 13]))  # the first stretch without code
context, answers = shift(test[None, begin : begin + 13])  # (1, 12) each
with torch.no_grad():
    right = torch.stack([read_after(b)(context)[0].softmax(-1)[range(12), answers[0]] for b in range(3)])  # (3, 12)
steps = [f"{spelled[i]!r} → {spelled[j]!r}" for i, j in zip(context[0], answers[0], strict=True)]
figure, axis = plt.subplots(figsize=(9, 2.8))
plots.heat_map(axis, right, ["none", "1", "2"], steps, "probability of the right next token", limit=1.0)
axis.set(xlabel="token → next token", ylabel="blocks")
plots.show(figure, "For twelve tokens of a held-out topic, the probability of the right next token after no block, one "
                   "and two. Some places grow from row to row, others stay near 0 or lose again.")

# %% [markdown]
# Not every probability grows. A block only *adds* to what is there (the skip connection), but that can also make a
# right guess less likely.

# %% [markdown]
# ## A real one
#
# **SmolLM2** is built on the same idea: decoder-only, the next token. It has 135 million parameters, and has read two
# trillion tokens ([Ben Allal et al. 2025](https://arxiv.org/abs/2502.02737)). Four of its parts are newer than ours,
# and lesson 15 builds them. `probabilities` and `write` are still yours: they work with any model. Set `FETCH = True`:
# it fetches 93 MB once. Without it the lesson is complete.

# %% tags=["nbval-ignore-output"]
from course_lib import data
from course_lib.pretrained import smollm2

FETCH = False  # True: fetch SmolLM2

real = None
try:
    data.fetch("smollm2", download=FETCH)
    real, tokenizer = smollm2.load(), smollm2.load_tokenizer()
except data.Missing as missing:
    print(missing)
print("SmolLM2 is here:", real is not None)

# %% [markdown]
# **Predict:** *The capital of France is*, and then? How sure will it be, and what does it write at a temperature of 2?

# %% tags=["nbval-ignore-output"]
if real is not None:
    begun = torch.tensor([tokenizer.encode("The capital of France is").ids])  # (1, 5)
    next_one = probabilities(real(begun)[:, -1].detach())[0]  # (49152,)
    it_knows_the_capital_of_france = tokenizer.decode([next_one.argmax().item()]) == " Paris"
    assert it_knows_the_capital_of_france
    print(f"Paris: {next_one.max().item():.2f}")
    for temperature, top_k in ((0.7, 20), (2.0, None)):
        torch.manual_seed(0)
        text = write(Tuned(real, temperature, top_k), begun, 25, 512)[0]
        print(f"--- temperature {temperature}\n{tokenizer.decode(text.tolist())}")

# %% [markdown]
# ## Summary
#
# - A language model says how probable each token is to come next. Text is its own answer key.
# - Counted pairs and a trained table agree: cross-entropy is lowest at the counted shares.
# - One masked pass is T passes: the same loss. A GRU trains on all places, too, but has to go step by step.
# - Attention is faster than recurrence on one short text. Many texts at once shrink that lead; a long text ends it.
# - Bits per character compare models with different tokens; perplexity is 2 to the power of the bits per token.
# - On a short text, counting beat our Transformer. The Transformer won when text and training both grew.
# - Temperature and top-k choose how boldly to draw. A KV cache gives the same text sooner.
# - Here each block makes the next word easier to read. The logit lens sees that, and exaggerates it.
#
# **Think about it.** A model that predicts the next word of a detective story perfectly would have to know who did it.
# Which things must a model know to predict better, and which can it never learn that way?
#
# **In the papers.** [Bengio et al. 2003](https://www.jmlr.org/papers/v3/bengio03a.html) learned the table as a network.
# [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), table 1, compares the cost of attention and recurrence.
# Decoder-only: [Liu et al. 2018](https://arxiv.org/abs/1801.10198), and GPT (Radford et al. 2018). Smoothing: Kneser
# and Ney 1995, *Improved backing-off for m-gram language modeling*; Chen and Goodman 1998, *An empirical study of
# smoothing techniques for language modeling*; byte pairs: [Sennrich et al. 2016](https://arxiv.org/abs/1508.07909),
# section 3.2. The cache: [Shazeer 2019](https://arxiv.org/abs/1911.02150), section 2.4.1. The logit lens is an essay by
# nostalgebraist (2020); a map of its own for each height is the tuned lens of [Belrose et al.
# 2023](https://arxiv.org/abs/2303.08112).
#
# **Next.** Nothing in a Transformer knows that its tokens are words. Lesson 13 cuts a picture into pieces, and reads
# those.
