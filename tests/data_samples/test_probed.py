"""The probed fabric: what is said to happen is what its tables show."""

from datetime import UTC, datetime

import polars as pl
import pytest

from data_samples.probed import SERVERS, ProbedFabric
from ingest.schema import LANE_SAMPLES, LINKS, MODULES, PROBES

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _tables(**changes: object) -> dict[str, pl.DataFrame]:
    fabric = ProbedFabric(NOW, **changes)  # type: ignore[arg-type]  # of its fields
    return {table.name: pl.DataFrame(rows) for table, rows in fabric.tables()}


def _share(probes: pl.DataFrame, lost: str) -> float:
    """Of the packets that were sent."""
    return float(probes.select(pl.col(lost).sum() / pl.col("sent").sum()).item())


def test_the_same_fabric_is_the_same_rows() -> None:
    one, two = _tables(lossy={"gpu3:eth0 → leaf1:h1": 0.1}), _tables(lossy={"gpu3:eth0 → leaf1:h1": 0.1})

    assert {LINKS.name, MODULES.name, PROBES.name} == set(one)
    assert all(one[name].equals(two[name]) for name in one)


def test_a_lossy_direction_loses_what_is_sent_that_way() -> None:
    """Ten per cent of all that gpu3 sends, a fifty-thousandth a link of everything else."""
    probes = _tables(lossy={"gpu3:eth0 → leaf1:h1": 0.1})[PROBES.name]
    ours = probes.filter(source_device="gpu3")

    assert _share(ours, "forward_lost") == pytest.approx(0.1, rel=0.05)
    assert _share(ours, "reverse_lost") < 0.001
    assert (probes["lost"] == probes["forward_lost"] + probes["reverse_lost"]).all()


def test_a_spine_s_link_loses_half_of_its_loss_of_what_may_take_either_spine() -> None:
    probes = _tables(lossy={"spine1:d1 → leaf1:u1": 0.1})[PROBES.name]
    towards = probes.filter(
        pl.col("target_device").is_in(["gpu2", "gpu3"]), ~pl.col("source_device").is_in(["gpu2", "gpu3"])
    )
    beside = probes.filter(source_device="gpu2", target_device="gpu3")

    assert _share(towards, "forward_lost") == pytest.approx(0.05, rel=0.1)
    assert _share(beside, "forward_lost") < 0.001


def test_a_server_that_is_down_sends_and_answers_nothing() -> None:
    probes = _tables(down=["gpu5"])[PROBES.name]

    assert len(SERVERS) - 1 == probes["source_device"].n_unique()
    assert (1.0, None) == tuple(
        probes.filter(target_device="gpu5")
        .select(pl.col("lost").sum() / pl.col("sent").sum(), pl.col("forward_lost").max())
        .row(0)
    )


def test_less_light_is_read_at_the_receiver_alone_and_in_the_last_hour() -> None:
    rows = _tables(dim_db={("leaf1", "h1"): 5.0})[LANE_SAMPLES.name]
    newest = rows.filter(pl.col("time") > NOW.replace(hour=11))

    assert {("leaf1", "h1"): -7.0, ("gpu3", "eth0"): -2.0} == {
        (device, interface): rx
        for device, interface, rx in newest.select("device", "interface", "rx_power_dbm").iter_rows()
    }
    assert {-2.0} == set(rows.filter(pl.col("time") <= NOW.replace(hour=11))["rx_power_dbm"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lossy": {"leaf1:h1 → leaf2:h1": 0.1}}, "no directed link leaf1:h1"),
        ({"down": ["gpu99"]}, "no server gpu99"),
        ({"dim_db": {("leaf1", "h9"): 1.0}}, "no port"),
    ],
)
def test_what_the_fabric_does_not_have_is_an_error(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        _tables(**changes)
