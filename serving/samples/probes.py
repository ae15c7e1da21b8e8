"""A probe agent's rows into rows of the canonical tables."""

from datetime import datetime
from typing import Any

from serving.samples.judging import Batch, against
from serving.wire.probes import PathRow, ProbeRequest, ProbeRow, RefusedProbe

__all__ = ["judged_probes"]


def judged_probes(asked: ProbeRequest, now: datetime) -> tuple[Batch, list[RefusedProbe]]:
    """Rows of a request, and those whose time or counts cannot be; the host itself is who pushed."""
    refused: list[RefusedProbe] = []
    same = {"site": asked.site, "received_at": now, "source": "agent"}
    paths: list[dict[str, Any]] = []
    taken = [probe for probe in asked.probes if _taken(probe, now, refused)]
    probes = [probe.model_dump() | same | {"source_device": asked.device} for probe in taken]
    for path in asked.paths:
        if _taken(path, now, refused):
            own = "source_device" if path.direction == "forward" else "target_device"
            paths.append(path.model_dump() | same | {own: asked.device, "method": "trace"})
    return Batch(asked.site, [], [], [], [], probes=probes, paths=paths), refused


def _taken(row: ProbeRow | PathRow, now: datetime, refused: list[RefusedProbe]) -> bool:
    reason = against(row.time, now) or (row.contradiction if isinstance(row, ProbeRow) else None)
    if reason is not None:
        told = row.model_dump(include={"source_address", "target_address", "source_port", "time"})
        refused.append(RefusedProbe(reason=reason, **told))
    return reason is None
