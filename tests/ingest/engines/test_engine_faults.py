"""Both engines against agents that misbehave: each case ends in time, with the right rows or an error that says why."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from ingest.errors import TransportError

COLUMN = "1.3.6.1.2.1.99.1.1.1.4"
ROWS: list[tuple[str, int | bytes]] = [(f"{COLUMN}.{n}", n) for n in range(1, 101)]
TABLE = [*ROWS, (COLUMN[:-1] + "5.1", 1)]
WHOLE = {str(n): n for n in range(1, 101)}
GEN_ERR = 5
GET_REQUEST, REPORT = 0xA0, 0xA8
UNKNOWN_TAG, NULL, TEXT, OID = b"\x4a\x01\x07", b"\x05\x00", b"\x04\x02hi", b"\x06\x02\x2b\x06"

AgentMaker = Callable[..., Any]


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """Nothing an agent does may hold the collector up."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 10


class TestOrder:
    @pytest.mark.parametrize("expect", [0, 100])
    @pytest.mark.parametrize("version", ["1", "2c"])
    def test_the_same_oid_for_ever_is_ended(
        self, agent: AgentMaker, ask: Any, heard: Any, version: str, expect: int
    ) -> None:
        port = agent(lambda packet: heard(packet).reply([ROWS[0]])).port

        with pytest.raises(TransportError, match="do not increase"):
            ask.walk(port, COLUMN, version=version, expect=expect)

    @pytest.mark.parametrize(
        "page",
        [
            [ROWS[5], ROWS[2]],
            [ROWS[5], ROWS[5], ROWS[6]],
            [ROWS[1], ROWS[0], TABLE[100]],
            [(COLUMN, 1), ROWS[0], TABLE[100]],
        ],
        ids=["back", "twice", "back and out", "the column itself"],
    )
    def test_oids_that_do_not_come_forward_are_an_error(
        self, agent: AgentMaker, ask: Any, heard: Any, page: list[Any]
    ) -> None:
        port = agent(lambda packet: heard(packet).reply(page)).port

        with pytest.raises(TransportError, match="do not increase"):
            ask.walk(port, COLUMN)

    def test_two_answers_in_turns_are_ended(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        pages = itertools.cycle([ROWS[:20], ROWS[20:40]])
        port = agent(lambda packet: heard(packet).reply(next(pages))).port

        with pytest.raises(TransportError, match="do not increase"):
            ask.walk(port, COLUMN)

    def test_a_column_without_end_is_ended(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            last = int(request.oids[0].removeprefix(COLUMN).strip(".") or 0)
            return request.reply([(f"{COLUMN}.{last + n}", 1) for n in range(1, request.rows + 1)])

        with pytest.raises(TransportError, match="more than 1000 rows"):
            ask.walk(agent(answer).port, COLUMN, max_cells=1_000)


class TestPackets:
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda packet: b"",
            lambda packet: b"\xff" * 40,
            lambda packet: b"GET / HTTP/1.1\r\n\r\n",
            lambda packet: packet[: len(packet) // 2],
            lambda packet: packet[:-1],
            lambda packet: b"\x30\x84\xff\xff\xff\xff" + packet[2:],
            lambda packet: b"\x30\x80" + packet[2:],
            lambda packet: packet[:3],  # gufo-snmp panics
        ],
        ids=[
            "empty",
            "ones",
            "text",
            "half",
            "an octet short",
            "a length of gigabytes",
            "no length",
            "within a length",
        ],
    )
    @pytest.mark.parametrize("expect", [0, 100])
    def test_what_cannot_be_read_is_an_error(
        self, agent: AgentMaker, ask: Any, heard: Any, spoil: Callable[[bytes], bytes], expect: int
    ) -> None:
        port = agent(lambda packet: spoil(heard(packet).reply(heard(packet).after(TABLE)))).port

        with pytest.raises(TransportError, match=r"no (readable )?answer"):
            ask.walk(port, COLUMN, expect=expect, retries=1)

    def test_one_answer_that_cannot_be_read_is_asked_for_again(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        spoilt = iter([True])

        def answer(packet: bytes) -> Any:
            request = heard(packet)
            return b"\xff" * 40 if next(spoilt, False) else request.reply(request.after(TABLE))

        assert WHOLE == ask.walk(agent(answer).port, COLUMN)

    @pytest.mark.parametrize("kind", [GET_REQUEST, REPORT])
    def test_what_is_no_response_is_an_error_or_taken_for_one(
        self, agent: AgentMaker, ask: Any, heard: Any, kind: int
    ) -> None:
        """pysnmp does not look at what a packet calls itself."""
        port = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE), kind=kind)).port

        with suppress(TransportError):
            assert WHOLE == ask.walk(port, COLUMN, retries=1)

    def test_answers_to_other_requests_are_not_taken(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        port = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE), request_id=b"\x2a")).port

        with pytest.raises(TransportError, match="no answer"):
            ask.walk(port, COLUMN, retries=1)

    def test_a_stale_answer_before_each_right_one_changes_nothing(
        self, agent: AgentMaker, ask: Any, heard: Any
    ) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            return [request.reply([(ROWS[0][0], 4711)], request_id=b"\x2a"), request.reply(request.after(TABLE))]

        assert WHOLE == ask.walk(agent(answer).port, COLUMN)

    def test_answers_that_come_twice_change_nothing(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            return [request.reply(request.after(TABLE))] * 2

        assert WHOLE == ask.walk(agent(answer).port, COLUMN)

    def test_values_of_other_types_are_cells_all_the_same(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        values = [TEXT, OID, NULL, -1, b"\x46\x09\x00" + b"\xff" * 8]
        table = [(f"{COLUMN}.{n}", value) for n, value in enumerate(values)] + TABLE[100:]
        port = agent(lambda packet: heard(packet).reply(heard(packet).after(table))).port

        assert {"0": b"hi", "1": "1.3.6", "3": -1, "4": 2**64 - 1} == ask.walk(port, COLUMN)

    def test_a_value_that_nobody_knows_is_an_error(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        port = agent(lambda packet: heard(packet).reply([ROWS[0], (ROWS[1][0], UNKNOWN_TAG)])).port

        with pytest.raises(TransportError, match=r"no (readable )?answer"):
            ask.walk(port, COLUMN, retries=0)

    def test_a_flood_of_rows_in_one_answer_is_taken(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        """More rows than were asked for, as some agents give."""
        port = agent(lambda packet: heard(packet).reply(TABLE)).port

        assert WHOLE == ask.walk(port, COLUMN, max_repetitions=10)

    def test_random_damage_is_an_error_or_fewer_rows_but_nothing_else(
        self, agent: AgentMaker, ask: Any, heard: Any
    ) -> None:
        dice = Random(4711)

        def answer(packet: bytes) -> bytes:
            spoilt = bytearray(heard(packet).reply(heard(packet).after(TABLE)))
            if dice.random() < 0.3:
                spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
            return bytes(spoilt)

        port, found = agent(answer).port, []

        for _ in range(20):
            with suppress(TransportError):
                found.append(ask.walk(port, COLUMN, timeout_s=0.02, retries=0, max_repetitions=50))

        assert WHOLE in found
        assert all(isinstance(cell, int | float | bytes | str) for column in found for cell in column.values())


class TestErrors:
    @pytest.mark.parametrize("version", ["1", "2c"])
    def test_an_agents_error_is_not_the_end_of_a_column(
        self, agent: AgentMaker, ask: Any, heard: Any, version: str
    ) -> None:
        port = agent(lambda packet: heard(packet).echo(GEN_ERR)).port

        with pytest.raises(TransportError, match="instead of rows"):
            ask.walk(port, COLUMN, version=version)

    @pytest.mark.parametrize("version", ["1", "2c"])
    def test_a_broken_sensor_costs_the_rows_behind_it_only_where_rows_are_known(
        self, agent: AgentMaker, ask: Any, heard: Any, version: str
    ) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            rows = request.after(TABLE)
            return request.echo(GEN_ERR) if any(oid == ROWS[40][0] for oid, _ in rows) else request.reply(rows)

        port = agent(answer).port

        assert dict(list(WHOLE.items())[:40]) == ask.walk(port, COLUMN, expect=100, version=version)
        with pytest.raises(TransportError, match="instead of rows"):
            ask.walk(port, COLUMN, version=version)


class TestTime:
    @pytest.mark.parametrize("version", ["1", "2c"])
    @pytest.mark.parametrize("parity", [0, 1])
    def test_every_second_packet_may_be_lost(
        self, agent: AgentMaker, ask: Any, heard: Any, version: str, parity: int
    ) -> None:
        count, few = itertools.count(), [*ROWS[:8], TABLE[100]]  # pysnmp waits half a second for each

        def answer(packet: bytes) -> Any:
            request = heard(packet)
            return None if next(count) % 2 == parity else request.reply(request.after(few))

        found = ask.walk(agent(answer).port, COLUMN, version=version, timeout_s=0.1, max_repetitions=3)

        assert dict(list(WHOLE.items())[:8]) == found

    def test_an_agent_that_never_answers_is_given_up(self, agent: AgentMaker, ask: Any) -> None:
        silent = agent(lambda _: None)

        with pytest.raises(TransportError, match="no answer from 127"):
            ask.walk(silent.port, COLUMN, retries=2)

        assert 3 == len(silent.heard)

    def test_an_agent_that_falls_silent_in_the_middle_is_given_up(
        self, agent: AgentMaker, ask: Any, heard: Any
    ) -> None:
        def answer(packet: bytes) -> Any:
            rows = heard(packet).after(TABLE)
            return heard(packet).reply(rows) if rows[0][1] < 50 else None

        with pytest.raises(TransportError, match="no answer from 127"):
            ask.walk(agent(answer).port, COLUMN, retries=1)

    def test_a_port_where_nobody_listens_is_given_up(self, ask: Any) -> None:
        with pytest.raises(TransportError, match="no answer"):
            ask.walk(9, COLUMN)

    def test_answers_just_in_time_for_ever_are_ended_by_the_callers_deadline(
        self, agent: AgentMaker, ask: Any, heard: Any
    ) -> None:
        def answer(packet: bytes) -> Any:
            time.sleep(0.15)
            request = heard(packet)
            return request.reply(request.after(TABLE)[:1])

        port, started = agent(answer).port, time.monotonic()

        with pytest.raises(TimeoutError):
            ask.walk(port, COLUMN, deadline_s=1.0)

        assert time.monotonic() - started < 1.5
