"""A closed window of probes, judged: the hosts' part, then moved ways, dead 5-tuples and standing queues, then links.

Only windows that are closed are judged, and once: a row that comes later is counted and changes nothing. One window is
a hint; `Tracker` opens a finding after several and closes it after several without.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

import numpy as np

from diagnosis.fabric import Path, incidence
from diagnosis.hosts import explained_by_hosts
from diagnosis.localize import Localization, Localizer
from diagnosis.observations import Evidence, Observations
from diagnosis.probes import Cause, Known, Limits, ProbeFinding, Row, Ways, confidence, flow_of

__all__ = ["Judged", "Span", "judge", "located"]

Link = int
Crossed = Mapping[Link, float]
_MOST = 0.8


@dataclass(frozen=True, slots=True)
class Span:
    """A window's time."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, start: datetime, window_s: float) -> "Span":
        """From its start and length."""
        return cls(start, start + timedelta(seconds=window_s))


@dataclass(frozen=True, slots=True)
class Judged:
    """What a window shows before any link is blamed, and what is left for the localiser.

    Attributes:
        findings: about hosts, ways, 5-tuples and queues.
        seen: what none of them explains.
        rows: how many of ``probes`` are in it.
    """

    span: Span
    findings: list[ProbeFinding]
    seen: Observations
    rows: int


@dataclass
class _Trip:
    """A row and the links of its ways; None where no way is known."""

    row: Row
    forward: Path | None
    reverse: Path | None

    @property
    def links(self) -> set[Link]:
        """Of both ways."""
        return {*(self.forward or ()), *(self.reverse or ())}


def judge(rows: Iterable[Row], ways: Ways, span: Span, limits: Limits | None = None) -> Judged:
    """Judge a closed window.

    Args:
        rows: of ``probes``, of this window.
        ways: with what was traced until its end.
        span: the window.
        limits: from where on something is something.
    """
    limits = limits or Limits()
    findings, rest = explained_by_hosts(rows, ways.known, limits)
    moved, rest = _moved(rest, ways, span, limits)
    trips = [
        _Trip(row, *(ways.path(flow_of(row), way, span.start, span.end) for way in ("forward", "reverse")))
        for row in rest
    ]
    queues, trips = _congested(trips, ways.known, limits)
    holes, trips = _holes(trips, ways.known, limits)
    return Judged(span, [*findings, *moved, *queues, *holes], observed(trips, ways.known), len(rest))


def located(judged: Sequence[Judged], localizer: Localizer, known: Known, also: Evidence) -> list[ProbeFinding]:
    """Links that the joined windows blame."""
    seen = Observations.joined([each.seen for each in judged])
    told: Localization = localizer.localize(seen, also)
    return [
        ProbeFinding(
            Cause.LINK,
            " or ".join(known.fabric.named(link) for link in finding.alike),
            int(seen.crosses[:, [finding.links[0]]].sum()),
            finding.posterior,
            f"loses {finding.loss:.2%} of its packets",
            finding.alike,
        )
        for finding in told.findings
        if finding.located
    ]


def observed(trips: Sequence[_Trip], known: Known) -> Observations:
    """Each direction by itself where the responder's count is known, else the round trip."""
    crossed: list[Path | Crossed] = []
    counts: list[tuple[float, float]] = []
    for trip in trips:
        row = trip.row
        there, back = _crossed(trip.forward, row, known), _crossed(trip.reverse, row, known, back=True)
        if row["forward_lost"] is None:
            crossed.append(_both(there, back))
            counts.append((row["sent"], row["lost"]))
            continue
        crossed += [there, back]
        came = row["sent"] - row["forward_lost"]
        counts += [(row["sent"], row["forward_lost"]), (came, row["reverse_lost"])]
    numbers = np.array(counts, dtype=np.float64).reshape(-1, 2)
    return Observations(incidence(crossed, known.fabric.links), numbers[:, 0], numbers[:, 1])


def _crossed(path: Path | None, row: Row, known: Known, *, back: bool = False) -> Path | Crossed:
    """The way that was traced, else the ways that the fabric offers, each with its share."""
    if path is not None:
        return path
    source, target = (row["site"], row["source_device"]), (row["site"], row["target_device"])
    return known.fabric.spread(*((target, source) if back else (source, target)))


def _both(there: Path | Crossed, back: Path | Crossed) -> Crossed:
    found: dict[Link, float] = defaultdict(float)
    for part in (there, back):
        for link, often in part.items() if isinstance(part, Mapping) else ((link, 1.0) for link in part):
            found[link] += often
    return dict(found)


