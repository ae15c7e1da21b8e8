"""What an import did not take: every case counted, and enough examples kept to find it again."""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, TextIO

__all__ = ["EXAMPLES", "Finding", "Kind", "Quarantine", "Report", "quarantine_of"]

EXAMPLES: Final = 20
"""Examples written of one reason in one column of one file: a stuck sensor must not fill the disk."""


class Kind(StrEnum):
    """How much was lost."""

    ERROR = "refused"  # a file or row is not as an export must be: the import ends with exit code 1
    ROW = "row left out"  # quarantined, the others are kept
    VALUE = "value set to null"  # the row is kept
    NOTE = "note"  # nothing was lost, but somebody may want to know


@dataclass(slots=True)
class Finding:
    """One reason in one column of one file.

    Attributes:
        kind: how much was lost.
        where: place of the first case: ``tickets.csv:7``, ``telemetry/a.parquet row 12``.
        file: path below the export's folder.
        column: empty where the row or file as a whole is meant.
        reason: what is wrong, in words.
        count: number of cases.
    """

    kind: Kind
    where: str
    file: str
    column: str
    reason: str
    count: int = 0

    def __str__(self) -> str:
        """One clear line."""
        column = f"{self.column}: " if self.column else ""
        more = f" ({self.count:,} times)" if self.count > 1 else ""
        return f"{self.where}: {column}{self.reason}{more}"


@dataclass
class Report:
    """What every import says of what it did not take.

    Attributes:
        findings: what was refused, left out, set to null, or worth saying.
        quarantine: where the cases are listed; None where there are none.
    """

    findings: list[Finding] = field(default_factory=list)
    quarantine: Path | None = None

    @property
    def refused(self) -> list[Finding]:
        """What makes the import end with exit code 1."""
        return [finding for finding in self.findings if finding.kind is Kind.ERROR]

    def count(self, kind: Kind) -> int:
        """Cases of one kind."""
        return sum(finding.count for finding in self.findings if finding.kind is kind)


class Quarantine:
    """A file of JSON lines, made when the first case comes; each names place, column, reason and what was there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self._index: dict[tuple[Kind, str, str, str], Finding] = {}
        self._written: dict[int, int] = {}
        self._file: TextIO | None = None

    def add(
        self,
        kind: Kind,
        file: str,
        reason: str,
        *,
        column: str = "",
        count: int = 1,
        examples: Sequence[tuple[str, object]] = (),
    ) -> None:
        """Count cases of one reason.

        Args:
            kind: how much was lost.
            file: path below the export's folder.
            reason: what is wrong, in words that are the same for every case alike.
            column: where one column is to blame.
            count: number of cases.
            examples: place and raw content of some of them, the first one first.
        """
        key = (kind, file, column, reason)
        finding = self._index.get(key)
        if finding is None:
            where = examples[0][0] if examples else file
            finding = self._index[key] = Finding(kind, where, file, column, reason)
            self.findings.append(finding)
        finding.count += count
        if kind is not Kind.NOTE:
            self._write(finding, examples or [(file, None)])

    def close(self) -> None:
        """Write how many cases there were of each reason, and close the file."""
        if self._file is None:
            return
        for finding in self.findings:
            if finding.count > self._written.get(id(finding), finding.count):
                self._line(finding, finding.file, None, count=finding.count)
        self._file.close()
        self._file = None

    def _write(self, finding: Finding, examples: Sequence[tuple[str, object]]) -> None:
        written = self._written.get(id(finding), 0)
        for where, raw in examples[: EXAMPLES - written]:
            self._line(finding, where, raw, count=1)
            written += 1
        self._written[id(finding)] = written

    def _line(self, finding: Finding, where: str, raw: object, *, count: int) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("w", encoding="utf-8")
        line = {
            "kind": finding.kind,
            "file": finding.file,
            "where": where,
            "column": finding.column,
            "reason": finding.reason,
            "raw": raw,
            "count": count,
        }
        self._file.write(json.dumps(line, default=str, ensure_ascii=False) + "\n")


@contextmanager
def quarantine_of(report: Report, folder: Path, now: datetime) -> Iterator[Quarantine]:
    """A file of its own below a folder for one import; what it found is in the report in the end, if that comes."""
    kept = Quarantine(folder / f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}.jsonl")
    try:
        yield kept
    finally:
        kept.close()
    report.findings = kept.findings
    report.quarantine = kept.path if kept.path.exists() else None
