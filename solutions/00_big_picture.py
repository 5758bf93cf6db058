# %% [markdown]
# # 00 · The big picture: the whole Transformer first
#
# *65 minutes: reading 27, predicting 9, writing 29 · needs Python and
# [a little PyTorch](primer.ipynb) · two exercises*
#
# **At the end you can**
#
# - draw the Transformer of 2017 as a handful of blocks, and say what each is for;
# - give words their vectors, and mix vectors by one matrix product;
# - say what came before attention, and which gap each idea left;
# - count the operations of one layer, kind by kind;
# - read the card that judges your answer.

# %%
import torch

from course_lib import check, claim, intervene, predict, shipped
from course_lib.display import plots
from course_lib.display.drawings import big_picture as draw
from course_lib.experiments import looking, opened

torch.set_num_threads(1)

# %% [markdown]
# ## A translator
#
# **Machine translation** is the task that the **Transformer** was invented for, in
# 2017. The course comes with a small one, trained: the one that you will build in
# lesson 11. Its French is a made-up part of French, of 229 words.

# %%
translator = shipped.translator()
translator.translate("Jane visite l'Afrique en septembre.")

# %% [markdown]
# ### Yours: a sentence
#
# It knows *chat, chien, maison, pomme, femme, enfant, oiseau, voiture*, the adjectives
# *noir, blanc, rouge, petit, grand, vieux*, the verbs *voit, aime, vend, garde, trouve,
# achète*, *le, la, les, un, une, ce, deux, trois*, and the names *Jane, Paul, Emma, Tom,
# Paris, Rome*. Most adjectives stand behind their noun, as in *le chat noir*.
#
# Replace the three dots by a sentence of your own, and run the cell, as often as you
# like.

# %% tags=["yours"]
sentence = "Paul voit trois chats noirs"  # yours: a French sentence with an adjective
COLOURS = {"black", "white", "red", "small", "big", "old"}
intervene(
    "a sentence of four words or more, with an adjective",
    sentence,
    run=translator.translate,
    holds=lambda english: len(english.split()) > 3 and COLOURS & set(english.split()),
    shows="“{choice}” becomes “{result}”",
    otherwise="A little longer, and with one of the adjectives above.",
)

# %% [markdown] name="whole-machine"
# ## The whole machine
#
# A Transformer for translation has two halves. The **encoder** reads all French words.
# The **decoder** writes the English ones, one after another. Each half is a stack of
# layers, in the paper six. The encoder's vectors, one for each French word, are called
# the **memory**. The decoder needs them.
#
# (Questions are answered by a button: commit yourself, then run on. A cell that begins
# with *The proof* is folded: it tests what was said.)

# %% tags=["predict"]
predict(
    "Six encoder layers, six decoder layers. What do the decoder's layers get from the "
    "encoder?",
    {
        "decoder layer 1 gets what encoder layer 1 computed": "So a U-shaped network "
        "would do it, layer by layer. The paper's decoder waits until all is read.",
        "the last encoder layer's vectors go to the first alone": "They do go there. "
        "But layers 2 to 6 want to look at the French words as well.",
        "the last encoder layer's vectors go to all six": (
            True,
            "One memory, and each layer of the decoder looks into it.",
        ),
    },
    concept="C001",
)

# %%
plots.show(draw.machine(), "whole-machine")

# %% [markdown]
# Read it from the bottom up.
#
# - A **token** is one piece of text, here a word. All tokens that a model knows are its
#   **vocabulary**, and each has a number. **Embedding** turns the number into a vector.
#   *Position* adds where the word stands.
# - In *self-attention* each word takes in what it needs from the other words. A
#   **feed-forward network** then works on each word alone. The arrow around each of
#   them lets the old vector through, and *add & norm* joins the two.
# - What leaves the last encoder layer is the memory.
# - Each decoder layer looks back at the words written so far (*masked*: it must not see
#   the future), and then at the memory. That is *cross-attention*.
# - A **linear layer**, which is a matrix product with trained numbers, and a *softmax*
#   turn the last vector into one probability for each word of the vocabulary.
#
# The labels say in which lesson you build a part.
#
# Here are the two halves as code. (Ours has two layers on each side. `causal_mask` hides
# the future from the decoder: lesson 07.)

