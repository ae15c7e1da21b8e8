"""What holds for both engines: whole columns, by whatever detours an agent makes them take; and single cells."""

from collections.abc import Callable
from typing import Any

import pytest

from ingest.errors import TransportError
from ingest.snmp.guards import KnownOrders, Repetitions, WalkGuard
from ingest.snmp.transport import Column

COLUMN = "1.3.6.1.2.1.99.1.1.1.4"
ROWS: list[tuple[str, int | bytes]] = [(f"{COLUMN}.{n}", n) for n in range(1, 101)]
TABLE = [*ROWS, (COLUMN[:-1] + "5.1", 1)]  # the next column: a walk must stop before it
TREE = dict(TABLE)
OIDS = [oid for oid, _ in ROWS]
TOO_BIG, NO_SUCH_NAME, GEN_ERR = 1, 2, 5
NO_SUCH_INSTANCE = b"\x81\x00"

AgentMaker = Callable[..., Any]


@pytest.fixture(name="whole")
def _whole() -> Column:
    return {str(n): n for n in range(1, 101)}


class TestWalk:
    @pytest.mark.parametrize("version", ["1", "2c"])
    @pytest.mark.parametrize("expect", [0, 1, 100])
    def test_a_column_ends_where_the_next_begins(
        self, agent: AgentMaker, ask: Any, heard: Any, whole: Column, version: str, expect: int
    ) -> None:
        port = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE))).port

        assert whole == ask.walk(port, COLUMN, version=version, expect=expect)

    @pytest.mark.parametrize("version", ["1", "2c"])
    def test_a_column_ends_where_the_device_does(
        self, agent: AgentMaker, ask: Any, heard: Any, whole: Column, version: str
    ) -> None:
        def answer(packet: bytes) -> bytes:
            request = heard(packet)
            rows = request.after(ROWS)
            if version == "1":
                return bytes(request.reply(rows) if rows else request.echo(NO_SUCH_NAME))
            return bytes(request.reply(rows + [(request.oids[0], b"\x82\x00")] * (request.rows - len(rows))))

        assert whole == ask.walk(agent(answer).port, COLUMN, version=version)

    def test_a_column_that_is_not_there_is_empty(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        port = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE[100:]))).port

        assert {} == ask.walk(port, COLUMN)

    def test_too_big_is_asked_again_for_less(self, agent: AgentMaker, ask: Any, heard: Any, whole: Column) -> None:
        """gufo-snmp ends its iterator at an error as if the table were empty."""

        def answer(packet: bytes) -> Any:
            request = heard(packet)
            return request.reply([], TOO_BIG) if request.rows > 2 else request.reply(request.after(TABLE))

        assert whole == ask.walk(agent(answer).port, COLUMN)

    def test_too_big_in_the_middle_loses_nothing(self, agent: AgentMaker, ask: Any, heard: Any, whole: Column) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            rows = request.after(TABLE)
            grown = request.rows > 10 and rows[0][1] > 50
            return request.reply([], TOO_BIG) if grown else request.reply(rows)

        assert whole == ask.walk(agent(answer).port, COLUMN)

    def test_fewer_rows_an_answer_than_asked_for_lose_nothing(
        self, agent: AgentMaker, ask: Any, heard: Any, whole: Column
    ) -> None:
        """RFC 3416 lets agents answer with as many as fit."""
        port = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE)[:7])).port

        assert whole == ask.walk(port, COLUMN)

    def test_silence_at_large_requests_is_asked_again_for_less(
        self, agent: AgentMaker, ask: Any, heard: Any, whole: Column
    ) -> None:
        """Huawei's agents at 50 rows: the answer would pass UDP's limit."""

        def answer(packet: bytes) -> Any:
            request = heard(packet)
            return None if request.rows > 25 else request.reply(request.after(TABLE))

        assert whole == ask.walk(agent(answer).port, COLUMN, max_repetitions=50)

    def test_fewer_rows_than_there_were_are_asked_for_in_smaller_answers(
        self, agent: AgentMaker, ask: Any, heard: Any, whole: Column
    ) -> None:
        """An agent that leaves out rows where many are asked for."""

        def answer(packet: bytes) -> Any:
            request = heard(packet)
            rows = request.after(TABLE)
            return request.reply(rows[::2] if request.rows > 12 else rows)

        port = agent(answer).port

        assert whole == ask.walk(port, COLUMN, expect=100)
        assert 100 > len(ask.walk(port, COLUMN))

    def test_rows_that_are_gone_are_found_gone_at_once(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        """A module was pulled: not one more attempt than it takes to be sure."""
        gone = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE[90:])))

        assert {str(n): n for n in range(91, 101)} == ask.walk(gone.port, COLUMN, expect=100)
        assert 3 >= len(gone.heard)

    def test_what_is_expected_comes_in_equal_answers(
        self, agent: AgentMaker, ask: Any, heard: Any, whole: Column
    ) -> None:
        exact = agent(lambda packet: heard(packet).reply(heard(packet).after(TABLE)))

        assert whole == ask.walk(exact.port, COLUMN, expect=100, max_repetitions=60)
        assert [51, 51] == [heard(packet).rows for packet in exact.heard]

    def test_the_community_is_not_shown(self, ask: Any) -> None:
        assert "public" not in repr(ask.open(161))


