# %% [markdown]
# # 17 · What is inside: circuits
#
# *75 minutes: reading 21, predicting 14, writing 40 · needs lesson 12 · five exercises*
#
# **At the end you can**
#
# - open a trained Transformer: see where each head looks, cut it, and put what it says into another
#   run;
# - say which heads make an answer, and prove it, with a control beside every number;
# - tell what ablation, patching, attribution and composition ask, and where their answers differ;
# - say why a picture of attention is not an explanation yet.

# %%
import torch
import torch.nn.functional as F

from course_lib import check, claim, data, intervene, mine, predict
from course_lib.display import instruments, plots
from course_lib.display.drawings import circuits as draw

torch.set_num_threads(1)

# %% [markdown] name="said-again"
# ## Rows that say the same again
#
# You have trained Transformers, and they work. *How* do they do it? To find that out, take a model
# that is as small as possible, and a task of which you know what is needed.
#
# There are 64 tokens, shown as signs. A row says 6 to 16 different ones in random order, and then
# the same again and again. The model has to name the next token, as in lesson 12.

# %%
from course_lib.experiments.inside import in_signs
from course_lib.experiments.repeats import attention_only, repeating, train

ids, n = repeating(4, seed=0)  # (4, T) and (4, 1)
for row, length in zip(ids, n, strict=True):
    print("".join(in_signs(row)), f" again after {length.item()}")

# %% [markdown]
# In the first round nothing can be known: a loss of $\ln 64 = 4.16$. From the second round on
# everything can. So the loss is measured on *what is said again*.
#
# The model is **your** language model of lesson 12, with attention alone: its feed-forward networks
# say nothing, and it has no layer norms. What is left is a table, sinusoids, heads, and one last
# matrix.

# %% tags=["predict"]
predict(
    "How many layers does it take to know what comes next?",
    {
        "two": (
            True,
            "One layer lets each token note who stood before it. The next one looks "
            "for the note.",
        ),
        "one": "A look back finds the same token. At which place does the answer "
        "stand?",
        "six, as in the Transformer of 2017": "That one translates. What has to be "
        "known here?",
        "no number: attention alone cannot do it": "What is needed but a look at the "
        "right place?",
    },
    concept="C179",
)

# %% tags=["predict"]
predict(
    "800 steps. How does the loss on what is said again fall?",
    {
        "slowly, stays, and then at once": (
            True,
            "Two heads have to fit each other: as long as one of them is not there, "
            "the other gains nothing.",
        ),
        "evenly, a little with every step": "Is half a circuit worth a half?",
        "at once, in the first fifty steps": "What does a head of the second layer "
        "find as long as nobody has noted anything?",
        "in 64 small steps, one per token": "Who looks at which token it is?",
    },
    concept="C179",
)

# %%
from course_lib.experiments.repeats import that_opens

GPT = that_opens(mine("LanguageModel"))
torch.manual_seed(0)
model = attention_only(GPT)  # two layers, 64 wide, 4 heads each
untrained = attention_only(GPT)
loss_of_yours = train(model, seed=0)
model = model.eval().requires_grad_(False)

# %% [markdown]
# Beside yours are five trainings each of models with two layers and with one, and three each without
# positions and with layer norms (stored in `course_lib/experiments/results/17-grown.tsv`).

# %%
from course_lib.experiments.stored import stored

runs, at_end = {}, {}
for row in stored("17-grown"):
    losses = {step: row[f"loss at {step}"] for step in range(0, 801, 40)}
    runs.setdefault(row["model"], []).append(losses)
    at_end.setdefault(row["model"], []).append(row["loss at 4000"])
shown = ("two layers", "one layer", "two layers, no positions",
         "two layers, with norms")
plots.show(draw.falls({name: runs[name] for name in shown}, loss_of_yours), "falls")

# %% [markdown]
# For more than 300 steps two layers are hardly better than one. Then, within about a hundred, the
# loss falls by two. The rest of this lesson opens the model, and finds out what came into being
# there.
#
# First the rivals. Is it the depth? Or width, patience, this kind of positions? "two layers, 32 wide"
# has half the width, "two layers, one head" a single head per layer, "two layers, with norms" its
# layer norms. "two layers, learned positions" and "two layers, rotary positions" know places in
# other ways. Here are all of them, after 400 steps, 800, and five times as many:

# %%
average = lambda numbers: sum(numbers) / len(numbers)
for name, each in runs.items():
    early, late = (average([run[step] for run in each]) for step in (400, 800))
    print(f"{name:30} {early:5.2f} {late:5.2f} {average(at_end[name]):5.2f}")

# %% tags=["predict"]
predict(
    "One layer stays at 2.5, a wide one at 2.2. Why is “one layer, always 11” at 0.01?",
    {
        "the answer always stands at one distance": (
            True,
            "Look at the place ten back: that is a matter of positions alone. Nothing "
            "has to be found, so nobody has to note anything.",
        ),
        "eleven tokens are fewer than sixteen": "Would one layer do better with "
        "rows of 6 to 11?",
        "it was trained for longer": "All of these had 4,000 steps.",
        "it has more heads": "Which number differs between the two?",
    },
    concept="C179",
)

# %% [markdown]
# So one layer can copy from a fixed distance, and lesson 15b showed what that is worth. For
# *finding* it takes two. *When* the loss falls depends on nearly everything: width, heads, norms,
# positions. Without positions it does not fall at once, and is still at 1.4 after 4,000 steps.

# %% tags=["claim"]
# The proof
ONE_LAYER = [at_end["one layer"], at_end["one layer, 128 wide, 8 heads"]]
claim("your two layers have learned it", loss_of_yours[800] < 0.3)
claim("five of five have after 800 steps, none after 320",
      max(run[800] for run in runs["two layers"]) < 0.2
      and min(run[320] for run in runs["two layers"]) > 2.5)
