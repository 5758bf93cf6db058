# %% [markdown]
# # 12 · Language models: you write GPT
#
# *90 minutes: reading 26, predicting 14, writing 50 · needs lesson 11 · eight exercises*
#
# **At the end you can**
#
# - make a language model by counting and by training, and say why both agree;
# - measure it in bits and in perplexity;
# - write a GPT: its block, the whole model, and the loop that trains it;
# - train on all beginnings of a text at once, and say which part of it can run in parallel;
# - let it write, say what its context window hides, and read its stack layer by layer.
#
# Lesson 12b is the second sitting: how to draw, the strongest old rival, and real weights.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, intervene, mine, predict
from course_lib.display import plots
from course_lib.display.drawings import language as draw

torch.set_num_threads(1)

# %% [markdown] name="next-token"
# ## What comes next?
#
# *the cat saw the dog and the dog ran*
#
# Now somebody goes on: *the …* What comes next? Nobody can know. But it can be said how
# likely each word is. A **language model** does just that: for each token, how probable is it
# to come next, given the tokens before?
#
# The simplest one counts. "the" comes three times: once a cat follows it, twice a dog.

# %%
from collections import Counter

words = "the cat saw the dog and the dog ran".split()
pairs = list(zip(words, words[1:], strict=False))
after_the = Counter(second for first, second in pairs if first == "the")
{word: f"{count} of {after_the.total()}" for word, count in after_the.items()}

# %% tags=["predict"]
predict(
    "All a model can say is how probable each *next* token is. What does it know of "
    "the probability of a whole text?",
    {
        "all of it: the product over its tokens": (
            True,
            "The first token, times the second given the first, times the third given "
            "both … So a model of the next token is a model of texts.",
        ),
        "all of it: the mean over its tokens": "Two fair coins: is the chance of two "
        "heads the mean of ½ and ½?",
        "only that of its last token": "Each token was a next token once.",
        "nothing: a text is no token": "A text is made by adding one token after the "
        "other.",
    },
    concept="C118",
)

# %%
def chance(first, second):
    """How probable the second word is after the first, by counting."""
    return pairs.count((first, second)) / sum(one == first for one, _ in pairs)


p = 1.0
for first, second in (("the", "dog"), ("dog", "and"), ("and", "the"), ("the", "cat")):
    p *= chance(first, second)
    print(f"{first} → {second:3}   {chance(first, second):.2f}   so far {p:.3f}")

# %% tags=["claim"]
# The proof
claim("after “the”, a dog comes two times in three",
      after_the["dog"] / after_the.total() == 2 / 3)
claim("the probability of four words is the product of four probabilities",
      abs(p - 2 / 3 * 1 / 2 * 1 * 1 / 3) < 1e-9)

# %% [markdown] name="prefix-list"
# ## One sample makes many samples
#
# Training needs right answers. For translation a person gave them. Here the text itself does:
# cover its end, and uncover one word.

# %% tags=["predict"]
predict(
    "A sentence of nine words. How many questions with an answer does it hold?",
    {
        8: (True, "Each word but the first is the answer to all words before it. "
            "Nobody had to label anything: every text is full of answers."),
        9: "What stands before the first word?",
        1: "So it would be if only the last word were asked for.",
        36: "That counts all pieces of two words and more. A question begins at the "
        "beginning.",
    },
    concept="C119",
    within=0,
)

# %%
prefixes = [(words[:t], words[t]) for t in range(1, len(words))]
for known, answer in prefixes:
    print(f"{' '.join(known):31} → {answer}")

# %% [markdown]
# The questions overlap, so two rows hold all of them: the tokens, and the tokens that follow
# them. A computer wants numbers, so each different word gets one, in order of appearance.

# %%
names = list(dict.fromkeys(words))
ids = torch.tensor([[names.index(word) for word in words]])  # (1, T) = (1, 9)
print(dict(enumerate(names)), ids.tolist())

# %% [markdown]
# ### Exercise 1: `shift_labels`
#
# ★☆☆ · 3 minutes · about 1 line
#
# Make the two rows, for a whole batch. (In lesson 11 `shift_right` put `<sos>` in front. Here a
# text begins anywhere, and its first token is never asked for.)
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

# %% tags=["claim"]
# The proof
claim("nine words hold eight questions, and the targets are their answers",
      [names[i] for i in targets[0]] == [answer for _, answer in prefixes]
      and targets.shape == (1, 8))

