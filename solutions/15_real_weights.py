# %% [markdown]
# # 15 · Real weights in your own code
#
# *90 minutes: reading 27, predicting 23, writing 40 · needs lesson 10 · two exercises*
#
# **At the end you can**
#
# - read a file of trained weights, and load it into a layer that you wrote;
# - tell a copy that is right from one that only runs, and find where a wrong one departs;
# - judge what a head looks at where the right answer is known, and whether the head is needed;
# - search texts by meaning, and test that against counting words.

# %%
import torch
import torch.nn.functional as F

from course_lib import check, claim, data, intervene, mine, predict
from course_lib.display import instruments, plots
from course_lib.display.drawings import reactions as draw
from course_lib.pretrained import minilm, reactions

torch.set_num_threads(1)

# %% [markdown] name="a-real-model"
# ## A real model that ships
#
# A trained model is code and numbers. You have written the code. Now come numbers that others have
# trained.
#
# The first model reads **chemical reactions**. Chemists write a molecule as a line of text: C, O and N
# are atoms, neighbours are bound to each other, `=` is a double bond, parentheses hold a branch, two
# equal digits close a ring. (Hydrogen is left out.) A dot stands between molecules, and `>>` says
# *becomes*. Alcohol and vinegar become an ester, and water, which nobody writes down:

# %%
plots.show(draw.molecules(), "molecules")

# %% [markdown]
# The model was trained as BERT was: some tokens of a reaction are hidden, and it guesses them
# (**masked language modelling**, [Schwaller et al. 2021](https://doi.org/10.1126/sciadv.abe4166)).
# Nobody told it what a molecule is. It comes with the course, 1.4 MB, and needs no network.

# %%
from course_lib.experiments import atoms

model = reactions.load()


def guesses(reaction):
    """The three tokens that the model finds most probable for the one written as ?."""
    tokens = reactions.tokens(reaction)
    found = ["[MASK]" if token == "?" else token for token in tokens]
    place = found.index("[MASK]")
    with torch.no_grad():
        sure = model.guess(reactions.numbers(found))[0, place].softmax(-1).topk(3)
    names = reactions.vocabulary()
    return [(names[i], round(p.item(), 2)) for i, p in zip(*sure[::-1], strict=True)]


guesses("CCO.CC(=O)O>>CC?C(C)=O")

# %% [markdown]
# ### Yours: hide a token
#
# Hide one that it can know, by `?`, and say which it is. Any reaction will do, this one with another
# place, or one from a book.

# %% tags=["yours", "nbval-ignore-output"]
hidden = ("CCBr.Oc1ccccc1>>CCOc1cccc?1", "c")  # yours: with one ?, and the token

intervene(
    "the model's first guess is what you have hidden",
    hidden,
    run=lambda hidden: (guesses(hidden[0]), hidden[1]),
    holds=lambda said: said[0][0][0] == said[1],
    among=lambda hidden: len(hidden) == 2 and hidden[0].count("?") == 1,
    shows="it says {result[0]}",
    otherwise="How could it know? Hide something that the rest determines.",
)

# %% [markdown] name="file-of-weights"
# ## What is in a file of weights?
#
# Names, shapes and numbers. Nothing else: no code, and no word about how to use them.
#
# This file is in a common format, **safetensors**. The first eight bytes are one whole number, the
# length of the header, which comes next. The header is plain text. For each name it has a type (F16
# is a number of 16 bits), a shape, and where its numbers begin and end.

# %%
import json

file = reactions.FILE.read_bytes()
length = int.from_bytes(file[:8], "little")
header = json.loads(file[8 : 8 + length])
header.pop("__metadata__").keys()

# %%
layer_0 = {name.removeprefix(reactions.LAYER + "."): entry["shape"]
           for name, entry in header.items() if name.startswith(reactions.LAYER)}
layer_0

# %% [markdown]
# ### Yours: read it without a library
#
# The numbers of a tensor stand at `offset` in what follows the header. `torch.frombuffer` makes
# numbers of bytes. Which bytes of the file are they?

# %%
entry = header[reactions.LAYER + ".attention.query.weight"]
offset = entry["data_offsets"]
offset, entry["shape"]


# %%
def as_numbers(span):
    """The bytes of the file from begin to end, as a matrix."""
    found = torch.frombuffer(bytearray(file[slice(*span)]), dtype=torch.float16)
    return found.view(256, 256).float()


# %% tags=["yours"]
span = [8 + length + place for place in offset]  # yours: [begin, end] in the file

intervene(
    "these bytes are the model's W_q",
    span,
    run=lambda span: torch.equal(as_numbers(span), model.layer.self_attn.W_q.weight),
    holds=lambda same: same,
    among=lambda span: span[1] - span[0] == 2 * 256 * 256,
    shows="equal: {result}",
    otherwise="What stands in the file before the numbers? Eight bytes, and …",
)

# %% [markdown]
# Older files of weights are Python pickles. A pickle is a small program, and opening it carelessly
# runs it. A safetensors file holds nothing that can run.

# %% tags=["predict"]
predict(
    "Which of these can nobody find out from the file?",
    {
        "how many heads there are": (
            True,
            "The matrix is 256 × 256 with 8 heads of 32, and also with 4 heads of "
            "64. The number of heads stands in no shape.",
        ),
        "how wide the hidden layer is": "Look at the shape of ffn.",
        "whether linear layers have biases": "Look for names that end in bias.",
        "how many numbers there are": "Every shape is there: multiply, and add up.",
    },
    concept="C138",
)

