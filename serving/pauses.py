"""Short pauses: what stays for the life of a process is left out of its search for garbage.

Python stops everything while it looks for cycles, and the libraries that a server holds are a million objects: looked
through in the middle of a request they cost a tail of a second. They never become garbage.
"""

import gc
from typing import Final

__all__ = ["settle", "settle_again"]

_YOUNG: Final = (20_000, 20, 20)
"""New objects between looks at the youngest, and looks between those at the older ones: a body of a thousand modules
makes as many, and frees them by itself."""


def settle() -> None:
    """Look once, and never again at what is there now; for a process that goes on to serve."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_YOUNG)


def settle_again() -> None:
    """The same, in a process that has settled before: something that stays was added."""
    if gc.get_freeze_count():
        settle()
