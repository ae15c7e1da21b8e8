"""``forelight labels``: every ticket, and what was made of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingest.lake import Lake
from ingest.schema import TICKETS

Console = Callable[..., Any]


def test_every_ticket_is_listed_with_what_was_made_of_it(console: Console, fleet_lake: Lake, tmp_path: Path) -> None:
    ran = console(tmp_path, "labels", "--json", FORELIGHT_LAKE_URI=fleet_lake.uri)

    told = json.loads(ran.out)
    tickets = fleet_lake.latest(TICKETS).collect()["ticket_id"]
    assert set(tickets) == {ticket["ticket_id"] for ticket in told["tickets"]}
    assert len(tickets) == sum(told["summary"].values())
    assert 0 < told["summary"]["counted"]
    assert all(ticket["why"] and ticket["failed_at"] <= ticket["opened_at"] for ticket in told["tickets"])


def test_people_are_told_a_table_and_a_summary(console: Console, fleet_lake: Lake, tmp_path: Path) -> None:
    ran = console(tmp_path, "labels", FORELIGHT_LAKE_URI=fleet_lake.uri)

    assert 0 == ran.code
    assert "failed at" in ran.out
    assert "dated by telemetry" in ran.out.splitlines()[-1]


def test_a_ticket_takes_few_lines_of_a_narrow_terminal(console: Console, fleet_lake: Lake, tmp_path: Path) -> None:
    """They were ten: a link that bears its port's name stood there twice, and `why` had ten letters a line."""
    ran = console(tmp_path, "labels", FORELIGHT_LAKE_URI=fleet_lake.uri, COLUMNS="80")

    tickets = fleet_lake.latest(TICKETS).collect().height
    assert 4 * tickets > len(ran.out.splitlines()) - 5


def test_a_lake_without_tickets_has_none(console: Console, tmp_path: Path) -> None:
    ran = console(tmp_path, "labels", "--json")

    assert 0 == ran.code, ran.err
    assert {"tickets": [], "summary": {}} == json.loads(ran.out)