claim("one layer has not, wide or at five times the budget",
      min(map(min, ONE_LAYER)) > 2)
claim("for a fixed distance one layer is enough",
      max(run[800] for run in runs["one layer, always 11"]) < 0.1)

# %% [markdown] name="where-heads-look"
# ## Where does each head look?
#
# Eight heads. A picture of each is soon drawn, and soon believed. A *number* per head can be
# compared. Three kinds of place are worth asking for:
#
# - the place just **before** the query (a **previous-token head** looks there);
# - earlier places with the **same token** (a duplicate-token head);
# - places just **after** one of those. Such a head is called an **induction head** ([Olsson et al.
#   2022](https://arxiv.org/abs/2209.11895)): what followed then follows now.
#
# By hand, for the row *a b c a*: the last *a* spends 0.2, 0.5, 0.1, 0.2 on the four places. That is
# 0.1 on the place before it, 0.2 on the same token, and 0.5 on what followed it.

# %% [markdown]
# ### Exercise 1: `attention_scores_by_pattern`
#
# ★★☆ · 10 minutes · about 6 lines
#
# A token may have come several times: then all its places count, and their weights are added up. A
# query without any such place counts for nothing.
#
# <details><summary>Hint 1: a question</summary>
#
# Which table of True and False, query by key, says "the same token, and earlier"? And what happens
# to a column of it when you ask for the place *after*?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. three tables of True and False, (T, T) or (B, T, T)
# 2. the weights where a table is True, summed over everything but the heads
# 3. how many queries have a True in their row; divide by that, or by 1 where it is 0
#
# </details>

# %% tags=["exercise"]
from course_lib.circuits import attention_scores_by_pattern

# %%
scores_of = check(attention_scores_by_pattern).verified

# %%
from course_lib.attention import attention_patterns
from course_lib.experiments.repeats import again

ids, n = repeating(200, seed=1)  # new rows


def looks(model, ids, tokens):
    """All scores, (3, blocks, H): what heads look at while they read ids."""
    return torch.stack([scores_of(weights, tokens)
                        for weights in attention_patterns(model, ids).values()], 1)


look = looks(model, ids, ids)
plots.show(draw.looks(look, looks(untrained, ids, ids)), "heads-look")

# %% [markdown]
# (1.2 is head 2 of block 1.) Before training every head looks a little at everything. Now the heads
# of block 2 look **just after a copy**, and some of block 1 look one back. A second control asks
# whether these numbers can be had by chance: the same weights, with the tokens of *another* row.

# %% tags=["nbval-ignore-output"]
by_chance = looks(model, ids, ids.roll(1, 0))
for name, scores in (("own tokens", look), ("another row's", by_chance)):
    print(f"{name:14}", [round(x, 2) for x in scores[2, 1].tolist()])

# %% [markdown]
# One number per head hides something, too: it is a mean over all places. So look at block 1 once
# more, place by place. A first copy can stand among the first 17 tokens only.

# %% tags=["nbval-ignore-output"]
block_1 = list(attention_patterns(model, ids).values())[0]
one_back = block_1.diagonal(-1, 2, 3).mean(0)  # (H, T - 1): places 1 to 31
for name, places in (("places 1 to 16", one_back[:, :16]), ("later", one_back[:, 16:])):
    print(f"{name:14}", [round(x, 2) for x in places.mean(1).tolist()])

# %% [markdown]
# All heads that look back do so as long as there is something to note. Later nobody does:
# everything has been noted.
#
# Put together, the two kinds make a **circuit**: a part of the network that does one thing.

# %%
plots.show(draw.circuit(), "circuit")

# %% [markdown]
# That is a story. It fits what was seen, and it may be wrong. The rest is proof.

# %% tags=["claim"]
# The proof
claim("block 2 looks just after the copy, and neither before training nor by chance",
      look[2, 1].min() > 3 * max(looks(untrained, ids, ids)[2].max(),
                                 by_chance[2, 1].max()))
claim("a head of block 1 looks one back, as long as there is something to note",
      one_back[:, :16].mean(1).max() > 0.5 and one_back[:, 18:].mean(1).max() < 0.2)

# %% [markdown] name="cut"
# ## Cut a head
#
# Is a head needed? Silence it, and see. What a head says reaches the stream through $W_o$, so
# between the heads and $W_o$ is the place to cut. PyTorch lets you in there: a **forward hook** is
# a function that it calls before, or after, a module runs. One that runs before gets what goes in,
# and may return something else. `run(model, ids, edits)` sets such hooks, and takes them away again:

# %%
from course_lib.circuits import run

W_o = model.blocks[0].self_attn.W_o
hook = W_o.register_forward_pre_hook(lambda module, given: (0 * given[0],))
by_hook = model(ids)  # the heads of block 1 say zeros
hook.remove()

logits, said = run(model, ids, {0: torch.zeros_like})  # the same in one line
torch.equal(logits, by_hook), said[0].shape  # what the heads say: (B, T, H, d)

# %% [markdown]
# An edit gets what the heads of a block say, and returns what is to be used in its place.
# **Ablation** of one head means: zeros in the place of what it says; or what it says *on average*.

# %% [markdown]
# ### Exercise 2: `ablate_head`
#
# ★☆☆ · 5 minutes · about 3 lines
#
# <details><summary>Hint 1: a question</summary>
#
# The average must not know anything of a text or a place. Which two axes does it go over?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. a copy, so that `said` stays
# 2. at `[:, :, head]` zeros, or the mean over batch and places
#
# </details>

# %% tags=["exercise"]
from course_lib.circuits import ablate_head

# %%
ablate = check(ablate_head).verified

