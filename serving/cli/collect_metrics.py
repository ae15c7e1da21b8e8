"""The collector's own `/metrics`: the status, read when Prometheus asks for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ingest.collect.status import Status, TargetStatus
from ingest.config import Collect
from ingest.errors import ConfigError

__all__ = ["StatusCollector", "serve_metrics"]

_Of = Callable[[TargetStatus], float | None]

_TARGET: Final[tuple[tuple[str, str, _Of], ...]] = (
    (
        "forelight_collect_up",
        "Whether the last poll gave rows.",
        lambda t: float(not t.failures) if t.last_attempt else None,
    ),
    (
        "forelight_collect_last_success_timestamp_seconds",
        "When a poll last gave rows (Unix time).",
        lambda t: t.last_success.timestamp() if t.last_success else None,
    ),
    ("forelight_collect_duration_seconds", "What the last poll took.", lambda t: t.duration_s),
    ("forelight_collect_rows", "Lane rows of the last poll.", lambda t: t.rows),
    ("forelight_collect_ports", "Ports of the last poll.", lambda t: t.ports),
    ("forelight_collect_partial", "Whether the last poll lacked something.", lambda t: float(t.partial)),
    ("forelight_collect_failures", "Polls in a row that gave nothing.", lambda t: t.failures),
    ("forelight_collect_coverage_ratio", "Cages with readings among those with a module.", lambda t: t.coverage),
)

_COUNTED: Final[tuple[tuple[str, str, _Of], ...]] = (
    ("forelight_collect_errors", "Polls that gave nothing.", lambda t: t.errors),
    ("forelight_collect_gaps", "Times for which a stream was not heard.", lambda t: t.gaps),
    ("forelight_collect_gap_seconds", "How long streams were not heard.", lambda t: t.gap_s),
)


class StatusCollector(Collector):
    """Metrics of a status; there is no second bookkeeping that could disagree with the file.

    Args:
        status: gives the newest one, from any thread.
    """

    def __init__(self, status: Callable[[], Status]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """All of them; what is not known of a target is left out."""
        status = self._status()
        for name, text, value in _TARGET:
            family = GaugeMetricFamily(name, text, labels=("site", "device"))
            _fill(family, status, value)
            yield family
        for name, text, counted in _COUNTED:
            counter = CounterMetricFamily(name, text, labels=("site", "device"))
            _fill(counter, status, counted)
            yield counter
        yield from _sweeps(status)
        yield from _spool(status)


@contextmanager
def serve_metrics(options: Collect, status: Callable[[], Status]) -> Iterator[None]:
    """Answer on `metrics_port` while the body runs; do nothing where there is none.

    Raises:
        ConfigError: the address cannot be had.
    """
    if options.metrics_port is None:
        yield
        return
    registry = CollectorRegistry()
    registry.register(StatusCollector(status))
    try:
        server, thread = start_http_server(options.metrics_port, options.metrics_host, registry)
    except OSError as error:
        msg = f"metrics_port {options.metrics_port} on {options.metrics_host}: {error.strerror or error}"
        raise ConfigError(msg) from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _fill(family: GaugeMetricFamily | CounterMetricFamily, status: Status, value: _Of) -> None:
    for target in status.targets:
        number = value(target)
        if number is not None:
            family.add_metric((target.site, target.device), float(number))


def _sweeps(status: Status) -> Iterator[Metric]:
    if status.sweeps:
        at_s = status.written_at.timestamp()
        yield GaugeMetricFamily(
            "forelight_collect_last_sweep_timestamp_seconds", "When a sweep last ended (Unix time).", value=at_s
        )
        yield GaugeMetricFamily(
            "forelight_collect_sweep_duration_seconds", "What the last sweep took.", value=status.sweep_s
        )
    yield CounterMetricFamily("forelight_collect_sweeps", "Sweeps that ended.", value=status.sweeps)
    yield CounterMetricFamily(
        "forelight_collect_sweep_overruns", "Sweeps longer than the interval.", value=status.overruns
    )


def _spool(status: Status) -> Iterator[Metric]:
    spool = status.spool
    for name, text, number in (
        ("forelight_lake_up", "Whether the lake took the last rows.", float(spool.error is None)),
        ("forelight_lake_append_seconds", "What the last append to the lake took.", spool.append_s),
        ("forelight_spool_bytes", "Size of the spool on disk.", spool.size_bytes),
        ("forelight_spool_files", "Files of the spool that wait.", spool.files),
        ("forelight_spool_rows", "Rows that wait for the lake.", spool.rows),
        ("forelight_spool_memory_rows", "Rows of them that are in memory alone.", spool.memory_rows),
        ("forelight_spool_bad_files", "Files that could not be read.", spool.bad_files),
    ):
        yield GaugeMetricFamily(name, text, value=float(number))
    yield CounterMetricFamily(
        "forelight_spool_rows_dropped", "Rows dropped for want of room.", value=float(spool.dropped_rows)
    )
