"""UFM's PDR: the vendor's test vectors, the documented bit-error limits, and what the manager makes of them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from features.fleet import PORT, Fleet
from models.baselines.pdr import (
    AS_DOCUMENTED,
    AS_SHIPPED,
    FIXED_RATE,
    RULE_SETS,
    PdrRules,
    pdr_issues,
    pdr_news,
)
from models.baselines.pdr_manager import isolations

MakeFleet = Callable[..., Fleet]
Truth = dict[int, dict[int, str]]

POLL = timedelta(minutes=5)
PORTS, POLLS = 10, 12

VECTORS: dict[tuple[int, int], dict[str, float]] = {
    (3, 1): {"crc_errors": 50},
    (3, 2): {"crc_errors": 500},
    (8, 4): {"remote_physical_errors": 50},
    (8, 5): {"remote_physical_errors": 500},
    (4, 3): {"temperature_c": 90.0},
    (6, 3): {"temperature_c": 25.0},
    **{(2, poll): {"link_flaps": poll - 2} for poll in (4, 5, 6)},
    **{(1, poll): {"link_flaps": poll - 1} for poll in (2, 3)},
    **{(9, poll): {"link_flaps": poll - 7} for poll in (8, 9)},
    **{(5, poll): {"link_flaps": poll} for poll in range(1, 10)},
}
"""By port and poll what the vendor's simulator sends; at all other polls the defaults."""

TRUTH: Truth = {
    2: {3: "pdr"},
    3: {1: "link_down", 4: "oonoc", 6: "oonoc"},
    4: {4: "oonoc", 6: "oonoc"},
    5: {2: "link_down", 8: "pdr"},
    6: {2: "link_down"},
    9: {9: "link_down"},
}


def _sample(start: datetime, device: str, port: int, poll: int, values: dict[str, Any]) -> dict[str, Any]:
    defaults = {
        "in_packets": 1_000_000 + 10 * poll,
        "crc_errors": 0,
        "remote_physical_errors": 0,
        "link_flaps": 0,
        "fec_uncorrected": 0,
        "temperature_c": 5.0,
        "oper_up": True,
    }
    where = {"site": "default", "device": device, "interface": f"Ethernet{port}", "time": start + poll * POLL}
    return {**where, "quality": 0, **defaults, **values}


@pytest.fixture(name="vendor", scope="module")
def _vendor(start: datetime) -> list[pl.LazyFrame]:
    """The vendor's ten ports, each with a shadow at the far end that counts the same link-downs."""
    near, far = [], []
    for poll in range(POLLS):
        for port in range(PORTS):
            values = VECTORS.get((port, poll), {})
            near.append(_sample(start, "leaf01", port, poll, values))
            downs = {name: value for name, value in values.items() if name == "link_flaps"}
            far.append(_sample(start, "spine01", port, poll, downs))
    return [pl.DataFrame(near).lazy(), pl.DataFrame(far).lazy()]


@pytest.fixture(name="excluded", scope="module")
def _excluded(start: datetime) -> pl.DataFrame:
    """Port 1 until the next poll, port 9 for 60 s, port 5 for ever; a port and its shadow alike."""
    spans = [(1, start + POLL), (9, start + timedelta(seconds=60)), (5, None)]
    rows = [
        ("default", device, f"Ethernet{port}", start, end) for port, end in spans for device in ("leaf01", "spine01")
    ]
    time = pl.Datetime("us", "UTC")
    return pl.DataFrame(
        rows, schema=[*((name, pl.String) for name in PORT), ("start", time), ("end", time)], orient="row"
    )


def _table(news: pl.DataFrame, start: datetime, device: str = "leaf01") -> Truth:
    """By poll and port the cause."""
    found: Truth = {}
    for row in pdr_issues(news).filter(pl.col("device") == device).iter_rows(named=True):
        poll = (row["time"] - start) // POLL
        found.setdefault(poll, {})[int(row["interface"].removeprefix("Ethernet"))] = row["quantity"]
    return found


@pytest.mark.parametrize("rules", [AS_SHIPPED, AS_DOCUMENTED], ids=lambda rules: rules.name)
def test_the_vendors_vectors_give_the_vendors_table(
    vendor: list[pl.LazyFrame], excluded: pl.DataFrame, make_fleet: MakeFleet, start: datetime, rules: PdrRules
) -> None:
    news = pdr_news(vendor, make_fleet(PORTS), rule_sets=[rules], excluded=excluded)

    assert _table(news[rules.name], start) == TRUTH


def test_link_downs_need_the_far_end(vendor: list[pl.LazyFrame], make_fleet: MakeFleet, start: datetime) -> None:
    """Reboots and switched-off ports count at one end."""
    near, _ = vendor
    alone = {poll: {p: c for p, c in ports.items() if c != "link_down"} for poll, ports in TRUTH.items()}

    news = pdr_news([near], make_fleet(PORTS), rule_sets=[AS_SHIPPED])

    assert {poll: ports for poll, ports in alone.items() if ports} == _table(news["as_shipped"], start)


