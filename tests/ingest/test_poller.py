"""Sweeps: every device's rows in one commit a table, failures apart, installations once, stops that write."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from ingest.collect.device import Device
from ingest.collect.installed import Installations
from ingest.collect.poll import Poll
from ingest.collect.poller import Poller, Sweep
from ingest.config import Config
from ingest.decode.profile import load_profile
from ingest.errors import LakeError, TransportError
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Quality, Table
from ingest.snmp.transport import Cell, Column, ReplayTransport


class Sink:
    """Keeps what is appended; fails once where told to."""

    def __init__(self, *, broken: bool = False) -> None:
        self.appended: list[tuple[str, pa.Table]] = []
        self.broken = broken

    def append(self, table: Table, rows: pa.Table) -> None:
        if self.broken:
            self.broken = False
            msg = "disk full"
            raise LakeError(msg)
        self.appended.append((table.name, rows))

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return [row for name, rows in self.appended if name == table.name for row in rows.to_pylist()]


def _config(*targets: tuple[str, int, str], **collect: Any) -> Config:
    return Config.model_validate(
        {
            "collect": collect,
            "target": [
                {
                    "device": device,
                    "address": "127.0.0.1",
                    "port": port,
                    "snmp": {"community": community, "timeout_s": 2.0 if community == device else 0.2},
                }
                for device, port, community in targets
            ],
        }
    )


async def _sweep(poller: Poller, times: int = 1) -> Sweep:
    try:
        for _ in range(times - 1):
            await poller.sweep()
        return await poller.sweep()
    finally:
        poller.close()


@pytest.mark.device
@pytest.mark.snmpd
class TestAgainstRecordings:
    def test_a_sweep_is_one_commit_a_table(self, responder: Any) -> None:
        names = ["cisco-nxos-n9k", "juniper-qfx5130", "dell-z9100"]
        sink = Sink()

        sweep = asyncio.run(_sweep(Poller(_config(*((n, responder.port, n) for n in names)), sink)))

        assert [] == sweep.failed
        assert ["lane_samples", "port_samples", "modules"] == [name for name, _ in sink.appended]
        assert set(names) == {row["device"] for row in sink.rows(LANE_SAMPLES)}
        for table, (_, rows) in zip((LANE_SAMPLES, PORT_SAMPLES, MODULES), sink.appended, strict=True):
            assert table.schema.equals(rows.schema)

    def test_rows_are_the_devices_values(self, responder: Any) -> None:
        sink = Sink()
        asyncio.run(_sweep(Poller(_config(("cisco-iosxe-c9500x", responder.port, "cisco-iosxe-c9500x")), sink)))
        (lane,) = (r for r in sink.rows(LANE_SAMPLES) if r["interface"] == "Fif1/0/10")
        (port,) = (r for r in sink.rows(PORT_SAMPLES) if r["interface"] == "Fif1/0/10")

        assert (0, 25.0, 0.0) == (lane["lane"], lane["tx_bias_ma"], lane["tx_power_dbm"])
        assert lane["rx_power_dbm"] == pytest.approx(-1.6)
        assert ("OPM23430UZB", "snmp", 0) == (lane["serial"], lane["source"], lane["quality"])
        assert (18.0, True, True) == (port["temperature_c"], port["oper_up"], port["admin_up"])
        assert port["voltage_v"] == pytest.approx(3.2)
        assert lane["time"] == lane["received_at"] == port["time"]

    def test_installations_are_written_once(self, responder: Any) -> None:
        sink = Sink()
        asyncio.run(_sweep(Poller(_config(("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")), sink), times=2))
        modules = sink.rows(MODULES)

        assert 2 == [name for name, _ in sink.appended].count("lane_samples")
        assert 7 == len(modules)
        assert all(row["installed_at"] and row["removed_at"] is None for row in modules)
        assert {-12.7, -11.897} == {round(row["rx_power_low_alarm_dbm"], 3) for row in modules}

    def test_what_the_lake_knows_is_not_written_again(self, responder: Any) -> None:
        config = _config(("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k"))
        first, second = Sink(), Sink()
        asyncio.run(_sweep(Poller(config, first)))
        asyncio.run(_sweep(Poller(config, second, Installations.of(first.rows(MODULES)))))

        assert [] == second.rows(MODULES)

    def test_a_failed_write_is_an_error_and_loses_no_installation(self, responder: Any) -> None:
        sink = Sink(broken=True)

        async def twice() -> None:
            poller = Poller(_config(("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")), sink)
            with pytest.raises(LakeError, match="disk full"):
                await poller.sweep()
            await _sweep(poller)

        asyncio.run(twice())

        assert 7 == len(sink.rows(MODULES))

    def test_one_silent_target_costs_only_its_own_rows(self, responder: Any, agent: Callable[..., Any]) -> None:
        silent = agent(lambda _: None)
        sink = Sink()
        config = _config(
            ("leaf07", silent.port, "any"),
            ("leaf08", responder.port, "no-such-community"),
            ("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k"),
        )

        sweep = asyncio.run(_sweep(Poller(config, sink)))

        assert ["leaf07", "leaf08"] == [poll.target.device for poll in sweep.failed]
        assert {"cisco-nxos-n9k"} == {row["device"] for row in sink.rows(LANE_SAMPLES)}
        for poll, port in zip(sweep.failed, (silent.port, responder.port), strict=True):
            assert f"from 127.0.0.1:{port} (wrong address, or wrong community" in str(poll.error)
            assert "\n" not in str(poll.error)


def test_a_device_that_takes_too_long_is_given_up_at_its_deadline(agent: Callable[..., Any]) -> None:
    silent = agent(lambda _: None)
    config = Config.model_validate(
        {
            "collect": {"deadline_s": 0.5},
            "target": [
                {
                    "device": "slow",
                    "address": "localhost",
                    "port": silent.port,
                    "snmp": {"community": "x", "timeout_s": 60},
                }
            ],
        }
    )
    started = time.monotonic()

    sweep = asyncio.run(_sweep(Poller(config, Sink())))

    assert time.monotonic() - started < 5
    assert "not done within 0.5 s" in str(sweep.failed[0].error)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"address": "no.such.host.invalid"}, "cannot resolve"),
        ({"snmp": {"community_env": "NOT_SET_ANYWHERE"}}, "NOT_SET_ANYWHERE"),
        ({"protocol": "gnmi", "snmp": None, "gnmi": {"insecure": True}}, "no answer from 127.0.0.1:9"),
        ({"protocol": "gnmi", "gnmi": {"token_env": "NOT_SET_ANYWHERE"}}, "NOT_SET_ANYWHERE"),
        ({"snmp": {"community": "x", "profile": "entity_senser", "timeout_s": 0.1}}, "no profile 'entity_senser'"),
    ],
)
def test_a_target_that_cannot_be_asked_says_why(change: dict[str, Any], reason: str) -> None:
    target = {"device": "leaf01", "address": "127.0.0.1", "port": 9, "snmp": {"community": "x"}} | change

    sweep = asyncio.run(_sweep(Poller(Config.model_validate({"target": [target]}), Sink())))

    assert reason in str(sweep.failed[0].error)


def test_an_unexpected_failure_of_one_device_is_told_and_does_not_end_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def surprise(*_: Any, **__: Any) -> Poll:
        msg = "odd"
        raise ArithmeticError(msg)

    monkeypatch.setattr("ingest.collect.device.Device.poll", surprise)

    sweep = asyncio.run(_sweep(Poller(_config(("leaf01", 9, "x")), Sink())))

    assert "unexpected answer: ArithmeticError: odd" == sweep.failed[0].error


class Losing(ReplayTransport):
    """Falls silent at a column, as a device does whose agent restarts in the middle of a poll."""

    lost = ""

    async def walk(self, oid: str, expect: int = 0) -> Column:
        if oid.startswith(self.lost):
            msg = "no answer from 192.0.2.1:161"
            raise TransportError(msg)
        return await super().walk(oid, expect)


class Hanging(ReplayTransport):
    """Answers no more from a column on."""

    async def walk(self, oid: str, expect: int = 0) -> Column:
        if oid.startswith("1.0.8802."):  # LLDP-MIB, the last of a discovery
            await asyncio.sleep(60)
        return await super().walk(oid, expect)


@pytest.mark.device
def test_a_poll_that_ran_out_of_time_after_its_readings_says_so(recordings: Path) -> None:
    transport = Hanging.read(recordings / "arista-eos.snmprec")

    poll = asyncio.run(Device(_config(("leaf01", 161, "x")).target[0]).poll(transport, Installations(), deadline_s=3))

    assert "partial: not done within its deadline" == poll.error


@pytest.mark.device
def test_a_poll_that_lost_its_inventory_is_partial_and_installs_nothing(recordings: Path) -> None:
    transport = Losing.read(recordings / "arista-eos.snmprec")
    transport.lost = "1.3.6.1.2.1.47.1.1.1.1.11"  # serial numbers
    target = _config(("leaf01", 161, "x")).target[0]

    poll = asyncio.run(Device(target).poll(transport, Installations()))

    assert poll.partial
    assert not poll.failed
    assert "partial: no answer from 192.0.2.1:161" == poll.error
    assert [] == poll.modules
    assert poll.lanes is not None
    assert {int(Quality.PARTIAL_POLL)} == set(poll.lanes["quality"].to_pylist())


@pytest.mark.device
def test_a_poll_that_lost_a_sensor_column_gives_nothing(recordings: Path) -> None:
    transport = Losing.read(recordings / "arista-eos.snmprec")
    transport.lost = "1.3.6.1.2.1.99.1.1.1.3"  # precision: every value would be wrong

    with pytest.raises(TransportError):
        asyncio.run(Device(_config(("leaf01", 161, "x")).target[0]).poll(transport, Installations()))


SERIAL = "1.3.6.1.2.1.47.1.1.1.1.11.48878"  # of Ethernet1/25


@pytest.mark.device
def test_a_new_serial_number_ends_one_installation_and_begins_another(recordings: Path) -> None:
    device, known = Device(_config(("leaf01", 161, "x")).target[0]), Installations()
    walk = ReplayTransport.read(recordings / "cisco-nxos-n9k.snmprec")
    before = asyncio.run(device.poll(walk, known))
    known.accept(before.modules)
    walk._cells[SERIAL] = b"NEW0001"

    after = asyncio.run(device.poll(walk, known))

    assert ["J267C037", "NEW0001"] == [row["serial"] for row in after.modules]
    ended, begun = after.modules
    assert ended["removed_at"] == begun["installed_at"] == begun["received_at"]
    assert ended["installed_at"] == before.modules[0]["installed_at"]
    assert after.lanes is not None
    assert {"NEW0001"} == {r["serial"] for r in after.lanes.to_pylist() if r["interface"] == "Ethernet1/25"}


@pytest.mark.device
def test_a_serial_number_that_is_not_told_any_more_is_no_swap(recordings: Path) -> None:
    """Silence is not a removal (field_faults.md, row 43)."""
    device, known = Device(_config(("leaf01", 161, "x")).target[0]), Installations()
    walk = ReplayTransport.read(recordings / "cisco-nxos-n9k.snmprec")
    known.accept(asyncio.run(device.poll(walk, known)).modules)
    walk._cells[SERIAL] = b""

    assert [] == asyncio.run(device.poll(walk, known)).modules


@pytest.mark.device
def test_a_device_whose_own_mib_is_empty_is_asked_by_the_standards(recordings: Path) -> None:
    """An unknown sysObjectID, or a vendor's newer system: ENTITY-SENSOR-MIB is tried at last."""
    walk = ReplayTransport.read(recordings / "arista-eos.snmprec")
    walk._cells["1.3.6.1.2.1.1.2.0"] = "1.3.6.1.4.1.2636.1.1.1.2.90"
    target = _config(("leaf01", 161, "x")).target[0]

    poll = asyncio.run(Device(target).poll(walk, Installations()))

    assert load_profile("entity_sensor").name == poll.profile
    assert 35 == poll.port_count


