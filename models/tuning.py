"""How hard the ramps' coefficients are held, chosen on later times and other links than those learnt from.

A bounded search (Optuna's TPE). The usual setting is tried first and kept unless another one foretells better beyond
chance: a search over few failures finds luck more often than law.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from ingest.errors import ModelError
from models.base import HORIZONS_H
from models.hazard import about_to_fail
from models.ramps import Hold, RampModel
from models.rows import RiskSet

__all__ = ["Search", "Trial", "forward_splits", "search"]

Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

_CUTS: Final = (0.5, 0.75)
"""Parts of the span after which a split judges what was learnt before."""
_FOLDS: Final = 2
_EMBARGO_S: Final = HORIZONS_H[-1] * 3600.0
"""Rows of the week before a cut are not learnt from: what became of them was not known then."""
_BLOCKS: Final = 50
_RANGES: Final = {"penalty": (0.03, 10.0), "least_scale": (0.003, 1.0)}


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting and what it cost: log-loss on unseen links at later times, a failure weighing one."""

    hold: Hold
    loss: float


@dataclass(frozen=True, slots=True)
class Search:
    """What was tried, the usual setting first, and what was chosen."""

    trials: tuple[Trial, ...]
    chosen: Hold

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        trials = [{**asdict(trial.hold), "loss": round(trial.loss, 6)} for trial in self.trials]
        return {"trials": trials, "chosen": asdict(self.chosen)}


def forward_splits(data: RiskSet, seed: int = 7) -> Iterator[tuple[Ints, Ints]]:
    """Rows to learn from and rows to judge: the latter of other links, and after a cut in time; see `_EMBARGO_S`."""
    first, last = data.time_s.min(), data.time_s.max()
    folds = min(_FOLDS, len(set(data.link)))
    if folds < 2:  # noqa: PLR2004 - one link cannot be judged by others
        return
    for _, held in GroupKFold(folds, shuffle=True, random_state=seed).split(data.rows, groups=data.link):
        unseen = np.zeros(data.rows.shape[0], bool)
        unseen[held] = True
        for cut in first + (last - first) * np.array(_CUTS):
            yield (
                np.flatnonzero(~unseen & (data.time_s < cut - _EMBARGO_S)),
                np.flatnonzero(unseen & (data.time_s >= cut)),
            )


def search(
    data: RiskSet,
    names: tuple[str, ...],
    signs: tuple[int, ...],
    trials: int,
    progress: Callable[[float], None] = lambda _: None,
    seed: int = 7,
    usual: Hold = Hold(),  # noqa: B008 - a frozen value
) -> Search:
    """The setting that foretells best on later times and other links: the usual one unless beyond chance.

    Args:
        data: rows of links at risk, one a link and time.
        names: its columns.
        signs: of each column, see `RampModel`.
        trials: settings tried, the usual one among them.
        progress: called with the fraction done.
        seed: of folds and search.
        usual: the setting that is kept if none is better.

    Raises:
        ModelError: no split has failures on both sides.
    """
    import optuna

    fails, weight = about_to_fail(data)
    known = weight > 0
    splits = [(a[known[a]], b[known[b]]) for a, b in forward_splits(data, seed)]
    splits = [(a, b) for a, b in splits if fails[a].any() and fails[b].any()]
    if not splits:
        msg = "there is nothing to tune on: no failures both before and after a cut in time, on different links"
        raise ModelError(msg)
    judged: list[tuple[Hold, Floats64]] = []

    def losses(hold: Hold) -> Floats64:
        parts = []
        for learnt, later in splits:
            model = RampModel(names, signs, hold).fit(data.rows[learnt], fails[learnt], weight[learnt])
            score = model.score(data.rows[later])
            parts.append(weight[later] * (np.logaddexp(0, score) - fails[later] * score))
        return np.concatenate(parts)

    def objective(trial: optuna.Trial) -> float:
        hold = Hold(**{name: trial.suggest_float(name, *ends, log=True) for name, ends in _RANGES.items()})
        judged.append((hold, losses(hold)))
        progress(len(judged) / trials)
        return float(judged[-1][1].sum())

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(asdict(usual))
    study.optimize(objective, n_trials=trials)
    failures = sum(weight[later][fails[later]].sum() for _, later in splits)
    first, best = judged[0], min(judged, key=lambda one: float(one[1].sum()))
    gain = first[1] - best[1]
    error = float(np.array([part.sum() for part in np.array_split(gain, _BLOCKS)]).std() * np.sqrt(_BLOCKS))
    chosen = best[0] if gain.sum() > 2 * error else usual
    return Search(tuple(Trial(hold, float(loss.sum() / failures)) for hold, loss in judged), chosen)