# %% [markdown] name="bigrams"
# ## Counting pairs
#
# Look at one token only, the last one. Then all a model needs is a table: row $i$ says what
# follows token $i$. Such pairs are called **bigrams**.
#
# ### Exercise 2: `bigram_probs`
#
# ★★☆ · 9 minutes · about 4 lines
#
# Count all pairs of a text and make each row sum to one. `alpha` is added to every count
# first: it stands for pairs that were not seen, but may exist.
#
# <details><summary>Hint 1: a question</summary>
#
# `counts[first, second] += 1` with two tensors of indices looks right, and counts a pair once
# that is there twice. Do you know a way that adds up? (`torch.bincount`, `index_put_(…,
# accumulate=True)`, a loop, one-hot rows and a matrix product will all do.)
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
plots.show(draw.what_follows(table, names), "what-follows")

# %% [markdown] name="surprise"
# ## How good is it? Bits, and perplexity
#
# A good model gives what really comes a high probability $p$. The **surprise** is $-\log_2 p$,
# in **bits**: 0 for a sure thing, 1 for a coin, 3 for one of eight. Its mean over a text is
# the cross-entropy of earlier lessons (there the logarithm was natural; divide by
# $\ln 2 \approx 0.69$, and you have bits).
#
# Papers like to turn the mean back into a number of choices, the **perplexity**:
#
# $$\text{perplexity} = 2^{\,\text{mean bits}} = e^{\,\text{mean loss}}$$
#
# Among so many equally likely tokens a choice would be as hard. A coin has a perplexity of 2.

# %% tags=["predict"]
predict(
    "A text of two tokens. The first was one of 2 equally likely ones, the second one "
    "of 8. The perplexity?",
    {
        4: (True, "1 bit and 3 bits are 2 bits each on average, and two bits choose "
            "among 4. Bits are averaged; choices are multiplied: √(2 · 8)."),
        5: "That is the mean of 2 and 8. What is averaged are the bits.",
        16: "So many texts there are. Perplexity is per token.",
        10: "That is the sum of the choices.",
    },
    concept="C157",
    within=0.01,
)

# %%
bits = torch.log2(torch.tensor([2.0, 8.0]))
mean = bits.mean().item()
print("bits:", bits.tolist(), " mean:", mean, " perplexity:", 2**mean)

# %% [markdown]
# ### Exercise 3: `perplexity`
#
# ★★☆ · 6 minutes · about 4 lines
#
# Of the logits of any model, and the tokens that really came.
#
# <details><summary>Hint 1: a question</summary>
#
# You had the mean loss over real tokens in lesson 11. What is missing? And what if `pad_id`
# is −100, which no row of logits has?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. log-probabilities of all tokens, in one stable step
# 2. which positions count: all, or those whose target is not pad_id
# 3. there, minus the log-probability of the target; the mean; its exponential
#
# </details>

# %% tags=["exercise"]
from course_lib.language_model import perplexity

# %%
choices = check(perplexity).verified


# %%
def of_pairs(table, text):
    """The perplexity of a text, given a table of pairs."""
    tokens = torch.tensor([names.index(word) for word in text.split()])
    return choices(table.log()[tokens[:-1]][None], tokens[None, 1:]).item()


print("what it has read:", round(of_pairs(table, " ".join(words)), 2))
print("a new sentence:  ", of_pairs(table, "the dog saw the cat"))

# %% [markdown]
# "dog saw" was never counted, so it is impossible, and one impossible pair makes the whole
# text impossible. This is what `alpha` is for.
#
# ### Yours: how much to add
#
# With `alpha` 1 the new sentence has a perplexity of 4.4. Find one below 3.8.

# %% tags=["yours"]
alpha = 0.2  # yours: a number above 0

intervene(
    "the new sentence has a perplexity below 3.8",
    alpha,
    run=lambda a: of_pairs(count_pairs(ids[0], len(names), a), "the dog saw the cat"),
    holds=lambda found: found < 3.8,
    among=lambda a: a > 0,
    shows="with alpha {choice} it is {result:.2f}",
    otherwise="Too little, and “dog saw” is nearly impossible; too much, and all rows "
    "become alike.",
)

# %% tags=["claim"]
# The proof
claim("a choice among two and one among eight are two choices among four",
      abs(2**mean - 4) < 1e-5)
claim("one pair that was never seen makes a text impossible",
      of_pairs(table, "the dog saw the cat") == float("inf")
      > of_pairs(table, "the dog ran"))

# %% [markdown] name="learned-table"
# ## The same table, learned
#
# Counting works for pairs. For longer contexts the table would have a row for every context
# there is, so a network has to take its place. As a rehearsal, give gradient descent a table
# for pairs: an `nn.Embedding` with V rows of V logits. It starts with random numbers and is
# trained on the loss alone.

# %% tags=["predict"]
predict(
    "After training, which rows of the table agree with the counted one?",
    {
        "all but that of “ran”": (
            True,
            "Cross-entropy is lowest where the probabilities *are* the counted shares. "
            "The row of “ran” was never asked for, so it got no gradient.",
        ),
        "all of them": "Which word ever followed “ran”? What would its row learn from?",
        "only those with one follower": "Where two words follow, what loss has a model "
        "that is sure of one of them?",
        "none: a loss is no count": "For a coin that falls ⅔ on heads, which answer "
        "costs least on average?",
    },
    concept="C118",
)

