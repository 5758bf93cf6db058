"""The drawings of lesson 16: a cache that grows, bytes over the length, numbers per second, bits that are left."""

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, StrMethodFormatter

from course_lib.display import style
from course_lib.display.diagrams import Sheet, Spot

CELL = 26  # pixels: a token of a strip


def strip(words):
    """Keys and values at each step: those that are new are filled, those that were kept are outlines."""
    sheet = Sheet(200 + CELL * 2.6 * len(words), 64 + 74 * len(words))
    wide = CELL * 2.6
    sheet.text(96, 26, "new token", 13, anchor="end", bold=True)
    sheet.text(116, 26, "keys and values in the cache", 13, anchor="start", bold=True)
    for t, word in enumerate(words):
        y = 62 + 74 * t
        sheet.text(96, y + 18, word, 14, style.QUERY, "end", bold=True)
        for s, other in enumerate(words[: t + 1]):
            x = 116 + wide * s
            for row, colour in enumerate((style.KEY, style.VALUE)):
                spot = Spot(x, y + 19 * row, x + wide - 8, y + 19 * row + 16)
                sheet.rectangle(spot, colour if s == t else style.tint(colour, 0.1), colour, 1.2, 3)
            sheet.text(x + (wide - 8) / 2, y + 46, other, 11, style.SOFT)
    return sheet.svg()


def held(lengths, megabytes):
    """Memory that is kept for the gradients over the length of the text, a line per way."""
    figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
    for (name, values), look, colour in zip(megabytes.items(), ("s-", "o-"), (style.SOFT, style.ACCENT), strict=True):
        axis.loglog(lengths, values, look, color=colour, label=name)
    axis.set_xticks(lengths, [f"{T:,}" for T in lengths])
    _number_within_decades(axis)
    axis.set(xlabel="tokens", ylabel="MB kept for the gradients")
    axis.legend(frameon=False)
    return figure


def rates(sizes, found):
    """Numbers per second of several kinds of work over the size of the array."""
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    looks = ((style.SOFT, "s-"), (style.INK, "^--"), (style.ACCENT, "o-"))
    for (name, rate), (colour, look) in zip(found.items(), looks, strict=True):
        axis.loglog([size * 4 / 1024 for size in sizes], [r / 1e9 for r in rate], look, color=colour, label=name)
    axis.set_xticks([size * 4 / 1024 for size in sizes], [_bytes(size * 4) for size in sizes])
    _number_within_decades(axis)
    axis.set(xlabel="size of the array", ylabel="billion numbers per second")
    axis.legend(frameon=False)
    return figure


def bits(costs, whole):
    """What a model loses over the bits of its numbers: {bits: bits per character}; whole: with all 32."""
    figure, axis = plt.subplots(figsize=(6, 2.8), layout="constrained")
    axis.plot(list(costs), list(costs.values()), "o-", color=style.ACCENT)
    axis.axhline(whole, color=style.INK, linestyle="--", linewidth=1)
    axis.text(min(costs), whole, "32 bits", va="bottom", ha="right")
    axis.set(xlabel="bits for a number", ylabel="bits per character, test", xticks=list(costs))
    axis.set_yscale("log")
    axis.set_yticks([2, 3, 4, 6, 8], ["2", "3", "4", "6", "8"])
    axis.minorticks_off()
    axis.invert_xaxis()
    return figure


def _number_within_decades(axis):
    """Label a logarithmic axis at 1, 2 and 5 of each decade: some hold less than one."""
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.minorticks_off()


def _bytes(count):
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count // 2**10} KiB"
