# %% [markdown]
# # 11b · Translations: searched for, measured, doubted
#
# *90 minutes: reading 28, predicting 15, writing 47 · needs lesson 11 · two exercises*
#
# **At the end you can**
#
# - say what a picture of attention shows, and test whether what it shows is needed;
# - measure what a model loses when it has to go on from its own mistakes;
# - compute BLEU, write a beam search, and say when a wider beam makes it worse;
# - find the bug in a Transformer that trains and does not work, and heal it.

# %%
import torch
import torch.nn.functional as F

from course_lib import check, claim, intervene, mine, predict, shipped
from course_lib.display import instruments, plots
from course_lib.display.drawings import judging as draw

torch.set_num_threads(1)

# %% [markdown] name="cross-attention"
# ## Who translates whom
#
# Here is your Transformer of lesson 11 again, with weights that ship with the course: the same
# training, run to its end.
#
# The **cross-attention** says where each English word looked in the French while it was
# written. We take the last decoder layer, and the mean of its four heads. Mind the offset: the
# row of *visits* is the place that **says** *visits*. Such a table of who belongs to whom is
# called an **alignment**.

# %%
from course_lib.data.small_french import people_as_objects, splits, written
from course_lib.data.vocabulary import BOS, EOS
from course_lib.experiments import alignments, patients

Transformer = mine("Transformer")
greedy = mine("greedy_decode")
of = shipped.translator(Transformer)
fresh = splits()["fresh"][:200]
sentence = "Léa n' a pas acheté de fleurs blanches au Japon".split()
says = of.translate(written(sentence)).split()
weights = alignments.of_sentence(of, sentence, says)  # (Tt, Ts)

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 4.4), layout="constrained")
names = [*says, "<eos>"], [*sentence, "<eos>"]
plots.heat_map(axis, weights, *names, numbers=False, kind="weight")
axis.set(xlabel="is asked", ylabel="is to be said")
plots.show(figure, "alignment")

# %% [markdown]
# *White* looks over *fleurs* at *blanches*. Nobody told the model which word belongs to which.
# One picture proves little. But of this French we know every link. So: how often does the
# French word with the most weight say the same as the English one?

# %% tags=["predict"]
predict(
    "A rival without any attention says: “the French word at the same place”. Of all "
    "English words of 200 sentences, it and the last layer are right for …",
    {
        "about half, and nearly all": (
            True,
            "The two languages run side by side for a while, so the rival is not bad. "
            "The last layer finds the word also where the order changes.",
        ),
        "nearly none, and nearly all": "How often do both languages begin with the "
        "same word?",
        "about half, and about two thirds": "That is the layer below.",
        "nearly all, and nearly all": "Where does an adjective stand in French?",
    },
    concept="C150",
)

# %%
shares = alignments.right_links(of, fresh)
{name: round(share, 2) for name, share in shares.items()}

# %% [markdown]
# Is it always the last layer? In three trainings with other seeds, the layer below and the
# last one:

# %%
from course_lib.experiments.stored import stored

rows = stored("11-translators")
as_in_11 = [row for row in rows if (row["way"], row["steps"]) == ("plain", 624)]
[[round(row[f"linked, layer {n}"], 2) for n in (1, 2)] for row in as_in_11]

# %% [markdown] name="needed"
# ## Is what it looks at what it needs?
#
# A picture shows weights. Whether a word was *needed* is another question, and has a test:
# hide the word, put `<pad>` in its place, and see whether something else is said. The control
# hides another word of the same sentence.

# %% tags=["predict"]
predict(
    "How often does hiding a French word change an English one: if it has the most "
    "weight, and if it is any other one?",
    {
        "about 85 %, and 1 %": (
            True,
            "In this model, for most words, the picture shows what is needed. That is "
            "a result, and not a matter of course.",
        ),
        "about 50 %, and 50 %": "Then the picture would say nothing about need.",
        "100 %, and 0 %": "Is every word that is looked at the only one that says it? "
        "Think of *ne … pas*.",
        "about 85 %, and 40 %": "So much would hang on each word of a sentence?",
    },
    concept="C150",
)

# %%
hidden = alignments.changes_when_hidden(of, fresh)
{name: f"{share:.1%}" for name, share in hidden.items()}

# %% [markdown]
# So far, so good. Now a sentence in which the picture misleads. In brackets stands the largest
# weight that any English word gave to the French one.

# %%
asks = "est-ce que Paul a vu une belle église le matin ?".split()
for word, most, now in alignments.hide_each(of, asks):
    print(f"without {word:8} (at most {most:.2f}): {now}")

