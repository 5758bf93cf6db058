# %% [markdown]
# # 14b · One class for everything, and a claims audit
#
# *75 minutes: reading 21, predicting 25, writing 29 · needs lesson 14 · one exercise*
#
# **At the end you can**
#
# - feed one and the same encoder with sets, series, graphs, pictures and words;
# - measure what a prior is worth as data grow, and what a trained model hands over to another task;
# - say what could have been foreseen on paper, and what had to be tried;
# - tell true sentences about Transformers from false ones, by running sixteen of them.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import check, claim, intervene, mine, predict
from course_lib.display import plots
from course_lib.display.drawings import vision as draw

torch.set_num_threads(1)

# %% [markdown] name="anything"
# ## Anything tokenised in, tokenised out
#
# An encoder needs vectors, as many as you like. So *one* class is enough for everything that can be
# cut into pieces.

# %% tags=["predict"]
predict(
    "From words to pictures to graphs: which part of the class has to be another one?",
    {
        "the way in: how a piece becomes a vector": (
            True,
            "A table for words, a matrix for patches or points. After that all is "
            "the same code, and edges, where there are any, are a mask.",
        ),
        "the attention: pictures have two dimensions": "Lesson 13 had no such "
        "attention. Where was the grid?",
        "the feed-forward network: pixels are no words": "What does it see: pixels, "
        "or vectors?",
        "all of it: only the idea is the same": "Try to name one line of your "
        "encoder layer that knows what a token is.",
    },
    concept="C136",
)

# %% [markdown]
# ### Yours: one class
#
# Write its `forward`. It has `into`, `layers` and `out`, and may get a mask for all layers.

# %%
from course_lib.experiments import transfer

EncoderLayer = mine("EncoderLayer")


# %% tags=["yours", "nbval-ignore-output"]
class Reader(transfer.Reader):
    """Tokens of any kind in, one answer per token out."""

    Layer = EncoderLayer

    def forward(self, tokens, mask=None):
        x = self.into(tokens)  # yours: from tokens to answers (B, T, answers)
        for layer in self.layers:  # yours
            x = layer(x, mask)  # yours
        x = self.out(x)  # yours
        return x


intervene(
    "it reads as the course's does",
    Reader,
    run=transfer.beside,
    holds=lambda off: off < 1e-5,
    shows="the largest difference is {result:.6f}",
    otherwise="Does every layer get the mask?",
)

# %%
from course_lib.experiments.own import right_or
from course_lib.vision import patchify

One = right_or(transfer.Reader, Reader, transfer.beside)
ways_in = {
    "words": (nn.Embedding(1000, 32), torch.randint(1000, (2, 7))),
    "a picture, in patches": (nn.Linear(4, 32), patchify(torch.randn(2, 1, 8, 8), 2)),
    "points in space": (nn.Linear(3, 32), torch.randn(2, 20, 3)),
    "a series, in windows": (nn.Linear(5, 32), torch.randn(2, 60).unfold(1, 5, 5)),
}

# %%
shapes = {}
for name, (into, tokens) in ways_in.items():
    shapes[name] = tuple(tokens.shape), tuple(One(into, 5)(tokens).shape)
    print(f"{name:22} {shapes[name][0]!s:12} -> {shapes[name][1]}")

# %% [markdown]
# ### Yours: a kind of your own
#
# Chess positions, notes, amino acids, days of weather: write a way in and two examples of anything,
# cut into tokens.

# %% tags=["yours"]
own = (nn.Linear(6, 32), torch.randn(2, 9, 6))  # yours: a module, and tokens for it

intervene(
    "one answer per token, five numbers each",
    own,
    run=lambda own: (tuple(own[1].shape), tuple(One(own[0], 5)(own[1]).shape)),
    holds=lambda shapes: shapes[1] == (*shapes[0][:2], 5) and shapes[0][0] == 2,
    among=lambda own: len(own) == 2,
    shows="{result[0]} -> {result[1]}",
    otherwise="The way in makes 32 numbers of each token; two examples come at once.",
)

# %% [markdown]
# Does it also *learn* from them? Three tasks with nothing in common, one recipe: the same class, the
# same sizes, the same learning rate, 150 steps.
#
# - **A set:** seven numbers in no order. Point at the middle one, the median.
# - **A series:** sixteen values of a wave of any frequency and phase. Predict the next one.
# - **A graph:** ten people, of whom some know a secret. For each of them: does anybody they hear know
#   it? The edges are the mask.

# %%
from course_lib.experiments import kinds

found = {task: kinds.learned(task, One) for task in kinds.TASKS}

# %% tags=["nbval-ignore-output"]
print({task: f"{share:.0%}" for task, share in found.items()})

