"""What happened to each port: known from when it was known, and not a minute earlier."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from features.cube import Cube
from features.fleet import Fleet
from features.history import History
from features.pipeline import hourly

MakeCube = Callable[..., Cube]

DAY = datetime(2026, 3, 1, tzinfo=UTC)
PORTS = ["gpu01:eth0", "leaf01:Ethernet0", "leaf01:Ethernet4", "leaf01:Ethernet8"]
LINK = {"a_device": "leaf01", "a_interface": "Ethernet0", "z_device": "gpu01", "z_interface": "eth0", "cable_id": "C1"}


def _hour(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def _module(interface: str = "Ethernet0", device: str = "leaf01", **columns: Any) -> dict[str, Any]:
    return {"device": device, "interface": interface, **columns}


def _ticket(opened: float, closed: float | None = None, interface: str = "Ethernet0", **columns: Any) -> dict[str, Any]:
    return {
        "ticket_id": f"T{opened}{interface}",
        "opened_at": _hour(opened),
        "closed_at": None if closed is None else _hour(closed),
        **_module(interface),
        **columns,
    }


@pytest.fixture(name="history")
def _history(make_cube: MakeCube) -> Callable[..., History]:
    """Makes the history of `PORTS` over three days from frames' rows; each hour of the third day is a time."""

    def make(serials: list[list[int]] | None = None, at: list[datetime] | None = None, **rows: Any) -> History:
        frames = {name: pl.DataFrame(value, infer_schema_length=None) for name, value in rows.items()}
        times = hourly(_hour(48), _hour(71)) if at is None else at
        return History(make_cube(DAY, PORTS, 72, serials=serials), Fleet.from_frames(**frames), times)

    return make


HistoryOf = Callable[..., History]


# ---- links -----------------------------------------------------------------------------------


def test_the_two_ends_of_a_link_are_each_others_peer(history: HistoryOf) -> None:
    past = history(links=[LINK])

    assert [1, 0, -1, -1] == past.peer.tolist()
    assert ["C1", "C1", "leaf01:Ethernet4", "leaf01:Ethernet8"] == past.links


def test_a_far_end_that_is_silent_is_no_peer(history: HistoryOf) -> None:
    past = history(links=[{**LINK, "z_device": "gpu77"}])

    assert -1 == past.peer[1]
    assert ("C1", ("default", "gpu77", "eth0"), None) == past.ends["default", "leaf01", "Ethernet0"]


def test_a_port_in_no_link_has_the_same_name_with_and_without_inventory(history: HistoryOf) -> None:
    """Else a module that is installed within the range would rename its link for the times before."""
    assert history().links[2] == history(modules=[_module("Ethernet4")]).links[2]


def test_a_link_that_begins_later_is_not_there_yet(history: HistoryOf) -> None:
    assert [-1] * 4 == history(links=[{**LINK, "valid_from": _hour(49)}]).peer.tolist()


# ---- installations ---------------------------------------------------------------------------


def test_an_installation_counts_from_its_hour_on(history: HistoryOf) -> None:
    past = history(
        modules=[
            _module(media="100GBASE-SR4", serial="A", installed_at=_hour(0)),
            _module(media="400GBASE-SR8", serial="B", installed_at=_hour(60)),
            _module("Ethernet4", media="400GBASE-DR4", serial="C", installed_at=_hour(500)),
        ]
    )

    speeds = past.table.speed_gbps[past.installation]
    assert [100.0] * 12 + [400.0] * 12 == speeds[1].tolist()
    assert np.isnan(speeds[2:]).all()
    assert [48 / 24, 59 / 24, 0.0] == pytest.approx([past.age_days[1, k] for k in (0, 11, 12)])


def test_an_installation_without_a_time_was_always_there(history: HistoryOf) -> None:
    past = history(modules=[_module(media="400GBASE-SR8", installed_at=None)])

    assert (past.table.speed_gbps[past.installation[1]] == 400.0).all()
    assert np.isnan(past.age_days[1]).all()


