"""``forelight alarms storms``: what was held back."""

import json
from datetime import datetime

from rich.console import Console
from rich.table import Table

from serving.settings import Settings
from serving.store import AlarmStore
from serving.storms import HeldBack, StormFilter, read_storms

__all__ = ["list_storms"]


def list_storms(*, device: str | None, since: datetime | None, limit: int, as_json: bool) -> None:
    """Print the alarms that storms held back, those of the newest run first."""
    with AlarmStore(Settings.from_env().database_url) as store:
        page = read_storms(store.engine, StormFilter(device=device, since=since), limit=limit)
    if as_json:
        told = {"held_back": [_told(held) for held in page.alarms], "more": page.next_cursor is not None}
        print(json.dumps(told, indent=2, allow_nan=False))  # noqa: T201 - the answer
        return
    table = Table("at", "port", "level", "risk 24 h", "why")
    for held in page.alarms:
        risk = "" if held.risk_24h is None else f"{held.risk_24h:.3f}"
        table.add_row(f"{held.at:%Y-%m-%d %H:%M}", f"{held.device} {held.interface}", held.level, risk, held.why)
    Console().print(table)


def _told(held: HeldBack) -> dict[str, object]:
    return {name: getattr(held, name) for name in HeldBack.__slots__} | {"at": held.at.isoformat()}