# %% [markdown]
# ### Exercise 4: `BigramLM`
#
# ★☆☆ · 5 minutes · about 3 lines
#
# The constructor is finished. Write `forward`: logits always, and the loss where targets are
# given.
#
# <details><summary>Hint 1: a question</summary>
#
# `F.cross_entropy` wants one row of V logits for each target. How can a (B, T, V) tensor become
# a list of rows, and what must become of the targets?
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
from course_lib.training import fit

torch.manual_seed(0)
learner = Bigram(len(names))
losses = fit(learner, lambda model, x, y: model(x, y)[1], [(inputs, targets)] * 400,
             torch.optim.Adam(learner.parameters(), lr=0.1))
learned = learner.table.weight.detach().softmax(dim=-1)  # (V, V)
least = torch.log(torch.tensor(of_pairs(table, " ".join(words)))).item()
plots.show(draw.learning(losses, least, "of the counted table"), "learning-pairs")
for word, row in (("the", learned[0]), ("ran", learned[-1])):
    shares = zip(names, row.tolist(), strict=True)
    print(f"after {word}:", {name: round(share, 2) for name, share in shares})

# %% tags=["claim"]
# The proof
followed = [i for i, name in enumerate(names) if name != "ran"]
claim("where something follows, training finds the counts",
      torch.allclose(learned[followed], table[followed], atol=0.02))
claim("the row of “ran” is none of a count",
      (learned[-1] - table[-1]).abs().max() > 0.05)
claim("no table has a lower loss than the counted one", losses.min() > least - 1e-3)

# %% [markdown] name="decoder-only"
# ## GPT: a decoder without a source
#
# Now let the model see all tokens before, not only the last. You have everything: the decoder
# of lesson 11, without the attention to a source. What is left is called **decoder-only**, and
# a model of this kind that was trained on text is a **GPT**, a generative pre-trained
# Transformer. It writes token by token, each given all before it: it is **autoregressive**.

# %%
plots.show(draw.decoder_only(), "decoder-only")

# %% [markdown]
# | part | table of pairs | GPT |
# |---|---|---|
# | **inputs** | the last token | **all tokens so far**, (B, T) |
# | **similarity** | none: a row is looked up | **version 6 with a causal mask**, in every block |
# | **outputs** | logits (B, T, V) | logits (B, T, V) |
#
# Each norm stands *before* its sublayer (**pre-norm**, lesson 08). With $x$ (B, T, d):
#
# $$x \leftarrow x + \text{Attention}(n, n, n, \text{mask}), \qquad n = \text{norm}_1(x)$$
#
# $$x \leftarrow x + \text{FFN}(\text{norm}_2(x))$$

# %% tags=["predict"]
predict(
    "x comes into a pre-norm block 1,000 times as large. What the two sublayers add …",
    {
        "stays about as large as before": (
            True,
            "They read a norm of x, which forgets how large x is. So in a deep stack "
            "each block's share gets smaller, and a last norm has to follow.",
        ),
        "becomes 1,000 times as large, too": "What do they read: x, or a norm of x?",
        "vanishes": "A norm divides by the size of x, whatever it is. Is anything left "
        "to vanish?",
        "becomes 1,000,000 times as large": "Queries times keys, you may have thought. "
        "But what are they made of?",
    },
    concept="C159",
)

# %% [markdown]
# ### Exercise 5: `Block`
#
# ★★☆ · 6 minutes · about 3 lines
#
# The constructor is finished; its parts are yours. Write `forward`, with dropout on what each
# sublayer says.
#
# <details><summary>Hint 1: a question</summary>
#
# To what is the answer of a sublayer added: to x, or to the norm of x?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a norm of x; queries, keys and values are all made of it
# 2. x plus what the attention says
# 3. of that: x plus what the feed-forward network says about its other norm
#
# </details>

# %%
MultiHeadAttention = mine("MultiHeadAttention")
FeedForward = mine("FeedForward")

# %% tags=["exercise"]
from course_lib.language_model import Block

# %%
Block = check(Block).verified

# %%
torch.manual_seed(0)
block, x = Block(8, 2, 16), torch.randn(1, 4, 8)
with torch.no_grad():
    added, large = block(x, None) - x, block(1000 * x, None) - 1000 * x
print(f"for x it adds {added.norm():.2f}, for 1,000 x it adds {large.norm():.2f}")

