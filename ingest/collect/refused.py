"""Numbers that no module gives, kept as they came: the collector's quarantine, a file of JSON lines a day."""

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from ingest.collect.poll import Poll

__all__ = ["write_refused"]

_MAX_BYTES: Final = 16 << 20
"""A day's file takes no more: a device that lies at every poll must not fill the disk."""


def write_refused(folder: Path, polls: Iterable[Poll], at: datetime) -> int:
    """Append what polls refused; each reading is given once, until it has been good again.

    Args:
        folder: made where there is something to write.
        polls: of one sweep.
        at: of the sweep, UTC.

    Returns:
        Lines written; none where the day's file is full.

    Raises:
        OSError: the file cannot be written.
    """
    lines = [
        json.dumps(
            {
                "time": at.isoformat(),
                "site": poll.target.site,
                "device": poll.target.device,
                "interface": refused.interface,
                "lane": refused.lane,
                "column": refused.quantity,
                "reason": "no module can give this value",
                "raw": refused.raw,
            }
        )
        for poll in polls
        for refused in poll.refused
    ]
    if not lines:
        return 0
    path = folder / f"collect-{at:%Y%m%d}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size >= _MAX_BYTES:
        return 0
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return len(lines)
