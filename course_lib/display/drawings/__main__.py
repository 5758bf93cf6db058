"""Write the drawing of the README.

    python -m course_lib.display.drawings docs/transformer.png
"""

import sys

from course_lib.display.drawings.transformer import main

if __name__ == "__main__":
    main(sys.argv[1])