# %%
from course_lib.masks import causal_mask


@torch.no_grad()
def encode(model, french):
    """French token numbers (B, Ts) to the memory (B, Ts, d_model)."""
    x = model.embed(french, model.src_embed)  # (B, Ts, d_model)
    for layer in model.encoder:
        x = layer(x)
    return x


@torch.no_grad()
def decode(model, english, memory):
    """English token numbers so far (B, Tt), and memory, to next words (B, Tt, V)."""
    x = model.embed(english, model.tgt_embed)  # (B, Tt, d_model)
    for layer in model.decoder:
        x = layer(x, memory, causal_mask(english.shape[1]))
    return torch.softmax(model.out(x), dim=-1)  # a probability for each of V words


# %% [markdown]
# All numbers that training may change are a model's **parameters**. PyTorch computes
# several sentences at once, a **batch** of B. Ours is a batch of one. The decoder has
# written *Jane visits Africa* so far. (The first token says *begin*.)

# %%
model = translator.model
french = opened.encoded(translator, "Jane visite l'Afrique en septembre.")  # (B, Ts)
english = opened.begun(translator, "Jane visits Africa")  # (B, Tt)
memory = encode(model, french)  # (B, Ts, d_model)
probabilities = decode(model, english, memory)  # (B, Tt, V)
print("parameters:", f"{sum(p.numel() for p in model.parameters()):,}")
for name, tensor in {"French": french, "memory": memory, "next": probabilities}.items():
    print(f"{name:8}{tuple(tensor.shape)}")
probability, number = probabilities[0, -1].max(dim=0)
translator.english.words[number], f"{probability:.2f}"

# %% [markdown]
# Six French words became six vectors, and the end of the sentence a seventh. (*l'* is a
# word of its own.) A table with one row per word went into each layer, and a table of the
# same shape came out. That is why layers can be stacked. The last row of probabilities is
# the guess at the word after *Africa*.

# %% tags=["claim"]
# The proof
claim("after “Jane visits Africa” it says “in”",
      translator.english.words[probabilities[0, -1].argmax()] == "in")
claim("these two functions are the whole machine", torch.allclose(
    model(french, english).softmax(-1), probabilities, atol=1e-5))
first, second = model.decoder
with torch.no_grad():
    x = first(model.embed(english, model.tgt_embed), memory, causal_mask(4))
    alone = model.out(second(x, torch.zeros_like(memory), causal_mask(4))).softmax(-1)
claim("with an empty memory for its second layer alone it says something else",
      (alone - probabilities).abs().max() > 0.1)

# %% [markdown] name="attention-alone"
# ## What carries information from word to word?
#
# A word's new vector has to depend on other words: *noir* alone does not know what is
# black. Before 2017 networks for text were mostly **recurrent neural networks**, which
# read word after word, and some were made of *convolutions*, which slide a small window
# over the text.

# %% tags=["predict"]
predict(
    "Which parts of this Transformer carry something from one word to another?",
    {
        "attention, and nothing else": (
            True,
            "All others work on each word alone. Hence the title of the paper: "
            "*Attention Is All You Need*.",
        ),
        "attention and the feed-forward networks": "A feed-forward network joins the "
        "numbers *within* one word's vector. Other words never enter it.",
        "attention, and a recurrent part for the order": "Nothing recurrent is inside. "
        "The order comes in as a number that is added to each word.",
        "all parts, a little": "Norms, sums and feed-forward networks run for each "
        "word by itself.",
    },
    concept="C005",
)

# %%
from collections import Counter

for name, how_many in Counter(type(m).__name__ for m in model.modules()).most_common():
    print(f"{how_many:3}  {name}")

# %% [markdown]
# No recurrence and no convolution is in this list. So silence every attention: whatever
# it finds, nothing of it comes out. Then exchange the first French word, and count the
# vectors of the memory that change.

# %%
def vectors_that_change(of):
    """How many vectors of the memory depend on the first French word?"""
    jane, paul = (opened.encoded(of, f"{name} visite l'Afrique en septembre.")
                  for name in ("Jane", "Paul"))  # (B, Ts)
    moved = encode(of.model, jane) - encode(of.model, paul)  # (B, Ts, d_model)
    return (moved.abs().amax(dim=-1) > 1e-4).sum().item()


