"""Installations as they stand when the collector starts, also while the lake is away.

Without them every module would be installed anew: so what was read from the lake, and every row since, has a
copy on disk, and rows that still wait in the spool count as well.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from ingest.attempt import Attempt
from ingest.errors import LakeError
from ingest.installed import Installations
from ingest.lake import Lake
from ingest.schema import MODULES
from ingest.spool import Spool

__all__ = ["KnownModules"]


class KnownModules:
    """Rows of `modules` as the lake has them, or as it had them.

    Args:
        lake: asked once, for `patience_s` at most.
        spool: what waits in it is known, too.
        copy: the file that is read where the lake does not answer.
    """

    def __init__(self, lake: Lake, spool: Spool, copy: Path, *, patience_s: float = 30.0) -> None:
        self._copy = copy
        self._saved = False
        asked = Attempt(partial(_rows_of, lake), patience_s)
        rows = asked.result
        self.warning = None if rows is not None else asked.reason or f"no answer within {patience_s:g} s"
        """Why the lake was not read; None where it was."""
        if rows is None:
            rows = self._copied()
        self._rows = pa.concat_tables([rows, *spool.pending(MODULES)])

    def installations(self) -> Installations:
        """As they stand."""
        rows = pl.from_arrow(self._rows)
        assert isinstance(rows, pl.DataFrame)  # noqa: S101 - tells mypy what a table becomes
        latest = rows.sort("received_at", maintain_order=True).unique(MODULES.key, keep="last", maintain_order=True)
        return Installations.of(latest.to_dicts())

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows that were handed on since."""
        new = pa.Table.from_pylist([dict(row) for row in rows], schema=MODULES.schema)
        if new.num_rows:
            self._rows, self._saved = pa.concat_tables([self._rows, new]), False

    def save(self) -> None:
        """Write the copy, whole or not at all, where it does not have all yet.

        Raises:
            OSError: it cannot be written.
        """
        if self._saved:
            return
        self._copy.parent.mkdir(parents=True, exist_ok=True)
        partial_copy = self._copy.with_name(self._copy.name + ".tmp")
        try:
            with partial_copy.open("wb") as file, pa.ipc.new_file(file, MODULES.schema) as writer:
                writer.write_table(self._rows)
            partial_copy.replace(self._copy)
            self._saved = True
        finally:
            partial_copy.unlink(missing_ok=True)

    def _copied(self) -> pa.Table:
        """The copy's rows.

        Raises:
            LakeError: there is no copy either.
        """
        try:
            with pa.OSFile(str(self._copy)) as file:
                return pa.ipc.open_file(file).read_all().cast(MODULES.schema)
        except (OSError, ValueError, pa.ArrowException) as error:
            msg = f"the lake does not answer ({self.warning}), and what is installed is not known here: {error}"
            raise LakeError(msg) from None


def _rows_of(lake: Lake) -> pa.Table:
    rows = lake.latest(MODULES).collect().to_arrow(compat_level=pl.CompatLevel.oldest())
    return rows.cast(MODULES.schema)
