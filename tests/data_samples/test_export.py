"""The export: its form, its faults on purpose, and that a seed makes it again."""

import csv
from datetime import datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from data_samples import FleetConfig, generate
from data_samples.__main__ import main
from ingest.schema import Action, FailureType

SAMPLE = Path(__file__).parents[2] / "data_samples" / "sample"
TABLES = ("inventory", "links", "tickets", "repairs", "maintenance", "truth")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_telemetry_is_in_lane_rows_of_the_canonical_types(fleet: Path) -> None:
    schema = pq.read_schema(fleet / "telemetry" / "part-0000.parquet")

    assert "timestamp[us, tz=UTC]" == str(schema.field("time").type)
    assert ["string"] * 3 == [str(schema.field(name).type) for name in ("device", "interface", "serial")]
    assert ["int8", "float", "double", "int64", "bool"] == [
        str(schema.field(name).type) for name in ("lane", "rx_power_dbm", "pre_fec_ber", "fec_corrected", "oper_up")
    ]


def test_a_key_occurs_once(telemetry: pl.DataFrame) -> None:
    assert not telemetry.select("device", "interface", "lane", "time").is_duplicated().any()


def test_silent_ends_have_no_telemetry_and_the_others_do(fleet: Path, telemetry: pl.DataFrame) -> None:
    links = pl.read_csv(fleet / "links.csv")
    ends = pl.concat(
        links.select(pl.col(f"{side}_device").alias("device"), pl.col(f"{side}_interface").alias("interface"))
        for side in "az"
    )
    silent = ends.join(telemetry.select("device", "interface").unique(), on=["device", "interface"], how="anti")

    assert not silent.is_empty()
    assert silent["device"].str.starts_with("gpu").all()


def test_power_is_never_below_the_floor_nor_infinite(telemetry: pl.DataFrame) -> None:
    powers = telemetry.select("tx_power_dbm", "rx_power_dbm").unpivot()["value"].drop_nulls()

    assert -40.0 == powers.min()
    assert powers.is_finite().all()


def test_copper_has_counters_and_no_dom(fleet: Path, telemetry: pl.DataFrame) -> None:
    copper = pl.read_csv(fleet / "links.csv").filter(pl.col("kind") == "dac")
    rows = telemetry.join(
        copper.select(pl.col("a_device").alias("device"), pl.col("a_interface").alias("interface")),
        on=["device", "interface"],
        how="semi",
    )

    assert not rows.is_empty()
    assert len(rows) == rows["rx_power_dbm"].null_count() == rows["temperature_c"].null_count()
    assert 0 == rows["fec_corrected"].null_count()


def test_ber_is_told_by_lane_by_port_or_not_at_all(telemetry: pl.DataFrame) -> None:
    at = telemetry.filter(pl.col("oper_up")).group_by("device", "interface", "time")
    kinds = at.agg(pl.col("pre_fec_ber").n_unique().alias("values"), pl.col("pre_fec_ber").count().alias("told"))

    assert {"none", "port", "lane"} == set(
        kinds.select(
            pl.when(pl.col("told") == 0).then(pl.lit("none")).when(pl.col("values") == 1).then(pl.lit("port"))
            .otherwise(pl.lit("lane"))
        ).to_series()
    )  # fmt: skip


def test_counters_only_grow_but_for_the_rare_reset(telemetry: pl.DataFrame) -> None:
    steps = telemetry.filter(pl.col("lane") == 1).select(
        (pl.col("fec_corrected").diff() < 0).over("device", "interface", order_by="time").alias("fell")
    )["fell"]

    assert 0 < steps.sum() < 100


def test_modules_of_one_device_are_warm_together(telemetry: pl.DataFrame) -> None:
    leaf = telemetry.filter(pl.col("device") == "leaf000", pl.col("lane") == 1, pl.col("temperature_c").is_not_null())
    wide = leaf.pivot(on="interface", index="time", values="temperature_c").drop("time").drop_nulls()
    first, *others = wide.columns

    assert max(wide.select(pl.corr(first, other)).item() for other in others) > 0.8


def test_gaps_are_of_whole_devices(telemetry: pl.DataFrame) -> None:
    ports = telemetry.select("device", "interface").unique().group_by("device").len("ports")
    seen = telemetry.select("device", "time").unique()
    times = telemetry["time"].n_unique()
    gaps = [times - len(seen.filter(device=device)) for device in ports.filter(pl.col("ports") >= 4)["device"]]

    assert 0 < max(gaps) < times / 4


