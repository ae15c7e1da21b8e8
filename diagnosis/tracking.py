"""Findings over windows: opened after some in a row, closed after some without."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from diagnosis.probes import Cause, ProbeFinding

__all__ = ["Standing", "Tracker"]

Key = tuple[Cause, str]


@dataclass(slots=True)
class Standing:
    """A finding that is open, or on its way to be."""

    finding: ProbeFinding
    seen: int = 0
    missed: int = 0
    open: bool = False


@dataclass
class Tracker:
    """Hysteresis.

    Attributes:
        open_after: windows in a row with a score of `open_score` at least.
        close_after: windows in a row without, or with a score below `close_score`.
    """

    open_after: int = 2
    close_after: int = 3
    open_score: float = 0.6
    close_score: float = 0.4
    _known: dict[Key, Standing] = field(default_factory=dict)

    def step(self, findings: Iterable[ProbeFinding]) -> list[ProbeFinding]:
        """Take a window's findings; those that are open now, with their newest word."""
        now: dict[Key, ProbeFinding] = {(each.cause, each.subject): each for each in findings}
        for key, finding in now.items():
            self._known.setdefault(key, Standing(finding))
        for key, standing in list(self._known.items()):
            self._one(key, standing, now.get(key))
        return [standing.finding for standing in self._known.values() if standing.open]

    def _one(self, key: Key, standing: Standing, finding: ProbeFinding | None) -> None:
        if finding is not None and finding.score >= (self.close_score if standing.open else self.open_score):
            standing.finding = finding
            standing.seen, standing.missed = standing.seen + 1, 0
            standing.open |= standing.seen >= self.open_after
            return
        standing.seen, standing.missed = 0, standing.missed + 1
        if not standing.open or standing.missed >= self.close_after:
            del self._known[key]
