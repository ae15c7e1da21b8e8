"""``forelight backtest`` end to end, and the test that it never reads the future."""

import csv
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from models.alarm import ALARM_COLUMNS
from models.alarm_file import read_alarms

Console = Callable[..., Any]
Row = dict[str, str]

DAYS = timedelta(days=4)


@pytest.fixture(name="span", scope="module")
def _span(train_until: datetime) -> tuple[str, ...]:
    """Arguments: train until a day, walk the four days after it."""
    begin, end = train_until.isoformat(), (train_until + DAYS).isoformat()
    return "--train-until", begin, "--from", begin, "--to", end


@pytest.fixture(name="walked", scope="module")
def _walked(
    console: Console, fleet_lake: Any, span: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Any]:
    """The alarms' file and how the command ended, on the whole export."""
    home = tmp_path_factory.mktemp("whole")
    out = home / "new folder" / "alarms.csv"
    report = home / "report.html"
    ran = console(
        home,
        *("backtest", *span, "--alarms", str(out), "--report", str(report), "--json"),
        FORELIGHT_LAKE_URI=fleet_lake.uri,
    )
    assert 0 == ran.code, ran.err
    return out, ran


class TestAnswer:
    def test_the_alarms_are_a_table_that_the_judge_reads(self, walked: tuple[Path, Any]) -> None:
        out, _ = walked

        assert list(ALARM_COLUMNS) == out.read_text(encoding="utf-8").splitlines()[0].split(",")
        alarms = read_alarms(out)
        assert 1 < alarms.height
        assert {"watch"} == set(alarms["level"])
        assert alarms["raised_at"].is_sorted()

    def test_the_answer_for_machines_has_a_card_of_each_judged(self, walked: tuple[Path, Any]) -> None:
        cards = json.loads(walked[1].out)

        assert {"forelight", "module limits", "module alarm limits", "flap rule", "physics rule"} <= set(cards)
        assert 6 == sum(name.startswith("PDR ") for name in cards)
        assert 0 < cards["forelight"]["failures"]
        assert 1 == len({card["failures"] for card in cards.values()})

    def test_long_steps_are_told_on_the_other_stream(self, walked: tuple[Path, Any]) -> None:
        assert all(step in walked[1].err for step in ("tiles", "training until", "back-test", "judging"))

    def test_a_report_is_written(self, walked: tuple[Path, Any]) -> None:
        assert "<html" in (walked[0].parent.parent / "report.html").read_text(encoding="utf-8").lower()

    def test_people_are_told_a_table_and_where_the_alarms_are(
        self, console: Console, fleet_lake: Any, train_until: datetime, tmp_path: Path
    ) -> None:
        out = tmp_path / "alarms.csv"
        span = ("--from", train_until.isoformat(), "--to", (train_until + timedelta(hours=12)).isoformat())

        ran = console(
            tmp_path, "backtest", *span, "--every", "6h", "--alarms", str(out), FORELIGHT_LAKE_URI=fleet_lake.uri
        )

        assert 0 == ran.code
        assert "level act is unavailable" in ran.out
        assert "The same failures, by whose alarms" in ran.out
        assert "PDR as_documented, manager" in ran.out
        assert f"{read_alarms(out).height} alarms in" in ran.out


