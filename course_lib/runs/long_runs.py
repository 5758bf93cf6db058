"""Long trainings, on one process or on many, that a kill does not set back: python -m course_lib.runs.long_runs."""

import argparse
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib.data.small_french import splits
from course_lib.data.vocabulary import BOS, PAD, Vocabulary
from course_lib.language_model import LanguageModel, shift_labels
from course_lib.runs import checkpoints
from course_lib.targets import shift_right
from course_lib.transformer import Transformer


def run(model, losses_of, batch_of, optimizer, schedule, steps, path, save_every=100, seed=0):
    """Train a model together with all other processes, each on its share of every batch.

    model:      an nn.Module on this process's device, with the same weights in every process
    losses_of:  losses_of(model, *batch) -> (n,) the loss of every token that counts
    batch_of:   batch_of(step) -> tuple of tensors, the whole batch of a step, the same in every process
    schedule:   a torch learning-rate schedule, moved on after every step
    steps:      how many there are in all; a run that was stopped, or is to become longer, goes on after the last step
                that was saved
    path:       where the state is saved, every save_every steps and at the end
    seed:       with the step and the process it decides dropout
    returns:    (steps,) the loss before each step: the mean over the tokens of the whole batch
    raises:     checkpoints.CheckpointError where path holds something else
    """
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    device = next(model.parameters()).device
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    losses = checkpoints.resume(parts, path) if Path(path).exists() else []
    shared = DistributedDataParallel(model) if world > 1 else model
    model.train()
    for step in range(len(losses), steps):
        torch.manual_seed((seed * 1_000_003 + step) * world + rank)
        share = (t[rank::world].to(device) for t in batch_of(step))
        found = losses_of(shared, *share)  # (n,)
        total = _over_all(torch.stack([found.detach().sum(), torch.tensor(float(len(found)), device=device)]))
        optimizer.zero_grad()
        (found.sum() * world / total[1]).backward()  # the processes' gradients are averaged: a mean over all tokens
        optimizer.step()
        schedule.step()
        losses.append((total[0] / total[1]).item())
        if rank == 0 and ((step + 1) % save_every == 0 or step + 1 == steps):
            checkpoints.save_run(parts, losses, path)
            print(f"step {step + 1} of {steps}: loss {losses[-1]:.3f}", flush=True)
    return torch.tensor(losses)


def _over_all(numbers):
    """The sum of a tensor over all processes."""
    if dist.is_initialized():
        dist.all_reduce(numbers)
    return numbers


def warm_up(step, rising=400):
    """The share of the highest learning rate at a step: up in a line, then down as 1 / sqrt(step), without an end.

    Vaswani et al. 2017, arXiv:1706.03762, section 5.3, equation 3.
    """
    return min((step + 1) / rising, (rising / (step + 1)) ** 0.5)


def rows_of(step, rows, batch_size, seed):
    """Which rows make the batch of a step: every epoch offers all of them, in an order of its own."""
    steps = rows // batch_size
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step // steps)
    begin = step % steps * batch_size
    return torch.randperm(rows, generator=generator)[begin : begin + batch_size]


def translator(seed, dropout):
    """The translator of lesson 11 with its data: model, losses_of, and tensors of one row a sentence."""
    pairs = splits(seed=0)["train"]
    french, english = Vocabulary(p.french for p in pairs), Vocabulary(p.english for p in pairs)
    torch.manual_seed(seed)
    model = Transformer(len(french), len(english), 128, 4, 256, 2, dropout, PAD)
    for weight in model.parameters():
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight)

    def losses_of(model, source, labels):
        return _losses(model(source, shift_right(labels, BOS)), labels)

    return model, losses_of, (french.encode(p.french for p in pairs), english.encode(p.english for p in pairs))


def language_model(seed, dropout, block=64):
    """A language model of characters, on the prose that ships with Python: model, losses_of, rows of block + 1."""
    from pydoc_data.topics import topics

    text = "\n".join(dict.fromkeys(p for _, topic in sorted(topics.items()) for p in topic.split("\n\n")))
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(letter) for letter in text]) + 1  # 0 is padding, and never occurs
    torch.manual_seed(seed)
    model = LanguageModel(len(letters) + 1, 96, 4, 384, 2, dropout)

    def losses_of(model, rows):
        inputs, targets = shift_labels(rows)
        return _losses(model(inputs), targets)

    return model, losses_of, (ids[: len(ids) // (block + 1) * (block + 1)].view(-1, block + 1),)


def _losses(logits, targets):
    """The loss of every token that is not padding."""
    losses = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return losses[targets.flatten() != PAD]


TASKS = {"translator": translator, "language-model": language_model}


def main(arguments=None):
    """Train what the command line names; the exit status is 0 where it came to its end."""
    options = _options(arguments)
    world, local = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    torch.set_num_threads(1)
    if world > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        model, losses_of, tensors = TASKS[options.task](options.seed, options.dropout)
        if not world <= options.batch_size <= len(tensors[0]):
            raise ValueError(f"--batch-size {options.batch_size} has to lie between the number of processes, {world}, "
                             f"and the number of rows, {len(tensors[0]):,}")
        optimizer = torch.optim.Adam(model.to(device).parameters(), lr=options.rate, betas=(0.9, 0.98), eps=1e-9)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up)
        options.folder.mkdir(parents=True, exist_ok=True)

        def batch_of(step):
            rows = rows_of(step, len(tensors[0]), options.batch_size, options.seed)
            return tuple(t[rows] for t in tensors)

        run(model, losses_of, batch_of, optimizer, schedule, options.steps, options.folder / f"{options.task}.pt",
            options.save_every, options.seed)
    except (ValueError, OSError) as error:
        print(f"course_lib.runs.long_runs: {error}", file=sys.stderr)
        return 1
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.runs.long_runs", description=(
        "Train a model of the course. Call it again, and a run that was stopped goes on. With several processes: "
        "torchrun --nproc-per-node=N -m course_lib.runs.long_runs ..."))
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--folder", type=Path, default=Path("runs"), help="where the state is saved (default: runs)")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=96, help="rows a step, over all processes")
    parser.add_argument("--rate", type=float, default=0.002, help="the highest learning rate")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-every", type=int, default=100, metavar="STEPS")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
