"""A bounded search of settings: forward in time, on other links, and not fooled by luck."""

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

from ingest.errors import ModelError
from models.ramps import Hold
from models.rows import RiskSet
from models.tuning import forward_splits, search

NAMES, SIGNS = ("rx_spent_6h", "readerr_24h"), (1, 1)
WEEK_H, LINKS, HOURS = 168, 60, 1200


def _set(*, failing: int, seed: int = 3) -> RiskSet:
    """Links seen every sixth hour; some fail, at times spread over the span, after their light went for a day."""
    rng = np.random.default_rng(seed)
    fails_h = np.full(LINKS, np.inf)
    fails_h[:failing] = np.linspace(100, HOURS - 10, failing) if failing else []
    link, hour = (grid.ravel() for grid in np.meshgrid(np.arange(LINKS), np.arange(0, HOURS, 6), indexing="ij"))
    wait = np.asarray(fails_h[link] - hour, np.float64)
    seen = wait > 0
    link, hour, wait = link[seen], hour[seen], wait[seen]
    rows = rng.normal(0, 0.1, (link.size, 2)).astype(np.float32)
    rows[:, 0] += np.where(wait < 24, 0.8, 0.0)
    names = np.array([f"C{i}" for i in link], object)
    return RiskSet(
        rows,
        names,
        wait,
        np.where(np.isfinite(wait), link, -1),
        np.where(wait <= WEEK_H, 1.0, 0.0),
        np.asarray(HOURS + 500.0 - hour, np.float64),
        np.ones(link.size, bool),
        np.full(link.size, 6.0),
        (hour * 3600.0).astype(np.float64),
        pl.DataFrame({"site": ["x"] * link.size, "device": ["y"] * link.size, "interface": names.astype(str)}),
    )


def test_what_is_judged_comes_later_and_is_of_other_links() -> None:
    data = _set(failing=20)

    splits = list(forward_splits(data))

    assert 4 == len(splits)
    for learnt, later in splits:
        assert set(data.link[learnt]).isdisjoint(data.link[later])
        assert data.time_s[learnt].max() + WEEK_H * 3600 < data.time_s[later].min()


def test_the_usual_setting_is_the_first_that_is_tried() -> None:
    found = search(_set(failing=20), NAMES, SIGNS, trials=4)

    assert 4 == len(found.trials)
    assert Hold() == found.trials[0].hold
    assert all(np.isfinite(trial.loss) for trial in found.trials)
    assert {"trials", "chosen"} == found.to_dict().keys()


def test_the_same_seed_finds_the_same() -> None:
    data = _set(failing=20)

    assert search(data, NAMES, SIGNS, 5) == search(data, NAMES, SIGNS, 5)


def test_another_setting_is_chosen_only_where_it_is_better_beyond_chance() -> None:
    """Where the usual one holds coefficients far too hard, the search lets them go; where it does not, it stays."""
    data = _set(failing=30)

    freed = search(data, NAMES, SIGNS, 12, usual=Hold(10.0, 1.0)).chosen
    kept = search(data, NAMES, SIGNS, 12, usual=freed).chosen

    assert freed.penalty < 3
    assert freed == kept


def test_without_failures_on_both_sides_there_is_nothing_to_tune_on() -> None:
    with pytest.raises(ModelError, match="nothing to tune on"):
        search(_set(failing=1), NAMES, SIGNS, 2)


def test_progress_ends_at_one() -> None:
    done: list[float] = []

    search(_set(failing=20), NAMES, SIGNS, 3, done.append)

    assert pytest.approx([1 / 3, 2 / 3, 1]) == done
    assert {"penalty", "least_scale", "doubt"} == asdict(Hold()).keys()  # the last is not searched for: it is physics