def test_a_step_from_0_counts_only_in_the_fixed_set(
    vendor: list[pl.LazyFrame], excluded: pl.DataFrame, make_fleet: MakeFleet, start: datetime
) -> None:
    table = _table(pdr_news(vendor, make_fleet(PORTS), excluded=excluded)["fixed_rate"], start)

    assert {3: "pdr"} == table[1]
    assert {**TRUTH.get(2, {}), 1: "link_down"} == table[2]
    assert {**TRUTH[4], 2: "link_down", 8: "pdr"} == table[4]


def _series(start: datetime, column: str, values: list[Any], **others: Any) -> list[pl.LazyFrame]:
    """Both ends' polls of one link; the near end's column has the values."""
    rows = [_sample(start, "leaf01", 0, poll, {column: value, **others}) for poll, value in enumerate(values)]
    rows += [_sample(start, "spine01", 0, poll, {}) for poll in range(len(values))]
    return [pl.DataFrame(rows, schema_overrides={column: pl.Int64} if column != "temperature_c" else None).lazy()]


@pytest.mark.parametrize(("speed_gbps", "errors"), [(100, 1), (200, 2), (400, 3), (800, 6)])
def test_documented_bit_errors_are_counted_against_the_links_rate(
    make_fleet: MakeFleet, start: datetime, speed_gbps: float, errors: int
) -> None:
    """Twelve minutes bear 0.72 errors for each 100G: one more than the limit's whole part fires, that part does not."""
    fleet = make_fleet(speed_gbps=speed_gbps)

    for count, fires in ((errors, True), (errors - 1, False)):
        news = pdr_news(_series(start, "fec_uncorrected", [7] * 6 + [7 + count] * 3), fleet)
        assert fires == (6 in _table(news["as_documented"], start))
        assert {} == _table(news["as_shipped"], start)