# %% tags=["predict"]
predict(
    "All four heads of block 2 look at the right place, with weights of about 0.9. "
    "One of them is cut. How many of the answers are still right?",
    {
        "about nine in ten": (
            True,
            "The other three say the same. What one adds to the right logit is "
            "missing, and in most rows three are enough.",
        ),
        "three in four": "Do four heads share the rows among them?",
        "one in ten: it looked at the answer": "Who else looked there?",
        "all": "In some rows the answer won by less than one head.",
    },
    concept="C180",
)

# %%
from course_lib.experiments.repeats import right_and_loss


def without(*cut, mean=False):
    """Edits that silence heads, each (block, head), counted from 1."""
    def edit(block):
        def change(said):
            for b, h in cut:
                said = ablate(said, h - 1, mean) if b == block else said
            return said
        return change
    return {block - 1: edit(block) for block in (1, 2)}


HEADS = [(b, h) for b in (1, 2) for h in (1, 2, 3, 4)]
right = {head: right_and_loss(model, ids, n, without(head))[0] for head in HEADS}

# %%
all_right, all_loss = right_and_loss(model, ids, n)
opened = stored("17-heads")  # twenty others: looks, and what is right without
KIND = {1: "one before", 2: "after the same"}
mine_are = [{f"{b}.{h}": (look[2 * (b - 1), b - 1, h - 1].item(), right[b, h])
             for b, h in HEADS if b == block} for block in (1, 2)]
others = [[(row[KIND[block]], row["right without"]) for row in opened
           if row["block"] == block] for block in (1, 2)]
plots.show(draw.missed(mine_are, others), "missed")

# %% [markdown]
# All heads together are nearly always right. On the right side of the figure are looks of 0.9, and
# a tenth of the answers lost: four heads, **one job**. They are each other's **backup heads**, in
# the word of [Wang et al. 2022](https://arxiv.org/abs/2211.00593). (One circle stands alone at the
# top left: a head without the job. We come back to it.) On the left there is the opposite: of the
# heads that look one back, one or two are missed much, others hardly, though they look there, too.
# **A weight is not an importance.**
#
# ### The strip
#
# Your model, opened. The thick line is the residual stream; each head reads it and writes into it.
# Below a head stands the token for which what it writes speaks most. Point at tokens and heads, and
# cut.

# %% tags=["predict"]
predict(
    "How many of the eight heads have to stay, so that nine in ten answers are right?",
    {
        "five or six": (
            True,
            "One or two that look back, and the four of block 2 together. A circuit "
            "is drawn with two heads, and made of more.",
        ),
        "two: one in each block": "So it is drawn. How sure is one head of the "
        "answer?",
        "all eight": "Is everybody missed who is cut alone?",
        "one: it has to look just after the copy": "How would it find that place?",
    },
    concept="C181",
)

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.inside import strip

cut_any = strip(model, ids[:100], n[:100], ids[1, :18], ablate)
needed = max((1, 2, 3, 4), key=lambda h: all_right - right[1, h])
instruments.show("residual-strip", "instrument-residual-strip", **cut_any,
                 start=(needed - 1, 5))

# %% [markdown]
# ### Yours: keep few
#
# Keep at most six heads, so that more than nine in ten answers are right.

# %%
def kept(keep):
    """The share of right answers with these heads alone."""
    return right_and_loss(model, ids, n, without(*set(HEADS) - set(keep)))[0]


# %% tags=["yours", "nbval-ignore-output"]
keep = sorted(HEADS, key=right.get)[:6]  # yours: at most six (block, head)

intervene(
    "at most six heads, and more than nine in ten right",
    keep,
    run=kept,
    holds=lambda share: share > 0.9,
    among=lambda keep: len(keep) <= 6 and set(keep) <= set(HEADS),
    shows="with {choice}, {result:.0%} are right",
    otherwise="Cut them one by one in the strip: whose cut costs least?",
)

# %% tags=["claim"]
# The proof
after = [right[2, h] for h in (1, 2, 3, 4)]
block_2 = without((2, 1), (2, 2), (2, 3), (2, 4))
claim("each head of block 2 looks there, and without one most answers stay right",
      look[2, 1].min() > 0.7 and min(after) > 0.7)
claim("without all four hardly any is right",
      right_and_loss(model, ids, n, block_2)[0] < 0.1)
looking_back = [share for weight, share in [*others[0], *mine_are[0].values()]
                if weight > 0.2]
claim("of the heads that look back some are missed much, and some are not",
      right[1, needed] < 0.95
      and 0.2 < sum(share > 0.95 for share in looking_back) / len(looking_back) < 0.8)
claim("no two heads do it, one in each block",
      max(kept([(1, a), (2, b)]) for a in (1, 2, 3, 4) for b in (1, 2, 3, 4)) < 0.6)

# %% [markdown] name="zero"
# ## Zero is not nothing
#
# A cut writes zeros. Take a head that is hardly missed, and let it always say a constant $c$ *more*
# than before, for every token. Then let the bias of $W_o$ take exactly $W_o\, c$ off again. Not one
# logit changes, for any text: it is the same function, written otherwise.

# %% tags=["predict"]
predict(
    "In the model written otherwise the same head is cut, once as zeros, once as its "
    "mean. What do the two cuts cost?",
    {
        "zeros more than before, the mean the same": (
            True,
            "With zeros the constant is gone, and the bias still takes it off. The "
            "mean has the constant in it.",
        ),
        "both the same as before": "What is left in the bias when zeros come?",
        "both more than before": "Is the constant in what the head says on average?",
        "zeros the same, the mean more than before": "Which of the two knows the "
        "constant?",
    },
    concept="C182",
)

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.inside import rewritten

spare = max((1, 2, 3, 4), key=lambda h: right[1, h])  # of block 1, hardly missed


