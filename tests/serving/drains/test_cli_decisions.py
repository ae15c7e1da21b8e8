"""`forelight decisions` on a store with a history."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from features.fleet import Fleet
from ingest.lake import Lake
from ingest.schema import LINKS, SCORES, TICKETS
from serving.alarms import AlarmRecord, ScoreRun
from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.records import Entry, Kind
from serving.drains.store import DrainStore
from serving.store import AlarmStore


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(name="own_store")
def _own_store(home: Path) -> AlarmStore:
    return AlarmStore(f"sqlite:///{home / 'forelight.db'}").open()


@pytest.fixture(name="told")
def _told(home: Path, console: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `forelight decisions …` that must go well; what it prints."""

    def run(*arguments: str) -> str:
        ran = console(home, "decisions", *arguments)
        assert 0 == ran.code, ran.err
        out: str = ran.out
        return out

    return run


@pytest.fixture(name="cabled")
def _cabled(home: Path) -> None:
    """One link is known."""
    ends = {"a_device": "leaf01", "a_interface": "Ethernet1", "z_device": "spine01", "z_interface": "Ethernet1"}
    row = {
        **ends,
        "a_site": "default",
        "z_site": "default",
        "source": "file",
        "received_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    Lake(str(home / "lake")).append(LINKS, pl.DataFrame([row]))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            ("leaf1",),
            "no link is known at leaf1 of site default; the nearest is leaf01; --force excludes it all the same",
        ),
        (("leaf01", "Ethernet11"), "no link is known at Ethernet11 of leaf01; the nearest is Ethernet1; --force"),
        (("leaf01", "--site", "north"), "no link is known at leaf01 of site north, nor anywhere; --force"),
    ],
)
def test_what_no_link_is_known_of_is_excluded_by_force_only(
    home: Path, console: Callable[..., Any], told: Callable[..., str], cabled: None, where: tuple[str, ...], said: str
) -> None:
    """A name that is mistyped would protect nothing, and nobody would see."""
    ran = console(home, "decisions", "exclude", *where)
    before = json.loads(told("status", "--json"))["exclusions"]

    told("exclude", *where, "--force")

    assert 1 == ran.code
    assert said in ran.err
    assert (0, 1) == (len(before), len(json.loads(told("status", "--json"))["exclusions"]))


def test_the_log_is_listed_from_a_time_on_and_page_by_page(told: Callable[..., str]) -> None:
    for name in ("stop", "resume", "stop"):
        told(name)
    first = json.loads(told("list", "--limit", "2", "--json"))
    rest = json.loads(told("list", "--before", str(first[-1]["decision_id"]), "--json"))

    assert [["stopped", "running"], ["stopped"]] == [[one["outcome"] for one in page] for page in (first, rest)]
    assert f"there are older ones: --before {first[-1]['decision_id']}" in told("list", "--limit", "2")
    assert [] == json.loads(told("list", "--since", "2999-01-01T00:00:00Z", "--json"))
    assert 3 == len(json.loads(told("list", "--since", "2020-01-01T00:00:00Z", "--json")))


def test_the_kill_switch_and_exclusions_are_thrown_shown_and_taken_back(told: Callable[..., str], cabled: None) -> None:
    told("stop", "--reason", "fire drill")
    told("exclude", "leaf01", "Ethernet1", "--hours", "2", "--reason", "soak")
    status = json.loads(told("status", "--json"))
    assert "fire drill" == status["stopped"]["why"]
    assert ["leaf01"] == [one["device"] for one in status["exclusions"]]

    told("resume")
    told("include", str(status["exclusions"][0]["exclusion_id"]))
    status = json.loads(told("status", "--json"))

    assert (None, []) == (status["stopped"], status["exclusions"])
    log = json.loads(told("list", "--json"))
    assert ["included", "running", "excluded", "stopped"] == [one["outcome"] for one in log]


def test_an_exclusion_that_is_none_is_an_error(home: Path, console: Callable[..., Any]) -> None:
    ran = console(home, "decisions", "include", "7")

    assert (1, "forelight: there is no exclusion 7: `forelight decisions status` lists them\n") == (ran.code, ran.err)


def test_nothing_becomes_active_without_a_month_of_shadow(home: Path, console: Callable[..., Any]) -> None:
    ran = console(home, "decisions", "activate", "fabric")

    assert 1 == ran.code
    assert "fabric links stay in shadow: 0.0 days of shadow; 28 are asked for" in ran.err


