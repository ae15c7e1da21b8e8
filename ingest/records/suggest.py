"""A starter map for a spreadsheet: columns guessed by their names, times by what stands in them, words by examples."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Final

from ingest.decode.lldp_text import looks_like_port
from ingest.records.column_names import NAMES
from ingest.records.grid import Grid
from ingest.records.mapping import NEEDED, OURS, RecordMap
from ingest.records.reading import absent
from ingest.records.times import TimeReader, UnzonedError, counting, fitting
from ingest.schema import Action, FailureType

__all__ = ["guess", "suggest_map"]

_LOOKED_AT: Final = 2_000
_SOME, _MOST = 0.05, 0.8
_TELLING, _ALIKE = 3, 5
"""Letters from which a name within another tells, and from which one that is nearly the same does."""
_HOST: Final = re.compile(r"[A-Za-z][A-Za-z-]*\d[\w.-]*")
_EXAMPLES: Final = 12
_CLOSE: Final = 0.84
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def guess(ours: str, header: Iterable[str]) -> str | None:
    """The column of a file that is likely to be ours, by its name; None where none is.

    >>> guess("device", ["Number", "Configuration Item", "Opened"])
    'Configuration Item'
    >>> guess("opened_at", ["Incident #", "Date/Time Opened"])
    'Date/Time Opened'
    """
    plain = {_plain(name): name for name in reversed(list(header))}
    names = (ours.replace("_", " "), *NAMES.get(ours, ()))
    for name in names:
        if name in plain:
            return plain[name]
    within = [(name, each) for name in names if len(name) >= _TELLING for each in plain if f" {name} " in f" {each} "]
    if within:
        return plain[within[0][1]]
    near = (difflib.get_close_matches(name, list(plain), n=1, cutoff=_CLOSE) for name in names if len(name) > _ALIKE)
    return next((plain[each[0]] for each in near if each), None)


def _guesses(ours: str, grid: Grid) -> list[str]:
    """Columns that are likely to be ours, those in which its words are found most often first."""
    if ours in ("failure_type", "action"):
        phrases = RecordMap(columns={}).phrases(ours)
        rows = grid.rows[:_LOOKED_AT]
        share = {name: sum(phrases.strongest(row.text(name)) is not None for row in rows) for name in grid.header}
        often = [name for name in sorted(share, key=lambda name: -share[name]) if share[name] > len(rows) * _SOME]
        return often[:3] or [found for found in [guess(ours, grid.header)] if found]
    found = guess(ours, grid.header)
    return [found] if found else []


def _by_content(kind: str, grid: Grid, columns: dict[str, list[str]]) -> None:
    """Add what no name told: columns of times, of ports, and of numbers that are no two rows' own."""
    times = [name for name in grid.header if _share(grid, name, _is_time) > _MOST]
    for ours in [name for name in ("opened_at", "closed_at", "at", "start", "end") if name in OURS[kind]]:
        if columns.get(ours, [""])[0] not in times and not _counts(grid, columns.get(ours, [])):
            columns.pop(ours, None)
    free = [name for name in times if not any(name in theirs for theirs in columns.values())]
    for ours in [name for name in ("opened_at", "closed_at", "at", "start", "end") if name in OURS[kind]]:
        if ours not in columns and free:
            columns[ours] = [free.pop(0)]
    if kind == "tickets":
        _ports_by_content(grid, columns)


def _ports_by_content(grid: Grid, columns: dict[str, list[str]]) -> None:
    """Add columns of ports and devices that no name told; one that holds both is text that names a port."""
    ports = [name for name in grid.header if _share(grid, name, looks_like_port) > _MOST]
    if ports and "interface" not in columns:
        columns["interface"] = ports[:1]
    if "interface" not in columns and "port" not in columns:
        shares = {name: _share(grid, name, _names_port) for name in grid.header}
        named = [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] > _SOME]
        columns |= {"port": named[:1]} if named else {}
    used = {name for theirs in columns.values() for name in theirs}
    hosts = [name for name in grid.header if name not in used and _share(grid, name, _is_host) > _MOST]
    if hosts and "device" not in columns:
        columns["device"] = hosts[:1]
    told = columns.get("interface", [""])[0]
    if "device" not in columns and _share(grid, told, looks_like_port) < _SOME < _share(grid, told, _names_port):
        columns["port"] = columns.pop("interface")  # device and port in one cell
    for ours in ("device", "site"):
        if columns.get("port") == columns.get(ours):
            columns.pop(ours, None)


def _share(grid: Grid, name: str, holds: Callable[[str], bool]) -> float:
    """Of the cells of a column that say something, those of which it holds."""
    texts = [text for row in grid.rows[:_LOOKED_AT] if (text := row.text(name)) and not absent(text)]
    return sum(holds(text) for text in texts) / len(texts) if texts else 0.0


def _counts(grid: Grid, names: Sequence[str]) -> bool:
    """Whether a column that is called a time holds numbers that may be one."""
    return counting([text for name in names[:1] for text in _texts(grid, name)]) is not None


