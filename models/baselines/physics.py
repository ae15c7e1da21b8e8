"""Six thresholds set by hand from physics, none of them fitted: the rule that a learnt model has to beat.

It looks at the same features at the same hours as the model, and each end of a link by itself. An alarm needs a
threshold crossed at two of three hours; it says what the threshold means.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.fleet import PORT, Fleet
from features.pipeline import Block
from ingest.schema import Action, FailureType
from models.baselines.issues import ISSUE_SCHEMA, Meaning, merged

__all__ = ["THRESHOLDS", "PhysicsRule", "Threshold"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

_OF: Final = 3
"""A threshold must be crossed at two of so many hours."""


@dataclass(frozen=True)
class Ends:
    """Features by name, shape (ports, times): of each end, and of the end it is linked with."""

    block: Block

    def __call__(self, name: str) -> Floats:
        return self.block.own[:, :, self.block.pipeline.own_names.index(name)]

    def far(self, name: str) -> Floats:
        """NaN where the far end is silent or not known."""
        peer = self.block.history.peer
        there = (peer >= 0)[:, None] & self.block.present[peer]
        return np.where(there, self(name)[peer], np.nan)


@dataclass(frozen=True)
class Threshold:
    """What is looked at, when it is too much, and what that means.

    Attributes:
        name: the alarm's ``quantity``.
        why: the threshold and the physics behind it.
        crossed: where it is.
        meaning: suspect, failure type, first action.
    """

    name: str
    why: str
    crossed: Callable[[Ends], Bools]
    meaning: tuple[str, str, str]


def _path_loss(see: Ends) -> Bools:
    launched = see.far("tx_min_shift_6h")
    return np.minimum(launched, 0.0) - see("rx_min_shift_6h") >= 1.0


def _bit_errors(see: Ends) -> Bools:
    margin = see("ber_margin_6h")
    at_limit = margin <= np.log10(2.4e-4 / 1.5e-4)
    near = margin <= 3.0  # noqa: PLR2004 - said in `why`
    rising = see("ber_max_slope_24h") >= 1.0
    passes = (see("ber_passage_24h_to_24h") >= 1.0) & (see("ber_max_shift_6h") >= 0.5)  # noqa: PLR2004 - the same
    crossed: Bools = at_limit | (near & (rising | passes))
    return crossed


def _bursts(see: Ends) -> Bools:
    crossed: Bools = (see("flaps_6h") >= np.log1p(3)) | (see("uncorrected_6h") >= np.log1p(36))
    return crossed


def _one_lane(see: Ends) -> Bools:
    return np.minimum(see("tx_min_one_lane_6h"), see("rx_min_one_lane_6h")) <= -1.0


_FIBER: Final = ("fiber", FailureType.CONTAMINATION, Action.CLEAN_CONNECTOR)
_LASER: Final = ("module", FailureType.LASER_DEGRADATION, Action.REPLACE_TRANSCEIVER)

THRESHOLDS: Final = (
    Threshold(
        "bursts",
        "3 flaps in 6 h, as in the flap rule; or 36 codewords lost in 6 h, what KP4 loses at a BER of 3e-4, a quarter "
        "above its limit",
        _bursts,
        ("module", FailureType.LOOSE_SEATING, Action.RESEAT),
    ),
    Threshold(
        "path_loss",
        "the path loses 1 dB more than it did: the least that contamination costs, twenty times what DOM repeats to",
        _path_loss,
        _FIBER,
    ),
    Threshold(
        "one_lane",
        "a lane moved 1 dB below the mean of its module, what a lane's launched power may differ by after a repair",
        _one_lane,
        _LASER,
    ),
    Threshold(
        "bias",
        "bias 10 % above its baseline at equal temperature, less what the device's other ports did: end of life of "
        "the public laser ageing data",
        lambda see: see("bias_max_local_shift_6h") >= np.log(1.1),
        _LASER,
    ),
    Threshold(
        "rx_drop",
        "received power 2 dB below its baseline, whatever the far end says: what it may differ by after a repair",
        lambda see: see("rx_min_shift_6h") <= -2.0,  # noqa: PLR2004 - said in `why`
        _FIBER,
    ),
    Threshold(
        "bit_errors",
        "BER within 0.2 decades of the FEC limit (KP4: 1.5e-4, some months to an uncorrectable codeword); or, within "
        "3 decades (1.6 dB) of it, rising by a decade (0.4 dB of margin) a day, or expected beyond it within a day by "
        "one standard deviate after a rise of half a decade",
        _bit_errors,
        ("module", FailureType.RECEIVER_DEGRADATION, Action.REPLACE_TRANSCEIVER),
    ),
)
"""In order of what they tell: where several are crossed at once the first one speaks. Sources: OIF CMIS and IEEE 802.3
FEC arithmetic, SONiC's test limits after a repair, Meeker & Escobar's GaAs lasers."""

_MEANING: Final[Meaning] = {threshold.name: threshold.meaning for threshold in THRESHOLDS}


@dataclass
class PhysicsRule:
    """Feed it blocks in order of time, then ask for its alarms."""

    _seen: list[pl.DataFrame] = field(default_factory=list)

    def feed(self, block: Block) -> None:
        """Note where a threshold is crossed."""
        see = Ends(block)
        with np.errstate(invalid="ignore"):
            which = np.stack([threshold.crossed(see) for threshold in THRESHOLDS]) & block.present
        port, time = np.nonzero(which.any(axis=0))
        names = np.array([threshold.name for threshold in THRESHOLDS], object)
        told = block.cube.ports[port].with_columns(
            time=pl.Series([block.history.at[t] for t in time.tolist()], dtype=pl.Datetime("us", "UTC")),
            quantity=pl.Series(names[which.argmax(axis=0)[port, time]], dtype=pl.String),
        )
        self._seen.append(told.select(ISSUE_SCHEMA.names()))

    def alarms(self, fleet: Fleet, *, end: datetime, every_h: int = 1) -> pl.DataFrame:
        """Alarms of ``limits.ALARM_SCHEMA``.

        Args:
            fleet: records.
            end: nothing later was looked at.
            every_h: hours between the times of the blocks.
        """
        seen = pl.concat([ISSUE_SCHEMA.to_frame(), *self._seen]).unique([*PORT, "time"]).sort(*PORT, "time")
        again = pl.col("time") - pl.col("time").shift(1).over(PORT) < timedelta(hours=_OF * every_h)
        return merged(seen.filter(again), fleet, end=end, meaning=_MEANING)
