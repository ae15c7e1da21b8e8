"""From rounds of a stream to rows of the canonical tables, by the rules that polls go by.

A round is judged with what is known of the other leaves of its ports; rows carry only what the round brought, at the
device's own times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.collect.poll import Refused
from ingest.decode.devicemap import Snapshot, Told
from ingest.decode.discover import Decoded
from ingest.decode.history import Glitches, History
from ingest.decode.quality import Floats, across, judge
from ingest.decode.samples import Bits, Origin, lane_rows, port_rows
from ingest.decode.slots import COUNTERS, QUANTITIES
from ingest.decode.tables import SENTINELS
from ingest.gnmi.clock import Clock
from ingest.gnmi.layout import BINS, Layout
from ingest.gnmi.leaves import Kind, Leaf
from ingest.gnmi.mirror import Round
from ingest.gnmi.places import Facts
from ingest.gnmi.values import flag_of, text_of
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Quality
from ingest.units import NOT_MEASURED_BER

__all__ = ["Rows", "moment", "oper_of"]

_US: Final = 1_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BER: Final = QUANTITIES.index("pre_fec_ber")
_FLAPS: Final = COUNTERS.index("link_flaps")
_FLAGS: Final = ("rx_los", "tx_fault", "cdr_lol")
_UP: Final = {"UP": 1, "ENABLE": 1, "DISABLE": 0, "DOWN": 0, "LOWER_LAYER_DOWN": 0, "NOT_PRESENT": 0, "DORMANT": 0}
_TOO_LARGE: Final = 2**63


@dataclass
class _Grid:
    """What one round brought."""

    raw: Floats  # NaN where nothing came
    row_stamps: npt.NDArray[np.int64]  # 0 where nothing came
    port_stamps: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]
    bins: npt.NDArray[np.int64]
    got: npt.NDArray[np.bool_]  # cells of `raw` that came, with a number or without


@dataclass
class Rows:
    """Rows of one device, gathered until they are taken.

    Attributes:
        site, device: whose they are.
        clock: of the device.
        lanes, ports: tables.
        refused: numbers that no module gives.
        count: rows gathered.
        decoded: of the newest round.
    """

    site: str
    device: str
    clock: Clock
    lanes: list[pa.Table] = field(default_factory=list)
    ports: list[pa.Table] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    count: int = 0
    decoded: Decoded | None = None

    def lay_out(self, layout: Layout) -> None:
        """Another layout from now on; what was known of readings is forgotten."""
        self._layout, self._map = layout, layout.map
        self._history = History(self._map)
        shape = (len(self._map.rows.port), len(QUANTITIES))
        self._raw = np.full(shape, np.nan)
        self._last = (np.zeros(shape[0], np.int64), np.zeros(len(self._map.ports), np.int64))
        self._given = (self._last[0].copy(), self._last[1].copy())
        self._before: tuple[Snapshot, Snapshot] | None = None

    def add(self, one: Round, facts: Facts, flaps: Mapping[str, int]) -> None:
        """Take a round.

        Args:
            one: the round.
            facts: as they stand.
            flaps: by port, as counted here.
        """
        grid = self._grid(one.cells)
        judged = self._judged(grid, one, facts, flaps)
        emitted = replace(judged, values=np.where(grid.got, judged.values, np.nan))
        now = moment(one.received)
        bits, glitches = self._history.take(judged, now)
        doubts = 0 if one.whole else int(Quality.PARTIAL_POLL)
        origin = Origin(self.site, self.device, now, now, source="gnmi", quality=doubts)
        touched = grid.port_stamps != 0
        self._keep(lane_rows(self._map, emitted, origin, bits[self._map.rows.port]), self.lanes)
        self._keep(port_rows(self._map, emitted, origin, bits, touched), self.ports)
        if glitches is not None and self._before is not None and glitches.snapshot is self._before[0]:
            self._again(glitches, self._before[1], origin)
        self._before = (judged, emitted)
        self.decoded = Decoded(self._map, judged)
        for row, column in self._history.refused(judged):
            port, lane = self._map.ports[self._map.rows.port[row]], int(self._map.rows.lane[row])
            self.refused.append(Refused(port, lane, QUANTITIES[column], float(judged.raw[row, column])))

    def take(self) -> tuple[pa.Table, pa.Table]:
        """Rows of lanes and ports, each given once."""
        lanes = pa.concat_tables(self.lanes) if self.lanes else LANE_SAMPLES.schema.empty_table()
        ports = pa.concat_tables(self.ports) if self.ports else PORT_SAMPLES.schema.empty_table()
        self.lanes, self.ports, self.count = [], [], 0
        return lanes, ports

    def _keep(self, rows: pa.Table, among: list[pa.Table]) -> None:
        if rows.num_rows:
            among.append(rows)
            self.count += rows.num_rows

    def _again(self, glitches: Glitches, emitted: Snapshot, origin: Origin) -> None:
        """The glitches' rows once more, marked: of equal keys the one received last counts."""
        judged = replace(origin, quality=origin.quality | Quality.GLITCH)
        none: Bits = np.zeros(len(self._map.rows.port), np.int16)
        given = across(~np.isnan(emitted.values))
        self._keep(lane_rows(self._map, emitted, judged, none, glitches.rows & given), self.lanes)
        ports = none[: self._map.rows.ports]
        self._keep(port_rows(self._map, emitted, judged, ports, glitches.ports), self.ports)

    def _grid(self, cells: Mapping[Leaf, tuple[float, int]]) -> _Grid:
        rows, ports = len(self._map.rows.port), len(self._map.ports)
        grid = _Grid(
            np.full((rows, len(QUANTITIES)), np.nan),
            np.zeros(rows, np.int64),
            np.zeros(ports, np.int64),
            np.full((ports, len(COUNTERS)), -1, np.int64),
            np.full((ports, BINS), -1, np.int64),
            np.zeros((rows, len(QUANTITIES)), np.bool_),
        )
        readings = [
            (leaf.cell, leaf.row, number, stamp)
            for leaf, (number, stamp) in cells.items()
            if leaf.kind is Kind.READING and leaf.cell >= 0
        ]
        if readings:
            at, row, number, stamp = zip(*reversed(readings), strict=True)  # of two that say the same the first counts
            grid.raw.flat[list(at)] = number
            grid.got.flat[list(at)] = True
            grid.raw[(grid.raw[:, _BER] > 0.0) & (grid.raw[:, _BER] < NOT_MEASURED_BER), _BER] = np.nan
            np.maximum.at(grid.row_stamps, list(row), np.maximum(np.array(stamp), 1))
            np.maximum.at(grid.port_stamps, self._map.rows.port, grid.row_stamps)
        for leaf, (count, stamped) in cells.items():
            if leaf.kind is not Kind.READING and leaf.cell >= 0 and count < _TOO_LARGE:
                whole = (int(count) + 1) // 2 if leaf.found.column == "transitions" else int(count)
                (grid.bins if leaf.kind is Kind.BIN else grid.counters).flat[leaf.cell] = whole
                grid.port_stamps[leaf.row] = max(grid.port_stamps[leaf.row], stamped, 1)
        return grid

    def _judged(self, grid: _Grid, one: Round, facts: Facts, flaps: Mapping[str, int]) -> Snapshot:
        raw = self._raw = np.where(grid.got, grid.raw, self._raw)
        value = np.where(np.isin(raw, SENTINELS), np.nan, raw)
        up, admin = (
            np.array([oper_of(facts.get("interface", name, column)) for name in self._map.ports], np.int8)
            for column in ("oper_up", "admin_up")
        )
        values, echoes = judge(value, (raw == 0) & ~np.isnan(value), self._map.rows, up)
        counted = np.array(
            [
                flaps.get(name, 0) if up[i] >= 0 and name not in self._layout.counts_flaps else -1
                for i, name in enumerate(self._map.ports)
            ],
            np.int64,
        )
        own = grid.counters[:, _FLAPS]
        own[own < 0] = counted[own < 0]
        return Snapshot(
            values=values,
            given=~np.isnan(raw) & ~echoes & np.isfinite(raw),
            raw=raw,
            counters=grid.counters,
            up=up,
            admin=admin,
            alive=self._map.rows.any(across(~np.isnan(values))) | self._map.has_serial,
            told=self._told(grid, one, facts, up),
        )

    def _told(self, grid: _Grid, one: Round, facts: Facts, up: npt.NDArray[np.int8]) -> Told:
        row_times, row_doubts = self._times(grid.row_stamps, 0, one.received)
        port_times, port_doubts = self._times(grid.port_stamps, 1, one.received)
        flags = [[self._flag(facts, cage, name) for name in _FLAGS] for cage in self._map.ports]
        counts = (grid.counters > 0).any(axis=1) | (grid.bins > 0).any(axis=1)
        return Told(
            row_times,
            port_times,
            row_doubts,
            port_doubts,
            np.array(flags, np.int8).reshape(-1, len(_FLAGS)),
            grid.bins,
            beside=self._layout.beside & (counts | (up == 1)),
        )

    def _times(
        self, stamps: npt.NDArray[np.int64], which: int, received: int
    ) -> tuple[npt.NDArray[np.datetime64], Bits]:
        """Times of what came, none of them the same as the one before it: that would be the same row."""
        last, given = self._last[which], self._given[which]
        times, doubts = np.zeros(len(stamps), np.int64), np.zeros(len(stamps), np.int16)
        for i in stamps.nonzero()[0]:
            stamp = int(stamps[i]) if stamps[i] > 1 else 0
            taken, doubtful = self.clock.time(stamp, received, int(last[i]))
            micros = taken // _US
            times[i] = micros + 1 if micros == given[i] else micros
            doubts[i] = int(Quality.CLOCK_SKEW) if doubtful else 0
            last[i], given[i] = stamp, times[i]
        return times.view("datetime64[us]"), doubts

    def _flag(self, facts: Facts, cage: str, column: str) -> int:
        """A flag of a port: up where it is up on one of its lanes."""
        at = self._layout.module_at(cage)
        if at is None:
            return -1
        of, place = at
        known = [flag for told in facts.each(of, place, column).values() if (flag := flag_of(told)) is not None]
        return int(any(known)) if known else -1


def moment(nanoseconds: int) -> datetime:
    """Nanoseconds since 1970 as a time, whole microseconds."""
    return _EPOCH + timedelta(microseconds=nanoseconds // _US)


def oper_of(told: object) -> int:
    """A port's state: 1 up, 0 down, -1 unknown."""
    word = text_of(told if isinstance(told, str) else None)
    return _UP.get((word or "").rpartition(":")[2].upper(), -1)