def two_cuts(size):
    """How far logits move, and the two losses without the spare head."""
    constant = size * torch.randn(16, generator=torch.Generator().manual_seed(0))
    other = rewritten(model, 0, spare - 1, constant)
    moved = (other(ids) - model(ids)).abs().max().item()
    return moved, *(right_and_loss(other, ids, n, without((1, spare), mean=mean))[1]
                    for mean in (False, True))


for size in (0, 1, 2):
    print("{}: logits move by {:.5f}; as zeros {:.2f}, as its mean {:.2f}".format(
        size, *two_cuts(size)))

# %% [markdown]
# ### Yours: make a spare head look needed
#
# How large does the constant have to be, so that cutting the spare head with zeros costs more than
# cutting the one that is needed?

# %%
loss_without_needed = right_and_loss(model, ids, n, without((1, needed)))[1]


def same_function(size):
    """The cost as zeros, and as the mean, of the spare head."""
    return ... if size is ... else two_cuts(size)[1:]


# %% tags=["yours", "nbval-ignore-output"]
size = 4.0  # yours: a number

intervene(
    "cut with zeros it looks more needed than the needed one, as its mean it does not",
    size,
    run=same_function,
    holds=lambda costs: costs[0] > loss_without_needed > costs[1],
    shows="as zeros {result[0]:.2f}, as its mean {result[1]:.2f}",
    otherwise="Both models say the same. Which of the two cuts knows nothing of it?",
)

# %% [markdown]
# So the cost of a zero is a property of how the function is *written*, not of the function. Zeros
# ask two things at once: is what the head says needed, and is everybody used to its saying
# something? The mean asks the first alone. (Nor is it innocent: it may be something that the head
# never says.) In SmolLM2 some heads cost 2 as zeros and nothing as their mean (lesson 15b).

# %% tags=["claim"]
# The proof
before, later = two_cuts(0), two_cuts(4)
claim("the logits are the same, and the cost of zeros is not",
      later[0] < 1e-3 and later[1] > before[1] + 1)
claim("the cost of the mean stays", abs(later[2] - before[2]) < 0.01)

# %% [markdown] name="patch"
# ## Patch: what does a head carry?
#
# An ablation says *that* something is needed. What is it good for? **Activation patching** compares
# two runs that differ in one thing. The last token of a row, A, stood there once before, with B
# behind it: the answer is B. In the first contrast this first A is exchanged for a new token, in
# the second B is:

# %%
from course_lib.experiments.inside import contrasts

clean, exchanged, place_of_B = contrasts(500, seed=5)
rows = torch.arange(500)
B = clean[rows, place_of_B]
print("clean      ", "".join(in_signs(clean[0])), "→", in_signs(B[:1])[0])
for name, other in exchanged.items():
    print(name, "".join(in_signs(other[0])))

# %% [markdown]
# Read the exchanged row, and put in what *one* head said at *one* place of the clean row. If the
# answer comes back, then what makes the difference went through there.

# %% [markdown]
# ### Exercise 3: `patch`
#
# ★☆☆ · 6 minutes · about 3 lines
#
# The place differs from row to row.
#
# <details><summary>Hint 1: a question</summary>
#
# `x[:, place]` takes *all* these places in every row. What do two lists of equal length, `x[rows,
# place]`, take?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. the numbers of the rows, 0 to B − 1
# 2. a copy; at rows, places and the head the other run's vectors
#
# </details>

# %% tags=["exercise"]
from course_lib.circuits import patch

# %%
patched = check(patch).verified

# %% tags=["predict"]
predict(
    "The head of block 1 that is missed most. At the place of B, what it said in the "
    "clean row is put in. In which contrast do the answers come back?",
    {
        "where A was exchanged, not where B was": (
            True,
            "At the place of B it says who stood before. Whether B stands there, it "
            "does not know: it is the same in both runs.",
        ),
        "in both: without it hardly anything works": "What does it say at the place "
        "of B? Is it another thing when B is exchanged?",
        "where B was exchanged, not where A was": "Does it look at B, or one back?",
        "in neither: block 2 writes the answer": "From whom does block 2 know where "
        "to look?",
    },
    concept="C183",
)

# %%
last = torch.full_like(place_of_B, 23)
_, clean_said = run(model, clean)


def restored(other, block, heads, place):
    """How many answers are B, with heads of the clean run put in there."""
    def edit(said):
        for head in heads:
            said = patched(said, clean_said[block - 1], head - 1, place)
        return said
    logits, _ = run(model, other, {block - 1: edit})
    return (logits[:, -1].argmax(-1) == B).float().mean().item()


# %%
shares = {}
for name, other in exchanged.items():
    each = {f"{b}.{h}": restored(other, b, [h], place_of_B if b == 1 else last)
            for b, h in HEADS}
    each["block 1"] = restored(other, 1, [1, 2, 3, 4], place_of_B)
    each["block 2"] = restored(other, 2, [1, 2, 3, 4], last)
    shares[name] = each
plots.show(draw.restored(shares), "restored")

# %% [markdown]
# Heads of block 1 are patched at the place of B, those of block 2 at the last token. One and the
# same head is needed (cut), restores nearly everything (first contrast), and carries nothing at all
# (second). None of this is a contradiction: **ablation asks whether it is needed, patching whether
# it carries *this* difference.** It carries *where* the answer is to be found, not *which* it is.
#
# Single heads of block 2 bring back few answers, all four every one. A control: the same head, one
# place further on.

# %% tags=["nbval-ignore-output"]
elsewhere = [restored(exchanged["A exchanged"], 1, [needed], place_of_B + k)
             for k in (-1, 0, 1)]
print("one place before B, at B, one after:", [round(x, 2) for x in elsewhere])

# %% tags=["claim"]
# The proof
A, second = shares["A exchanged"], shares["B exchanged"]
claim("where A is exchanged, block 1 at the place of B brings the answers back",
      A["block 1"] > 0.95
      and A[f"1.{needed}"] == max(A[f"1.{h}"] for h in (1, 2, 3, 4)))
