"""`forelight collect --once` over gNMI: one ONCE subscription, rows as SNMP polls give them."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from ingest.collect.poller import Poller, Sweep

MakePoller = Callable[..., Poller]
Once = Callable[[Poller], Sweep]
Kept = Any  # of conftest.py


def test_rows_have_lanes_from_1_and_the_ports_own_name(poller: MakePoller, kept: Kept, once: Once) -> None:
    sweep = once(poller())

    assert [None] == [poll.error for poll in sweep.polls]
    first = kept.lanes.filter(interface="Ethernet1/1").sort("lane")
    assert [1, 2, 3, 4] == first["lane"].to_list()
    assert [-2.0, -2.1, -2.2, -2.3] == pytest.approx(first["rx_power_dbm"].to_list(), abs=1e-6)
    assert {"gnmi"} == set(first["source"])
    assert {"SN0001"} == set(first["serial"])
    port = kept.ports.filter(interface="Ethernet2/1").row(0, named=True)
    assert (41.5, True, True, False, 2000, 0) == tuple(
        port[name] for name in ("temperature_c", "oper_up", "admin_up", "rx_los", "in_packets", "crc_errors")
    )
    assert pytest.approx(3.29) == port["voltage_v"]


def test_modules_have_their_inventory_and_limits(poller: MakePoller, kept: Kept, once: Once) -> None:
    once(poller())

    module = kept.rows("modules").filter(interface="Ethernet1/1").row(0, named=True)
    assert ("SN0001", "ACME", "Q-400", -8.0, 6.0) == tuple(
        module[name] for name in ("serial", "vendor", "part_number", "rx_power_low_warn_dbm", "rx_power_high_alarm_dbm")
    )


@pytest.mark.parametrize("form", ["double", "float", "decimal", "string", "bytes", "leaflist"])
def test_every_form_of_a_fraction_is_the_same_number(
    form: str, poller: MakePoller, kept: Kept, faults: Any, once: Once
) -> None:
    faults.form = form

    once(poller())

    assert [-2.0, -2.1, -2.2, -2.3] == pytest.approx(
        kept.lanes.filter(interface="Ethernet1/1").sort("lane")["rx_power_dbm"].to_list(), abs=1e-5
    )


@pytest.mark.parametrize(
    ("encoding", "shape"),
    [
        (encoding, shape)
        for encoding in (0, 2, 4)
        for shape in ("leaves", "tree", "prefixed", "single")
        if (encoding, shape) != (2, "tree")  # PROTO has no trees
    ],
)
def test_every_encoding_and_shape_gives_the_same_rows(
    encoding: int, shape: str, poller: MakePoller, kept: Kept, faults: Any, once: Once
) -> None:
    faults.encodings = (encoding,)
    faults.as_tree, faults.prefixed, faults.one_a_message = shape == "tree", shape == "prefixed", shape == "single"

    sweep = once(poller())

    assert [None] == [poll.error for poll in sweep.polls]
    assert 8 == kept.lanes.height
    assert 8 * 3 == kept.lanes.select(pl.col("rx_power_dbm", "tx_power_dbm", "tx_bias_ma").count()).sum_horizontal()[0]
    assert [True, True] == kept.ports["oper_up"].to_list()


def test_powers_of_the_oldest_model_are_leaves_without_statistics(
    poller: MakePoller, kept: Kept, tree: Any, once: Once
) -> None:
    channel = "components/component[name=Ethernet1 transceiver]/transceiver/physical-channels/channel[index=1]/state"
    tree.drop(f"{channel}/input-power")
    tree.put(f"{channel}/input-power", -7.5)

    once(poller())

    assert [-7.5] == kept.lanes.filter(interface="Ethernet1/1", lane=2)["rx_power_dbm"].to_list()