def test_the_line_rate_of_an_hour_is_that_of_the_module_then_in_the_cage(history: HistoryOf) -> None:
    """Whatever comes later: a rate known from a future installation would be the future."""
    past = history(
        modules=[
            _module(speed_gbps=100.0, serial="A", installed_at=_hour(10)),
            _module(speed_gbps=400.0, serial="B", installed_at=_hour(20)),
        ]
    )

    assert (4, 72) == past.speed_gbps.shape
    assert np.isnan(past.speed_gbps[1, :9]).all()
    assert [100.0] * 10 + [400.0] == past.speed_gbps[1, 9:20].tolist()


# ---- touches ---------------------------------------------------------------------------------


def test_a_swap_touches_both_ends_from_the_very_hour_on(history: HistoryOf) -> None:
    past = history(links=[LINK], modules=[_module(installed_at=_hour(60))])

    assert (past.touched_s[:2, :12] == -math.inf).all()
    assert (past.touched_s[:2, 12:] == _hour(60).timestamp()).all()
    assert (past.touched_s[2:] == -math.inf).all()
    assert (past.epoch[0, :12] < 0).all()
    assert [60] * 12 == past.epoch[0, 12:].tolist()
    assert [8760.0, 0.0, 11.0] == [past.since_touch_h[1, k] for k in (11, 12, 23)]


def test_a_ticket_touches_its_link_when_it_is_closed(history: HistoryOf) -> None:
    past = history(links=[LINK], tickets=[_ticket(50, 55.5), _ticket(56, None)])

    assert (past.touched_s[:2, :8] == -math.inf).all()
    assert (past.touched_s[:2, 8:] == _hour(55.5).timestamp()).all()
    assert 56 == past.epoch[0, -1]


def test_a_serial_that_changes_is_a_swap_known_when_its_hour_has_ended(history: HistoryOf) -> None:
    """Nobody wrote it down; the module in the cage tells."""
    serials = np.full((4, 72), -1)
    serials[1, :50], serials[1, 55:] = 7, 8

    past = history(serials=serials.tolist(), links=[LINK])

    assert (past.touched_s[:2, :8] == -math.inf).all()
    assert (past.touched_s[:2, 8:] == _hour(56).timestamp()).all()


def test_a_serial_not_read_for_a_while_is_no_swap(history: HistoryOf) -> None:
    serials = np.full((4, 72), -1)
    serials[1, ::3] = 7

    assert (history(serials=serials.tolist()).touched_s == -math.inf).all()


def test_another_serial_after_more_than_a_week_is_no_touch(make_cube: MakeCube) -> None:
    """The reading before it may lie before the cube of a later time, which then could not know."""
    serials = np.full((1, 400), -1)
    serials[0, 0], serials[0, 168], serials[0, 168 + 169] = 1, 2, 3
    cube = make_cube(DAY, PORTS[:1], 400, serials=serials.tolist())

    past = History(cube, Fleet.from_frames(), [_hour(399)])

    assert [[_hour(169).timestamp()]] == past.touched_s.tolist()


# ---- tickets and neighbours ------------------------------------------------------------------


def test_tickets_count_from_their_opening_and_for_a_month(history: HistoryOf) -> None:
    past = history(links=[LINK], tickets=[_ticket(50), _ticket(60, interface="eth0", device="gpu01"), _ticket(-800)])

    counts = past.tickets_within(timedelta(days=30))

    assert [0.0] * 2 + [1.0] * 10 + [2.0] * 12 == counts[0].tolist() == counts[1].tolist()
    assert not counts[2:].any()


def test_a_repair_disturbs_the_other_ports_of_its_device_for_two_days(history: HistoryOf) -> None:
    past = history(links=[LINK], tickets=[_ticket(1, 5, "Ethernet4"), _ticket(50, 60, "Ethernet4"), _ticket(61, 62)])

    near = past.neighbour_touches

    assert [1.0] * 5 + [0.0] * 7 + [1.0] * 12 == near[1].tolist(), "of Ethernet4, 48 h each"
    assert [0.0] * 14 + [1.0] * 10 == near[2].tolist(), "of Ethernet0"
    assert not near[0].any(), "another device"


