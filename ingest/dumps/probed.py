"""Windows of probes from files as rows of ``probes``: ends by address, named where the lake knows whose it is."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ingest.dumps.reading import Probed
from ingest.lake import Lake
from ingest.schema import PORT_ADDRESSES

__all__ = ["probe_rows"]


def probe_rows(probed: Iterable[Probed], lake: Lake, site: str, now: datetime) -> tuple[list[dict[str, Any]], set[str]]:
    """Rows, and the addresses that no list names; a device that is not known is called by its address."""
    listed = lake.latest(PORT_ADDRESSES).collect().filter(site=site)
    ports = {
        address: (device, interface)
        for device, interface, address in listed.select("device", "interface", "address").iter_rows()
    }
    rows, strange = [], set()
    for each in probed:
        ends: dict[str, str | None] = {}
        for end in ("source", "target"):
            address = each.row[f"{end}_address"]
            if address not in ports:
                strange.add(address)
            ends[f"{end}_device"], ends[f"{end}_interface"] = ports.get(address, (address, None))
        rows.append(each.row | ends | {"site": site, "received_at": now, "source": "file"})
    return rows, strange
