"""What Prometheus may know of single transceivers and alarms: the riskiest few, and how many were left out.

A series for each of 100,000 modules would be too many for most Prometheus servers, and most say that nothing is wrong.
Nothing at all is told from scores that are stale: an old risk is no risk of now.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from serving.alarms import AlarmRecord, Level
from serving.snapshot import Snapshot

__all__ = ["Limits", "RiskCollector"]

_RISK: Final = "risk_24h"
_PORT: Final = ("site", "device", "interface")
_ALARM: Final = (*_PORT, "level", "failure_type", "status")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is told.

    Attributes:
        top: series of each metric at most.
        floor: risks below are left out.
    """

    top: int = 500
    floor: float = 0.01


class RiskCollector(Collector):
    """Risks and alarms of one snapshot, which is fresh."""

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits

    def collect(self) -> Iterator[Metric]:
        """Both, each with the count of what was left out."""
        yield from self._risks()
        yield from self._alarms()

    def _risks(self) -> Iterator[Metric]:
        risks = GaugeMetricFamily("forelight_transceiver_risk", "P(failure of its link within 24 h).", labels=_PORT)
        left_out = 0
        rows = self._snapshot.scores.rows
        if _RISK in rows.columns:
            known = rows.select(*_PORT, _RISK).filter(pl.col(_RISK).is_finite())
            high = known.filter(pl.col(_RISK) >= self._limits.floor)
            told = high.sort(_RISK, *_PORT, descending=[True, False, False, False]).head(self._limits.top)
            left_out = known.height - told.height
            for site, device, interface, risk in told.iter_rows():
                risks.add_metric((site, device, interface), risk)
        yield risks
        yield _left_out("forelight_transceiver_risk_left_out", "Transceivers whose risk is not told.", left_out)

    def _alarms(self) -> Iterator[Metric]:
        standing = sorted(self._snapshot.standing.values(), key=_weight)
        told = standing[: self._limits.top]
        alarms = GaugeMetricFamily("forelight_alarm_open", "Standing alarms by their suspect end.", labels=_ALARM)
        for labels, count in Counter(_labels(alarm) for alarm in told).items():
            alarms.add_metric(labels, count)
        yield alarms
        yield _left_out(
            "forelight_alarm_open_left_out", "Standing alarms that are not told.", len(standing) - len(told)
        )


def _weight(alarm: AlarmRecord) -> tuple[bool, float, str]:
    return alarm.level is not Level.ACT, -(alarm.risk_24h or 0.0), alarm.alarm_id


def _labels(alarm: AlarmRecord) -> tuple[str, ...]:
    return (
        alarm.site,
        alarm.device,
        alarm.interface,
        str(alarm.level),
        str(alarm.failure_type or "unknown"),
        str(alarm.status),
    )


def _left_out(name: str, text: str, count: int) -> Metric:
    return GaugeMetricFamily(name, text, value=float(count))