# %%
whole = sum(weight.numel() for weight in model.parameters())
in_layer = sum(weight.numel() for weight in model.layer.parameters())
on_paper = 4 * (256 * 256 + 256) + 256 * 512 + 512 + 512 * 256 + 256 + 2 * 2 * 256
f"one layer {in_layer:,}, on paper {on_paper:,}, the whole model {whole:,}"

# %% tags=["predict"]
predict(
    "The model is twelve layers deep, and one layer has 527,104 numbers. How can the "
    "whole have 702,799?",
    {
        "one layer is applied twelve times": (
            True,
            "All layers share their weights. That is an ALBERT: twelve times the "
            "work of a layer, and the memory of one.",
        ),
        "the file is compressed, as a picture is": "You have read its numbers byte "
        "by byte.",
        "eleven of the layers have no weights": "What would a layer without weights "
        "compute?",
        "numbers of 16 bits count as a half": "A number is a number, however many "
        "bits it has.",
    },
    concept="C139",
)

# %% tags=["claim"]
# The proof
claim("a file of weights is a length, a header and numbers",
      8 + length + max(entry["data_offsets"][1] for entry in header.values())
      == len(file))
claim("one layer has 527,104 numbers, as on paper", in_layer == on_paper == 527_104)
claim("the file holds one layer, not twelve", len(layer_0) == 16 and whole == 702_799)

# %% [markdown] name="gelu"
# ## What is different
#
# | part | your `EncoderLayer` | this model | MiniLM, below |
# |---|---|---|---|
# | order | attention, add & norm, feed-forward, add & norm | the same | the same |
# | nonlinearity | ReLU | **GELU** | **GELU** |
# | eps in the norm | 0.00001 | **0.000000000001** | **0.000000000001** |
# | positions | sinusoids | **a learned table** | **a learned table** |
# | first or second text | nothing | **a learned vector** | **a learned vector** |
# | after the embedding | nothing | **a norm**, then 128 → 256 | **a norm** |
# | layers | each its own | **one, twelve times** | six |
#
# The last four rows stand outside your layer. The first is as you wrote it. So two lines have to
# change.
#
# ReLU lets a number $z$ through, or not. **GELU** lets *a share* of it through: the probability
# $\Phi(z)$ that a normal random number (mean 0, standard deviation 1) is smaller than $z$.
#
# $$
# \mathrm{GELU}(z) = z \cdot \Phi(z)
# $$
#
# For $z = 1$ that probability is 0.841, so 0.841 comes through.

# %% tags=["predict"]
predict(
    "What is GELU(−1)?",
    {
        "−0.159": (True, "A normal number is smaller than −1 with probability 1 − "
            "0.841 = 0.159. That share of −1 comes through."),
        "0, as with ReLU": "Is the probability of a number below −1 zero?",
        "−0.841": "That is the share for 1. How many normal numbers lie below −1?",
        "0.159": "That is the share. Of what?",
    },
    concept="C139",
)


# %%
def gelu(z):
    """z times the probability that a normal number is smaller than z."""
    return z * (1 + torch.erf(z / 2**0.5)) / 2


z = torch.linspace(-4, 4, 401)
curves = {"ReLU": z.relu(), "GELU": gelu(z), "SiLU": F.silu(z)}
plots.show(draw.nonlinearities(z, curves), "nonlinearities")

# %% [markdown]
# GELU never differs from ReLU by more than 0.17. (SiLU is $z \cdot \mathrm{sigmoid}(z)$. It comes back
# in lesson 15b.)

# %% tags=["claim"]
# The proof
values = gelu(torch.tensor([1.0, -1.0]))
claim("GELU(1) is 0.841, GELU(−1) is −0.159",
      torch.allclose(values, torch.tensor([0.841, -0.159]), atol=1e-3))
claim("it is torch's GELU", torch.allclose(gelu(z), F.gelu(z), atol=1e-6))
claim("it stays within 0.17 of ReLU", (gelu(z) - z.relu()).abs().max() < 0.1701)

# %% [markdown] name="load"
# ## Load
#
# `reactions.load(Layer)` builds the model around *your* layer, puts the GELU and the small eps into it,
# and copies the numbers. Is it right then? Nobody can tell by looking at 256 numbers per token. It takes
# a **reference**. Hugging Face's library, in wide use, has an ALBERT of its own. With the same numbers it
# has read three reactions; its vectors for the first and the last token are kept beside the course.

# %% tags=["predict"]
predict(
    "If everything is right, how large is the largest difference, on values of about "
    "one?",
    {
        "less than a hundred-thousandth": (
            True,
            "Both programs add the same numbers in another order. What differs is "
            "the rounding of 32-bit numbers, through twelve layers.",
        ),
        "exactly zero": "Sums in another order round otherwise. Does addition of "
        "floats care about the order?",
        "about a thousandth: the file has 16 bits": "Both programs read the same "
        "rounded numbers.",
        "about a tenth: other programs, other details": "Then which detail? Every "
        "one of them can be found.",
    },
    concept="C177",
)

# %% [markdown]
# Your layer has eight parts, and the file has eight, with other names. To find out which belong
# together, somebody has to read both programs. These are the file's, in alphabetical order:

