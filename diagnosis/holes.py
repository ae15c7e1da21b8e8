"""Black holes: 5-tuples that die on links which carry others. No cable drops by 5-tuple: a switch's table does."""

import numpy as np
from scipy.stats import binom

from diagnosis.probes import Cause, Known, Limits, ProbeFinding, confidence
from diagnosis.trips import Flags, Trips

__all__ = ["black_holes"]


def black_holes(trips: Trips, known: Known, limits: Limits) -> tuple[list[ProbeFinding], Trips]:
    """A finding where there are such, and the rows that they do not explain."""
    holes = _holes(trips, limits)
    if not holes.any():
        return [], trips
    rows = trips.rows.filter(holes)
    crossed = trips.there[holes] + trips.back[holes]
    ends = rows.select("source_device", "target_device").rows()
    common = set.intersection(*(_devices(crossed[[at]].indices, known) - {*own} for at, own in enumerate(ends)))
    where = ", ".join(sorted(common)) or "no one device"
    ports = rows["source_port"].n_unique()
    detail = f"{rows.height} 5-tuples die on links that carry others, {ports} source ports; all of them pass {where}"
    return [ProbeFinding(Cause.BLACK_HOLE, where, rows.height, confidence(rows), detail)], trips.only(~holes)


def _holes(trips: Trips, limits: Limits) -> Flags:
    """Flows that lost much more than their links, which take of each as much as of the others, would take."""
    sent, lost = trips.numbers("sent"), trips.numbers("lost")
    dead = (sent >= limits.least_sent) & (lost >= limits.mostly * sent)
    if not dead.any():
        return dead
    others, gone = trips.losses(~dead)
    some = trips.only(dead)
    known = some.across(np.ones(others.size)) > 0.0
    seen = some.across(others < limits.least_sent) == 0.0
    comes = np.exp(some.across(np.log1p(-(gone + 1.0) / (others + 2.0))))
    dead[dead] = known & seen & (binom.sf(lost[dead] - 1.0, sent[dead], 1.0 - comes) < limits.hole)
    return dead


def _devices(links: np.ndarray[tuple[int], np.dtype[np.int32]], known: Known) -> set[str]:
    """Devices at the ends of links."""
    return {port[1] for link in links for port in known.fabric.ends(int(link))}
