"""What stands in the lake when the collector starts (installations, links), also while the lake is away.

Without it every module would be installed anew, and every link be new: so what was read from the lake, and every
row since, has a copy on disk, and rows that still wait in the spool count as well.
"""

from functools import partial
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from ingest.collect.attempt import Attempt
from ingest.collect.installed import Installations
from ingest.collect.links import Links
from ingest.collect.spool import Spool
from ingest.errors import LakeError
from ingest.exports.records import Port
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES, Table

__all__ = ["Known"]

_TABLES: Final = (MODULES, LINKS)


class Known:
    """A sink in front of the spool that remembers the rows which later polls are compared with.

    Args:
        lake: asked once, for `patience_s` at most.
        spool: where rows go; what waits in it is known, too.
        folder: of the copies that are read where the lake does not answer.
        patience_s: how long the start may wait for the lake.

    Raises:
        LakeError: the lake does not answer, and there is no copy.
    """

    def __init__(self, lake: Lake, spool: Spool, folder: Path, *, patience_s: float = 30.0) -> None:
        self._spool = spool
        self._folder = folder
        self._unsaved = {table.name for table in _TABLES}
        asked = Attempt(partial(_read, lake), patience_s)
        self.warning = None if asked.result else asked.reason or f"no answer within {patience_s:g} s"
        """Why the lake was not read; None where it was."""
        found = asked.result or {table.name: self._copied(table) for table in _TABLES}
        self._rows = {table.name: pa.concat_tables([found[table.name], *spool.pending(table)]) for table in _TABLES}

    def append(self, table: Table, rows: pa.Table) -> int:
        """Hand rows on, and remember them once they are kept."""
        kept = self._spool.append(table, rows)
        if table.name in self._rows:
            self._rows[table.name] = pa.concat_tables([self._rows[table.name], rows.cast(table.schema)])
            self._unsaved.add(table.name)
        return kept

    def installations(self) -> Installations:
        """Modules as they stand."""
        return Installations.of(self._latest(MODULES).to_dicts())

    def links(self) -> Links:
        """Links as they stand."""
        return Links.of(self._latest(LINKS).to_dicts())

    def ports(self) -> list[Port]:
        """Ports that modules or links name, each once."""
        columns = [
            ("site", "device", "interface"),
            *((f"{end}_site", f"{end}_device", f"{end}_interface") for end in "az"),
        ]
        found: dict[Port, None] = {}
        for names, table in zip(columns, (MODULES, LINKS, LINKS), strict=True):
            rows = self._rows[table.name].select(names).group_by(names).aggregate([])
            found |= dict.fromkeys(zip(*(rows[name].to_pylist() for name in names), strict=True))
        return list(found)

    def save(self) -> None:
        """Write the copies that do not have all yet, each whole or not at all.

        Raises:
            OSError: one cannot be written; the older one is still there.
        """
        for table in [table for table in _TABLES if table.name in self._unsaved]:
            path = self._path(table)
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(path.name + ".tmp")
            try:
                with part.open("wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(self._rows[table.name])
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            self._unsaved.remove(table.name)

    def _latest(self, table: Table) -> pl.DataFrame:
        rows = pl.from_arrow(self._rows[table.name])
        assert isinstance(rows, pl.DataFrame)  # noqa: S101 - tells mypy what a table becomes
        return rows.sort("received_at", maintain_order=True).unique(table.key, keep="last", maintain_order=True)

    def _path(self, table: Table) -> Path:
        return self._folder / f"{table.name}.arrow"

    def _copied(self, table: Table) -> pa.Table:
        try:
            with pa.OSFile(str(self._path(table))) as file:
                return pa.ipc.open_file(file).read_all().cast(table.schema)
        except (OSError, ValueError, pa.ArrowException) as error:
            msg = f"the lake does not answer ({self.warning}), and what is installed is not known here: {error}"
            raise LakeError(msg) from None


def _read(lake: Lake) -> dict[str, pa.Table]:
    return {table.name: _rows_of(lake, table) for table in _TABLES}


def _rows_of(lake: Lake, table: Table) -> pa.Table:
    rows = lake.latest(table).collect().to_arrow(compat_level=pl.CompatLevel.oldest())
    return rows.cast(table.schema)
