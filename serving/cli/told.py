"""What a back-test tells: tables for people, JSON for machines, a report that MLflow keeps too."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from models.baselines.table import comparison_table
from models.scorecard import Scorecard, scorecard_table
from models.tables import rich_table, small_tables
from serving.settings import Settings

__all__ = ["Told"]

Step = Callable[[str], AbstractContextManager[Callable[[float], None]]]


@dataclass(frozen=True)
class Told:
    """Scorecards of a back-test.

    Attributes:
        main: of the alarms and of the modules' own limits.
        cards: of all that were judged on the same events, the main ones first.
        folds: of each fold.
        notes: lines for people.
    """

    main: tuple[Scorecard, ...]
    cards: tuple[Scorecard, ...]
    folds: tuple[Scorecard, ...]
    notes: tuple[str, ...]

    def show(self, out: Path, alarms: int, *, as_json: bool) -> None:
        """Print it."""
        if as_json:
            found = {card.name: card.to_dict() for card in (*self.cards, *self.folds)}
            print(json.dumps(found, indent=2, allow_nan=False))  # noqa: T201 - the answer
            return
        console, first = Console(), self.main[0]
        console.print(
            scorecard_table(*self.main, title=f"{first.start:%Y-%m-%d %H:%M} to {first.end:%Y-%m-%d %H:%M} UTC")
        )
        for small in small_tables(self.main):
            console.print(rich_table(small))
        if self.folds:
            console.print(comparison_table(self.folds, title="Each fold by itself"))
        console.print(comparison_table(self.cards, title="The same failures, by whose alarms"))
        for note in self.notes:
            console.print(note, highlight=False)
        console.print(f"{alarms} alarms in {out}", highlight=False)

    def report(self, path: Path, step: Step) -> None:
        """Write the HTML report, and log it to MLflow with the numbers."""
        from models.kept import BACKTEST
        from models.registry import Registry
        from models.report import write_report

        write_report(path, self.main, title="forelight back-test", others=self.cards, folds=self.folds)
        settings = Settings.from_env()
        with step("MLflow"):
            found = {card.name: card.to_dict() for card in self.cards}
            Registry(settings.tracking_uri, settings.artifact_root).keep(BACKTEST, self.main[0].metrics(), found, path)
