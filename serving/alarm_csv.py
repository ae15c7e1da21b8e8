"""An alarm as a row of CSV, in the form that ``forelight evaluate`` takes."""

from datetime import UTC, datetime
from typing import Final

from serving.alarms import AlarmRecord

__all__ = ["CSV_COLUMNS", "csv_row"]

CSV_COLUMNS: Final = (
    "alarm_id",
    "site",
    "device",
    "interface",
    "suspect",
    "level",
    "raised_at",
    "cleared_at",
    "risk_24h",
    "risk_168h",
    "failure_type",
    "action",
    "expected_from",
    "expected_to",
    "peer_device",
    "peer_interface",
    "model_version",
    "act_at",
)
"""Columns of an alarms CSV, as ``backtest`` and ``export`` write it and ``evaluate`` reads it."""


def csv_row(alarm: AlarmRecord) -> dict[str, str]:
    """The alarm under `CSV_COLUMNS`; what is missing is empty, times are ISO 8601 in UTC."""
    return {name: _cell(getattr(alarm, name)) for name in CSV_COLUMNS}


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return "" if value is None else str(value)