class TestErrors:
    """Each is one line on stderr and exit code 1, before any long step."""

    def _fails(self, ran: Any, says: str) -> None:
        assert 1 == ran.code
        assert 1 == len(ran.err.strip().splitlines())
        assert ran.err.startswith("forelight: ")
        assert says in ran.err
        assert "" == ran.out

    def test_from_after_to(self, console: Console, tmp_path: Path) -> None:
        ran = console(tmp_path, "backtest", "--from", "2024-03-13", "--to", "2024-03-12", "--alarms", "a.csv")

        self._fails(ran, "nothing to walk through: 2024-03-13T00:00:00+00:00 is not before 2024-03-12")

    def test_a_span_without_telemetry(self, console: Console, fleet_lake: Any, tmp_path: Path) -> None:
        span = ("--from", "2031-01-01", "--to", "2031-01-02", "--alarms", str(tmp_path / "a.csv"))

        ran = console(tmp_path, "backtest", *span, FORELIGHT_LAKE_URI=fleet_lake.uri)

        self._fails(ran, "the lake holds no telemetry from 2031-01-01")

    def test_training_into_the_span(self, console: Console, tmp_path: Path) -> None:
        span = ("--from", "2024-03-13", "--to", "2024-03-14", "--train-until", "2024-03-13T01:00:00Z")

        self._fails(console(tmp_path, "backtest", *span, "--alarms", "a.csv"), "would look into the span that begins")

    def test_an_alarms_file_that_cannot_be_written(self, console: Console, tmp_path: Path) -> None:
        """Said at once, not after an hour of work."""
        span = ("--from", "2024-03-13", "--to", "2024-03-14")

        self._fails(
            console(tmp_path, "backtest", *span, "--alarms", str(tmp_path)), "cannot be written: it is a folder"
        )

    def test_a_report_that_cannot_be_written(self, console: Console, tmp_path: Path) -> None:
        span = ("--from", "2024-03-13", "--to", "2024-03-14", "--report", str(tmp_path))

        self._fails(
            console(tmp_path, "backtest", *span, "--alarms", str(tmp_path / "a.csv")),
            "cannot be written: it is a folder",
        )

    def test_a_folder_that_cannot_be_made(self, console: Console, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        span = ("--from", "2024-03-13", "--to", "2024-03-14", "--alarms", str(tmp_path / "file" / "a.csv"))

        self._fails(console(tmp_path, "backtest", *span), "a.csv cannot be written: ")

    def test_an_empty_lake(self, console: Console, tmp_path: Path) -> None:
        span = ("--from", "2024-03-13", "--to", "2024-03-14", "--alarms", str(tmp_path / "a.csv"))

        ran = console(tmp_path, "backtest", *span)

        assert 1 == ran.code
        assert "holds no telemetry: forelight import DIR" in ran.err.splitlines()[-1]
        assert not (tmp_path / "a.csv").exists()

    def test_too_little_history(self, console: Console, fleet_lake: Any, tmp_path: Path) -> None:
        span = ("--from", "2024-03-05", "--to", "2024-03-06", "--alarms", str(tmp_path / "a.csv"))

        ran = console(tmp_path, "backtest", *span, FORELIGHT_LAKE_URI=fleet_lake.uri)

        assert 1 == ran.code
        assert "a week is needed" in ran.err.splitlines()[-1]

    @pytest.mark.parametrize("arguments", [("--every", "5m"), ("--every", "1.5h"), ("--from", "yesterday")])
    def test_a_wrong_argument_is_wrong_usage(
        self, console: Console, tmp_path: Path, arguments: tuple[str, str]
    ) -> None:
        span = ("--from", "2024-03-13", "--to", "2024-03-14", "--alarms", "a.csv")

        ran = console(tmp_path, "backtest", *span, *arguments)

        assert 2 == ran.code
        assert arguments[1] in ran.err


def _cut(export: Path, out: Path, until: datetime) -> None:
    """What the export would have been at a time: nothing that happened later, nothing that was known later."""
    (out / "telemetry").mkdir(parents=True)
    for part in (export / "telemetry").glob("*.parquet"):
        pl.read_parquet(part).filter(pl.col("time") < until).write_parquet(out / "telemetry" / part.name)
    closing = ["closed_at", "failure_type", "action", "bench_verdict"]
    _cut_table(export, out, "inventory.csv", "installed_at", until, {"removed_at": ["removed_at"]})
    _cut_table(export, out, "tickets.csv", "opened_at", until, {"closed_at": closing})
    _cut_table(export, out, "repairs.csv", "at", until, {})
    _cut_table(export, out, "maintenance.csv", "announced_at", until, {})
    _cut_table(export, out, "links.csv", "valid_from", until, {"valid_to": ["valid_to"]})


def _cut_table(export: Path, out: Path, name: str, begins: str, until: datetime, unknown: dict[str, list[str]]) -> None:
    """Rows that begin before a time; what is told by a later time of theirs is blank."""

    def later(row: Row, column: str) -> bool:
        return bool(row.get(column)) and datetime.fromisoformat(row[column]) >= until

    with (export / name).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if not later(row, begins)]
    for row in rows:
        for when, columns in unknown.items():
            if later(row, when):
                row.update(dict.fromkeys([column for column in columns if column in row], ""))
    with (out / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.slow
def test_an_export_cut_off_at_a_day_gives_the_same_alarms_before_that_day(
    console: Console,
    fleet_export: Path,
    walked: tuple[Path, Any],
    span: tuple[str, ...],
    train_until: datetime,
    tmp_path: Path,
) -> None:
    """design.md section 4, through the commands and their files; the model's version is a digest of all it is."""
    until = train_until + DAYS
    _cut(fleet_export, tmp_path / "export", until)
    home = tmp_path / "home"

    imported = console(home, "import", str(tmp_path / "export"))
    ran = console(home, "backtest", *span, "--alarms", str(tmp_path / "alarms.csv"))

    assert (0, 0) == (imported.code, ran.code), ran.err
    whole, cut = (_before(path, until) for path in (walked[0], tmp_path / "alarms.csv"))
    assert 1 < len(cut)
    assert whole == cut


def _alter(export: Path, out: Path, until: datetime) -> None:
    """The same past, and another future: dark links, tickets and swaps everywhere, work announced in hindsight."""
    _cut(export, out, until)
    for part in (export / "telemetry").glob("*.parquet"):
        whole = pl.read_parquet(part)
        dark = [pl.lit(-30.0, whole.schema["rx_power_dbm"]).alias("rx_power_dbm"), pl.lit(value=False).alias("oper_up")]
        later = whole.filter(pl.col("time") >= until).with_columns(dark)
        pl.concat([whole.filter(pl.col("time") < until), later]).write_parquet(out / "telemetry" / part.name)
    then, before = (until + timedelta(hours=1)).isoformat(), (until - timedelta(days=3)).isoformat()
    with (out / "links.csv").open(newline="", encoding="utf-8") as file:
        ports = [(row["a_device"], row["a_interface"]) for row in csv.DictReader(file)]
    ticket = {"opened_at": then, "failure_type": "laser_degradation", "action": "replace_transceiver"}
    work = {"start": before, "end": then, "announced_at": until.isoformat(), "kind": "power"}
    places = [{"device": device, "interface": interface} for device, interface in ports]
    _add(out / "tickets.csv", [{**place, **ticket, "ticket_id": f"F{i}"} for i, place in enumerate(places)])
    _add(out / "maintenance.csv", [place | work for place in places])
    _add(out / "inventory.csv", [], {"removed_at": then})


def _add(path: Path, rows: list[Row], blank: Row | None = None) -> None:
    """Further rows of a table, and what its blank cells are to say."""
    with path.open(newline="", encoding="utf-8") as file:
        there = list(csv.DictReader(file))
    for row in there:
        row.update({name: value for name, value in (blank or {}).items() if not row[name]})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(there[0]), restval="")
        writer.writeheader()
        writer.writerows([*there, *rows])


