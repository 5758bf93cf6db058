"""What a real Vision Transformer of 22 million parameters makes of two photographs: computed once, for all to see."""

from typing import NamedTuple

import torch

from course_lib.shipped.photographs import photographs, squared
from course_lib.shipped.things import read


class PhotoLooks(NamedTuple):
    """What ViT-S/14 (course_lib.pretrained.vit) computed; there are 16 by 16 patches, and N = 256.

    images:    {name: (3, 224, 224)}, from 0 to 1
    heads:     {name: (12, 6, N + 1)}, for each layer and head the row of the class token, itself first
    rollouts:  {name: (12, N + 1)}, its rollout up to each layer
    above:     {name: (N + 1,)}, the rollout of all layers but the first
    positions: (N, 384), the learned row of each place
    templates: (16, 3, 14, 14), the main directions of the matrix that makes a token of a patch
    """

    images: dict
    heads: dict
    rollouts: dict
    above: dict
    positions: torch.Tensor
    templates: torch.Tensor


def photo_looks():
    """Where a real Vision Transformer looks in two photographs, a PhotoLooks."""
    arrays = {name: torch.from_numpy(array) for name, array in read("photo-looks")[0].items()}
    photos = photographs()
    by_name = [dict(zip(photos, of, strict=True))
               for of in (squared(photos.values()), arrays["heads"], arrays["rollouts"], arrays["above"])]
    return PhotoLooks(*by_name, arrays["positions"], arrays["templates"].unflatten(1, (3, 14, 14)))
