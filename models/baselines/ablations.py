"""What a part of the features is worth: the same estimator, trained and walked with the rest hidden from it.

``one end alone`` sees each module end by itself, without the far end and the link; ``light alone`` of that only
readings of light, current, heat and voltage: neither bit errors, counters, states nor records (what OptProphet,
APNet 2025, looks at). A link is at the risk of the worse of its ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from features.engine import Engine
from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline
from ingest.lake import Lake
from models.artifact import Artifact
from models.base import Prediction
from models.boosting import in_order
from models.joint import JointModel
from models.rows import RiskSet
from models.train import train
from models.walk import LinkRisks, Walk, Work

__all__ = ["ABLATIONS", "Ablated", "PartialModel", "ablated"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_LIGHT: Final = ("rx_", "tx_", "bias_", "temp_", "volt_")

ABLATIONS: Final[dict[str, Callable[[str], bool]]] = {
    "one end alone": lambda _: True,
    "light alone": lambda name: name.startswith(_LIGHT),
}
"""Name: which of an end's own features it sees."""


@dataclass
class PartialModel(JointModel):
    """A joint model that sees some columns only, each end of a link by itself; the others are missing to it.

    Attributes:
        kept: names of the columns that it sees.
    """

    kept: frozenset[str] = frozenset()

    def fit(self, data: RiskSet, fault: Ints) -> Self:
        """As `JointModel.fit`, each end a link of its own."""
        return super().fit(replace(data, rows=self._seen(data.rows), first=np.ones_like(data.first)), fault)

    def link_view(self, rows: Floats) -> Floats:
        """As `JointModel.link_view`, of what it sees."""
        return super().link_view(self._seen(rows))

    def fault(self, rows: Floats) -> Floats:
        """As `JointModel.fault`, of what it sees."""
        return super().fault(self._seen(rows))

    def predict(self, rows: Floats, names: Sequence[str]) -> Prediction:
        """As `JointModel.predict`, of what it sees."""
        return super().predict(self._seen(in_order(rows, names, self.names)), self.names)

    def _seen(self, rows: Floats) -> Floats:
        hidden = [j for j, name in enumerate(self.names) if name not in self.kept]
        seen = rows.copy()
        seen[:, hidden] = np.nan
        return seen


@dataclass
class Ablated:
    """A partial model on its walk; feed it the blocks of the whole model's."""

    walk: Walk

    def feed(self, block: Block) -> None:
        """Take the policy's steps at each of the block's times, at the risk of the worse end."""
        time, port = np.nonzero(block.first.T)
        model = self.walk.artifact.model
        risk = model.risk(block.matrix(port, time))
        peer = block.history.peer[port]
        both = (peer >= 0) & block.present[peer, time]
        risk[both] = np.fmax(risk[both], model.risk(block.matrix(peer[both], time[both])))
        self.walk.feed(block, LinkRisks(port, time, risk))


def ablated(
    lake: Lake,
    fleet: Fleet,
    until: datetime,
    name: str,
    progress: Callable[[str, float], None] = lambda _step, _done: None,
    engine: Engine | None = None,
) -> Ablated:
    """Train a partial model on what was known at `until`, ready to walk.

    Args:
        lake: telemetry, tiles up to date, records.
        fleet: records, whole.
        until: whole hour.
        name: one of `ABLATIONS`.
        progress: as of `models.train.train`.
        engine: where features are computed; this process where not given.

    Raises:
        ModelError: too little telemetry or no failure before `until`.
    """
    return Ablated(Walk(_trained(lake, until, name, progress, engine), Work.of(fleet)))


def _trained(
    lake: Lake, until: datetime, name: str, progress: Callable[[str, float], None], engine: Engine | None
) -> Artifact:
    pipeline = FeaturePipeline()
    kept = frozenset(column for column in pipeline.own_names if ABLATIONS[name](column))
    model = PartialModel(pipeline.names, pipeline.signs, kept=kept)
    return train(lake, until, progress, engine, model=model, each_end=True)
