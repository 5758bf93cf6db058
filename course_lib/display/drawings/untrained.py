"""The drawings of lesson 02: a word that turns towards its company, and words that become alike."""

import matplotlib.pyplot as plt

from course_lib.display import style


def plane(tips, features):
    """{name: (D,) vector}: arrows in the plane of the first two features, with their true angles."""
    figure, axis = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
    for name, tip in tips.items():
        x, y = tip[:2].tolist()
        colour = style.ACCENT if name.startswith("with") else style.INK
        axis.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2.2, "color": colour, "shrinkA": 0,
                                                      "shrinkB": 0})
        axis.annotate(name, (x, y), (6, 5), textcoords="offset points", color=colour)
    axis.set(xlabel=features[0], ylabel=features[1], xlim=(0, 2.6), ylim=(-0.12, 1.7), aspect="equal")
    return figure


def apart(lines):
    """{what a round makes of x: (times + 1,) shares}: how far words are apart, round by round."""
    figure, axis = plt.subplots(figsize=(6.4, 3.5), layout="constrained")
    for (name, shares), colour, dash, mark in zip(lines.items(), style.LINES, ("-", "--", ":"), "os^", strict=False):
        axis.plot(range(len(shares)), shares, dash, color=colour, marker=mark, markersize=4, label=name)
    axis.set(xlabel="round", ylabel="how far apart,\nas a share of their length", ylim=(-0.03, 1), xlim=(-0.3, None))
    axis.set_xticks(range(0, 21, 5))
    axis.legend(title="a round turns x into", frameon=False, loc="center right")
    return figure
