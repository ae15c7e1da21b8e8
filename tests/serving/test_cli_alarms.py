"""``forelight alarms`` on a store of its own."""

import csv
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ingest.errors import ForelightError
from serving.alarm_csv import CSV_COLUMNS
from serving.alarms import AlarmRecord, ScoreRun
from serving.cli.app import app
from serving.settings import Settings
from serving.store import AlarmStore
from serving.storms import HeldBack

MakeAlarm = Callable[..., AlarmRecord]
MakeRun = Callable[..., ScoreRun]
Forelight = Callable[..., Result]


@pytest.fixture(name="home")
def _home(settings: Settings) -> Iterator[AlarmStore]:
    """The store that the commands will open."""
    with AlarmStore(settings.database_url) as store:
        yield store


@pytest.fixture(name="forelight")
def _forelight(settings: Settings) -> Forelight:
    def run(*arguments: str) -> Result:
        env = {"FORELIGHT_HOME": str(settings.home), "COLUMNS": "200"}
        return CliRunner(env=env).invoke(app, ["alarms", *arguments])

    return run


@pytest.fixture(name="raised")
def _raised(home: AlarmStore, make_run: MakeRun, make_alarm: MakeAlarm) -> None:
    """Two alarms of a run just now."""
    home.apply(make_run(datetime.now(UTC)), [make_alarm(1), make_alarm(2, device="leaf02", level="watch")])


def test_the_list_shows_alarms_the_newest_first(raised: None, forelight: Forelight) -> None:
    result = forelight("list")

    assert 0 == result.exit_code
    assert result.stdout.index("alarm-001") < result.stdout.index("alarm-002")
    assert "" == result.stderr


def test_the_list_for_machines_names_its_run(raised: None, forelight: Forelight) -> None:
    answer = json.loads(forelight("list", "--device", "leaf02", "--json").stdout)

    assert "3" == answer["model_version"]
    assert not answer["stale"]
    assert ["alarm-002"] == [alarm["alarm_id"] for alarm in answer["alarms"]]
    assert 0.5 == answer["alarms"][0]["risk_24h"]
    assert answer["alarms"][0]["cleared_at"] is None


def test_stale_scores_are_said_beside_the_list(
    home: AlarmStore, make_run: MakeRun, now: datetime, forelight: Forelight
) -> None:
    home.apply(make_run(now.replace(year=2020)))

    result = forelight("list", "--json")

    assert json.loads(result.stdout)["stale"]
    assert "not an all-clear" in result.stderr


def test_no_scores_are_an_error_not_an_empty_list(home: AlarmStore, forelight: Forelight) -> None:
    result = forelight("list")

    assert isinstance(result.exception, ForelightError)
    assert "no run was applied yet" in str(result.exception)
    assert "" == result.stdout


def test_a_status_that_does_not_exist_is_a_usage_error(raised: None, forelight: Forelight) -> None:
    assert 2 == forelight("list", "--status", "gone").exit_code


def test_acknowledging_and_clearing_are_kept_with_name_and_reason(raised: None, forelight: Forelight) -> None:
    forelight("ack", "alarm-001", "--reason", "looking")
    forelight("clear", "alarm-001", "--reason", "cleaned")

    shown = json.loads(forelight("show", "alarm-001", "--json").stdout)
    assert "cleared" == shown["alarm"]["status"]
    assert ["bias 38 % above its baseline", "looking", "cleaned"] == [event["why"] for event in shown["events"]]
    assert shown["events"][1]["who"].startswith("cli:")
    assert ["alarm-002"] == [
        alarm["alarm_id"] for alarm in json.loads(forelight("list", "--status", "open", "--json").stdout)["alarms"]
    ]


def test_an_alarm_is_shown_with_its_life(raised: None, forelight: Forelight) -> None:
    shown = forelight("show", "alarm-002").stdout

    assert "leaf02" in shown
    assert "open by forelight 3: bias 38 % above its baseline" in shown


@pytest.mark.parametrize("arguments", [("show", "x"), ("ack", "x"), ("clear", "x")])
def test_an_unknown_alarm_is_one_clear_line(home: AlarmStore, forelight: Forelight, arguments: tuple[str, ...]) -> None:
    assert "there is no alarm 'x'" == str(forelight(*arguments).exception)


def test_the_export_is_the_csv_that_evaluate_takes(raised: None, forelight: Forelight, tmp_path: Path) -> None:
    out = tmp_path / "alarms.csv"
    out.write_text("old")

    forelight("export", str(out))

    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(CSV_COLUMNS) == list(rows[0])
    assert ["alarm-001", "alarm-002"] == [row["alarm_id"] for row in rows]
    assert "2026-11-29T11:00:00+00:00" == rows[0]["raised_at"]
    assert [out] == [path for path in tmp_path.iterdir() if "csv" in path.name]


def test_an_export_that_cannot_be_written_is_one_clear_line(raised: None, forelight: Forelight, tmp_path: Path) -> None:
    result = forelight("export", str(tmp_path / "missing" / "alarms.csv"))

    assert "alarms.csv cannot be written: No such file or directory" in str(result.exception)


def test_what_a_storm_held_back_is_listed(
    home: AlarmStore, make_run: MakeRun, held_back: Callable[[int], list[HeldBack]], forelight: Forelight
) -> None:
    home.apply(make_run(), held_back=held_back(3))

    told = json.loads(forelight("storms", "--json", "--limit", "2").stdout)
    assert True is told["more"]
    assert ["Ethernet3", "Ethernet2"] == [one["interface"] for one in told["held_back"]]
    assert "3 new alarms at once on leaf01" in forelight("storms", "--device", "spine01").stdout
    assert [] == json.loads(forelight("storms", "--json", "--since", "2026-11-30T00:00:00Z").stdout)["held_back"]
