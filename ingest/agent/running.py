"""Commands run without a shell, each with an end: in time, and in what it may print."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

__all__ = ["Ran", "run"]

_MOST_BYTES: Final = 4_000_000
_CHUNK: Final = 65_536


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, or why it did not.

    Attributes:
        text: standard output; empty where it failed.
        error: in words; None where it ended well.
        missing: there is no such command here.
    """

    text: str
    error: str | None = None
    missing: bool = False


def run(command: Sequence[str], timeout_s: float) -> Ran:
    """Run a command with its own process group, which is killed at the end of its time."""
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell; the words are ours
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except FileNotFoundError:
        return Ran("", f"{command[0]}: not there", missing=True)
    except OSError as error:
        return Ran("", f"{command[0]}: {error.strerror}")
    try:
        data, error_text = _read(process, time.monotonic() + timeout_s)
    finally:
        _end(process)
    if error_text is not None:
        return Ran("", f"{' '.join(command)}: {error_text}")
    if process.returncode != 0:
        return Ran("", f"{' '.join(command)}: exit code {process.returncode}")
    return Ran(data.decode("utf-8", errors="replace"))


def _read(process: "subprocess.Popen[bytes]", until: float) -> tuple[bytes, str | None]:
    """All of the output, up to a bound and a time."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    parts: list[bytes] = []
    size = 0
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not waiting.select(left):
                break
            part = os.read(process.stdout.fileno(), _CHUNK)
            if not part:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(until - time.monotonic(), 0.0))
                    return b"".join(parts), None
                break
            parts.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                return b"", f"prints more than {_MOST_BYTES // 1_000_000} MB"
    return b"", "no end in time; killed"


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5.0)
    if process.stdout is not None:
        process.stdout.close()
