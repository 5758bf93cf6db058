"""Small real things that come with the course and need no network: trained models, word vectors, photographs, a text.

What each is, where it comes from, under which licence, and the command that made it: `course_lib/shipped/things.tsv`.
"""

from course_lib.shipped.long_text import manual
from course_lib.shipped.looks import PhotoLooks, photo_looks
from course_lib.shipped.models import Translator, Writer, language_model, translator, vision_transformer
from course_lib.shipped.paragraphs import paragraphs
from course_lib.shipped.photographs import photographs, squared
from course_lib.shipped.things import ShippedError
from course_lib.shipped.word_vectors import nearest, word_vectors

__all__ = ["PhotoLooks", "ShippedError", "Translator", "Writer", "language_model", "manual", "nearest", "paragraphs",
           "photo_looks", "photographs", "squared", "translator", "vision_transformer", "word_vectors"]
