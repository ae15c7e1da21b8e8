"""What devices call themselves is one line of letters wherever it comes in: SNMP, gNMI, dumps."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from pygnmi.spec.v080.gnmi_pb2 import Path, PathElem

from ingest.decode.interfaces import text_of
from ingest.dumps import Given, Reading
from ingest.gnmi.leaves import elements_of
from ingest.gnmi.values import text_of as gnmi_text_of
from ingest.plain import is_plain, one_line

EVIL = ["SN\x1b[2J1", "SN\nINFO all is well", "SN\x9b31m", "SN\u202e21", "SN\u2028x", "SN\x07"]


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize(
    "read", [lambda name: text_of(name.encode()), gnmi_text_of, lambda name: gnmi_text_of(name.encode())]
)
def test_a_text_of_a_device_moves_no_terminal(name: str, read: Callable[[str], str]) -> None:
    """A serial number is what somebody has burnt into a module's EEPROM."""
    assert not is_plain(name)
    assert one_line(name).strip() == read(name)


@pytest.mark.parametrize("name", EVIL)
def test_nor_does_the_name_of_a_port_in_a_path(name: str) -> None:
    told = Path(elem=[PathElem(name="interfaces"), PathElem(name="interface", key={"name": name})])

    assert [("interfaces", {}), ("interface", {"name": one_line(name)})] == elements_of(told)


@pytest.mark.parametrize("name", EVIL)
def test_a_dump_whose_port_has_such_a_name_is_refused_with_the_reason(name: str) -> None:
    reading = Reading(3, device="leaf01", interface=name, time=datetime(2026, 3, 1, tzinfo=UTC))
    reading.say("serial", name)

    assert "control characters in the name of a device or interface" == Given().complete(reading)
    assert is_plain(str(reading.module["serial"]))


@pytest.mark.parametrize("text", ["Ethernet1/1", "spine01.rack-7", "Zürich 1", "光モジュール", "SN 1\xa02"])
def test_letters_of_any_language_are_plain(text: str) -> None:
    assert is_plain(text)
    assert text == one_line(text)
