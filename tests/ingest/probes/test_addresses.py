"""Lists of addresses: what is wrong in one is told by file and line."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.errors import ConfigError
from ingest.probes.addresses import PortAddress, address_table, read_addresses


def _file(folder: Path, text: str) -> Path:
    path = folder / "nics.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_is_read(tmp_path: Path) -> None:
    text = "address,device,interface,tor,site\n10.1.0.2,gpu1,eth0,leaf1,\nfc00:0::2,gpu1,eth0,,dc2\n"

    assert (
        PortAddress("default", "gpu1", "eth0", "10.1.0.2", "leaf1"),
        PortAddress("dc2", "gpu1", "eth0", "fc00::2"),
    ) == read_addresses(_file(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("device,interface\n", "nics.csv:1: there is no column address"),
        ("device,interface,address\na,b,\n", "nics.csv:2: address is empty"),
        ("device,interface,address\na,b,10.1\n", "nics.csv:2: '10.1' is no address"),
        ("device,interface,address\na,b,10.0.0.1\nc,d,10.0.0.1\n", "nics.csv:3: 10.0.0.1 is in line 2, too"),
        ("device,interface,address\n", "lists no address"),
    ],
)
def test_what_cannot_be_is_told_by_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_addresses(_file(tmp_path, text))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no list of addresses"):
        read_addresses(tmp_path / "none.csv")


def test_rows_are_of_the_lakes_table() -> None:
    table = address_table([PortAddress("default", "leaf1", "up0", "10.2.0.1")], datetime(2026, 11, 29, tzinfo=UTC))

    assert ("leaf1", "10.2.0.1", "file") == tuple(
        table.to_pylist()[0][name] for name in ("device", "address", "source")
    )
