"""``forelight evaluate`` on an export small enough to judge by hand."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from ingest.errors import ExportError, LakeError
from ingest.exports import import_export
from ingest.lake import Lake
from serving.cli.app import app

START = datetime(2026, 3, 1, tzinfo=UTC)
FAILED = START + timedelta(days=10)
HOUR = timedelta(hours=1)


@pytest.fixture(name="export")
def _export(tmp_path: Path) -> Path:
    """Two links polled hourly at their leaf ends for 14 days; the first goes down on the tenth, for twelve hours."""
    folder = tmp_path / "export"
    (folder / "telemetry").mkdir(parents=True)
    ports = ["Ethernet0", "Ethernet8"]
    pl.DataFrame({"device": ["leaf01"] * 2, "interface": ports, "serial": ["A", "B"]}).write_csv(
        folder / "inventory.csv"
    )
    links = {
        "a_device": ["leaf01"] * 2,
        "a_interface": ports,
        "z_device": ["gpu01", "gpu02"],
        "z_interface": ["eth0"] * 2,
    }
    pl.DataFrame(links).write_csv(folder / "links.csv")
    (folder / "tickets.csv").write_text(
        "ticket_id,device,interface,serial,opened_at,closed_at,failure_type,action\n"
        "T1,gpu01,eth0,,2026-03-11T06:00:00Z,2026-03-11T12:00:00Z,contamination,clean_connector\n"
    )
    times = pl.DataFrame({"time": [START + i * HOUR for i in range(14 * 24)]})
    down = (pl.col("interface") == "Ethernet0") & pl.col("time").is_between(FAILED, FAILED + 12 * HOUR)
    columns = {"device": "leaf01", "lane": 1, "rx_power_dbm": -2.0, "tx_power_dbm": -1.0, "tx_bias_ma": 50.0}
    telemetry = times.join(pl.DataFrame({"interface": ports}), how="cross").with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()), oper_up=~down, admin_up=pl.lit(value=True)
    )
    telemetry.write_parquet(folder / "telemetry" / "part-0.parquet")
    return folder


@pytest.fixture(name="alarms")
def _alarms(tmp_path: Path) -> Path:
    path = tmp_path / "alarms.csv"
    path.write_text(
        "device,interface,raised_at\n"
        "leaf01,Ethernet0,2026-03-09T00:00:00Z\n"  # two days before the failure
        "leaf01,Ethernet8,2026-03-05T00:00:00Z\n"  # false
    )
    return path


def test_an_export_is_judged_by_the_outage_at_the_end_that_has_telemetry(export: Path, alarms: Path) -> None:
    """The ticket names the server's end and is six hours late; the leaf's end shows when it failed."""
    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export), "--json"])

    card = json.loads(result.stdout)
    assert (1, 1, 2) == (card["failures"], card["false_alarms"], card["alarms"])
    assert {"1h": 1, "6h": 1, "24h": 1} == {lead: score["caught"] for lead, score in card["leads"].items()}
    assert [48.0] == card["lead_times_h"]
    assert 0 == card["baseline"]["alarms"]


def test_the_lake_is_judged_where_no_export_is_named(
    export: Path, alarms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path / "home"))
    import_export(export, Lake(str(tmp_path / "home" / "lake")))

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms)])

    assert 0 == result.exit_code
    assert "F1 at 24 h" in result.stdout
    assert "module limits" in result.stdout


def test_the_period_can_be_narrowed(export: Path, alarms: Path) -> None:
    period = ["--from", "2026-03-06T00:00:00Z", "--to", "2026-03-12T00:00:00Z"]

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export), "--json", *period])

    card = json.loads(result.stdout)
    assert (1, 1, 1) == (card["failures"], card["false_alarms"], card["alarms"])  # the false one stands since before


def test_an_empty_lake_says_what_to_do(alarms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORELIGHT_HOME", str(tmp_path / "nothing"))

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms)])

    assert isinstance(result.exception, LakeError)
    assert "import an export first" in str(result.exception)


def test_a_naive_time_names_file_and_line(alarms: Path, export: Path) -> None:
    alarms.write_text("device,interface,raised_at\nleaf01,Ethernet0,2026-03-09T00:00:00\n")

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export)])

    assert isinstance(result.exception, ExportError)
    assert "alarms.csv: line 2" in str(result.exception)


def test_a_period_that_ends_before_it_begins_is_an_error(alarms: Path, export: Path) -> None:
    period = ["--from", "2026-03-12T00:00:00Z", "--to", "2026-03-06T00:00:00Z"]

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export), *period])

    assert "is not before" in str(result.exception)


def test_ports_that_nobody_knows_are_named(alarms: Path, export: Path) -> None:
    alarms.write_text("device,interface,raised_at\nLeaf01,Ethernet0,2026-03-09T00:00:00Z\n")

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export), "--json"])

    assert ["default/Leaf01:Ethernet0"] == json.loads(result.stdout)["unknown_ports"]
    assert "no such port in links or inventory" in result.stderr


def test_alarms_that_say_a_risk_are_judged_at_budgets_too(alarms: Path, export: Path) -> None:
    """Above 0.5 only the right alarm is left: whatever the budget, one failure of one is caught."""
    alarms.write_text(
        "device,interface,raised_at,risk\n"
        "leaf01,Ethernet0,2026-03-09T00:00:00Z,0.9\n"
        "leaf01,Ethernet8,2026-03-05T00:00:00Z,0.4\n"
    )

    result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export), "--json"])

    points = json.loads(result.stdout)["at_budgets"]
    assert [0.1, 0.5, 1.0, 2.0, 5.0] == [point["budget"] for point in points]
    assert {1.0} == {point["f1"]["24"] for point in points}


def test_a_period_beyond_telemetry_lowers_no_rate_and_is_told(export: Path, alarms: Path) -> None:
    asked = ["evaluate", "--alarms", str(alarms), "--data", str(export), "--json"]
    plain = json.loads(CliRunner().invoke(app, [*asked, "--to", "2026-03-15Z"]).stdout)
    result = CliRunner().invoke(app, [*asked, "--to", "2036-03-15Z"])

    long = json.loads(result.stdout)
    for card, other in ((plain, long), (plain["baseline"], long["baseline"])):
        assert card["false_per_1000_module_weeks"] == other["false_per_1000_module_weeks"]
    assert "telemetry of 14 of 3,667 days" in " ".join(result.stderr.split())


class TestTricks:
    """Files that would look good before a careless judge; the failure is on Ethernet0, on the tenth day."""

    def _judged(self, export: Path, alarms: Path, rows: list[str], *more: str) -> dict[str, Any]:
        alarms.write_text("\n".join(["device,interface,raised_at,cleared_at", *rows]) + "\n")
        result = CliRunner().invoke(app, ["evaluate", "--alarms", str(alarms), "--data", str(export), "--json", *more])
        assert 0 == result.exit_code, result.output
        return dict(json.loads(result.stdout))

    def test_alarms_on_every_link_that_are_over_as_the_period_begins(self, export: Path, alarms: Path) -> None:
        rows = [f"leaf01,Ethernet{i},2026-03-08T23:00:00Z,2026-03-09T00:00:00Z" for i in (0, 8)]

        card = self._judged(export, alarms, rows, "--from", "2026-03-09Z")

        assert (1, 0, 0) == (card["failures"], card["leads"]["24h"]["caught"], card["false_alarms"])

    def test_an_alarm_every_hour_on_every_link(self, export: Path, alarms: Path) -> None:
        """On the healthy link false on each of 14 days; on the other on the first three, and on the last two, from
        two days after its repair on."""
        hours = [START + i * HOUR for i in range(14 * 24 - 1)]
        rows = [f"leaf01,Ethernet{i},{at.isoformat()},{at.isoformat()}" for i in (0, 8) for at in hours]

        card = self._judged(export, alarms, rows)

        assert (1, 14 + 5) == (card["leads"]["24h"]["caught"], card["false_alarms"])

    def test_the_failure_ticketed_five_times_at_both_ends(self, export: Path, alarms: Path) -> None:
        ports = ["leaf01,Ethernet0", "gpu01,eth0"]
        with (export / "tickets.csv").open("a") as file:
            for k in range(4):
                file.write(f"C{k},{ports[k % 2]},,2026-03-11T0{7 + k % 2}:00:00Z,2026-03-11T12:00:00Z,other,reseat\n")

        card = self._judged(export, alarms, ["leaf01,Ethernet0,2026-03-09T00:00:00Z,"])

        assert (1, 1, {"duplicate": 4}) == (card["failures"], card["leads"]["24h"]["caught"], card["uncounted"])

    def test_times_in_another_zone_are_the_same_instants(self, export: Path, alarms: Path) -> None:
        """Written as local time with its zone: 23 hours before the failure is not a day, whatever the clock says."""
        card = self._judged(export, alarms, ["leaf01,Ethernet0,2026-03-10T11:00:00+10:00,"])

        assert (1, 0) == (card["leads"]["6h"]["caught"], card["leads"]["24h"]["caught"])

    def test_an_alarm_that_is_cleared_before_it_is_raised_is_refused(self, export: Path, alarms: Path) -> None:
        alarms.write_text(
            "device,interface,raised_at,cleared_at\nleaf01,Ethernet0,2026-03-09T00:00:00Z,2026-03-08T00:00:00Z\n"
        )
        asked = ["evaluate", "--alarms", str(alarms), "--data", str(export)]

        with pytest.raises(ExportError, match="line 2: cleared_at 2026-03-08T00:00:00Z is before raised_at"):
            CliRunner().invoke(app, asked, catch_exceptions=False)
