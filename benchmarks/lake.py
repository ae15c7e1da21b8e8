"""Size of the compacted lake, and one link's week out of a year; ``make bench`` runs it.

Size: a fleet of `data_samples` at 5 minutes, imported and compacted. A value is a reading that is not null: powers,
bias, BER, temperature, voltage, counters; states and flags are not counted, nor are keys and times, whose bytes are.
The peer is pyarrow's ``write_table`` with its defaults on the same rows as they were collected, time by time.

Lookup: a table of 2,000 ports with four lanes, a day of each at 5 minutes, 365 days deep. All days but the last week
are links to one file of theirs, for nobody opens them. The peer is polars on one sorted file of that week.

    --ports N   ports of the lookup's lake (2000)
    --links N   links of the fleet (100)
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable

from data_samples import FleetConfig, generate
from ingest.exports import import_export
from ingest.lake import Lake
from ingest.lake.delta import canonical
from ingest.lake.files import SortedFile, add
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

START = datetime(2026, 3, 1, tzinfo=UTC)
BAR_BYTES, BAR_MS = 2.5, 100.0
LANES, STEP_MIN, DAYS = 4, 5, 365
PORTS_PER_DEVICE = 32
WEEK = 8  # days that a week touches, and one more
REPEATS = 15
NO_READINGS = {
    *("time", "received_at", "site", "device", "interface", "lane", "serial", "quality", "source", "sub_interface"),
    *("oper_up", "admin_up", "rx_los", "tx_fault", "cdr_lol", "fec_bins"),
}


def bench_size(folder: Path, links: int) -> None:
    """Bytes for a value, compacted and as pyarrow would have it."""
    generate(folder / "export", FleetConfig(links=links, days=7, interval_minutes=STEP_MIN, start=START))
    lake, lease = Lake(str(folder / "lake")), FileLease(folder / "lock")
    import_export(folder / "export", lake)
    ours = peers = values = 0
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        rows = lake.scan(table).collect()
        lake.compact(table, lease=lease, before=date(2027, 1, 1))
        size = next(entry.size_bytes for entry in lake.stats() if entry.name == table.name)
        count = sum(rows.height - rows[name].null_count() for name in rows.columns if name not in NO_READINGS)
        peer = _default_bytes(folder / "peer.parquet", rows.sort("time", *table.key[:-1]))
        print(f"{table.name:14s} {size / count:5.2f} bytes/value   pyarrow defaults {peer / count:5.2f}")
        ours, peers, values = ours + size, peers + peer, values + count
    print(
        f"lake, compacted: {ours / values:.2f} bytes/value (bar {BAR_BYTES}), "
        f"{peers / values:.2f} with pyarrow's defaults: {peers / ours:.2f} times less"
    )


def _default_bytes(path: Path, rows: pl.DataFrame) -> int:
    pq.write_table(rows.to_arrow(compat_level=pl.CompatLevel.oldest()), path)
    return path.stat().st_size


def day_of(day: date, ports: int) -> pl.DataFrame:
    """One day of all ports, in the lake's order."""
    chance = np.random.default_rng(day.toordinal())
    steps = 24 * 60 // STEP_MIN
    port = np.repeat(np.arange(ports), LANES * steps)
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    names = pl.DataFrame({"port": np.arange(ports)}).select(
        "port",
        device=pl.format("leaf{}", (pl.col("port") // PORTS_PER_DEVICE).cast(pl.String).str.zfill(4)),
        interface=pl.format("Ethernet{}", (pl.col("port") % PORTS_PER_DEVICE).cast(pl.String).str.zfill(2)),
        serial=pl.format("S{}", "port"),
    )
    noise = [np.round(chance.normal(at, by, port.size), 2) for at, by in ((1.0, 0.05), (-2.0, 0.1), (60.0, 1.0))]
    rows = pl.DataFrame(
        {
            "port": port,
            "time": np.tile(np.arange(steps), ports * LANES),
            "lane": np.tile(np.repeat(np.arange(1, LANES + 1), steps), ports),
            "tx_power_dbm": noise[0],
            "rx_power_dbm": noise[1],
            "tx_bias_ma": noise[2],
        }
    ).with_columns(time=pl.lit(midnight) + pl.duration(minutes=pl.col("time") * STEP_MIN))
    rows = rows.join(names, on="port", how="left", maintain_order="left").drop("port")
    constant = {"site": pl.lit("default"), "quality": pl.lit(0), "source": pl.lit("snmp")}
    return rows.with_columns(received_at="time", **constant)


def year(lake: Lake, ports: int) -> pl.DataFrame:
    """A table as a year of collecting and compacting leaves it; rows of its last week."""
    lake.create([LANE_SAMPLES])
    handle = DeltaTable(f"{lake.uri}/{LANE_SAMPLES.name}")
    root, files, week = Path(lake.uri, LANE_SAMPLES.name), [], []
    last = (START + timedelta(days=DAYS - 1)).date()
    for back in range(DAYS):
        day = last - timedelta(days=back)
        file = SortedFile(handle, LANE_SAMPLES, (day, None), back)
        if back <= WEEK:
            rows = day_of(day, ports)
            week.append(rows)
            with file:
                file.write(canonical(LANE_SAMPLES, rows).select(LANE_SAMPLES.schema.names))
            made = root / file.path
        else:
            (root / file.path).parent.mkdir()
            (root / file.path).hardlink_to(made)
        files.append(file)
    add(handle, files, CommitProperties())
    return pl.concat(week)


def bench_lookup(folder: Path, ports: int) -> None:
    """One link's week: two ports on two devices, all lanes."""
    lake = Lake(str(folder / "year"))
    rows = year(lake, ports)
    until = rows["time"].max()
    assert isinstance(until, datetime)
    since = until - timedelta(days=7)
    ends = [("default", "leaf0003", "Ethernet07"), ("default", f"leaf{ports // PORTS_PER_DEVICE - 3:04}", "Ethernet21")]
    wanted = pl.any_horizontal((pl.col("device") == d) & (pl.col("interface") == i) for _, d, i in ends)

    def ours() -> int:
        found = lake.latest(LANE_SAMPLES, since=since, until=until, devices=[end[:2] for end in ends])
        return found.filter(wanted).collect().height

    peer_file = folder / "week.parquet"
    rows.sort(LANE_SAMPLES.key).write_parquet(peer_file, compression="zstd", row_group_size=131_072)
    window = (pl.col("time") >= since) & (pl.col("time") < until)

    def peer() -> int:
        return pl.scan_parquet(peer_file).filter(wanted & window).collect().height

    assert 2 * LANES * 7 * 24 * 60 // STEP_MIN == ours() == peer()
    lake_ms, peer_ms = median_ms(ours), median_ms(peer)
    size = lake.stats()[0]
    print(f"{ports} ports, {size.files} days, {size.rows / 1e6:.0f} M rows")
    print(
        f"one link's week: {lake_ms:.0f} ms (bar {BAR_MS:.0f}), "
        f"{peer_ms:.0f} ms with polars on one file of that week: {lake_ms / peer_ms:.1f} times"
    )


def median_ms(work: Callable[[], object]) -> float:
    """Wall time: a reader waits."""
    spent = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return float(np.median(spent)) * 1e3


def main() -> None:
    """Both, in a folder of their own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ports", type=int, default=2_000)
    parser.add_argument("--links", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench_size(Path(folder), options.links)
        bench_lookup(Path(folder), options.ports)


if __name__ == "__main__":
    main()