def test_two_hours_bear_as_few_errors_as_twelve_minutes(make_fleet: MakeFleet, start: datetime) -> None:
    """One error in 25 minutes is four in two hours, more than 3 at 400G, though never more than one in 15 minutes."""
    counts = [100 + poll // 5 for poll in range(30)]

    table = _table(pdr_news(_series(start, "fec_uncorrected", counts), make_fleet())["as_documented"], start)

    assert set(range(25, 30)) == set(table)
    assert {"ber"} == {cause for ports in table.values() for cause in ports.values()}


def test_bit_errors_of_a_link_without_signal_are_none(make_fleet: MakeFleet, start: datetime) -> None:
    counts = [7] * 6 + [70] * 3

    news = pdr_news(_series(start, "fec_uncorrected", counts, oper_up=False), make_fleet())

    assert {} == _table(news["as_documented"], start)


def test_shipped_bit_errors_fire_beyond_all_bits_of_the_link(make_fleet: MakeFleet, start: datetime) -> None:
    """More than 2.88 errors for every bit: the plugin's defect, kept as it is."""
    every_bit = 900 * 100 * 4 * 2**30

    for ratio, fires in ((2.8, False), (2.9, True)):
        counts = [7] * 6 + [7 + int(ratio * every_bit)]
        news = pdr_news(_series(start, "fec_uncorrected", counts), make_fleet())
        assert fires == (6 in _table(news["as_shipped"], start))


def test_a_reset_or_a_missing_count_is_no_rate(make_fleet: MakeFleet, start: datetime) -> None:
    counts = [50, 50, None, 50, 3, 3]

    news = pdr_news(_series(start, "crc_errors", counts), make_fleet())

    assert [{}, {}, {}] == [_table(news[rules.name], start) for rules in RULE_SETS]


def test_a_temperature_that_is_missing_is_not_0(make_fleet: MakeFleet, start: datetime) -> None:
    news = pdr_news(_series(start, "temperature_c", [45.0, None, float("nan"), 46.0]), make_fleet())

    assert {} == _table(news["as_shipped"], start)


def test_the_last_temperature_told_outweighs_other_causes(make_fleet: MakeFleet, start: datetime) -> None:
    rows = [
        _sample(start, "leaf01", 0, poll, {"crc_errors": 50 * poll, "temperature_c": t})
        for poll, t in enumerate([71.0, None, None])
    ]

    news = pdr_news([pl.DataFrame(rows).lazy()], make_fleet())

    assert {0: {0: "oonoc"}, 2: {0: "oonoc"}} == _table(news["as_shipped"], start)


def test_of_polls_within_a_round_the_last_counts(make_fleet: MakeFleet, start: datetime) -> None:
    """A minute's polls are read every five minutes, as the plugin's loop would."""
    minute = timedelta(minutes=1)
    rows = [
        _sample(start, "leaf01", 0, 0, {"time": start + i * minute, "temperature_c": 90.0 if i == 7 else 45.0})
        for i in range(15)
    ]

    news = pdr_news([pl.DataFrame(rows).lazy()], make_fleet())

    assert {} == _table(news["as_shipped"], start)


def test_doubtful_samples_and_ports_of_no_inventory_are_not_looked_at(make_fleet: MakeFleet, start: datetime) -> None:
    marked = _series(start, "temperature_c", [45.0, 90.0, 45.0])[0].with_columns(
        quality=(pl.col("temperature_c") > 80).cast(pl.Int16)
    )
    stranger = marked.with_columns(device=pl.lit("unknown"), quality=pl.lit(0))

    news = pdr_news([marked, stranger], make_fleet())

    assert news["as_shipped"].is_empty()


def test_without_samples_there_is_an_answer(make_fleet: MakeFleet, start: datetime) -> None:
    columns = {"site": pl.String, "device": pl.String, "interface": pl.String, "quality": pl.Int16}
    nothing = pl.LazyFrame(schema={**columns, "time": pl.Datetime("us", "UTC")})

    assert all(news.is_empty() for news in pdr_news([nothing], make_fleet()).values())
    assert all(news.is_empty() for news in pdr_news([], make_fleet()).values())


class TestManager:
    def _spans(self, alarms: pl.DataFrame, start: datetime) -> list[tuple[str, int, int | None, str]]:
        """Interface, polls of isolation and of return, cause."""
        return [
            (
                row["interface"],
                (row["raised_at"] - start) // POLL,
                row["cleared_at"] and (row["cleared_at"] - start) // POLL,
                row["quantity"],
            )
            for row in alarms.iter_rows(named=True)
        ]

    def _isolations(
        self, samples: list[pl.LazyFrame], fleet: Fleet, end: datetime, rules: PdrRules = AS_DOCUMENTED
    ) -> pl.DataFrame:
        return isolations(pdr_news(samples, fleet)[rules.name], fleet, rules, end=end)

    def test_a_port_returns_unchecked_after_five_minutes(self, make_fleet: MakeFleet, start: datetime) -> None:
        samples = _series(start, "crc_errors", [1, 2, 2, 2, 3, 3])

        found = self._isolations(samples, make_fleet(), start + 20 * POLL)

        assert [("Ethernet0", 1, 2, "pdr"), ("Ethernet0", 4, 5, "pdr")] == self._spans(found, start)

    def test_a_hot_port_stays_until_it_is_cool(self, make_fleet: MakeFleet, start: datetime) -> None:
        heat = [65.0, 71.0, 72.0, 71.0, 70.0, 69.0]

        found = self._isolations(_series(start, "temperature_c", heat), make_fleet(), start + 20 * POLL)

        assert [("Ethernet0", 1, 4, "oonoc")] == self._spans(found, start)

    def test_bit_errors_must_have_been_few_for_two_hours(self, make_fleet: MakeFleet, start: datetime) -> None:
        counts = [7] * 30 + [70] * 40

        found = self._isolations(_series(start, "fec_uncorrected", counts), make_fleet(), start + 60 * POLL)

        assert [("Ethernet0", 30, 30 + 26, "ber")] == self._spans(found, start)  # 26 polls are 7,800 s

    def test_ten_isolated_ports_are_the_most(self, make_fleet: MakeFleet, start: datetime) -> None:
        """The eleventh waits until one is back; of a large fabric half a per cent may be isolated."""
        rows = [
            _sample(start, "leaf01", port, poll, {"temperature_c": 71.0}) for poll in range(3) for port in range(12)
        ]
        samples = [pl.DataFrame(rows).lazy()]

        assert 10 == self._isolations(samples, make_fleet(12), start + 9 * POLL).height
        assert 12 == self._isolations(samples, make_fleet(1300), start + 9 * POLL).height
        assert 10 == self._isolations(samples, make_fleet(1300), start + 9 * POLL, AS_SHIPPED).height

    def test_ports_of_servers_are_not_isolated(self, make_fleet: MakeFleet, start: datetime) -> None:
        samples = _series(start, "temperature_c", [71.0, 71.0])

        assert self._isolations(samples, make_fleet(role="nic"), start + POLL).is_empty()

    def test_what_still_stands_in_the_end_has_no_end(self, make_fleet: MakeFleet, start: datetime) -> None:
        samples = _series(start, "temperature_c", [65.0, 71.0])

        found = self._isolations(samples, make_fleet(), start + 20 * POLL, FIXED_RATE)

        assert [("Ethernet0", 1, None, "oonoc")] == self._spans(found, start)