# %% [markdown]
# One training of each shows that it can be done, not how often it works. Somebody has to cut the data
# into tokens, and to say in which sense order matters: the wave got positions, the set did not.
#
# What came *after* 2017 went this way: pictures in patches ([Dosovitskiy et al.
# 2021](https://arxiv.org/abs/2010.11929)), pictures, sound and point clouds by one design ([Jaegle et
# al. 2021](https://arxiv.org/abs/2103.03206)), games and a robot arm by one set of weights ([Reed et
# al. 2022](https://arxiv.org/abs/2205.06175)).

# %% tags=["claim"]
# The proof
claim("one class reads them all",
      all(after == (*before[:2], 5) for before, after in shapes.values()))
claim("and learns from a set, a series and a graph", min(found.values()) > 0.85)

# %% [markdown] name="scales"
# ## What a prior is worth
#
# Back to the set of seven numbers. How many sets does it take to learn which number is the middle
# one? Three networks get 32, 128 and 512 sets:
#
# - the **encoder**, which knows no seats;
# - the same **encoder with seats**: each number comes with its seat, so the prior is gone;
# - a **fully connected** network with two hidden layers of 64, which reads the seven numbers as one
#   vector: the general case. It gets four times as many steps.

# %% tags=["predict"]
predict(
    "After 32 sets, the share of new sets that each gets right (guessing: 14 %)?",
    {
        "about 90, 45 and 15": (
            True,
            "The prior “a set has no order” is true here. Who has it need not learn "
            "it; who can tell the seats apart has to see each number in each seat.",
        ),
        "about 90, 90 and 15": "Seats say nothing about the answer. But does the "
        "network know that?",
        "about 45, 45 and 45": "Then it would not matter what a network is told.",
        "about 15, 15 and 90": "The general case can be anything. Does it know from "
        "32 sets which?",
    },
    concept="C135",
)

# %%
from course_lib.experiments.stored import stored

medians = {}
for row in stored("14b-medians"):
    sizes = medians.setdefault((row["model"], row["times"]), {})
    sizes.setdefault(row["sets_seen"], []).append(row["right"])
# %%
shown = ("encoder", "encoder with seats", "fully connected")
curves = {name: medians[name, 1] for name in shown}
plots.show(draw.over_examples(curves, "sets in training", 1 / 7), "medians")

# %% [markdown]
# All three improve as data grow, and five times as many steps change no mean by more than five
# points. The prior that attention keeps is worth a lot *where it is true*.
#
# ### Yours: teach it
#
# The encoder with seats has lost its prior. Give it back without touching the network: seats change
# from batch to batch, so that they cannot matter. Write the seats (7, 7), one row per number.

# %%
from course_lib.experiments import medians as set_up


# %%
def taught(deal):
    """The share of new sets found by an encoder with seats that are dealt like this."""
    if deal() is ...:
        return ...
    tokens = lambda x: torch.cat([x[..., None], deal().expand(len(x), 7, 7)], 2)
    return set_up.learned_from("encoder with seats", 32, 1, 0, tokens=tokens)["right"]


# %% tags=["yours", "nbval-ignore-output"]
def deal():
    """The seats of a batch: (7, 7), a row per number."""
    seats = torch.eye(7)[torch.randperm(7)]  # yours: (7, 7)
    return seats


intervene(
    "after 32 sets, more than 75 of 100 new sets are right",
    deal,
    run=taught,
    holds=lambda share: share > 0.75,
    shows="{result:.0%} are right",
    otherwise="torch.eye(7) are the seats in order. What is different in each batch?",
)

# %% [markdown]
# To change examples in a way that must not change the answer is **data augmentation**. It teaches a
# symmetry that is not built in. Another way is to hand over the right features: a fully connected
# network that reads the 49 comparisons $x_i > x_j$ finds 93 of 100 after 512 sets, and needs no
# shared weights for it.

# %% tags=["claim"]
# The proof
mean = {(name, times, seen): sum(each) / len(each)
        for (name, times), sizes in medians.items() for seen, each in sizes.items()}
claim("all three improve with data",
      all(mean[name, 1, 512] > mean[name, 1, 32] + 0.02 for name in shown))
claim("the encoder without seats is far ahead of the other two after 32 sets",
      mean["encoder", 1, 32] > max(mean[name, 1, 32] for name in shown[1:]) + 0.3)
claim("32 sets without seats beat 512 in one vector, after five times the steps, too",
      all(mean["encoder", n, 32] > mean["fully connected", n, 512] for n in (1, 5)))
claim("seats that are dealt anew do little harm",
      mean["seats dealt anew", 1, 32] > mean["encoder", 1, 32] - 0.08)
claim("comparisons do without shared weights",
      mean["fully connected, comparisons", 1, 512] > 0.9)

