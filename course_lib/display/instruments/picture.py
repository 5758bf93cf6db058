"""Picture: choose a layer and a head, and see how much the class token takes of each patch, over the picture."""

import base64
import io

import torch

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import COLOURS, Sheet
from course_lib.display.instruments.pen import words as said

TITLE = "Where the class token looks"
SCALE = "0123456789abcdefghijklmnopqrstuvwxyz"  # a share as one letter: from none to the largest of its map
SIDE = 128  # pixels of a picture, at most: with two photos an instrument stays small


def given(pictures, start=(0, 0)):
    """What the script gets.

    pictures: 1 to 6 pictures, {name: (image, layers)}; image: (C, S, S) from 0 to 1, of 1 or 3 channels;
              layers: {name: {name of a map: (N + 1,)}}, shares that sum to 1, the class token's own first; 1 to 12
              layers of 1 to 14 maps, of the same names everywhere
    start:    the layer and the map at the start, counted from 0
    """
    if not 1 <= len(pictures) <= 6:
        raise ValueError(f"there are {len(pictures)} pictures, and there is room for 1 to 6")
    plainly, names = [], None
    for name, (image, layers) in dict(pictures).items():
        layers = [[str(layer), [[str(of), _letters(f"{of} of {layer}", shares)] for of, shares in dict(maps).items()]]
                  for layer, maps in dict(layers).items()]
        mine = [[layer, [one[0] for one in maps]] for layer, maps in layers]
        if names not in (None, mine):
            raise ValueError(f"the layers and maps of {name} have other names than those of the picture before it")
        names = mine
        plainly.append([str(name), [_as_image(name, image), layers]])
    if not 1 <= len(names) <= 12 or not 1 <= len(names[0][1]) <= 14:
        raise ValueError("there is room for 1 to 12 layers of 1 to 14 maps each")
    if any(maps != names[0][1] for _, maps in names):
        raise ValueError("the maps of one layer have other names than those of the layer before it")
    layer, of = start
    if not (0 <= layer < len(names) and 0 <= of < len(names[layer][1])):
        raise ValueError(f"start is {tuple(start)}, and has to be a layer and a map, counted from 0")
    return {"pictures": plainly, "start": [int(layer), int(of)]}


def _letters(name, shares):
    """(the class token's own share, the largest share of a patch, one letter for each patch)."""
    if isinstance(shares, list | tuple) and len(shares) == 3 and isinstance(shares[2], str):
        return list(shares)  # written already
    own, *others = plain(f"the shares of {name}", shares, None, digits=4)
    if int(len(others) ** 0.5) ** 2 != len(others) or not others:
        raise ValueError(f"the shares of {name} are {len(others)} and one, and the patches have to fill a square")
    if min(own, *others) < 0 or abs(own + sum(others) - 1) > 0.03:
        raise ValueError(f"the shares of {name} have to be 0 or more, and sum to 1")
    most = max(others) or 1.0
    return [own, max(others), "".join(SCALE[round((len(SCALE) - 1) * share / most)] for share in others)]


def _as_image(name, image):
    """A picture as the address of a PNG of few pixels, or a JPEG of many."""
    from PIL import Image

    if isinstance(image, str):
        return image
    image = torch.as_tensor(image).detach().cpu().float()
    if image.ndim != 3 or image.shape[0] not in (1, 3) or image.shape[1] != image.shape[2]:
        raise ValueError(f"the image of {name} has shape {tuple(image.shape)}, and has to have (1 or 3, S, S)")
    levels = (255 * image.clamp(0, 1)).round().byte().permute(1, 2, 0).numpy()
    picture, file = Image.fromarray(levels if levels.shape[2] == 3 else levels[..., 0]), io.BytesIO()
    kind = "png" if picture.width < 64 else "jpeg"  # of few pixels each is seen as a square
    picture = picture.resize((min(SIDE, picture.width),) * 2, Image.Resampling.LANCZOS)
    picture.save(file, kind, quality=40, optimize=True)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"


def still(pictures, start):
    """The first picture, and over it the first maps of the layer at the start."""
    name, (image, layers) = pictures[0]
    layer, maps = layers[start[0]]
    side = 214
    sheet = Sheet(960, 372)
    crisp = ' style="image-rendering:pixelated"' * image.startswith("data:image/png")
    sheet.parts.append(f'<defs><image id="seen" width="{side}" height="{side}" href="{image}"{crisp}/></defs>')
    sheet.text(28, 38, TITLE, size=18, bold=True)
    sheet.text(28, 64, f"{name}, {layer}", "soft", 14)
    for n, (of, (own, most, letters)) in enumerate([["as it is", (0.0, 0.0, "")], *maps[:3]]):
        x = 28 + n * (side + 16)
        sheet.text(x, 92, of, "weight", 13, bold=True)
        sheet.parts.append(f'<use href="#seen" x="{x}" y="102"/>')
        if letters:
            _squares(sheet, x, 102, side, letters)
            for line, words in enumerate((f"largest share {said(most, 3)}", f"itself {said(own)}")):
                sheet.text(x, 336 + 17 * line, words, "soft", 12)
    sheet.text(28, 336, "The area of a square", "soft", 12)
    sheet.text(28, 353, "is the share of its patch.", "soft", 12)
    return sheet.svg()


def _squares(sheet, left, top, side, letters):
    """On each patch a square whose area is its share; those that would hardly be seen are left out."""
    count = round(len(letters) ** 0.5)
    cell, d = side / count, ""
    for n, letter in enumerate(letters):
        edge = round(0.94 * cell * (SCALE.index(letter) / (len(SCALE) - 1)) ** 0.5, 1)
        if edge > 0.35 * cell:
            x, y = left + (n % count + 0.5) * cell - edge / 2, top + (n // count + 0.5) * cell - edge / 2
            d += f"M{x:.0f} {y:.0f}h{edge:g}v{edge:g}h-{edge:g}z"
    sheet.parts.append(f'<path d="{d}" fill="{COLOURS["weight"]}" opacity="0.82"/>')
