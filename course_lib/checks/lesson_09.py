"""Lesson 09, positions: judged by Python's own binary numbers, by sines one at a time, and by where positions go."""

import math

import torch

from course_lib import positions
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise


def asked_twice(*args):
    """Twice in a row, since a kept table that was written over twice looks right again."""
    return lambda generator: [Call(args, "two calls, and somebody writes into the second table", twice=True)
                              for _ in range(2)]


def given(generator, *size):
    """The arguments are whole numbers: a size is all there is."""
    return size


# --- binary_positions -------------------------------------------------------------------------------------------


def python_bits(n, dims):
    """Each position written by Python, read from its last digit to its first."""
    texts = [format(p, "b").zfill(dims)[::-1][:dims] for p in range(n)]
    return torch.tensor([[float(digit) for digit in text] for text in texts])


def column_of(n):
    return torch.arange(n)[:, None]  # (n, 1)


def powers(dims):
    return 2 ** torch.arange(dims)  # (dims,)


def bits_of(position, dims):
    return (position // powers(dims) % 2).float()


def highest_first(n, dims):
    """The bits stand the other way round: the last column alternates fastest. Column 0 is to be the fastest, like
    the first hand of the clocks that come next."""
    return bits_of(column_of(n), dims).flip(1)


def begins_at_one(n, dims):
    """The first row is position 1. Positions begin at 0: what are the bits of 0?"""
    return bits_of(column_of(n) + 1, dims)


def counts_down(n, dims):
    """The rows stand upside down: the last position comes first."""
    return bits_of(column_of(n), dims).flip(0)


def lies_on_its_side(n, dims):
    """The table lies on its side: (dims, n). One row is one position."""
    return bits_of(column_of(n), dims).T


def sizes_swapped(n, dims):
    """n and dims have changed places: there are dims rows, with n bits each."""
    return bits_of(column_of(dims), n)


def no_remainder(n, dims):
    """Position was divided by the power of two, and that was all. The quotient still holds every higher bit: how do
    you keep its lowest one?"""
    return (column_of(n) // powers(dims)).float()


def remainders(n, dims):
    """These are remainders after division by 2, 4, 8 and so on, as large as they come. A bit says only whether the
    half of that power is in the remainder."""
    return (column_of(n) % (2 * powers(dims))).float()


def remainder_of_the_power(n, dims):
    """Each column asks for the remainder of its own power of two and turns it into yes or no. Position 2 has no
    remainder after division by 2, and still its second bit is 1."""
    return (column_of(n) % powers(dims) > 0).float()


def keeps_fractions(n, dims):
    """The division kept its fraction, so that values such as 0.5 and 1.5 come out. How often does the power fit in
    whole?"""
    return (column_of(n) / powers(dims) % 2).float()


def rounds(n, dims):
    """The quotient was rounded to the nearest whole number. Half of the time that is one too many: which way does a
    count of whole steps have to be rounded?"""
    return (torch.round(column_of(n) / powers(dims)) % 2).float()


def doubles_not_powers(n, dims):
    """The columns divide by 1, 2, 4, 6, 8 and so on: twice the column number. Each period has to be double the one
    before it."""
    return (column_of(n) // (2 * torch.arange(dims)).clamp_min(1) % 2).float()


def squares_not_powers(n, dims):
    """The columns divide by the squares 0, 1, 4, 9 (with 1 for 0). Each bit weighs twice the one before: which
    sequence is that?"""
    return (column_of(n) // (torch.arange(dims) ** 2).clamp_min(1) % 2).float()


def skips_the_first_bit(n, dims):
    """The first column has the bit that weighs 2. The bit that weighs 1, which tells odd from even, is missing:
    what is 2 to the power of 0?"""
    return (column_of(n) // (2 * powers(dims)) % 2).float()


def digits_of_ten(n, dims):
    """These are the decimal digits. In base two only 0 and 1 occur, and a column weighs twice the one before it."""
    return (column_of(n) // 10 ** torch.arange(dims) % 10).float()


def plus_and_minus_one(n, dims):
    """The bits are written as -1 and 1. They are to be 0 and 1."""
    return 2 * bits_of(column_of(n), dims) - 1


def zeros_and_ones_swapped(n, dims):
    """Zeros and ones have changed places. Position 0 should have zeros only."""
    return 1 - bits_of(column_of(n), dims)


def one_hot(n, dims):
    """Each position has a single 1, in a column of its own. That is a one-hot code and needs a column for each
    position; with bits, dims columns hold 2**dims positions."""
    return (column_of(n) % dims == torch.arange(dims)).float()


def thermometer(n, dims):
    """The row of position p begins with p ones. That is counting with strokes: dims columns then hold no more than
    dims + 1 positions."""
    return (column_of(n) > torch.arange(dims)).float()


def gray_code(n, dims):
    """Only one bit changes from each position to the next: that is the Gray code. Plain binary numbers are asked
    for, where several bits may change at once."""
    return bits_of(column_of(n) ^ (column_of(n) >> 1), dims)


def stays_at_the_end(n, dims):
    """Positions that need more than dims bits all got the last code, only ones. They are to begin again at 0, as
    a clock does."""
    return bits_of(column_of(n).clamp_max(2**dims - 1), dims)


def zeros_beyond_the_end(n, dims):
    """Positions that need more than dims bits got zeros. Their lowest dims bits are to be kept."""
    return bits_of(column_of(n), dims) * (column_of(n) < 2**dims)


def keeps_the_highest_bits(n, dims):
    """Of a position with more than dims bits the highest ones were kept. The lowest are asked for: a number is
    filled up with zeros and cut off on the same side."""
    return torch.tensor([[float(b) for b in format(p, "b").zfill(dims)[:dims][::-1]] for p in range(n)])


def filled_up_on_the_wrong_side(n, dims):
    """The number was filled up with zeros behind its last digit, so that 1, 2 and 4 look the same. On which side
    may a number get zeros without becoming another one?"""
    return torch.tensor([[float(b) for b in format(p, "b")[-dims:].ljust(dims, "0")[::-1]] for p in range(n)])


def longer_than_dims(n, dims):
    """The rows are not equally long: a position that needs more than dims bits kept all of them. Only its lowest
    dims bits are to stay."""
    return torch.tensor([[float(b) for b in format(p, f"0{dims}b")[::-1]] for p in range(n)])


def as_python_writes_it(n, dims):
    """The bits stand as Python writes them: the highest first, and more than dims of them where a position needs
    more. Column 0 is to hold the lowest, and a row dims bits: which ones are left out?"""
    return torch.tensor([[float(b) for b in format(p, f"0{dims}b")] for p in range(n)])


def every_code_there_is(n, dims):
    """There are 2**dims rows, one for each code. n rows are asked for, be that fewer or more."""
    return bits_of(column_of(2**dims), dims)


def hard_coded_bits(n, dims):
    """The table is always four bits wide. Does the number of columns follow dims?"""
    return bits_of(column_of(n), 4)


def binary_axis_too_many(n, dims):
    """There is an axis in front: (1, n, dims). The table is the same for every sentence, and (n, dims) broadcasts
    over a batch by itself."""
    return bits_of(column_of(n), dims)[None]


def weighs_each_bit(n, dims):
    """Each bit was multiplied by what it weighs, 1, 2, 4 and so on. A bit is 0 or 1; its column says what it weighs."""
    return bits_of(column_of(n), dims) * powers(dims)


def zeros_and_ones_only(output, generator):
    return bool(((output(9, 5) == 0) | (output(9, 5) == 1)).all())


def rows_spell_their_position(output, generator):
    return torch.equal(output(13, 4) @ powers(4).float(), torch.arange(13.0))


def column_0_alternates(output, generator):
    return torch.equal(output(8, 3)[:, 0], torch.tensor([0.0, 1.0]).repeat(4))


def codes_begin_again(output, generator):
    table = output(11, 3)
    return torch.equal(table[8:], table[:3])


def all_codes_differ(output, generator):
    return len(torch.unique(output(16, 4), dim=0)) == 16


# --- sinusoidal_positions ---------------------------------------------------------------------------------------


def one_sine_at_a_time(n, d):
    """Section 3.5 of the paper, number by number, in double precision."""
    table = torch.zeros(n, d, dtype=torch.float64)
    for pos in range(n):
        for i in range(d // 2):
            angle = pos / 10000 ** (2 * i / d)
            table[pos, 2 * i], table[pos, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def angles(n, d, base=10000.0, exponent=None, first=0):
    """(n, d / 2) angles; the exponents of the base are 2i / d unless others are given."""
    exponent = torch.arange(0, d, 2, dtype=torch.float64) / d if exponent is None else exponent
    return (torch.arange(n, dtype=torch.float64) + first)[:, None] / base**exponent


def in_turn(angle):
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).float()


def i_of(d):
    return torch.arange(d // 2, dtype=torch.float64)


def halves(n, d):
    """All sines stand in the first half and all cosines in the second. Sine and cosine of one frequency are to stand
    next to each other: columns 2i and 2i + 1."""
    return torch.cat([angles(n, d).sin(), angles(n, d).cos()], 1).float()


def cosine_first(n, d):
    """In each pair the cosine comes first. The even column is the sine. What is the row of position 0?"""
    return torch.stack([angles(n, d).cos(), angles(n, d).sin()], -1).flatten(1).float()


def sines_only(n, d):
    """Both columns of a pair are sines. The odd column is to be the cosine: a sine alone does not tell which way
    the hand of a clock moves."""
    return angles(n, d).sin().repeat_interleave(2, 1).float()


def cosines_only(n, d):
    """Both columns of a pair are cosines. The even column is to be the sine."""
    return angles(n, d).cos().repeat_interleave(2, 1).float()


def angles_only(n, d):
    """These are the angles. Sine and cosine of them are still missing."""
    return angles(n, d).repeat_interleave(2, 1).float()


def exponent_i(n, d):
    """The exponent is i / d, half of what it should be: the slowest wave is far too fast. In the formula i counts
    pairs of columns: what does 2i / d become from the first pair to the last?"""
    return in_turn(angles(n, d, exponent=i_of(d) / d))


def exponent_4i(n, d):
    """The exponent is 4i / d, twice what it should be: the waves become too slow too soon. If you count even columns
    0, 2, 4, each is already 2i."""
    return in_turn(angles(n, d, exponent=4 * i_of(d) / d))


def a_frequency_for_each_column(n, d):
    """The cosine has a frequency of its own, since the exponent went up from column to column. Sine and cosine
    of a pair are to share one angle: how can 2i be got from either column number?"""
    angle = angles(n, d, exponent=torch.arange(d, dtype=torch.float64) / d)
    return torch.where(torch.arange(d) % 2 == 0, angle.sin(), angle.cos()).float()


def column_number_for_i(n, d):
    """The column number was put in the place of i, so that the exponents run to nearly 2. In the formula the
    columns are 2i and 2i + 1: what is i in column 3?"""
    angle = angles(n, d, exponent=2 * torch.arange(d, dtype=torch.float64) / d)
    return torch.where(torch.arange(d) % 2 == 0, angle.sin(), angle.cos()).float()


def one_frequency(n, d):
    """Every pair has the same frequency, 1. Then d columns say no more than two: each pair needs a wave of its own
    length."""
    return in_turn(angles(n, d, exponent=0 * i_of(d)))


def gets_faster(n, d):
    """The power of 10000 multiplies the position, so that waves get faster from pair to pair. It is to divide: a
    large power makes a slow wave."""
    return in_turn(angles(n, d, exponent=-torch.arange(0, d, 2, dtype=torch.float64) / d))


def base_1000(n, d):
    """The base is 1000 instead of 10000. Count the zeros."""
    return in_turn(angles(n, d, base=1000.0))


def base_e(n, d):
    """The frequencies are powers of e, not of 10000. If you go through exp, the exponent needs the logarithm of
    10000 as a factor."""
    return in_turn(angles(n, d, base=math.e))


def logarithm_to_base_10(n, d):
    """The frequencies went through exp with a logarithm to base 10. Which logarithm does exp undo?"""
    return in_turn(angles(n, d, base=math.e**4))


def product_not_power(n, d):
    """The position was divided by 10000 times 2i / d, where 10000 to the power of 2i / d is meant. For i = 0 the
    one is 0 and the other 1."""
    return in_turn(torch.arange(n)[:, None] / (10000 * 2 * i_of(d) / d))


def ends_exactly_at_10000(n, d):
    """The exponents run from 0 to exactly 1, with d - 2 below the line. In the formula it is d, and the largest
    exponent stays below 1. (Some programs do it your way; here the paper's formula is asked for.)"""
    return in_turn(angles(n, d, exponent=2 * i_of(d) / max(d - 2, 1e-9)))


def hard_coded_512(n, d):
    """The exponents are 2i / 512 whatever the width is. Which of your arguments is the width?"""
    return in_turn(angles(n, d, exponent=2 * i_of(d) / 512))


def positions_begin_at_one(n, d):
    """The first row is position 1. Positions begin at 0: there all sines are 0 and all cosines 1."""
    return in_turn(angles(n, d, first=1))


def divides_by_the_length(n, d):
    """The position was divided by the number of positions. That brings back the first bad idea: the same place has
    other numbers in a longer sentence."""
    return in_turn(angles(n, d) / max(n, 1))


def whole_numbers_only(n, d):
    """The angle was rounded down to a whole number, as // does. Slow waves then stand still for hundreds of
    positions."""
    return in_turn(angles(n, d).floor())


def degrees(n, d):
    """The angles were taken as degrees. torch.sin takes radians, and so does the formula: nothing is to be
    converted."""
    return in_turn(torch.deg2rad(angles(n, d)))


def times_two_pi(n, d):
    """The angles were multiplied by 2π. Then the first pair makes a whole turn with every step, and always shows the
    same. How far does the formula turn it in a step?"""
    return in_turn(2 * math.pi * angles(n, d))


def from_0_to_1(n, d):
    """The waves were moved and squeezed into 0 to 1. A sine lies between -1 and 1, and is to stay there."""
    return ((in_turn(angles(n, d)) + 1) / 2).float()


def runs_backwards(n, d):
    """The sines have the wrong sign, as if positions ran backwards from 0. Is there a minus that belongs into the
    exponent alone?"""
    return in_turn(-angles(n, d))


def wave_table_on_its_side(n, d):
    """The table lies on its side: (d, n). One row is one position."""
    return in_turn(angles(n, d)).T


def half_as_wide(n, d):
    """The table is half as wide as it should be: sine and cosine were added up. They need a column each."""
    return (angles(n, d).sin() + angles(n, d).cos()).float()


def wave_axis_too_many(n, d):
    """There is an axis in front: (1, n, d). The table is the same for every sentence, and (n, d) broadcasts over a
    batch by itself."""
    return in_turn(angles(n, d))[None]


def one_row_too_many(n, d):
    """There is a row too many. Positions run from 0 to n - 1."""
    return in_turn(angles(n + 1, d))


_KEPT = {}


def kept(n, d):
    """The same tensor came back twice. Whoever writes into the first table changes the second: make a new tensor in
    each call."""
    if (n, d) not in _KEPT:
        _KEPT.clear()
        _KEPT[n, d] = in_turn(angles(n, d))
    return _KEPT[n, d]


def position_0_is_0_1_0_1(output, generator):
    return torch.allclose(output(3, 6)[0], torch.tensor([0.0, 1.0] * 3), atol=1e-5)


def pairs_lie_on_a_circle(output, generator):
    table = output(9, 6)
    return torch.allclose(table[:, 0::2] ** 2 + table[:, 1::2] ** 2, torch.ones(9, 3), atol=1e-4)


def first_pair_is_plain_sine_and_cosine(output, generator):
    p = torch.arange(9.0)
    return torch.allclose(output(9, 6)[:, :2], torch.stack([p.sin(), p.cos()], 1), atol=1e-4)


def longer_tables_begin_alike(output, generator):
    return torch.allclose(output(9, 6)[:4], output(4, 6), atol=1e-5)


def waves_get_slower(output, generator):
    steps = (output(2, 8)[1] - output(2, 8)[0])[0::2]
    return bool((steps.diff() < 0).all() and (steps > 0).all())


# --- shift_matrix -----------------------------------------------------------------------------------------------


def where_two_positions_go(k, d):
    """A 2 by 2 block is known from where two positions go. Position 0 has (sine, cosine) = (0, 1), so the second
    column is what position k has. A quarter of a turn has (1, 0), so the first column is what is k steps on from it."""
    matrix = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        frequency = 10000 ** (-2 * i / d)
        for column, start in ((2 * i, math.pi / 2), (2 * i + 1, 0.0)):
            matrix[2 * i, column] = math.sin(start + k * frequency)
            matrix[2 * i + 1, column] = math.cos(start + k * frequency)
    return matrix


def turn_angles(k, d, base=10000.0, exponent=None):
    exponent = torch.arange(0, d, 2, dtype=torch.float64) / d if exponent is None else exponent
    return k / base**exponent  # (d / 2,)


def blocks(a, b, c, e):
    """The matrix with the block [[a, b], [c, e]] for every frequency."""
    return torch.block_diag(*torch.stack([a, b, c, e], -1).unflatten(-1, (2, 2))).float()


def turned(angle):
    return blocks(angle.cos(), angle.sin(), -angle.sin(), angle.cos())


def turns_the_other_way(k, d):
    """This matrix goes k steps back instead of on. Sine stands above cosine here, and M stands on the left of a
    column: write sin(a + b) as a sum of products, and see which sign stands where."""
    return turned(-turn_angles(k, d))


def no_minus(k, d):
    """Both sines have a plus. In which of the two theorems, the one for sin(a + b) or the one for cos(a + b), is
    there a minus?"""
    a = turn_angles(k, d)
    return blocks(a.cos(), a.sin(), a.sin(), a.cos())


def two_minuses(k, d):
    """Both sines have a minus. Look at the two addition theorems again: how many minus signs are there?"""
    a = turn_angles(k, d)
    return blocks(a.cos(), -a.sin(), -a.sin(), a.cos())


def sine_and_cosine_swapped(k, d):
    """Sine and cosine have changed places in every block. What should the matrix be for k = 0, where nothing
    moves?"""
    a = turn_angles(k, d)
    return blocks(a.sin(), a.cos(), -a.cos(), a.sin())


def cosines_on_the_diagonal_only(k, d):
    """Only the diagonal is filled. sin(a + b) also needs the cosine that stands below it, and the other way
    round."""
    return torch.diag(turn_angles(k, d).cos().repeat_interleave(2)).float()


def nothing_moves(k, d):
    """This is the identity whatever k is: nothing moves."""
    return torch.eye(d)


def works_for_halves(k, d):
    """This is right where all sines come first and then all cosines. Here they take turns, so that each block is
    2 by 2 and stands on the diagonal."""
    a = turn_angles(k, d)
    cos, sin = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)]).float()


def one_angle_for_all(k, d):
    """Every pair was turned by the same angle, k. The slower a wave, the less it turns in k steps: by how much does
    pair i turn in one?"""
    return turned(turn_angles(k, d, exponent=0 * i_of(d)))


def first_pair_only(k, d):
    """Only the first pair was turned, and the others stand still. Every pair has a wave of its own."""
    a = turn_angles(k, d)
    return turned(a * (torch.arange(d // 2) == 0))


def shift_exponent_i(k, d):
    """The exponent is i / d, half of what it should be. i counts pairs of columns, and the exponent is 2i / d."""
    return turned(turn_angles(k, d, exponent=i_of(d) / d))


def shift_exponent_4i(k, d):
    """The exponent is 4i / d, twice what it should be. If you count even columns 0, 2, 4, each is already 2i."""
    return turned(turn_angles(k, d, exponent=4 * i_of(d) / d))


def gets_faster_from_pair_to_pair(k, d):
    """The power of 10000 multiplies k, so that waves get faster from pair to pair. It is to divide."""
    return turned(turn_angles(k, d, exponent=-torch.arange(0, d, 2, dtype=torch.float64) / d))


def shift_base_1000(k, d):
    """The base is 1000 instead of 10000. Does it fit the table of positions?"""
    return turned(turn_angles(k, d, base=1000.0))


def shift_in_degrees(k, d):
    """The angles were taken as degrees. torch.sin takes radians: nothing is to be converted."""
    return turned(torch.deg2rad(turn_angles(k, d)))


def shift_hard_coded_512(k, d):
    """The exponents are 2i / 512 whatever the width is. Which of your arguments is the width?"""
    return turned(turn_angles(k, d, exponent=2 * i_of(d) / 512))


def never_back(k, d):
    """The sign of k was lost: -2 moves two steps on. What does a negative angle do to the sine?"""
    return turned(turn_angles(abs(k), d))


def stays_for_negative_k(k, d):
    """A negative k moves nothing, as a loop over range(k) does nothing then. How would you undo a step?"""
    return turned(turn_angles(max(k, 0), d))


def one_step_only(k, d):
    """The matrix moves one step on whatever k is."""
    return turned(turn_angles(1, d))


def one_step_too_far(k, d):
    """The matrix moves k + 1 steps. For k = 0 nothing should move."""
    return turned(turn_angles(k + 1, d))


def k_times_one_step(k, d):
    """The matrix of one step was multiplied by k. Two steps are one step after another: what do matrices do one
    after another?"""
    return k * turned(turn_angles(1, d))


def moves_the_columns(k, d):
    """This matrix moves the numbers of a vector to other columns. It is the position that has to move, and each
    pair of columns stays where it is."""
    return torch.eye(d).roll(k, 0)


def right_for_position_0_only(k, d):
    """This matrix takes position 0 to position k, and all others to the wrong place: it is an outer product of two
    positions. One matrix has to do for every position."""
    start, end = turned(turn_angles(0, d))[:, 1::2].sum(1), turned(turn_angles(k, d))[:, 1::2].sum(1)
    return torch.outer(end, start) / (d / 2)


def multiplies_by_a_position(k, d):
    """The diagonal holds the numbers of position k. Multiplying two sines does not add their angles: look at the
    addition theorems."""
    return torch.diag(turned(turn_angles(k, d))[:, 1::2].sum(1))


def blocks_everywhere(k, d):
    """The blocks stand everywhere in the matrix instead of on its diagonal alone: pairs of different frequencies
    were mixed. What should a pair know of the others?"""
    return turned(turn_angles(k, d)).unflatten(1, (-1, 2)).sum(1).repeat(1, d // 2)


def blocks_not_joined(k, d):
    """The blocks lie in a stack, (d / 2, 2, 2). They are to stand on the diagonal of one matrix (d, d), with zeros
    elsewhere."""
    a = turn_angles(k, d)
    return torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()], -1).unflatten(-1, (2, 2)).float()


def kept_matrix(k, d):
    """The same tensor came back twice. Whoever writes into the first matrix changes the second: make a new tensor in
    each call."""
    if ("matrix", k, d) not in _KEPT:
        _KEPT.clear()
        _KEPT["matrix", k, d] = turned(turn_angles(k, d))
    return _KEPT["matrix", k, d]


def moves_every_position(output, generator):
    table = one_sine_at_a_time(40, 6).float()
    return torch.allclose(table[:-3] @ output(3, 6).T, table[3:], atol=1e-4)


def nothing_moves_for_k_0(output, generator):
    return torch.allclose(output(0, 6), torch.eye(6), atol=1e-5)


def back_undoes_on(output, generator):
    return torch.allclose(output(-4, 6) @ output(4, 6), torch.eye(6), atol=1e-4)


def steps_add_up(output, generator):
    return torch.allclose(output(2, 6) @ output(3, 6), output(5, 6), atol=1e-4)


def far_positions_arrive_if_near_ones_do(output, generator):
    M, table = output(3, 16).double(), one_sine_at_a_time(1040, 16)
    error = (table[:-3] @ M.T - table[3:]).abs().amax(1)
    return bool(error[:37].max() > 1e-2 or error.max() < 1e-3)


def keeps_lengths(output, generator):
    return torch.allclose(output(3, 6) @ output(3, 6).T, torch.eye(6), atol=1e-4)


def pairs_do_not_mix(output, generator):
    off = 1 - torch.block_diag(*torch.ones(3, 2, 2))
    return bool((output(3, 6) * off).abs().max() < 1e-4)


EXERCISES = (
    Exercise(
        name="binary_positions",
        lesson="09",
        asked="a table (n, dims) of 0.0 and 1.0: row p holds the bits of p, beginning at p = 0, the lowest bit first; "
        "of a position that needs more than dims bits, only the lowest dims.",
        verified=positions.binary_positions,
        oracle=python_bits,
        examples=((6, 3), (7, 2)),
        sizes=((5, 7), (10, 4), (4, 4), (20, 3), (3, 5), (40, 12), (130, 8), (600, 10), (9, 1), (1, 5), (1, 1)),
        make=given,
        calls=asked_twice(5, 3),
        by_hand=(highest_first, begins_at_one, counts_down, lies_on_its_side, sizes_swapped, no_remainder, remainders,
                  remainder_of_the_power, keeps_fractions, rounds, doubles_not_powers, squares_not_powers,
                  skips_the_first_bit, digits_of_ten, plus_and_minus_one, zeros_and_ones_swapped, one_hot, thermometer,
                  gray_code, stays_at_the_end, zeros_beyond_the_end, keeps_the_highest_bits,
                  filled_up_on_the_wrong_side, longer_than_dims, as_python_writes_it, every_code_there_is,
                  hard_coded_bits, binary_axis_too_many, weighs_each_bit),
        properties=(
            ("There are other numbers than 0 and 1 in the table.", zeros_and_ones_only),
            ("Column 0 does not alternate 0, 1, 0, 1.", column_0_alternates),
            ("With the weights 1, 2, 4, 8 the bits of a row do not add up to its position.", rows_spell_their_position),
            ("With 3 bits, position 8 does not begin again at the code of position 0.", codes_begin_again),
            ("Two of the first 16 positions have the same 4 bits.", all_codes_differ),
        ),
    ),
    Exercise(
        name="sinusoidal_positions",
        lesson="09",
        asked="a table (n, d): in the row of pos, from 0 to n - 1, column 2i is sin(pos / 10000^(2i / d)) and column "
        "2i + 1 is the cosine of the same angle.",
        verified=positions.sinusoidal_positions,
        oracle=one_sine_at_a_time,
        examples=((3, 4), (4, 6)),
        sizes=((7, 10), (5, 8), (6, 6), (64, 16), (3, 12), (100, 32), (600, 4), (2, 512), (9, 2), (1, 4), (1, 2)),
        make=given,
        calls=asked_twice(5, 4),
        by_hand=(halves, cosine_first, sines_only, cosines_only, angles_only, exponent_i, exponent_4i,
                  a_frequency_for_each_column, column_number_for_i, one_frequency, gets_faster, base_1000, base_e,
                  logarithm_to_base_10, product_not_power, ends_exactly_at_10000, hard_coded_512,
                  positions_begin_at_one, divides_by_the_length, whole_numbers_only, degrees, times_two_pi, from_0_to_1,
                  runs_backwards, wave_table_on_its_side, half_as_wide, wave_axis_too_many, one_row_too_many, kept),
        properties=(
            ("The row of position 0 is not 0, 1, 0, 1, ...: the sine of 0 is 0, its cosine 1.", position_0_is_0_1_0_1),
            ("The squares of a sine and its cosine do not add up to 1: columns 2i and 2i + 1 do not share one angle.",
             pairs_lie_on_a_circle),
            ("The first two columns are not sin(pos) and cos(pos).", first_pair_is_plain_sine_and_cosine),
            ("The sines do not get slower from pair to pair.", waves_get_slower),
            ("A longer table has other numbers for the first positions.", longer_tables_begin_alike),
        ),
    ),
    Exercise(
        name="shift_matrix",
        lesson="09",
        asked="the one matrix M (d, d) with PE[pos + k] = M @ PE[pos] for every pos, where PE is the table of exercise "
        "2: for each pair of columns a 2 by 2 block on the diagonal, and zeros elsewhere; k may be negative.",
        verified=positions.shift_matrix,
        oracle=where_two_positions_go,
        examples=((2, 4), (-1, 4)),
        sizes=((5, 6), (-3, 8), (0, 6), (7, 2), (1, 10), (4, 4), (-40, 16), (60, 8), (3, 64), (2, 2), (1, 2), (0, 2)),
        make=given,
        calls=asked_twice(3, 4),
        by_hand=(turns_the_other_way, no_minus, two_minuses, sine_and_cosine_swapped, cosines_on_the_diagonal_only,
                  nothing_moves, works_for_halves, one_angle_for_all, first_pair_only, shift_exponent_i,
                  shift_exponent_4i, gets_faster_from_pair_to_pair, shift_base_1000, shift_in_degrees,
                  shift_hard_coded_512, never_back, stays_for_negative_k, one_step_only, one_step_too_far,
                  k_times_one_step, moves_the_columns, right_for_position_0_only, multiplies_by_a_position,
                  blocks_everywhere, blocks_not_joined, kept_matrix),
        properties=(
            ("For k = 3 and width 16 the first 37 positions arrive, and far ones do not: was it fitted to some rows? "
             "The addition theorems give it exactly.", far_positions_arrive_if_near_ones_do),
            ("For k = 0 it is not the identity.", nothing_moves_for_k_0),
            ("It mixes pairs of columns with one another: outside the 2 by 2 blocks not all is 0.", pairs_do_not_mix),
            ("It changes the length of a vector: a rotation does not.", keeps_lengths),
            ("Two steps and then three are not five.", steps_add_up),
            ("-4 steps do not undo 4 steps.", back_undoes_on),
            ("Not every one of the first 37 positions of width 6 arrives three steps on.", moves_every_position),
        ),
    ),
)