# %% [markdown] name="transfer"
# ## Can it be used again?
#
# **Transfer:** train on a task with plenty of labels, keep what was learned, go on with another task
# that has few.
#
# - The task with plenty: sentences of five words out of sixteen. For every word: *does it stand here
#   twice?* It is trained until it gets no better: 1,000 steps, no mistake left.
# - The task with few: one label per sentence: *does any word stand here twice?* The answer is the sum
#   of the five outputs.

# %% tags=["nbval-ignore-output"]
train = transfer.train
giver = transfer.new_reader(nn.Embedding, 0, 16, kind=One)
giver = train(giver, transfer.of_words, transfer.words(9600, 0), 1000, 3e-3, 0)
asked, twice = transfer.words(1000, 99)
known = ((giver(asked)[..., 0] > 0) == (twice > 0)).float().mean().item()
print(f"right for {known:.1%} of new words")

# %% [markdown]
# ### Yours: hand it over
#
# A new model gets parts of the giver, and is trained for 300 steps on 256 labelled sentences. Its
# last layer begins anew: the question is another one. Which of its parts, `into` and `layers`, do
# you hand over?

# %%
def after_256_labels(parts):
    """The share of new sentences after 300 steps on 256 labels."""
    model = transfer.new_reader(nn.Embedding, 3, 16, kind=One)
    for part in parts:
        getattr(model, part).load_state_dict(getattr(giver, part).state_dict())
    x, y = transfer.words(256, 500)
    train(model, transfer.of_sentence, (x, y.amax(1)), 300, 2e-3, 0)
    return transfer.share_right(model(asked)[..., 0].sum(1))


# %% tags=["yours", "nbval-ignore-output"]
parts = ["into", "layers"]  # yours: a list of names; [] hands over nothing

intervene(
    "more than 80 of 100 new sentences are right",
    parts,
    run=after_256_labels,
    holds=lambda share: share > 0.8,
    among=lambda parts: set(parts) <= {"into", "layers"},
    shows="with {choice}, {result:.0%} are right",
    otherwise="What would layers do with vectors that they have never met?",
)

# %% [markdown]
# Each start was also trained on 64 to 4,096 labels for 100 to 5,000 steps, three times, giver
# included. *From the median*: the giver was trained to point at the middle of seven numbers, so it
# hands over layers that have learned *something*.

# %% tags=["predict"]
predict(
    "With 1,000 steps each: the start from the words needs how many of the labels "
    "that scratch needs, and what does the median bring?",
    {
        "a quarter or fewer; the median nothing": (
            True,
            "What is handed over has to be of use to the new task. Having learned "
            "anything at all is not enough.",
        ),
        "a quarter or fewer; the median half": "What has finding the middle of "
        "numbers to do with words that repeat?",
        "about as many; both bring speed only": "So it would be if labels were not "
        "what is missing. Are 64 labels enough to find the rule?",
        "a quarter or fewer; the median does harm": "How much can layers harm that "
        "go on learning for 1,000 steps?",
    },
    concept="C135",
)

# %%
rights = {}
for row in stored("14b-transfer"):
    point = row["start"], row["labels"], row["steps"]
    rights.setdefault(point, []).append(row["right"])
# %%
starts = ("from scratch", "from the median", "from the words")
curves = {start: {n: rights[start, n, 1000] for n in (64, 256, 1024, 4096)}
          for start in starts}
guessing = 1 - twice.amax(1).mean().item()
guessing = max(guessing, 1 - guessing)
plots.show(draw.over_examples(curves, "labelled sentences", guessing), "labels")

# %% [markdown]
# The same for the steps, with 1,024 labels:

# %%
curves = {start: {n: rights[start, 1024, n] for n in (100, 300, 1000, 2000, 5000)}
          for start in starts}
plots.show(draw.over_examples(curves, "steps", guessing), "steps")

# %% [markdown]
# Now two rivals. The giver *as it stands*, without one label of the second task (**zero-shot**): take
# the largest of its five outputs. And from scratch with 32 labels, where in every batch the sixteen
# words swap names at random.

# %% tags=["predict"]
predict(
    "How do these two do beside the start from the words with 256 labels?",
    {
        "both better, near 100 %": (
            True,
            "The giver could answer already; fine-tuning with a sum and a new last "
            "layer threw that away. And names do not matter, if one says so.",
        ),
        "both worse: they have hardly any labels": "Which labels does the giver "
        "need to say whether a word stands twice?",
        "the giver better, the renamed one worse": "Sixteen words, swapped in every "
        "batch: how many sentences do 32 become?",
        "the giver worse, the renamed one better": "If the largest of five outputs "
        "is above zero, what does that say?",
    },
    concept="C135",
)

