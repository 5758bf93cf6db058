"""Lesson 13: handwritten digits, read by Vision Transformers and by rivals."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit
from course_lib.vision import ViT

SIZES = dict(image_size=8, patch_size=2, in_channels=1, num_classes=10, d_model=96, num_heads=4, d_ff=192, num_layers=2)
READINGS = {"class token": lambda x: x[:, 0], "first patch": lambda x: x[:, 1], "last patch": lambda x: x[:, -1],
            "mean of patches": lambda x: x[:, 1:].mean(1)}


# --- Networks ---------------------------------------------------------------------------------------------------


def fresh(kind, seed, positions=1.0):
    """A new Vision Transformer for digits: matrices by Xavier's rule, the table of positions times a number.

    kind: the class, the course's ViT or a learner's
    """
    torch.manual_seed(seed)
    model = kind(**SIZES)
    for weight in model.parameters():
        if weight.dim() == 2:
            nn.init.xavier_uniform_(weight)
    with torch.no_grad():
        model.embed.pos.mul_(positions)
    return model


class Reader(ViT):
    """A ViT whose head reads what `read` takes of the last layer's output, (B, N + 1, d) -> (B, d)."""

    read = staticmethod(READINGS["class token"])

    def forward(self, images):
        x = self.embed(images)  # (B, N + 1, d_model), no dropout
        for layer in self.layers:
            x = layer(x)
        return self.head(self.read(x))


def reader(read, seed):
    """A new Reader of this kind."""
    model = fresh(Reader, seed)
    model.read = read
    return model


def cnn(seed):
    """Three convolutions of 3 × 3, and a linear head."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))


def network(model, seed, positions=1.0):
    """A new network of those that are compared."""
    if model == "CNN":
        return cnn(seed)
    if model == "ViT":
        return fresh(Reader, seed, positions)
    if model == "plain network":
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    wide = reader(lambda x: x[:, 1:].flatten(1), seed)  # "ViT, all patches": its head reads them side by side
    wide.head = nn.Linear(16 * 96, 10)
    nn.init.xavier_uniform_(wide.head.weight)
    return wide


# --- Pictures and trainings -------------------------------------------------------------------------------------


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


def trained(model, training, epochs, seed=0, augment=True, rate=2e-3):
    """Train a classifier of pictures by the lesson's recipe; return it in eval mode."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate)
    steps = epochs * (len(training[1]) // 32)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1,
                                                   cycle_momentum=False)
    fit(model, lambda model, x, y: F.cross_entropy(model(x), y), batches(*training, epochs, seed, augment),
        optimizer, schedule)
    return model.eval()


@torch.no_grad()
def accuracy(model, images, labels):
    """How often the largest logit is the right one."""
    return (model(images).argmax(-1) == labels).float().mean().item()


def some(training, pictures, seed):
    """So many of the training pictures, others for each seed."""
    chosen = torch.randperm(len(training[1]), generator=torch.Generator().manual_seed(seed))[:pictures]
    return training[0][chosen], training[1][chosen]


# --- What is stored ---------------------------------------------------------------------------------------------


def reads(reading, epochs, seed):
    """Train a ViT whose head reads this token, and ask it about the test pictures."""
    training, test = halves(seed)
    return {"right": accuracy(trained(reader(READINGS[reading], seed), training, epochs, seed), *test)}


