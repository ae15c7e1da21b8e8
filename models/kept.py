"""What MLflow keeps for people beside models: runs of a kind, each with numbers and one JSON of what was found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

__all__ = ["BACKTEST", "DRIFT", "SHADOW", "Kept", "keep", "last"]

BACKTEST: Final = "backtest"
DRIFT: Final = "drift"
SHADOW: Final = "shadow"
"""Champion and challenger side by side."""

_KIND: Final = "forelight.kind"
_FILE: Final = "found.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """The last run of a kind.

    Attributes:
        at: when it was logged.
        metrics: its numbers.
        found: what it found; empty where an earlier version of forelight did not keep it.
    """

    at: datetime
    metrics: Mapping[str, float]
    found: Mapping[str, Any] = field(default_factory=dict)


def keep(
    mlflow: Any,
    experiment_id: str,
    kind: str,
    metrics: Mapping[str, float],
    found: Mapping[str, Any],
    report: Path | None = None,
) -> str:
    """Log a run; returns its id.

    Args:
        mlflow: the module, its addresses set.
        experiment_id: where runs are.
        kind: what the run is of.
        metrics: numbers worth comparing.
        found: all of it, as JSON takes it.
        report: a page to be kept with it.
    """
    with mlflow.start_run(experiment_id=experiment_id, run_name=kind) as run:
        mlflow.set_tag(_KIND, kind)
        mlflow.log_metrics(dict(metrics))
        mlflow.log_dict(dict(found), _FILE)
        if report is not None:
            mlflow.log_artifact(str(report), artifact_path="report")
        return str(run.info.run_id)


def last(mlflow: Any, client: Any, experiment_id: str, kind: str) -> Kept | None:
    """The newest run of a kind; None where there is none."""
    where = f"tags.`{_KIND}` = '{kind}' and attributes.status = 'FINISHED'"
    runs = client.search_runs([experiment_id], where, max_results=1, order_by=["attributes.start_time DESC"])
    if not runs:
        return None
    run = runs[0]
    there = {file.path for file in client.list_artifacts(run.info.run_id)}
    found = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/{_FILE}") if _FILE in there else {}
    return Kept(datetime.fromtimestamp(run.info.start_time / 1000, UTC), dict(run.data.metrics), found)
