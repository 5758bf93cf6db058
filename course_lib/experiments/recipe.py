"""Lesson 10: the classic recipe for film reviews, as it stands in a textbook, trained on short ones."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import data
from course_lib.attention import MultiHeadAttention
from course_lib.classifier import EncoderClassifier, max_over_real_tokens
from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit, keep_the_best, shuffled

VOCABULARY = 20_000


class KerasAttention(MultiHeadAttention):
    """Multi-head attention with heads of any width, as in Keras."""

    def __init__(self, d_model, num_heads, key_dim):
        super().__init__(d_model, num_heads)
        self.d_head, inner = key_dim, num_heads * key_dim
        self.W_q = nn.Linear(d_model, inner)
        self.W_k = nn.Linear(d_model, inner)
        self.W_v = nn.Linear(d_model, inner)
        self.W_o = nn.Linear(inner, d_model)


class ClassicRecipe(EncoderClassifier):
    """One encoder layer without positions, dropout 0.5 before the head, and one
    logit: above 0 means yes.

    F. Chollet, Deep Learning with Python, 2nd edition (2021), section 11.4.
    """

    def __init__(self, vocab_size=20_000, d_model=256, num_heads=2, d_ff=32):
        super().__init__(vocab_size, d_model, num_heads, d_ff, 1, num_classes=1)
        self.layers[0].self_attn = KerasAttention(d_model, num_heads, key_dim=d_model)
        self.before_the_head = nn.Dropout(0.5)

    def forward(self, ids):
        real = ids != self.pad_id  # (B, T)
        x = self.layers[0](self.embed(ids), real[:, None])  # (B, T, d_model)
        pooled = self.before_the_head(max_over_real_tokens(x, real))  # (B, d_model)
        return self.head(pooled)[:, 0]  # (B,)


def recipe_loss(model, ids, labels):
    """Binary cross-entropy: −ln of the probability of the right answer."""
    return F.binary_cross_entropy_with_logits(model(ids), labels.float())


@torch.no_grad()
def recipe_accuracy(model, data):
    """The share of texts on whose side of 0 the logit is."""
    ids, labels = data
    right = [(model.eval()(i) > 0) == (y > 0.5) for i, y in zip(ids.split(500), labels.split(500), strict=True)]
    return torch.cat(right).float().mean().item()


def film_reviews(seed):
    """Texts and labels for training (10,000), validation (1,000) and test (1,752), mixed by the seed."""
    texts, labels = data.reviews()
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
    parts = order[:10_000], order[10_000:11_000], order[11_000:]
    return [([texts[i] for i in part], labels[part]) for part in parts]


def reader_of(texts, longest=40):
    """A function from texts to token numbers (B, longest): 0 is padding, 1 any word that is not frequent enough."""
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(max_features=VOCABULARY - 2).fit(texts)
    split = words.build_analyzer()

    def read(texts):
        rows = [[words.vocabulary_.get(word, -1) + 2 for word in split(text)[:longest]] or [1] for text in texts]
        return torch.tensor([row + [0] * (longest - len(row)) for row in rows])

    return read


def counted(training, longest=2):
    """TF-IDF of words and pairs of neighbours (or n-grams of up to `longest` words), and logistic regression.

    returns: predicts(texts, labels) -> accuracy
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    grams = TfidfVectorizer(ngram_range=(1, longest), sublinear_tf=True, min_df=2)
    model = LogisticRegression(C=4, max_iter=1000).fit(grams.fit_transform(training[0]), training[1])
    return lambda split: model.score(grams.transform(split[0]), split[1])


COUNTS = {"TF-IDF of words and pairs": 2, "TF-IDF of words": 1}
EPOCHS = 10  # the textbook has 20: by then it has long known its training texts by heart


def measure(model, seed):
    """Validation accuracy after each epoch, and test accuracy of the best one and of the last one; TF-IDF has no
    epochs, so all of its epochs are alike."""
    training, validation, test = film_reviews(seed)
    if model in COUNTS:
        right = counted(training, COUNTS[model])
        now, then = right(validation), right(test)
        epochs = {f"epoch {n}": now for n in range(1, EPOCHS + 1)}
        return epochs | {"fitted": right(training), "best": then, "last": then}
    read = reader_of(training[0])
    training, validation, test = ((read(texts), labels) for texts, labels in (training, validation, test))
    torch.manual_seed(seed)
    of = ClassicRecipe()
    optimizer = torch.optim.RMSprop(of.parameters(), lr=0.001)
    last = {}

    def train_epoch(of, epoch):
        fit(of, recipe_loss, shuffled(*training, batch_size=32, seed=100 * seed + epoch), optimizer, seed=epoch)
        if epoch == EPOCHS - 1:
            last["test"], last["training"] = recipe_accuracy(of, test), recipe_accuracy(of, training)

    history, tested = keep_the_best(of, train_epoch, recipe_accuracy, validation, test, EPOCHS)
    epochs = {f"epoch {n}": value for n, value in enumerate(history.tolist(), 1)}
    return epochs | {"fitted": last["training"], "best": tested.item(), "last": last["test"]}


PLANS = {"10-recipe": Plan(
    about="film reviews: the classic recipe, validation accuracy after each epoch, test accuracy of best and last",
    minutes=45, points=grid(model=["recipe", *COUNTS], seed=range(3)), measure=measure,
    near={"best": 0.01, "last": 0.01}, sides=tuple(grid(model=["recipe", "TF-IDF of words"], seed=[0])), apart=False)}
