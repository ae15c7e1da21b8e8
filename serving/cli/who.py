"""Who runs the command: kept with what was decided."""

import getpass
import os

__all__ = ["user"]


def user() -> str:
    """Name of the user, or the number of one without a name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