# %% [markdown]
# ### Exercise 6: `LanguageModel`
#
# ★★☆ · 9 minutes · about 7 lines
#
# The whole of it: token numbers in, logits out.
#
# <details><summary>Hint 1: questions</summary>
#
# What does a token not know, before positions are added? Who hides the future, and in how many
# blocks?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. look the tokens up in the table; nothing is multiplied
# 2. as many rows of sinusoidal positions as there are tokens, on the right device and of the
#    right dtype; dropout on the sum
# 3. a causal mask on the device of the tokens
# 4. all blocks, one after the other, each with the mask
# 5. the last norm, then the linear map; no softmax
#
# </details>

# %%
causal_mask = mine("causal_mask")
sinusoidal_positions = mine("sinusoidal_positions")

# %% tags=["exercise"]
from course_lib.language_model import LanguageModel

# %%
GPT = check(LanguageModel).verified

# %%
torch.manual_seed(0)
tiny = GPT(len(names), d_model=16, num_heads=4, d_ff=32, num_layers=2).eval()
logits = tiny(inputs).detach()  # (1, 8, 6)
tuple(logits.shape), sum(weight.numel() for weight in tiny.parameters())

# %% tags=["claim"]
# The proof
claim("what a block adds does not grow with x", 0.3 < large.norm() / added.norm() < 3)
claim("the model speaks at every place", logits.shape == (1, 8, 6))

# %% [markdown] name="one-pass"
# ## One pass or eight?
#
# Eight questions, and only one pass through the model: it gave logits at every place. Is that
# fair? The fourth place has to guess "dog", and "dog" is the fifth input.

# %% tags=["predict"]
predict(
    "The mean loss of the one pass, and the mean of eight passes, one for each "
    "beginning:",
    {
        "are equal": (
            True,
            "Behind a causal mask a place computes just what it would compute if "
            "nothing came after it. So one sentence *is* T samples, at one price.",
        ),
        "differ: the one pass has seen the answers": "Which keys may the fourth place "
        "look at?",
        "differ: eight passes see shorter texts": "What does place 4 see of the tokens "
        "after it?",
        "are equal only after training": "Does it take any training to look at fewer "
        "keys?",
    },
    concept="C120",
)

# %%
one_pass = F.cross_entropy(logits[0], targets[0])
separate = torch.stack([
    F.cross_entropy(tiny(inputs[:, : t + 1])[0, -1], targets[0, t]) for t in range(8)])
print(f"one pass: {one_pass.item():.4f},",
      f"mean of eight passes: {separate.mean().item():.4f}")

# %% [markdown]
# And with a mask that lets everything through?

# %%
masks = {"looks back": causal_mask(8), "sees all": torch.ones(8, 8, dtype=torch.bool)}
x = tiny.table(inputs) + sinusoidal_positions(8, 16)  # (1, 8, 16)
unmasked = {}
for name, mask in masks.items():
    h = x
    for block in tiny.blocks:
        h = block(h, mask)
    unmasked[name] = F.cross_entropy(tiny.out(tiny.norm(h))[0], targets[0]).item()
{name: round(loss, 4) for name, loss in unmasked.items()}

# %% [markdown]
# Another number. (A little better or worse, by chance: this model was never trained, and does
# not use what it is shown. Training would soon teach it to copy the next word from the next
# place, as in lesson 11.)

# %% tags=["claim"]
# The proof
claim("one masked pass is T separate passes", abs(one_pass - separate.mean()) < 1e-4)
claim("without the mask it is another number",
      abs(unmasked["sees all"] - separate.mean()) > 1e-4
      > abs(unmasked["looks back"] - one_pass))

# %% [markdown] name="step-by-step"
# ## Step by step, or all at once
#
# Three ways to let place $t$ know what came before:
#
# - a **running sum**: $s_t = s_{t-1} + x_t$
# - a **GRU** (lesson 03): $s_t$ is a nonlinear function of $s_{t-1}$ and $x_t$
# - **attention** behind a causal mask
#
# In training all tokens are known from the start.

# %% tags=["predict"]
predict(
    "Which of the three have to be worked out place after place, also in training?",
    {
        "the GRU alone": (
            True,
            "A running sum is one product with a triangle of ones. A GRU bends each "
            "state before it goes on, so no product skips a step.",
        ),
        "the GRU and the running sum": "The sum at place t is a weighted sum of all "
        "x up to t, with weights 1. What does a matrix product do?",
        "none: torch calls each of them once": "One call. What happens inside?",
        "all three": "Does the fourth row of scores need the third?",
    },
    concept="C121",
)

# %%
torch.manual_seed(0)
gru, state, states = nn.GRU(16, 16, batch_first=True), None, []
with torch.no_grad():
    for t in range(8):
        out, state = gru(x[:, t : t + 1], state)  # waits for the state before it
        states.append(out)
    loop = torch.cat(states, dim=1)  # (1, 8, 16)
    sums = causal_mask(8).float() @ x  # (1, 8, 16), one product
    alike = (torch.allclose(gru(x)[0], loop, atol=1e-5),
             torch.allclose(sums, x.cumsum(1), atol=1e-4))