@pytest.mark.device
@pytest.mark.snmpd
def test_sweeps_go_on_until_told_to_stop_and_the_last_is_written(responder: Any) -> None:
    sink, seen = Sink(), []
    config = _config(("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k"), interval_s=1, deadline_s=20)

    async def go() -> None:
        stop = asyncio.Event()
        poller = Poller(config, sink)

        def report(outcome: object) -> None:
            seen.append(outcome)
            if len(seen) == 2:
                stop.set()

        await asyncio.wait_for(poller.run(stop, report), 60)
        poller.close()

    asyncio.run(go())

    assert 2 == len(seen)
    assert all(isinstance(outcome, Sweep) and not outcome.failed for outcome in seen)
    assert 2 == [name for name, _ in sink.appended].count("lane_samples")


@pytest.mark.device
@pytest.mark.snmpd
def test_a_stop_in_the_middle_writes_what_is_there(responder: Any, agent: Callable[..., Any]) -> None:
    silent = agent(lambda _: None)
    sink, stop = Sink(), asyncio.Event()
    done = ("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")
    config = _config(done, ("leaf07", silent.port, "leaf07"))

    async def go() -> Sweep:
        poller = Poller(config, sink, done=lambda _: stop.set())
        return await asyncio.wait_for(poller.sweep(stop), 30)

    sweep = asyncio.run(go())

    assert ["cisco-nxos-n9k"] == [poll.target.device for poll in sweep.polls]
    assert {"cisco-nxos-n9k"} == {row["device"] for row in sink.rows(LANE_SAMPLES)}