claim("at another place nothing comes back", max(elsewhere[0], elsewhere[2]) < 0.2)
claim("where B is exchanged, block 1 carries nothing", second["block 1"] < 0.01)
claim("block 2 carries both, and no head of it alone",
      A["block 2"] > 0.95 and second["block 2"] > 0.95
      and max(second[f"2.{h}"] for h in (1, 2, 3, 4)) < 0.7)

# %% [markdown] name="who-writes"
# ## Who writes the answer?
#
# Nothing is ever overwritten in a residual stream: at the end it is a **sum** of the token and its
# position, of what every head wrote, and of the biases. The logits are a matrix $W_U$ times this
# sum. So each logit is a sum as well, and each part's share can be read off. That is **direct logit
# attribution**. A head that raises all logits alike helps nobody, so the mean logit is taken off:
#
# $$
# \text{share of head } h = \big(W_U[\text{answer}] - \overline{W_U}\big) \cdot W_o^{(h)} z_h
# $$
#
# Here $z_h$ is what the head says, and $W_o^{(h)}$ its $d$ columns of $W_o$. By hand: a head writes
# (2, 1); the answer's row of $W_U$ is (1, 0), and the mean row (0, 0.5). Its share is $2 \cdot 1 +
# 1 \cdot (-0.5) = 1.5$.

# %% [markdown]
# ### Exercise 4: `direct_logit_attribution`
#
# ★★☆ · 7 minutes · about 4 lines
#
# <details><summary>Hint 1: a question</summary>
#
# W_o is (D, H · d). Which of its axes falls into heads, and what shape is it then?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. W_o as (D, H, d); what each head writes, (B, T, H, D)
# 2. the answers' rows of W_U minus the mean row, (B, T, D)
# 3. a dot product over D for each head
#
# </details>

# %% tags=["exercise"]
from course_lib.circuits import direct_logit_attribution

# %%
attribute = check(direct_logit_attribution).verified

# %% tags=["predict"]
predict(
    "The head of block 1 that is missed most: what does it add to the answer's logit "
    "on the direct way?",
    {
        "next to nothing": (
            True,
            "What it writes is read by block 2. Attribution sees the direct way alone, "
            "and misses whoever works through others.",
        ),
        "more than any other: without it nothing works": "For whom is its note: for "
        "the logits, or for block 2?",
        "about a fifth, as each of five needed heads": "What does it say: what comes "
        "next, or what stood before?",
        "it lowers it": "It would have to write against the answer.",
    },
    concept="C184",
)

# %%
W_U = model.out.weight  # (V, D)
answers = torch.cat([ids[:, 1:], ids[:, :1]], 1)
wrong = torch.cat([ids[:, 2:], ids[:, :2]], 1)  # the one after: also of this row
_, said = run(model, ids)
parts = [("1", said[0], model.blocks[0]), ("2", said[1], model.blocks[1])]


def shares_of(tokens):
    """What each part adds to their logits, as a mean over what is said again."""
    return {f"{b}.{h + 1}": share[:, :-1][again(n)].mean().item()
            for b, said_by, block in parts
            for h, share in enumerate(attribute(
                said_by, block.self_attn.W_o.weight, W_U, tokens).unbind(-1))}


share, another = shares_of(answers), shares_of(wrong)
plots.show(draw.attributed(share, another), "attributed")

# %% [markdown]
# Is the sum complete? With the stream behind the embedding and three biases it has to be the
# logits, exactly:

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.depth import stream

start = stream(model, ids)[0]  # (B, T, D): the table and the sinusoids
biases = sum(block.self_attn.W_o.bias for block in model.blocks)
direct = ((start + biases) @ (W_U - W_U.mean(0)).T) + model.out.bias
direct = direct.gather(-1, answers[..., None])[..., 0]
by_heads = sum(attribute(said_by, block.self_attn.W_o.weight, W_U, answers).sum(-1)
               for _, said_by, block in parts)
whole = run(model, ids)[0]
whole = whole.gather(-1, answers[..., None])[..., 0] - (whole - model.out.bias).mean(-1)
print(f"largest difference: {(direct + by_heads - whole).abs().max():.6f}")

# %% [markdown]
# With layer norms it would be exact only for a scale that is kept fixed. And a *direct* share is
# one way among several: the needed head of block 1 has none, and patching found it. No single tool
# sees everything.

# %% tags=["claim"]
# The proof
claim("the parts add up to the logit", (direct + by_heads - whole).abs().max() < 1e-3)
claim("every head of block 2 writes the answer, and not another token of the row",
      min(share[f"2.{h}"] - another[f"2.{h}"] for h in (1, 2, 3, 4)) > 1)
claim("the needed head of block 1 adds next to nothing",
      abs(share[f"1.{needed}"]) < 0.1 * min(share[f"2.{h}"] for h in (1, 2, 3, 4)))

# %% [markdown] name="composition"
# ## Who reads whom? From the weights alone
#
# So far the model had to run. But a head's wiring stands in its weights. What head A of block 1
# writes for a token $x$ is $W_{OV}\, x$, with $W_{OV} = W_o W_v$. How well a query $x$ of block 2
# and a key $y$ go together is $x^\top W_{QK}\, y$, with $W_{QK} = W_q^\top W_k$. If B's keys read
# what A wrote, then the product $W_{QK} W_{OV}$ is large:
#
# $$
# \frac{\lVert W_{QK} W_{OV} \rVert}{\lVert W_{QK} \rVert \, \lVert W_{OV} \rVert}
# $$
#
# That is **K-composition** ([Elhage et al.
# 2021](https://transformer-circuits.pub/2021/framework/index.html)). $\lVert M \rVert$ is the
# Frobenius norm, the root of the sum of all squares.