def test_a_repair_at_the_far_end_does_not_hide_that_of_a_neighbour(history: HistoryOf) -> None:
    """The link's own repairs are left out of its device's, and those at the far end were never among them."""
    past = history(
        links=[LINK], tickets=[_ticket(50, 51, device="gpu01", interface="eth0"), _ticket(50, 51, "Ethernet4")]
    )

    assert 1.0 == past.neighbour_touches[1, -1]


# ---- lots ------------------------------------------------------------------------------------


def _lots(bad_tickets: int, total: int = 40) -> dict[str, list[dict[str, Any]]]:
    modules = [
        _module(f"P{i}", serial=f"S{i}", part_number="X", lot="bad" if i < 10 else "good", installed_at=_hour(0))
        for i in range(total)
    ]
    modules.append(_module(serial="S0b", part_number="X", lot="bad", installed_at=_hour(0)))
    tickets = [_ticket(50 + i, interface=f"P{i}", serial=f"S{i}") for i in range(bad_tickets)]
    return {"modules": modules, "tickets": tickets}


def test_a_lot_with_more_tickets_than_its_share_stands_out_from_when_they_are_opened(history: HistoryOf) -> None:
    excess = history(**_lots(8)).lot_excess[1]

    assert not excess[:2].any()
    assert [math.log2((n + 2) / (11 * n / 41 + 2)) for n in range(1, 9)] == pytest.approx(excess[2:10].tolist())


def test_a_port_without_a_module_has_no_lot(history: HistoryOf) -> None:
    assert not history(**_lots(8)).lot_excess[0].any()


def test_a_lot_that_is_installed_later_changes_nothing_before(history: HistoryOf) -> None:
    """Not even where a ticket names a serial that comes into its cage later."""
    now = _lots(4)
    later = _module("P99", serial="S99", part_number="X", lot="bad", installed_at=_hour(70))
    more = {
        "modules": [*now["modules"], later],
        "tickets": [*now["tickets"], _ticket(52, interface="P99", serial="S99")],
    }

    before, after = history(**now).lot_excess[1], history(**more).lot_excess[1]

    assert before[:22].tolist() == after[:22].tolist()
    assert before[22] != after[22]


# ---- as of -----------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [48, 55, 60, 66])
def test_records_cut_off_at_a_time_tell_the_same_of_it(history: HistoryOf, hours: int) -> None:
    rows: dict[str, Any] = {
        "links": [LINK],
        "modules": [
            *_lots(0)["modules"],
            _module(serial="N1", installed_at=_hour(55), media="400GBASE-DR4", part_number="X", lot="bad"),
            _module(serial="N2", installed_at=_hour(66.5), media="100GBASE-SR4", part_number="X", lot="good"),
        ],
        "tickets": [
            _ticket(54, 55, serial="S0b"),
            _ticket(59, 66.5, "Ethernet4"),
            _ticket(66, 70, "P3", serial="S3"),
        ],
    }
    whole = history(at=[_hour(hours)], **rows)
    cut = History(whole.cube, whole.fleet.as_of(_hour(hours)), whole.at)

    for name in ("peer", "age_days", "touched_s", "neighbour_touches", "lot_excess", "speed_gbps"):
        np.testing.assert_array_equal(
            _until(getattr(whole, name), hours), _until(getattr(cut, name), hours), err_msg=name
        )
    month = timedelta(days=30)
    np.testing.assert_array_equal(whole.tickets_within(month), cut.tickets_within(month))


def _until(values: np.ndarray, hours: int) -> np.ndarray:
    """Of what goes along the cube's hours only those before the time."""
    return values[:, :hours] if values.ndim == 2 and values.shape[1] == 72 else values
