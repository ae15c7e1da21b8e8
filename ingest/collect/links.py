"""From what devices hear over LLDP to rows of `links`, one a cable, told by one end or by both.

Silence is no removal: a link ends when another neighbour is in its place. What a file says of a port stands, and LLDP
neither ends nor doubles it. A port in two links at once is in none: both are said, and what stood before stands on.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Self

from ingest.collect.link_names import Directory
from ingest.decode.interfaces import Interfaces
from ingest.decode.lldp import Lldp, Neighbour
from ingest.exports.records import Port

__all__ = ["Links"]

_Device = tuple[str, str]
_Pair = tuple[Port, Port]
_ENDS: Final = ("site", "device", "interface")


class Links:
    """The links that stand, and what each polled device heard last.

    Attributes:
        doubts: why neighbours gave no link when `changes` last had something to look at, a sentence each.
    """

    def __init__(self) -> None:
        self.doubts: list[str] = []
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._directory = Directory()
        self._heard: dict[_Device, list[Neighbour]] = {}
        self._said: dict[_Device, list[str]] = {}
        self._dirty = False

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """As `Lake.latest(LINKS)` has them, from files and from LLDP."""
        known = cls()
        known.accept(rows)
        return known

    def accept(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of `links` that have been written, or that were read again since an import."""
        for row in rows:
            pair = (_end(row, "a"), _end(row, "z"))
            self._rows[*pair, row.get("valid_from")] = dict(row)
            self._dirty = True
            for port in pair:
                self._directory.told(port)

    def peers(self) -> dict[Port, Port]:
        """The port at the far end of each, by the links that stand."""
        pairs = [key[:2] for key, row in self._rows.items() if row.get("valid_to") is None]
        return {near: far for a, z in pairs for near, far in ((a, z), (z, a))}

    def report(
        self, site: str, device: str, lldp: Lldp, interfaces: Interfaces, *, cages: Container[str] | None = None
    ) -> None:
        """Take a whole poll of one device's LLDP; a partial one is not to be reported.

        Args:
            site: of the device.
            device: its name in the configuration.
            lldp: what it said.
            interfaces: its ports.
            cages: ports that a link is wanted of (those with a transceiver); all where not given.
        """
        who = (site, device)
        heard = [one for one in lldp.neighbours if cages is None or one.interface in cages]
        said = [f"{device}: {doubt}" for doubt in lldp.doubts]
        renamed = self._directory.heard(site, device, lldp, interfaces)
        if renamed or (heard, said) != (self._heard.get(who), self._said.get(who)):
            self._heard[who], self._said[who] = heard, said
            self._dirty = True

    def changes(self, at: datetime) -> list[dict[str, Any]]:
        """Rows to append to `links` for all that is known now; `accept` takes them once they are written.

        Until then they are given again. Where nothing new was reported this costs nothing.
        """
        if not self._dirty:
            return []
        standing, claims = _Standing(self._rows.values(), self._directory, at), self._claims()
        self.doubts = [doubt for _, said in sorted(self._said.items()) for doubt in said]
        rows = standing.renamed(at)
        at_port: dict[Port, set[_Pair]] = defaultdict(set)
        for pair in claims:
            at_port[pair[0]].add(pair)
            at_port[pair[1]].add(pair)
        for pair in sorted(claims.keys() - standing.pairs.keys()):
            rivals = (at_port[pair[0]] | at_port[pair[1]]) - {pair}
            agreed = len(claims[pair]) > 1 and all(len(claims[rival]) == 1 for rival in rivals)
            if standing.filed & set(pair):
                self.doubts.append(f"LLDP sees {_named(pair)}, the file of links says otherwise and is believed")
            elif rivals and not agreed:
                self.doubts.append(f"LLDP sees {_named(pair)}, but one of the two elsewhere, too: no new link")
            else:
                rows += [_ended(row, at) for row in standing.at(pair)]
                rows.append(_row(pair, at))
        self._dirty = bool(rows)
        return rows

    def _claims(self) -> dict[_Pair, set[Port]]:
        """Pairs of ports that LLDP sees connected, with the ends that say so."""
        claims: dict[_Pair, set[Port]] = defaultdict(set)
        for who, heard in self._heard.items():
            for one in heard:
                near, far = (*who, one.interface), self._directory.end(who[0], one)
                if near != far:
                    claims[min(near, far), max(near, far)].add(near)
        return claims


class _Standing:
    """Links that stand at a time, by their ends as they are called now; of a pair the file's row."""

    def __init__(self, rows: Iterable[dict[str, Any]], directory: Directory, at: datetime) -> None:
        self.pairs: dict[_Pair, dict[str, Any]] = {}
        for row in rows:
            since, until = row.get("valid_from"), row.get("valid_to")
            if (until is not None and until <= at) or (since is not None and since > at):
                continue
            one, other = (directory.port(_end(row, end)) for end in "az")
            pair = (min(one, other), max(one, other))
            if pair not in self.pairs or _is_filed(row):
                self.pairs[pair] = row
        self.filed = {port for pair, row in self.pairs.items() if _is_filed(row) for port in pair}
        self._at_port: dict[Port, list[_Pair]] = defaultdict(list)
        for pair in self.pairs:
            for port in pair:
                self._at_port[port].append(pair)

    def at(self, pair: _Pair) -> list[dict[str, Any]]:
        """Rows of links that have one of the two ports, each given once."""
        met = {old for port in pair for old in self._at_port.pop(port, [])}
        return [self.pairs[old] for old in sorted(met)]

    def renamed(self, at: datetime) -> list[dict[str, Any]]:
        """A link whose far end has become known by another name: the old row never stood, a new one takes its place."""
        rows = []
        for pair, row in self.pairs.items():
            if not _is_filed(row) and {_end(row, "a"), _end(row, "z")} != set(pair):
                rows.append(dict(row) | {"received_at": at, "valid_to": row["valid_from"] or at})
                rows.append(_row(pair, at) | {"valid_from": row["valid_from"]})
                self.pairs[pair] = rows[-1]
        return rows


def _is_filed(row: Mapping[str, Any]) -> bool:
    return row.get("source") != "lldp"


def _end(row: Mapping[str, Any], end: str) -> Port:
    site, device, interface = (str(row[f"{end}_{name}"]) for name in _ENDS)
    return site, device, interface


def _named(pair: _Pair) -> str:
    return " connected to ".join(f"{device} {interface}" for _, device, interface in pair)


def _row(pair: _Pair, at: datetime) -> dict[str, Any]:
    ends = {
        f"{end}_{name}": text
        for end, port in zip("az", pair, strict=True)
        for name, text in zip(_ENDS, port, strict=True)
    }
    return {"received_at": at, **ends, "valid_from": at, "valid_to": None, "source": "lldp"}


def _ended(row: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    return dict(row) | {"received_at": at, "valid_to": at}