def rival(model, seed):
    """A network after 45 epochs, or a classic whose setting the validation pictures choose; ten moved copies of each
    picture for the classic that has them: the accuracy on the test pictures.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    name, _, with_copies = model.partition(", ")
    training, test = halves(seed)
    if name in ("ViT", "CNN"):
        return {"right": accuracy(trained(network(name, seed), training, 45, seed, augment=bool(with_copies)), *test)}
    choices = {"logistic regression": [LogisticRegression(C=c, solver="newton-cholesky") for c in (0.01, 0.1)],
               "nearest neighbours": [KNeighborsClassifier(k) for k in (1, 3, 5)],
               "SVM": [SVC(C=10, gamma=gamma) for gamma in (0.005, 0.01, 0.02, 0.04)]}[name]
    generator = torch.Generator().manual_seed(seed)

    def learn(one, images, labels):
        if with_copies:
            images = torch.cat([images, *(moved(images, generator) for _ in range(10))])
            labels = labels.repeat(11)
        return one.fit(images.flatten(1).numpy(), labels.numpy())

    def right(one, images, labels):
        return one.score(images.flatten(1).numpy(), labels.numpy())

    known, asked = ([part[of] for part in training] for of in (slice(None, -300), slice(-300, None)))
    best = max(choices, key=lambda one: right(learn(one, *known), *asked))
    return {"right": right(learn(best, *training), *test)}


def few(model, positions, view, pictures, moved, times, rate, seed):
    """Train a network on so many pictures, whole or with their pixels scrambled by one plan, for so many times the
    usual epochs: the accuracy on the test pictures, and on those of the training.
    """
    training, test = halves(seed)
    if view == "scrambled":
        plan = torch.randperm(64, generator=torch.Generator().manual_seed(5))
        training, test = ((x.flatten(1)[:, plan].reshape(x.shape), y) for x, y in (training, test))
    training = some(training, pictures, seed)
    epochs = times * {100: 80, 300: 40, 1347: 15}[pictures]
    one = trained(network(model, seed, positions), training, epochs, seed, augment=moved == "yes", rate=rate)
    return {"right": accuracy(one, *test), "known": accuracy(one, *training)}


USUAL = dict(positions=[1], view=["whole"], pictures=[100, 300, 1347], moved=["no"], times=[1], rate=[0.002])


def _few():
    """The points of 13-few, each once."""
    every = [
        *grid(model=["CNN", "plain network", "ViT", "ViT, all patches"], **USUAL, seed=range(5)),
        *grid(model=["ViT"], **USUAL | {"positions": [5]}, seed=range(5)),
        *grid(model=["CNN"], **USUAL | {"view": ["scrambled"]}, seed=range(5)),
        *grid(model=["CNN", "ViT, all patches"], **USUAL | {"pictures": [300, 1347]}, seed=range(20)),
        *grid(model=["ViT"], **USUAL | {"positions": [5], "pictures": [300, 1347]}, seed=range(20)),
        *grid(model=["CNN"], **USUAL | {"view": ["scrambled"], "pictures": [300, 1347]}, seed=range(20)),
        *grid(model=["ViT"], **USUAL | {"positions": [0, 0.1, 25], "pictures": [100]}, seed=range(5)),
        *grid(model=["CNN", "ViT", "ViT, all patches"], **USUAL | {"pictures": [100], "rate": [0.001, 0.004]},
              seed=range(3)),
        *grid(model=["ViT"], **USUAL | {"positions": [5], "pictures": [100], "rate": [0.001, 0.004]}, seed=range(3)),
        *grid(model=["CNN", "ViT", "ViT, all patches"], **USUAL | {"times": [5]}, seed=range(3)),
        *grid(model=["ViT"], **USUAL | {"positions": [5], "times": [5]}, seed=range(3)),
        *grid(model=["CNN", "ViT, all patches"], **USUAL | {"moved": ["yes"], "times": [3]}, seed=range(3)),
        *grid(model=["ViT"], **USUAL | {"positions": [5], "moved": ["yes"], "times": [3]}, seed=range(3)),
    ]
    return list({tuple(point.values()): point for point in every}.values())


def _first(**changes):
    """One point of 13-few."""
    return {name: values[0] for name, values in (dict(model=["ViT"]) | USUAL | dict(seed=[0])).items()} | changes


PLANS = {
    "13-few": Plan(
        about="accuracy on digits after training on few pictures, and on those of the training: by network, size of "
              "its table of positions, view, moved copies, times the usual epochs, and learning rate",
        minutes=30, points=_few(), measure=few, near={"right": 0.01},
        sides=(_first(model="CNN"), _first(), _first(positions=5))),
    "13-readings": Plan(
        about="accuracy of a ViT on digits, by the token that its head reads",
        minutes=7, points=[*grid(reading=list(READINGS), epochs=[5], seed=range(5)),
                           *grid(reading=list(READINGS), epochs=[25], seed=range(5))], measure=reads,
        near={"right": 0.01}, sides=tuple(grid(reading=["class token", "mean of patches"], epochs=[5], seed=[0])),
        apart=False),
    "13-rivals": Plan(
        about="accuracy on digits of a ViT and a CNN after 45 epochs, and of three classics, by split",
        minutes=18, points=grid(model=["logistic regression", "nearest neighbours", "SVM", "SVM, moved", "CNN",
                                      "CNN, moved", "ViT", "ViT, moved"], seed=range(20)),
        measure=rival, near={"right": 0.01},
        sides=tuple(grid(model=["logistic regression", "ViT, moved"], seed=[2])))}
