"""Whatever a device sends: what cannot be read is left out, and nothing crashes."""

import math
import struct
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pygnmi.spec.v080.gnmi_pb2 import (
    Decimal64,
    Notification,
    Path,
    PathElem,
    ScalarArray,
    SubscribeResponse,
    TypedValue,
    Update,
)

from ingest.gnmi.family import load_family
from ingest.gnmi.layout import Layout
from ingest.gnmi.mirror import Mirror, Round
from ingest.gnmi.places import Facts
from ingest.gnmi.rows import Rows
from ingest.gnmi.values import flag_of, integer_of, number_of, text_of, value_of
from ingest.schema import LANE_SAMPLES

_NAMES = st.sampled_from(
    [
        *("components", "component", "transceiver", "physical-channels", "channel", "state", "input-power", "instant"),
        *("interfaces", "interface", "counters", "oper-status", "serial-no", "temperature", "thresholds", "threshold"),
        *(
            "TRANSCEIVER_DOM_SENSOR",
            "Ethernet0",
            "rx1power",
            "COUNTERS",
            "lldp",
            "neighbors",
            "neighbor",
            "physical-channel",
        ),
        *("input-power-upper", "index", "name", "openconfig-platform:components", "", "*"),
    ]
)
_WORDS = st.one_of(st.text(max_size=8), st.sampled_from(["0", "1", "-1", "*", "Ethernet1 transceiver", "Ethernet1/1"]))
_PATHS = st.lists(
    st.tuples(_NAMES, st.dictionaries(st.sampled_from(["name", "index", "severity", "id"]), _WORDS, max_size=2)),
    max_size=9,
)
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["N/A", "-inf", "nil"]),
)
_TREES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4), max_leaves=12
)


def _json(tree: object) -> bytes:
    import json

    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _scalars() -> st.SearchStrategy[TypedValue]:
    u64, i64 = st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1)
    return st.one_of(
        st.builds(lambda x: TypedValue(uint_val=x), u64),
        st.builds(lambda x: TypedValue(int_val=x), i64),
        st.builds(lambda x: TypedValue(double_val=x), st.floats()),
        st.builds(lambda x: TypedValue(float_val=x), st.floats(width=32)),
        st.builds(lambda x: TypedValue(string_val=x), st.text(max_size=10).filter(lambda t: t.isprintable())),
        st.builds(lambda x: TypedValue(bool_val=x), st.booleans()),
        st.builds(lambda x: TypedValue(bytes_val=x), st.binary(max_size=9)),
        st.builds(lambda x: TypedValue(json_val=x), st.binary(max_size=20) | _TREES.map(_json)),
        st.builds(lambda x: TypedValue(json_ietf_val=x), st.binary(max_size=20) | _TREES.map(_json)),
        st.builds(
            lambda d, p: TypedValue(decimal_val=Decimal64(digits=d, precision=p)), i64, st.integers(0, 2**32 - 1)
        ),
        st.just(TypedValue()),
    )


_VALUES = st.one_of(
    _scalars(),
    st.builds(lambda each: TypedValue(leaflist_val=ScalarArray(element=each)), st.lists(_scalars(), max_size=3)),
)


@given(_VALUES)
def test_any_value_is_a_number_or_none(typed: TypedValue) -> None:
    value = value_of(typed)

    number, count = number_of(value), integer_of(value)
    flag_of(value)
    text_of(value)

    assert number is None or not math.isnan(number)
    assert count is None or count >= 0


@given(st.floats(width=32, allow_nan=False))
def test_four_bytes_are_the_float_that_they_were(number: float) -> None:
    """openconfig-types' ieeefloat32, big-endian (row 38)."""
    typed = TypedValue(bytes_val=struct.pack(">f", number))

    assert number == number_of(value_of(typed))


@given(st.integers(-(10**15), 10**15), st.integers(0, 18))
def test_decimals_are_exact_to_a_double(digits: int, precision: int) -> None:
    typed = TypedValue(decimal_val=Decimal64(digits=digits, precision=precision))

    assert digits / 10**precision == number_of(value_of(typed))


def _path(elements: list[tuple[str, dict[str, str]]]) -> Path:
    keys = [({k: v for k, v in told.items() if v.isprintable()}, name) for name, told in elements]
    return Path(elem=[PathElem(name=name, key=told) for told, name in keys])


_MESSAGES = st.builds(
    lambda prefix, updates, deletes, stamp, atomic: Notification(
        timestamp=stamp,
        prefix=_path(prefix),
        update=[Update(path=_path(path), val=value) for path, value in updates],
        delete=[_path(path) for path in deletes],
        atomic=atomic,
    ),
    _PATHS,
    st.lists(st.tuples(_PATHS, _VALUES), max_size=5),
    st.lists(_PATHS, max_size=2),
    st.integers(-(2**63), 2**63 - 1) | st.just(time.time_ns()),
    st.booleans(),
)


@settings(deadline=None)
@given(st.sampled_from(["openconfig", "sonic"]), st.lists(_MESSAGES, max_size=6), st.booleans())
def test_any_messages_become_rows_of_the_table_or_nothing(
    family: str, messages: list[Notification], synced: bool
) -> None:
    rounds: list[Round] = []
    mirror = Mirror(load_family(family), rounds.append)
    now = time.time_ns()
    for number, message in enumerate(messages):
        mirror.take(SubscribeResponse(update=message).update, now + number)
        if synced:
            mirror.sync(now + number)
    mirror.end_round()
    facts = Facts(mirror.standing)
    rows = Rows("default", "d", mirror.clock)
    rows.lay_out(Layout(mirror.family, facts, mirror.leaves.values()))

    for one in rounds:
        rows.add(one, facts, {})

    lanes, _ = rows.take()
    assert lanes.schema.equals(LANE_SAMPLES.schema)
    assert all(lane >= 0 for lane in lanes["lane"].to_pylist())
    powers = [power for name in ("rx_power_dbm", "tx_power_dbm") for power in lanes[name].to_pylist()]
    assert all(power is None or -40.0 <= power <= 15.0 for power in powers)


def test_an_observed_path_of_strings_is_read() -> None:
    """The oldest form of the protocol wrote names and keys as one text each."""
    rounds: list[Round] = []
    mirror = Mirror(load_family("openconfig"), rounds.append)
    path = Path(element=["interfaces", "interface[name=Ethernet1/1]", "state", "oper-status"])

    mirror.take(Notification(timestamp=1, update=[Update(path=path, val=TypedValue(string_val="UP"))]), 2)

    assert {("interface", "Ethernet1/1", "oper_up", ""): "UP"} == mirror.facts