# %% [markdown]
# *est-ce* has a weight of 0.62, and nobody misses it. *a* has at most 0.01, and without it the
# past is gone: the encoder had carried what it says to other places long before. **A key is
# not a word.** It stands where the word stood, and may hold half of the sentence.
#
# ### Yours: hardly looked at, and needed
#
# Find it in a sentence of your own: a French word with a weight below 0.1 everywhere, which
# cannot be hidden without changing what is said.

# %% tags=["yours"]
mine_to_hide = ("est-ce que Emma a quitté Rome ?", "a")  # yours: a sentence, a word
intervene(
    "nothing looks at the word, and without it something else is said",
    mine_to_hide,
    run=lambda both: alignments.hide(of, *both),
    holds=lambda found: found.most < 0.1 and found.changed,
    among=lambda both: both[1] in of.words(both[0]),
    shows="{result}",
    otherwise="Which words tell the past from the present, or one from many?",
)

# %% tags=["claim"]
# The proof
claim("the last layer is right for nearly all words, the same place for about half",
      shares["last layer"] > 0.85 and 0.3 < shares["same place"] < 0.65)
claim("with other seeds, too, it is the last layer",
      all(row["linked, layer 2"] > row["linked, layer 1"] + 0.15 for row in as_in_11))
claim("what is looked at most is mostly needed, any other word hardly ever",
      hidden["most weight"] > 0.7 and hidden["any other"] < 0.05)

# %% [markdown] name="exposure-bias"
# ## After a mistake: exposure bias
#
# In training each place is shown the right words. When the model writes, it is shown its own.
# On those it was never trained, if they are wrong. This is called **exposure bias**.
#
# Take the sentences that stammer in lesson 11: people as objects. First with the right words
# shown, as in training; then it has to write.

# %%
people = people_as_objects(500)
forced, ended = alignments.forced_and_free(of, people, greedy)
print(f"right words shown: {forced:.0%} of the words that it says are right")
print(f"its own shown: {ended} of {len(people)} sentences end within 20 tokens")

# %% [markdown]
# One wrong word (a verb, right behind the person) and it is where it never was in training. Is
# it the wrong word that hurts, or was the place hard to begin with? We ask fresh sentences, of
# which it makes no mistake. At each place it is shown a wrong word instead: the one that it
# held to be the second most probable.

# %% tags=["predict"]
predict(
    "Fresh sentences, the right word shown: the next one is right at 100 % of all "
    "places. With the second most probable shown:",
    {
        "at 60 to 75 %": (
            True,
            "At a third of all places one wrong word is followed by another, though "
            "the French says what comes next.",
        ),
        "at nearly 100 %": "So it would be if it read off the French what comes next.",
        "at 5 to 20 %": "So it would be if only the word before counted.",
    },
    concept="C151",
)

# %%
def of_way(way, steps, what):
    """The stored numbers of a way of training, a number per seed."""
    return [round(row[what], 3) for row in rows
            if (row["way"], row["steps"]) == (way, steps)]


{what: of_way("plain", 624, what) for what in ("right word shown", "second word shown")}

# %% [markdown]
# It trusts the word before: in training that was always right. So let us make it untrustworthy.
# In the trainings called *wrong words shown* every seventh word that the decoder was shown was
# any other word, while the labels stayed right. People are still nobody's object in them.

# %% tags=["predict"]
predict(
    "Plain, 4 of 100 sentences with people as objects are right, or fewer. With wrong "
    "words shown in training?",
    {
        "about 75 of 100": (
            True,
            "It had learned from the English that a verb follows a person. Where the "
            "English cannot be trusted, it has to read the French.",
        ),
        "as few: people are still missing": "Is it the French side that misleads it?",
        "about 15 of 100": "The stammer is one habit. What happens when it is gone?",
        "none: it has learned from wrong words": "Its labels were right.",
    },
    concept="C151",
)

# %%
ways = ["plain", "wrong words shown", "wrong words, no people", "wrong French shown",
        "more dropout"]
for way in ways:
    print(f"{way:23} people as objects: {of_way(way, 624, 'people')}",
          f"  new negations: {of_way(way, 624, 'new negations')}")

# %% [markdown]
# (Stored, three seeds each.) The last three rows are rivals. By chance a person was *shown*
# where a thing should be: in the third row the wrong words never mean people, and it helps
# nearly as much. Or *any* noise might do it: wrong words on the French side, or three times the
# dropout, do not. So it was no want of noise, and no want of sentences: the decoder had relied
# on what it was shown.
#
# And with other budgets? What is right after a right word, and after a wrong one:

