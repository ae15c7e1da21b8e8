"""A CSV of alarms, anybody's: what is taken, and what is said of what is not."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.errors import ExportError
from models.alarm_file import read_alarms


@pytest.fixture(name="csv")
def _csv(tmp_path: Path) -> Path:
    return tmp_path / "alarms.csv"


def test_three_columns_are_enough(csv: Path) -> None:
    csv.write_text("device,interface,raised_at\nleaf01,Ethernet0,2026-03-01T02:00:00+02:00\n")

    alarms = read_alarms(csv)

    row = alarms.row(0, named=True)
    assert ("default", "leaf01", datetime(2026, 3, 1, tzinfo=UTC)) == (row["site"], row["device"], row["raised_at"])
    assert "suspect" not in alarms.columns


def test_our_own_columns_are_used_and_others_left(csv: Path) -> None:
    csv.write_text(
        "alarm_id,site,device,interface,level,raised_at,cleared_at,risk_24h,mood\n"
        "a1,paris,leaf01,Ethernet0,act,2026-03-01T00:00:00Z,,0.3,calm\n"
        "a2,,leaf01,Ethernet8,watch,2026-03-01 00:00:00+00:00,2026-03-02T00:00:00Z,,\n"
    )

    alarms = read_alarms(csv)

    assert ["paris", "default"] == alarms["site"].to_list()
    assert [None, datetime(2026, 3, 2, tzinfo=UTC)] == alarms["cleared_at"].to_list()
    assert [0.3, None] == alarms["risk_24h"].to_list()
    assert "mood" not in alarms.columns


def test_no_alarms_are_alarms_too(csv: Path) -> None:
    csv.write_text("device,interface,raised_at\n")

    assert 0 == read_alarms(csv).height


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("device,raised_at\nleaf01,2026-03-01T00:00:00Z\n", r"line 1: no column interface"),
        ("device,interface,raised_at\na,b,2026-03-01T00:00:00Z\na,b,2026-03-01T00:00:00\n", r"line 3: .* no time zone"),
        ("device,interface,raised_at\na,b,yesterday\n", r"line 2: raised_at 'yesterday' is not an ISO 8601 time"),
        ("device,interface,raised_at\na\x1b[2J,b,2026-03-01T00:00:00Z\n", r"line 2: device 'a\\x1b\[2J' has control"),
        ('device,interface,raised_at\n"a\nb",b,2026-03-01T00:00:00Z\n', r"line 3: device 'a\\nb' has control"),
        ("device,interface,raised_at\na,,2026-03-01T00:00:00Z\n", r"line 2: interface is empty"),
        (
            "host,port,time\na,b,2026-03-01T00:00:00Z\n",
            r"line 1: no column device, interface, raised_at \(needed are .*; there are host, port, time\)",
        ),
        (
            "device,interface,raised_at,cleared_at\na,b,2026-03-01T00:00:00Z,2026-02-01T00:00:00Z\n",
            r"line 2: cleared_at 2026-02-01T00:00:00Z is before raised_at",
        ),
        (
            "device,interface,raised_at,act_at\na,b,2026-03-09T00:00:00Z,2026-03-01T00:00:00Z\n",
            r"line 2: act_at 2026-03-01T00:00:00Z is before raised_at",
        ),
        (
            "device,interface,raised_at,act_at,cleared_at\na,b,2026-03-01T00:00Z,2026-03-09T00:00Z,2026-03-02T00:00Z\n",
            r"line 2: cleared_at 2026-03-02T00:00Z is before act_at",
        ),
        (
            "device,interface,raised_at\na,b,0001-01-01T00:00:00+10:00\n",
            r"line 2: raised_at .* is not an ISO 8601 time",
        ),
        ("device,interface,raised_at,risk\na,b,2026-03-01T00:00:00Z,high\n", r"line 2: risk 'high' is not a number"),
        ("device,interface,raised_at,risk\na,b,2026-03-01T00:00:00Z,nan\n", r"line 2: risk 'nan' is not a number"),
        ("", r"line 1: no column device, interface, raised_at"),
    ],
)
def test_an_error_names_file_and_line(csv: Path, text: str, said: str) -> None:
    csv.write_text(text)

    with pytest.raises(ExportError, match=rf"alarms\.csv: {said}"):
        read_alarms(csv)


def test_a_file_that_is_not_there_or_no_text_is_said(csv: Path) -> None:
    with pytest.raises(ExportError, match="No such file"):
        read_alarms(csv)

    csv.write_bytes(b"PAR1\xff\xfe\x00")
    with pytest.raises(ExportError, match="cannot be read"):
        read_alarms(csv)
