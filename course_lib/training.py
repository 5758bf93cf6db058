"""Training: one loop for every model of the course."""

import copy

import torch

from course_lib.display.live import progress_bar


def fit(
    model,
    loss_of,
    batches,
    optimizer,
    schedule=None,
    clip=None,
    seed=0,
    progress="training",
):
    """Train a model, one step per batch, and keep the loss of every step.

    model:     an nn.Module; batches are moved to the device of its parameters
    loss_of:   loss_of(model, *batch) -> scalar tensor, smaller is better
    batches:   an iterable of tuples of tensors, such as shuffled(...); its length,
               where it has one, is shown
    optimizer: a torch optimizer over the model's parameters
    schedule:  a torch learning-rate schedule, moved on after every step
    clip:      the largest gradient norm allowed; None leaves gradients as they are
    seed:      decides dropout; random states outside are left as they were
    progress:  words beside the progress bar, which only a person at the screen sees
    returns:   (steps,) float32 on the CPU, the loss before each step
    """
    device = next(model.parameters()).device
    model.train()
    losses, steps = torch.empty(0, device=device), 0
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.random.manual_seed(seed)
        for batch in progress_bar(batches, desc=progress, unit="step"):
            loss = loss_of(model, *(t.to(device, non_blocking=True) for t in batch))
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            # Still on the device, so that nothing waits; and in one piece: a small tensor
            # per step would lie between the large ones, whose memory could not be reused.
            if steps == len(losses):
                losses = torch.cat([losses, torch.empty(1000, device=device)])
            losses[steps] = loss.detach()
            steps += 1
    return losses[:steps].cpu()


def keep_the_best(model, train_epoch, accuracy, validation, test, epochs):
    """Train, let the validation data choose an epoch, and ask the test data once.

    model:       an nn.Module; it ends with the weights of the epoch that was best on
                 the validation data, the first of these where several are equal
    train_epoch: train_epoch(model, epoch) goes on with training, and changes the
                 weights of the model in place; epoch is 0, 1, 2, ...
    accuracy:    accuracy(model, data) -> float from 0 to 1, the larger the better
    validation:  data that chooses
    test:        data that is asked at the end, with the weights that were chosen
    epochs:      at least 1
    returns:     (history, tested): the validation accuracy after each epoch, (epochs,)
                 float32, and the test accuracy, a scalar
    """
    history = []
    for epoch in range(epochs):
        train_epoch(model, epoch)
        history.append(accuracy(model, validation))
        if history[-1] > max(history[:-1], default=-1.0):  # blank: keep the best so far
            best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)  # blank: back to the best weights; only then the test
    tested = accuracy(model, test)  # blank
    return torch.tensor(history), torch.tensor(tested)


class shuffled:
    """Batches of rows, in a new order every epoch.

    tensors:    one or more, with as many rows each
    batch_size: rows per batch; rows left over at the end of an epoch wait for
                another epoch
    epochs:     how often every row is offered
    seed:       decides the order
    yields:     tuples of tensors (batch_size, ...), one per tensor
    """

    def __init__(self, *tensors, batch_size, epochs=1, seed=0):
        rows = len(tensors[0])
        if any(len(t) != rows for t in tensors):
            lengths = [len(t) for t in tensors]
            raise ValueError(f"every tensor needs as many rows: got {lengths}")
        if not 1 <= batch_size <= rows:
            raise ValueError(
                f"batch_size = {batch_size} has to lie between 1 "
                f"and the number of rows, {rows}"
            )
        self.tensors, self.batch_size = tensors, batch_size
        self.epochs, self.seed = epochs, seed

    def __len__(self):
        return self.epochs * (len(self.tensors[0]) // self.batch_size)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        for _ in range(self.epochs):
            order = torch.randperm(len(self.tensors[0]), generator=generator)
            for rows in order.split(self.batch_size)[: len(order) // self.batch_size]:
                yield tuple(t[rows] for t in self.tensors)