# %%
figure = draw.after_wrong_words(rows, ways[:2], [125, 624, 3120])
plots.show(figure, "after-wrong-words")

# %%
{steps: of_way("wrong words shown", steps, "people") for steps in (125, 624, 3120)}

# %% [markdown]
# After 3,120 steps a wrong word hardly misleads it. So what comes next *could* be told, at
# nearly all of these places, from the French.

# %% tags=["claim"]
# The proof
claim("with right words shown most words are right; a third it writes without an end",
      forced > 0.75 and ended < 0.8 * len(people))
claim("after a word that is second best, a third of the next words are wrong",
      all(0.55 < share < 0.8 for share in of_way("plain", 624, "second word shown"))
      and min(of_way("plain", 624, "right word shown")) > 0.99)
heal = [way for way in ways if "wrong words" in way]
claim("wrong words shown in training heal most of the stammer, without any people, too",
      min(min(of_way(way, 624, "people")) for way in heal) > 0.5)
claim("noise on the French side and more dropout do not",
      max(max(of_way(way, 624, "people")) for way in ways if way not in heal) < 0.25)
claim("with wrong words shown for 3,120 steps a wrong word hardly misleads",
      min(of_way("wrong words shown", 3120, "second word shown")) > 0.9
      and max(of_way("plain", 3120, "second word shown")) < 0.8)

# %% [markdown] name="bleu"
# ## BLEU: when there is more than one right answer
#
# In a real language many translations are good, so "every word right" asks too much. **BLEU**
# (Papineni and colleagues, [2002](https://aclanthology.org/P02-1040)) compares **n-grams**,
# runs of n words, with a **reference**, a translation known to be good. Which share of the
# words, pairs, triples and fours of a translation stands in the reference, too?
#
# Each counts at most as often as it stands there, or *Jane Jane Jane* would be perfect. These
# are the four **clipped precisions** $p_1 \dots p_4$. A translation of $c$ words that is
# shorter than its reference of $r$ words pays a **brevity penalty**:
#
# $$\text{BLEU} = 100 \cdot \min(1, e^{1 - r/c}) \cdot (p_1\, p_2\, p_3\, p_4)^{1/4}$$
#
# ### Yours: clipped hits
#
# `ngrams(words, n)` is a `Counter` of all runs of n words. How many of a translation's stand in
# the reference? Write `lambda said, ref, n: …`. (`&` of two Counters keeps the smaller of two
# counts.)

# %%
from course_lib.experiments.bleu import corpus_bleu, ngrams

reference = "Jane visits Africa in September".split()
print(ngrams("Jane Jane Jane".split(), 1), ngrams(reference, 4), sep="\n")

# %% tags=["yours"]
hits = lambda said, ref, n: (ngrams(said, n) & ngrams(ref, n)).total()  # yours: lambda
intervene(
    "“Jane Jane Jane” has one hit, “Jane visits Asia in September” has 4, 2, 0 and 0",
    hits,
    run=lambda hits: [hits("Jane Jane Jane".split(), reference, 1)]
    + [hits("Jane visits Asia in September".split(), reference, n)
       for n in (1, 2, 3, 4)],
    holds=lambda found: found == [1, 4, 2, 0, 0],
    among=callable,
    shows="it counts {result}",
    otherwise="Each n-gram counts at most as often as it stands in the reference.",
)

# %% [markdown]
# One wrong word in the middle spoils all triples and fours, and with one factor of zero the
# product is zero. So BLEU is computed over a whole **corpus**, with the hits of all its
# sentences added up. (`corpus_bleu` does that, and takes the fourth root.)

# %% tags=["predict"]
predict(
    "All the right words of the references, in alphabetical order. Their BLEU?",
    {
        "below 20": (
            True,
            "All words are hits. But hardly a triple or four is, and the geometric "
            "mean hears the smallest of four factors.",
        ),
        "100": "So it would be if only words counted.",
        "about 50": "An arithmetic mean might say that. The mean is geometric.",
        "0": "A few runs of the references are in alphabetical order by chance.",
    },
    concept="C153",
)

# %%
import sacrebleu

references = [list(pair.english) for pair in fresh]
in_disorder = [sorted(words) for words in references]
ours = [of.translate(written(pair.french)).split() for pair in fresh]
print(f"disorder {corpus_bleu(in_disorder, references):.1f},",
      f"ours {corpus_bleu(ours, references):.1f}")


