"""The command line: ``forelight``.

Each command is a module beside this one, imported only when it is run, so that
``forelight --help`` needs none of the heavy libraries.
Exit codes: 0 done, 1 the work failed (one clear line on stderr), 2 usage.
"""

import sys

from ingest.errors import ForelightError
from serving.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a failure is one line on stderr and exit code 1."""
    try:
        app()
    except ForelightError as error:
        print(f"forelight: {error}", file=sys.stderr)  # noqa: T201 - the one place that speaks to stderr
        sys.exit(1)
