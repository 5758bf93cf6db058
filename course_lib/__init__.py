"""What the lessons of Transformers from Version 0 import: verified implementations and their checks."""

from course_lib.checks import check, mine, progress
from course_lib.display.claims import claim
from course_lib.predictions import predict
from course_lib.upkeep.versions import VERSION as __version__
from course_lib.upkeep.versions import made_for

__all__ = ["__version__", "check", "claim", "made_for", "mine", "predict", "progress"]
