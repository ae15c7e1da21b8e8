"""What stands in the lake is known at every start: from the lake, from its copy, and from what waits in the spool."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ingest.collect.known import Known
from ingest.collect.spool import Spool
from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES, PORT_SAMPLES

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def _modules(*serials: str, at: datetime = T0) -> pa.Table:
    where = {"site": "default", "device": "leaf01", "received_at": at, "installed_at": at}
    rows = [where | {"interface": f"Ethernet{n}", "serial": serial} for n, serial in enumerate(serials)]
    return pa.Table.from_pylist(rows, schema=MODULES.schema)


def _link() -> pa.Table:
    ends = {"a_site": "s", "a_device": "leaf01", "a_interface": "Et1"}
    ends |= {"z_site": "s", "z_device": "leaf02", "z_interface": "Et2"}
    return pa.Table.from_pylist([ends | {"received_at": T0, "valid_from": T0, "source": "lldp"}], schema=LINKS.schema)


class Home:
    """A lake, a spool and copies; a start is a collector's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lake = Lake(str(folder / "lake"))
        self.said: list[str] = []

    def start(self) -> Iterator[Known]:
        with closing(Spool(self.lake, self.folder / "spool", say=self.said.append)) as spool:
            yield Known(self.lake, spool, self.folder / "cache")

    def break_the_lake(self) -> None:
        for table in (MODULES, LINKS):
            log = self.folder / "lake" / table.name / "_delta_log"
            log.mkdir(parents=True, exist_ok=True)
            for file in [*log.glob("*.json"), log / "00000000000000000000.json"]:
                file.write_text("not JSON")


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def _serials(known: Known) -> set[Any]:
    return {row["serial"] for row in known.installations()._rows.values()}


def test_an_empty_lake_knows_nothing_and_that_is_no_error(home: Home) -> None:
    for known in home.start():
        assert None is known.warning
        assert set() == _serials(known)


def test_the_lake_says_what_stands(home: Home) -> None:
    home.lake.append(MODULES, _modules("A", "B"))
    home.lake.append(MODULES, _modules("A2", at=T0 + timedelta(hours=1)))

    for known in home.start():
        assert {"A2", "B"} == _serials(known)


def test_rows_that_were_handed_on_are_in_the_copy(home: Home) -> None:
    home.lake.append(MODULES, _modules("A", "B"))
    for known in home.start():
        known.append(MODULES, _modules("A2", at=T0 + timedelta(hours=1)))
        known.append(LINKS, _link())
        known.save()
    home.break_the_lake()

    for known in home.start():
        assert known.warning
        assert {"A2", "B"} == _serials(known)
        assert 1 == len(known.links()._rows)


def test_rows_that_wait_in_the_spool_are_known(home: Home) -> None:
    """A collector that was killed before it saved its copy must not install what it found a second time."""
    for known in home.start():
        known.save()
        home.break_the_lake()
        known.append(MODULES, _modules("A", "B"))
    for known in home.start():
        assert {"A", "B"} == _serials(known)


def test_other_tables_only_pass(home: Home) -> None:
    rows = pa.Table.from_pylist(
        [{"time": T0, "received_at": T0, "site": "s", "device": "d", "interface": "e", "quality": 0, "source": "snmp"}],
        schema=PORT_SAMPLES.schema,
    )
    for known in home.start():
        known.append(PORT_SAMPLES, rows)
        known.save()

    assert 1 == home.lake.scan(PORT_SAMPLES).collect().height
    assert ["links.arrow", "modules.arrow"] == sorted(path.name for path in (home.folder / "cache").iterdir())


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_text("torn")], ids=["gone", "torn"])
def test_without_lake_and_copy_nothing_is_guessed(home: Home, spoil: Callable[[Path], object]) -> None:
    for known in home.start():
        known.save()
    home.break_the_lake()
    spoil(home.folder / "cache" / "modules.arrow")

    with pytest.raises(LakeError, match=r"the lake does not answer \(.*what is installed is not known here"):
        next(iter(home.start()))
