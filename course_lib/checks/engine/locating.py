"""Where in the learner's own source it goes wrong: the values on its way, beside those on the verified answer's way.

A place is right where its value is one of the verified answer's in every call. It is to blame where its value is not,
and all comes out right as soon as a value of the verified answer takes its place: then whatever comes after it is
right, and the mistake lies between it and the right values that go in. Where either of two places would do, nothing is
said; two that are wrong both are told.
"""

import contextlib
import inspect
import io
import re
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import torch

from course_lib.checks.engine.asking import ask, built
from course_lib.checks.engine.comparing import ROUNDINGS, alike_values, compare, differences
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.mistakes import ByHand, run_beside
from course_lib.checks.engine.time_limit import UNBOUNDED, Allowance
from course_lib.checks.engine.tracing import TIMES, traced

CALLS = 3  # that values are compared in
AT_MOST = 0.5  # seconds for one call
FIRST = 8  # places that are tried as the first of two
ALL = "all"  # values of a loop, in one
KINDS = "values", "shape", "form", "error"  # of failures that values can tell of
SIZE = re.compile(r"[\w.]+\.(shape|size\(\))$")  # all sizes of a tensor: which of them is taken may be wrong


@dataclass(frozen=True)
class Located:
    """Where it goes wrong: among these lines of the source.

    lines:  {number: text}; empty where a call that failed is right when the source is run anew: something was kept
    wrong:  the expression whose value is wrong, in words; empty where the result is a right value, but another one
    inputs: what goes in and is right, in words
    before: those of these that are right, but not what is needed here
    """

    lines: dict
    wrong: str
    inputs: tuple = ()
    before: tuple = ()


def locate(exercise, candidate, failures, allowed=UNBOUNDED):
    """Where an answer goes wrong: one Located, or two where two places do; none where that cannot be told.

    allowed: an Allowance; when it is over nothing is said
    """
    calls = _telling(failures)
    mine, true = (traced(candidate, _defaults(exercise)), _right(exercise)) if calls else (None, None)
    if not mine or not true or truth(exercise, calls[0]).form == "True or False":
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when it was asked
        ways = [_way(true, *_ready(true, call)) for call in calls]
        world = _World(exercise, mine, true, [(call, *_ready(mine, call)) for call in calls],
                       [_Way(_also_in_a_loop(values)) for values, _ in ways], ways[0][1],
                       allowed, _built_otherwise(mine, true, calls[0]))
        if any(world.comes_out_right(*call, {}) for call in world.calls):  # all of which failed before
            return (Located({}, ""),)
        return tuple(_Search(world).located())


def _right(exercise):
    source = next((m.right for m in exercise.mistakes if not isinstance(m, ByHand)), None)
    return source and traced(run_beside(exercise.verified, source, f"<{exercise.name}, as it is verified>"))


def _defaults(exercise):
    of = exercise.verified.forward if inspect.isclass(exercise.verified) else exercise.verified
    return [(name, p.default) for name, p in inspect.signature(of).parameters.items()]


def _telling(failures):
    """The largest plain calls that fail as the first one does, all with the fewest arguments that do."""
    if any(f.is_the_last for f in failures):
        return []
    plain = [f for f in failures if not f.call.special and f.kind in KINDS]
    calls = [f.call for f in plain if f.kind == plain[0].kind]
    given = [tuple(a is not None for a in call.args) for call in calls]
    calls = [call for call, g in zip(calls, given, strict=True) if g == min(given, key=sum)]
    return sorted(calls, key=lambda c: sum(a.numel() for a in c.args if isinstance(a, torch.Tensor)))[-CALLS:]


@dataclass(frozen=True)
class _World:
    """What a search looks at: the answer under observation, the calls, and the values on the verified way of each."""

    exercise: object
    mine: object
    right: object
    calls: list  # with what is asked each, and how
    true: list
    true_needs: dict  # what each of these was made of, in the first call
    allowed: Allowance
    other: dict  # {attribute: lines} of what a module was built with

    @cached_property
    def true_keys(self):
        """The places on the verified way in any call, in their order."""
        return list({k: None for values in self.true for k in values})

    @cached_property
    def whole(self):
        """Those of them that are no rows of another."""
        return {k for k in self.true_keys if k[1] in (ALL, *range(TIMES))}

    def way(self, instead):
        """The answer's values in each call, and what each was made of; values that take another's place for each."""
        return [_way(self.mine, *asked, i) for (_, *asked), i in zip(self.calls, instead, strict=True)]

    def heals(self, instead):
        """Does each call come out right with these values in the place of the answer's?"""
        return all(self.comes_out_right(*call, i) for call, i in zip(self.calls, instead, strict=True))

    def comes_out_right(self, call, answer, asked, instead):
        self.mine.begin(instead)
        return not self.is_late() and not compare(truth(self.exercise, call), ask(answer, asked, AT_MOST), call)

    def is_late(self):
        return self.allowed.is_over()


