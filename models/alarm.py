"""An alarm as the model raises it: which link, which end, what will fail, when, and why."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.pipeline import Block
from ingest.schema import Action, FailureType
from models.artifact import Artifact
from models.base import ACTION_OF, FAULTS, HORIZONS_H
from models.explain import reasons

__all__ = ["ALARM_COLUMNS", "Alarm", "Diagnosis", "alarm_frame", "alarm_id", "diagnose_all", "expected_window"]

Floats = NDArray[np.float32]
PortName = tuple[str, str, str]

_TOLD: Final = 0.35
"""A fault unit less probable than this is not named."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is likely to be wrong with a link, and at which end.

    Attributes:
        failure_type: most probable one of the suspect's, given failure: no contaminated module, no worn fibre.
        types: P(type, given failure).
        suspect: ``module``, ``fiber`` or ``unknown``.
        probability: of the suspect fault unit.
        end, peer: site, device, interface of the suspect end and of the other one (None where it is not known).
        action: what usually cures it.
        reasons: in an operator's words, strongest first.
    """

    failure_type: FailureType
    types: dict[FailureType, float]
    suspect: str
    probability: float
    end: PortName
    peer: PortName | None
    action: Action
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm on one fault unit; the columns of the alarms CSV, and what the service shows besides."""

    alarm_id: str
    link_id: str
    site: str
    device: str
    interface: str
    suspect: str
    level: str
    raised_at: datetime
    risk_24h: float
    risk_168h: float
    failure_type: str
    action: str
    expected_from: datetime
    expected_to: datetime
    model_version: str
    peer_device: str | None = None
    peer_interface: str | None = None
    serial: str | None = None
    reasons: tuple[str, ...] = ()
    cleared_at: datetime | None = field(default=None)


ALARM_COLUMNS: Final = pl.Schema(
    {
        **dict.fromkeys(("alarm_id", "site", "device", "interface", "suspect", "level"), pl.String()),
        **dict.fromkeys(("raised_at", "cleared_at"), pl.Datetime("us", "UTC")),
        **dict.fromkeys(("risk_24h", "risk_168h"), pl.Float64()),
        **dict.fromkeys(("failure_type", "action"), pl.String()),
        **dict.fromkeys(("expected_from", "expected_to"), pl.Datetime("us", "UTC")),
        **dict.fromkeys(("peer_device", "peer_interface", "model_version"), pl.String()),
    }
)
"""The alarms CSV: ``forelight backtest --alarms`` writes it, ``forelight evaluate`` reads it."""


def alarm_frame(alarms: list[Alarm]) -> pl.DataFrame:
    """Alarms as a table of `ALARM_COLUMNS`, in order of time."""
    rows = [{name: getattr(alarm, name) for name in ALARM_COLUMNS} for alarm in alarms]
    return pl.DataFrame(rows, schema=ALARM_COLUMNS).sort("raised_at", "alarm_id")


def alarm_id(link_id: str, raised_at: datetime) -> str:
    """The same link and time are the same alarm, whoever computes it."""
    return hashlib.sha256(f"{link_id}|{raised_at.isoformat()}".encode()).hexdigest()[:16]


def expected_window(at: datetime, risk: Floats) -> tuple[datetime, datetime]:
    """Between when and when a failure is expected: 10 to 90 % of the risk within a week, given that it comes."""
    share = np.concatenate([[0.0], risk / max(float(risk[-1]), 1e-9)])
    first, last = np.interp([0.1, 0.9], share, [0.0, *HORIZONS_H])
    return at + timedelta(hours=round(float(first))), at + timedelta(hours=round(float(last)))


def diagnose_all(artifact: Artifact, block: Block, ports: NDArray[np.int64], time: int) -> list[Diagnosis]:
    """What is likely to be wrong with the links of some ports.

    Args:
        artifact: the model.
        block: features.
        ports: shape (n,), rows of the block's cube, each of a port that speaks.
        time: index of the history's times.
    """
    model, rows = artifact.model, block.matrix(ports, np.full(ports.shape[0], time))
    seen = model.predict(rows, model.names).fault
    why = reasons(model, rows)
    named = []
    for port, fault, words in zip(ports.tolist(), seen, why, strict=True):
        near = block.cube.ports.row(port)
        named.append(_named(fault, near, block.history.ends.get(near, ("", None, None))[1], tuple(words)))
    return named


def _named(seen: Floats, near: PortName, far: PortName | None, why: tuple[str, ...]) -> Diagnosis:
    types: dict[FailureType, float] = {}
    units: dict[tuple[str, bool], float] = {}
    for fault, p in zip(FAULTS, seen.tolist(), strict=True):
        types[fault.failure_type] = types.get(fault.failure_type, 0.0) + p
        units[fault.suspect, fault.here] = units.get((fault.suspect, fault.here), 0.0) + p
    (suspect, here), p = max(units.items(), key=lambda item: item[1])
    kind = max((f.failure_type for f in FAULTS if f.suspect == suspect), key=types.__getitem__)
    end, peer = (near, far) if here or far is None else (far, near)
    return Diagnosis(
        kind, types, suspect if p >= _TOLD else "unknown", p, end, peer, ACTION_OF.get(kind, Action.NONE), why
    )
