"""What node_exporter may tell of a batch run: a text file for its textfile collector, replaced whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from serving.alarms import ScoreRun
from serving.scoring.scorer import Scoring
from serving.scoring.shadow import Shadow

__all__ = ["write_metrics"]

_TIMES: Final = "forelight_score_as_of_timestamp_seconds"


def write_metrics(path: Path, done: Scoring, shadow: Shadow | None = None) -> None:
    """Replace the file at `path` by the metrics of a run.

    A run that was done before is told again without what it changed, unless the file tells of it already.

    Args:
        path: of the file.
        done: the run.
        shadow: what the challenger said; None where there is none, or not yet.

    Raises:
        OSError: the folder is not there or cannot be written to.
    """
    if not done.applied.new and _tells_of(path, done.run):
        return
    registry = CollectorRegistry()
    registry.register(_Run(done))
    if shadow is not None:
        registry.register(_Challenger(shadow))
    write_to_textfile(str(path), registry)


def _tells_of(path: Path, run: ScoreRun) -> bool:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    told = [line.split()[-1] for line in lines if line.startswith(f"{_TIMES} ")]
    return [float(value) for value in told] == [run.at.timestamp()]


class _Run(Collector):
    def __init__(self, done: Scoring) -> None:
        self._done = done

    def collect(self) -> Iterator[Metric]:
        """All of them; what is not known is left out."""
        run = self._done.run
        for name, text, value in (
            (_TIMES, "What time the scores are as of (Unix time).", run.at.timestamp()),
            (
                "forelight_score_last_run_timestamp_seconds",
                "When the run was done (Unix time).",
                run.finished_at.timestamp(),
            ),
            ("forelight_score_duration_seconds", "What it took.", (run.finished_at - run.started_at).total_seconds()),
        ):
            yield GaugeMetricFamily(name, text, value=value)
        if run.newest_data_at is not None:
            age_s = (run.at - run.newest_data_at).total_seconds()
            yield GaugeMetricFamily("forelight_score_data_age_seconds", "Age of the newest reading then.", value=age_s)
        counts = {"scored": run.modules_scored, "unknown": run.modules_unknown}
        yield _counts("forelight_score_modules", "Modules by what became of them.", "status", counts)
        model = GaugeMetricFamily("forelight_score_model_info", "The model that scored.", labels=("version",))
        model.add_metric((run.model_version,), 1.0)
        yield model
        if self._done.applied.new:
            applied = self._done.applied
            changes = {"raised": applied.raised, "renewed": applied.updated, "cleared": applied.cleared}
            changes["held_back"] = self._done.held_back
            yield _counts("forelight_score_alarms", "Alarms by what the run did to them.", "change", changes)


class _Challenger(Collector):
    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow

    def collect(self) -> Iterator[Metric]:
        """Whether it could be scored, and what it would have done to alarms of its own."""
        shadow = self._shadow
        up = GaugeMetricFamily("forelight_score_challenger_up", "1 where it was scored.", labels=("version",))
        up.add_metric((shadow.version,), 0.0 if shadow.error else 1.0)
        yield up
        if shadow.new:
            changes = {"raised": shadow.raised, "renewed": shadow.kept, "cleared": shadow.cleared}
            changes["held_back"] = shadow.held_back
            text = "Alarms by what the challenger would have done to them."
            yield _counts("forelight_score_challenger_alarms", text, "change", changes)


def _counts(name: str, text: str, label: str, counts: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for key, count in counts.items():
        family.add_metric((key,), float(count))
    return family