# %%
shown = {"from scratch, 64 labels": ("from scratch", 64, 1000),
         "from the words, 256 labels": ("from the words", 256, 1000),
         "only their layers, 256": ("only their layers", 256, 1000),
         "only their vectors, 256": ("only their vectors", 256, 1000),
         "their layers, vectors like theirs, 256":
             ("their layers, vectors like theirs", 256, 1000),
         "the largest answer, no label": ("the largest answer", 0, 0),
         "the sum of the answers, no label": ("the sum of the answers", 0, 0),
         "from scratch, renamed, 32 labels": ("from scratch, renamed", 32, 1000)}
plots.show(draw.trainings({name: rights[key] for name, key in shown.items()}), "starts")

# %% tags=["claim"]
# The proof
average = {key: sum(each) / len(each) for key, each in rights.items()}
words, scratch, median = starts[2], starts[0], starts[1]
claim("the giver has learned its task to the end", known > 0.99)
claim("a related start is ahead with up to 1,024 labels, in each training",
      all(min(rights[words, n, 1000]) > max(rights[scratch, n, 1000])
          for n in (64, 256, 1024)))
claim("it is still ahead after five times the steps",
      all(average[words, n, 5000] > average[scratch, n, 5000] for n in (64, 256, 1024)))
claim("an unrelated start is not",
      all(abs(average[median, n, 1000] - average[scratch, n, 1000]) < 0.06
          for n in (64, 256, 1024, 4096)))
claim("the giver as it stands needs no label at all",
      min(rights["the largest answer", 0, 0]) > max(rights[words, 256, 1000]))
claim("renamed words replace nearly all labels",
      min(rights["from scratch, renamed", 32, 1000]) > 0.95)

# %% [markdown]
# A start from elsewhere has to be measured against what it costs (9,600 labelled sentences here), and
# against rivals that use the same knowledge in another way.

# %% [markdown] name="foresee"
# ## Why did few foresee it?
#
# One design for pictures, sound and text: the pieces were there. Weights that depend on the data:
# *fast weights* in 1992 ([Schlag et al. 2021](https://arxiv.org/abs/2102.11174) compare them with
# attention). Message passing: the 1980s. Attention: Bahdanau and colleagues in 2014, as a remedy for
# long sentences. What spoke against joining them, with nothing built in?
#
# Here is a small world. A series of 24 numbers; the answer is whether the last two sum to more than
# zero. But in one of five series there is a mark, far from the end, and it turns the answer round.
# One network is **told what is near**: it reads the last five places only. The other one, an encoder
# with learned positions, is **told nothing**. The first three points:

# %%
world = {}
for row in stored("14b-foresight"):
    sizes = world.setdefault((row["network"], row["steps"]), {})
    sizes.setdefault(row["examples"], []).append(row["right"])
names = ("told what is near", "told nothing")

# %%
early = {name: {n: world[name, 400][n] for n in (32, 64, 128)} for name in names}
plots.show(draw.over_examples(early, "examples", 0.5), "foresight-early")

# %% tags=["predict"]
predict(
    "And with 512 examples, four times as many as the last point?",
    {
        "the one told nothing is far ahead, near 100 %": (
            True,
            "Between 128 and 512 it finds the mark. The other one cannot: it was "
            "told that what is far does not matter. Nothing in the early points says "
            "so.",
        ),
        "both about level, near 75 %": "So says a straight line through the three "
        "points. Must it go on like this?",
        "the one told what is near is still ahead": "It was told nearly the truth. "
        "How good can it get, if it never sees the mark?",
        "both near 100 %: they have enough examples": "Where is the mark, and where "
        "does the first one look?",
    },
    concept="C137",
)

# %%
whole = {name: world[name, 400] for name in names}
plots.show(draw.over_examples(whole, "examples", 0.5), "foresight")

# %% [markdown]
# Who had few examples, and most had, was right to build knowledge in, and had no reason to expect the
# rest of the curve. Richard Sutton called it [The Bitter
# Lesson](http://www.incompleteideas.net/IncIdeas/BitterLesson.html) (2019): what wins in the long run
# are general methods that make use of more computation. That is an observation about the past, not a
# theorem.

# %% tags=["predict"]
predict(
    "Which of these could have been shown on paper, before anything was run?",
    {
        "that attention contains every convolution": (
            True,
            "That is algebra: lesson 14 set such weights by hand. Whether they are "
            "found, from how much data, and whether it goes on, had to be tried.",
        ),
        "that 65 million parameters train well": "From which equation would that "
        "follow?",
        "that more data go on helping": "Here it jumps between 128 and 512. What on "
        "paper says where?",
        "that one recipe does for text and pictures": "Equal code is algebra. Equal "
        "learning rates?",
    },
    concept="C137",
)

# %% tags=["claim"]
# The proof
at = {(name, steps, n): sum(each) / len(each)
      for (name, steps), sizes in world.items() for n, each in sizes.items()}
near, nothing = names
claim("with up to 128 examples it pays to be told what is near",
      all(at[near, 400, n] > at[nothing, 400, n] for n in (32, 64, 128)))