class _Way(dict):
    """The values on the verified way of a call, which can be found by what they are."""

    def __init__(self, values):
        super().__init__(values)
        kinds = {}
        for key, value in self.items():
            if isinstance(value, torch.Tensor):
                kinds.setdefault((value.shape, value.dtype), []).append(key)
        self.kinds = {kind: (keys, torch.stack([self[k] for k in keys])) for kind, keys in kinds.items()}

    def keys_of(self, value):
        """The keys of all values like this one."""
        keys, together = self.kinds.get((getattr(value, "shape", 0), getattr(value, "dtype", 0)), (self.keys(), None))
        if together is None or not torch.isfinite(value).all():
            return {k for k in keys if _same(value, self[k])}
        wrong = differences(value.expand_as(together), together, 2 * ROUNDINGS)
        return {k for k, w in zip(keys, wrong.reshape(len(keys), value.numel()).any(1).tolist(), strict=True) if not w}


class _Search:
    """One search through an answer; `healed` are values that were put right before, for each call."""

    def __init__(self, world, healed=()):
        self.world, self.mine, self.true = world, world.mine, world.true
        self.healed = healed or [{}] * len(world.calls)
        ways = world.way(self.healed)
        self.values = [values for values, _ in ways]
        self.needs = {}  # a loop may go round more often in one call than in another, and a list be longer
        for key, needs in (item for _, of_call in ways for item in of_call.items()):
            self.needs[key] = list(dict.fromkeys([*self.needs.get(key, ()), *needs]))
        self.keys = list(self.needs)
        self.true_keys, self.whole = world.true_keys, world.whole
        self.right = {k: self._is_right(k) for k in self.keys}
        self.result = next((k for k in reversed(self.keys) if k[0] in self.mine.returned), None)

    def located(self):
        """The Located that heals and leaves the fewest places in doubt; or two that heal together."""
        found, candidates = [], self._candidates()
        for keys, region in candidates:
            if found and _size(region) > _size(found[0][1]):
                break
            if by := self._healing(keys):
                found.append((keys, region, by))
        told = [self._told(*one) for one in found]
        if self.world.is_late():  # something may not have been tried
            return ()
        if told:
            return self._nearer(candidates, told[0]) if all(t.lines == told[0].lines for t in told) else ()
        if self.result and self.right[self.result] and not self.healed[0]:
            return self._told_of_the_result()
        return self._two(candidates) if not self.healed[0] else ()

    def _told_of_the_result(self):
        """The lines that return a right value in the place of another; or the loops that it hangs on, of which nobody
        knows whether it is right by chance."""
        hangs, in_loops = self._hangs_on_a_loop(), {line for k in self.keys if k[1] for line in self._lines(k)}
        if self.mine.is_decorated or not self._is_tensor(self.result) or hangs and not in_loops:
            return ()
        words, lines = self.mine.places[self.result[0]].words, self._lines(self.result) | self._renamed(self.result)
        return [Located(self._texts(lines | in_loops), words) if hangs else Located(self._texts(lines), "", (words,))]

    def _hangs_on_a_loop(self):
        """Is the result made in a loop, or what the one on the verified way has made before its end?"""
        return self._chain(self.result)[-1][1] > 0 or any(
            (n, time + 1) in true for values, true in zip(self.values, self.true, strict=True)
            for n, time in true.keys_of(values[self.result]) if isinstance(time, int))

    def _nearer(self, candidates, told):
        """What was found; or in its place two lines of it that are wrong each by itself."""
        two = self._two(candidates) if len(told.lines) > 1 and not told.before and not self.healed[0] else ()
        return two if two and all(len(t.lines) == 1 and t.lines.keys() <= told.lines.keys() for t in two) else [told]

    def _two(self, candidates):
        """A place that is wrong with all that goes in right, and after which more is right once it is put right."""
        alone = [(keys, region) for keys, region in candidates
                 if len({line for k in region for line in self.mine.places[k[0]].lines}) == 1][:FIRST]
        for keys, region in alone:
            for values in (v for v in self._fitting(keys) if not self._is_the_same_in_numbers(keys, v)):
                healed = self._with(keys, values)
                if self.world.is_late():
                    return ()
                after = _Search(self.world, healed)
                more = [k for k in after.keys if after.right[k] and not self.right.get(k) and k not in keys
                        and not self.mine.places[k[0]].name]
                ends_early = any(k[1] and k not in after.right for k in self.right)  # a loop
                if more and not ends_early and (others := after.located()):
                    both = [self._told(keys, region, values), *others]
                    if not any(t.before for t in both) and not self.world.is_late():  # or one wrong value is in both
                        return both
        return ()

    def _is_the_same_in_numbers(self, keys, others):
        """Are these values others but for their dtype, such as a mask of ones and zeros?"""
        return all(mine[k].shape == true[o].shape and torch.equal(mine[k].double(), true[o].double())
                   for mine, true in zip(self.values, self.true, strict=True)
                   for k, o in zip(keys, others, strict=True) if k in mine)

    def _candidates(self):
        """Places that may be to blame, [(keys, region)], those with the fewest places in doubt first."""
        regions = {k: region for k in self.keys if (region := self._region(k))}
        alone = [((k,), region) for k, region in regions.items()]
        of_place = {n: [k for k in regions if k[0] == n] for n, _ in regions}
        again = [(tuple(keys), set().union(*map(regions.get, keys))) for keys in of_place.values() if len(keys) > 1]
        return sorted(alone + again, key=lambda found: (_size(found[1]), found[0]))

    def _in_doubt_behind(self, keys, by):
        """Lines behind these places that may be to blame in their stead: steps that do nothing, those that should fill
        an empty table, and a `return` further down, since another variable may be what should be returned."""
        lines = set().union(*map(self._until_used, keys))
        steps = [*self._idle(keys, by), *(k for k, did in self._idle(keys, by, further_on=True).items() if did)]
        idle = (k for k in steps if not self.mine.places[k[0]].may_be_idle)
        lines = lines.union(*map(self._lines, idle))
        if self.result and (made := self._chain(self.result)[-1]) in {self._chain(k)[-1] for k in keys}:
            end = min(self.mine.places[self.result[0]].lines)
            lines |= {end} if end > max(self.mine.places[made[0]].lines) + 1 else set()
        return lines

    def _until_used(self, key):
        """Of a table with nothing in it yet, the lines up to where it is used: what should fill it may do nothing."""
        key = self._chain(key)[-1]
        value = self.values[-1].get(key)  # of the largest call
        if not isinstance(value, torch.Tensor) or value.numel() < 2 or (value != value.flatten()[0]).any():
            return set()
        using = (k for k in self.keys if any(key in self._held(n, self.needs) for n in self.needs[k] if n))
        lines = [line for k in using for line in self.mine.places[k[0]].lines]
        return set(range(min(self.mine.places[key[0]].lines), max(lines, default=0) + 1))

    def _told(self, keys, region, by):
        inputs = self._inputs(region)
        lines = {line for k in region for line in self._lines(k)}
        lines |= {line for using in inputs.values() for k in using for line in self._renamed(k)}
        made_here = (words for words, using in inputs.items() if self._made_in(using) or words in self.mine.sources)
        before = next(((words,) for words in made_here if self._healing(inputs[words], as_input=True)
                       or not self._is_near(inputs[words], by, _size(region))), None) or self._exchanged(inputs)
        made = {line for words in before for line in self._made_in(inputs[words])}
        if made:
            between = made.union(*(self.mine.places[k[0]].lines for k in region))
            lines |= set(range(min(between), max(between) + 1))
        lines = self.mine.around.of(lines | self._in_doubt_behind(keys, by))
        return Located(self._texts(lines), self.mine.places[keys[0][0]].words, tuple(inputs), before)

    def _texts(self, lines):
        return {n: self.mine.lines[n - 1] for n in sorted(lines)}

    def _is_near(self, keys, others, steps):
        """Is what goes in here one of the values that the verified answer makes these others of, in so many steps?"""
        near, todo = set(), {k for k, v in self.true[0].items() if any(_same(v, self.true[0].get(o)) for o in others)}
        for _ in range(steps + 1):
            near |= todo
            todo = {n for k in todo for n in self._made_of(k)} - near
        return all(any(_same(self.values[0][k], self.true[0].get(o)) for o in near)
                   for k in keys if k in self.values[0])

    def _made_of(self, key):
        """What a value on the verified way was made of, through the variables it was put into."""
        for need in filter(None, self.world.true_needs.get(key, ())):
            yield need
            if self.world.right.places[need[0]].name:
                yield from self._made_of(need)

    def _inputs(self, region):
        """{words: keys} of the tensors that go into a region."""
        found = {}
        for n in (n for k in sorted(region) for need in self.needs[k] for n in self._elements(need)):
            if n in self.right and self._chain(n)[-1] not in region and self._is_tensor(n):
                found.setdefault(self.mine.places[n[0]].words, []).append(n)
        return found

    def _elements(self, key):
        """What was put into a list one by one; of anything else, itself."""
        is_list = key in self.needs and isinstance(self.values[0].get(key), tuple) and self.mine.places[key[0]].name
        return [need for need in self.needs[key] if need] if is_list else [key]

    def _exchanged(self, inputs):
        """Two inputs that heal where each takes the place of the other."""
        for one, other in combinations(inputs, 2):
            values = [(v.get(inputs[one][0]), v.get(inputs[other][0])) for v in self.values]
            if all(getattr(a, "shape", 0) == getattr(b, "shape", 1) for a, b in values) and self.world.heals(
                    [h | dict.fromkeys(inputs[one], b) | dict.fromkeys(inputs[other], a)
                     for h, (a, b) in zip(self.healed, values, strict=True)]):
                return one, other
        return ()

    def _lines(self, key):
        place = self.mine.places[key[0]]
        callers = (p.lines for p in self.mine.places if place.inside and place.inside == p.calls)
        return place.lines.union(self.world.other.get(place.calls, ()), *callers)

    def _chain(self, key, needs=None):
        """From a variable to the place that made its value, through the variables it was put into; on one way, if the
        needs of that are given."""
        chain, of = [key], self.needs if needs is None else needs
        while self.mine.places[chain[-1][0]].name and (made_of := of.get(chain[-1])) and made_of[0]:
            chain.append(made_of[0])
        return chain

    def _held(self, key, of):
        """The places that made what is held here: of a variable with a list, all its elements."""
        found, todo = set(), [key]
        while todo:
            k = todo.pop()
            if k not in found and self.mine.places[k[0]].name:
                todo += filter(None, of.get(k, ()))
            found.add(k)
        return found

    def _renamed(self, key):
        """The lines in which what stands here was put into a variable of another name."""
        places = [self.mine.places[k[0]] for k in self._chain(key)]
        return {line for one, other in pairwise(places) if other.name and other.name != one.name
                for line in other.lines}

    def _made_in(self, keys):
        """The lines in which values were made, and what these were made of where that heals; none for an argument."""
        makers = {k for key in keys if not self.mine.places[(k := self._chain(key)[-1])[0]].name}
        inner = self._inputs(makers).values() if makers else ()
        return {line for k in makers for line in self.mine.places[k[0]].lines} | {
            line for using in inner if self._healing(using, as_input=True) for line in self._made_in(using)}

    def _is_right(self, key):
        place = self.mine.places[self._chain(key)[-1][0]]
        if place.name and None not in self.needs[key] or SIZE.match(place.words):
            return True
        same = set.intersection(*(true.keys_of(values[key]) for values, true in zip(self.values, self.true, strict=True)
                                  if key in values))
        return bool(same if (key[0], 1) in self.needs else same & self.whole)  # rows are those of a loop

    def _is_tensor(self, key):
        return all(isinstance(values[key], torch.Tensor) for values in self.values if key in values)

    def _region(self, key):
        """What is wrong on the way to a place, and itself; None where it is right, or something cannot be known."""
        is_name = bool(self.mine.places[key[0]].name)
        computed = key == self.result and not is_name  # is wrong, whatever it is like
        if not self._is_tensor(key) or not computed and (
                self.right[key] or is_name and key != self.result):
            return None
        region, todo = ({key}, [*self.needs[key]]) if computed else (set(), [key])
        while todo:
            k = todo.pop()
            if k not in self.right:
                return None
            if k not in region and not self.right[k]:
                region.add(k)
                todo += self.needs[k]
        return {k for k in region if not self.mine.places[k[0]].name}

    def _healing(self, keys, as_input=False):
        """The places on the verified way whose values bring all right in the place of these; None where none do."""
        return next((o for o in self._fitting(keys, as_input) if self.world.heals(self._with(keys, o))
                     and (as_input or not any(self._idle(keys, o).values()))), None)

    def _idle(self, keys, others, further_on=False):
        """{step: did it do something to the wrong values?} of the steps after these that do nothing to right ones.

        Nobody knows whether such a step is right: it pads what has its length already, writes a 1 where one stands.
        further_on: also of the steps after the next ones, and of those that the wrong values never came to
        """
        found, busy = {}, set()  # pairs of a step and what it is made of
        for before, (values, needs) in zip(self.values, self.world.way(self._with(keys, others)), strict=True):
            behind, reached = set(keys), {n for n, _ in before}  # it may have failed before a step, or at it
            steps = [k for k in needs if (k in before or further_on and k[0] not in reached)
                     and not self.mine.places[k[0]].name]
            for pair in [(k, n) for k in steps for need in needs[k] if need for n in self._held(need, needs)]:
                if pair[1] in behind and pair[1] in before:
                    step, n = pair
                    found[pair] = found.get(pair) or step not in before or not _is_unchanged(before[step], before[n])
                    busy |= set() if _is_unchanged(values[step], values[n]) else {pair}
                    behind |= {step} if further_on else set()
        return {step: did for (step, n), did in found.items() if (step, n) not in busy}

    def _with(self, keys, others):
        """What takes the answer's places in each call: what was put right before, and these values."""
        return [h | {k: v[t] for k, t in zip(keys, others, strict=True) if t in v}
                for h, v in zip(self.healed, self.true, strict=True)]

    def _fitting(self, keys, as_input=False):
        """Places on the verified way, one for each of these, that have values of the same shapes, if any have."""
        same = [[t] * len(keys) for t in self.true_keys if t in self.whole]
        times = [k[1] for k in keys] if not as_input else [self._chain(k)[-1][1] for k in keys]
        others = [[(n, of(i)) for i in times] for n, time in self.true_keys if not time for of in (int, _row)] \
            if any(times) else []
        both = list(zip(self.values, self.true, strict=True))
        others = [o for o in (others if others and not as_input else same + others)
                  if all(isinstance(true.get(t), torch.Tensor) for mine, true in both
                         for k, t in zip(keys, o, strict=True) if k in mine)]
        fitting = [o for o in others if all(self._may_stand_for(mine, true, keys, o) for mine, true in both)]
        rest = [o for o in others if o not in fitting] if as_input or not fitting else []
        return fitting[::-1] + rest[::-1]

    def _may_stand_for(self, mine, true, keys, others):
        """Are these of the shapes of those? Of masks, other shapes do as well."""
        return all(mine[k].shape == true[o].shape or mine[k].dtype == true[o].dtype == torch.bool
                   for k, o in zip(keys, others, strict=True) if k in mine)