# %% tags=["predict"]
predict(
    "Four random matrices, 64 × 64, in heads of 16. What does this number come out as, "
    "about?",
    {
        "1/8": (
            True,
            "A random direction is spread over 64 others: what one matrix writes, "
            "another reads with a share of √(1/64).",
        ),
        "0: they know nothing of each other": "Is a product of random matrices zero?",
        "1/4: a head is 16 of 64": "That would be the share of squares. Of what is "
        "the root taken?",
        "1: all is random, all is read": "1 is the most that a product can keep.",
    },
    concept="C185",
)

# %% [markdown]
# ### Exercise 5: `compose`
#
# ★★☆ · 8 minutes · about 6 lines
#
# <details><summary>Hint 1: a question</summary>
#
# `nn.Linear` computes x Wᵀ. Of W_q, W_k and W_v, are a head's numbers rows or columns? And of W_o?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. W_q, W_k, W_v as (H, d, D); W_o as (H, D, d)
# 2. for each later head W_qᵀ W_k, for each earlier one W_o W_v: (H, D, D) both
# 3. all products, (H, H, D, D); three norms over the last two axes
#
# </details>

# %% tags=["exercise"]
from course_lib.circuits import compose

# %%
composed = check(compose).verified


def read_by(blocks):
    """How much the keys of the second block read of the heads of the first: (4, 4)."""
    earlier, later = (block.self_attn for block in blocks)
    return composed(later.W_q.weight, later.W_k.weight, earlier.W_v.weight,
                    earlier.W_o.weight, 4)


generator = torch.Generator().manual_seed(0)
random = torch.stack([composed(*torch.randn(4, 64, 64, generator=generator), 4)
                      for _ in range(50)])
plots.show(draw.read(read_by(model.blocks), random), "read")

# %% [markdown]
# All four heads of block 2 read the same head of block 1, more than any of 800 random pairs, and the
# one that is missed least hardly at all. Without running a single text, the weights name the
# circuit. But look at those in between: a head may be read as much as the largest of the random
# pairs, and not be missed.

# %% tags=["claim"]
# The proof
reading = read_by(model.blocks)
claim("random matrices give an eighth", abs(random.mean() - 1 / 8) < 0.005)
claim("the needed head is read by all of block 2, more than by chance",
      reading[:, needed - 1].min() > random.max())
claim("the spare one is not, and before training nobody was",
      max(reading[:, spare - 1].max(), read_by(untrained.blocks).max()) < random.max())

# %% [markdown] name="explanation"
# ## Is attention an explanation?
#
# [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) shuffled the weights of trained
# classifiers. The answers hardly changed, and they wrote: *"Attention is not Explanation"*.
# [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626) replied with *"Attention is not
# not Explanation"*: first ask whether a task needs attention at all, by training with weights that
# are fixed to be even. Both runs, on your model:

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.inside import shuffling

backing = [h for h in (1, 2, 3, 4) if right[1, h] > 0.95]
shuffled = {}
for name, block, heads in (("the spare heads of block 1", 1, backing),
                           ("the needed one", 1, [needed]), ("2.1", 2, [1]),
                           ("all of block 2", 2, [1, 2, 3, 4])):
    edits = shuffling(model, ids, block - 1, [h - 1 for h in heads])
    shuffled[name] = right_and_loss(model, ids, n, edits)[0]
    print(f"weights of {name:26} shuffled: {shuffled[name]:.0%} right")
for name in ("block 1 looks evenly", "block 2 looks evenly"):
    print(f"trained so that {name}: loss {average(at_end[name]):.2f} after 4,000 steps")

# %% [markdown]
# Shuffle the spare heads, and Jain and Wallace are right: the weights look like something, and
# little depends on them. Shuffle the needed one, and they are wrong. The reply's control says when:
# with even weights this task is not learned in five times the steps. **Whether attention explains
# is not a question about attention. It is one about the head and the task, and it is answered by an
# intervention.**

# %% tags=["claim"]
# The proof
claim("shuffled, spare heads are not missed much, and the needed one is",
      shuffled["the spare heads of block 1"] > shuffled["the needed one"] + 0.1)
claim("all of block 2, shuffled, leaves nothing", shuffled["all of block 2"] < 0.2)
claim("with even weights in either block it is not learned, at five times the budget",
      min(at_end["block 1 looks evenly"] + at_end["block 2 looks evenly"]) > 1)

# %% [markdown] name="twenty-trainings"
# ## Twenty trainings
#
# All of this was one model. In `17-heads.tsv` twenty others were opened in the same way, from
# twenty seeds.

# %% tags=["predict"]
predict(
    "What do all twenty have in common?",
    {
        "the circuit, in other heads and shares": (
            True,
            "Somebody looks back, several read it. Who, and how many share the work, "
            "differs from seed to seed.",
        ),
        "the same head of block 1 looks back": "Do heads have numbers for the "
        "training?",
        "exactly one head of block 1 is needed": "Look at the left panel of the "
        "figure before: could two share the work?",
        "nothing: each solves it in its own way": "All fell at once, and all copy. By "
        "what other way?",
    },
    concept="C186",
)

# %%
def of_each(block, number):
    """{seed: that number of its four heads in a block}."""
    found = {}
    for row in opened:
        if row["block"] == block:
            found.setdefault(row["seed"], []).append(row[number])
    return found


# %%
per_seed, looks = of_each(1, "right without"), of_each(2, "after the same")
for seed, shares_right in per_seed.items():
    print(f"{seed:2}  right without 1.1 to 1.4:", [f"{x:.2f}" for x in shares_right])

# %%
print("not all four heads of block 2 look just after the copy: seed",
      [seed for seed, each in looks.items() if min(each) < 0.6])