claim("with 512 and more it pays to be told nothing, by 20 points",
      all(at[nothing, 400, n] > at[near, 400, n] + 0.2 for n in (512, 1024, 4096)))
claim("five times the steps change neither",
      at[near, 2000, 128] > at[nothing, 2000, 128]
      and at[nothing, 2000, 512] > at[near, 2000, 512] + 0.15)
slope = (at[nothing, 400, 128] - at[nothing, 400, 32]) / 2  # per doubling
claim("a line through the early points misses the one at 512 by more than 15 points",
      at[nothing, 400, 512] - (at[nothing, 400, 128] + 2 * slope) > 0.15)

# %% [markdown] name="audit"
# ## The audit
#
# Sixteen sentences about Transformers, all in circulation. Half of them are true as they stand. For
# each: say which, run, and compare.
#
# ### Softmax and scale

# %% tags=["predict"]
predict(
    "1. “With softmax and cross-entropy, only the largest logit gets a gradient.” "
    "True or false?",
    {
        "false": (True, "The gradient is p − y: one number per logit. What does "
            "vanish is the slope of a sharp softmax *inside* attention, where no "
            "logarithm follows (lesson 04)."),
        "true": "A sure and wrong classifier: which logits have to move, the wrong "
        "one, the right one, or both?",
    },
    concept="C036",
)

# %% tags=["nbval-ignore-output"]
logits = torch.tensor([100.0] + [0.0] * 9, requires_grad=True)
F.cross_entropy(logits, torch.tensor(3)).backward()
[f"{slope:.0e}" for slope in logits.grad.tolist()]

# %% tags=["predict"]
predict(
    "2. “The √d is there for numerical stability.” True or false?",
    {
        "false": (True, "Subtracting the maximum is for stability. √d is for the "
            "variance of a dot product: it keeps the softmax where it has slopes."),
        "true": "Scores of 2,000 and 1,999 in float32, divided by √16: can they be "
        "exponentiated?",
    },
    concept="C037",
)

# %% tags=["nbval-ignore-output"]
scores = torch.tensor([2000.0, 1999.0])
divided = (scores / 16**0.5).exp()
shifted = (scores - scores.max()).exp()
for name, powers in {"divided by 4": divided, "minus the largest": shifted}.items():
    print(f"{name}:", [round(w, 3) for w in (powers / powers.sum()).tolist()])

# %% tags=["predict"]
predict(
    "3. “A masked key gets a weight of exactly 0, and no gradient passes through "
    "it.” True or false?",
    {
        "true": (True, "exp(−∞) is 0, to the last digit, and so is all that is "
            "multiplied by it."),
        "false": "What is the exponential of minus infinity: small, or nothing?",
    },
    concept="C069",
)

# %% tags=["nbval-ignore-output"]
three = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
kept = torch.tensor([True, True, False])
masked = three.masked_fill(~kept, float("-inf")).softmax(0)
masked[0].backward()
masked.detach(), three.grad

# %% tags=["predict"]
predict(
    "4. “Max-pooling is what attention becomes with a very sharp softmax.” True or "
    "false?",
    {
        "false": (True, "True for each channel by itself. Attention gives all "
            "channels of a head one set of weights, so it picks one input, not the "
            "largest number of each channel."),
        "true": "Two inputs, (1, 0) and (0, 1). Max-pooling gives (1, 1). Which "
        "mixture of the two does?",
    },
    concept="C007",
)

# %%
two = torch.eye(2)  # the inputs (1, 0) and (0, 1)
generator = torch.Generator().manual_seed(1)
mixtures = (50 * torch.randn(1000, 2, generator=generator)).softmax(1) @ two
print("largest sum of a mixture:", round(mixtures.sum(1).max().item(), 3),
      " of max-pooling:", two.amax(0).sum().item())

# %% tags=["claim"]
# The proof
claim("each of ten logits gets p − y", torch.allclose(
    logits.grad, logits.detach().softmax(0) - F.one_hot(torch.tensor(3), 10)))
claim("dividing does not keep exponentials finite, subtracting does",
      not divided.isfinite().all() and shifted.isfinite().all())
claim("a masked key has no weight and no gradient", masked[2] == three.grad[2] == 0)
claim("no mixture of two inputs is their maximum", mixtures.sum(1).max() < 1.001)

# %% [markdown]
# ### What attention is made of

# %% tags=["predict"]
predict(
    "5. “Queries and keys have to be equally wide; values may have any width.” True "
    "or false?",
    {
        "true": (True, "Query and key meet in a dot product. Values are only "
            "weighed and added up."),
        "false": "In which product does a value meet a query?",
    },
    concept="C054",
)