def _size(region):
    """How many places of the source it has."""
    return len({n for n, _ in region})


def _ready(of, call):
    """What is asked, and the call: a module is built once, for that takes longer than the call."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return (of.answer, call) if call.build is None else (built(of.answer, call), replace(call, build=None))
    except Exception:  # which is then what it fails with
        return of.answer, call


def _way(of, answer, call, instead=None):
    """The values on the way of one call, and what each was made of."""
    of.begin(instead)
    ask(answer, call, AT_MOST)
    return of.values, of.needs


def _also_in_a_loop(values):
    """Values, with the rows of each and all of a loop in one: an answer may have a loop where another has none."""
    found, loops = dict(values), {}
    for (n, before), value in values.items():
        if isinstance(value, torch.Tensor):
            loops.setdefault(n, []).append(value)
            if value.dim() > 1 and not before:
                found |= {(n, _row(i)): row for i, row in enumerate(value[:TIMES])}
    return found | {(n, ALL): torch.stack(v) for n, v in loops.items() if len({t.shape for t in v}) == 1 < len(v)}


def _row(i):
    return f"row {i}"


def _built_otherwise(mine, true, call):
    """{attribute: lines} of what a module was built with, where the verified answer has no such thing."""
    if call.build is None:
        return {}
    try:
        mine_is, true_is = (vars(of.answer(*call.build)) for of in (mine, true))
        mine_is, true_is = ({**of, **of["_modules"]} for of in (mine_is, true_is))
        return {name: lines for name, lines in mine.built.items()
                if str(mine_is.get(name)) != str(true_is.get(name, "nothing"))}
    except Exception:  # whatever an answer does that is no module
        return {}


def _is_unchanged(new, old):
    """To the last digit: a small number that is added does something."""
    both = isinstance(new, torch.Tensor) and isinstance(old, torch.Tensor)
    return _same(new, old) and (not both or torch.equal(new, old))


def _same(mine, true):
    if isinstance(mine, torch.Tensor) and isinstance(true, torch.Tensor):
        return mine.shape == true.shape and mine.dtype == true.dtype and alike_values(mine, true)
    if isinstance(mine, tuple) and isinstance(true, tuple):
        return len(mine) == len(true) and all(map(_same, mine, true))
    if isinstance(mine, float | int) and isinstance(true, float | int):
        return abs(mine - true) <= 1e-6 * abs(true)
    return mine is None and true is None
