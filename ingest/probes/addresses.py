"""Which port has which address, as an operator lists them: a CSV, one line an address.

NICs that probe are told by such a file, and the ports of switches, whose addresses are the hops of a traced way.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import pyarrow as pa

from ingest.errors import ConfigError
from ingest.schema import PORT_ADDRESSES

__all__ = ["PortAddress", "address_table", "read_addresses"]

_NEEDED: Final = ("device", "interface", "address")


@dataclass(frozen=True, slots=True)
class PortAddress:
    """An address and the port that has it.

    Attributes:
        tor: of a NIC, the device at the other end of its cable; None: as the links of the lake say.
    """

    site: str
    device: str
    interface: str
    address: str
    tor: str | None = None

    @property
    def host(self) -> tuple[str, str]:
        """Site and device."""
        return self.site, self.device

    @property
    def version(self) -> int:
        """Of IP."""
        return ip_address(self.address).version


def read_addresses(path: Path) -> tuple[PortAddress, ...]:
    """Ports of a file with the columns device, interface, address, and where wanted site and tor.

    Raises:
        ConfigError: it cannot be read, or a line says what cannot be; file and line are named.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            found = tuple(_ports(csv.DictReader(file, strict=True), path.name))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        msg = f"{path}: no list of addresses: {error}"
        raise ConfigError(msg) from None
    if not found:
        msg = f"{path}: lists no address"
        raise ConfigError(msg)
    return found


def address_table(ports: Iterable[PortAddress], received_at: datetime) -> pa.Table:
    """Rows of ``port_addresses``."""
    rows = [
        {"site": port.site, "device": port.device, "interface": port.interface, "address": port.address}
        for port in ports
    ]
    return PORT_ADDRESSES.of([row | {"received_at": received_at, "source": "file"} for row in rows])


def _ports(rows: "csv.DictReader[str]", name: str) -> Iterator[PortAddress]:
    if missing := [column for column in _NEEDED if column not in (rows.fieldnames or ())]:
        msg = f"{name}:1: there is no column {', '.join(missing)}"
        raise ConfigError(msg)
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        port = _port(row, f"{name}:{rows.line_num}")
        before = seen.setdefault((port.site, port.address), rows.line_num)
        if before != rows.line_num:
            msg = f"{name}:{rows.line_num}: {port.address} is in line {before}, too"
            raise ConfigError(msg)
        yield port


def _port(row: dict[str, str], where: str) -> PortAddress:
    cells = {column: (row.get(column) or "").strip() for column in (*_NEEDED, "site", "tor")}
    if missing := [column for column in _NEEDED if not cells[column]]:
        msg = f"{where}: {', '.join(missing)} is empty"
        raise ConfigError(msg)
    try:
        address = str(ip_address(cells["address"]))
    except ValueError:
        msg = f"{where}: {cells['address']!r} is no address"
        raise ConfigError(msg) from None
    return PortAddress(cells["site"] or "default", cells["device"], cells["interface"], address, cells["tor"] or None)
