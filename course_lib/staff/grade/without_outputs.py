"""Notebooks while they are read: what cells have shown is left out, so that saved pictures cost no memory."""

import re

# In a JSON text a quote within a string has a backslash before it, so this is a key wherever it stands.
SHOWN = re.compile(rb'"(?:outputs|attachments|widgets)"\s*:\s*(?=[\[{])')
HELD = 200  # bytes that may be the beginning of such a key
TOKEN = re.compile(rb'["\[\]{}]')
IN_A_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class WithoutOutputs:
    """Takes the bytes of a notebook part by part, and gives them back with empty outputs, line for line."""

    def __init__(self):
        self._held, self._last, self._depth, self._in_a_string = b"", b"", 0, False

    def fed(self, part):
        """What is to be kept of all that has come so far, and was not given back before."""
        self._held += part
        kept = []
        while (self._skipped if self._depth else self._copied)(kept):
            pass
        return b"".join(kept)

    def rest(self):
        """What was held back, at the end."""
        rest, self._held = b"" if self._depth else self._held, b""
        return rest

    def _copied(self, kept):
        """Copy up to the next output, or what looks like one; was there something?"""
        found = SHOWN.search(self._held)
        is_text = found and (self._held[found.start() - 1 : found.start()] if found.start() else self._last) == b"\\"
        end = len(self._held) - HELD if not found else found.start() + 1 if is_text else found.end()
        if end > 0:
            kept.append(self._held[:end])
            self._last, self._held = self._held[end - 1 : end], self._held[end:]
        if found and not is_text:
            kept.append(b"[]" if self._held[:1] == b"[" else b"{}")
            self._held, self._depth = self._held[1:], 1
        return bool(found)

    def _skipped(self, kept):
        """Skip what an output holds, but for the ends of its lines; is its end there?"""
        at, end = 0, len(self._held)
        while self._depth and at < end:
            if self._in_a_string:
                at = IN_A_STRING.match(self._held, at).end()
                if self._held[at : at + 1] != b'"':
                    break  # the end of what has come, or a backslash before it
                at, self._in_a_string = at + 1, False
            elif token := TOKEN.search(self._held, at):
                at = token.end()
                self._in_a_string = token[0] == b'"'
                self._depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
            else:
                at = end
        kept.append(b"\n" * self._held.count(b"\n", 0, at))
        self._held, self._last = self._held[at:], b""
        return not self._depth