silent = opened.silenced(translator)
print("as trained:", vectors_that_change(translator), "of", french.shape[1])
print("silent:    ", vectors_that_change(silent), "of", french.shape[1])

# %% [markdown]
# ### Yours: which attention?
#
# The translator's attentions are `"encoder"` (French words look at French words),
# `"decoder.0.self"` and `"decoder.1.self"`, one in each decoder layer (English words look
# at English words), and `"cross_attn"` (English words look at French words). Silence one of
# the four. With which does it write good English that has nothing to do with the French?

# %% tags=["yours", "nbval-ignore-output"]
kind = "cross_attn"  # yours: one of the four names
asked = ("Jane visite l'Afrique en septembre.", "Paul voit trois chats noirs.")
intervene(
    "without this attention it says the same, whatever the French sentence",
    kind,
    run=lambda kind: [opened.silenced(translator, kind).translate(s) for s in asked],
    holds=lambda said: said[0] == said[1],
    among=("encoder", "decoder.0.self", "decoder.1.self", "cross_attn"),
    shows="without “{choice}”: “{result[0]}”, and “{result[1]}”",
    otherwise="Which of them is the way from the memory to the English words?",
)

# %% [markdown]
# Without cross-attention the decoder is a writer who has never seen the French. Without
# the encoder's self-attention it still gets most sentences right. This small French
# hardly needs it. Real French does.

# %% tags=["claim"]
# The proof
pairs = opened.new_pairs(50)
still_right = {part: looking.right(opened.silenced(translator, part), pairs)
               for part in ("encoder", "cross_attn")}
claim("as trained all vectors depend on the first word, silent only its own does",
      (vectors_that_change(translator), vectors_that_change(silent)) == (7, 1))
claim("without cross-attention none of 50 sentences is right",
      still_right["cross_attn"] == 0)
claim("without the encoder's self-attention more than half of them are",
      still_right["encoder"] > 25)

# %% [markdown] name="looks"
# ## Where does it look?
#
# Attention gives each English word a row of **attention weights**: how much it takes
# from each French word. They are positive and sum to 1. Here are those of the last
# layer, while it writes about Jane.

# %%
looks, written, read = opened.where_it_looks(translator, asked[0])  # (Tt, Ts)
plots.show(draw.alignment(looks, written, read), "jane")

# %% [markdown]
# Nobody has told it which word belongs to which. It was trained on pairs of sentences
# alone.

# %% [markdown] name="embedding"
# ## From words to vectors
#
# The first box of the machine is a table. It has one row for each word of the
# vocabulary. Word number 4 is row 4. Nothing is computed.
#
# ### How to read a card
#
# You will write this yourself. First a wrong answer, which counts as none of yours
# (`record=False`).

# %%
def counted_from_one(ids, table):
    return table[ids - 1]


check(counted_from_one, "embed_tokens", record=False)

# %% [markdown]
# Read it from the top.
#
# - **Likely cause** names the thought behind the code, where the card knows it.
# - **Example** is the smallest call that went wrong. Do it on paper.
# - **Expected** and **Got** stand below each other, with the wrong numbers marked.
# - **Asked**, folded below, is the task in one line.
# - **Later cells** says whose function is used from here on.
#
# ### Exercise 1: `embed_tokens`
#
# ★☆☆ · 5 minutes · about 1 line
#
# Give each token of a batch of sentences its row. The docstring is the whole contract:
# replace the last line of the cell by your own.
#
# <details><summary>Hint 1: a question</summary>
#
# `table[4]` is row 4. What does PyTorch give you for `table[torch.tensor([4, 0])]`?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# A tensor of row numbers between the brackets, of any shape, is replaced by the rows.
# One operation does it.
#
# </details>

# %% tags=["exercise"]
from course_lib.layers import embed_tokens

# %%
embed = check(embed_tokens).verified

# %% [markdown]
# `check(...).verified` is your own function as soon as the card says *right*, and the
# course's until then. So you can always read on.
#
# Here are vectors of 617 common words, from a model that was trained on a billion pairs
# of texts (MiniLM, lesson 15): 384 numbers each. To train such vectors is the idea of
# **word2vec** (2013). Which vectors are alike? The **cosine similarity** is near 1 for
# arrows of one direction, and near 0 for arrows that have nothing to do with each other.

