"""Champion and challenger side by side: what both said of the same hours, and what came of it.

The champion's alarms are the service's own, with what people did to them; the challenger's are in ``shadow_scores``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import polars as pl

from features.fleet import Fleet
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import SCORES, SHADOW_SCORES
from models.evaluate import Counts, counts
from models.policy import ALARM_HORIZON_H
from models.rows import TICKET_LAG
from serving.alarms import AlarmRecord
from serving.backtest.backtesting import judged_events

__all__ = ["SideBySide", "side_by_side"]

_RISK: Final = f"risk_{ALARM_HORIZON_H}h"
_KEY: Final = ("site", "device", "interface", "time")
_ALARM: Final = {"link_id": pl.String, "site": pl.String, "device": pl.String, "interface": pl.String}
_SOON: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """What both said.

    Attributes:
        champion, challenger: artefacts' versions.
        start, end: first and last hour that both scored.
        hours: that both scored.
        modules: scored by both in the last of them.
        rank_correlation: Spearman's, of the risk within a day, the mean over the hours; None where ranks say nothing.
        champion_alarms, challenger_alarms: links with an alarm at some time in these hours.
        in_common: links with one of each.
        judged_until: failures before it can have tickets by now; None where there is no such time.
        champion_judged, challenger_judged: what each caught of the failures until then; None likewise.
    """

    champion: tuple[str, ...]
    challenger: str
    start: datetime
    end: datetime
    hours: int
    modules: int
    rank_correlation: float | None
    champion_alarms: int
    challenger_alarms: int
    in_common: int
    judged_until: datetime | None = None
    champion_judged: Counts | None = None
    challenger_judged: Counts | None = None

    @property
    def share_in_common(self) -> float | None:
        """Of the links that either raised an alarm on."""
        either = self.champion_alarms + self.challenger_alarms - self.in_common
        return self.in_common / either if either else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        times = {
            name: at and at.isoformat() for name in ("start", "end", "judged_until") if (at := getattr(self, name))
        }
        return {**asdict(self), **times, "share_in_common": self.share_in_common}


def side_by_side(lake: Lake, alarms: Iterable[AlarmRecord], days: int, now: datetime) -> SideBySide:
    """Compare what champion and newest challenger said of the days before the last hour that a challenger scored.

    Args:
        lake: with ``scores`` and ``shadow_scores``.
        alarms: all of the store.
        days: so many.
        now: tickets are there of failures that are older than their lag.

    Raises:
        ModelError: no challenger was scored, or in no hour that the champion was scored in.
    """
    shadow = _newest(lake, days)
    start, end = shadow["time"].min(), shadow["time"].max()
    assert isinstance(start, datetime)  # noqa: S101 - there are rows, and their times are not null
    assert isinstance(end, datetime)  # noqa: S101 - likewise
    scores = lake.latest(SCORES, since=start, until=end + _SOON, columns=[*_KEY, _RISK, "model_version"]).collect()
    both = scores.join(shadow.select(*_KEY, pl.col(_RISK).alias("other")), on=_KEY).drop_nulls([_RISK, "other"])
    if both.is_empty():
        msg = f"champion and challenger scored no hour together from {start:%Y-%m-%d %H:%M}Z to {end:%Y-%m-%d %H:%M}Z"
        raise ModelError(msg)
    first, second = _stood(alarms, start, end), _would_have(shadow)
    links = [set(frame["link_id"]) for frame in (first, second)]
    return SideBySide(
        champion=tuple(sorted(both["model_version"].unique())),
        challenger=shadow["model_version"][0],
        start=start,
        end=end,
        hours=both["time"].n_unique(),
        modules=both.filter(pl.col("time") == both["time"].max()).height,
        rank_correlation=_ranks(both),
        champion_alarms=len(links[0]),
        challenger_alarms=len(links[1]),
        in_common=len(links[0] & links[1]),
        **_judged(lake, (first, second), start, min(end, now - TICKET_LAG)),
    )


def _newest(lake: Lake, days: int) -> pl.DataFrame:
    """What the challenger that was scored last said, the last days of it."""
    dates = lake.dates(SHADOW_SCORES)
    if not dates:
        msg = "no challenger was scored yet: `forelight score` does where a model bears that alias"
        raise ModelError(msg)
    since = datetime.combine(dates[-1], datetime.min.time(), tzinfo=UTC) - timedelta(days=days)
    rows = lake.latest(SHADOW_SCORES, since=since).collect()
    newest = rows.filter(pl.col("time") == pl.col("time").max())["model_version"].max()
    mine = rows.filter(pl.col("model_version") == newest)
    return mine.filter(pl.col("time") > pl.col("time").max() - timedelta(days=days))


def _ranks(both: pl.DataFrame) -> float | None:
    each = both.group_by("time").agg(pl.corr(_RISK, "other", method="spearman").alias("rho"))
    rho = each["rho"].fill_nan(None).drop_nulls().mean()
    return rho if isinstance(rho, float) else None


def _stood(alarms: Iterable[AlarmRecord], start: datetime, end: datetime) -> pl.DataFrame:
    """Alarms of the store that stood at some time from `start` to `end`."""
    rows = [
        (a.link_id, a.site, a.device, a.interface, a.raised_at, a.cleared_at)
        for a in alarms
        if a.raised_at <= end and (a.cleared_at is None or a.cleared_at > start)
    ]
    return pl.DataFrame(rows, schema={**_ALARM, **_times()}, orient="row")


def _would_have(shadow: pl.DataFrame) -> pl.DataFrame:
    """The challenger's alarms, one row each: they end at the first hour that does not tell of them any more."""
    hours = shadow["time"].unique().sort()
    told = shadow.filter(pl.col("link_id").is_not_null())
    each = told.group_by("link_id", "alarm_raised_at").agg(
        pl.col("site").first(), pl.col("suspect_device", "suspect_interface").last(), pl.col("time").max()
    )
    after = hours.shift(-1).rename("cleared_at")
    each = each.join(pl.DataFrame([hours.rename("time"), after]), on="time", how="left")
    names = {"suspect_device": "device", "suspect_interface": "interface", "alarm_raised_at": "raised_at"}
    return each.rename(names).select(*_ALARM, *_times())


def _times() -> dict[str, pl.DataType]:
    return dict.fromkeys(("raised_at", "cleared_at"), pl.Datetime("us", "UTC"))


def _judged(lake: Lake, alarms: Sequence[pl.DataFrame], start: datetime, until: datetime) -> dict[str, Any]:
    if until <= start:
        return {}
    fleet = Fleet.load(lake)
    events = judged_events(lake, fleet)
    first, second = (counts(each, events, fleet, start=start, end=until) for each in alarms)
    return {"judged_until": until, "champion_judged": first, "challenger_judged": second}