# %%
def by_sacrebleu(said, references):
    """The same from a well-known library."""
    joined = [[" ".join(words) for words in lines] for lines in (said, references)]
    return sacrebleu.corpus_bleu(joined[0], [joined[1]], tokenize="none").score


[round(by_sacrebleu(said, references), 1) for said in (in_disorder, ours)]

# %% [markdown]
# Ours is near 100. That shows that our French is small, not that the model is great: from real
# English to German the paper reports **27.3** for its base model, and 28.4 for one of three
# times its size (table 2).

# %% tags=["claim"]
# The proof
claim("the right words in disorder have little, and by hand it is what sacrebleu says",
      corpus_bleu(in_disorder, references) < 20
      and all(abs(corpus_bleu(said, references) - by_sacrebleu(said, references)) < 1e-6
              for said in (in_disorder, ours)))

# %% [markdown] name="beam"
# ## Is the likeliest next word the best?
#
# A model is to name a fruit. It gives *a* 0.6 and *an* 0.4. After *a* it wavers: *pear* 0.4,
# *plum* 0.35, *fig* 0.25. After *an* it is sure: *apple* 1.

# %% tags=["predict"]
predict(
    "Greedy decoding, and the likeliest of all phrases:",
    {
        "a pear, and an apple": (
            True,
            "a pear has 0.6 · 0.4 = 0.24, an apple 0.4. Greedy cannot take a word "
            "back.",
        ),
        "a pear, and a pear": "Multiply: what does *an apple* have?",
        "an apple, and an apple": "Which first word is more probable? It sees no "
        "further.",
        "a plum, and an apple": "After *a*, which has most?",
    },
    concept="C152",
)

# %% [markdown]
# **Beam search** keeps several beginnings open, and lets each of them grow by one word. Of all
# candidates the best few survive; those that end are put aside. The score is the product of
# the words' probabilities. Products of many small numbers vanish, so their **logarithms are
# added up**.
#
# ### Exercise 1: `beam_search`
#
# ★★★ · 18 minutes · about 10 lines
#
# One sentence at a time. Instead of a model you get `step_fn`, which takes K beginnings of one
# length, as a tensor of token numbers, and gives the logits of the next word.
#
# <details><summary>Hint 1: questions</summary>
#
# Which two things do you have to remember of each open beginning? If three are open, and there
# are 10 words, how many candidates are there? What becomes of one that ends?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. one is open: [bos_id], with score 0; none is finished
# 2. while some are open and there is room: log-probabilities after each of them, (K, V)
# 3. add to each row the score of its beginning; the largest beam_size entries of the *whole*
#    table survive
# 4. the index of an entry says which row (which beginning) and which column (which word)
# 5. those that end are finished now, and the others are open
# 6. in the end, what is still open counts as finished; the largest score wins
#
# </details>

# %% tags=["exercise"]
from course_lib.decoding import beam_search

# %%
beam = check(beam_search).verified


# %%
def fruits(end=0.0):
    """The chances of the next word after each; `end`: of the end, at once."""
    chances = torch.full((8, 8), 1e-9)
    chances[0, [1, 2, 3]] = torch.tensor([end, 0.6 * (1 - end), 0.4 * (1 - end)])
    chances[2, [4, 5, 6]] = torch.tensor([0.4, 0.35, 0.25])
    chances[3, 7] = chances[4:, 1] = 1.0
    return chances.log()  # a softmax of log p gives p back


fruit = ["<sos>", "<eos>", "a", "an", "pear", "plum", "fig", "apple"]


def phrase(size, end=0.0):
    """What a beam of this size writes."""
    table = fruits(end)
    tokens, _ = beam(lambda prefixes: table[prefixes[:, -1]], 0, 1, size, 5)
    return " ".join(fruit[i] for i in tokens[1:-1])


phrase(1), phrase(2)

# %% [markdown]
# ### Yours: nothing is likelier
#
# Suppose `<eos>` may come at once, with probability `end`, and all else is a little less
# probable. Find an `end` for which greedy decoding still writes a fruit, and a beam of two
# writes *nothing*.

# %% tags=["yours"]
end = 0.33  # yours: a probability
intervene(
    "greedy writes a fruit, and a beam of two writes nothing",
    end,
    run=lambda end: (phrase(1, end), phrase(2, end)),
    holds=lambda both: both[0] != "" and both[1] == "",
    among=lambda end: 0 < end < 1,
    shows="greedy writes “{result[0]}”, a beam of two “{result[1]}”",
    otherwise="Greedy compares it with the first word, the beam with whole phrases.",
)