# %%
theirs_in_order = sorted({name.rsplit(".", 1)[0] for name in layer_0})
theirs_in_order

# %% [markdown]
# ### Yours: who is who
#
# `dense` is what Hugging Face calls any linear layer. What comes last in the layer has *full layer* in
# its name. Write the file's name for each of your eight parts, in your order.

# %%
ours = "self_attn.W_q self_attn.W_k self_attn.W_v self_attn.W_o norm1".split()
ours += "ff.linear1 ff.linear2 norm2".split()
Layer = mine("EncoderLayer")


def loaded(parts):
    """How far your layer, with these names, is from Hugging Face's vectors."""
    return atoms.gap(reactions.load(Layer, dict(zip(ours, parts, strict=True))))


# %% tags=["yours", "nbval-ignore-output"]
theirs = [  # yours: eight names
    "attention.query", "attention.key", "attention.value", "attention.dense",  # yours
    "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm",  # yours
]  # yours

intervene(
    "your layer gives what Hugging Face's gives",
    theirs,
    run=loaded,
    holds=lambda gap: gap < 1e-4,
    among=lambda names: sorted(names) == theirs_in_order,
    shows="the largest difference is {result:.7f}",
    otherwise="All shapes fit. Which two could you have exchanged?",
)

# %% [markdown] name="silent"
# ## Six mistakes that raise no error
#
# Six people have loaded the model, and each has made one mistake. All names and shapes fit, and
# nothing complains. Their copies are A to F. The mistakes, in no order:
#
# - `eps`: the norms have an eps of 0.00001;
# - `heads`: 4 heads of 64, not 8 of 32;
# - `exchanged`: $W_q$ and $W_k$ have changed places;
# - `norms`: the two norms have changed places;
# - `ReLU`: ReLU in the place of GELU;
# - `tanh`: a GELU that is approximated by a tanh.
#
# To find a mistake, do not look at the end. Go through the layer step by step, beside a right copy, and
# look for the **first** place where they differ, and by how much.

# %% tags=["nbval-ignore-output"]
copies = {letter: atoms.copy_of(letter) for letter in "ABCDEF"}
for letter, copy in copies.items():
    steps = {stage: f"{off:.0e}" for stage, off in atoms.departs(copy).items()}
    print(letter, steps)

# %% [markdown]
# These are the largest differences in the first application of the layer, on values of about one.
#
# ### Yours: what ails them?
#
# `copies["A"].layer` is at hand, if you want to look closer.

# %% tags=["yours"]
ails = "tanh heads norms ReLU eps exchanged".split()  # yours: six words, of A to F

intervene(
    "all six are found",
    ails,
    run=atoms.healed,
    holds=lambda healed: len(healed) == 6,
    among=lambda words: sorted(words) == sorted(atoms.MISTAKES),
    shows="right: {result}",
    otherwise="Two differ first in the same place. By how much? Two differ in the "
    "attention: are their queries right?",
)

# %% [markdown]
# Without a reference, what would you notice? Two tests that do without: hide each token of sixteen
# products, and count how many are guessed; and a test of where the heads look, which is the next
# section's.

# %% tags=["predict"]
predict(
    "For how many of the six copies does the share of guessed tokens change?",
    {
        "for four": (
            True,
            "The tanh and the eps change no guess. With the reference both are seen "
            "at once.",
        ),
        "for all six": "How much does an eps of 0.00001 move, if the spread is one?",
        "for one": "With 4 heads in the place of 8, what does a head compare?",
        "for none: the model is robust": "It was trained with other parts. Would it "
        "not mind which of its matrices asks?",
    },
    concept="C177",
)

# %% tags=["nbval-ignore-output"]
table = {"right": (atoms.gap(model), atoms.hidden_tokens(model)[0],
                   atoms.share_by_head(model).max().item())}
for letter, copy in copies.items():
    table[letter] = (atoms.gap(copy), atoms.hidden_tokens(copy)[0],
                     atoms.share_by_head(copy).max().item())

# %% tags=["nbval-ignore-output"]
for letter, (gap, guessed, looked) in table.items():
    print(f"{letter:6} off by {gap:.0e}, guessed {guessed:.0%}, best head {looked:.0%}")

# %% [markdown]
# With ReLU four of five tokens are still guessed, though what the last column asks of a head is as good
# as gone. (What that is comes now.) Two tests of one model need not agree.
#
# **It loads, it runs, and it finds what it should** prove nothing. A copy of a model is finished when it
# agrees with the original to rounding.

# %% tags=["claim"]
# The proof
gaps, guessed, looked = (
    {letter: row[k] for letter, row in table.items()} for k in range(3))
claim("only the right copy agrees to rounding",
      gaps["right"] < 1e-5 and min(gaps[letter] for letter in "ABCDEF") > 2e-5)
claim("two of six change no guess",
      [n for n in "ABCDEF" if guessed[n] == guessed["right"]] == ["A", "E"])
claim("with ReLU most guesses stay, and the right looks go",
      guessed["D"] > 0.75 and looked["D"] < 0.2 < 0.7 < looked["right"])