def test_a_class_that_was_right_in_shadow_becomes_active_and_goes_back_by_hand(
    told: Callable[..., str], own_store: AlarmStore, home: Path, fleet: Fleet
) -> None:
    now = datetime.fromisoformat("2026-11-29T12:00:00+00:00")
    ends = fleet.ends().filter(pl.col("peer_device").is_not_null(), ~pl.col("device").str.starts_with("gpu"))
    lake, links = Lake(str(home / "lake")), ends.unique("link_id").sort("link_id").head(10)
    lake.append(LINKS, fleet.links.with_columns(received_at=pl.lit(now)))
    tickets = [
        {"ticket_id": f"T{k}", "device": device, "interface": interface, "opened_at": now - timedelta(days=20)}
        for k, (device, interface) in enumerate(links.select("device", "interface").iter_rows())
    ]
    lake.append(TICKETS, pl.DataFrame(tickets).with_columns(site=pl.lit("default"), received_at=pl.lit(now)))
    drains = DrainStore(own_store.engine)
    with drains.writing() as writing:
        for k, link in enumerate(links["link_id"]):
            facts = {"link_class": LinkClass.FABRIC, "mode": Mode.SHADOW, "alarm_id": f"a{k}", "link_id": link}
            at = now - timedelta(days=21 if k else 40)
            writing.log(Entry(at=at, kind=Kind.ADVICE, outcome="drain", why="", who="forelight", **facts))

    assert "fabric links: active\n" == told("activate", "fabric")
    assert "9 of 10 advised drains were right" in drains.standing().switches["fabric"].why
    assert "fabric links: shadow\n" == told("shadow", "fabric", "--reason", "new optics")


@pytest.fixture(name="month_ago")
def _month_ago(now: datetime) -> datetime:
    return now - timedelta(days=30)


@pytest.fixture(name="past")
def _past(
    own_store: AlarmStore,
    home: Path,
    wire: Callable[[Lake, datetime], None],
    month_ago: datetime,
    act_on: Callable[..., AlarmRecord],
    scores_at: Callable[..., pl.DataFrame],
    make_run: Callable[..., ScoreRun],
) -> None:
    """Three alarms of level act: two parallel links of leaf01, of which one fails, and a server's, a month ago."""
    lake, hour = Lake(str(home / "lake")), timedelta(hours=1)
    for at in (month_ago, month_ago + hour, month_ago + 200 * hour):
        wire(lake, at)
    places = ("leaf01 Ethernet1", "leaf01 Ethernet2", "leaf01 Ethernet11")
    lake.append(SCORES, scores_at(*places, at=month_ago, risk_24h=0.7))
    lake.append(SCORES, scores_at(*places, at=month_ago + hour, risk_24h=0.7))
    ticket = {"ticket_id": "T1", "site": "default", "device": "leaf01", "interface": "Ethernet1"}
    lake.append(
        TICKETS, pl.DataFrame([ticket | {"opened_at": month_ago + 20 * hour, "received_at": month_ago + 20 * hour}])
    )
    times = (month_ago, month_ago + hour, month_ago + hour)
    alarms = [act_on(place, raised_at=at, act_at=at) for place, at in zip(places, times, strict=True)]
    own_store.apply(make_run(month_ago), alarms)


@pytest.mark.usefixtures("past")
def test_a_replay_says_what_would_have_been_drained_and_saved(told: Callable[..., str]) -> None:
    found = json.loads(told("replay", "--from", "2026-10-30", "--to", "2026-11-01", "--json"))
    names = ("advice", "code", "saved_gpu_h")
    answers = {one["link_id"].split("--")[0]: [one[name] for name in names] for one in found["answers"]}

    assert {"drain": 1, "bundle": 1, "no_new_jobs": 1} == found["counts"]
    assert ["drain", None, 63.0] == answers["leaf01:Ethernet1"]
    assert ["hold", "bundle", 0.0] == answers["leaf01:Ethernet2"]
    assert (47.0, 1, 0) == (found["saved_gpu_h"], found["failures"], found["missed"]), "64 - 1, and 16 in vain"


@pytest.mark.usefixtures("past")
def test_a_replay_of_a_quiet_time_counts_nothing(told: Callable[..., str]) -> None:
    assert "no alarm of level act; +0.0 GPU hours saved in all" in told(
        "replay", "--from", "2026-11-03", "--to", "2026-11-04"
    )


@pytest.mark.usefixtures("past")
def test_the_evidence_for_a_return_is_one_page(told: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "rma.html"
    told("evidence", "alarm-leaf01-Ethernet1", str(out))
    page = out.read_text(encoding="utf-8")

    assert "Module SN0001" in page
    assert "bias 38 % above its baseline" in page
    assert "T1" in page