# %%
vectors = shipped.word_vectors()  # {word: (384,)}
words, table = list(vectors), torch.stack(list(vectors.values()))  # (V, D)


def nearest(word):
    """The five words whose vectors are most like the vector of this word."""
    row = embed(torch.tensor([[words.index(word)]]), table)[0, 0]  # (D,), your own
    alike = torch.cosine_similarity(table, row[None])  # (V,)
    return [words[i] for i in alike.argsort(descending=True)[1:6]]


for word in ("king", "paris", "june"):
    print(f"{word:6}", nearest(word))

# %% tags=["predict"]
predict(
    "A bank lends money, and a bank is the side of a river. Among the words nearest to "
    "“bank” are …",
    {
        "“money” alone": "It is the nearest. But the table was trained on all "
        "sentences with “bank” in them, and some of them were wet.",
        "“river” alone": "That is the rarer meaning. Look for the common one.",
        "both": (True, "One row has to serve all sentences: it lies between the two."),
        "neither: their meanings cancel": "A mean of two directions is still nearer to "
        "both of them than most other words are.",
    },
    concept="C003",
)

# %%
nearest("bank")

# %% tags=["claim"]
# The proof
claim("your own function finds the rows that PyTorch's embedding finds", torch.equal(
    embed(french, model.src_embed.weight),
    torch.nn.functional.embedding(french, model.src_embed.weight)))
claim("both meanings of bank are among its five nearest words",
      {"money", "river"} <= set(nearest("bank")))
claim("paris is near to other cities or to its country",
      {"france", "london"} <= set(nearest("paris")))

# %% [markdown] name="history"
# ## How people got there
#
# One vector for *bank*, whatever the sentence: that is the gap that attention closes.
# Seven ways to hand a text to a machine, and the gap that each left:
#
# | year | idea | what it could not do yet |
# |---|---|---|
# | – | **tokens**: a text as a list of numbers | say which words are alike: 7 is no closer to 8 than to 900 |
# | 1954 | **bag of words**: how often each word occurs | see the order |
# | 2013 | **word2vec**: a learned vector for each word | give *bank* two meanings |
# | 1997 | **LSTM**: a recurrent network with gates | work on all words at once |
# | 2014 | **sequence-to-sequence**: one network reads, one writes | give a long sentence more room than one vector |
# | 2014 | **attention**: the writer looks back at every word | do without recurrence |
# | 2017 | **Transformer**: attention without recurrence | stay cheap for long texts: each word looks at each |
#
# (The rows follow the ideas, not the years. Sources, in this order: Harris,
# *Distributional Structure*, Word 10 (1954) · Mikolov et al.,
# [arXiv:1301.3781](https://arxiv.org/abs/1301.3781) · Hochreiter and Schmidhuber,
# Neural Computation 9(8) (1997) · Sutskever et al.,
# [arXiv:1409.3215](https://arxiv.org/abs/1409.3215) · Bahdanau et al.,
# [arXiv:1409.0473](https://arxiv.org/abs/1409.0473) · Vaswani et al.,
# [arXiv:1706.03762](https://arxiv.org/abs/1706.03762).)
#
# A bag of words is quickly tried:

# %%
bags = [Counter(text.split()) for text in ("dog bites man", "man bites dog")]
bags

# %% [markdown]
# A recurrent network sees the order. It keeps one vector, the **hidden state**, and
# changes it with every word. Such a step is one line:

# %% tags=["given"]
from course_lib.experiments.recurrent import recurrent_step

# %%
g = torch.Generator().manual_seed(0)
W, U = torch.randn(2, 4, 4, generator=g) / 2  # random, nothing is trained
state = torch.zeros(4)
for x in torch.randn(3, 4, generator=g):  # three words, one after another
    state = recurrent_step(x, state, W, U)
[round(number, 2) for number in state.tolist()]

