"""One thread for each worker: with more, workers on the same cores wait for each other most of the time."""

import torch

torch.set_num_threads(1)