class Scripted:
    """A connection to a switch in memory, with an SNMPv3 engine ID; silent when told."""

    answered = True
    silent: ClassVar[set[str]] = set()
    asked: ClassVar[Counter[str]] = Counter()

    def __init__(self, switch: Any, target: Any) -> None:
        self._switch, self._target = switch, target

    async def walk(self, oid: str, expect: int = 0) -> Column:
        self._ask()
        return dict(await self._switch.walk(oid, expect))

    async def get(self, oids: Iterable[str]) -> dict[str, Cell]:
        self._ask()
        return dict(await self._switch.get(oids))

    def _ask(self) -> None:
        self.asked[self._target.device] += 1
        if self._target.device in self.silent:
            msg = "no answer"
            raise TransportError(msg)

    def engine_id(self) -> bytes | None:
        return bytes.fromhex("80001f8804") + (b"twin" if self._target.device != "leaf03" else b"own")

    def close(self) -> None:
        pass


@pytest.fixture(name="scripted")
def _scripted(monkeypatch: pytest.MonkeyPatch, switch_of: Callable[[], Any]) -> type[Scripted]:
    async def connect(target: Any) -> Scripted:
        return Scripted(switch_of(), target)

    monkeypatch.setattr("ingest.collect.poller.connect", connect)
    Scripted.silent.clear()
    Scripted.asked.clear()
    return Scripted


