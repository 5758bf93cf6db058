"""Three pictures that move, of what one will have built; each makes sense while it stands, and needs no script."""

import base64
import io
import math
from functools import cache
from html import escape

from PIL import Image

from course_lib import shipped
from course_lib.positions import sinusoidal_positions
from course_lib.shipped.photographs import CREDITS

WORD = 0.9  # seconds from one word to the next
PHOTO, LAYER, SIDE = "flower", 11, 144  # pixels
HEAD_SECONDS = 1.5
WIDTH, PAIRS, POSITION = 32, (0, 2, 4, 6), 5  # of the encoding; which of its hands; where they stand without motion


def translation(french, english):
    """A sentence, and its translation that appears word by word."""
    words = english.split()
    spans = " ".join(f'<b style="--delay:{i * WORD:g}s;--cycle:{(len(words) + 5) * WORD:g}s">{escape(word)}</b>'
                     for i, word in enumerate(words))
    return f'<p class="said">{escape(french)}<br>→ <span class="by-word">{spans}</span></p>'


@cache
def looking():
    """A photo, and over it the six heads of a layer of a real Vision Transformer, one after the other."""
    found = shipped.photo_looks()
    photo = Image.fromarray((found.images[PHOTO].permute(1, 2, 0) * 255).byte().numpy()).resize((SIDE, SIDE))
    heads = found.heads[PHOTO][LAYER, :, 1:]  # without the class token itself: (H, N)
    covers = "".join(f'<img alt="" src="{_cover(row)}" style="--delay:{h * HEAD_SECONDS:g}s;'
                     f'--cycle:{len(heads) * HEAD_SECONDS:g}s">' for h, row in enumerate(heads))
    plain = f'<img alt="" width="{SIDE}" height="{SIDE}" src="{_data(photo, "JPEG", quality=70)}">'
    says = "A photo of a flower. Beside it the same photo, bright only where one head of the last layer looks."
    return f'<div class="looking" role="img" aria-label="{says}">{plain}<span>{plain}{covers}</span></div>'


def _cover(row):
    """A dark cover for a photo, open where a head looks."""
    side = math.isqrt(len(row))
    dark = ((1 - row / row.max()) * 215).byte().reshape(side, side).numpy()
    cover = Image.new("LA", (side, side))
    cover.putalpha(Image.fromarray(dark))
    return _data(cover, "PNG", optimize=True)


def _data(image, kind, **how):
    file = io.BytesIO()
    image.save(file, kind, **how)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"


def credit():
    """Whose photo it is."""
    return CREDITS[PHOTO]


def hands():
    """Four hands of a positional encoding, each slower than the one before; a word a second passes."""
    row = sinusoidal_positions(2, WIDTH)[1].tolist()  # at position 1 a hand stands at its frequency
    dials = "".join(_dial(60 + 110 * i, math.atan2(row[2 * pair], row[2 * pair + 1])) for i, pair in enumerate(PAIRS))
    return ('<svg class="hands" viewBox="0 0 450 120" role="img" aria-label="Four dials with a hand each. The first '
            f'hand turns by one radian for each word, every other one more slowly.">{dials}</svg>')


def _dial(x, omega):
    how = f"--stands:{math.degrees(omega * POSITION):.1f}deg;--turn:{2 * math.pi / omega:.2f}s"
    return f'<g transform="translate({x} 60)"><circle r="46"/><line y2="-40" style="{how}"/></g>'
