"""The command line: ``forelight``.

Each command is a module beside this one, imported only when it is run, so that
``forelight --help`` needs none of the heavy libraries.
Exit codes: 0 done, 1 the work failed (one clear line on stderr), 2 usage.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from ingest.errors import ForelightError
from serving.cli.app import app
from serving.settings import Settings

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a failure is one line on stderr and exit code 1."""
    try:
        _run()
    except SystemExit as end:
        if "ingest.collect.attempt" in sys.modules:
            from ingest.collect.attempt import leave

            leave(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise


def _run() -> None:
    try:
        _prepare()
        app()
    except ForelightError as error:
        _fail(str(error))
    except OSError as error:  # a folder that cannot be written, a full disk: the system says it best
        _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except Exception as error:
        if type(error).__module__ != "polars.exceptions" or type(error).__name__ != "ComputeError":
            raise
        _fail(f"{str(error).splitlines()[0]}; forelight lake check tells which file it is")


def _fail(line: str) -> NoReturn:
    print(f"forelight: {line}", file=sys.stderr)  # noqa: T201 - the one place that speaks to stderr
    sys.exit(1)


def _prepare() -> None:
    """Settings of libraries that must stand in the environment before they are imported.

    numba needs a folder it can write to (a read-only installation has none); idle OpenMP threads should sleep.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    home = Settings.from_env().home
    standing = next(folder for folder in (home, *home.parents) if folder.exists())
    cache = home / "cache" / "numba" if os.access(standing, os.W_OK) else Path(tempfile.gettempdir(), "forelight-numba")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache))
