"""Two photographs. They come inside scikit-learn, which every lesson's environment has: no copy of ours."""

import torch

NAMES = {"pagoda": "china.jpg", "flower": "flower.jpg"}
CREDITS = {"pagoda": "danielbuechele, flickr.com, CC BY 2.0, in scikit-learn's load_sample_images",
           "flower": "dolor_ipsum, flickr.com, CC BY 2.0, in scikit-learn's load_sample_images"}


def photographs():
    """{"pagoda": …, "flower": …}: float32 (3, 427, 640) each, from 0 to 1, red, green and blue."""
    from sklearn.datasets import load_sample_image

    return {name: torch.from_numpy(load_sample_image(file).copy()).permute(2, 0, 1) / 255
            for name, file in NAMES.items()}
