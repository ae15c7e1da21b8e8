"""What messages say, and that none, whoever sends it, takes the collector's time."""

import time

import pytest

from ingest.syslog.messages import said


@pytest.mark.parametrize(
    ("text", "kind", "port"),
    [
        ("%TRANSCEIVER-5-INSERTED: the module in Ethernet1/4 was inserted", "inserted", "Ethernet1/4"),
        ("%PLATFORM-6-XCVR_REMOVED: QSFP28 of et-0/0/7 is gone", "removed", "QSFP28"),
        ("Ethernet1/4: Rx LOS on lane 2", "los", "Ethernet1/4"),
        ("optics of HundredGigE0/0/0/1 report loss of signal", "los", "HundredGigE0/0/0/1"),
    ],
)
def test_a_text_is_an_event_of_its_port(text: str, kind: str, port: str) -> None:
    found = said(f"<189>1 2026-03-01T10:00:00Z leaf01 {text}")

    assert found is not None
    assert (kind, port) == (found.kind, found.port)


def test_a_signal_that_came_back_is_not_lost() -> None:
    assert said("<189>1 2026-03-01T10:00:00Z leaf01 Ethernet1/4: Rx LOS cleared") is None


@pytest.mark.parametrize(
    "part", ["%xcvrinsert", "%xcvr insert ", "a1/", "a1:", "a1 rx los clear ", "SNMP_TRAP_LINK_UP: ifName a1"]
)
def test_a_message_that_is_made_to_be_slow_is_not(part: str) -> None:
    """Patterns that backtrack took seconds for 400 bytes, and years for a datagram."""
    began = time.process_time()

    said((part * 400)[:400])

    assert 0.2 > time.process_time() - began


def test_a_port_of_thousands_of_letters_is_none() -> None:
    assert said(f"%ETHPORT-5-IF_UP: Interface {'a' * 5_000}1 is up") is None
