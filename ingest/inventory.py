"""inventory.csv and links.csv of an export: which module sits where, and what it is connected to."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from ingest.exports.records import Layout, Record, Records, read_records
from ingest.quarantine import Quarantine
from ingest.schema import LIMITS, LINKS, MODULES

__all__ = ["read_inventory", "read_links"]

_INVENTORY: Final = Layout(
    file="inventory.csv",
    table=MODULES,
    needed=("site", "device", "interface"),
    defaults={"site": "default"},
    # tx_low_warn_dbm is what operators write for tx_power_low_warn_dbm
    aliases={name.replace("_power", ""): name for name in LIMITS if "_power" in name},
)
_LINKS: Final = Layout(
    file="links.csv",
    table=LINKS,
    needed=("a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface"),
    defaults={"a_site": "default", "z_site": "default", "source": "file"},
    extra=("site",),
)


def read_inventory(directory: Path, quarantine: Quarantine) -> Records | None:
    """Modules, an installation a row."""
    records = read_records(directory, _INVENTORY, quarantine)
    if records is not None:
        records.keep(lambda record: _ordered(record.cells, "installed_at", "removed_at"))
        records.keep_last("this installation")
    return records


def read_links(directory: Path, quarantine: Quarantine) -> Records | None:
    """Links, two ends a row; they may carry ``site`` once for both ends."""
    records = read_records(directory, _LINKS, quarantine)
    if records is not None:
        for record in records.rows:
            for end in ("a_site", "z_site"):
                if site := (record.raw.get(end) or record.raw.get("site") or "").strip():
                    record.cells[end] = site
        records.keep(lambda record: _ordered(record.cells, "valid_from", "valid_to") or _two_ends(record))
        records.keep_last("this link")
    return records


def _ordered(cells: Mapping[str, object], first: str, then: str) -> str | None:
    start, end = cells.get(first), cells.get(then)
    if isinstance(start, datetime) and isinstance(end, datetime) and end < start:
        return f"{then} lies before {first}"
    return None


def _two_ends(record: Record) -> str | None:
    return "both ends are the same port" if record.port("a_") == record.port("z_") else None