print("a GRU is its loop, a running sum is one product:", alike)

# %% [markdown]
# *"Attention is faster than recurrence"*, one can read. A training step, forward and backward,
# for one text, on one core, both layers 64 wide:

# %% tags=["predict"]
predict(
    "At 128 tokens attention is faster. At 4,096 tokens, on this processor?",
    {
        "slower, as it has 32² times the scores": (
            True,
            "A recurrence takes 32 times as many steps, attention compares 1,024 "
            "times as many pairs. Where they cross depends on the machine.",
        ),
        "faster, and by more than before": "How many scores do 32 times as many "
        "tokens have?",
        "faster, by as much as before": "Both grow. Do both grow alike?",
        "about as fast: both only wait for memory": "Then they would have been alike "
        "at 128, too.",
    },
    concept="C121",
)

# %%
from course_lib.experiments.paces import beside_each_other, exponent

lengths = [128, 512, 1024, 2048, 4096]
taken = beside_each_other(lengths)
plots.show(draw.paces(lengths, taken), "paces")

# %% tags=["nbval-ignore-output"]
lead = [r / a for r, a in zip(taken["recurrence"], taken["attention"], strict=True)]
grows = {name: exponent(lengths[2:], seconds[2:]) for name, seconds in taken.items()}
print("recurrence takes so many times as long:", [round(x, 1) for x in lead])
print("beyond 1,000 tokens, time grows with length to the power of",
      {name: round(power, 1) for name, power in grows.items()})

# %% [markdown]
# The scores grow with the square, their time can grow faster still, once they no longer fit
# into the processor's cache. And is it the chain of steps that makes a short recurrence slow?
# Give each step more to do: sixteen texts at once.

# %% tags=["nbval-ignore-output"]
one, sixteen = (beside_each_other([128], texts) for texts in (1, 16))
longer = {name: sixteen[name][0] / one[name][0] for name in one}
print("sixteen texts take so many times as long:",
      {name: round(times, 1) for name, times in longer.items()})

# %% [markdown]
# **So it depends on the length, and on how many texts come at once.** Much of a recurrence's
# time goes into getting from step to step, and other texts can share it. (On a GPU, with
# thousands of small processors, chains of steps should cost more, and attention should
# lead for longer. We measured on one core.) What long contexts cost, and what is done about it, is
# lesson 16.

# %% tags=["claim"]
# The proof
claim("a GRU is a loop, a running sum is one product", all(alike))
claim("attention leads at 128 tokens, and has lost its lead at 4,096",
      lead[0] > 1.5 and lead[4] < lead[0] / 3)
claim("recurrence grows with the length, attention at least nearly with its square",
      grows["recurrence"] < 1.45 and grows["attention"] > 1.6)
claim("sixteen texts cost a recurrence less than half of what they cost attention",
      longer["recurrence"] < longer["attention"] / 2)

# %% [markdown] name="byte-pairs"
# ## A real text, in pieces
#
# Python brings its own manual along, as plain text; that of version 3.11 comes with the course.
# Repeated paragraphs are dropped, and whole *topics* are held out for validation and test:
# held-out lines beside trained ones would be too easy.

# %%
from course_lib.data.byte_pairs import LETTERS, learn_pairs, numbers, written_in
from course_lib.experiments import language

texts = language.manual()
print(texts.train[20_000:20_300])

# %% tags=["nbval-ignore-output"]
{name: f"{len(text):,} characters" for name, text in texts._asdict().items()}

# %% [markdown]
# If tokens are characters, most of a model's few places go to spelling. Words are too many,
# and new ones are missing. In between lies **byte-pair encoding**: begin with characters, and
# again and again make the most frequent *pair* a token of its own. By hand, for our sentence:

# %%
def spellings(joins):
    """What each token stands for: the characters, then what was joined."""
    spelled = list(LETTERS)
    for one, other in joins:
        spelled.append(spelled[ord(one)] + spelled[ord(other)])
    return spelled


toy = learn_pairs("the cat saw the dog and the dog ran", len(LETTERS) + 4)
print("joined, one after the other:", spellings(toy)[len(LETTERS):])

# %% tags=["predict"]
predict(
    "96 characters are joined to 512 tokens, on 266,000 characters of the manual. How "
    "many characters has a token of that text, on average?",
    {
        2.5: (
            True,
            "Frequent words become one token, rare ones stay in pieces. GPT-2's "
            "50,000 tokens come to about 4.",
        ),
        1.2: "Then most joins would hardly ever be used. The *most frequent* pairs "
        "are joined.",
        6: "The mean word of English has five letters. Are 416 joins enough for all "
        "words?",
        12: "Longer than most words?",
    },
    concept="C158",
    within=0.5,
)

