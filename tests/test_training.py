"""The training loop: the steps torch would take, the same each time, and nothing else disturbed."""

import os
from pathlib import Path

import pytest
import torch
from torch import nn

from course_lib.training import fit, shuffled


def data():
    x = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    return x, x @ torch.tensor([[1.0], [-2.0], [0.5]])


def squared_error(model, x, y):
    return ((model(x) - y) ** 2).mean()


def net(dropout=0.0):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(dropout), nn.Linear(8, 1))


def test_it_takes_the_steps_that_a_loop_by_hand_takes():
    """A forgotten zero_grad, a schedule that is never moved, a loss from after the step."""
    batches = shuffled(*data(), batch_size=16, epochs=3)
    ours, by_hand = net(), net()
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (ours, by_hand)]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(o, 0.8) for o in optimizers]
    losses = fit(ours, squared_error, batches, optimizers[0], schedules[0], clip=0.5)
    for n, (x, y) in enumerate(batches):
        loss = squared_error(by_hand, x, y)
        assert torch.allclose(losses[n], loss)
        gradients = torch.autograd.grad(loss, list(by_hand.parameters()))
        norm = torch.stack([g.norm() for g in gradients]).norm()
        for p, g in zip(by_hand.parameters(), gradients, strict=True):
            p.data -= schedules[1].get_last_lr()[0] * g * min(1.0, 0.5 / (norm + 1e-6))
        optimizers[1].step()
        schedules[1].step()
    assert losses.shape == (12,) and losses[-1] < losses[0]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ours.parameters(), by_hand.parameters(), strict=True))


def test_a_seed_decides_dropout_and_random_states_outside_stay():
    """Runs that cannot be repeated; a training that changes the random numbers after it."""
    def run(seed):
        model = net(dropout=0.5)
        return fit(model, squared_error, shuffled(*data(), batch_size=16, epochs=2),
                   torch.optim.SGD(model.parameters(), lr=0.1), seed=seed)

    assert torch.equal(run(0), run(0)) and not torch.equal(run(0), run(1))
    net()  # sets the seed
    expected = torch.rand(3)
    net()
    state = torch.get_rng_state()
    model = nn.Linear(3, 1)
    torch.set_rng_state(state)
    fit(model, squared_error, shuffled(*data(), batch_size=64), torch.optim.SGD(model.parameters(), lr=0.1))
    assert torch.equal(torch.rand(3), expected)


def test_the_model_trains_in_train_mode():
    """A model left in eval mode by an evaluation before, which then trains without dropout."""
    model = net().eval()
    fit(model, squared_error, shuffled(*data(), batch_size=64), torch.optim.SGD(model.parameters(), lr=0.1))
    assert model.training


def test_every_epoch_offers_each_row_once_and_in_another_order():
    """Rows that are never drawn, or the same order over and over."""
    rows = torch.arange(20)
    seen = [batch for batch, in shuffled(rows, batch_size=5, epochs=2)]
    assert len(seen) == len(shuffled(rows, batch_size=5, epochs=2)) == 8
    first, second = torch.cat(seen[:4]), torch.cat(seen[4:])
    assert torch.equal(first.sort().values, rows) and torch.equal(second.sort().values, rows)
    assert not torch.equal(first, second)
    assert torch.equal(torch.cat(seen), torch.cat([b for b, in shuffled(rows, batch_size=5, epochs=2)]))


def test_rows_that_do_not_fill_a_batch_wait():
    """A last batch of one row, whose noisy gradient counts as much as any."""
    assert [len(b) for b, in shuffled(torch.arange(11), batch_size=4)] == [4, 4]


@pytest.mark.parametrize("arguments, says", [
    (dict(tensors=(torch.zeros(3), torch.zeros(4)), batch_size=1), "as many rows"),
    (dict(tensors=(torch.zeros(3),), batch_size=4), "between 1 and the number of rows, 3"),
])
def test_batches_that_cannot_be_made_are_refused(arguments, says):
    """No batch at all, and a model that is never trained."""
    with pytest.raises(ValueError, match=says):
        shuffled(*arguments.pop("tensors"), **arguments)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory in use is read from /proc")
def test_memory_does_not_grow_with_the_steps():
    """The loss of every step kept as a tensor of its own: the large ones can then not be put where they were before."""
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512))
    batch = torch.randn(512, 64), torch.randn(512, 512)
    held = []

    def batches():
        for step in range(201):
            if step in (50, 200):
                held.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            yield batch

    fit(model, squared_error, batches(), torch.optim.SGD(model.parameters(), lr=0.1))
    assert held[1] - held[0] < 30e6
