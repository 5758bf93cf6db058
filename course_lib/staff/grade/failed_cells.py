"""What the author of a right answer is told of their cells that failed beside it."""

from course_lib.checks.engine.asking import raised
from course_lib.checks.engine.time_limit import HAD

FAILED = "A cell failed"  # the label on a card


def what_failed(failed, skipped):
    """(label, sentence) for each cell of a student's own that failed, or was left out; the same on a busy machine.

    failed:  {Piece: (kind of error, its message, line or None)}
    skipped: {Piece: how its process was lost}
    """
    says = {piece: raised(kind, message.split(HAD)[0]) + (f" (line {line})" if line else "")
            for piece, (kind, message, line) in failed.items()} | {
        piece: f"was left out: {lost}" for piece, lost in skipped.items()}
    own = sorted((piece for piece in says if piece.is_own), key=lambda piece: (piece.notebook, piece.number))
    several = len({piece.notebook for piece in own}) > 1
    return tuple((FAILED, f"Code cell {piece.number}{f' of notebook {piece.notebook + 1}' * several} "
                          f"{' '.join(says[piece].split()).rstrip('.')}.") for piece in own)
