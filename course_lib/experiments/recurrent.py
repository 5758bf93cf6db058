"""Two ways to read word after word, and what the last state still holds of the first word."""

import torch


def recurrent_step(x, state, W, U):
    """A plain recurrent network: the word, and the state before it, make the new one.

    x:       (D_x,)  a word
    state:   (D,)    the hidden state so far
    W, U:    (D_x, D) and (D, D)
    returns: (D,)    the new hidden state

    Elman 1990, "Finding structure in time", Cognitive Science 14.
    """
    return torch.tanh(x @ W + state @ U)


def lstm_step(x, state, cell, W, U, bias):
    """Long short-term memory: three gates decide what is forgotten, written and read.

    x:       (D_x,)             a word
    state:   (D,)               the hidden state so far
    cell:    (D,)               the memory cell so far
    W, U, bias: (D_x, 4D), (D, 4D) and (4D,)
    returns: (D,), (D,)         the new hidden state, and the new cell

    Hochreiter and Schmidhuber 1997, Neural Computation 9(8); the forget gate:
    Gers, Schmidhuber and Cummins 2000, Neural Computation 12(10).
    """
    forget, write, read, new = (x @ W + state @ U + bias).chunk(4, dim=-1)
    cell = cell * torch.sigmoid(forget) + torch.tanh(new) * torch.sigmoid(write)
    return torch.tanh(cell) * torch.sigmoid(read), cell


def left_of_the_first_word(step, T, forget=None, seed=0, D=32):
    """How much the last of T states would change if the first word changed: the norm of all its slopes.

    step:   recurrent_step or lstm_step; its weights are random, nothing is trained
    forget: the bias of the forget gate: at 0 it lets half of the cell through, at 4 nearly all; None: there is no gate
    """
    draw = torch.Generator().manual_seed(seed)
    words = torch.randn(T, D, generator=draw)
    n = D if forget is None else 4 * D
    W, U = torch.randn(2, D, n, generator=draw) / D**0.5
    bias = torch.zeros(n)
    bias[:D] = forget or 0.0

    def last_state(first):
        state = cell = torch.zeros(D)
        for x in (first, *words[1:]):
            if forget is None:
                state = step(x, state, W, U)
            else:
                state, cell = step(x, state, cell, W, U, bias)
        return state

    return torch.autograd.functional.jacobian(last_state, words[0]).norm().item()