def _texts(grid: Grid, name: str) -> list[str]:
    return [text for row in grid.rows if (text := row.text(name)) and not absent(text)]


def _names_port(text: str) -> bool:
    return any(
        looks_like_port(part) for word in text.split() for part in (word.strip("[](),;"), word.partition(":")[2])
    )


def _is_host(text: str) -> bool:
    return bool(_HOST.fullmatch(text)) and not looks_like_port(text)


def _is_time(text: str) -> bool:
    try:
        TimeReader(UTC).read(text)
    except ValueError:
        return bool(fitting([text]))
    return True


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", name.casefold().translate(_UMLAUTS)))


def suggest_map(grid: Grid) -> str:
    """A map for a file, as TOML with remarks; what must be looked at says so."""
    header = tuple(name for name in grid.header if name)
    grid = replace(grid, header=header)
    kind = _kind(header)
    columns = {ours: found for ours in OURS[kind] if (found := _guesses(ours, grid))}
    _by_content(kind, grid, columns)
    needed = [group[0] for group in NEEDED[kind] if not any(name in columns for name in group)]
    lines = [
        f"# A map for {grid.file}: look at each line, then forelight import --map THIS_FILE {grid.file}",
        f'kind = "{kind}"',
    ]
    lines += _time_lines(
        grid, [columns[name][0] for name in ("opened_at", "closed_at", "at", "start", "end") if name in columns]
    )
    lines += _merged_lines(grid, columns)
    lines += ["", "[columns]  # ours = theirs"]
    lines += [f"{ours} = {_quoted(theirs)}" for ours, theirs in columns.items()]
    lines += [f'# {name} = "?"  # needed: which column is it?' for name in needed]
    used = {name for theirs in columns.values() for name in theirs}
    if left := [name for name in header if name not in used]:
        lines.append(f"# not used: {', '.join(left[:30])}")
    if kind == "tickets":
        lines += _word_lines(grid, RecordMap(columns={}), columns)
    return "\n".join(lines) + "\n"


def _kind(header: Sequence[str]) -> str:
    plain = {_plain(name) for name in header}
    if {"a device", "z device"} <= plain:
        return "links"
    if any(_plain(name) in NAMES["start"] for name in header) and not guess("ticket_id", header):
        return "maintenance"
    return "tickets"


def _merged_lines(grid: Grid, columns: dict[str, list[str]]) -> list[str]:
    """Columns whose empty cells may mean what stands above them."""
    names = dict.fromkeys(columns[ours][0] for ours in ("device", "opened_at") if ours in columns)
    empty = [name for name in names if any(not row.text(name) for row in grid.rows[1:]) and grid.rows[0].text(name)]
    if not empty:
        return []
    return [
        f"# fill_down = {_quoted_list(empty)}  # NEEDED where empty cells mean what stands above them (merged cells)"
    ]


def _quoted(theirs: list[str]) -> str:
    texts = ['"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in theirs]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _time_lines(grid: Grid, names: list[str]) -> list[str]:
    texts = [text for name in names for text in _texts(grid, name)]
    lines = []
    if form := counting(texts):
        lines.append(f'# times = ["{form}"]  # NEEDED: its times are numbers; {form} is what they look like')
    forms = fitting(texts)
    if len(forms) == 1:
        lines.append(f'times = ["{forms[0]}"]  # the one form that reads all {len(texts)} times')
    elif forms:
        lines += [
            f'# times = ["{form}"]  # NEEDED, or the other: both read all times; which is the day?' for form in forms
        ]
    reader = TimeReader(None, tuple(forms[:1]))
    if any(_unzoned(reader, text) for text in texts[:200]):
        lines.append('# zone = "Europe/Berlin"  # NEEDED: its times name no zone; an IANA name, UTC is one')
    return lines


def _unzoned(reader: TimeReader, text: str) -> bool:
    try:
        reader.read(text)
    except UnzonedError:
        return True
    except ValueError:
        return False
    return False


def _word_lines(grid: Grid, mapped: RecordMap, columns: dict[str, list[str]]) -> list[str]:
    """The built-in phrases, and what they do not find in this file, by how often it stands there."""
    lines: list[str] = []
    for ours, words in (("failure_type", list(FailureType)), ("action", list(Action))):
        phrases = mapped.phrases(ours)
        table = getattr(mapped, ours)
        lines += ["", f"[{ours}]  # phrases that mean each; delete the section to have the built-in ones"]
        lines += [f"{word} = {_quoted_list(table[word])}" for word in words if word in table]
        missed = Counter(
            " ".join(text.split())[:80]
            for row in grid.rows
            if not any(phrases.strongest(row.text(name)) for name in columns.get(ours, []))
            for name in columns.get(ours, [])[:1]
            if (text := row.text(name)) and not absent(text)
        )
        if missed:
            lines.append(f"# {sum(missed.values())} rows have none of these; what stands there most often:")
            lines += [f"#   {count} x {text}" for text, count in missed.most_common(_EXAMPLES)]
    return lines


def _quoted_list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
