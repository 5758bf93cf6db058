"""The drawings of lesson 12b: n-grams over n, what grows and what it gains, a curve over training steps."""

import matplotlib.pyplot as plt

from course_lib.display import style


def over_n(curves):
    """Bits per character on the validation text over n: {name: {n: bits}}."""
    figure, axis = plt.subplots(figsize=(6.4, 3), layout="constrained")
    looks = ((style.ACCENT, "o-"), (style.INK, "s--"))
    for (name, bits), (colour, look) in zip(curves.items(), looks, strict=False):
        axis.plot(list(bits), list(bits.values()), look, color=colour, label=name)
    axis.set(xlabel="n", ylabel="bits per character, validation", ylim=(1.5, 5))
    axis.legend(frameon=False)
    return figure


def grown(rows, level, says):
    """Bits per character on the test text, a dot per training: {what grew: bits}; level: of counting."""
    figure, axis = plt.subplots(figsize=(8, 0.36 * len(rows) + 0.9), layout="constrained")
    for n, bits in enumerate(rows.values()):
        axis.plot(bits, [n] * len(bits), "o", color=style.ACCENT, markersize=5, alpha=0.8)
    axis.axvline(level, color=style.INK, linestyle="--", linewidth=1)
    axis.text(level, -0.8, says, ha="center", va="bottom")
    axis.set(yticks=range(len(rows)), yticklabels=list(rows), xlabel="bits per character beyond counting, test",
             ylim=(len(rows) - 0.4, -0.7))
    return figure


def curve(points, levels, rules=None):
    """Bits per character over the steps of training, a dot per training, and what counting needs.

    points: {steps: bits of each training}
    levels: {name: bits}, drawn as lines across
    rules:  {name: {steps: bits}}, what a rule expects
    """
    figure, axis = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
    for steps, bits in points.items():
        axis.plot([steps] * len(bits), bits, "o", color=style.ACCENT, markersize=5, alpha=0.8,
                  label="GPT, three trainings" if steps == min(points) else None)
    for (name, bits), dash in zip(levels.items(), ("--", ":"), strict=False):
        axis.axhline(bits, color=style.INK, linestyle=dash, linewidth=1.2, label=name)
    for (name, expected), mark in zip((rules or {}).items(), "x+^", strict=False):
        axis.plot(list(expected), list(expected.values()), mark, color=style.INK, markersize=8, label=name)
    axis.set_xscale("log", base=2)
    ticks = sorted({*points, *(steps for expected in (rules or {}).values() for steps in expected)})
    axis.set_xticks(ticks, [f"{steps:,}" for steps in ticks])
    axis.minorticks_off()
    axis.set(xlabel="steps", ylabel="bits per character, test")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