# %%
V = 512
joins = learn_pairs(texts.train, V)  # of the training text alone
spelled = spellings(joins)


def encode(text):
    """A text as token numbers (T,)."""
    return numbers(written_in(joins, text))


def decode(ids):
    return "".join(spelled[i] for i in ids)


tokens, test = encode(texts.train), encode(texts.test)
print(f"{len(texts.train) / len(tokens):.2f} characters per token")
print([spelled[i] for i in encode("the value of the attribute is a string")])

# %% [markdown]
# ### Yours: a word in one piece
#
# Find a word of eight letters or more that is a single token.

# %% tags=["yours"]
word = "function"  # yours: a word

intervene(
    "a long word is one token",
    word,
    run=lambda w: [spelled[i] for i in encode(w)],
    holds=lambda pieces: len(pieces) == 1,
    among=lambda w: w.isalpha() and len(w) >= 8,
    shows="{choice} is {result}",
    otherwise="Which words will a manual of Python say again and again?",
)

# %% [markdown]
# ### Exercise 7: `get_batch`
#
# ★★☆ · 6 minutes · about 3 lines
#
# The text is one long row of tokens. Cut pieces of `block_size` tokens out of it at random
# places, each with its targets.
#
# <details><summary>Hint 1: a question</summary>
#
# The last target of a piece lies one token beyond the piece. What is the last place where a
# piece can begin?
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
x, y = batch_of(tokens, 8, 3)  # (3, 8) each
print([decode(piece) for piece in x])
print([decode(piece) for piece in y])

# %% tags=["claim"]
# The proof
claim("decoding gives the text back", decode(test) == texts.test)
claim("a token of 512 holds two to three characters",
      2 < len(texts.train) / len(tokens) < 3)
claim("a piece and its targets overlap by all but one token",
      torch.equal(x[:, 1:], y[:, :-1]))

# %% [markdown] name="training"
# ## Train it
#
# Two blocks, 96 wide, of *your* parts; a **context window** of 32 tokens; sixteen pieces per
# step. The optimiser is **AdamW**: Adam (lesson 04), which also shrinks every weight a little
# at each step. The rate rises for a tenth of the steps and then falls to nearly 0.

# %% tags=["predict"]
predict(
    "A fresh model, before any step. Its loss per token is near …",
    {
        "6.2": (True, "It spreads its bets over all 512 tokens: log 512, and a little "
            "more, as its bets are not quite even. A first loss far above this is a "
            "bug, and so is one far below."),
        "0": "So it is for who knows what comes.",
        "1": "Is the loss a probability?",
        "512": "That is nearer to its perplexity.",
    },
    concept="C157",
)

# %%
WINDOW, STEPS = 32, 2000


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def new_model(seed):
    torch.manual_seed(seed)
    return GPT(V, d_model=96, num_heads=4, d_ff=384, num_layers=2, dropout=0.05)


fresh, first = new_model(0), batch_of(tokens, WINDOW, 16)
print(f"{sum(p.numel() for p in fresh.parameters()):,} parameters")
print(f"log {V} is {torch.tensor(float(V)).log():.2f},",
      f"the loss before any step {loss_of(fresh, *first).item():.2f}")

# %% [markdown]
# ### Yours: the loop
#
# The loop of lesson 11, with one line more: where the gradient is longer than 1,
# `clip_grad_norm_` shortens it to 1 (**gradient clipping**), so that no odd batch throws the
# model off. Five lines are missing around it.

# %% tags=["yours"]
def train(model, batches, optimizer, schedule):
    """One step for each batch; yields the loss of each."""
    for x, y in batches:
        loss = loss_of(model, x, y)  # yours: loss, gradients from zero, backward
        optimizer.zero_grad()  # yours
        loss.backward()  # yours
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        # and yours: the step, then the rate
        optimizer.step()  # yours
        schedule.step()  # yours
        yield loss


from course_lib.experiments import training_loop

intervene(
    "the loop makes one step per batch, with the gradient of that batch alone",
    train,
    run=training_loop.rehearse_next_token,
    holds=lambda rehearsal: rehearsal.right,
    shows="{result}",
    otherwise="Lesson 11 has such a loop.",
)

# %%
from course_lib import language_model


def a_step(Model):
    def run(x, y):
        torch.manual_seed(0)
        loss_of(Model(V, 96, 4, 384, 2), x, y).backward()
    return run


batch = batch_of(tokens, WINDOW, 16)
the_courses = language_model.LanguageModel
if not training_loop.quick_enough(a_step(GPT), a_step(the_courses), batch):
    print("Your model is right but slow: the course's is trained instead.")
    GPT = the_courses
learn = train
if not getattr(training_loop.rehearse_next_token(train), "right", False):
    print("Your loop is not right yet: the course's is run.")
    learn = lambda *given: training_loop.train_next_token(*given, loss_of)