# %% [markdown]
# ### Yours: widths
#
# Six numbers per word. Choose three widths, for queries, keys and values, none of them 6 and not all
# alike, with which attention runs.

# %%
def runs(widths):
    """The shape of attention's answer with these widths."""
    words = torch.randn(1, 5, 6)
    q, k, v = (words @ torch.randn(6, width) for width in widths)
    return tuple((torch.softmax(q @ k.mT / widths[0] ** 0.5, -1) @ v).shape)


# %% tags=["yours"]
widths = (3, 3, 2)  # yours: of queries, keys and values

intervene(
    "attention without a square matrix",
    widths,
    run=runs,
    holds=lambda shape: shape[-1] != 6,
    among=lambda w: len(w) == 3 and 6 not in w and len(set(w)) > 1,
    shows="the answer has shape {result}",
    otherwise="Which two of them meet in a dot product?",
)

# %% tags=["predict"]
predict(
    "6. “Multi-head attention concatenates as many outputs as it has heads.” True or "
    "false?",
    {
        "true": (True, "One output per head, side by side, then W_o. (“Three "
            "outputs: query, key and value”, one reads. Those are inputs.)"),
        "false": "What does a head give out, and what does W_o read?",
    },
    concept="C059",
)

# %%
torch.manual_seed(0)
layer = nn.MultiheadAttention(512, 8, batch_first=True, bias=False)
tokens = torch.randn(1, 5, 512)

# %% tags=["nbval-ignore-output"]
q, k, v = (tokens @ W.T for W in layer.in_proj_weight.split(512))  # (1, 5, 512) each
split = [x.unflatten(-1, (8, 64)).transpose(1, 2) for x in (q, k, v)]  # (1, 8, 5, 64)
side_by_side = F.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)
gap = (layer.out_proj(side_by_side) - layer(tokens, tokens, tokens)[0]).abs().max()
print(f"eight outputs of {split[0].shape[-1]}, concatenated; off by {gap:.0e}")

# %% tags=["predict"]
predict(
    "7. “Heads that divide d_model among them have as many parameters as one head.” "
    "True or false?",
    {
        "true": (True, "Here heads cut the matrices, they do not add any. The "
            "tables of weights do grow with the number of heads."),
        "false": "Eight heads of 64, or one of 512: how many rows has W_q?",
    },
    concept="C061",
)

# %%
parameters = {}
for h in (1, 2, 8, 16):
    parameters[h] = sum(p.numel() for p in nn.MultiheadAttention(512, h).parameters())
parameters

# %% tags=["predict"]
predict(
    "8. “Keras' MultiHeadAttention(num_heads=4, key_dim=256) is torch's "
    "MultiheadAttention(256, 4).” True or false?",
    {
        "false": (True, "In Keras, key_dim is the width of *one* head."),
        "true": "How wide are the four heads together, in Keras and in torch?",
    },
    concept="C064",
)

# %%
def of_keras(key_dim, heads=4, width=256):
    """How many parameters Keras' layer has."""
    inner = heads * key_dim  # all heads together
    return 3 * (width * inner + inner) + inner * width + width


# %%
torchs = sum(p.numel() for p in nn.MultiheadAttention(256, 4).parameters())
print(f"key_dim=256: {of_keras(256):,}   torch: {torchs:,}")

# %% [markdown]
# ### Yours: which `key_dim`?

# %% tags=["yours"]
key_dim = 64  # yours: a whole number

intervene(
    "Keras' layer has as many parameters as torch's",
    key_dim,
    run=of_keras,
    holds=lambda count: count == torchs,
    among=range(1, 513),
    shows="{result:,} parameters",
    otherwise="Four heads share a width of 256.",
)

# %% tags=["claim"]
# The proof
claim("attention runs with queries and keys of 3 and values of 2",
      runs((3, 3, 2)) == (1, 5, 2))
claim("eight outputs, concatenated, are torch's layer", gap < 1e-5)
claim("one, two, eight or sixteen heads have as many parameters",
      len(set(parameters.values())) == 1)
claim("with key_dim=256 Keras' layer is nearly four times as large",
      3.5 < of_keras(256) / torchs < 4)

# %% [markdown]
# ### Position

# %% tags=["predict"]
predict(
    "9. “The vectors of sinusoidal positions all have the same length.” True or "
    "false?",
    {
        "true": (True, "Each pair is a point on a circle: sin² + cos² = 1. With d "
            "/ 2 pairs the length is √(d / 2), whatever the position."),
        "false": "They lie between −1 and 1, pair by pair. On which curve?",
    },
    concept="C095",
)

# %%
from course_lib.positions import sinusoidal_positions

table = sinusoidal_positions(100, 16)  # (100, 16)
lengths = table.norm(dim=1)
print(f"from {lengths.min():.4f} to {lengths.max():.4f}")

