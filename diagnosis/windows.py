"""A closed window of probes, judged: the hosts' part, then moved ways, standing queues and dead 5-tuples, then links.

Only windows that are closed are judged, and once: a row that comes later is counted and changes nothing. One window is
a hint; `Tracker` opens a finding after several and closes it after several without.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from diagnosis.holes import black_holes
from diagnosis.hosts import explained_by_hosts
from diagnosis.localize import Localization, Localizer
from diagnosis.observations import Evidence, Observations
from diagnosis.probes import Cause, Known, Limits, ProbeFinding, confidence
from diagnosis.queues import congested
from diagnosis.trips import Trips
from diagnosis.ways import Span, Ways

__all__ = ["Judged", "judge", "located"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a window shows before any link is blamed, and what is left for the localiser.

    Attributes:
        findings: about hosts, ways, 5-tuples and queues.
        seen: what none of them explains.
        rows: of how many rows of ``probes``, those of hosts and moved ways left out.
    """

    span: Span
    findings: list[ProbeFinding]
    seen: Observations
    rows: int


def judge(rows: pl.DataFrame, ways: Ways, span: Span, limits: Limits | None = None) -> Judged:
    """Judge a closed window.

    Args:
        rows: of ``probes``, of this window.
        ways: with what was traced until its end.
        span: the window.
        limits: from where on something is something.
    """
    limits = limits or Limits()
    known = ways.known
    findings, rest = explained_by_hosts(rows, known, limits)
    moved, rest = _moved(rest, ways, span, limits)
    trips = Trips.of(rest, ways, span)
    queues, trips = congested(trips, known, limits)
    holes, trips = black_holes(trips, known, limits)
    return Judged(span, [*findings, *moved, *queues, *holes], trips.observed(known), rest.height)


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


def _moved(rows: pl.DataFrame, ways: Ways, span: Span, limits: Limits) -> tuple[list[ProbeFinding], pl.DataFrame]:
    """Flows whose way changed while they were probed: whose links their losses are of is not known."""
    flows = ways.moved(span)
    moved = rows.join(flows, on=flows.columns, how="semi")
    if moved.is_empty():
        return [], rows
    rest = rows.join(flows, on=flows.columns, how="anti")
    if moved.height < limits.changed:
        return [], rest
    ends = Counter([*moved["source_device"].drop_nulls(), *moved["target_device"].drop_nulls()])
    most = ", ".join(sorted(name for name, _ in ends.most_common(2)))
    detail = f"{moved.height} flows took another way within the window, most of them of {most}"
    return [ProbeFinding(Cause.PATH_CHANGED, most, moved.height, confidence(moved), detail)], rest