@pytest.mark.slow
def test_another_future_gives_the_same_alarms_before_it(
    console: Console,
    fleet_export: Path,
    walked: tuple[Path, Any],
    span: tuple[str, ...],
    train_until: datetime,
    tmp_path: Path,
) -> None:
    """A day before the end of the walk everything fails, and that was known to nobody before."""
    until = train_until + DAYS * 3 / 4
    _alter(fleet_export, tmp_path / "export", until)
    home = tmp_path / "home"

    console(home, "import", str(tmp_path / "export"))
    ran = console(home, "backtest", *span, "--alarms", str(tmp_path / "alarms.csv"))

    assert 0 == ran.code, ran.err
    whole, altered = (_before(path, until) for path in (walked[0], tmp_path / "alarms.csv"))
    assert 1 < len(altered)
    assert whole == altered
    assert walked[0].read_text(encoding="utf-8") != (tmp_path / "alarms.csv").read_text(encoding="utf-8")


def _before(path: Path, until: datetime) -> list[Row]:
    """Lines of alarms raised before a time; what ended later stands."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if datetime.fromisoformat(row["raised_at"]) < until]
    for row in rows:
        if row["cleared_at"] and datetime.fromisoformat(row["cleared_at"]) >= until:
            row["cleared_at"] = ""
    return rows