# %% [markdown] name="right-answer"
# ## Heads with a right answer
#
# Where a head looks is a pretty picture. Is it a right one? Mostly nobody can say. Here one can: **each
# atom of the product was an atom of the reactants**, and chemists know which. In the ester above, the
# oxygen in the middle comes from the alcohol, not from the vinegar.
#
# Before you point: in the first reaction below, a chain of two carbons comes with the sulfur S3, and one
# of three with the bromine Br8. The product is written from its other end. Which atom was C10?

# %% tags=["nbval-ignore-output"]
known = list(atoms.known().values())


def pair(one, application, head):
    """A reaction and where a head looks, for the instrument."""
    weights = atoms.looks(model, one.ids)[application - 1, head - 1]
    names = [token + str(i) * bool(one.atom[i]) for i, token in enumerate(one.tokens)]
    written = one.product()
    read = slice(1, one.arrow)
    return names[read], [names[j] for j in written], weights[written, read]


shown = [known[n] for n in (2, 0, 9, 12, 14)]
instruments.show("alignment", "instrument-atoms",
                 pairs=[pair(one, 11, 6) for one in shown])

# %% [markdown]
# This is head 6, as the layer is applied for the eleventh time: the one that the model's authors chose.
# (What a row lacks to 1 lies on `[CLS]` and on the product itself.)
#
# We have sixteen reactions of the textbooks with 139 product atoms in all. The answers were written
# down before any head was asked, and none was left out.
#
# A head is right about an atom if its **largest** weight, of those on all tokens, lies on the atom of
# the reactants that it was.

# %% tags=["predict"]
predict(
    "Nobody asked the model for that. For how many of the 139 atoms is the best head "
    "right, and how many of the eight heads get half of them?",
    {
        "three in four; one head": (
            True,
            "To guess a hidden atom it helps to find it among the reactants. One "
            "head does nearly all of that.",
        ),
        "three in four; all heads": "What would the model gain from eight heads "
        "that do the same?",
        "about a half; half of the heads": "If the work were shared, how should a "
        "later layer know which head to believe?",
        "about one in ten; no head": "So it would be if looks were chance. What "
        "helps most, if an atom of the product is hidden?",
    },
    concept="C178",
)

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt

shares = atoms.share_by_head(model)  # (12, H)
figure, axis = plt.subplots(figsize=(7, 4.6))
plots.heat_map(axis, 100 * shares, range(1, 13), range(1, 9), "right looks, %")
axis.set(xlabel="head", ylabel="time the layer is applied")
plots.show(figure, "right-looks")

# %% [markdown]
# Only head 6, and only from the sixth time on: the same weights find nothing before the stream says
# enough. Where it is not right, it is mostly not wrong either: of 34 such atoms 17 look at `[CLS]` and 14
# at themselves.
#
# Is that chemistry? A rival needs no model: in text, most of the product is copied from the reactants.
# It takes **the longest piece of text** that both sides have, then the next longest, and so on.

# Both may choose among the reactants' atoms only. (*In order* takes the k-th carbon for the k-th carbon.)

# %%
by_head = atoms.most_looked_at(model, 11, 6)
ways = {"head 6, time 11": by_head, "pieces of text": atoms.by_text,
        "in order": atoms.in_order}
found = {way: {name: atoms.right(choose, [name]) for name in atoms.known()}
         for way, choose in ways.items()}
total = {way: atoms.right(choose) for way, choose in ways.items()}
plots.show(draw.judged(found), "judged")

# %% tags=["nbval-ignore-output"]
for way in ways:
    all_right = sum(share == 1 for share in found[way].values())
    print(f"{way:16} {total[way]:.0%} of the atoms, all in {all_right} of 16 reactions")

# %% [markdown]
# The head is better in seven reactions, the text in two, and seven are alike: so few could be chance. So
# here are 500 more. A rule puts them together, from 13 groups and 7 kinds of reaction, and knows for each
# atom where it was. Which molecule comes first, and from which end each is written, is a toss of a coin.

# %%
from course_lib.experiments.drawn_reactions import drawn

many = drawn(500)
for turned, one in many[:4]:
    print("from its other end" if turned else "in the same order ", *one.tokens[1:-1])

# %% tags=["predict"]
predict(
    "In which half is the head ahead of the pieces of text: where the product is "
    "written in the order of the reactants, or from its other end?",
    {
        "in both; from the other end by far": (
            True,
            "The text suffers where the order changes, the head hardly. And where it "
            "does not change, the head is still a little better.",
        ),
        "from the other end only; else they are alike": "Is a piece of text always "
        "where it seems to come from? Two chains of carbons are alike.",
        "in both alike": "What does a piece of text find in a molecule that is written "
        "back to front?",
        "in neither: it has learned to copy text": "Then it should suffer as the text "
        "does.",
    },
    concept="C178",
)

# %%
ends = {"in the same order": False, "from its other end": True}
each = {(end, way): [atoms.share_of(one, choose)
                     for turned, one in many if turned == is_it]
        for end, is_it in ends.items() for way, choose in ways.items()}
mean = {key: sum(all_shares) / len(all_shares) for key, all_shares in each.items()}
{key: f"{share:.0%}" for key, share in mean.items()}

# %%
better = {}
for end in ends:
    head, text = each[end, "head 6, time 11"], each[end, "pieces of text"]
    better[end] = (sum(a > b for a, b in zip(head, text, strict=True)),
                   sum(a < b for a, b in zip(head, text, strict=True)))
{end: f"head better {head}, text better {text}" for end, (head, text) in better.items()}

