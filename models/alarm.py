"""An alarm as the model raises it: which link, which end, what will fail, when, and why."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.pipeline import Block
from ingest.schema import Action, FailureType
from models.actions import first
from models.artifact import Artifact
from models.base import FAULTS, HORIZONS_H
from models.explain import Evidence, evidence, reasons

__all__ = [
    "ALARM_COLUMNS",
    "KINDS",
    "Alarm",
    "Diagnoses",
    "Diagnosis",
    "alarm_frame",
    "alarm_id",
    "diagnose_all",
    "diagnoses",
    "expected_window",
]

Floats = NDArray[np.float32]
PortName = tuple[str, str, str]

KINDS: Final = tuple(dict.fromkeys(fault.failure_type for fault in FAULTS))
"""Every failure type that a model tells apart, in the order of `FAULTS`."""
_SUSPECT: Final = {fault.failure_type: fault.suspect for fault in FAULTS}
_UNITS: Final = tuple(dict.fromkeys((fault.suspect, fault.here) for fault in FAULTS))

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
        action: what to try first.
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
    """One alarm on one fault unit; the columns of the alarms CSV, and what the service shows besides.

    `act_at` is when it reached the level ``act``: at once, or on a later hour.
    """

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
    act_at: datetime | None = None
    cleared_at: datetime | None = None


ALARM_COLUMNS: Final = pl.Schema(
    {
        **dict.fromkeys(("alarm_id", "site", "device", "interface", "suspect", "level"), pl.String()),
        **dict.fromkeys(("raised_at", "cleared_at"), pl.Datetime("us", "UTC")),
        **dict.fromkeys(("risk_24h", "risk_168h"), pl.Float64()),
        **dict.fromkeys(("failure_type", "action"), pl.String()),
        **dict.fromkeys(("expected_from", "expected_to"), pl.Datetime("us", "UTC")),
        **dict.fromkeys(("peer_device", "peer_interface", "model_version"), pl.String()),
        "act_at": pl.Datetime("us", "UTC"),
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
    found = diagnoses(artifact, block, ports, time)
    return [found.of(i) for i in range(ports.shape[0])]


@dataclass(frozen=True)
class Diagnoses:
    """What is likely to be wrong with the links of n ports, column by column; see `Diagnosis`.

    Attributes:
        near, far: the port itself, and the other end (None where it is not known).
        kind: shape (n,), index into `KINDS`.
        types: shape (n, kinds).
        fiber: shape (n,), whether the suspect is the fibre.
        here: shape (n,), whether the suspect is at the port's own end.
        probability: shape (n,), of the suspect.
        evidence: of each, what raises its risk, strongest first.
    """

    near: list[PortName]
    far: list[PortName | None]
    kind: NDArray[np.int64]
    types: NDArray[np.float64]
    fiber: NDArray[np.bool_]
    here: NDArray[np.bool_]
    probability: NDArray[np.float64]
    evidence: list[tuple[Evidence, ...]]

    def suspect(self, i: int) -> str:
        """``module``, ``fiber`` or ``unknown``."""
        named = "fiber" if self.fiber[i] else "module"
        return named if self.probability[i] >= _TOLD else "unknown"

    def reasons(self, i: int) -> tuple[str, ...]:
        """In an operator's words, strongest first."""
        return reasons(self.evidence[i])

    def action(self, i: int) -> Action:
        """What to try first."""
        return first(dict(zip(KINDS, self.types[i].tolist(), strict=True)))

    def ends(self, i: int) -> tuple[PortName, PortName | None]:
        """The suspect end and the other one."""
        near, far = self.near[i], self.far[i]
        return (near, far) if self.here[i] or far is None else (far, near)

    def of(self, i: int) -> Diagnosis:
        """All of one port."""
        return Diagnosis(
            KINDS[self.kind[i]],
            dict(zip(KINDS, self.types[i].tolist(), strict=True)),
            self.suspect(i),
            float(self.probability[i]),
            *self.ends(i),
            self.action(i),
            self.reasons(i),
        )


def diagnoses(artifact: Artifact, block: Block, ports: NDArray[np.int64], time: int) -> Diagnoses:
    """As `diagnose_all`, column by column."""
    model, rows = artifact.model, block.matrix(ports, np.full(ports.shape[0], time))
    seen = model.fault(rows).astype(np.float64)
    types, units = np.zeros((ports.shape[0], len(KINDS))), np.zeros((ports.shape[0], len(_UNITS)))
    for fault, p in zip(FAULTS, seen.T, strict=True):
        types[:, KINDS.index(fault.failure_type)] += p
        units[:, _UNITS.index((fault.suspect, fault.here))] += p
    best = units.argmax(axis=1)
    of_unit = np.array([[_SUSPECT[kind] == suspect for kind in KINDS] for suspect, _ in _UNITS])
    near = list(block.cube.ports[ports].iter_rows())
    return Diagnoses(
        near,
        [block.history.ends.get(name, ("", None, None))[1] for name in near],
        np.where(of_unit[best], types, -1.0).argmax(axis=1),
        types,
        np.array([suspect == "fiber" for suspect, _ in _UNITS])[best],
        np.array([here for _, here in _UNITS])[best],
        np.take_along_axis(units, best[:, None], axis=1)[:, 0],
        evidence(model, rows),
    )
