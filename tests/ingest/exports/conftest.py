"""A small export that tests write as they need it, and an empty lake for it."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

import polars as pl
import pytest

from ingest.exports import ImportReport
from ingest.lake import Lake
from ingest.quarantine import Finding, Kind

T0 = datetime(2026, 3, 1, tzinfo=UTC)


class Export:
    """A directory in the form of an operator's export."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "telemetry").mkdir(parents=True)

    @classmethod
    def at(cls, root: Path) -> Self:
        """Another one."""
        return cls(root)

    @staticmethod
    def lane_rows(
        polls: int = 3, ports: Iterable[str] = ("Ethernet0", "Ethernet8"), lanes: int = 4, device: str = "leaf01"
    ) -> pl.DataFrame:
        """Lane rows with the port's columns repeated; every lane has a BER of its own."""
        return pl.DataFrame(
            [
                {
                    "time": T0 + timedelta(minutes=15 * poll),
                    "device": device,
                    "interface": port,
                    "serial": f"SN-{port}",
                    "lane": lane,
                    "tx_power_dbm": 0.5,
                    "rx_power_dbm": -2.0 - lane / 4,
                    "tx_bias_ma": 7.0,
                    "pre_fec_ber": 1e-8 * lane,
                    "temperature_c": 45.0,
                    "fec_corrected": 1000 * poll,
                    "oper_up": True,
                }
                for poll in range(polls)
                for port in ports
                for lane in range(1, lanes + 1)
            ],
            schema_overrides={"lane": pl.Int8},
        )

    def parquet(self, rows: pl.DataFrame, name: str = "part-0.parquet") -> Path:
        rows.write_parquet(self.root / "telemetry" / name)
        return self.root / "telemetry" / name

    def csv(self, rows: pl.DataFrame, name: str = "part-0.csv", time_format: str = "%Y-%m-%d %H:%M:%S%:z") -> Path:
        rows.with_columns(pl.col("time").dt.strftime(time_format)).write_csv(self.root / "telemetry" / name)
        return self.root / "telemetry" / name

    def file(self, name: str, *lines: str) -> None:
        (self.root / name).write_text("\n".join(lines) + "\n")

    def good(self, **columns: pl.Expr) -> pl.DataFrame:
        """A good file: three polls of a port with two lanes."""
        rows = pl.DataFrame(
            {
                "time": [T0 + timedelta(hours=i // 2) for i in range(6)],
                "device": "leaf01",
                "interface": "Ethernet0",
                "lane": [1, 2] * 3,
                "rx_power_dbm": -2.0,
            }
        ).with_columns(**columns)
        self.parquet(rows, "good.parquet")
        return rows

    @staticmethod
    def only(report: ImportReport, kind: Kind) -> Finding:
        """The one finding of a kind."""
        findings = [finding for finding in report.findings if finding.kind is kind]
        assert 1 == len(findings), report.findings
        return findings[0]

    @staticmethod
    def quarantined(report: ImportReport) -> list[dict[str, object]]:
        """Lines of the quarantine."""
        assert report.quarantine is not None
        return [json.loads(line) for line in report.quarantine.read_text().splitlines()]


@pytest.fixture(name="export")
def _export(tmp_path: Path) -> Export:
    """Without telemetry yet."""
    return Export(tmp_path / "export")


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "home" / "lake"))


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``FORELIGHT_HOME`` with `lake` in it."""
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FORELIGHT_LAKE_URI", raising=False)
    return tmp_path / "home"