# %% [markdown]
# Two things follow. Word 5 waits for the state after word 4, so a long text takes long,
# however many processors you have. And the first word reaches the last state only
# through all steps between. What is left of it? We measure a slope: by how much does the
# last state move when the first word moves?
#
# The **long short-term memory** (**LSTM**) was made for this. It carries a second
# vector, the *cell*, and three *gates*, numbers between 0 and 1: the *forget* gate says
# how much of the cell stays, the *write* gate what comes in, the *read* gate what goes
# out.

# %% tags=["given"]
from course_lib.experiments.recurrent import lstm_step

# %% tags=["predict"]
predict(
    "Random weights, 64 words. In which network does the first word still move the "
    "last state?",
    {
        "in the LSTM, whatever its gates begin with": "A forget gate of one half keeps "
        "a half of the cell at each step. How much is left after 63 steps?",
        "in the LSTM, if its forget gate begins nearly open": (
            True,
            "Then nearly all of the cell passes each step. With a gate of one half it "
            "fades as fast as in the plain network.",
        ),
        "in both: a state forgets nothing by itself": "Each step squeezes the state "
        "through a tanh and a matrix. Slopes multiply.",
        "in neither": "That holds for two of the three that we try.",
    },
    concept="C003",
)

# %%
from course_lib.experiments.recurrent import left_of_the_first_word

lengths, tried = [1, 8, 16, 32, 64], {
    "plain": (recurrent_step, None), "LSTM, forget gate 0.5": (lstm_step, 0.0),
    "LSTM, forget gate 0.98": (lstm_step, 4.0)}
left = {name: [[left_of_the_first_word(step, T, forget, seed) for seed in range(3)]
               for T in lengths] for name, (step, forget) in tried.items()}
plots.show(draw.left_of_the_first(lengths, left), "first-word")

# %% [markdown]
# So it is not the gates as such, but an open one. (Nothing is trained here. Lesson 03
# trains such networks, and lets them translate.) Attention has no such path: every word
# looks at every other one directly, in one step.

# %% tags=["claim"]
# The proof
claim("a bag of words cannot tell who bit whom", bags[0] == bags[1])
last = {name: rows[-1] for name, rows in left.items()}  # three seeds, after 64 words
claim("after 64 words the first one is lost in a plain network, and in an LSTM whose "
      "forget gate is half open",
      max(last["plain"] + last["LSTM, forget gate 0.5"]) < 1e-9)
claim("with a forget gate nearly open it is not",
      min(last["LSTM, forget gate 0.98"]) > 0.1)

# %% [markdown] name="vectorising"
# ## Mixing, and a word you will meet
#
# What does attention do with its weights? It mixes. Take three lights, each of three
# numbers: how much *red*, *green* and *blue* it has. Mix half of coral with half of
# amber. The red of the mixture is $0.5 \cdot 0.90 + 0.5 \cdot 0.98 = 0.94$, and green
# and blue go the same way. With a loop, for any number of vectors:

# %%
lights = ["coral", "amber", "blue"]
colours = torch.tensor([[0.90, 0.35, 0.25], [0.98, 0.80, 0.30], [0.20, 0.45, 0.70]])


def mix_by_loop(weights, x):
    total = torch.zeros(x.shape[1])  # (D,)
    for weight, row in zip(weights, x, strict=True):
        total = total + weight * row
    return total


[round(c, 3) for c in mix_by_loop(torch.tensor([0.5, 0.5, 0.0]), colours).tolist()]

# %% [markdown]
# To **vectorise** code means: to write a loop over many numbers as one operation on a
# whole vector or matrix. The result stays the same. The work moves from Python into one
# fast routine.
#
# ### Exercise 2: `weighted_sum`
#
# ★☆☆ · 10 minutes · about 1 line
#
# The same as `mix_by_loop`, without a loop.
#
# <details><summary>Hint 1: a question</summary>
#
# `weights` has shape (N,) and `x` has shape (N, D). Which product of a vector and a
# matrix has shape (D,)? On which side must the vector stand?
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

# %% tags=["predict"]
predict(
    "10,000 vectors of 64 numbers are mixed into one. PyTorch's matrix product takes, "
    "compared with the loop, about …",
    {
        "the same time: the operations are the same": "Their number is. But each one "
        "that Python starts costs it about a thousand operations' time.",
        "a half to a tenth of the time": "That would be a good day in Python. Here "
        "10,000 rounds of a loop become one call.",
        "a hundredth or less": (
            True,
            "Python starts two operations for each row, 20,000 in all, and the product "
            "is one.",
        ),
    },
    concept="C004",
)

