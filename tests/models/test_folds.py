"""Folds: what is judged was not learnt from; and the leak that is made on purpose."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from features.fleet import Fleet
from ingest.errors import ModelError
from models.folds import EMBARGO, leaked, links_apart, only, vendors_out, walk_forward, without
from models.training_data import TrainingData

START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SPAN = (START, START + 8 * DAY, START - EMBARGO)


def _fleet(cables: list[tuple[str, str]], **modules: Any) -> Fleet:
    """Cables between ports that are written device:interface."""
    ends = {
        f"{end}_{name}": [cable[k].split(":")[j] for cable in cables]
        for k, end in enumerate("az")
        for j, name in enumerate(("device", "interface"))
    }
    links = pl.DataFrame({**ends, "cable_id": [f"C{i}" for i in range(len(cables))]})
    return Fleet.from_frames(links=links, **({"modules": pl.DataFrame(modules)} if modules else {}))


class TestWalkForward:
    def test_parts_follow_each_other_and_each_has_a_training_before_it(self) -> None:
        folds = walk_forward(START, START + 10 * DAY, 4)

        assert START == folds[0].start
        assert START + 10 * DAY == folds[-1].end
        assert all(before.end == after.start for before, after in pairwise(folds))
        assert all(fold.train_until == fold.start - EMBARGO for fold in folds)

    def test_the_embargo_is_window_and_horizon_where_not_said(self) -> None:
        assert 10 * DAY == EMBARGO
        assert START == walk_forward(START, START + DAY, 1, timedelta(0))[0].train_until


class TestLinksApart:
    def test_each_link_is_judged_once(self) -> None:
        fleet = _fleet([(f"leaf:{i}", f"spine:{i}") for i in range(20)])

        folds = links_apart(fleet, 3, *SPAN)

        judged = Counter(link for fold in folds for link in fold.links or ())
        assert {f"C{i}": 1 for i in range(20)} == judged
        assert {6, 7} == {len(fold.links or ()) for fold in folds}

    def test_links_of_one_cage_and_of_a_module_that_moved_stay_together(self) -> None:
        """C0 and C1 are lanes of one breakout; the module of C2 was moved to C3."""
        cables = [("leaf:0", "gpu1:0"), ("leaf:0", "gpu2:0"), ("leaf:2", "gpu3:0"), ("leaf:3", "gpu4:0")]
        moved = {"device": ["leaf", "leaf"], "interface": ["2", "3"], "serial": ["S", "S"]}

        for count in (2, 3, 4):
            folds = links_apart(_fleet(cables, **moved), count, *SPAN)

            of = {link: fold.name for fold in folds for link in fold.links or ()}
            assert of["C0"] == of["C1"]
            assert of["C2"] == of["C3"]


class TestVendorsOut:
    CABLES = (("leaf:0", "spine:0"), ("leaf:1", "spine:1"))

    def test_every_link_with_a_module_of_the_vendor_is_out(self) -> None:
        modules = {
            "device": ["leaf", "spine", "leaf", "spine"],
            "interface": ["0", "0", "1", "1"],
            "vendor": ["ACME", "ACME", "ACME", "Bright"],
        }

        folds = vendors_out(_fleet(list(self.CABLES), **modules), *SPAN)

        assert {"without ACME": {"C0", "C1"}, "without Bright": {"C1"}} == {f.name: set(f.links or ()) for f in folds}

    def test_one_vendor_cannot_be_left_out(self) -> None:
        modules = {"device": ["leaf"], "interface": ["0"], "vendor": ["ACME"]}

        with pytest.raises(ModelError, match="knows 1 vendor: there is none to leave out"):
            vendors_out(_fleet(list(self.CABLES), **modules), *SPAN)


def test_a_fleet_of_some_links_has_their_modules_only() -> None:
    modules = {"device": ["leaf", "leaf"], "interface": ["0", "1"], "serial": ["A", "B"]}

    part = only(_fleet([("leaf:0", "spine:0"), ("leaf:1", "spine:1")], **modules), {"C1"})

    assert (["B"], {"C1"}) == (part.modules["serial"].to_list(), set(part.ends()["link_id"]))


class TestWhatIsLearntFrom:
    def test_nothing_of_a_held_out_link_is_left(self, data: TrainingData) -> None:
        held = sorted(set(data.rows.link))[:10]

        part = without(data, held)

        assert not set(held) & (set(part.rows.link) | set(part.every_hour.link))
        assert len(set(data.rows.link)) - 10 == len(set(part.rows.link))
        assert part.rows.rows.shape[0] == part.fault.shape[0] == part.rows.place.height
        told = data.events.select("link_id", "verdict").row(int(part.rows.event.max()))
        assert told == part.events.select("link_id", "verdict").row(int(part.rows.event.max()))
        assert "counted" not in set(part.events.filter(pl.col("link_id").is_in(held))["verdict"])

    def test_a_leak_has_neighbours_of_every_row_it_leaves_out(self, data: TrainingData) -> None:
        """Half the rows by lot: hardly a failure or a link is new to it."""
        part = leaked(data)

        assert pytest.approx(0.5, abs=0.02) == part.rows.rows.shape[0] / data.rows.rows.shape[0]
        assert set(data.rows.place.rows()) == set(part.rows.place.rows())
        assert len(set(data.rows.link)) == len(set(part.rows.link))
        assert set(np.unique(data.rows.event)) == set(np.unique(part.rows.event))
