"""Risks kept hour by hour."""

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np

from features.pipeline import Block
from models.base import HORIZONS_H
from models.risk_log import RiskLog, joined

MakeBlock = Callable[..., Block]


def _risk(*values: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Each row's risk of a day is the value, of a week twice that, of the other horizons 9."""
    out = np.full((len(values), len(HORIZONS_H)), 9.0, np.float32)
    out[:, HORIZONS_H.index(24)], out[:, HORIZONS_H.index(168)] = values, 2 * np.array(values)
    return out


def test_a_day_s_and_a_week_s_risk_are_kept_by_link_and_time(make_block: MakeBlock, begin: datetime) -> None:
    log, block = RiskLog(), make_block(links=2, hours=3)

    log.add(block, np.array([1, 0, 1]), np.array([0, 1, 2]), _risk(0.1, 0.2, 0.3))

    kept = log.risks()
    assert [begin, begin + timedelta(hours=1), begin + timedelta(hours=2)] == kept.times
    row = [kept.links.index(name) for name in ("C0", "C1")]
    assert np.allclose([[np.nan, 0.2, np.nan], [0.1, np.nan, 0.3]], kept.risk[24][row], equal_nan=True)
    assert np.allclose(2 * kept.risk[24], kept.risk[168], equal_nan=True)
    assert ("default", "leaf01", "Ethernet0") == kept.ports[kept.links.index("C1")]


def test_logs_of_different_links_join_to_one(make_block: MakeBlock) -> None:
    block = make_block(links=2, hours=1)
    logs = [RiskLog(frozenset({name})) for name in ("C0", "C1")]
    for log in logs:
        log.add(block, np.array([0, 1]), np.array([0, 0]), _risk(0.1, 0.2))

    whole = joined(logs)

    assert ["C0", "C1"] == whole.links
    assert np.allclose([[0.1], [0.2]], whole.risk[24])
