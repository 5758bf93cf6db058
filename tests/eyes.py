"""How colours are seen: by all eyes, by those without one kind of cone, and in grey."""

import numpy as np
from matplotlib.colors import to_rgb

# How linear RGB is seen without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1.0.
EYES = {
    "all cones": np.eye(3),
    "no red cones": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                              [-0.003882, -0.048116, 1.051998]]),
    "no green cones": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                                [-0.011820, 0.042940, 0.968881]]),
    "no blue cones": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                               [0.004733, 0.691367, 0.303900]]),
}


def seen(colours, eyes):
    """Linear RGB (N, 3) of sRGB colours (N, 3 or 4), as these eyes have it."""
    rgb = np.asarray(colours, dtype=float)[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.clip(linear @ EYES[eyes].T, 0, 1)


def luminance(linear):
    """Of linear RGB, from 0 to 1 (Rec. 709)."""
    return linear @ [0.2126, 0.7152, 0.0722]


def lab(linear):
    """CIE L*a*b* of linear RGB under daylight: distances in it are what an eye sees."""
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]] @ linear
    t = xyz / [0.9505, 1.0, 1.089]
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2)."""
    dark, bright = sorted(luminance(seen([to_rgb(c) for c in (one, other)], "all cones")))
    return (bright + 0.05) / (dark + 0.05)


def apart(one, other, eyes):
    """How far two colours are apart to these eyes, in CIE L*a*b*: 10 is told side by side, 30 at a glance."""
    first, second = (lab(seen([to_rgb(colour)], eyes)[0]) for colour in (one, other))
    return float(np.linalg.norm(first - second))


def grey(colour):
    """The lightness L* of a colour, from 0 to 100: all that is left of it in grey."""
    return float(lab(seen([to_rgb(colour)], "all cones")[0])[0])
