"""The policy's steps at one time, whoever's risks they are: the champion's become alarms, the challenger's do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl

from features.cube import PORT
from features.pipeline import Block
from ingest.lake import Lake
from ingest.schema import Table
from models.base import HORIZONS_H
from models.policy import ALARM_HORIZON_H, Change, Policy, Scored, Standing, Verb, calm_storms
from models.walk import LinkRisks, Work, ends_of, links_of, touched_at

__all__ = ["Past", "Steps", "View", "decide"]

_RISK: Final = f"risk_{ALARM_HORIZON_H}h"
_COLUMN: Final = HORIZONS_H.index(ALARM_HORIZON_H)


@dataclass(frozen=True, slots=True)
class Past:
    """Where the scores of before are.

    Attributes:
        lake: with `table`.
        table: ``scores``, or one with its columns.
        model_version: whose alone count; all where None: a new champion goes on from what the one before it said.
    """

    lake: Lake
    table: Table
    model_version: str | None = None

    def of(self, block: Block, links: set[str], at: datetime) -> dict[str, list[Scored]]:
        """The scores of some links on the day before, oldest first."""
        ports = np.flatnonzero([link in links for link in block.history.links])
        columns = ["site", "device", "interface", "time", "model_version", _RISK]
        rows = self.lake.latest(self.table, since=at - timedelta(days=1), until=at, columns=columns)
        if self.model_version is not None:
            rows = rows.filter(pl.col("model_version") == self.model_version)
        near = rows.collect().join(block.cube.ports[ports], on=PORT, how="semi")
        near = near.filter(pl.col("time") > at - timedelta(days=1), pl.col(_RISK).is_not_null()).sort("time")
        found: dict[str, dict[datetime, float]] = {}
        for site, device, interface, time, risk in near.select(*PORT, "time", _RISK).iter_rows():
            link = block.history.links[block.cube.port_of[site, device, interface]]
            found.setdefault(link, {})[time] = risk
        return {link: [Scored(time, risk) for time, risk in scores.items()] for link, scores in found.items()}


@dataclass(frozen=True, slots=True)
class View:
    """What is known at the time that is decided at."""

    policy: Policy
    block: Block
    risks: LinkRisks
    work: Work
    at: datetime


@dataclass(frozen=True, slots=True)
class Steps:
    """What becomes of alarms, by link.

    Attributes:
        raised: row of the risks, and level.
        kept: likewise, of those that stood and stand.
        cleared: why.
        held_back: raises held back by the storm breaker: row, level and why.
    """

    raised: Mapping[str, tuple[int, str]]
    kept: Mapping[str, tuple[int, str]]
    cleared: Mapping[str, str]
    held_back: Mapping[str, tuple[int, str, str]]


def decide(view: View, held: Mapping[str, Standing], past: Past) -> Steps:
    """Which alarms are raised, kept and cleared now.

    Args:
        view: risks of now.
        held: what stands, by link.
        past: scores of the day before.
    """
    links = [view.block.history.links[port] for port in view.risks.port.tolist()]
    risk: list[float] = view.risks.risk[:, _COLUMN].tolist()
    # A link without an alarm whose risk is low gets none, whatever its history.
    rows = [i for i, link in enumerate(links) if link in held or risk[i] >= view.policy.watch]
    history = past.of(view.block, {links[i] for i in rows}, view.at) if rows else {}
    raised, kept, cleared = {}, {}, {}
    for i in rows:
        link, standing = links[i], held.get(links[i])
        change = _change(view, i, [*history.get(link, []), Scored(view.at, risk[i])], standing)
        if change is not None and change.verb is Verb.RAISE:
            raised[link] = (i, change.level)
        elif change is not None and change.verb is Verb.CLEAR:
            cleared[link] = change.why
        elif standing:
            kept[link] = (i, change.level if change else standing.level)
    cleared |= _unheard(view, {link: held[link] for link in held.keys() - set(links)})
    stormy = calm_storms(
        view.policy, {link: ends_of(view.block, int(view.risks.port[i])) for link, (i, _) in raised.items()}
    )
    calm = {link: row for link, row in raised.items() if link not in stormy}
    return Steps(calm, kept, cleared, {link: (*raised[link], why) for link, why in stormy.items()})


def _change(view: View, i: int, scores: Sequence[Scored], standing: Standing | None) -> Change | None:
    port = int(view.risks.port[i])
    busy = view.work.busy(ends_of(view.block, port), view.at)
    return view.policy.decide(scores, standing, busy=busy, touched_at=touched_at(view.block, port, 0))


def _unheard(view: View, silent: Mapping[str, Standing]) -> dict[str, str]:
    """The ends of alarms on links that are silent or no longer there."""
    there = links_of(view.block)
    changes = {link: view.policy.unheard(standing, view.at, exists=link in there) for link, standing in silent.items()}
    return {link: change.why for link, change in changes.items() if change is not None}
