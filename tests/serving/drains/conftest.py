"""A small Clos: two servers on each of four leaves, two spines with two parallel links from each leaf, one core."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from features.fleet import Fleet
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES, PORT_SAMPLES
from serving.alarms import AlarmRecord
from serving.drains.advice import Mode
from serving.drains.config import DrainConfig
from serving.drains.desk import Desk, Known
from serving.drains.fabric import Fabric
from serving.drains.observed import Observed
from serving.drains.sight import Sight
from serving.drains.store import DrainStore
from serving.snapshot import ScoreTable, Snapshot, by_end
from serving.store import AlarmStore

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
LEAVES = ("leaf01", "leaf02", "leaf03", "leaf04")
SPINES = ("spine01", "spine02")


def link_rows() -> list[dict[str, object]]:
    """Leaf Ethernet1 and 2 to spine01, 3 and 4 to spine02, 11 and 12 to servers; spine Ethernet9 to the core."""
    rows = []
    for number, leaf in enumerate(LEAVES):
        for port in range(4):
            spine, far = SPINES[port // 2], f"Ethernet{2 * number + port % 2 + 1}"
            rows.append(_row(leaf, f"Ethernet{port + 1}", spine, far, [f"trunk-{leaf}"] if port == 0 else []))
        rows += [_row(leaf, f"Ethernet{11 + k}", f"gpu{number}{k}", "eth0") for k in range(2)]
    rows += [_row(spine, "Ethernet9", "core01", f"Ethernet{n + 1}", ["trunk-core"]) for n, spine in enumerate(SPINES)]
    return rows


def _row(a: str, a_port: str, z: str, z_port: str, risks: Iterable[str] = ()) -> dict[str, object]:
    ends = {"a_device": a, "a_interface": a_port, "z_device": z, "z_interface": z_port}
    return {**ends, "a_site": "default", "z_site": "default", "shared_risk": list(risks), "source": "file"}


@pytest.fixture(name="fleet", scope="session")
def _fleet() -> Fleet:
    servers = [f"gpu{number}{k}" for number in range(len(LEAVES)) for k in range(2)]
    modules = pl.DataFrame([{"device": name, "interface": "eth0", "serial": name, "role": "nic"} for name in servers])
    return Fleet.from_frames(links=pl.DataFrame(link_rows()), modules=modules)


@pytest.fixture(name="fabric", scope="session")
def _fabric(fleet: Fleet) -> Fabric:
    return Fabric.of(fleet)


@pytest.fixture(name="fleet_without_servers", scope="session")
def _fleet_without_servers() -> Fabric:
    """Nobody says which devices are servers."""
    return Fabric.of(Fleet.from_frames(links=pl.DataFrame(link_rows())))


@pytest.fixture(name="name_of", scope="session")
def _name_of(fabric: Fabric) -> Callable[[str], str]:
    """link_id of the link at ``leaf01 Ethernet1``."""

    def name(place: str) -> str:
        device, interface = place.split()
        return fabric.at_port["default", device, interface][0]

    return name


@pytest.fixture(name="wire", scope="session")
def _wire(fleet: Fleet, fabric: Fabric) -> Callable[[Lake, datetime], None]:
    """Puts the fabric into a lake, every port up at a time."""
    ports = pl.DataFrame(sorted(fabric.at_port), schema=["site", "device", "interface"], orient="row")

    def wire(lake: Lake, at: datetime) -> None:
        for table, rows in ((LINKS, fleet.links), (MODULES, fleet.modules)):
            lake.append(table, rows.with_columns(received_at=pl.lit(at)))
        facts = {"time": at, "received_at": at, "quality": 0, "source": "snmp", "oper_up": True, "admin_up": True}
        lake.append(PORT_SAMPLES, ports.with_columns(pl.lit(value).alias(name) for name, value in facts.items()))

    return wire


@pytest.fixture(name="seen", scope="session")
def _seen(fabric: Fabric) -> Callable[..., Observed]:
    """All links up at a time, but for some: ``seen(down=[…], unseen=[…])``."""

    def make(at: datetime = NOW, down: Iterable[str] = (), unseen: Iterable[str] = ()) -> Observed:
        out, hidden = dict.fromkeys(down, "seen down"), frozenset(unseen)
        return Observed(at, out, hidden, {name: at for name in fabric.links if name not in {*out, *hidden}})

    return make


@pytest.fixture(name="make_known", scope="session")
def _make_known(fabric: Fabric, seen: Callable[..., Observed]) -> Callable[..., Known]:
    """What is known with these scores and alarms: ``make_known(scores, [alarm], observed=…)``."""

    def make(scores: pl.DataFrame, alarms: Iterable[AlarmRecord] = (), observed: Observed | None = None) -> Known:
        by_id = {alarm.alarm_id: alarm for alarm in alarms}
        snapshot = Snapshot((1, 1), None, ScoreTable.of(scores), by_end(by_id.values()), by_id, frozenset())
        return Known(snapshot, Sight(fabric, observed or seen()))

    return make


@pytest.fixture(name="config", scope="session")
def _config() -> DrainConfig:
    return DrainConfig.model_validate({"guard": {"least_path_share": 0.5, "most_per_device": 10}})


@pytest.fixture(name="desk")
def _desk(store: AlarmStore, config: DrainConfig, clock: Callable[[], datetime]) -> Desk:
    """A desk on each database; fabric links are active."""
    assert store.revision() is not None
    desk = Desk(DrainStore(store.engine, clock=clock), config)
    with desk.store.writing() as writing:
        writing.switch("fabric", Mode.ACTIVE, "ann", "shadow went well")
    return desk


@pytest.fixture(name="act_on")
def _act_on(fabric: Fabric, make_alarm: Callable[..., AlarmRecord]) -> Callable[..., AlarmRecord]:
    """An alarm of level act on a link: ``act_on("leaf01 Ethernet1")``."""

    def make(place: str, **changes: object) -> AlarmRecord:
        device, interface = place.split()
        link = fabric.links[fabric.at_port["default", device, interface][0]]
        (_, peer, far) = next(end for end in link.ends if end != ("default", device, interface))
        told: dict[str, object] = {
            "alarm_id": f"alarm-{device}-{interface}",
            "link_id": link.link_id,
            "device": device,
            "interface": interface,
            "peer_device": peer,
            "peer_interface": far,
            "level": "act",
            "risk_24h": 0.7,
            "expected_from": NOW + timedelta(hours=6),
            "expected_to": NOW + timedelta(hours=30),
        }
        return make_alarm(**told | changes)

    return make


@pytest.fixture(name="scores_at")
def _scores_at(make_score: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    """Scores of ports: ``scores_at("leaf01 Ethernet1", risk_24h=0.7)``."""

    def make(*places: str, **changes: object) -> pl.DataFrame:
        rows = []
        for place in places:
            device, interface = place.split()
            rows.append(make_score(interface, device=device, **changes))
        return pl.concat(rows, how="diagonal_relaxed")

    return make
