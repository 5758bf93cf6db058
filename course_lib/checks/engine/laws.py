"""Laws of right answers: what the result does when the arguments change. Each is a property of an Exercise.

Arguments are made by make(generator, *size), and change(*args) returns the changed ones, in a tuple.
"""

import torch


def given(generator, *size):
    """Arguments that are whole numbers: a size is all there is."""
    return size


def itself(result):
    return result


def invariant(make, size, change, part=itself, atol=1e-4):
    """With changed arguments this part of the result is the same."""
    def holds(output, generator):
        args = make(generator, *size)
        return torch.allclose(part(output(*args)), part(output(*change(*args))), atol=atol)

    return holds


def equivariant(make, size, change, follows, atol=1e-4):
    """With changed arguments the result is follows(the result of before)."""
    def holds(output, generator):
        args = make(generator, *size)
        return torch.allclose(follows(output(*args)), output(*change(*args)), atol=atol)

    return holds


def sensitive(make, size, change, atol=1e-4):
    """With changed arguments the result is another one."""
    same = invariant(make, size, change, atol=atol)
    return lambda output, generator: not same(output, generator)


def always(make, size, true):
    """true(result, *args) for every result."""
    def holds(output, generator):
        args = make(generator, *size)
        return bool(true(output(*args), *args))

    return holds


def a_constant_stays(make, size, inputs):
    """Where the last feature of args[inputs] is 1 everywhere, so it is in the result: the weights sum to one."""
    def holds(output, generator):
        args = list(make(generator, *size))
        args[inputs] = torch.cat([args[inputs][..., :-1], torch.ones_like(args[inputs][..., -1:])], -1)
        return bool((output(*args)[..., -1] - 1).abs().max() < 1e-4)

    return holds


def stays_in_range(make, size, inputs):
    """Each feature of the result lies between the smallest and the largest of that feature in args[inputs]."""
    return always(make, size, lambda out, *args: ((out <= args[inputs].amax(0) + 1e-4)
                                                  & (out >= args[inputs].amin(0) - 1e-4)).all())


def rows_are_apart(make, size):
    """Other rows of the first argument have no say in the first row of the result."""
    return invariant(make, size, lambda x, *others: (torch.cat([x[:1], 2 * x[1:] + 1]), *others), lambda out: out[0])


def batch_is_its_rows(make, size, atol=1e-3):
    """The first of a batch gets the same result without the others."""
    return equivariant(make, size, lambda *args: [a[:1] for a in args], lambda out: out[:1], atol)
