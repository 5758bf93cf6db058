"""Pictures of the course: every figure with alt text, every heat map with one colour map."""

import base64
import io
from html import escape

import matplotlib.pyplot as plt
from IPython.display import display

WEIGHTS = "viridis"  # for values from zero up, such as attention weights; readable in greyscale
SIGNED = "PuOr"  # for values on both sides of zero


def show(figure, alt):
    """Display a matplotlib figure as an image that a screen reader can read out, and close it.

    alt: what the picture shows, in a sentence or two
    """
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=100, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    data = base64.b64encode(png.getvalue()).decode()
    image = f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" style="max-width:100%">'
    display({"text/html": image, "text/plain": alt}, raw=True)


def heat_map(axes, matrix, rows, columns, title="", numbers=True):
    """Draw a small matrix with named rows and columns; the numbers stand in the squares, so colour is not needed.

    matrix: (R, C) tensor; rows and columns: R and C names
    """
    signed = bool((matrix < 0).any())
    limit = float(matrix.abs().max()) or 1.0
    axes.imshow(matrix, cmap=SIGNED if signed else WEIGHTS, vmin=-limit if signed else 0, vmax=limit)
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title)
    if numbers:
        for r, row in enumerate(matrix.tolist()):
            for c, value in enumerate(row):
                dark = abs(value) > 0.6 * limit if signed else value < 0.6 * limit
                ink = "white" if dark else "black"
                axes.text(c, r, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=8)