# %% [markdown]
# That is no chance: the head finds more than nine in ten, whichever way the product is written. The
# model's authors add rules to it, for example that no atom is used twice, and have a program that
# chemists use.

# %% tags=["claim"]
# The proof
best = shares.max(0).values  # (H,)
claim("head 6 looks rightly for three in four atoms, among all tokens",
      0.7 < shares[:, 5].max() < 0.8)
claim("no other head gets a fifth of them", best.sort().values[-2] < 0.2)
claim("before time 5 head 6 does not get a third of them", shares[:4, 5].max() < 1 / 3)
claim("of the sixteen the head finds at least eight in a hundred more than the text",
      total["head 6, time 11"] > total["pieces of text"] + 0.08)
claim("of 500 it finds nine in ten, whichever way they are written",
      min(mean[end, "head 6, time 11"] for end in ends) > 0.9)
claim("the text loses a fifth or more where a product is turned round",
      mean["in the same order", "pieces of text"]
      > mean["from its other end", "pieces of text"] + 0.2)
claim("in the same order, too, the head is better by more than chance",
      better["in the same order"][0] - better["in the same order"][1]
      > 1.96 * sum(better["in the same order"]) ** 0.5)

# %% [markdown] name="missed"
# ## Is the head needed?
#
# A weight is no proof (lesson 03). So cut the head: zeros where $W_o$ reads it. Then let the model guess
# each token of the sixteen products, hidden one at a time. Whole, it is right for 95 of 100, with a loss
# of 0.20.
#
# Each of the eight heads is cut in all twelve applications; and in one of them, each in turn. The rival
# is **noise**: random numbers of the same length in the place of what the head says. (104 cuts, stored
# in `course_lib/experiments/results/15-cuts.tsv`.)

# %% tags=["predict"]
predict(
    "At time 11 head 6 looks as rightly as it ever does. What does it cost to cut it "
    "there, and there only?",
    {
        "hardly anything; in all twelve it costs most": (
            True,
            "From time 8 on it looks rightly at every time. What one time does not "
            "fetch, another one does. Cut everywhere, nobody is left.",
        ),
        "more than any other cut": "It looked rightly at times 8, 9 and 10 as well. "
        "What is left for time 11 to do?",
        "hardly anything, and in all twelve neither": "Where else should the model "
        "learn which atom is hidden?",
        "as much as all twelve: the map is made there": "Look at the table: from "
        "when on does head 6 look rightly?",
    },
    concept="C178",
)

# %%
from course_lib.experiments.stored import stored

cut = {(row["application"], row["head"]): row for row in stored("15-cuts")}
rows = {}
for head in range(1, 9):
    once = [cut[time, head]["loss without"] for time in range(1, 13)]
    whole_head = cut[0, head]
    rows[head] = whole_head["loss without"], whole_head["loss with noise"], max(once)
plots.show(draw.cuts(rows, atoms.hidden_tokens(model)[1]), "heads-cut")

# %% [markdown]
# ### Yours: cut it where it counts
#
# Cut in all twelve, head 6 leaves 79 of 100 guesses. Choose **five** times that do nearly as much: less
# than 83 are right.

# %% tags=["yours", "nbval-ignore-output"]
times = [8, 9, 10, 11, 12]  # yours: five times from 1 to 12

intervene(
    "with five cuts less than 83 of 100 guesses are right",
    times,
    run=lambda times: atoms.without(model, 6, times)[0],
    holds=lambda share: share < 0.83,
    among=lambda times: set(times) <= set(range(1, 13)) and len(times) < 6,
    shows="{result:.1%} are right",
    otherwise="At which times does it look rightly? And who could make up for a cut?",
)

# %% tags=["nbval-ignore-output"]
several = {"first five": range(1, 6), "last five": range(8, 13), "all": range(1, 13)}
left = {name: atoms.without(model, 6, at)[0] for name, at in several.items()}
print({name: f"{share:.0%}" for name, share in left.items()})

# %% [markdown]
# The last five looks are right, and together they are what is needed. Each alone is not: at time 11 it
# looks rightly, and is not missed. **To look at the right place is not to be needed.**
#
# Two more things. Head 1 never looks rightly, and cut everywhere it is missed as well: to know which
# atom it was is not all that a guess needs. And noise costs more than silence for most heads: what a
# head says has a meaning to those who read it, and noise says something wrong.

# %% tags=["claim"]
# The proof
everywhere = {head: row[0] for head, row in rows.items()}
claim("cut in all twelve, head 6 is missed most",
      max(everywhere, key=everywhere.get) == 6)
claim("cut at time 11 only, it costs next to nothing",
      abs(cut[11, 6]["guessed without"] - guessed["right"]) < 0.03)
claim("the last five cost nearly as much as all twelve, the first five do not",
      left["last five"] < left["all"] + 0.03 < left["first five"] - 0.03)
claim("noise costs more than zeros for at least six of eight heads",
      sum(row[1] > row[0] for row in rows.values()) >= 6)

# %% [markdown] name="word-pieces"
# ## A model for sentences
#
# The second model is **MiniLM**: six encoder layers, 384 wide, 12 heads, trained to make one vector of
# a text. It has 84 MB, so it does not ship. This cell asks once whether to fetch it. Without it you see
# what was measured, and write everything all the same.

