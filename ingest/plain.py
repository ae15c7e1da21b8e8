"""Names that say no more than their letters: none that moves a terminal's cursor, ends a line or turns its direction.

Whoever names a device, a port or a part writes into logs, tables and terminals of everybody who reads of it.
"""

import re
from typing import Final

__all__ = ["CONTROLS", "PLAIN", "is_plain", "one_line"]

_RANGES: Final = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
CONTROLS: Final = f"[{_RANGES}]"
"""C0 and C1 (ECMA-48), Unicode's ends of lines and paragraphs, and what turns the direction of a text (UAX #9)."""

PLAIN: Final = f"^[^{_RANGES}]+$"
"""A text of anything else; Python, Rust and ECMA read both patterns alike."""

_CONTROLS: Final = re.compile(CONTROLS)


def is_plain(text: str) -> bool:
    r"""Whether a text is without control characters.

    >>> is_plain("Ethernet1/1"), is_plain("spine01\x1b[2J")
    (True, False)
    """
    return _CONTROLS.search(text) is None


def one_line(text: str) -> str:
    """Free text in one line, with a space for each control character."""
    return text if text.isprintable() else _CONTROLS.sub(" ", text)
