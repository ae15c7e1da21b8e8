"""Names of an export replaced by pseudonyms that only the operator's key can tell.

A name becomes the HMAC-SHA256 (RFC 2104) of its kind and itself under the operator's key, cut to 64 bits: the same key
gives the same name every time, so that exports of one operator can be pooled over time; another key gives others.
What comes from a fixed vocabulary, and what is a number, is kept; what is free text is dropped.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from typing import Final

import polars as pl

from ingest.errors import ExportError
from ingest.schema import LINKS, MAINTENANCE, Action, FailureType, Table

__all__ = ["Pseudonyms"]

_SHORTEST_KEY: Final = 16  # bytes: a key that can be guessed hides nothing
_DIGITS: Final = 16  # 64 bits: of a million names the chance that two collide is 3e-8
_SHIFT_WEEKS: Final = 104
_PORT_WORDS: Final = re.compile(
    "bundle|c|e|en|eno|enp|ens|et|eth|ethernet|f|fa|fastethernet|fe|fi|fo|forty|(ten|twentyfive|forty|fifty|hundred|"
    "twohundred|fourhundred|eighthundred)?gige?|(x|ten)?gigabitethernet|ge|gi|hu|ib|mgmt|mlx|n|np|opt|osfp|p|po|port|"
    "qsfp|s|sfp|swp|te|tf|twe|xe"
)
"""Words that a NOS makes port names of; a name with any other word in it may tell who is who."""

_WORDS: Final[dict[str, frozenset[str]]] = {
    "failure_type": frozenset(FailureType),
    "action": frozenset(Action),
    "bench_verdict": frozenset(("confirmed", "no_trouble_found", "unknown")),
    "outcome": frozenset(("fixed", "no_change")),
    "source": frozenset(("file", "lldp", "snmp", "gnmi", "agent", "telemetry")),
    "role": frozenset(("switch", "nic")),
}
_KINDS: Final = {
    LINKS.name: frozenset(("fiber", "aoc", "dac", "acc", "aec")),
    MAINTENANCE.name: frozenset(("drain", "firmware", "recable", "power")),
}
_KEPT: Final = ("vendor", "part_number", "lot", "media", "form_factor", "fec_mode", "firmware")


class Pseudonyms:
    """One operator's key and what it makes of names and times.

    Attributes:
        shift: what is added to every time; whole weeks, so that days of the week and hours stay what they are.

    Raises:
        ExportError: the key is too short.
    """

    def __init__(self, key: bytes, *, shift_times: bool = False) -> None:
        if len(key) < _SHORTEST_KEY:
            msg = f"the export key has {len(key)} bytes; it must have {_SHORTEST_KEY} at least (openssl rand -hex 32)"
            raise ExportError(msg)
        self._key = key
        self._name = lru_cache(1 << 20)(self._hmac)
        weeks = 1 + int(self._hmac("shift", "weeks"), 16) % _SHIFT_WEEKS
        self.shift = timedelta(weeks=-weeks) if shift_times else timedelta()

    def name(self, kind: str, text: str) -> str:
        """The pseudonym of a name, beginning with its kind."""
        return f"{kind}-{self._name(kind, text)}"

    def interface(self, text: str) -> str:
        """A port's name: kept where it is made of a NOS's words and numbers, else its pseudonym."""
        words = re.findall(r"[^\W\d_]+", text)
        plain = text.isascii() and all(_PORT_WORDS.fullmatch(word.lower()) for word in words)
        return text if plain and not _ADDRESS.search(text) else self.name("interface", text)

    def end(self, text: str) -> str:
        """The ``device/interface`` of a repair."""
        device, slash, interface = text.partition("/")
        return f"{self.name('device', device)}/{self.interface(interface)}" if slash else ""

    def rows(self, table: Table, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of a canonical table with pseudonyms; a column of which nothing is known is dropped."""
        return rows.select(expr for name in rows.columns if (expr := self._column(table, rows, name)) is not None)

    def _column(self, table: Table, rows: pl.DataFrame, column: str) -> pl.Expr | None:
        kind = rows.schema[column]
        if isinstance(kind, pl.Datetime):
            return pl.col(column) + self.shift
        if column == "shared_risk":
            return self._mapped(rows, column, lambda text: self.name("risk", text))
        if kind.is_numeric() or kind == pl.Boolean or column in _KEPT or isinstance(kind, pl.List):
            return pl.col(column)
        if make := self._maker(column):
            return self._mapped(rows, column, make)
        words = _KINDS.get(table.name, frozenset()) if column == "kind" else _WORDS.get(column, frozenset())
        return (
            pl.when(pl.col(column).cast(pl.String).is_in(words)).then(pl.col(column)).alias(column) if words else None
        )

    def _maker(self, column: str) -> Callable[[str], str] | None:
        column = column.removeprefix("a_").removeprefix("z_")
        if column in ("interface", "sub_interface"):
            return self.interface
        if column == "end":
            return self.end
        kind = _NAMES.get(column)
        return None if kind is None else lambda text: self.name(kind, text)

    @staticmethod
    def _mapped(rows: pl.DataFrame, column: str, make: Callable[[str], str]) -> pl.Expr:
        """Each distinct name once."""
        values = rows.get_column(column)
        listed = isinstance(values.dtype, pl.List)
        names = (values.explode() if listed else values).drop_nulls().unique().cast(pl.String).to_list()
        given = pl.element() if listed else pl.col(column).cast(pl.String)
        made = given.replace_strict(names, [make(name) for name in names], default=None, return_dtype=pl.String)
        return pl.col(column).list.eval(made) if listed else made

    def _hmac(self, kind: str, text: str) -> str:
        return hmac.new(self._key, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()[:_DIGITS]


_ADDRESS: Final = re.compile(r"(?:[0-9a-fA-F]{2}[:.-]){5}|(?:\d{1,3}\.){3}\d|[0-9a-fA-F]{12}")
_NAMES: Final = {
    "site": "site",
    "device": "device",
    "serial": "serial",
    "old_serial": "serial",
    "new_serial": "serial",
    "ticket_id": "ticket",
    "alarm_id": "alarm",
    "cable_id": "cable",
}
"""Columns that hold names, and of what kind."""