# %% tags=["nbval-ignore-output"]
import timeit

many_weights, many = torch.rand(10_000), torch.rand(10_000, 64)


def seconds(function):
    return min(timeit.repeat(lambda: function(many_weights, many), number=1, repeat=5))


loop, product = seconds(mix_by_loop), seconds(torch.matmul)
print(f"PyTorch's product: {loop / product:.0f} times as fast")
print(f"`mix`:             {loop / seconds(mix):.0f} times as fast")

# %% [markdown]
# Now many mixtures at once: 861 rows of weights, in steps of one fortieth. Stack them,
# and one matrix product makes all mixtures.

# %%
n = 40
grid = torch.tensor([[a, b, n - a - b] for a in range(n + 1) for b in range(n + 1 - a)])
grid = grid / n  # (T, N) = (861, 3)
mixtures = grid @ colours  # (T, N) @ (N, D) = (T, D)
plots.show(draw.triangle(grid, mixtures, lights), "triangle")

# %% [markdown]
# Put words in place of lights. Each word has a row of weights, which says how much it
# takes from each word, and gets a mixture of all of them. **Every attention layer has
# this line in it.** How the weights are found is what the next lessons are about.

# %% tags=["claim"]
# The proof
claim("one product makes all mixtures that your function makes one by one",
      torch.allclose(mixtures, torch.stack([mix(row, colours) for row in grid]),
                     atol=1e-6))
claim("the product is more than 50 times as fast as the loop", loop / product > 50)

# %% [markdown] name="operations"
# ## What does it compute all day?
#
# A saying goes: a Transformer is *data and matrix multiplications, repeated, and scaled
# with non-linear switches*. How much of it is matrix products? Count the operations of
# one encoder layer.
#
# One number first. Multiply a (2, 3) matrix by a (3, 4) matrix. Each of the 2 · 4
# results needs 3 multiplications and 3 additions (the first one adds to zero): 48
# operations. In general, (a, b) times (b, c) costs $2abc$. Now the layer, for $T$ words
# of width $d$, with a feed-forward network of width $f$:
#
# | product | shapes | operations |
# |---|---|---|
# | four products with trained matrices, the *projections* | (T, d) @ (d, d), four times | $8 T d^2$ |
# | compare each word with each | (T, d) @ (d, T) | $2 T^2 d$ |
# | mix the words | (T, T) @ (T, d) | $2 T^2 d$ |
# | feed-forward, out and back | (T, d) @ (d, f), (T, f) @ (f, d) | $4 T d f$ |
#
# What is no product: softmax, norms, sums. They cost a few operations for each number.
# An exponential counts as one here, and as more if you like: processors need between 1
# and about 25.

# %%
def products(T, d=512, f=2048):
    """Operations in the matrix products of one encoder layer."""
    return {"words with words": 4 * T**2 * d, "projections": 8 * T * d**2,
            "feed-forward": 4 * T * d * f}


def everything_else(T, d=512, f=2048, heads=8, exp=1):
    """Operations outside them; `exp` is what one exponential costs."""
    softmax = (5 + exp) * heads * T**2  # scale, maximum, subtract, exp, sum, divide
    norms, sums = 2 * 7 * T * d, 2 * T * d + T * (5 * d + f) + T * f
    return softmax + norms + sums


# %% tags=["predict"]
predict(
    "Of 1,000 operations of a full-size layer (d = 512, f = 2,048) on 128 words, how "
    "many belong to matrix products?",
    {
        "more than 990": (
            True,
            "A product does hundreds or thousands of operations for each number that "
            "comes out, and the rest a few.",
        ),
        "about 900": "So it is in short and narrow models, or for very long texts with "
        "a costly exponential.",
        "about 500": "Softmax and norms are as many *lines of code* as the products. "
        "How many operations does each line do for one number?",
    },
    concept="C002",
)

# %%
def of_1000(T, d=512, f=2048, heads=8, exp=1):
    """How many of 1,000 operations are in matrix products."""
    inside = sum(products(T, d, f).values())
    return 1000 * inside / (inside + everything_else(T, d, f, heads, exp))


