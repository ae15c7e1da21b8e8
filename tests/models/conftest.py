"""What the models are tested on: rows of the shared synthetic fleet, and blocks small enough to check by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from features.cube import Cube, LakeTiles, hour_index
from features.fleet import Fleet
from features.history import History
from features.labels import EVENT_SCHEMA
from features.pipeline import Block, FeaturePipeline, hourly
from ingest.lake import Lake
from models.joint import JointModel
from models.training_data import TrainingData, training_data

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)

MakeBlock = Callable[..., Block]
MakeFrame = Callable[..., pl.DataFrame]


@pytest.fixture(name="pipeline", scope="session")
def _pipeline() -> FeaturePipeline:
    return FeaturePipeline()


@pytest.fixture(name="fleet", scope="session")
def _fleet(fleet_lake: Lake) -> Fleet:
    """Records of the shared fleet, whole."""
    return Fleet.load(fleet_lake)


@pytest.fixture(name="data", scope="session")
def _data(fleet_lake: Lake, train_until: datetime, pipeline: FeaturePipeline) -> TrainingData:
    """What is learnt from as of `train_until`."""
    return training_data(fleet_lake, train_until)


@pytest.fixture(name="quick", scope="session")
def _quick(pipeline: FeaturePipeline) -> Callable[..., JointModel]:
    """An unfitted model of few rounds."""
    return lambda **changes: JointModel(
        pipeline.names, pipeline.signs, **{"rounds": 12, "fault_rounds": 4, "folds": 2, **changes}
    )


@pytest.fixture(name="block", scope="session")
def _block(fleet_lake: Lake, fleet: Fleet, train_until: datetime) -> Block:
    """Features of the shared fleet at each hour of a day after `train_until`."""
    times = hourly(train_until, train_until + timedelta(hours=23))
    return next(FeaturePipeline().blocks(LakeTiles(fleet_lake), fleet, times))


@pytest.fixture(name="begin", scope="session")
def _begin() -> datetime:
    """First time of `make_block`."""
    return BEGIN


@pytest.fixture(name="make_block", scope="session")
def _make_block(pipeline: FeaturePipeline) -> MakeBlock:
    """Blocks without readings: links C0, C1… from leaf<i> to spine01, both ends speak at each hour."""

    def make(links: int = 2, hours: int = 24, **records: pl.DataFrame) -> Block:
        ends = [("default", f"leaf{i:02}", "Ethernet0") for i in range(links)]
        far = [("default", "spine01", f"Ethernet{i}") for i in range(links)]
        cables = pl.DataFrame(
            [(f"C{i}", *a, *z, "fiber") for i, (a, z) in enumerate(zip(ends, far, strict=True))],
            schema=["cable_id", "a_site", "a_device", "a_interface", "z_site", "z_device", "z_interface", "kind"],
            orient="row",
        )
        ports = pl.DataFrame([*ends, *far], schema=["site", "device", "interface"], orient="row")
        cube = Cube(
            hour_index(BEGIN) - 1, ports, np.empty(0, np.int64), {}, {}, np.full((2 * links, hours), -1, np.int32)
        )
        past = History(cube, Fleet.from_frames(links=cables, **records), _hours(hours))
        shape = (2 * links, hours)
        own = np.zeros((*shape, len(pipeline.own_names)), np.float32)
        return Block(cube, past, own, np.ones(shape, np.float32), pipeline)

    return make


def _hours(count: int) -> list[datetime]:
    return [BEGIN + timedelta(hours=i) for i in range(count)]


@pytest.fixture(name="make_events", scope="session")
def _make_events() -> MakeFrame:
    """Events as `failure_events` gives them: link, hours after `begin` of the failure, verdict."""

    def make(*events: tuple[str, float, str]) -> pl.DataFrame:
        rows = [
            {
                "event_id": f"T{i}",
                "link_id": link,
                "failed_at": BEGIN + timedelta(hours=hours),
                "opened_at": BEGIN + timedelta(hours=hours + 1),
                "verdict": verdict,
                "weight": {"counted": 1.0, "rescued": 0.5}.get(verdict, 0.0),
            }
            for i, (link, hours, verdict) in enumerate(events)
        ]
        return pl.DataFrame(rows, schema=EVENT_SCHEMA)

    return make


@pytest.fixture(name="make_censored", scope="session")
def _make_censored() -> MakeFrame:
    """Times in which nothing counts: link, from and to in hours after `begin` (None: not over), reason."""

    def make(*spans: tuple[str, float, float | None, str]) -> pl.DataFrame:
        rows = [
            (
                link,
                BEGIN + timedelta(hours=start),
                None if end is None else BEGIN + timedelta(hours=end),
                reason,
            )
            for link, start, end, reason in spans
        ]
        time = pl.Datetime("us", "UTC")
        schema = pl.Schema({"link_id": pl.String(), "start": time, "end": time, "reason": pl.String()})
        return pl.DataFrame(rows, schema=schema, orient="row")

    return make
