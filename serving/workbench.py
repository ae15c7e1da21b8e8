"""What the commands do, step by step, for a notebook: frames of pandas come out, models and alarms are the real ones.

``Workbench()`` works on the same FORELIGHT_HOME as the command line, ``Workbench("folder")`` on a home of its own.
Nothing here decides anything: each step is the function that the command of the same name calls.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl

from features.cube import LakeTiles
from features.describe import columns
from features.fleet import PORT, Fleet
from features.label_reasons import explained
from features.pipeline import FeaturePipeline
from ingest.errors import LakeError, ModelError
from ingest.exports import ImportReport, import_export
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, LIMITS, PORT_SAMPLES
from models.alarm import alarm_frame
from models.alarm_file import read_alarms
from models.budgets import at_budgets
from models.evaluate import judge
from models.paired import Comparison
from models.points import BudgetPoint
from models.registry import Registry
from models.risk_log import RiskLog, Risks
from models.scorecard import Scorecard, scorecard_rows
from serving.backtest.backtesting import judged, judged_events, walked, watched
from serving.scoring.challenge import compared
from serving.scoring.training import fresh_tiles, newest_hour, trained
from serving.settings import Settings
from serving.verdicts import answer
from serving.wire.verdicts import VerdictAnswer, VerdictQuery

if TYPE_CHECKING:
    from models.artifact import Artifact

__all__ = ["Backtest", "End", "Workbench", "curve_frame", "scorecards"]


@dataclass(frozen=True)
class End:
    """One end of a link.

    Attributes:
        lanes: a row a lane and reading, in order of time.
        port: a row a reading of what exists once a module or port: temperature, counters, flags.
        limits: the module's own, by name (`rx_power_low_warn_dbm`), as far as it states them.
        peer: device and interface of the far end; None where no link is known.
    """

    lanes: pd.DataFrame
    port: pd.DataFrame
    limits: dict[str, float]
    peer: tuple[str, str] | None


@dataclass(frozen=True)
class Backtest:
    """What a model would have said of a span, and how that would have gone.

    Attributes:
        alarms: a row an alarm.
        failures: a row a ticket, with `failed_at` and what was made of it (`verdict`).
        risks: of each link and hour.
        cards: of the alarms, of those at level `act` where there are, and of the modules' own warning limits.
    """

    alarms: pd.DataFrame
    failures: pd.DataFrame
    risks: Risks
    cards: tuple[Scorecard, ...]

    def scorecard(self) -> pd.DataFrame:
        """The cards side by side."""
        return scorecards(*self.cards)

    def within(self, false_per_1000_module_weeks: float) -> BudgetPoint:
        """The lowest threshold that would have kept within a budget, in hindsight.

        Raises:
            ModelError: none would have.
        """
        found = at_budgets(self.cards[0].curve, (false_per_1000_module_weeks,))
        if not found:
            msg = (
                f"no threshold keeps within {false_per_1000_module_weeks} false alarms: the span is too short for that"
            )
            raise ModelError(msg)
        return found[0]

    def curve(self) -> pd.DataFrame:
        """Every threshold that the alarms could have had, with what it would have caught and cost."""
        return curve_frame(self.cards[0].curve)


def scorecards(*cards: Scorecard) -> pd.DataFrame:
    """Scorecards side by side, a row a figure."""
    rows = scorecard_rows(*cards)
    return pd.DataFrame([values for _, values in rows], [label for label, _ in rows], [card.name for card in cards])


def curve_frame(curve: tuple[BudgetPoint, ...]) -> pd.DataFrame:
    """Points of a curve, a row each: threshold, false alarms, recall and precision by lead in hours."""
    return pd.DataFrame(
        {
            "threshold": point.threshold,
            "false_per_1000_module_weeks": point.false_per_1000_module_weeks,
            **{f"recall_{lead}h": value for lead, value in point.recall.items()},
            **{f"precision_{lead}h": value for lead, value in point.precision.items()},
        }
        for point in curve
    )


class Workbench:
    """One home, with what can be done there.

    Args:
        home: a folder; FORELIGHT_HOME and what else the environment says where not given.
        step: shows progress of long steps, as `serving.cli.progress.step` does; silent where not given.
    """

    def __init__(self, home: Path | str | None = None, step: Callable[[str], Any] | None = None) -> None:
        self.settings = Settings.from_env(os.environ if home is None else {"FORELIGHT_HOME": str(home)})
        self.lake = Lake(self.settings.lake_uri)
        self.pipeline = FeaturePipeline()
        self._step = step or _silently

    @property
    def fleet(self) -> Fleet:
        """Modules, links, tickets and maintenance as they are known now."""
        return Fleet.load(self.lake)

    @property
    def registry(self) -> Registry:
        """The models of this home."""
        return Registry(self.settings.tracking_uri, self.settings.artifact_root)

    @property
    def newest(self) -> datetime:
        """The end of the last whole hour of telemetry."""
        return newest_hour(self.lake)

    def take(self, folder: Path | str) -> ImportReport:
        """Import an export, as `forelight import` does; the report says what was not taken, and why."""
        quarantine = self.settings.home / "quarantine"
        with self._step("import") as progress:
            return import_export(
                Path(folder),
                self.lake,
                quarantine=quarantine,
                progress=lambda _, done, total: progress(done / max(total, 1)),
            )

    def end(self, device: str, interface: str, *, site: str = "default") -> End:
        """Readings and limits of one end of a link.

        Raises:
            LakeError: nothing was ever read there.
        """
        place = pl.all_horizontal(
            pl.col(name) == value for name, value in zip(PORT, (site, device, interface), strict=True)
        )
        lanes, port = (
            self.lake.latest(table).filter(place).sort("time").collect() for table in (LANE_SAMPLES, PORT_SAMPLES)
        )
        if port.is_empty():
            msg = f"there are no readings of {device} {interface} at site {site}"
            raise LakeError(msg)
        fleet = self.fleet
        module = fleet.in_cages().filter(place).select(LIMITS).to_dicts()
        limits = {name: value for name, value in (module[0] if module else {}).items() if value is not None}
        far = fleet.ends().filter(place, pl.col("peer_device").is_not_null())
        peer = far.select("peer_device", "peer_interface").row(0) if far.height else None
        return End(lanes.to_pandas(), port.to_pandas(), limits, peer)

    def labels(self) -> pd.DataFrame:
        """Every ticket, what was made of it and why, as `forelight labels` prints it."""
        fleet = self.fleet
        return explained(judged_events(self.lake, fleet), fleet.ends()).to_pandas()

    def features(self, at: datetime | list[datetime] | None = None) -> pd.DataFrame:
        """A row a port and time, with what the model would see of it: the newest hour where none is given."""
        self._fresh()
        return self.pipeline.transform(LakeTiles(self.lake), self.fleet, at or self.newest).to_pandas()

    def feature_columns(self) -> pd.DataFrame:
        """Every feature with what it means, and whether risk may only rise (+1) or fall (-1) with it."""
        return pd.DataFrame(columns(), columns=["column", "sign", "meaning"]).set_index("column")

    def train(self, until: datetime) -> "Artifact":
        """A model of what was known at a time; it is not registered yet.

        Raises:
            ModelError: too little telemetry, or no failure to learn from.
        """
        self._fresh()
        return trained(self.lake, until, self._step)

    def backtest(self, artifact: "Artifact", start: datetime, end: datetime, *, every_h: int = 1) -> Backtest:
        """Walk through a span as if live, and judge: of a model that was trained until its beginning, or before.

        Raises:
            ModelError: the model was trained on some of the span.
        """
        self._fresh()
        fleet, log = self.fleet, RiskLog()
        walk = walked(self.lake, fleet, artifact, (start, end), every_h, self._step, log=log)
        alarms, risks = alarm_frame(walk.alarms), log.risks()
        cards = judged(self.lake, fleet, alarms, (start, end), self._step, risks=risks)
        return Backtest(alarms.to_pandas(), judged_events(self.lake, fleet).to_pandas(), risks, tuple(cards))

    def judge(self, alarms: Path | str, start: datetime, end: datetime, *, name: str = "yours") -> Scorecard:
        """Judge anybody's alarms, of a CSV as `forelight evaluate` takes it."""
        fleet = self.fleet
        events = judged_events(self.lake, fleet)
        days = watched(self.lake)
        return judge(read_alarms(Path(alarms)), events, fleet, start=start, end=end, name=name, watched=days)

    def compare(self, champion: "Artifact", challenger: "Artifact") -> Comparison:
        """Both on the same failures, after both were trained, as `forelight model promote` does.

        Raises:
            ModelError: there is less than a day of that.
        """
        self._fresh()
        return compared(self.lake, champion, challenger, self._step)

    def diagnose(self, at: datetime, **asked: Any) -> VerdictAnswer:
        """Is it the network, a host, congestion? As `forelight diagnose` answers.

        Args:
            at: as of when.
            asked: `link` as ``leaf1/Ethernet1/1``, or `job` and `node`s; `slowdown`, `windows`, `site`.

        Raises:
            ServingError: neither a link nor a job, or names that are not known.
        """
        query = VerdictQuery.model_validate(asked)
        return answer(self.lake, query.question(), at, query.job)

    def _fresh(self) -> None:
        fresh_tiles(self.lake, self._step)


@contextmanager
def _silently(_name: str) -> Iterator[Callable[[float], None]]:
    yield lambda _done: None