def _moved(rows: list[Row], ways: Ways, span: Span, limits: Limits) -> tuple[list[ProbeFinding], list[Row]]:
    """Flows whose way changed while they were probed: whose links their losses are of is not known."""
    moved = [
        row
        for row in rows
        if any(ways.changed(flow_of(row), way, span.start, span.end) for way in ("forward", "reverse"))
    ]
    if not moved:
        return [], rows
    gone = {id(row) for row in moved}
    rest = [row for row in rows if id(row) not in gone]
    if len(moved) < limits.changed:
        return [], rest
    ends = Counter(row[f"{end}_device"] for row in moved for end in ("source", "target"))
    most = ", ".join(sorted(name for name, _ in ends.most_common(2)))
    detail = f"{len(moved)} flows took another way within the window, most of them of {most}"
    return [ProbeFinding(Cause.PATH_CHANGED, most, len(moved), confidence(moved), detail)], rest


def _congested(trips: list[_Trip], known: Known, limits: Limits) -> tuple[list[ProbeFinding], list[_Trip]]:
    """Links that most round trips cross slowly: a queue stands there, and what is lost beside it overflowed."""
    times = [trip.row["rtt_p50_ns"] for trip in trips if trip.row["rtt_p50_ns"] is not None]
    if not times:
        return [], trips
    usual = median(times)
    over = max(limits.congested * usual, usual + limits.congested_ns)
    slow, named = _queues(trips, over)
    if not named:
        return [], trips
    rest = [trip for trip in trips if not trip.links & named and id(trip) not in slow]
    where = " or ".join(known.fabric.named(link) for link in sorted(named))
    detail = f"round trips over {where} take {over / 1e6:.1f} ms or more, elsewhere {usual / 1e6:.2f} ms"
    rows = [trip.row for trip in trips if id(trip) in slow]
    return [ProbeFinding(Cause.CONGESTION, where, len(rows), confidence(rows), detail, tuple(sorted(named)))], rest


def _queues(trips: list[_Trip], over: float) -> tuple[set[int], set[Link]]:
    """Round trips that are slow, and the links that explain them; a queue that overflows now and then shows at p99."""
    crossing: dict[Link, list[_Trip]] = defaultdict(list)
    for trip in trips:
        for link in trip.links:
            crossing[link].append(trip)
    usually = {id(trip) for trip in trips if (trip.row["rtt_p50_ns"] or 0) > over}
    at_times = {id(trip) for trip in trips if (trip.row["rtt_p99_ns"] or 0) > over}
    explains: dict[Link, set[int]] = {}
    for link, each in crossing.items():
        kind = at_times if any(trip.row["lost"] for trip in each) else usually
        slow = {id(trip) for trip in each} & kind
        if len(slow) >= _MOST * len(each):
            explains[link] = slow
    left = usually | {id(trip) for trip in trips if trip.row["lost"] and id(trip) in at_times}
    slow, named = set(left), set()
    while left and (best := max((len(found & left) for found in explains.values()), default=0)):
        strongest = [link for link, found in explains.items() if len(found & left) == best]
        named.update(strongest)
        left = left.difference(*(explains[link] for link in strongest))
    return slow, named


def _holes(trips: list[_Trip], known: Known, limits: Limits) -> tuple[list[ProbeFinding], list[_Trip]]:
    """5-tuples of which nothing comes through, over links that carry others."""
    dead = [trip for trip in trips if _dead(trip, limits)]
    gone = {id(trip) for trip in dead}
    others: dict[Link, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for trip in trips:
        if id(trip) not in gone:
            _count(trip, others)
    holes = [trip for trip in dead if trip.links and all(_sound(others[link], limits) for link in trip.links)]
    if not holes:
        return [], trips
    rows, gone = [trip.row for trip in holes], {id(trip) for trip in holes}
    common = set.intersection(*(_devices(trip, known) for trip in holes))
    where = ", ".join(sorted(common)) or "no one device"
    ports = Counter(row["source_port"] for row in rows)
    detail = f"{len(rows)} 5-tuples die on links that carry others, {len(ports)} source ports; all of them pass {where}"
    found = ProbeFinding(Cause.BLACK_HOLE, where, len(rows), confidence(rows), detail)
    return [found], [trip for trip in trips if id(trip) not in gone]


def _dead(trip: _Trip, limits: Limits) -> bool:
    row = trip.row
    return bool(row["sent"] >= limits.least_sent and row["lost"] >= limits.dead * row["sent"])


def _count(trip: _Trip, others: dict[Link, list[float]]) -> None:
    row = trip.row
    forward = row["lost"] if row["forward_lost"] is None else row["forward_lost"]
    reverse = row["lost"] if row["reverse_lost"] is None else row["reverse_lost"]
    for path, sent, lost in ((trip.forward, row["sent"], forward), (trip.reverse, row["sent"] - forward, reverse)):
        for link in path or ():
            others[link][0] += sent
            others[link][1] += lost


def _sound(counts: list[float], limits: Limits) -> bool:
    sent, lost = counts
    return bool(sent >= limits.least_sent and lost < limits.hole * sent)


def _devices(trip: _Trip, known: Known) -> set[str]:
    """Switches on its way."""
    ends = [known.fabric.ends(link) for link in trip.links]
    own = {trip.row["source_device"], trip.row["target_device"]}
    return {port[1] for pair in ends for port in pair} - own
