"""Right ways to keep the best epoch, in other people's styles."""

import copy
import io

import torch


def with_a_best_so_far(model, train_epoch, accuracy, validation, test, epochs):
    """The best accuracy so far stands beside its weights."""
    history, best, weights = [], float("-inf"), None
    for epoch in range(epochs):
        train_epoch(model, epoch)
        now = accuracy(model, validation)
        history.append(now)
        if now > best:
            best, weights = now, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(weights)
    return torch.tensor(history), torch.tensor(accuracy(model, test))


def by_a_file(model, train_epoch, accuracy, validation, test, epochs):
    """The weights go through a file."""
    history, file = [], io.BytesIO()
    for epoch in range(epochs):
        train_epoch(model, epoch)
        history.append(accuracy(model, validation))
        if history.index(max(history)) == epoch:
            file = io.BytesIO()
            torch.save(model.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file, weights_only=True))
    return torch.tensor(history), torch.tensor(accuracy(model, test))


def all_kept(model, train_epoch, accuracy, validation, test, epochs):
    """Every epoch is kept, and one of them chosen at the end."""
    history, kept = torch.zeros(epochs), []
    for epoch in range(epochs):
        train_epoch(model, epoch)
        history[epoch] = accuracy(model, validation)
        kept.append(copy.deepcopy(model).state_dict())
    values = history.tolist()
    model.load_state_dict(kept[values.index(max(values))])
    return history, torch.tensor(accuracy(model, test))


def copied_into_place(model, train_epoch, accuracy, validation, test, epochs):
    """The parameters one by one, without a dict."""
    history, best = [], -1.0
    for epoch in range(epochs):
        train_epoch(model, epoch)
        history += [accuracy(model, validation)]
        if history[-1] > best:
            best = history[-1]
            weights = [p.detach().clone() for p in model.parameters()]
    with torch.no_grad():
        for p, weight in zip(model.parameters(), weights, strict=True):
            p.copy_(weight)
    return torch.tensor(history), torch.tensor(accuracy(model, test))


def by_sorting(model, train_epoch, accuracy, validation, test, epochs):
    """One more epoch to be compared is an entry of a list of pairs; the earliest of the best wins."""

    def epoch_and_score(epoch):
        train_epoch(model, epoch)
        return accuracy(model, validation), -epoch, copy.deepcopy(model.state_dict())

    tried = [epoch_and_score(epoch) for epoch in range(epochs)]
    model.load_state_dict(sorted(tried, key=lambda entry: entry[:2])[-1][2])
    return torch.as_tensor([score for score, *_ in tried]), torch.as_tensor(accuracy(model, test))


def tests_a_copy_and_takes_it_over(model, train_epoch, accuracy, validation, test, epochs):
    """A copy is tested, and then its weights go into the model."""
    history, best = [], None
    for epoch in range(epochs):
        train_epoch(model, epoch)
        history.append(accuracy(model, validation))
        if best is None or history[-1] > max(history[:-1]):
            best = copy.deepcopy(model)
    tested = accuracy(best, test)
    with torch.no_grad():
        for mine, kept in zip(model.parameters(), best.parameters(), strict=True):
            mine.copy_(kept)
    return torch.tensor(history), torch.tensor(tested)


RIGHT_ANSWERS = {
    "keep_the_best": {
        "a best so far": with_a_best_so_far,
        "by a file": by_a_file,
        "all kept": all_kept,
        "copied into place": copied_into_place,
        "by sorting": by_sorting,
        "tests a copy and takes it over": tests_a_copy_and_takes_it_over,
    },
}
