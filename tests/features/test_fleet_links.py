"""Links from LLDP beside links from a file: the file is believed for as long as it says something."""

from datetime import UTC, datetime

import polars as pl
import pytest

from features.fleet import Fleet

JAN, FEB, MAR, APR = (datetime(2026, month, 1, tzinfo=UTC) for month in range(1, 5))
SAME, OTHER = "spine01", "spine09"


def fleet(*rows: tuple[str, str, datetime | None, datetime | None]) -> Fleet:
    """Links of one port of leaf01: source, the peer, since and until when."""
    when = pl.Datetime("us", "UTC")
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "source": pl.String,
        "z_device": pl.String,
        "valid_from": when,
        "valid_to": when,
    }
    links = pl.DataFrame(rows, schema=schema, orient="row")
    ports = {"a_device": "leaf01", "a_interface": "Ethernet1", "z_interface": "Ethernet5"}
    return Fleet.from_frames(links=links.with_columns(pl.lit(text).alias(name) for name, text in ports.items()))


def peers(known: Fleet) -> dict[str, tuple[datetime | None, datetime | None]]:
    """By peer of leaf01, since and until when it is one."""
    ends = known.ends().filter(pl.col("device") == "leaf01")
    return {row["peer_device"]: (row["valid_from"], row["valid_to"]) for row in ends.to_dicts()}


@pytest.mark.parametrize("said", [SAME, OTHER])
def test_lldp_is_not_asked_while_the_file_speaks(said: str) -> None:
    known = fleet(("file", SAME, None, None), ("lldp", said, FEB, None))

    assert {SAME: (None, None)} == peers(known)
    assert {SAME} == set(peers(known.as_of(MAR)))


def test_before_the_file_speaks_lldp_is_believed() -> None:
    known = fleet(("file", SAME, MAR, None), ("lldp", OTHER, JAN, None))

    assert {SAME: (MAR, None), OTHER: (JAN, MAR)} == peers(known)
    assert [{OTHER}, {SAME}] == [set(peers(known.as_of(at))) for at in (FEB, MAR)]


def test_after_the_file_spoke_of_another_link_lldp_is_believed() -> None:
    known = fleet(("file", SAME, JAN, MAR), ("lldp", OTHER, FEB, None))

    assert {SAME: (JAN, MAR), OTHER: (MAR, None)} == peers(known)
    assert [{SAME}, {OTHER}] == [set(peers(known.as_of(at))) for at in (FEB, APR)]


def test_a_link_that_the_file_ended_is_over_though_lldp_never_ends_one() -> None:
    known = fleet(("file", SAME, None, MAR), ("lldp", SAME, JAN, None))

    assert {SAME: (None, MAR)} == peers(known)
    assert [{SAME}, set()] == [set(peers(known.as_of(at))) for at in (FEB, APR)]


def test_a_link_that_lldp_sees_anew_after_the_file_ended_it_stands() -> None:
    known = fleet(("file", SAME, None, FEB), ("lldp", SAME, MAR, None))

    assert {SAME} == set(peers(known.as_of(APR)))


def test_a_file_that_will_speak_later_is_not_known_before() -> None:
    known = fleet(("lldp", OTHER, JAN, None), ("file", SAME, JAN, MAR))

    assert {SAME: (JAN, None)} == peers(known.as_of(FEB))


def test_a_row_of_no_length_never_stood() -> None:
    assert {SAME: (JAN, None)} == peers(fleet(("lldp", OTHER, JAN, JAN), ("lldp", SAME, JAN, None)))


def test_lldps_own_changes_are_two_links_after_each_other() -> None:
    known = fleet(("lldp", OTHER, JAN, FEB), ("lldp", SAME, FEB, None))

    assert {OTHER: (JAN, FEB), SAME: (FEB, None)} == peers(known)
