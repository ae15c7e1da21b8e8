"""A down that a device explains is told from a fault of an optic, whoever told of it and in whichever order."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.syslog.downs import Downs, explain_downs

AT = datetime(2026, 3, 1, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)
PEERS = {
    near: far
    for n in range(8)
    for a, z in [(("default", f"leaf{n:02}", "Ethernet1"), ("default", "spine01", f"Ethernet{n}"))]
    for near, far in ((a, z), (z, a))
}


def _event(device: str, interface: str, kind: str = "down", after: timedelta = timedelta(0)) -> dict[str, Any]:
    where = {"site": "default", "device": device, "interface": interface}
    return {"time": AT + after, "received_at": AT + after, **where, "kind": kind, "cause": "said", "source": "gnmi"}


def test_a_reboot_explains_downs_at_both_ends() -> None:
    events = [_event("leaf01", "Ethernet1"), _event("spine01", "Ethernet1"), _event("spine01", "Ethernet1", "reboot")]

    explain_downs(events, PEERS)

    assert ["said; spine01, at the far end, rebooted", "said; spine01 rebooted", "said"] == [e["cause"] for e in events]


def test_many_links_of_one_device_at_once_are_no_optics() -> None:
    """Its far ends tell, for itself is silent: half of its links within half a minute."""
    events = [_event(f"leaf{n:02}", "Ethernet1", after=n * 3 * SECOND) for n in range(4)]

    explain_downs(events, PEERS)

    assert {"said; 4 links of spine01 went down at once"} == {event["cause"] for event in events}


def test_two_ends_of_one_link_are_one_link() -> None:
    events = [_event("leaf01", "Ethernet1"), _event("spine01", "Ethernet1"), _event("leaf02", "Ethernet1")]

    explain_downs(events, PEERS)

    assert {"said"} == {event["cause"] for event in events}


def test_few_of_many_and_downs_far_apart_stay_faults() -> None:
    few = [_event(f"leaf{n:02}", "Ethernet1") for n in range(3)]
    apart = [_event(f"leaf{n:02}", "Ethernet1", after=n * 60 * SECOND) for n in range(8)]

    assert [] == explain_downs(few, PEERS)
    assert [] == explain_downs(apart, PEERS)


def test_what_explains_a_down_may_be_told_a_sweep_later() -> None:
    """The row is written once more: of equal keys the one received last counts."""
    downs, later = Downs(), AT + timedelta(minutes=2)
    (first,) = downs.take([_event("leaf01", "Ethernet1")], PEERS, AT)
    assert "said" == first["cause"]

    reboot, again = downs.take([_event("spine01", "Ethernet1", "reboot", later - AT)], PEERS, later)

    assert "reboot" == reboot["kind"]
    assert ("said; spine01, at the far end, rebooted", AT, later) == (
        again["cause"],
        again["time"],
        again["received_at"],
    )
    assert [] == downs.take([], PEERS, later)
