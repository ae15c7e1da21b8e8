"""What keeps walks honest and finite, whichever engine walks: order, ends, caps, and answers that are too large.

A faulty agent repeats an OID or goes backwards for ever, and both engines would follow it (field_faults.md, row 53);
another does not answer, or answers with an error, where the answer would be too large (rows 51 and 52).
"""

from collections.abc import Awaitable, Callable, Iterable

from ingest.errors import TransportError
from ingest.snmp.transport import Cell, Column, oid_key

__all__ = [
    "MAX_CELLS",
    "Attempts",
    "KnownOrders",
    "Repetitions",
    "WalkGuard",
    "get_in_parts",
    "not_increasing",
    "too_long",
]

MAX_CELLS = 200_000
"""A column longer than this is a fault: 1,024 ports x 16 lanes x 10 sensors is 164 thousand."""

_MOST_ORDERS = 512
"""Of one device: it has a few dozen columns over fewer sets of rows."""


def not_increasing(oid: str, before: str) -> TransportError:
    """The error for an agent whose rows do not come in order."""
    return TransportError(f"the agent's OIDs do not increase ({oid} came after {before})")


def too_long(oid: str, cells: int) -> TransportError:
    """The error for a column that is longer than any device has."""
    return TransportError(f"the agent gave more than {cells} rows below {oid}")


class WalkGuard:
    """Takes a walk's cells one by one and ends walks that would never end by themselves."""

    def __init__(self, oid: str, max_cells: int = MAX_CELLS) -> None:
        self.oid = oid.strip(".")
        self.cells: Column = {}
        self._prefix = f"{self.oid}."
        self._last = self.oid
        self._max_cells = max_cells

    def take(self, oid: str, value: Cell | None) -> bool:
        """Keep a cell, unless it is empty; False once the walk has left the column."""
        oid = oid.strip(".")
        if oid_key(oid) <= oid_key(self._last):
            raise not_increasing(oid, self._last)
        if not oid.startswith(self._prefix):
            return False
        if len(self.cells) >= self._max_cells:
            raise too_long(self.oid, self._max_cells)
        self._last = oid
        if value is not None:
            self.cells[oid[len(self._prefix) :]] = value
        return True


