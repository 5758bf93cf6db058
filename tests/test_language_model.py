"""Language models against counting by hand, torch's losses, and the frequencies of what they draw."""

from collections import Counter

import torch
import torch.nn.functional as F

from course_lib.language_model import (
    BigramLM,
    bigram_probs,
    generate,
    get_batch,
    next_token_probs,
    shift_labels,
)

IDS = torch.tensor([0, 1, 1, 2, 1, 0, 1])


def test_targets_are_the_next_tokens():
    """Pairs moved in the wrong direction, or not at all."""
    inputs, targets = shift_labels(IDS[None])
    assert inputs.tolist() == [[0, 1, 1, 2, 1, 0]] and targets.tolist() == [[1, 1, 2, 1, 0, 1]]


def test_bigrams_are_counted():
    """Columns for rows, a smoothing that is counted twice, NaN for a token that was never first."""
    pairs = Counter(zip(IDS.tolist(), IDS[1:].tolist(), strict=False))
    for alpha in (0.0, 0.5):
        probs = bigram_probs(IDS, 4, alpha)
        for i in range(4):
            total = sum(pairs[i, j] + alpha for j in range(4))
            for j in range(4):
                assert abs(probs[i, j] - ((pairs[i, j] + alpha) / total if total else 1 / 4)) < 1e-6


def test_the_bigram_model_looks_up_and_scores():
    """Logits that lose their shape where targets are given."""
    torch.manual_seed(0)
    model = BigramLM(5)
    idx, targets = torch.randint(5, (2, 2, 3))
    logits, nothing = model(idx)
    again, loss = model(idx, targets)
    assert nothing is None and torch.equal(logits, again) and torch.equal(logits, model.table.weight[idx])
    assert torch.allclose(loss, F.nll_loss(F.log_softmax(logits, -1).transpose(1, 2), targets))


def test_every_place_can_be_drawn():
    """A last piece that is never seen, or a piece that runs over the end."""
    torch.manual_seed(0)
    x, y = get_batch(torch.arange(10), 4, 600)
    assert torch.equal(y, x + 1) and x.shape == (600, 4)
    assert set(x[:, 0].tolist()) == set(range(6))


def test_probabilities_of_the_next_token():
    """A temperature that multiplies; a top_k that keeps too many, too few, or shares wrongly."""
    logits = torch.tensor([[2.0, 0, 1, -1], [0, 3, 1, 2]])
    assert torch.allclose(next_token_probs(logits, 0.5), F.softmax(2 * logits, -1))
    kept = next_token_probs(logits, 1.0, 2)
    assert (kept > 0).tolist() == [[True, False, True, False], [False, True, False, True]]
    assert torch.allclose(kept[0, [0, 2]], F.softmax(torch.tensor([2.0, 1]), -1))
    assert torch.equal(next_token_probs(logits, 1.0, 9), F.softmax(logits, -1))


def test_texts_grow_by_drawing_and_see_no_more_than_the_block():
    """Argmax for sampling, one draw shared by all rows, a context that grows beyond the block."""
    torch.manual_seed(0)
    lengths = []

    def model(context):
        lengths.append(context.shape[1])
        logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(*context.shape, 3)
        return logits

    begun = torch.zeros(2000, 3, dtype=torch.long)
    texts = generate(model, begun, 3, block_size=4)
    assert texts.shape == (2000, 6) and torch.equal(texts[:, :3], begun) and lengths == [3, 4, 4]
    shares = texts[:, 3:].flatten().bincount(minlength=3) / 6000
    assert torch.allclose(shares, torch.tensor([0.5, 0.3, 0.2]), atol=0.03)
    assert not torch.equal(texts[:1000, 3], texts[1000:, 3])
