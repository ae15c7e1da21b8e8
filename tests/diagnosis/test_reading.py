"""A question about a link or a job, answered from tables of a real lake."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from probed_fabric import AT, NODES, probed

from diagnosis.parts import Part
from diagnosis.reading import Question, answered, fabric_of
from diagnosis.verdict import Kind, Priority
from ingest.errors import DiagnosisError
from ingest.lake import Lake
from ingest.schema import PROBES, SCORES

S = "default"
Fill = Callable[..., Lake]


@pytest.fixture(name="fill")
def _fill(tmp_path: Path) -> Fill:
    """A lake with a fabric and probes through it."""

    def fill(lossy: dict[str, float] | None = None, **changes: Any) -> Lake:
        lake: Lake = probed(tmp_path / "lake", lossy, **changes)
        return lake

    return fill


LOSSY = "gpu3:eth0 → leaf1:h1"


class TestLinks:
    def test_a_lossy_link_is_named_with_its_direction(self, fill: Fill) -> None:
        lake = fill({LOSSY: 0.02})
        verdict = answered(lake, Question(ports=((S, "leaf1", "h1"),)), AT)

        assert (Kind.NETWORK_FAULTY, Priority.P2) == (verdict.kind, verdict.priority)
        assert LOSSY in verdict.why

    def test_of_a_job_beside_it_the_network_is_innocent(self, fill: Fill) -> None:
        """The fault is told all the same, as one that is elsewhere."""
        lake = fill({LOSSY: 0.02}, sent=20_000)
        verdict = answered(lake, Question(nodes=NODES[4:], slowdown=0.3), AT)

        assert (Kind.INNOCENT, Priority.P2) == (verdict.kind, verdict.priority)
        assert 1 == len(verdict.elsewhere)

    @pytest.mark.parametrize(("slowdown", "priority"), [(0.3, Priority.P0), (0.01, Priority.P1), (None, Priority.P1)])
    def test_a_job_over_it_has_the_priority_of_its_slowdown(
        self, fill: Fill, slowdown: float | None, priority: Priority
    ) -> None:
        verdict = answered(fill({LOSSY: 0.02}), Question(nodes=NODES, slowdown=slowdown), AT)

        assert (Kind.NETWORK_FAULTY, priority) == (verdict.kind, verdict.priority)

    def test_the_part_follows_from_both_ends(self, fill: Fill) -> None:
        """The laser launches as before, less arrives: the fibre, in this direction."""
        lake = fill({LOSSY: 0.02}, dim_db={("leaf1", "h1"): 5.0})
        verdict = answered(lake, Question(ports=((S, "gpu3", "eth0"),)), AT)

        assert verdict.part is not None
        assert (Part.FIBRE, ["probes", "dom"]) == (verdict.part.part, [step.layer for step in verdict.chain])

    def test_the_optics_risk_names_one_of_links_that_spray_cannot_tell_apart(self, fill: Fill) -> None:
        """Two uplinks that share all traffic evenly: without a score both are named, and neither is picked."""
        lake = fill({"leaf2:u1 → spine1:d2": 0.03}, sent=20_000)
        question = Question(ports=((S, "leaf2", "u1"),))
        before = answered(lake, question, AT).finding
        score = {"time": AT, "received_at": AT, "site": S, "status": "scored", "model_version": "1"}
        risks = {("leaf2", "u1"): 0.4, ("leaf2", "u0"): 0.001, ("leaf3", "u0"): 0.001}
        lake.append(
            SCORES,
            SCORES.of([{**score, "device": d, "interface": i, "risk_24h": risk} for (d, i), risk in risks.items()]),
        )
        after = answered(lake, question, AT + timedelta(seconds=1)).finding

        assert before is not None
        assert (2, None) == (len(before.alike), before.first)
        assert after is not None
        assert (1, fabric_of(lake, AT).leaving[S, "leaf2", "u1"]) == (len(after.links), after.first)


class TestPower:
    def test_too_few_probes_are_inconclusive_and_say_how_many_windows_would_do(self, fill: Fill) -> None:
        verdict = answered(fill(sent=300), Question(nodes=NODES), AT)

        assert Kind.INCONCLUSIVE is verdict.kind
        assert verdict.power.more_windows is not None
        assert verdict.power.more_windows > 0

    def test_as_many_windows_as_were_asked_for_are_enough(self, fill: Fill, tmp_path: Path) -> None:
        """The number that was told is not a guess."""
        few = answered(fill(sent=1_000, windows=1), Question(nodes=NODES), AT)
        assert few.power.more_windows is not None
        more = answered(
            fill(sent=1_000, windows=1 + few.power.more_windows),
            Question(nodes=NODES, windows=1 + few.power.more_windows),
            AT,
        )

        assert Kind.INCONCLUSIVE is few.kind
        assert Kind.INNOCENT is more.kind

    def test_no_probe_is_no_all_clear(self, fill: Fill) -> None:
        verdict = answered(fill(windows=0), Question(nodes=NODES), AT)

        assert (Kind.INCONCLUSIVE, None) == (verdict.kind, verdict.power.more_windows)
        assert "probes" in verdict.missing

    def test_layers_that_were_not_looked_at_are_named(self, fill: Fill) -> None:
        verdict = answered(fill(), Question(nodes=NODES), AT)

        assert {"collectives", "flows", "pfc", "port counters", "optic risk"} <= set(verdict.missing)


class TestContradictions:
    """Rows that somebody with a token made up, or that a broken agent sent."""

    @pytest.mark.parametrize(
        "wrong",
        [{"forward_lost": 5_000}, {"forward_lost": 1, "reverse_lost": None, "lost": 1}, {"lost": 5_000}, {"lost": -1}],
        ids=str,
    )
    def test_counts_that_cannot_be_are_left_out(self, fill: Fill, wrong: dict[str, int | None]) -> None:
        """One such row ended the verdict on every link."""
        lake = fill({LOSSY: 0.02})
        row = lake.latest(PROBES).collect().to_dicts()[0]
        lake.append(PROBES, PROBES.of([{**row, "source_port": 50_001, **wrong}]))
        verdict = answered(lake, Question(ports=((S, "leaf1", "h1"),)), AT)

        assert Kind.NETWORK_FAULTY is verdict.kind
        assert LOSSY in verdict.why


class TestHosts:
    def test_a_host_that_is_down_is_not_blamed_on_its_cable(self, fill: Fill) -> None:
        verdict = answered(fill(down=["gpu3"]), Question(nodes=NODES), AT)

        assert Kind.HOST is verdict.kind
        assert "gpu3" in verdict.why


@pytest.mark.parametrize(
    "question", [Question(ports=((S, "leaf9", "u1"),)), Question(nodes=((S, "gpu0"), (S, "gpu99")))]
)
def test_what_is_not_known_is_an_error_and_no_all_clear(fill: Fill, question: Question) -> None:
    with pytest.raises(DiagnosisError, match=r"leaf9|gpu99"):
        answered(fill(windows=0), question, AT)


def test_a_table_of_links_is_a_fabric_with_servers(fill: Fill) -> None:
    fabric = fabric_of(fill(windows=0), AT)

    assert (32, 8) == (fabric.links, len(fabric.servers))
    assert pl.Series(fabric.leaving.values()).is_unique().all()