for T, *size in ((128, 512, 2048, 8), (10**9, 512, 2048, 8), (5, 32, 64, 4)):
    by_cost = [f"{of_1000(T, *size, exp):.0f}" for exp in (1, 10, 25)]
    print(f"{T:13,} words, d = {size[0]:3}: {by_cost}  (an exp costs 1, 10, 25)")

# %% [markdown]
# At full size and 128 words the saying holds, whatever an exponential costs. For very
# long texts it depends on that cost, and in a small model a twentieth is something
# else. (These are operations. Time is another matter: numbers have to be fetched from
# memory as well. Lesson 16 measures it.)
#
# Which product is the largest? Only one of them grows with the *square* of the length.

# %%
lengths = [round(2 ** (k / 4)) for k in range(20, 65)]  # 32 to 65,536 words
counts = {part: [products(T)[part] for T in lengths] for part in products(1)}
counts["everything else"] = [everything_else(T) for T in lengths]
plots.show(draw.shares_of_operations(lengths, counts), "operations")

# %% [markdown]
# ### Yours: half of it
#
# From how many words on do "words with words" take half of all products, at d = 512 and
# f = 2,048?

# %% tags=["yours"]
T = 3072  # yours: a number of words
intervene(
    "a length at which words with words take half of all products, within 1 %",
    T,
    run=lambda T: products(T)["words with words"] / sum(products(T).values()),
    holds=lambda share: abs(share - 0.5) < 0.005,
    among=lambda T: T > 0,
    shows="{choice} words: {result:.3f} of all products",
    otherwise="Set 4 T² d equal to the other two, and solve for T.",
)

# %% [markdown]
# ## Then what are the switches for?
#
# Could one leave out what is no matrix product? Say the feed-forward network is two
# matrices in a row, A and then B, with nothing between.

# %% tags=["predict"]
predict(
    "Two matrices in a row, with nothing between them, can do …",
    {
        "twice as much as one": "Try it with numbers: 2 times 3 times x. Is that more "
        "than 6 times x?",
        "what a single matrix can do": (
            True,
            "x A B = x (A B): the product of the two is one matrix, and so it is with "
            "a hundred.",
        ),
        "curves, where one matrix does lines": "A matrix sends lines to lines, and the "
        "next one, too.",
    },
    concept="C002",
)

# %%
g = torch.Generator().manual_seed(1)
x, A, B = torch.randn(5, 8, generator=g), *torch.randn(2, 8, 8, generator=g)
bent = torch.relu(x @ A) @ B
apart = {"two matrices, and their product": x @ A @ B - x @ (A @ B),
         "with a ReLU: −x, and minus x": torch.relu(-x @ A) @ B + bent}
{name: f"{difference.abs().max():.3f}" for name, difference in apart.items()}

# %% [markdown]
# So something has to stand between: a **nonlinearity**, or **activation function**, for
# each number by itself. **ReLU** makes negative numbers zero. Any single matrix sends −x
# to minus what it sends x to. With the ReLU that is over (the last number is far from 0),
# and the two matrices are no longer one.
#
# Attention would not collapse without its softmax: it multiplies words by words. There
# the softmax does something else. It makes weights of scores.

# %% tags=["claim"]
# The proof
claim("at full size and 128 words more than 990 of 1,000 are products, even if an exp "
      "costs 25", of_1000(128, exp=25) > 990)
claim("for very long texts it is fewer than 920 if an exp costs 25, and more than 970 "
      "if it costs 1", of_1000(10**9, exp=25) < 920 < 970 < of_1000(10**9))
claim("two matrices in a row are one",
      torch.allclose(x @ A @ B, x @ (A @ B), atol=1e-4))
claim("with a ReLU between them they are not",
      not torch.allclose(torch.relu(-x @ A) @ B, -bent, atol=0.1))

# %% [markdown]
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
# | 16 | a cache, attention in blocks | long texts cost memory and time |
# | 17 | the tools that open a model | which heads make the answer, and how does one know? |
#
# Each lesson asks before it shows: click an answer, run on, compare. Nothing that you
# click or solve is sent anywhere. It is kept in a folder beside the notebooks, and
# `progress()` draws the map of the course from it.