# %% [markdown]
# Each further word makes a product smaller. So **a beam prefers short sentences**, and the
# wider it is, the more short ones it finds. Does that happen to a real model?

# %% tags=["predict"]
predict(
    "A translator that was trained for 125 steps only. From greedy to a beam of 4 to a "
    "beam of 16, its BLEU …",
    {
        "rises, and then falls": (
            True,
            "Four beginnings find better sentences. Sixteen find likelier ones, which "
            "are too short: what is likelier need not be better.",
        ),
        "rises, and rises a little more": "A wider beam finds a larger sum. Is that a "
        "better sentence?",
        "falls, and falls further": "Greedy cannot take a word back. Does that never "
        "cost anything?",
        "stays, as all of them are bad": "Even bad models have better and worse "
        "sentences in hand.",
    },
    concept="C152",
)

# %%
early = [row for row in rows if (row["way"], row["steps"]) == ("plain", 125)]
length = sum(len(pair.english) + 1 for pair in fresh[:60]) / 60
plots.show(draw.beams(early, length), "beams")

# %% [markdown]
# (Stored: five seeds, 60 fresh sentences.) After 624 steps greedy and both beams are at 100,
# in three seeds: there is nothing left to improve. In between lie real translators, and for
# them Koehn and Knowles ([2017](https://aclanthology.org/W17-3204)) found the same
# curve. The paper used a beam of 4, and favoured longer sentences a little (section 6.1).

# %% tags=["claim"]
# The proof
claim("a beam of one writes a pear, a beam of two an apple",
      (phrase(1), phrase(2)) == ("a pear", "an apple"))
claim("after 125 steps a beam of 4 has a higher BLEU than greedy and than a beam of 16",
      all(row["fresh: bleu 4"] > max(row["fresh: bleu 1"], row["fresh: bleu 16"])
          for row in early))
claim("wider beams write shorter sentences, and with 16 they are too short",
      all(row["fresh: tokens 1"] > row["fresh: tokens 4"] > row["fresh: tokens 16"]
          and row["fresh: tokens 16"] < length - 0.5 for row in early))
claim("after 624 steps greedy and both beams write the same",
      all(row["fresh: bleu 1"] > 99 and row["fresh: bleu 16"] > 99 for row in as_in_11))

# %% [markdown]
# One point of it now, with your own beam search, and its tree. Before you move the slider: does
# the beginning that wins lead at each step?

# %% tags=["nbval-ignore-output"]
from course_lib.experiments.beam_tree import traced
from course_lib.experiments.translators import Translator

young = Translator(0, steps=125)
young.train()
with torch.no_grad():
    again = {size: young.by_beam(fresh[:60], size, beam) for size in (1, 4)}
print({size: (round(found[f"bleu {size}"], 1), round(found[f"tokens {size}"], 2))
       for size, found in again.items()})

# %% tags=["nbval-ignore-output"]
source = young.french.encode(["Jane visite l' Afrique en septembre".split()])


def step(prefixes):
    return young.model(source.expand(len(prefixes), -1), prefixes)[:, -1]


trees = {f"beam of {size}": traced(beam, step, young.english.words, BOS, EOS, size, 12)
         for size in (1, 2, 4)}
instruments.show("beam-tree", "instrument-beam-tree", searches=trees)

# %% tags=["claim"]
# The proof
with_4 = [row["fresh: bleu 4"] for row in early]
claim("a beam of 4, run here, differs from the stored one by less than seeds do",
      abs(again[4]["bleu 4"] - with_4[0]) < max(with_4) - min(with_4))
claim("and here, too, it is above greedy", again[4]["bleu 4"] > again[1]["bleu 1"])

# %% [markdown] name="label-smoothing"
# ## Label smoothing
#
# With $-\log p$ a model is never sure enough: 0.999 costs less than 0.99. The paper has **label
# smoothing** (section 5.4): the right word is to get 0.9, and the other 0.1 is spread evenly
# over *all* words. With five words, the right one among them, it is to get 0.92.

# %%
ps = torch.linspace(0.5, 0.9999, 500)
others = ((1 - ps) / 4).log()
log_p = torch.stack([ps.log(), *[others] * 4], dim=1)  # (500, 5)
first = torch.zeros(500, dtype=torch.long)  # the right word is word 0
plain, soft = (F.cross_entropy(log_p, first, label_smoothing=by, reduction="none")
               for by in (0.0, 0.1))