# %% [markdown]
# Block 2 is alike in nearly all: its four heads look just after the copy. In one of the twenty a
# head of block 2 never took up the job. Without it hardly anything is lost.

# %% tags=["claim"]
# The proof
worst = [min(range(4), key=each.__getitem__) for each in per_seed.values()]
shared = [sum(x < 0.95 for x in each) for each in per_seed.values()]
claim("three or all four heads of block 2 look just after the copy, mostly all four",
      min(sorted(each)[1] for each in looks.values()) > 0.6
      and sum(min(each) > 0.6 for each in looks.values()) > 15)
claim("a head of block 2 that does not look there is not missed",
      all(row["right without"] > 0.97 for row in opened
          if row["block"] == 2 and row["after the same"] < 0.6))
claim("in all twenty somebody of block 1 is missed, and not always the same",
      max(map(min, per_seed.values())) < 0.95 and len(set(worst)) > 1)
claim("in some one head is missed, in some more", len(set(shared)) > 1)

# %% [markdown] name="real"
# ## On something real
#
# The course's translator (lesson 11) has 24 heads: 8 in its encoder, 8 that look back in its
# decoder, 8 of cross-attention. Your `ablate_head` fits it, too. Which words of 300 new sentences
# come out wrong without one head?

# %% tags=["predict"]
predict(
    "How many of the 24 heads are missed, in that at least one word in a hundred of "
    "some kind comes out wrong?",
    {
        "about a fifth": (
            True,
            "Most have backups. And those that are missed are not missed for one kind "
            "of word alone.",
        ),
        "all: that is why they were trained": "Nobody paid for being needed alone.",
        "none: each has backups": "Some words hang on few heads: where does “did not” "
        "come from?",
        "one for each kind of word": "Did anybody tell them to share the work so?",
    },
    concept="C181",
)

# %%
from course_lib import shipped
from course_lib.experiments.inside import KINDS, Read

read = Read(shipped.translator())
wrong_without = {}
for path in read.attentions:
    side, layer, which = path.removesuffix("_attn").split(".")
    for h in range(4):
        edit = lambda said, h=h: ablate(said, h)
        name = f"{side} {int(layer) + 1}, {which}, head {h + 1}"
        wrong_without[name] = list(read.wrong({path: edit}).values())

# %%
missed = {name: row for name, row in wrong_without.items() if max(row) >= 0.01}
kinds = [*KINDS, "all words"]
plots.show(draw.wrong_words(missed, kinds), "wrong-words")

# %% [markdown]
# The others can be cut without one wrong word in a hundred of any kind, each alone. And **one head,
# one job** does not hold either: the head of cross-attention that is missed most gets *do*, *does*
# and *not* wrong, and verbs, too.
#
# ### Yours: a head with two jobs
#
# Choose a head of the figure whose cut makes at least one word in a hundred wrong in *two* kinds.

# %% tags=["yours"]
head = "decoder 2, cross, head 4"  # yours: its name, in quotation marks

intervene(
    "without it, words of two kinds come out wrong",
    head,
    run=lambda head: [kind for kind, share in zip(KINDS, wrong_without[head][:-1],
                                                  strict=True) if share >= 0.01],
    holds=lambda kinds: len(kinds) >= 2,
    among=wrong_without,
    shows="wrong without it: {result}",
    otherwise="Look for a row of the figure with a 1 or more in two columns.",
)

# %% [markdown]
# And the course's language model, which has read Python's manual? It gets random tokens, twice:

# %%
from course_lib.experiments.inside import looked_over

writer = shipped.language_model()
most = looked_over(writer.model, writer.model.out.out_features).amax((1, 2))
names = ("one back", "on a copy", "just after a copy")
{name: round(x, 2) for name, x in zip(names, most.tolist(), strict=True)}

# %% [markdown]
# Heads that look one back, and **no induction head**: it was trained on pieces of 32 tokens, where
# a phrase rarely comes twice. A circuit grows where it pays. SmolLM2 has read two trillion tokens.
# Does it have such heads, among its 270? Your function asks its weights, if they are here; otherwise
# you see what lesson 15b measured, in `15b-heads.tsv`:

# %% tags=["nbval-ignore-output"]
from course_lib.experiments import heads_cut

SMOLLM2, found = data.offer("smollm2"), torch.zeros(3, 30, 9)
if SMOLLM2:
    twice = heads_cut.rows()[0]  # 50 random tokens, said twice
    found = torch.stack([scores_of(weights, twice)
                         for weights in heads_cut.patterns(twice)], 1)
else:
    for row in stored("15b-heads"):
        found[0, row["block"] - 1, row["head"] - 1] = row["on the token before"]
        found[2, row["block"] - 1, row["head"] - 1] = row["after the copy"]

# %% tags=["nbval-ignore-output"]
for name, scores in (("one back", found[0]), ("just after a copy", found[2])):
    best = scores.flatten().topk(3)
    heads = [f"{i // 9 + 1}.{i % 9 + 1}" for i in best.indices.tolist()]
    weights_of = [f"{share:.2f}" for share in best.values]
    print(f"{name:18}", dict(zip(heads, weights_of, strict=True)))

# %% [markdown]
# It has. Lesson 15b cut them one by one, and found which are missed.
#
# ### What the logit lens does not see
#
# Lesson 12 asked the stream behind a block what comes next (the **logit lens**). Behind block 1 of
# your model the last matrix reads nothing from it. Is nothing there? A linear layer that is
# *trained* to read, a **probe**, says who stood before:

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.inside import readable

old = repeating(600, seed=11)[0]
flat = lambda tensor: tensor[:, 1:].flatten(0, 1)
before_them = [tokens[:, :-1].flatten() for tokens in (old, ids)]
stream_of = {tokens: list(map(flat, stream(model, tokens))) for tokens in (old, ids)}
by_probe = [readable(a, before_them[0], b, before_them[1])
            for a, b in zip(stream_of[old][:2], stream_of[ids][:2], strict=True)]