# %% tags=["nbval-ignore-output"]
from course_lib import progress

progress()

# %% [markdown] name="mostly-attention"
# ## Further: is a Transformer mostly attention?
#
# Of all parameters in the two stacks of the paper's model, do more than half belong to
# attention? `torch.nn.Transformer` has both stacks ready made.

# %%
full_size = torch.nn.Transformer(512, nhead=8, dim_feedforward=2048, batch_first=True)


def by_part(network):
    """The parameters of PyTorch's two stacks, by kind of part."""
    numbers = {"attention": 0, "feed-forward": 0, "norm": 0}
    for name, parameter in network.named_parameters():
        kind = "feed-forward" if "linear" in name else "norm"
        numbers["attention" if "attn" in name else kind] += parameter.numel()
    return numbers


numbers = by_part(full_size)  # 6 layers on each side
{part: f"{how_many:,}" for part, how_many in numbers.items()}

# %% [markdown]
# More than half of them sit in feed-forward networks, which are four times as wide
# inside as their words. Does the total agree with the paper? Its table 3 gives 65
# million. Missing here is the embedding: a vocabulary of about 37,000 tokens (section
# 5.1), 512 numbers each, shared by source, target and the last linear layer.

# %%
total = sum(numbers.values()) + 37_000 * 512
print(f"{total / 1e6:.0f} million")

# %% tags=["claim"]
# The proof
claim("more than half of the parameters are in feed-forward networks",
      numbers["feed-forward"] > sum(numbers.values()) / 2)
claim("the total is the paper's, within 5 %", abs(total / 65e6 - 1) < 0.05)

# %% [markdown]
# ## Further: did we forget a product?
#
# PyTorch can watch a real layer and count its matrix products. (On a CPU it runs
# attention as one fused step that the counter cannot see into, so we ask for the plain
# steps.)

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

layer = torch.nn.TransformerEncoderLayer(512, nhead=8, dim_feedforward=2048,
                                         dropout=0.0, batch_first=True)
with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
    layer(torch.randn(1, 128, 512))
print(f"{counter.get_total_flops():,}", f"{sum(products(128).values()):,}")

# %% tags=["claim"]
# The proof
claim("PyTorch counts what we count, to the last digit",
      counter.get_total_flops() == sum(products(128).values()))

# %% tags=["predict", "later"]
predict(
    "A translator's memory is replaced by that of another sentence, after the encoder "
    "and before the decoder. It now writes …",
    {
        "the translation of the other sentence": (
            True,
            "The memory is all that the decoder knows of the source.",
        ),
        "the first one's translation": "How would it know the first one? What it is "
        "given are the memory, and its own words so far.",
        "something between the two": "The first sentence is nowhere in what the "
        "decoder gets.",
    },
    concept="C001",
)

# %% [markdown]
# ## Summary
#
# - The encoder reads the source into a memory, one vector per word. The decoder writes,
#   looking back at its own words and, in every layer, at the memory.
# - A table with one row per word goes into each layer, and a table of the same shape
#   comes out.
# - Attention is the only part that connects words. Without cross-attention our
#   translator writes the same sentence, whatever it was given.
# - An embedding is a row of a table: one vector per word, whatever the sentence.
# - A recurrent network reads word after word, and its last state forgets the first word,
#   unless a gate keeps it.
# - A weighted sum is a row of weights times a matrix. Every attention layer has it
#   inside.
# - At full size nearly all operations are matrix products. Without its ReLU, the
#   feed-forward network would be one of them.
#
# **Think about it.** The encoder works on all French words at once. When the machine
# translates, the decoder writes one English word after another. In training it does
# *not* have to wait, although it is the same machine. What does it know then that it
# does not know later?
#
# <details><summary>An answer</summary>
#
# The right translation. In training all English words are there from the start, and the
# mask sees to it that each place looks only at those before it. So all places are
# computed at once, each as if it had just been reached (lesson 11).
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): the whole
# machine is figure 1, its parts are section 3, the sizes are table 3.
#
# **Next.** Where do the weights of a weighted sum come from? Lesson 01 looks at two old
# answers that need no network: take the largest, and count words.
