"""Which of a module's weights are which, where it has the course's parts under names of its own.

A part is a group of weights that begin with the same name, as those of a linear layer do. Parts whose weights have the
same shapes follow one another as the course's do, the innermost first, since some make the last norm before the blocks.
"""


def by_own_names(wanted, own, known):
    """{the course's name: the module's own} of all weights, in the order of the course's.

    wanted, own: {name: tensor}, in the order in which they are registered
    known:       {the course's name: the module's own} of some
    raises:      ValueError where the parts of the two are not the same ones
    """
    names = {theirs: mine for theirs, mine in known.items() if theirs in wanted and mine in own}
    of_the_course = _parts({name: weight for name, weight in wanted.items() if name not in names})
    of_the_module = _parts({name: weight for name, weight in own.items() if name not in names.values()})
    if {kind: len(parts) for kind, parts in of_the_course.items()} != {
            kind: len(parts) for kind, parts in of_the_module.items()}:
        raise ValueError("it has other weights than the course's")
    names |= {theirs: mine for kind, parts in of_the_course.items()
              for one, other in zip(parts, of_the_module[kind], strict=True)
              for theirs, mine in zip(one, other, strict=True)}
    return {name: names[name] for name in wanted}


def _parts(weights):
    """{kind: [names of one part, ...]}; a kind is what the weights are to a part, and their shapes."""
    parts = {}
    for name, weight in weights.items():
        whose, _, what = name.rpartition(".")
        of_a_part = what in ("weight", "bias")
        shape = (len(weight), weight[0].numel()) if of_a_part and weight.dim() > 2 else weight.shape  # a convolution's
        parts.setdefault(whose if of_a_part else name, []).append((what if of_a_part else "", tuple(shape), name))
    kinds = {}
    for _, members in sorted(parts.items(), key=lambda part: -part[0].count(".")):
        members.sort(key=lambda member: member[0])
        kinds.setdefault(tuple(member[:2] for member in members), []).append([name for *_, name in members])
    return kinds
