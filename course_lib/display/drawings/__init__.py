"""What the lessons draw: the parts of a Transformer, from one query to the whole machine."""

from course_lib.display.drawings.clock_hands import clock_hands
from course_lib.display.drawings.encoder import encoder
from course_lib.display.drawings.one_query import one_query
from course_lib.display.drawings.transformer import draw_transformer

__all__ = ["clock_hands", "draw_transformer", "encoder", "one_query"]