# %% [markdown]
# About a minute:

# %%
torch.manual_seed(0)
model = new_model(0)
batches = [batch_of(tokens, WINDOW, 16) for _ in range(STEPS)]
adam = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.99))
rates = torch.optim.lr_scheduler.OneCycleLR(adam, 6e-3, STEPS, pct_start=0.1)
losses = training_loop.losses_of(learn, model, batches, adam, rates, "reading")
model.eval()
blind = torch.log(torch.tensor(float(V))).item()
plots.show(draw.learning(losses, blind, "knowing nothing"), "reading-the-manual")

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.language import bits_by_reading

per_token = bits_by_reading(model, test, V, WINDOW) / len(test)
print(f"test text: {per_token:.2f} bits per token, perplexity {2**per_token:.0f}")

# %% [markdown]
# From 512 choices to some thirty, on topics that it has never seen. Is that good? Lesson 12b asks
# the strongest old rival.

# %% tags=["claim"]
# The proof
claim("it begins with a guess among all tokens", abs(losses[0] - blind) < 0.7)
claim("on new topics it chooses among fewer than 60", 2**per_token < 60)

# %% [markdown] name="context-window"
# ## Let it write
#
# The model gives logits. To write, somebody has to choose a token. The most probable one each
# time? Then it always writes the same. So we **draw**: each token as often as its probability
# says.
#
# ### Exercise 8: `generate`
#
# ★★☆ · 8 minutes · about 4 lines
#
# Draw, append, and ask again. The model may be shown no more than its window.
#
# <details><summary>Hint 1: a question</summary>
#
# The model gives logits at every place. Which of them speaks about the token that is not there
# yet?
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

# %% tags=["nbval-ignore-output"]
begun = encode("The value of the ")[None]  # (1, T)
torch.manual_seed(1)
print(decode(write(model, begun, 120, WINDOW)[0].tolist()))

# %% [markdown]
# It writes, and it has the *sound* of a manual. What it says is mostly nonsense: it was asked
# for what comes next, not for what is true.

# %% tags=["predict"]
predict(
    "Two stories of 60 tokens begin differently, and share their last 32. Both are "
    "continued with the same seed. The two continuations …",
    {
        "are the same, word for word": (
            True,
            "Only the window goes into the model. What lies before it does not exist, "
            "however important it was.",
        ),
        "soon differ, as the beginnings do": "Who tells the model how they began?",
        "differ in a few words": "Same context, same probabilities, same draws.",
        "are the same up to 32 tokens": "By then even the shared part has left the "
        "window. What is in it?",
    },
    concept="C122",
)

# %%
one, other = test[:60].clone()[None], test[:60].clone()[None]
other[0, :28] = test[200:228]  # another beginning
continued = []
for beginning in (one, other):
    torch.manual_seed(0)
    continued.append(write(model, beginning, 40, WINDOW)[0, 60:])
differ = (continued[0] != continued[1]).sum().item()


def next_probs(text):
    """The probabilities of the token after a text, (V,)."""
    with torch.no_grad():
        return model(text[:, -WINDOW:])[0, -1].softmax(-1)


apart = (next_probs(one) - next_probs(other)).abs().max().item()
print(f"they differ in {(one != other).sum().item()} of 60 tokens,",
      f"and in {differ} of 40 new ones; next probabilities differ by {apart}")

# %% [markdown]
# ### Yours: the edge of the window
#
# Change *one* token of the 60. Which is the last place (counted from 0) where it makes no
# difference to the next token?

# %% tags=["yours", "nbval-ignore-output"]
place = 27  # yours: a place, 0 to 59


def change_in_next(place):
    """By how much the probabilities of the next token change."""
    changed = test[:60].clone()[None]
    changed[0, place] = (changed[0, place] + 1) % V
    return (next_probs(one) - next_probs(changed)).abs().max().item()


intervene(
    "this place makes no difference, and the next one does",
    place,
    run=lambda p: (change_in_next(p), change_in_next(p + 1)),
    holds=lambda both: both[0] == 0 < both[1],
    among=range(59),
    shows="changed at {choice}, and one place later: {result[0]:.4f}, {result[1]:.4f}",
    otherwise="Where does the window of 32 begin?",
)

# %% [markdown]
# Why not make the window longer? Each token is compared with all tokens before it: twice the
# window, four times the scores. And a place beyond those that were trained is a place the model
# has never seen (lesson 09).

# %% tags=["claim"]
# The proof
claim("beyond the window there is nothing", differ == apart == 0 < (one != other).sum())
claim("the window begins 32 tokens before its end",
      change_in_next(60 - WINDOW - 1) == 0 < change_in_next(60 - WINDOW))