best = ps[soft.argmin()].item()
plots.show(draw.smoothed(ps, plain, soft, best), "smoothed")

# %% [markdown]
# **Perplexity** is e to the mean loss: 1 for a model that is sure and right. The paper says
# that smoothing makes perplexity worse and BLEU better.

# %% tags=["predict"]
predict(
    "Our translator, trained with smoothing for 624 steps: perplexity and BLEU beside "
    "the plain one?",
    {
        "perplexity worse, BLEU as it was": (
            True,
            "It was told never to be sure. Each French sentence of ours has one right "
            "translation, so there is nothing to gain by that.",
        ),
        "perplexity worse, BLEU better": "So the paper found, for real English and "
        "German. Is there room above 100?",
        "perplexity better, BLEU as it was": "Whose loss is smallest at 0.92?",
        "both as they were": "What does the curve say about 0.9999?",
    },
    concept="C154",
)

# %%
for steps in (624, 125):
    for way in ("plain", "smoothed"):
        print(f"{steps} steps, {way:9} perplexity {of_way(way, steps, 'perplexity')},",
              f"BLEU {of_way(way, steps, 'fresh: bleu 1')}")

# %% [markdown] name="test-of-a-loss"
# ## A wrong loss does not crash
#
# Training goes on, towards something else. So test it.
#
# ### Exercise 2: `is_token_mean`
#
# ★★☆ · 10 minutes · about 5 lines
#
# Write a function that gets a loss, calls it, and says True or False: is it the mean over all
# real tokens? Five losses without names come from `suspects("is_token_mean")`; the check knows
# more. Let no wrong one through, and accuse no right one.
#
# <details><summary>Hint 1: a question</summary>
#
# For which batch is the mean over sentences of means the same as the mean over tokens? For
# which logits does it not matter which tokens count? Which argument might somebody have
# ignored?
#
# </details>
# <details><summary>Hint 2: the steps</summary>
#
# 1. targets of two lengths, filled up with a pad_id that is not 0
# 2. random logits, small and then very large
# 3. the right number each time, from torch or by hand; near enough is right
#
# </details>

# %% tags=["exercise"]
from course_lib.black_box_tests import is_token_mean

# %%
tests_a_loss = check(is_token_mean).verified

# %% tags=["predict"]
predict(
    "A loss that takes the mean of the sentences' means, instead of the mean over "
    "tokens. What does a model learn from it?",
    {
        "short sentences count more, per word": (
            True,
            "A word of a sentence of 3 weighs three times as much as one of 9. It "
            "trains, and what it learns is shifted.",
        ),
        "the same: both are means": "Only if all sentences are equally long.",
        "nothing: the loss does not fall": "It falls like any other mean.",
        "long sentences count more, per word": "Each sentence weighs the same. How "
        "many words share it?",
    },
    concept="C155",
)

# %%
from course_lib.checks import suspects

loss_of_tokens = mine("masked_cross_entropy")
five = suspects("is_token_mean")
verdicts = {str(suspect): tests_a_loss(suspect) for suspect in five}
print(verdicts, "and yours of lesson 11:", tests_a_loss(loss_of_tokens))

# %% tags=["claim"]
# The proof
claim("the smoothed loss is smallest at 0.92, the plain one at certainty",
      abs(best - (0.9 + 0.1 / 5)) < 0.002 and plain.argmin() == 499)
claim("seed by seed, smoothing makes perplexity worse at three budgets",
      all(soft > hard for steps in (125, 624, 3120) for hard, soft in zip(
          of_way("plain", steps, "perplexity"), of_way("smoothed", steps, "perplexity"),
          strict=True)))
claim("after 624 steps it changes BLEU by less than one point",
      min(of_way("smoothed", 624, "fresh: bleu 1")) > 99)
claim("two of five losses are right, and yours is one more",
      sum(verdicts.values()) == 2 and tests_a_loss(loss_of_tokens))

# %% [markdown] name="ward"
# ## Five broken Transformers
#
# A Transformer with a bug seldom crashes. It trains, and is bad. Lesson 11 had a small task:
# six digits are to be written backwards. A healthy model writes 99 of 100 rows after 200 steps.
# In each of five patients, A to E, **one** of five parts is wrong:
#
# | part | what it gets and gives |
# |---|---|
# | `mask` | T → what the decoder may see, (T, T) |
# | `shown` | labels → what the decoder is shown |
# | `place` | T → what is added to the embeddings, (T, 32) |
# | `join` | x and what a sublayer says → what goes into the norm |
# | `query` | x → what an attention gets as its queries |
#
# First the symptoms. Two dotted lines help. A blind guess of six digits costs 1.97 per token
# (`<eos>` is free). Who knows the digits, and not their order, pays 0.80.