# %% tags=["nbval-ignore-output"]
MINILM = data.offer("minilm")

# %%
from course_lib.experiments import search as set_up

if MINILM:
    reader, tokenizer = minilm.load(mine("EncoderLayer")), minilm.load_tokenizer()

# %% [markdown]
# It knows 30,522 pieces of words. Frequent words are one piece. Others are cut, and every piece but the
# first of a word begins with `##`. The rule, **WordPiece**, is greedy: take the longest piece that
# fits, then do the same with the rest of the word.

# %% tags=["predict"]
predict(
    "It knows trans, transform, ##form, ##er and ##former. How is *transformer* cut?",
    {
        "transform ##er": (
            True,
            "transform is the longest beginning that it knows. What is left is er.",
        ),
        "trans ##former": "Is there a longer beginning?",
        "trans ##form ##er": "It is greedy from the left: which is the longest "
        "piece?",
        "transformer": "That is not among the pieces.",
    },
    concept="C140",
)

# %% [markdown]
# ### Yours: the longest piece
#
# `startswith` says whether a word begins with a piece.

# %%
KNOWN = {"trans", "transform", "##form", "##er", "##former", "soft", "##max", "##m"}


def cut_up(word, longest):
    """A word in pieces; longest(word, vocabulary) says which piece comes first."""
    pieces, rest = [], word
    while rest:
        piece = longest("##" * bool(pieces) + rest, KNOWN)
        if piece is ...:
            return ...
        pieces.append(piece)
        rest = rest[max(1, len(piece) - 2 * (len(pieces) > 1)) :]
    return pieces


def both(longest):
    """Two words in pieces; ... as long as nothing is written."""
    cut = [cut_up(word, longest) for word in ("transformer", "softmax")]
    return ... if ... in cut else cut


# %% tags=["yours"]
def longest(word, vocabulary):
    """The longest piece of a vocabulary with which a word begins."""
    piece = max(filter(word.startswith, vocabulary), key=len)  # yours: one piece
    return piece


intervene(
    "transform ##er, and soft ##max",
    longest,
    run=both,
    holds=lambda cut: cut == [["transform", "##er"], ["soft", "##max"]],
    otherwise="max(several, key=len) is the longest of several.",
)

# %% [markdown]
# (A word of which no piece is known becomes `[UNK]`.) Around a text stand two marks, `[CLS]` and
# `[SEP]`, as around a reaction.

# %% [markdown] name="mean-pooling"
# ## From tokens to one vector
#
# A search needs *one* vector per text. MiniLM's makers take the mean of all token vectors and bring it
# to length 1.
#
# By hand: a text has the tokens (3, 8) and (3, 0). Their mean is (3, 4), its length is 5, so the text is
# (0.6, 0.8). Now the same text stands in a batch, with one place of padding, where the layer happens to
# write (0, −9).

# %% tags=["predict"]
predict(
    "Two things may go wrong: padding is taken into the mean, or the sum of the two "
    "tokens is divided by 3, not by 2. Which of them changes the vector of length 1?",
    {
        "only the padding in the mean": (
            True,
            "A wrong divisor makes the vector shorter, and bringing it to length 1 "
            "undoes that. Padding turns it.",
        ),
        "only the wrong divisor": "What is done to the length in the end?",
        "both": "Which of them changes the direction?",
        "neither: padding is masked": "In the attention, yes. Who masks the mean?",
    },
    concept="C141",
)

# %%
tokens = torch.tensor([[3.0, 8.0], [3.0, 0.0], [0.0, -9.0]])  # (T, D), last padding
means = {"right": tokens[:2].mean(0), "with padding": tokens.mean(0),
         "divided by 3": tokens[:2].sum(0) / 3}
directions = {name: F.normalize(mean, dim=0) for name, mean in means.items()}
{name: [round(x, 2) for x in vector.tolist()] for name, vector in directions.items()}

# %% [markdown]
# ### Exercise 1: `mean_pool`
#
# ★☆☆ · 8 minutes · about 2 lines
#
# <details><summary>Hint 1: a question</summary>
#
# Which shape must a mask (B, T) get before it can be multiplied with vectors (B, T, D)?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. zero for padding; add up over the tokens
# 2. divide by how many are real
# 3. divide each text's vector by its own length
#
# </details>

# %% tags=["exercise"]
from course_lib.pretrained.minilm import mean_pool

# %%
pool = check(mean_pool).verified

# %% [markdown]
# How bad is the trap in a real model? *A cat sits on the mat.* has nine tokens. It is read alone, and
# filled up with padding to 12, 20, … 128 places. The attention's mask is always right; only the pooling
# differs.

# %% tags=["predict"]
predict(
    "At 128 places, how near is the carelessly pooled vector to the right one? (*The "
    "kitten is lying on a rug* has a cosine of 0.56.)",
    {
        "about as near as the kitten": (
            True,
            "119 of 128 vectors in the mean are those of padding. The sentence is "
            "as near to itself as another one about a cat.",
        ),
        "0.99: the mask was right in all layers": "It kept padding out of the "
        "tokens. What does the layer write at the padding itself?",
        "about 0.95": "Nine of 128 vectors are the sentence's.",
        "about 0: padding is noise": "Padding looks at the sentence, too. Is it "
        "independent of it?",
    },
    concept="C141",
)