# %% [markdown] name="logit-lens"
# ## Looking into the stack
#
# One vector travels up through the blocks, at every place. At the bottom it is a token and a
# position. At the top a norm and a linear map read the *next* token off it. What is it in
# between? The **logit lens** looks: the last norm and the last map are put behind *every*
# block, as if the stack ended there. The model was never trained for that.

# %% tags=["predict"]
predict(
    "Bits per token, read before the first block, after it, and after the second:",
    {
        "they fall from block to block": (
            True,
            "Each block adds something that makes the next token easier to read. It "
            "is a way there, not a leap at the end.",
        ),
        "high, high, and low at the end": "So it would be if only the last block knew "
        "what is asked. The stream is one and the same.",
        "low after the first block, then higher": "What would the second block be "
        "trained for?",
        "the same at all three heights": "Before any block the vector is this token "
        "and its place.",
    },
    concept="C123",
)

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.depth import own_reader, read_after, stream

part = test[:4000]
depth = [bits_by_reading(read_after(model, blocks), part, V, WINDOW) / len(part)
         for blocks in range(3)]
print("bits per token after 0, 1 and 2 blocks:", [round(bits, 2) for bits in depth])

# %% [markdown]
# Does a lower vector *say* less about the next token, or is the lens only unable to read it?
# It was trained on vectors after two blocks. As a control, train a norm and a map for each
# lower height, and leave the blocks as they are.

# %% tags=["nbval-ignore-output"]
readers = [own_reader(model, blocks, batches[:300]) for blocks in (0, 1)]
own = [bits_by_reading(reader, part, V, WINDOW) / len(part) for reader in readers]
print("with readers of their own:", [round(bits, 2) for bits in own])

# %% [markdown]
# Much of the difference was only the lens. The order stays: after each block, more of the next
# token can be read. Now token by token: the probability of the token that really comes.

# %% tags=["nbval-ignore-output"]
prose = [all(c.isalpha() or c in " ,." for c in spelled[i]) for i in test]
without_code = [t for t in range(len(test) - 13) if all(prose[t : t + 13])]
begin = max(without_code, key=lambda t: len(decode(test[t : t + 13])))  # long pieces
context, answers = shift(test[None, begin : begin + 13])  # (1, 12) each
right = torch.stack([model.out(model.norm(x)).softmax(-1)[0, range(12), answers[0]]
                     for x in stream(model, context)]).detach()  # (3, 12)
steps = [f"{spelled[i]!r} → {spelled[j]!r}"
         for i, j in zip(context[0], answers[0], strict=True)]
plots.show(draw.depth(right, steps), "depth")

# %% [markdown]
# Not every probability grows. A block only *adds* to what is there, and what it adds can also
# make a right guess less likely.

# %% tags=["claim"]
# The proof
claim("after each block the next token is easier to read",
      depth[0] - depth[1] > 0.4 < depth[1] - depth[2])
claim("with readers of their own the order stays, and the gap is smaller",
      own[0] > own[1] > depth[2] and own[0] - depth[2] < 0.8 * (depth[0] - depth[2]))

# %% [markdown]
# ## Summary
#
# - A language model says how probable each token is to come next. Text is its own answer key.
# - Bits are averaged, choices multiplied: perplexity is 2 to the power of the mean bits.
# - Counted pairs and a trained table agree: cross-entropy is lowest at the counted shares.
# - GPT is a decoder without a source: pre-norm blocks with a causal mask, a last norm, a map.
# - One masked pass is T passes: the same loss. A GRU has to go step by step.
# - Attention leads on short texts. Its time grows with the square, and the lead is lost.
# - What lies before the context window does not exist for the model.
# - Each block makes the next token easier to read. The logit lens sees that, and exaggerates.
#
# **Think about it.** A model that predicts the next word of a detective story perfectly would
# have to know who did it. Which things must a model know to predict better, and which can it
# never learn that way?
#
# <details><summary>An answer</summary>
#
# Whatever makes some next words likelier helps: grammar, facts, the plot, who is speaking. What
# no text depends on, or what texts get wrong alike, leaves no trace in the loss. And the loss
# asks what people *write* next, which need not be true.
#
# </details>
#
# **In the papers.** [Bengio et al. 2003](https://www.jmlr.org/papers/v3/bengio03a.html) learned
# the table as a network. [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), table 1,
# compares the cost of attention and recurrence. Decoder-only: [Liu et al.
# 2018](https://arxiv.org/abs/1801.10198), GPT (Radford et al. 2018), and GPT-2 with norms in
# front (Radford et al. 2019). Byte pairs: [Sennrich et al.
# 2016](https://arxiv.org/abs/1508.07909), section 3.2. The logit lens is an essay by
# nostalgebraist (2020); a reader for each height is the tuned lens of [Belrose et al.
# 2023](https://arxiv.org/abs/2303.08112).
#
# **Next.** How boldly to draw, whether your model beats what was known before, and what makes
# it win: lesson 12b.
