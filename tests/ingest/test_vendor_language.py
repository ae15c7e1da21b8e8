"""What a vendor file can say of plain tables, and what it is told when it says something else."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from ingest.decode.discover import decode
from ingest.decode.profile import PlainColumn, Profile
from ingest.decode.profile_errors import explained
from ingest.decode.tables import number, told_scale
from ingest.snmp.transport import Cell

_TABLE = "1.3.6.1.4.1.99999.1"
_NAME, _OPER = "1.3.6.1.2.1.31.1.1.1.1", "1.3.6.1.2.1.2.2.1.8"
_KEYS = ("quantity", "column", "scale", "unit", "absent", "limits", "table", "sys_object_id")


def _values(cells: dict[int, Cell], columns: list[dict[str, Any]], **table: Any) -> dict[tuple[int, str], float | None]:
    """One port, Ethernet1, that is up; cells by column."""
    profile = Profile.model_validate({"source": "test", "tables": [{"table": _TABLE, "columns": columns, **table}]})
    walked = {f"{_TABLE}.{number}": {"1": cell} for number, cell in cells.items()}
    decoded = decode({**walked, _NAME: {"1": b"Ethernet1"}, _OPER: {"1": 1}}, profile)
    return {(r.lane, r.quantity): r.value for r in decoded.readings}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-002.2504 dBm: Normal", -2.2504),
        (" 31.4882 C: Normal", 31.4882),
        ("-2.60dBm, Normal", -2.6),
        ("6.184 mAmps Normal", 6.184),
        ("1000.0 uWatts Normal", 0.0),
        ("566.4 uW", -2.4688),
        ("0.5664 mW (-2.47 dBm)", -2.4688),
        ("0.000 uWatts Low-Alarm", -math.inf),
        ("-Inf", -math.inf),
        ("N/A", None),
        ("      N/A    ", None),
        ("", None),
        ("12-1234567-01", None),
        ("10GE LR", None),
    ],
)
def test_a_text_is_read_by_its_leading_number_and_watts_become_dbm(text: str, expected: float | None) -> None:
    assert number(text.encode()) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "twin", "expected"),
    [
        ("133.83,98.54,179.26,80.16", 133, 0.01),  # numbers that no dBm can be
        ("-1.21,-1.51,-1.83,-2.18", -121, 1.0),  # the twin is 0.01 dBm of the same number
        ("-1.21,-1.51,-1.83,-2.18", 757, 1.0),  # or microwatts
        ("-20.50,-11.20,-30.00,-9.10", 954, 0.01),
        ("-24.66,-20.10", -25, 0.01),
        ("-40.00,-40.00", -4000, 1.0),
        ("-1.21,-1.51", -1, None),  # the twin says nothing: nor does it
        ("-1.21,-1.51", None, None),
        ("-1.21,-1.51", 5000, None),  # it is of something else
        ("0.00,0.00", None, 0.01),  # whatever the scale
    ],
)
def test_small_powers_are_scaled_as_their_twin_tells(text: str, twin: int | None, expected: float | None) -> None:
    column = PlainColumn(quantity="rx_power_dbm", column=32, scale=0.01, absent=(-1.0,), split=",", twin=8)

    assert expected == told_scale([part.encode() for part in text.split(",")], twin, column)


def test_a_power_whose_scale_is_not_told_is_left_out() -> None:
    columns = [{"quantity": "rx_power_dbm", "column": 32, "scale": 0.01, "split": ",", "twin": 8, "absent": [-1]}]

    assert {(1, "rx_power_dbm"): -1.21, (2, "rx_power_dbm"): -1.51} == _values({32: b"-1.21,-1.51", 8: -121}, columns)
    assert {} == _values({32: b"-1.21,-1.51"}, columns)


def test_a_column_of_lanes_may_leave_the_single_lane_to_another() -> None:
    columns = [
        {"quantity": "tx_bias_ma", "column": 7, "scale": 0.001},
        {"quantity": "tx_bias_ma", "column": 31, "split": ",", "lanes_only": True},
    ]

    assert {(0, "tx_bias_ma"): 22.236} == _values({7: 22_236, 31: b"22.24"}, columns)
    assert {1: 5.9, 2: 5.8}.items() <= {
        lane: v for (lane, _), v in _values({7: 5900, 31: b"5.90,5.80"}, columns).items()
    }.items()


def test_a_number_can_stand_for_no_light() -> None:
    columns = [{"quantity": "rx_power_dbm", "column": 15, "scale": 0.001, "no_light": [-99_999_999]}]

    assert {(0, "rx_power_dbm"): -40.0} == _values({15: -99_999_999}, columns)


def test_rows_that_a_flag_says_hold_nothing_are_left_out() -> None:
    columns = [{"quantity": "temperature_c", "column": 11}]
    only = {"column": 9, "value": 1}

    assert {(0, "temperature_c"): 49.0} == _values({11: 49, 9: 1}, columns, only=only)
    assert {} == _values({11: 49, 9: 0}, columns, only=only)
    assert {} == _values({11: 49}, columns, only=only)


@pytest.mark.parametrize(("scale", "cell"), [(1e-7, 10_000), (1e-3, b"1.00"), (1e-3, b"1.00 mW"), (1e-7, b"1000 uW")])
def test_watts_become_dbm_once_whether_the_file_says_so_or_the_text(scale: float, cell: Cell) -> None:
    in_watts = [{"quantity": "tx_power_dbm", "column": 16, "scale": scale, "unit": "w"}]

    assert 0.0 == pytest.approx(_values({16: cell}, in_watts)[0, "tx_power_dbm"])


def _column(**column: Any) -> dict[str, Any]:
    told = {"quantity": "rx_power_dbm", "column": 3, **column}
    return {
        "source": "MIB",
        "tables": [{"table": _TABLE, "columns": [{k: v for k, v in told.items() if v is not None}]}],
    }


@pytest.mark.parametrize(
    ("file", "clause"),
    [
        (_column(scal=0.01), "tables.0.columns.0.scal: unknown key (did you mean 'scale'?)"),
        (_column(unit="watts"), "tables.0.columns.0.unit: 'watts' is not allowed; allowed: w"),
        (
            _column(quantity="rx_power"),
            "tables.0.columns.0.quantity: 'rx_power' is not allowed (did you mean 'rx_power_dbm'?)",
        ),
        (_column(limits={"lo_alarm": 4}), "tables.0.columns.0.limits.lo_alarm"),
        (_column(column=None), "tables.0.columns.0.column: Field required"),
        (_column(scale=0), "tables.0.columns.0.scale: Input should be greater than 0"),
        (
            {"source": "MIB", "sensors": {"table": "1.3", "units": {6: "watt"}}},
            "'watt' is not allowed; allowed: dbm, w, v, a, c",
        ),
        ({"source": "MIB", "sensors": {"table": "1.3.x", "units": {}}}, "sensors.table: '1.3.x' is no OID"),
        ({"source": "MIB"}, "the file: a profile needs sensors or tables"),
        ({"sources": "MIB", "tables": []}, "sources: unknown key"),
    ],
)
def test_an_error_in_a_vendor_file_says_where_and_what_was_probably_meant(file: dict[str, Any], clause: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Profile.model_validate(file)

    assert clause in explained(caught.value, _KEYS)