# %% tags=["predict"]
predict(
    "10. “The nearer two positions, the larger their dot product.” True or false?",
    {
        "false": (True, "The dot product depends on the distance alone. But it is "
            "a sum of cosines: it falls, and rises again."),
        "true": "A sum of cosines of the distance: does it only ever fall?",
    },
    concept="C090",
)

# %% [markdown]
# ### Yours: refute it
#
# Find two distances, below 100, of which the larger one has the larger dot product.

# %%
products = table @ table[0]  # (100,), over the distance

# %% tags=["yours"]
distances = (4, 7)  # yours: a nearer and a farther one

intervene(
    "the farther of two positions is more alike",
    distances,
    run=lambda both: tuple(round(products[d].item(), 2) for d in both),
    holds=lambda found: found[1] > found[0],
    among=lambda both: 0 < both[0] < both[1] < 100,
    shows="the dot products are {result[0]} and {result[1]}",
    otherwise="Print `products`, and look where they rise.",
)

# %% tags=["predict"]
predict(
    "11. “PE(pos + k) is a linear function of PE(pos).” True or false?",
    {
        "true": (True, "One rotation for each pair, the same for all positions. A "
            "least-squares fit in float32 misses it, which says something about the "
            "fit."),
        "false": "Moving on turns each clock hand by a fixed angle. Is a turn "
        "linear?",
    },
    concept="C097",
)

# %% tags=["nbval-ignore-output"]
pairs = torch.complex(table[:, 1::2].double(), table[:, 0::2].double())  # cos + i sin
turn = pairs[7] / pairs[0]  # (8,), the same for all positions
off = (pairs[7:] - pairs[:-7] * turn).abs().max().item()
print(f"moving on by 7 is one multiplication; off by {off:.0e}")

# %% [markdown]
# Next, an experiment: one word at six places, six random attentions. From what comes out for 200
# words, a linear map learns to tell the places; then it is asked about 200 others.

# %% tags=["predict"]
predict(
    "12. “Residual connections carry position through the layers.” True or false?",
    {
        "true": (True, "Attention alone makes the tokens more and more alike (rank "
            "collapse). Skips carry whatever came in, position included."),
        "false": "Six mixtures one after the other: what is left of a place without "
        "skips?",
    },
    concept="C076",
)

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.told import places_told

told = {name: [places_told(*how, seed) for seed in range(3)]
        for name, how in {"attention": (0, 1), "attention and skip": (1, 1),
                          "neither": (0, 0)}.items()}
for name, each in told.items():
    print(f"{name:19}", " ".join(f"{share:.0%}" for share in each))

# %% tags=["claim"]
# The proof
claim("all positions are equally long", lengths.max() - lengths.min() < 1e-4)
claim("a farther position can be more alike", (products.diff() > 0.1).any())
claim("moving on is one rotation per pair", off < 1e-5)
claim("places are lost without skips, and come through with them",
      max(told["attention"]) < 0.3 and min(told["attention and skip"]) > 0.9)
claim("without attention there is nothing to lose", min(told["neither"]) > 0.9)

# %% [markdown]
# ### The whole machine

# %% tags=["predict"]
predict(
    "13. “The norm in *Add & Norm* works like batch norm.” True or false?",
    {
        "false": (True, "Layer norm treats every token by itself, always. In "
            "training, batch norm lets one sentence change the other."),
        "true": "Two sentences in a batch, and the second becomes ten times as "
        "loud. Should the first one notice?",
    },
    concept="C079",
)

# %%
batch = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(1))  # (B, D, T)
louder = batch * torch.tensor([1.0, 10.0])[:, None, None]  # the second sentence only
norms = {"batch norm": nn.BatchNorm1d(4),
         "layer norm": lambda x: F.layer_norm(x.mT, (4,))}
moved = {name: (norm(louder) - norm(batch))[0].abs().max().item()
         for name, norm in norms.items()}
print("the first sentence moves by", {name: round(by, 2) for name, by in moved.items()})

# %% tags=["predict"]
predict(
    "14. “Transformers have no inductive bias.” True or false?",
    {
        "false": (True, "One set of weights for every place and any length, and "
            "equivariance: built in before training. What is missing is a bias about "
            "near and far."),
        "true": "A layer without any bias about connections is the fully connected "
        "one. What does it say if the same news is told twice?",
    },
    concept="C130",
)

# %% [markdown]
# ### Exercise 1: `is_equivariant`
#
# ★★☆ · 8 minutes · about 4 lines
#
# The run that decides this one is yours. Write a test that finds out of *any* layer whether everybody
# takes their result along when the rows change places (lesson 14). Five layers without names come
# from `suspects("is_equivariant")`; the check knows more, and some of them fool a test that is too
# kind.
#
# <details><summary>Hint 1: a question</summary>
#
# A convolution on a ring does not mind if all rows move on by one. Which orders have to be tried?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a few rows that differ, and what the layer makes of them
# 2. for many orders of the rows (`torch.randperm`): the layer of the rows in that order, and its old
#    result in that order
# 3. True if they are close for all of them
#
# </details>

