"""Lesson 13: handwritten digits, read by its Vision Transformer and by rivals; which token may answer?"""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit
from course_lib.vision import ViT

READINGS = {"class token": lambda x: x[:, 0], "first patch": lambda x: x[:, 1], "last patch": lambda x: x[:, -1],
            "mean of patches": lambda x: x[:, 1:].mean(1)}


class Reader(ViT):
    """A ViT whose head reads what it is told to."""

    def __init__(self, read, seed):
        torch.manual_seed(seed)
        super().__init__(8, 2, 1, 10, 96, 4, 192, 2)
        self.read = read
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.xavier_uniform_(weight)

    def forward(self, images):
        x = self.embed(images)  # (B, N + 1, d_model), no dropout
        for layer in self.layers:
            x = layer(x)
        return self.head(self.read(x))


def halves(seed):
    """Training (1347 pictures, the last 300 for validation) and test (450): (images, labels) each."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    pictures, labels = torch.tensor(digits.images, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    seen, held_out = order[:1347], order[1347:]
    images = (pictures - pictures[seen].mean()) / pictures[seen].std()
    return (images[seen], labels[seen]), (images[held_out], labels[held_out])


def moved(images, generator):
    """The same pictures, each shifted, turned and stretched a little, at random.

    (B, 1, 8, 8) -> (B, 1, 8, 8)
    """
    random = torch.rand(4, len(images), generator=generator)
    shift_x, shift_y, turn, stretch = 2 * random - 1  # from -1 to 1
    size, angle = 1 + 0.05 * stretch, torch.deg2rad(6 * turn)
    cos, sin = size * angle.cos(), size * angle.sin()
    shift = 0.35 * 2 / images.shape[-1]  # a picture is 2 wide here
    maps = torch.stack([cos, -sin, shift * shift_x, sin, cos, shift * shift_y], -1)
    grid = F.affine_grid(maps.unflatten(-1, (2, 3)), images.shape, align_corners=False)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def batches(images, labels, epochs, seed, augment=True):
    """Batches of 32 pictures, moved anew in every epoch, or as they are."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        mixed = torch.randperm(len(labels), generator=generator)
        x = moved(images[mixed], generator) if augment else images[mixed]
        yield from list(zip(x.split(32), labels[mixed].split(32), strict=True))[: len(labels) // 32]


def trained(model, training, epochs, seed, augment=True):
    """Train a classifier of pictures by the lesson's recipe; return it in eval mode."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    steps = epochs * (len(training[1]) // 32)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.1,
                                                   cycle_momentum=False)
    fit(model, lambda model, x, y: F.cross_entropy(model(x), y), batches(*training, epochs, seed, augment),
        optimizer, schedule)
    return model.eval()


@torch.no_grad()
def accuracy(model, images, labels):
    """How often the largest logit is the right one."""
    return (model(images).argmax(-1) == labels).float().mean().item()


def reads(reading, seed, epochs=5):
    """Train a ViT whose head reads this token, and ask it about the test pictures."""
    training, test = halves(seed)
    return {"right": accuracy(trained(Reader(READINGS[reading], seed), training, epochs, seed), *test)}


def rival(model, seed):
    """A ViT, or a classic whose setting the validation pictures choose: its accuracy on the test pictures."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    if model == "ViT":
        return reads("class token", seed, epochs=45)
    choices = {"logistic regression": [LogisticRegression(C=c, solver="newton-cholesky") for c in (0.01, 0.1)],
               "nearest neighbours": [KNeighborsClassifier(k) for k in (1, 3, 5)],
               "SVM": [SVC(C=10, gamma=gamma) for gamma in (0.005, 0.01, 0.02, 0.04)]}[model]
    training, test = halves(seed)
    x, y = training[0].flatten(1).numpy(), training[1].numpy()
    best = max(choices, key=lambda one: one.fit(x[:-300], y[:-300]).score(x[-300:], y[-300:]))
    return {"right": best.fit(x, y).score(test[0].flatten(1).numpy(), test[1].numpy())}


def small(model, seed):
    """A fresh network of those that are compared on few pictures."""
    torch.manual_seed(seed)
    if model == "CNN":
        return nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    if model == "plain network":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    if model == "ViT":
        return Reader(READINGS["class token"], seed)
    reader = Reader(lambda x: x[:, 1:].flatten(1), seed)  # its head reads all sixteen patches, side by side
    reader.head = nn.Linear(16 * 96, 10)
    nn.init.xavier_uniform_(reader.head.weight)
    return reader


def few(model, view, pictures, seed):
    """Train a network on so many pictures, not augmented, whole or with their pixels scrambled by one plan."""
    training, test = halves(seed)
    if view == "scrambled":
        plan = torch.randperm(64, generator=torch.Generator().manual_seed(5))
        training, test = ((x.flatten(1)[:, plan].reshape(x.shape), y) for x, y in (training, test))
    chosen = torch.randperm(1347, generator=torch.Generator().manual_seed(seed))[:pictures]
    training = training[0][chosen], training[1][chosen]
    epochs = {100: 80, 300: 40, 1347: 15}[pictures]
    network = trained(small(model, seed), training, epochs, seed, augment=False)
    return {"right": accuracy(network, *test), "known": accuracy(network, *training)}


def without(what, seed):
    """A ViT trained for 20 epochs, after one thing was taken from it or from its training."""
    training, test = halves(seed)
    model = Reader(READINGS["class token"], seed)
    if what == "positions":
        nn.init.zeros_(model.embed.pos)
    model.embed.pos.requires_grad_(what not in ("positions", "learning of positions"))
    return {"right": accuracy(trained(model, training, 20, seed, augment=what != "augmentation"), *test)}


PLANS = {
    "13-few": Plan(
        about="accuracy on digits after training on few pictures, whole or with scrambled pixels, and on the training",
        minutes=4, points=[point for view, models in (("whole", ["CNN", "plain network", "ViT", "ViT, all patches"]),
                                                      ("scrambled", ["CNN", "ViT, all patches"]))
                           for point in grid(model=models, view=[view], pictures=[100, 300, 1347], seed=range(5))],
        measure=few, near={"right": 0.01},
        sides=tuple(grid(model=["CNN", "ViT"], view=["whole"], pictures=[100], seed=[0]))),
    "13-without": Plan(
        about="accuracy of a ViT on digits after 20 epochs, when one thing was taken away",
        minutes=2, measure=without, near={"right": 0.01},
        sides=tuple(grid(what=["nothing", "positions"], seed=[0])),
        points=grid(what=["nothing", "learning of positions", "positions", "augmentation"], seed=range(3))),
    "13-readings": Plan(
        about="accuracy of a ViT on digits after 5 epochs, by the token that its head reads",
        minutes=1.5, points=grid(reading=list(READINGS), seed=range(5)), measure=reads,
        near={"right": 0.01}, sides=tuple(grid(reading=["class token", "mean of patches"], seed=[0])),
        apart=False),
    "13-rivals": Plan(
        about="accuracy of a ViT on digits after 45 epochs, and of three classics, by split and first weights",
        minutes=2, points=grid(model=["logistic regression", "nearest neighbours", "SVM", "ViT"], seed=range(3)),
        measure=rival, near={"right": 0.01}, sides=tuple(grid(model=["logistic regression", "ViT"], seed=[0])))}