class KnownOrders:
    """Row indices of whole columns that were found to increase.

    A device's columns have the same few lists of indices poll after poll. One that was checked is known again by its
    hash, which costs a fiftieth of checking it.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()

    def check(self, oid: str, column: Column) -> None:
        """Check the order of a column's indices.

        Raises:
            TransportError: they do not increase.
        """
        order = hash(tuple(column))
        if order in self._known:
            return
        before: tuple[int, ...] = ()
        last = oid
        for index in column:
            key, here = oid_key(index) if index else (), f"{oid}.{index}"
            if key <= before:
                raise not_increasing(here, last)
            before, last = key, here
        if len(self._known) >= _MOST_ORDERS:
            self._known.clear()
        self._known.add(order)


class Repetitions:
    """How many rows to ask for in one answer: fewer when a device falls silent or says that they are too many.

    Some devices (Huawei, at 50) do not answer where the answer would pass UDP's limit, which looks like a lost packet.
    So the next attempt asks for half; only what fails twice with nothing as large answered in between is taken for the
    device's limit, and even that is tried again now and then: it may have been a bad hour of the network's.
    """

    FEWEST = 5
    """Five of the longest strings (255 octets) fit any path: silence at that has another reason."""

    TRIED_AGAIN_AFTER = 2_000
    """Answered walks: an hour or two of a device's polls."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._configured = most
        self._suspect = 0
        self._answered = 0

    def at_first(self, expect: int = 0) -> int:
        """Rows to ask for: equal answers that just hold the rows that are expected and the first behind them.

        >>> Repetitions(25).at_first(64)
        22
        """
        if not expect:
            return self.most
        answers = -(-(expect + 1) // self.most)
        return -(-(expect + 1) // answers)

    def fewer(self, asked: int, *, silent: bool) -> int:
        """Rows to ask for after an attempt that failed."""
        return max(asked // 2, min(self.FEWEST, asked) if silent else 1)

    def worked(self, asked: int, failed: int = 0) -> None:
        """An attempt was answered; `failed` is what was asked for before without success, 0 for nothing."""
        if failed > asked:
            self._answered = 0
            if self._suspect:
                self.most, self._suspect = min(asked, self.most), 0
            else:
                self._suspect = failed
            return
        if asked > self._suspect // 2:
            self._suspect = 0
        self._answered += 1
        if self.most < self._configured and self._answered >= self.TRIED_AGAIN_AFTER:
            self.most = self._suspect = min(2 * self.most, self._configured)
            self._answered = 0


class Attempts:
    """The attempts at one walk: how many rows to ask for next, and when it is over.

    Attributes:
        asked: rows an answer for the next attempt.
        over: whether there is a result.
    """

    def __init__(self, rows: Repetitions, retries: int, expect: int = 0) -> None:
        self.asked = rows.at_first(expect)
        self.over = False
        self._rows, self._retries, self._expect = rows, retries, expect
        self._best: Column | None = None
        self._whole = False
        self._silences, self._failed = 0, 0
        self._reason = ""

    def silent(self, reason: str) -> None:
        """Nothing came, or nothing that can be read."""
        self._silences += 1
        self._next(reason, silent=True, over=self._silences > self._retries)

    def answered(self, column: Column, *, error: str = "", hopeless: bool = False) -> None:
        """A walk ended: by itself, or by an `error`, which may come however one asks (`hopeless`)."""
        again = self._best is not None and len(column) <= len(self._best)
        if not again:
            self._best, self._whole = column, not error
        if not error and len(column) >= self._expect:
            self._rows.worked(self.asked, self._failed)
            self._best, self._whole, self.over = column, True, True
        elif not error and again:
            self._whole, self.over = True, True  # the rows are gone, not lost
        else:
            self._next(f"{error or 'fewer'} instead of rows", silent=False, over=hopeless or self.asked == 1)

    def result(self, oid: str, where: str) -> Column:
        """What came of it.

        Raises:
            TransportError: nothing that can be used.
        """
        if self._best is not None and (self._whole or self._expect):
            return self._best
        msg = f"{self._reason} from {where}" + (f" below {oid}" if self._best is not None else "")
        raise TransportError(msg)

    def _next(self, reason: str, *, silent: bool, over: bool) -> None:
        self._reason, self.over = reason, over
        self._failed = self._failed or self.asked
        self.asked = self._rows.fewer(self.asked, silent=silent)


async def get_in_parts(
    oids: Iterable[str],
    parts: Repetitions,
    retries: int,
    ask: Callable[[list[str]], Awaitable[dict[str, Cell]]],
) -> dict[str, Cell]:
    """Cells of any number of OIDs; `ask` gets some of them and raises TimeoutError for silence.

    Where nothing comes back, halves are asked for: an error of one OID (version 1 where it is missing, genErr, an
    answer that is too large) costs all that are asked with it.

    Raises:
        TimeoutError: silence, more often than `retries` in a row.
    """
    wanted = list(oids)
    left = [wanted[at : at + parts.most] for at in range(0, len(wanted), parts.most)][::-1]
    found: dict[str, Cell] = {}
    silences, failed, worked, single, fit = 0, 0, 0, False, parts.most
    while left:
        part = left.pop()
        if len(part) > fit:
            left.append(part[fit:])
            part = part[:fit]
        try:
            got, silences = await ask(part), 0
        except TimeoutError:
            got, silences = {}, silences + 1
            if silences > retries:
                raise
            fit = max(1, len(part) // 2)
        if got:
            worked = max(worked, len(part))
            found |= {oid: got[oid] for oid in part if oid in got}
        elif len(part) > 1:
            failed = max(failed, len(part))
            left += [part[len(part) // 2 :], part[: len(part) // 2]]
        elif silences:
            left.append(part)
        else:
            single = True
    if worked and not single:
        parts.worked(worked, failed)
    return found