# %%
padded = stored("15-padding")
for row in padded:
    print(f"{row['places']:4} places: with care {row['careful']:.2f}, without "
          f"{row['careless']:.2f}")

# %% tags=["nbval-ignore-output"]
if MINILM:
    alone = set_up.of_the_cat(reader, 9, pool)
    careless = set_up.careless(pool)
    print([round((alone @ set_up.of_the_cat(reader, row["places"], careless)).item(), 2)
           for row in padded])

# %% tags=["claim"]
# The proof
claim("only padding turns the vector",
      torch.allclose(directions["right"], directions["divided by 3"])
      and directions["right"] @ directions["with padding"] < 0.6)
claim("with care nothing moves", min(row["careful"] for row in padded) > 0.9999)
claim("without care the sentence at 128 places is no nearer than the kitten",
      abs(padded[-1]["careless"] - padded[-1]["kitten"]) < 0.05)

# %% [markdown] name="searching"
# ## Searching
#
# A text is a direction now. To search is to ask which directions are near: the largest **cosine**.
#
# $$
# \cos(a, b) = \frac{a \cdot b}{\|a\| \, \|b\|}
# $$

# %% tags=["predict"]
predict(
    "The query is (1, 2), the texts are (4, 0) and (1, 1.5). Which is the better "
    "answer?",
    {
        "(1, 1.5): it points where the query does": (
            True,
            "Both have the dot product 4. The cosines are 0.45 and 0.99: (4, 0) has "
            "its dot product from being long.",
        ),
        "(4, 0): its numbers are larger": "Is a text better because its vector is "
        "long?",
        "neither: both dot products are 4": "That is so. What do the lengths do to "
        "it?",
        "(4, 0): it is the only one with a zero": "Draw the three arrows.",
    },
    concept="C142",
)

# %%
question, texts = torch.tensor([1.0, 2.0]), torch.tensor([[4.0, 0.0], [1.0, 1.5]])
dots = texts @ question
cosines = dots / texts.norm(dim=1) / question.norm()
dots, cosines

# %% [markdown]
# ### Exercise 2: `cosine_search`
#
# ★☆☆ · 8 minutes · about 2 lines
#
# <details><summary>Hint 1: a question</summary>
#
# By which two lengths is a dot product divided to make a cosine? Which of the two cannot change the
# order?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. bring each row to length 1
# 2. one product gives all N cosines
# 3. `topk` gives values and places: which of them is asked for?
#
# </details>

# %% tags=["exercise"]
from course_lib.pretrained.minilm import cosine_search

# %%
find = check(cosine_search).verified

# %% [markdown] name="other-words"
# ## The same in other words
#
# Twelve sentences, each with a twin that says much the same. A rival counts words and leaves out *the*,
# *a*, *in* and the like (**TF-IDF**, lesson 01).

# %%
from sklearn.feature_extraction.text import TfidfVectorizer

twelve, twins = set_up.SENTENCES, set_up.TWINS
counts = TfidfVectorizer(stop_words="english").fit(twelve + twins)
counted = [torch.tensor(counts.transform(side).toarray()) for side in (twelve, twins)]
shared = (counted[0] * counted[1]).sum(1)  # (12,), the cosine of each pair
print(*set_up.PAIRS[:3], shared.tolist(), sep="\n")

# %% [markdown]
# Twelve times zero: no sentence shares a word that counts with its twin. MiniLM:

# %%
twin_rows = stored("15-twins")
alike = torch.tensor([[row[f"twin {n}"] for n in range(1, 13)] for row in twin_rows])
figure, axis = plt.subplots(figsize=(8.5, 5.4))
plots.heat_map(axis, alike, twelve, [f"twin {n}" for n in range(1, 13)], "cosine")
plots.show(figure, "twins")

# %% tags=["predict"]
predict(
    "All twelve twins are found. A rival without any layer takes the mean of the "
    "word vectors, as they come out of MiniLM's table. How many of the twelve does "
    "it find?",
    {
        "eleven": (True, "*physician* and *doctor* are near in the table already. "
            "So these pairs are no evidence for attention."),
        "about one, as guessing does": "Which two words of a pair could be near "
        "each other in a trained table?",
        "none: the words are all different": "For counting, they are. For vectors?",
        "six: half of it is the words": "Try it with the vectors of *car* and "
        "*automobile* in mind.",
    },
    concept="C143",
)

# %%
bare = [int(row["nearest by bare words"]) for row in twin_rows]
print("MiniLM:", (alike.argmax(1) + 1).tolist(), " bare words:", bare)

# %% tags=["nbval-ignore-output"]
if MINILM:
    vectors = minilm.sentence_vectors(reader, tokenizer, twelve + twins, pool=pool)
    print([find(vector, vectors[12:], 1).item() + 1 for vector in vectors[:12]])

# %% [markdown]
# Nobody programmed that *automobile* is a car. A model that had read much text was trained further, on a
# billion pairs of texts that belong together ([model
# card](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2)). To train a trained model further
# is called **fine-tuning**.
#
# Now a search that could be of use: through the paragraphs of lessons 01 to 10. So that nobody chooses
# questions by their results, the questions are those that stand in the course: the headings of its
# sections and the first lines of exercises. A search is right if its first hit is a paragraph of the
# lesson that the question comes from. There are ten.