# %%
from course_lib.checks import suspects

five = suspects("is_equivariant")  # A to E
rows = torch.randn(4, 3)
[tuple(layer(rows).shape) for layer in five]

# %% tags=["exercise"]
from course_lib.black_box_tests import is_equivariant

# %%
tests_a_layer = check(is_equivariant).verified

# %%
torch.manual_seed(0)
encoder = One(nn.Linear(3, 32), 5).requires_grad_(False)
general = torch.randn(5, 5)  # the fully connected layer over five places
layers = {"an encoder, not trained": lambda x: encoder(x[None])[0],
          "the fully connected layer": lambda x: general @ x}
knows_no_order = {name: tests_a_layer(layer) for name, layer in layers.items()}
knows_no_order

# %% [markdown]
# Next, a race: both 64 wide, with all their matrices, on one thread of your processor.

# %% tags=["predict"]
predict(
    "15. “Attention is faster than recurrence.” True or false?",
    {
        "false": (True, "In parallel, yes, at every length. But T² products "
            "overtake T steps somewhere: where depends on machine, width and batch."),
        "true": "T steps one after the other, or T · T products: which grows faster?",
    },
    concept="C121",
)

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.told import lead_of_attention

lead = {(texts, T): lead_of_attention(texts, T)
        for texts, T in ((1, 128), (1, 512), (1, 4096), (32, 128))}
for (texts, T), times in lead.items():
    print(f"{texts:2} texts of {T:5,}: attention is {times:5.2f} times as fast")

# %% tags=["predict"]
predict(
    "16. “In language modelling, one text of T + 1 tokens makes T training samples.” "
    "True or false?",
    {
        "true": (True, "That is what the causal mask buys: one pass, T answers. "
            "They are not independent: each begins with the one before."),
        "false": "A causal mask hides the future. What does the third place know in "
        "one pass over the whole text?",
    },
    concept="C120",
)

# %%
torch.manual_seed(0)
writer = One(nn.Embedding(16, 32), 16).double().requires_grad_(False)
ten = torch.randint(16, (1, 10))
text, following = ten[:, :-1], ten[:, 1:]  # (1, T) each
look_back = torch.ones(9, 9).tril().bool()
at_once = F.cross_entropy(writer(text, look_back)[0], following[0])

# %%
one_by_one = []
for t in range(1, 10):
    last = writer(text[:, :t], look_back[:t, :t])[0, -1:]
    one_by_one.append(F.cross_entropy(last, following[0, t - 1 : t]))
print(f"one pass {at_once:.4f}, mean of nine {torch.stack(one_by_one).mean():.4f}")

# %% tags=["claim"]
# The proof
claim("only batch norm hears the neighbour",
      moved["batch norm"] > 0.1 and moved["layer norm"] == 0)
claim("an untrained encoder knows no order, the fully connected layer does",
      list(knows_no_order.values()) == [True, False])
claim("attention is ahead on a short text, and behind on a long one",
      max(lead[1, 128], lead[1, 512]) > 1 > lead[1, 4096])
claim("one pass is the mean of nine",
      abs(at_once - torch.stack(one_by_one).mean()) < 1e-12)

# %% [markdown]
# ## Summary
#
# - One class reads sets, series, graphs, pictures and words. Only the way in differs.
# - A prior is worth a lot where it is true and data are few. Augmentation can teach it.
# - A start from a related task saved labels and steps. The related model as it was, or words renamed
#   in every batch, saved more.
# - With few examples it paid to be told what is near; with 512 it paid to be told nothing. The early
#   points did not say so.
# - Of sixteen sentences in circulation half are true as they stand. A few lines of code settle each.
#
# **Think about it.** Take a sentence about language models that you have read this week. What would
# the few lines be that could show it to be false?
#
# <details><summary>An answer</summary>
#
# Write down what the sentence forbids, then build the smallest model in which it could happen. *"It
# only repeats what it has read"* forbids a right answer to a question that was not read: train on all
# sums but a tenth, and ask for the tenth. If you find nothing that a sentence forbids, it says
# nothing.
#
# </details>
#
# **In the papers.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 7, hopes for
# pictures, sound and video; days later some of its authors published one model for pictures, speech
# and text ([Kaiser et al. 2017](https://arxiv.org/abs/1706.05137)). Loss over size and data: [Kaplan
# et al. 2020](https://arxiv.org/abs/2001.08361). Rank collapse: [Dong et al.
# 2021](https://arxiv.org/abs/2103.03404).
#
# **Next.** Weights that others have trained, in your own code: lesson 15.
