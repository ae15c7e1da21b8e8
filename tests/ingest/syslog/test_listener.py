"""Syslog over real sockets into events: framing, bounds, whose a message is, and when it happened."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ingest.config import load_config
from ingest.errors import ConfigError
from ingest.syslog.events import SyslogEvents, time_of
from ingest.syslog.listener import Listener
from ingest.syslog.options import SyslogOptions

FreePort = Callable[[], int]

EOS = "%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1/1, changed state to"
NXOS = "<189>: 2026 Mar  1 10:00:00 UTC: %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/2 is down (Link failure)"
TARGETS = [SimpleNamespace(site="ams", device="leaf01", address="127.0.0.1")]
PORTS = [("ams", "leaf01", "Ethernet1/1"), ("ams", "leaf01", "Ethernet1/2")]


def _line(host: str = "leaf01", state: str = "down") -> bytes:
    return f"<189>1 {datetime.now(UTC).isoformat(timespec='milliseconds')} {host} Ebra - - - {EOS} {state}".encode()


def _heard(
    options: SyslogOptions, send: Callable[[], Awaitable[None]], messages: int
) -> tuple[list[Any], SyslogEvents]:
    """Events after so many messages."""

    async def hear() -> tuple[list[Any], SyslogEvents]:
        listener = Listener(options)
        await listener.open()
        try:
            await send()
            async with asyncio.timeout(20):
                while listener.messages < messages:  # noqa: ASYNC110 - the listener tells nobody
                    await asyncio.sleep(0.01)
        finally:
            await listener.close()
        events = SyslogEvents(listener, options, TARGETS, lambda: PORTS)
        return events.take(), events

    return asyncio.run(hear())


def _told(rows: list[Any]) -> list[tuple[str, str, str, str]]:
    return [(row["site"], row["device"], row["interface"], row["kind"]) for row in rows]


def test_a_datagram_is_a_message(free_port: FreePort) -> None:
    options = SyslogOptions(udp_port=free_port())

    async def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for message in (_line(), _line(state="up") + b"\n", b"\xff\0 nonsense"):
                out.sendto(message, ("127.0.0.1", options.udp_port or 0))

    rows, _ = _heard(options, send, 3)

    assert [("ams", "leaf01", "Ethernet1/1", "down"), ("ams", "leaf01", "Ethernet1/1", "up")] == _told(rows)
    assert all(abs(row["received_at"] - row["time"]) < timedelta(minutes=1) for row in rows)
    assert {"syslog"} == {row["source"] for row in rows}


async def _stream(port: int, *parts: bytes) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.05)
    writer.close()
    await writer.wait_closed()


def test_over_tcp_messages_come_behind_their_length_or_line_by_line(free_port: FreePort) -> None:
    """RFC 6587's two ways, in any pieces; the last line needs no end."""
    options = SyslogOptions(tcp_port=free_port())
    counted, line = _line(), _line(state="up")
    framed = f"{len(counted)} ".encode() + counted
    parts = [framed + framed[:30], framed[30:], line[:10], line[10:] + b"\n" + line]

    rows, _ = _heard(options, lambda: _stream(options.tcp_port or 0, *parts), 4)

    assert ["down", "down", "up", "up"] == [row["kind"] for row in rows]


def test_a_line_without_end_is_bounded_and_the_next_is_heard(free_port: FreePort) -> None:
    options = SyslogOptions(tcp_port=free_port(), max_message_bytes=480)

    rows, _ = _heard(options, lambda: _stream(options.tcp_port or 0, b"x" * 400_000, b"\n" + _line() + b"\n"), 2)

    assert ["down"] == [row["kind"] for row in rows]


def test_what_comes_beyond_the_bound_is_dropped_and_said(free_port: FreePort) -> None:
    options = SyslogOptions(tcp_port=free_port(), max_waiting=2)
    lines = b"".join(_line() + b"\n" for _ in range(5))

    rows, events = _heard(options, lambda: _stream(options.tcp_port or 0, lines), 5)

    assert 2 == len(rows)
    assert ["syslog: 3 messages came beyond max_waiting and were dropped"] == events.notes


def test_a_message_without_a_host_is_its_senders(free_port: FreePort) -> None:
    """NX-OS names none; its clock is months behind, so that the message has the time of its receipt."""
    options = SyslogOptions(tcp_port=free_port(), zone="UTC")

    rows, _ = _heard(options, lambda: _stream(options.tcp_port or 0, NXOS.encode() + b"\n"), 1)

    assert [("ams", "leaf01", "Ethernet1/2", "down")] == _told(rows)
    assert rows[0]["received_at"] == rows[0]["time"]
    assert "nxos syslog: link_failure" == rows[0]["cause"]


def test_a_host_that_nothing_knows_is_named_once(free_port: FreePort) -> None:
    options = SyslogOptions(tcp_port=free_port())
    events = SyslogEvents(Listener(options), options, (), list)
    listener = events._listener

    listener.hear(_line("stranger"), "192.0.2.9")

    assert [] == events.take()
    assert ["syslog: stranger is no target, and no device that inventory or links know"] == events.notes
    listener.hear(_line("stranger"), "192.0.2.9")
    events.take()
    assert [] == events.notes


RECEIVED = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "time"),
    [
        ("2026-01-01T00:00:05+00:00", None, datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)),
        ("Jan  1 00:00:05", "UTC", datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)),
        ("Dec 31 23:59:55", "UTC", datetime(2025, 12, 31, 23, 59, 55, tzinfo=UTC)),
        ("Jan  1 01:00:05", "Europe/Berlin", datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)),
        ("Jan  1 01:00:05", None, RECEIVED),
        ("2026-01-01T03:00:00Z", None, RECEIVED),
        ("2025-11-01T00:00:00Z", None, RECEIVED),
        ("Feb 30 00:00:05", "UTC", RECEIVED),
        ("0001-01-01T00:00:00+10:00", None, RECEIVED),
        ("9999 Dec 31 23:00:00", "America/New_York", RECEIVED),
        (None, "UTC", RECEIVED),
    ],
)
def test_a_time_is_the_messages_where_it_can_be_believed(text: str | None, zone: str | None, time: datetime) -> None:
    """No zone, hours ahead, weeks behind: then it is the receipt's (field_faults.md, rows 44 to 46)."""
    assert time == time_of(text, RECEIVED, ZoneInfo(zone) if zone else None)


def test_the_29th_of_february_of_a_year_to_come_is_none() -> None:
    """It would be of the year before, which has none."""
    received = datetime(2028, 2, 10, tzinfo=UTC)

    assert received == time_of("Feb 29 12:00:00", received, ZoneInfo("UTC"))


def test_a_port_that_is_taken_is_told(free_port: FreePort) -> None:
    options = SyslogOptions(tcp_port=free_port())
    with socket.socket() as other:
        other.bind(("127.0.0.1", options.tcp_port or 0))
        other.listen()

        with pytest.raises(ConfigError, match=rf"\[syslog\]: tcp_port {options.tcp_port} on 127.0.0.1: .*in use"):
            asyncio.run(Listener(options).open())


def test_the_configuration_names_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "forelight.toml"
    path.write_text('[syslog]\nudp_prt = 5514\n[[target]]\ndevice="a"\naddress="b"\n[target.snmp]\ncommunity_env="C"\n')

    with pytest.raises(ConfigError, match="udp_port"):
        load_config(path)
