"""nbformat, without a second of its import: jsonschema would build a grammar of web addresses, which no notebook needs.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # jsonschema goes on without what it cannot import
import nbformat  # noqa: E402

if sys.modules["rfc3987_syntax"] is None:
    del sys.modules["rfc3987_syntax"]

__all__ = ["nbformat"]
