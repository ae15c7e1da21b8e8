"""What Prometheus may know: requests, the age of the scores, open alarms, modules scored, deliveries that wait."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.database import reading
from serving.deliveries.letters import counts
from serving.errors import StoreError
from serving.risk_metrics import Limits, RiskCollector
from serving.samples.judging import Batch
from serving.snapshot import Snapshot
from serving.store import AlarmStore

__all__ = ["Metrics", "MetricsMiddleware"]

_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5)


class Metrics:
    """The metrics of one application; two applications in one process share nothing.

    Args:
        store: whose runs, alarms and deliveries are told.
        clock: what is now.
        counts: folder where all processes of a service count, of whom each tells the whole; none where it is one.
    """

    def __init__(self, store: AlarmStore, clock: Callable[[], datetime], counts: Path | None = None) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series a counter, which nobody asks for
        self._registry = CollectorRegistry()
        self._told = [self._registry if counts is None else _of_all(counts), _of_store(store, clock)]
        self.requests = Counter(
            "forelight_http_requests", "Requests answered.", ("method", "route", "code"), registry=self._registry
        )
        self.seconds = Histogram(
            "forelight_http_request_duration_seconds",
            "Time to answer.",
            ("route",),
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self.in_progress = Gauge(
            "forelight_http_requests_in_progress",
            "Requests being answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.sample_rows = Counter(
            "forelight_samples_rows",
            "Rows that hosts pushed and that are durably kept.",
            ("table",),
            registry=self._registry,
        )
        self.samples_refused = Counter(
            "forelight_samples_refused", "Readings and values of hosts that were refused.", registry=self._registry
        )
        self.samples_at = Gauge(
            "forelight_samples_last_timestamp_seconds",
            "When samples of a host were last taken.",
            registry=self._registry,
            multiprocess_mode="max",
        )

    def took(self, batch: Batch) -> None:
        """Samples of a host are kept."""
        for table, rows in (
            ("lane_samples", batch.lanes),
            ("port_samples", batch.ports),
            ("port_events", batch.events),
        ):
            self.sample_rows.labels(table).inc(len(rows))
        self.samples_refused.inc(len(batch.refused))
        self.samples_at.set_to_current_time()

    def text(self, fresh: Snapshot | None = None, limits: Limits = Limits()) -> bytes:  # noqa: B008 - a frozen value
        """All of them in Prometheus' text format; risks and alarms where their scores are fresh."""
        told = list(self._told)
        if fresh is not None:
            risks = CollectorRegistry()
            risks.register(RiskCollector(fresh, limits))
            told.append(risks)
        return b"".join(generate_latest(each) for each in told)


def _of_all(counts: Path) -> CollectorRegistry:
    """What all processes have counted so far."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(counts))  # type: ignore[no-untyped-call]
    return registry


def _of_store(store: AlarmStore, clock: Callable[[], datetime]) -> CollectorRegistry:
    """What each process reads in the store for itself."""
    registry = CollectorRegistry()
    registry.register(_StoreCollector(store, clock))
    return registry


class _StoreCollector(Collector):
    """Reads the store when it is scraped, so that every process tells the same."""

    def __init__(self, store: AlarmStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """A store that fails is a metric, not a failed scrape."""
        try:
            found = [*self._scores(), self._alarms(), *self._deliveries()]
        except StoreError:
            found = []
        yield GaugeMetricFamily("forelight_store_up", "Whether the alarm store answers.", value=float(bool(found)))
        yield from found

    def _scores(self) -> Iterator[Metric]:
        run = self._store.latest_run()
        if run is None:
            return
        age_s = (self._clock() - run.at).total_seconds()
        yield GaugeMetricFamily("forelight_score_age_seconds", "Age of the latest scores.", value=age_s)
        yield GaugeMetricFamily("forelight_modules_scored", "Modules scored.", value=run.modules_scored)
        yield GaugeMetricFamily("forelight_modules_unknown", "Modules not scorable.", value=run.modules_unknown)
        if run.newest_data_at is not None:
            age_s = (self._clock() - run.newest_data_at).total_seconds()
            yield GaugeMetricFamily("forelight_data_age_seconds", "Age of the newest reading used.", value=age_s)
        info = GaugeMetricFamily("forelight_model_info", "Model of the latest run.", labels=("name", "version"))
        info.add_metric((run.model_name, run.model_version), 1.0)
        yield info

    def _alarms(self) -> Metric:
        labels = ("level", "failure_type", "status")
        family = GaugeMetricFamily("forelight_open_alarms", "Standing alarms.", labels=labels)
        for by, count in self._store.standing_counts().items():
            family.add_metric(by, count)
        return family

    def _deliveries(self) -> Iterator[Metric]:
        with reading(self._store.engine) as connection:
            found = counts(connection, self._clock())
        for name, text, what in (
            ("forelight_outbox_waiting", "Messages that a consumer has still to hear.", "waiting"),
            ("forelight_outbox_dead", "Messages that were refused or tried too often.", "dead"),
            ("forelight_outbox_oldest_seconds", "Age of the oldest that waits.", "oldest_s"),
        ):
            family = GaugeMetricFamily(name, text, labels=("adapter",))
            for adapter, count in found.items():
                family.add_metric((adapter,), float(getattr(count, what)))
            yield family


class MetricsMiddleware:
    """Counts and times each request under its route's template: a path as label would grow without end."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and watch what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        code = 500  # what the client gets where nothing was sent

        async def watching(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        started_s = time.perf_counter()
        with self.metrics.in_progress.track_inprogress():
            try:
                await self.app(scope, receive, watching)
            finally:
                route = getattr(scope.get("route"), "path", "unmatched")
                self.metrics.requests.labels(_method(scope), route, str(code)).inc()
                self.metrics.seconds.labels(route).observe(time.perf_counter() - started_s)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in {"GET", "HEAD", "POST", "OPTIONS"} else "other"