def test_devices_export_power_in_hundredths_or_tenths(telemetry: pl.DataFrame) -> None:
    power = pl.col("rx_power_dbm").filter(pl.col("rx_power_dbm") > -30.0)
    tenths = telemetry.group_by("device").agg(((power * 10 - (power * 10).round()).abs() < 1e-3).mean().alias("share"))
    shares = tenths["share"].to_list()

    assert 0 < sum(share > 0.999 for share in shares) < len(shares) / 2  # glitches keep their own digits
    assert all(share > 0.999 or share < 0.3 for share in shares)


def test_absurd_single_readings_occur_and_are_rare(telemetry: pl.DataFrame) -> None:
    absurd = telemetry.filter((pl.col("temperature_c").abs() > 120) | (pl.col("tx_bias_ma") > 131.0))

    assert 0 < len(absurd) < 1e-3 * len(telemetry)


def test_a_shut_port_is_dark_at_the_far_end(fleet: Path, telemetry: pl.DataFrame) -> None:
    shut = telemetry.filter(~pl.col("admin_up"), pl.col("tx_power_dbm") == -40.0)
    links = pl.read_csv(fleet / "links.csv")
    far = shut.join(links, left_on=["device", "interface"], right_on=["a_device", "a_interface"]).join(
        telemetry, left_on=["z_device", "z_interface", "lane", "time"], right_on=["device", "interface", "lane", "time"]
    )

    assert not far.is_empty()
    assert [-40.0] == far["rx_power_dbm_right"].drop_nulls().unique().to_list()


def test_every_ticket_names_a_port_of_the_fleet_but_for_the_deliberate_few(fleet: Path) -> None:
    links = _rows(fleet / "links.csv")
    ports = {(row[f"{side}_device"], row[f"{side}_interface"]) for row in links for side in "az"}
    tickets = _rows(fleet / "tickets.csv")
    unknown = [row for row in tickets if (row["device"], row["interface"]) not in ports]

    assert tickets
    assert len(unknown) <= 0.1 * len(tickets)


def test_tickets_speak_the_canonical_words_in_zoned_times(fleet: Path) -> None:
    for row in _rows(fleet / "tickets.csv"):
        assert row["failure_type"] in set(FailureType)
        assert row["action"] in {"", *Action}
        assert datetime.fromisoformat(row["opened_at"]).tzinfo is not None


def test_a_swap_changes_the_serial_in_inventory_and_telemetry_at_the_same_time(
    fleet: Path, telemetry: pl.DataFrame
) -> None:
    swaps = [row for row in _rows(fleet / "inventory.csv") if row["removed_at"]]
    for row in swaps:
        rows = telemetry.filter((pl.col("serial") == row["serial"]) & (pl.col("device") == row["device"]))

        assert rows.filter(pl.col("time") >= datetime.fromisoformat(row["removed_at"])).is_empty()

    assert swaps


def test_a_failed_link_is_down_from_its_failure_to_its_repair(fleet: Path, telemetry: pl.DataFrame) -> None:
    checked = 0
    tickets = {row["ticket_id"]: row for row in _rows(fleet / "tickets.csv")}
    for row in _rows(fleet / "truth.csv"):
        closed = tickets.get(row["ticket_id"], {}).get("closed_at")
        if not row["failed_at"] or not closed:
            continue
        failed, end = datetime.fromisoformat(row["failed_at"]), datetime.fromisoformat(closed)
        rows = telemetry.filter(
            (pl.col("device") == row["device"])
            & (pl.col("interface") == row["interface"])
            & (pl.col("time") >= failed)
            & (pl.col("time") < end)
        )
        checked += len(rows) > 0

        assert not rows["oper_up"].any()

    assert checked > 3


def test_the_same_seed_makes_the_same_fleet(fleet: Path, config: FleetConfig, tmp_path: Path) -> None:
    generate(tmp_path, config)

    for name in TABLES:
        assert (fleet / f"{name}.csv").read_text() == (tmp_path / f"{name}.csv").read_text()
    part = Path("telemetry") / "part-0001.parquet"
    assert pl.read_parquet(fleet / part).equals(pl.read_parquet(tmp_path / part))


def test_the_committed_sample_is_what_its_command_makes(tmp_path: Path) -> None:
    main(["--links", "24", "--days", "12", "--seed", "22", "--failures-per-link-year", "6", "--out", str(tmp_path)])

    for name in TABLES:
        assert (SAMPLE / f"{name}.csv").read_text() == (tmp_path / f"{name}.csv").read_text()
    part = Path("telemetry") / "part-0000.parquet"
    assert pl.read_parquet(SAMPLE / part).equals(pl.read_parquet(tmp_path / part))


def test_the_committed_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) <= 5_000_000


@pytest.mark.parametrize("links", [1, 4])
def test_a_tiny_fleet_can_be_made(tmp_path: Path, links: int) -> None:
    summary = generate(tmp_path, FleetConfig(links=links, days=1))

    assert links == summary.links
    assert summary.rows > 0