# %% tags=["predict"]
predict(
    "Meaning against counted words, on 181 questions by the same authors about the "
    "same things. Who is ahead?",
    {
        "nobody, by more than chance": (
            True,
            "The course has its own words, and counting is good for whoever asks in "
            "these words. But the two are right on different questions.",
        ),
        "meaning, by far": "Who asks in the words in which the answer was written?",
        "counted words, by far": "How often does a heading say it in other words?",
        "nobody: both are always right": "One first hit of some hundred paragraphs?",
    },
    concept="C143",
)

# %%
from course_lib import shipped

paragraphs, asked = shipped.paragraphs()  # pairs (lesson, text), and (question, lesson)
words = TfidfVectorizer(sublinear_tf=True).fit([text for _, text in paragraphs])
fits = words.transform([text for text, _ in asked]) @ words.transform(
    [text for _, text in paragraphs]).T
hits = {"meaning": [int(row["by meaning"]) for row in stored("15-search")],
        "words": fits.toarray().argmax(1).tolist(),
        "careless": [int(row["careless"]) for row in stored("15-search")]}

# %%
lesson_of = [lesson for _, lesson in asked]
right = {way: [paragraphs[hit][0] == lesson_of[n] for n, hit in enumerate(first)]
         for way, first in hits.items()}
for way, each in right.items():
    print(f"{way:9} right on {sum(each)} of {len(each)}")

# %% [markdown]
# Two searches on the *same* questions are compared where only one of them is right. If neither is better,
# these cases fall like tosses of a coin, and in 19 of 20 experiments their difference is smaller than
# $1.96 \sqrt{n}$.

# %%
def only(one, other):
    """How many only one has right, how many only the other, and what chance makes."""
    pairs = list(zip(right[one], right[other], strict=True))
    a, b = pairs.count((True, False)), pairs.count((False, True))
    return a, b, round(1.96 * (a + b) ** 0.5)


{pair: only(*pair) for pair in (("meaning", "words"), ("meaning", "careless"))}

# %% [markdown]
# "Careless" is meaning with padding in the mean. It changes many answers, for the worse and for the
# better: padding is noise. Whether it is worse on the whole, so few questions cannot tell.

# %% tags=["nbval-ignore-output"]
if MINILM:  # ask something yourself
    ask = ["why do we divide by the square root?", "equally long sentences in a batch"]
    library = minilm.sentence_vectors(
        reader, tokenizer, [text for _, text in paragraphs], pool=pool)
    for text in ask:
        (vector,) = minilm.sentence_vectors(reader, tokenizer, [text], pool=pool)
        lesson, hit = paragraphs[find(vector, library, 1).item()]
        print(f"{text}\n   lesson {lesson}: {hit[:70]} …")

# %% tags=["claim"]
# The proof
wins, losses, chance = only("meaning", "words")
claim("a long vector with the same dot product has the smaller cosine",
      dots.tolist() == [4, 4] and cosines[0] < 0.5 < 0.98 < cosines[1])
claim("counting sees nothing in common", shared.max() == 0)
claim("meaning finds all twelve twins, and bare words eleven",
      (alike.argmax(1) == torch.arange(12)).all()
      and sum(n == k for k, n in enumerate(bare, 1)) == 11)
claim("the difference between meaning and words may be chance",
      abs(wins - losses) < chance)
claim("each finds a dozen that the other does not", min(wins, losses) > 11)

# %% [markdown]
# ## Summary
#
# - A file of weights is names, shapes and numbers. Somebody has to know which name is which part, and
#   how many heads there are.
# - It loads, it runs, it finds what it should: all that proves nothing. Agreement with a reference, to
#   rounding, does. A wrong copy is healed at the first place where it departs.
# - One head of a model that was trained to guess tokens knows which atom became which. That could be
#   judged since the right answers are known, and beside a rival.
# - Looking is not being needed. What one application finds, others have found before. Cut a head
#   everywhere, one time at a time, and replace it by noise.
# - Pool over real tokens. Compare directions. Meaning finds what shares no word, and the bare words of a
#   trained table do, too.
#
# **Think about it.** Your model is the first of its kind: there is no reference. How would you notice
# that two norms are exchanged?
#
# <details><summary>An answer</summary>
#
# Write the layer a second time, in another way, for example in plain NumPy loops, or by somebody else
# who has only the paper, and compare both to rounding with random weights. That is what the checks of
# this course do with yours. And compute a case by hand whose answer you know.
#
# </details>
#
# **In the papers.** ALBERT: [Lan et al. 2020](https://arxiv.org/abs/1909.11942), section 3.1. The head
# that maps atoms: [Schwaller et al. 2021](https://doi.org/10.1126/sciadv.abe4166). BERT: [Devlin et al.
# 2019](https://arxiv.org/abs/1810.04805). GELU: [Hendrycks and Gimpel
# 2016](https://arxiv.org/abs/1606.08415), section 2. One vector per sentence: [Reimers and Gurevych
# 2019](https://arxiv.org/abs/1908.10084), section 3. MiniLM: [Wang et al.
# 2020](https://arxiv.org/abs/2002.10957). Heads with jobs: [Clark et al.
# 2019](https://arxiv.org/abs/1906.04341), section 3; heads that are not missed: [Michel et al.
# 2019](https://arxiv.org/abs/1905.10650).
#
# **Next.** What decoders of today changed, and a real language model on your parts: lesson 15b.