# %%
ward = {name: patients.trained(patients.admitted(name), Model=Transformer)
        for name in "ABCDE"}
healthy = patients.trained(Model=Transformer)
blind, any_order = 6 * torch.tensor(10.0).log().item() / 7, patients.cost_of_any_order()
plots.show(draw.ward(ward, healthy, blind, any_order), "ward")

# %% [markdown]
# Where do they look? One row, *4 9 2 0 3 7*, is to be written as *7 3 0 2 9 4*. Above: where
# the last decoder layer looks in what it is shown. Below: where in the source. (s is `<sos>`,
# the dot is `<eos>`.)

# %%
seen = {"healthy": patients.sees(healthy.patient)} | {
    name: patients.sees(course.patient) for name, course in ward.items()}
plots.show(draw.looks(seen), "looks")

# %% tags=["predict"]
predict(
    "B and D have a loss of nearly zero and write nothing. What tells them apart?",
    {
        "D looks to the right of its own place": (
            True,
            "Its answer stands one place further on. B needs to look nowhere else: it "
            "is shown its answer.",
        ),
        "B has learned faster, and so it is better": "Too fast: what was there to "
        "learn?",
        "D reads the source, and B does not": "Look at the lower row. Do they need it?",
        "nothing does: both are cheats": "In what they are shown they differ. Look "
        "again.",
    },
    concept="C156",
)

# %% tags=["predict"]
predict(
    "A comes to rest a little above the lower dotted line. What does it not know?",
    {
        "where a digit stands": (
            True,
            "It knows which digits there are, and guesses among their orders.",
        ),
        "which digits there are": "Then it would rest at the upper line.",
        "when to stop": "`<eos>` comes after six digits, always, and is nearly free.",
        "what it has said already": "Its mask and its shift are in order: what would "
        "the curve be then?",
    },
    concept="C156",
)

# %% [markdown]
# ### Yours: five cures
#
# Examine the parts: `part_of("A").mask(4)` calls the mask of A. Then replace the part that is
# wrong: a cure is a dict of one part, its name and a right function. The patient is trained
# again, and has to write. Functions of yours that may be of use: `causal_mask(T)`,
# `shift_right(labels, BOS)`, `sinusoidal_positions(T, 32)`.

# %%
causal_mask, shift_right = mine("causal_mask"), mine("shift_right")
sinusoidal_positions = mine("sinusoidal_positions")
part_of = patients.admitted
print(part_of("A").mask(3), part_of("A").join(1, 2), part_of("A").query(1))


# %%
def cured(name):
    return lambda cure: patients.treated(name, cure, Model=Transformer)


def one_part(cure):
    return len(cure) == 1 and all(part in patients.HEALTHY._fields for part in cure)


# %% tags=["yours"]
cure_of_A = {"place": lambda T: sinusoidal_positions(T, 32)}  # yours: {part: function}
intervene("A is healed", cure_of_A, run=cured("A"), holds=patients.is_healed,
          among=one_part, otherwise=patients.advice)

# %% tags=["yours"]
cure_of_B = {"shown": lambda ids: shift_right(ids, BOS)}  # yours: {part: function}
intervene("B is healed", cure_of_B, run=cured("B"), holds=patients.is_healed,
          among=one_part, otherwise=patients.advice)

# %% tags=["yours"]
cure_of_C = {"query": lambda x: x}  # yours: {part: function}
intervene("C is healed", cure_of_C, run=cured("C"), holds=patients.is_healed,
          among=one_part, otherwise=patients.advice)

# %% tags=["yours"]
cure_of_D = {"mask": causal_mask}  # yours: {part: function}
intervene("D is healed", cure_of_D, run=cured("D"), holds=patients.is_healed,
          among=one_part, otherwise=patients.advice)

# %% tags=["yours"]
cure_of_E = {"join": lambda x, says: x + says}  # yours: {part: function}
intervene("E is healed", cure_of_E, run=cured("E"), holds=patients.is_healed,
          among=one_part, otherwise=patients.advice)

