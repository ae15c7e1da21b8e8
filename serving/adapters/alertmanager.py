"""Prometheus Alertmanager, API v2: an alert for each alarm, told again while it stands and expiring by itself.

An alert is known by its labels, so these do not change in an alarm's life, but for the severity; when that changes the
alert of the other severity is ended in the same request. `endsAt` is always given: what is not told again ends.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from serving.adapters.base import Telling, as_bytes, headline, message, when
from serving.adapters.config import AlertmanagerConfig
from serving.adapters.http import Http
from serving.alarms import AlarmRecord, Level
from serving.notices import Kind, Notice

__all__ = ["Alertmanager"]

_SEVERITY: Final = {Level.WATCH: "info", Level.ACT: "warning"}
_STORM_S: Final = 3_600.0
"""An hour after the last storm its alert ends."""
_MOST_DEVICES: Final = 10


class Alertmanager:
    """Posts alerts to one Alertmanager; of a cluster each instance is an adapter of its own."""

    keeps = True
    repeats = True
    uses_nodes = False
    needs_nodes = False
    tells_storms = True

    def __init__(self, config: AlertmanagerConfig) -> None:
        self.name = config.name
        self.timeout_s = config.timeout_s
        self.check_s = config.ttl_s / 3
        self._config = config
        self._http = Http(timeout_s=config.timeout_s, ca_file=config.ca_file, headers=config.authorization())

    def render(self, telling: Telling) -> Sequence[dict[str, object]]:
        """The alerts of the request's body."""
        notice, alarm = telling.notice, telling.notice.alarm
        if alarm is None:
            return [self._storm(notice, telling)]
        alerts = [self._alert(alarm, alarm.level, telling, active=telling.active)]
        if notice.kind is Kind.CHANGED:
            other = Level.WATCH if alarm.level is Level.ACT else Level.ACT
            alerts.append(self._alert(alarm, other, telling, active=False))
        return alerts

    def send(self, telling: Telling) -> None:
        """Post them."""
        url = f"{self._config.url.rstrip('/')}/api/v2/alerts"
        self._http.post(url, as_bytes(self.render(telling)), {"Content-Type": "application/json"})

    def close(self) -> None:
        """Give connections back."""
        self._http.close()

    def _alert(self, alarm: AlarmRecord, level: Level, telling: Telling, *, active: bool) -> dict[str, object]:
        ends_at = telling.at + timedelta(seconds=self._config.ttl_s if active else 0.0)
        labels = {
            "alertname": "ForelightTransceiverAtRisk",
            "severity": _SEVERITY[level],
            "alarm_id": alarm.alarm_id,
            "site": alarm.site,
            "device": alarm.device,
            "interface": alarm.interface,
        }
        annotations = {
            "summary": headline(alarm),
            "description": message(alarm),
            "level": str(alarm.level),
            "status": str(alarm.status),
            "suspect": str(alarm.suspect),
            "action": str(alarm.action),
            "peer": " ".join(name for name in (alarm.peer_device, alarm.peer_interface) if name),
        }
        return self._made(labels, annotations, when(alarm.raised_at), when(ends_at), f"/v1/alarms/{alarm.alarm_id}")

    def _storm(self, notice: Notice, telling: Telling) -> dict[str, object]:
        labels = {"alertname": "ForelightStorm", "severity": "warning"}
        ends_at = max(telling.at, notice.at + timedelta(seconds=_STORM_S))
        annotations = {"summary": "many alarms at once: held back", "description": notice.why}
        devices = sorted({str(member["device"]) for member in notice.members})
        annotations["devices"] = ", ".join(devices[:_MOST_DEVICES]) + (", …" if len(devices) > _MOST_DEVICES else "")
        return self._made(labels, annotations, when(notice.at), when(ends_at), "/v1/storms")

    def _made(
        self, labels: dict[str, str], annotations: dict[str, str], starts_at: str, ends_at: str, path: str
    ) -> dict[str, object]:
        alert: dict[str, object] = {
            "labels": labels | dict(self._config.labels),
            "annotations": {name: text for name, text in annotations.items() if text},
            "startsAt": starts_at,
            "endsAt": ends_at,
        }
        if self._config.external_url:
            alert["generatorURL"] = self._config.external_url.rstrip("/") + path
        return alert