by_lens = (model.out(stream_of[ids][1]).argmax(-1) == before_them[1])
by_lens = by_lens.float().mean().item()
print(f"who stood before: by the lens {by_lens:.2f}, by a probe {by_probe[1]:.2f}; "
      f"by a probe behind the embedding {by_probe[0]:.2f}")

# %% [markdown]
# The lens speaks the language of the output. A note from one head to another is written in another
# one. (And a probe says that something *can* be read, not that anybody reads it: for that you cut,
# or patch.)

# %% tags=["claim"]
# The proof
jobs = [sum(share >= 0.01 for share in row[:-1]) for row in wrong_without.values()]
claim("most of the 24 heads are missed by nobody", sum(max(row) < 0.01
      for row in wrong_without.values()) > 12)
claim("a head is missed for words of two kinds, or more", max(jobs) >= 2)
claim("the language model looks one back, and not just after a copy",
      most[0] > 0.3 and most[2] < 0.1)
claim("the lens does not see who stood before, and a probe behind block 1 does",
      by_lens < 0.1 and by_probe[0] < 0.1 and by_probe[1] > 0.3)

# %% [markdown] name="superposition"
# ## Further: more features than directions
#
# Why is a single number of the stream so hard to read? Perhaps because more things are written into
# it than it has directions. [Elhage et al. (2022)](https://arxiv.org/abs/2209.10652) show it in a
# model of ten lines: five features, kept in *two* numbers, and read back through a ReLU. Each
# feature is there with probability $p$, and each counts 0.8 times as much as the one before.

# %%
def kept_in_two(p, steps=2000):
    """How much of each of five features is kept in two numbers: W (2, 5)."""
    torch.manual_seed(0)
    W = torch.nn.Parameter(torch.randn(2, 5) / 2)
    b = torch.nn.Parameter(torch.zeros(5))
    optimizer = torch.optim.Adam([W, b], 0.01)
    for _ in range(steps):
        x = torch.rand(512, 5) * (torch.rand(512, 5) < p)
        off = (x - F.relu(x @ W.T @ W + b)).square()
        loss = (off * 0.8 ** torch.arange(5)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach()


lengths = {p: kept_in_two(p).norm(dim=0) for p in (1.0, 0.05)}
{p: [round(x, 1) for x in each.tolist()] for p, each in lengths.items()}

# %% [markdown]
# If all features are always there, the two that count most get a direction each, and three get
# none. If they are rare, all five share the plane, like the corners of a pentagon: they disturb
# each other, but seldom come together. This is called **superposition**.

# %% [markdown] name="dictionary"
# ## Further: a sparse dictionary, honestly judged
#
# If features are many and rare, they can be looked for: a **sparse autoencoder** writes the stream
# as a sum of few entries out of a large dictionary ([Cunningham et al.
# 2023](https://arxiv.org/abs/2309.08600)). Here it has 256 entries for the stream behind block 1.
# In your model we know what should be found: which token this is, and who stood before. The judge:
# for each of the 64 tokens, the one entry that tells best *"it stood before"*. As a control, the
# same dictionary of a model before its training, and single numbers of the stream.

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.inside import best_single, dictionary

told = {}
for name, opened_model in (("trained", model), ("untrained", untrained)):
    entries, explained = dictionary(flat(stream(opened_model, old)[1]))
    new = flat(stream(opened_model, ids)[1])
    told[name] = best_single(entries(new), before_them[1])
    told[f"{name}, numbers of the stream"] = best_single(new, before_them[1])
    print(f"{name}: {explained:.0%} of the stream is explained")
{name: round(x, 2) for name, x in told.items()}

# %% tags=["claim"]
# The proof
claim("features that are always there get two directions, rare ones share",
      (lengths[1.0] > 0.5).sum() == 2 and (lengths[0.05] > 0.5).sum() == 5)
claim("the dictionary of the trained model tells more than that of the untrained one",
      told["trained"] > told["untrained"] + 0.1)

# %% [markdown]
# ## Summary
#
# - Two layers of attention find what was said before: a previous-token head writes a note,
#   induction heads look for it. It comes at once, and late; one layer cannot do it, unless the
#   distance is fixed.
# - A look is not a use. Cut, one and many at a time; take the mean, since zeros depend on how a
#   function is written.
# - A patch asks what carries *this* difference. Attribution sees the direct way, composition the
#   wiring. They disagree, since they ask different things.
# - Beside each number a control: before training, another row's tokens, another place, random
#   matrices, other seeds.
#
# **Think about it.** A paper shows a head that looks from *"it"* to *"the cat"* with a weight of
# 0.8, and says that the model has understood the pronoun. Which three runs would you ask for?
#
# <details><summary>An answer</summary>
#
# Cut the head, as its mean, and count how many pronouns are then wrong: beside the cost of cutting
# any other head. Patch it from a sentence with *"the dogs"* and see whether *"it"* becomes
# *"they"*: that says what it carries. And take the same score over many sentences, and for an
# untrained model: a head that always looks at the nearest noun has it, too.
#
# </details>
#
# **In the papers.** [Elhage et al.
# 2021](https://transformer-circuits.pub/2021/framework/index.html): the framework, for models
# without feed-forward networks, as here. [Olsson et al. 2022](https://arxiv.org/abs/2209.11895):
# induction heads in large models, and the fall of the loss. [Wang et al.
# 2022](https://arxiv.org/abs/2211.00593): a circuit of 26 heads in GPT-2 small, with backups.
# [Zhang and Nanda 2023](https://arxiv.org/abs/2309.16042): how the choice of contrast and of
# measure changes what patching finds.
#
# **Next.** You are at the end of the course. Open a model that nobody has opened.
