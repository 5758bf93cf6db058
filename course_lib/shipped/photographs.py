"""Two photographs. They come inside scikit-learn, which every lesson's environment has: no copy of ours."""

import torch
import torch.nn.functional as F

SIDE = 224  # pixels: what most networks for photos read
NAMES = {"pagoda": "china.jpg", "flower": "flower.jpg"}
CREDITS = {"pagoda": "danielbuechele, flickr.com, CC BY 2.0, in scikit-learn's load_sample_images",
           "flower": "dolor_ipsum, flickr.com, CC BY 2.0, in scikit-learn's load_sample_images"}


def photographs():
    """{"pagoda": …, "flower": …}: float32 (3, 427, 640) each, from 0 to 1, red, green and blue."""
    from sklearn.datasets import load_sample_image

    return {name: torch.from_numpy(load_sample_image(file).copy()).permute(2, 0, 1) / 255
            for name, file in NAMES.items()}


def squared(photos):
    """Bring photos to one size; what sticks out at the longer side is cut off.

    photos:  list of (3, H, W) tensors from 0 to 1, of any size
    returns: (N, 3, 224, 224) from 0 to 1
    """
    out = []
    for photo in photos:
        side = min(photo.shape[-2:])
        top, left = (photo.shape[-2] - side) // 2, (photo.shape[-1] - side) // 2
        square = photo[None, :, top : top + side, left : left + side]
        out.append(F.interpolate(square, size=(SIDE, SIDE), mode="bilinear", antialias=True, align_corners=False))
    return torch.cat(out)
