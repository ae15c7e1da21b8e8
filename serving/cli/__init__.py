"""The command line: ``forelight``.

Each command is a module beside this one, imported only when it is run, so that
``forelight --help`` needs none of the heavy libraries.
Exit codes: 0 done, 1 the work failed (one clear line on stderr), 2 usage, 130 ended by Ctrl-C (one line, too).
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from ingest.errors import ForelightError
from serving.cli.app import app
from serving.settings import Settings

__all__ = ["app", "main"]

_INTERRUPTED: Final = 128 + signal.SIGINT


class _InterruptedError(SystemExit):
    """Ctrl-C: no failure, and nobody's to catch; what was begun is undone on the way out."""


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
        with _interruptible():
            _prepare()
            app()
    except _InterruptedError:
        _fail("stopped by Ctrl-C; what was finished is kept, the rest can be done again", _INTERRUPTED)
    except ForelightError as error:
        _fail(str(error))
    except OSError as error:  # a folder that cannot be written, a full disk: the system says it best
        _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except Exception as error:
        if type(error).__module__ != "polars.exceptions" or type(error).__name__ != "ComputeError":
            raise
        _fail(f"{str(error).splitlines()[0]}; forelight lake check tells which file it is")


def _fail(line: str, code: int = 1) -> NoReturn:
    print(f"forelight: {line}", file=sys.stderr)  # noqa: T201 - the one place that speaks to stderr
    sys.exit(code)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the command in order, a second one at once; what runs until it is told has handlers of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> NoReturn:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise _InterruptedError(_INTERRUPTED)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _prepare() -> None:
    """Settings of libraries that must stand in the environment before they are imported.

    numba needs a folder it can write to (a read-only installation has none); idle OpenMP threads should sleep.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    home = Settings.from_env().home
    standing = next(folder for folder in (home, *home.parents) if folder.exists())
    cache = home / "cache" / "numba" if os.access(standing, os.W_OK) else Path(tempfile.gettempdir(), "forelight-numba")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache))