# %% tags=["predict"]
predict(
    "Which of the five patients would be healed by five times as many steps?",
    {
        "C, whose queries are too loud": (
            True,
            "Its softmax is nearly a choice at first, with small slopes. It learns "
            "late, and then as well. That bug is found only beside a healthy model.",
        ),
        "none: a bug is a bug": "C's loss was still falling.",
        "A and E, whose loss is still high": "Can a model without places find out "
        "about order, in any number of steps?",
        "all of them: training finds a way": "B and D have no loss left to learn from.",
    },
    concept="C156",
)

# %%
bugs = stored("11-patients")


def written_right(case, steps):
    """The stored shares of a case, a number per seed."""
    return [row["right"] for row in bugs
            if (row["case"], row["steps"]) == (case, steps)]


cases = ("healthy", "mask", "shown", "place", "join", "query", "query, small start")
for case in cases:
    print(f"{case:19} 200 steps: {written_right(case, 200)}",
          f"  1,000 steps: {written_right(case, 1000)}")

# %% [markdown]
# (Stored: the share written without a mistake, three seeds.) In the last row the first $W_q$ are
# four times smaller, which undoes the bug where it matters: at the start.
#
# **A loss of nearly zero proves nothing, and a low loss late hides a bug. Keep a healthy model
# beside yours, and let both write.**

# %% tags=["claim"]
# The proof
last = {name: course.curve[-20:].mean() for name, course in ward.items()}
claim("B and D have a loss of nearly zero and write nothing",
      max(last["B"], last["D"]) < 0.1 and max(ward["B"].right, ward["D"].right) < 0.1)
claim("A rests a little above a guess of the order, E below a blind guess",
      any_order < last["A"] < any_order + 0.4 and any_order + 0.4 < last["E"] < blind)
claim("four of five bugs leave nothing written, after five times the steps, too",
      max(max(written_right(case, steps)) for case in ("mask", "shown", "place", "join")
          for steps in (200, 1000)) < 0.1)
claim("queries that are too loud come late, and a small start is as good as the scale",
      max(written_right("query", 200)) < 0.95 < min(written_right("query", 1000))
      and min(written_right("query, small start", 200)) > 0.95)

# %% [markdown] name="your-own-pairs"
# ## Further: the same code on real sentences
#
# <details><summary>Your own file of pairs</summary>
#
# If you have a file of real pairs (one a line: English, a tab, French, as
# [Tatoeba](https://tatoeba.org/downloads) exports them), name it in the cell below. From a few
# thousand pairs the model learns to write something like English. To translate, it would need
# millions.
#
# </details>

# %%
PAIRS = None  # for example "fra.txt"

if PAIRS is None:
    print("No file is named, so there is nothing to do here.")
else:
    from course_lib.experiments import real_pairs

    lines, score = real_pairs.learn(PAIRS, Transformer, greedy)
    print(*lines, f"BLEU {score:.1f}", sep="\n")

# %% [markdown]
# ## Summary
#
# - The last layer's cross-attention points at the word that says the same, and that word is
#   mostly needed: hide it, and something else is said. Not always: a key may hold what other
#   words said.
# - Exposure bias: a model goes on from its own words, and was trained on right ones. Ours trusted
#   the word before so much that it stammered; wrong words shown in training healed most of it.
# - BLEU: four clipped precisions and a brevity penalty, over a whole corpus.
# - A beam keeps several beginnings. It finds likelier sentences, and likelier is shorter: after
#   little training a beam of 4 helped and one of 16 did harm, after enough neither mattered.
# - Label smoothing asks for 0.9 and a little. Perplexity got worse, and nothing else changed
#   where each sentence has one right translation.
# - Bugs that do not crash show in what a model writes, in its patterns, and beside a healthy one.
#
# **Think about it.** The stammering translator of lesson 11 had a cross-attention, too. How
# would you find out whether it looked at the right French words while it said the wrong English
# ones?
#
# <details><summary>An answer</summary>
#
# `alignments.right_links(of, people)`: of the words of people as objects, with the right words
# shown, the last layer points at the right French one for 86 %, and yet hardly a sentence comes
# out. To look at the right place is not to do the right thing with it.
#
# </details>
#
# **In the paper.** [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), sections 5.4 (label
# smoothing) and 6.1 (beam, results), table 2. Beam search:
# [Sutskever, Vinyals and Le 2014](https://arxiv.org/abs/1409.3215), section 3.2. Attention and
# explanation: [Jain and Wallace 2019](https://arxiv.org/abs/1902.10186), and the reply of
# [Wiegreffe and Pinter 2019](https://arxiv.org/abs/1908.04626).
#
# **Next.** Take the source away, and with it the cross-attention. What is left predicts the next
# word of any text, and lesson 12 makes a language model of it.
