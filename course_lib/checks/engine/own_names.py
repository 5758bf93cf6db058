"""Which of a module's weights are which, where it has the course's parts under names of its own.

A part is a group of weights that begin with the same name, as those of a linear layer do. Parts whose weights have the
same shapes follow one another as the course's do, the innermost first, since some make the last norm before the blocks.
Where the parts are others, each weight is one by itself: a matrix without a layer, as in `x @ self.w`, may stand the
other way round. Its name ends in TURNED then. Nothing says of a square one how it is multiplied: `F.linear(x, self.w)`
and `x @ self.w` look alike from outside.
"""

TURNED = ".T."  # no parameter's name ends in a dot


def by_own_names(wanted, own, known, squares_turned=None):
    """{the course's name: the module's own} of all weights, in the order of the course's.

    wanted, own:    {name: tensor}, in the order in which they are registered
    known:          {the course's name: the module's own} of some
    squares_turned: do square matrices without a layer stand the other way round? None: unless it is called a weight
    raises:         ValueError where the weights of the two are not the same ones
    """
    names = {theirs: mine for theirs, mine in known.items() if theirs in wanted and registered(mine) in own}
    there = set(map(registered, names.values()))
    course = {name: weight for name, weight in wanted.items() if name not in names}
    module = {name: weight for name, weight in own.items() if name not in there}
    names |= _paired(_parts(course), _parts(module)) or {
        theirs: mine + TURNED * _is_turned(mine, course[theirs], module[mine], squares_turned)
        for theirs, mine in (_paired(_one_by_one(course), _one_by_one(module)) or {}).items()}
    if len(names) < len(wanted) or len(names) < len(own):
        raise ValueError("it has other weights than the course's")
    return {name: names[name] for name in wanted}


def registered(name):
    """The name under which a module has it, whichever way round it stands."""
    return name.removesuffix(TURNED)


def _paired(course, module):
    """{the course's name: the module's own}; None where one has a part that the other has not."""
    if {kind: len(parts) for kind, parts in course.items()} != {kind: len(parts) for kind, parts in module.items()}:
        return None
    return {theirs: mine for kind, parts in course.items()
            for one, other in zip(parts, module[kind], strict=True) for theirs, mine in zip(one, other, strict=True)}


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


def _one_by_one(weights):
    """{kind: [[name], ...]}; a kind is how large a weight is along its axes, in whatever order they stand."""
    kinds = {}
    for name, weight in sorted(weights.items(), key=lambda named: -named[0].count(".")):
        kinds.setdefault(tuple(sorted(weight.shape)), []).append([name])
    return kinds


def _is_turned(name, wanted, own, squares_turned):
    """Does it stand the other way round? Only a matrix can."""
    if wanted.dim() != 2:
        return False
    if wanted.shape != own.shape:
        return True
    rows, columns = wanted.shape
    if rows != columns:
        return False
    return squares_turned if squares_turned is not None else not name.endswith("weight")