@pytest.mark.usefixtures("scripted")
def test_devices_with_one_engine_id_are_named() -> None:
    poller = Poller(_config(*((device, 161, "x") for device in ("leaf01", "leaf02", "leaf03"))), Sink())
    first, second = (asyncio.run(poller.sweep()) for _ in range(2))

    assert 1 == len(first.notes)
    assert "leaf01, leaf02 have the same SNMPv3 engine ID 80001f8804" in first.notes[0]
    assert [] == second.notes


def test_a_dead_switch_is_left_alone_longer_each_time(scripted: type[Scripted]) -> None:
    """Asked again at the next sweep, then ever less often, each time by one question (a probe)."""
    poller = Poller(_config(("leaf01", 161, "x"), ("leaf02", 161, "x"), interval_s=0.25), Sink())
    scripted.silent.add("leaf01")
    asked = []
    for _ in range(4):
        before = scripted.asked["leaf01"]
        sweep = asyncio.run(poller.sweep())
        asked.append(scripted.asked["leaf01"] - before)
        assert ["leaf02"] == [poll.target.device for poll in sweep.polls if not poll.failed]
    time.sleep(1.0)
    scripted.silent.clear()
    asyncio.run(poller.sweep())
    back = asyncio.run(poller.sweep())

    assert [1, 1, 0, 0] == asked
    assert {"leaf01", "leaf02"} == {poll.target.device for poll in back.polls if not poll.failed}
    assert [] == back.waiting


@pytest.mark.usefixtures("scripted")
def test_a_clock_that_was_set_marks_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Sink()
    poller = Poller(_config(("leaf01", 161, "x")), sink)
    asyncio.run(poller.sweep())
    real = time.time
    monkeypatch.setattr("ingest.collect.poller.time.time", lambda: real() - 3600)
    asyncio.run(poller.sweep())
    asyncio.run(poller.sweep())

    marks = [
        {Quality(q) for q in rows["quality"].to_pylist()} for name, rows in sink.appended if name == "lane_samples"
    ]
    assert [{Quality(0)}, {Quality.CLOCK_SKEW}, {Quality(0)}] == marks