class TestGet:
    @pytest.mark.parametrize("version", ["1", "2c"])
    def test_any_number_of_cells_comes_without_those_that_are_not_there(
        self, agent: AgentMaker, ask: Any, heard: Any, version: str
    ) -> None:
        """gufo-snmp gives nothing at all where version 1 misses one."""

        def answer(packet: bytes) -> Any:
            request = heard(packet)
            missing = [oid for oid in request.oids if oid not in TREE]
            if version == "1" and missing:
                return request.echo(NO_SUCH_NAME)
            return request.reply([(oid, TREE.get(oid, NO_SUCH_INSTANCE)) for oid in request.oids])

        got = ask.get(agent(answer).port, [*OIDS[:50], f"{COLUMN}.4711", *OIDS[50:]], version=version)

        assert dict(ROWS) == got

    @pytest.mark.parametrize("fault", ["too big", "silent", "genErr"])
    def test_what_is_too_much_at_once_comes_in_parts(self, agent: AgentMaker, ask: Any, heard: Any, fault: str) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            if len(request.oids) > 9:
                return {"too big": request.reply([], TOO_BIG), "genErr": request.echo(GEN_ERR)}.get(fault)
            return request.reply([(oid, TREE[oid]) for oid in request.oids])

        assert dict(ROWS) == ask.get(agent(answer).port, OIDS)

    def test_one_broken_sensor_costs_itself_only(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        def answer(packet: bytes) -> Any:
            request = heard(packet)
            broken = OIDS[41] in request.oids
            return request.echo(GEN_ERR) if broken else request.reply([(oid, TREE[oid]) for oid in request.oids])

        assert dict(ROWS[:41] + ROWS[42:]) == ask.get(agent(answer).port, OIDS)

    def test_nothing_is_asked_for_nothing(self, ask: Any) -> None:
        assert {} == ask.get(9, [])

    def test_silence_is_given_up(self, agent: AgentMaker, ask: Any) -> None:
        silent = agent(lambda _: None)

        with pytest.raises(TransportError, match="no answer from 127"):
            ask.get(silent.port, OIDS, retries=1)

        assert 2 == len(silent.heard)

    def test_cells_that_were_not_asked_for_are_dropped(self, agent: AgentMaker, ask: Any, heard: Any) -> None:
        port = agent(lambda packet: heard(packet).reply(ROWS[:3])).port

        assert {OIDS[1]: 2} == ask.get(port, [OIDS[1]])


def test_a_walk_longer_than_any_device_is_ended() -> None:
    guard = WalkGuard(COLUMN, max_cells=10)
    taken = [guard.take(oid, 0) for oid, _ in ROWS[:10]]

    with pytest.raises(TransportError, match="more than 10 rows"):
        guard.take(ROWS[10][0], 0)

    assert all(taken)


def test_one_lost_packet_does_not_make_walks_slow_for_ever() -> None:
    repetitions = Repetitions(50)

    repetitions.worked(25, failed=50)
    repetitions.worked(50)
    repetitions.worked(25, failed=50)
    assert 50 == repetitions.most

    repetitions.worked(25, failed=50)
    assert 25 == repetitions.most


def test_losses_of_small_walks_do_not_make_large_ones_slow() -> None:
    repetitions = Repetitions(25)

    repetitions.worked(5, failed=10)
    repetitions.worked(22)
    repetitions.worked(5, failed=10)

    assert 25 == repetitions.most


def test_a_size_that_failed_twice_is_tried_again_in_the_end() -> None:
    repetitions = Repetitions(50)
    for _ in range(2):
        repetitions.worked(25, failed=50)

    for _ in range(Repetitions.TRIED_AGAIN_AFTER):
        repetitions.worked(22)
    assert 50 == repetitions.most

    repetitions.worked(25, failed=50)
    assert 25 == repetitions.most


@pytest.mark.parametrize("indices", [["1", "3", "2"], ["1.1", "1"], ["10", "9"], ["", "1"]])
def test_an_order_that_was_found_good_does_not_make_a_bad_one_good(indices: list[str]) -> None:
    orders = KnownOrders()
    orders.check(COLUMN, dict.fromkeys(["1", "2", "10"], 0))
    orders.check(COLUMN, dict.fromkeys(["1", "2", "10"], 1))

    with pytest.raises(TransportError, match="do not increase"):
        orders.check(COLUMN, dict.fromkeys(indices, 0))
