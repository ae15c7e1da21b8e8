"""Times for which a stream was not heard, as lines of JSON: what is missing there was never told, not lost here."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ingest.collect.poll import Poll

__all__ = ["write_gaps"]

_MAX_BYTES: Final = 16 << 20
"""A month's file takes no more: a device that comes and goes all day must not fill the disk."""


def write_gaps(folder: Path, polls: Iterable[Poll]) -> int:
    """Append the gaps that have ended, to the file of the month that each ended in.

    Args:
        folder: made where there is something to write.
        polls: of one sweep.

    Returns:
        Lines written; none where the month's file is full.

    Raises:
        OSError: a file cannot be written.
    """
    written = 0
    for poll in polls:
        for gap in poll.gaps:
            path = folder / f"gaps-{gap.end:%Y%m}.jsonl"
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists() and path.stat().st_size >= _MAX_BYTES:
                continue
            where = {"site": poll.target.site, "device": poll.target.device}
            line = {**where, "start": gap.start.isoformat(), "end": gap.end.isoformat(), "reason": gap.reason}
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            written += 1
    return written
