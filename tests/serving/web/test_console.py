"""The console's pages in a real browser, over real data: what stands there, what works, for whom."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe

from features.told import told
from ingest.lake import Lake
from ingest.schema import SCORES
from serving.access.tokens import Scope
from serving.alarms import AlarmRecord, Status

OpenTab = Callable[..., Any]
PAGES = ["/", "/link", "/fleet", "/model", "/sign-in"]


def _link(alarm: AlarmRecord) -> str:
    return f"/link/{quote(alarm.device, safe='')}/{quote(alarm.interface, safe='')}"


def _path(page: str, service: Any) -> str:
    return _link(service.store.open_alarms()[0]) if page == "/link" else page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_in_the_way_of_anybody(service: Any, tab: OpenTab, path: str, width: int, dark: bool) -> None:
    """axe finds nothing: names, contrast, order, tables; and nothing is wider than the window."""
    page = tab(width, dark=dark).open(_path(path, service))

    found = Axe().run(page).response

    assert found["passes"]
    assert [] == [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_standing_alarm_is_there_with_window_and_advice(service: Any, tab: OpenTab) -> None:
    """What the store says stands is what a person reads, and the guard and the back-test beside it."""
    page = tab().open("/")
    standing = service.store.open_alarms()

    text = page.locator("table.alarms").inner_text()

    assert len(standing) == page.locator("table.alarms tbody tr").count()
    assert page.locator("h2#alarms").inner_text().startswith(f"{len(standing)} alarm")
    assert [] == [a.alarm_id for a in standing if f"{a.device} {a.interface}" not in text]
    assert [] == [a.alarm_id for a in standing if f"{a.expected_from:%Y-%m-%d %H:%M}Z" not in text]
    assert len(standing) == text.count("repair first")
    assert "shadow" in page.locator("section[aria-labelledby=guard]").inner_text()


def test_a_filter_lives_in_the_address_and_narrows_the_list(service: Any, tab: OpenTab) -> None:
    """A link to a filtered page shows the same to whoever opens it."""
    page = tab().open("/")
    kind = service.store.open_alarms()[0].failure_type
    expected = sum(a.failure_type == kind for a in service.store.open_alarms())

    page.select_option("#failure_type", str(kind))
    page.click("main form button")
    page.wait_for_url("**/?**")

    assert f"failure_type={kind}" in page.url
    assert expected == page.locator("table.alarms tbody tr").count()
    assert str(kind) == page.input_value("#failure_type")


def test_an_alarm_is_acknowledged_with_a_reason_by_who_signed_in(service: Any, tab: OpenTab) -> None:
    """The step is in the store under the token's name, and on the page."""
    visitor, alarm = tab(), service.store.open_alarms()[-1]
    page = visitor.open(_link(alarm))
    assert 0 == page.locator("#reason").count()
    visitor.sign_in()
    visitor.open(_link(alarm))

    page.fill("#reason", "crew is <b>on its way</b>")
    page.click("text=Acknowledge")
    page.wait_for_load_state()

    event = service.store.events(alarm.alarm_id)[-1]
    assert (Status.ACKED, "ann-operate", "crew is <b>on its way</b>") == (event.to_status, event.who, event.why)
    assert "acked" in page.locator("section[aria-labelledby=now]").inner_text()
    assert "crew is <b>on its way</b>" in page.locator("section[aria-labelledby=history]").inner_text()
    assert 0 == page.locator("text=Acknowledge").count()


def test_who_may_only_read_is_shown_no_form(service: Any, tab: OpenTab) -> None:
    visitor = tab()
    visitor.sign_in(Scope.READ)
    page = visitor.open(_link(service.store.open_alarms()[0]))

    assert 0 == page.locator("#reason").count()
    assert "needs operate" in page.locator("section[aria-labelledby=take]").inner_text()


def test_both_ends_of_a_link_stand_side_by_side_with_plots_and_numbers(service: Any, tab: OpenTab) -> None:
    """Each plot is drawn, and says the same in a table."""
    alarm = service.store.open_alarms()[0]
    page = tab().open(_link(alarm))
    page.wait_for_selector("figure.plot canvas")

    heads = page.locator("section[aria-labelledby=unit] thead").first.inner_text()
    drawn = page.locator("figure.plot").count()

    assert f"{alarm.device} {alarm.interface}" in heads
    assert f"{alarm.peer_device} {alarm.peer_interface}" in heads
    assert drawn >= 6
    assert drawn == page.locator("figure.plot canvas").count() == page.locator("figure.plot .scroll table").count() / 2
    assert "Received light, dBm" in page.locator("#readings ~ h3").all_inner_texts()
    assert "Installations" in page.locator("section[aria-labelledby=history]").inner_text()


def test_why_names_the_features_behind_it_with_value_unit_and_end(service: Any, tab: OpenTab) -> None:
    """As the score row keeps them."""
    alarm = service.store.open_alarms()[0]
    run = service.store.latest_run()
    lake = Lake(service.settings.lake_uri)
    rows = lake.latest(SCORES, since=run.at, until=run.at + timedelta(hours=1))
    kept = rows.filter(device=alarm.device, interface=alarm.interface).collect()["evidence"].to_list()[0]
    page = tab().open(_link(alarm))

    said = page.locator("section[aria-labelledby=why] > ul").inner_text()

    assert kept
    assert len(kept) <= 6
    for one in kept:
        what, value = told(one["feature"], one["value"])
        assert f"{what}: {value}" in said
        assert one["feature"] in said


def test_the_page_of_a_link_says_that_nobody_probed_it_and_not_that_the_network_is_innocent(
    service: Any, tab: OpenTab
) -> None:
    page = tab().open(_link(service.store.open_alarms()[0]))

    said = page.locator("section[aria-labelledby=verdict]").inner_text()

    assert "inconclusive" in said
    assert "probes" in said.rpartition("Not looked at:")[2]


def test_without_scripts_every_page_says_the_same_in_tables(service: Any, tab: OpenTab) -> None:
    """Plots are all that a script adds."""
    page = tab(script=False).open(_link(service.store.open_alarms()[0]))

    first = page.locator("figure.plot").first

    assert 0 == page.locator("canvas").count()
    assert "within 24 h" in first.locator("table").first.inner_text()
    assert first.locator("summary").is_visible()


def test_the_fleet_shows_each_module_and_never_an_unknown_one_as_fine(service: Any, tab: OpenTab) -> None:
    page = tab().open("/fleet")
    run = service.store.latest_run()
    rows = Lake(service.settings.lake_uri).latest(SCORES, since=run.at, until=run.at + timedelta(hours=1)).collect()
    unknown = rows.filter(pl.col("status") != "scored").height

    assert rows.height == page.locator("a.cell").count()
    assert unknown == page.locator("a.cell.unknown").count() > 0
    assert run.modules_unknown <= unknown  # copper is not counted as such
    assert "not known" in page.locator("a.cell.unknown").first.inner_text()
    assert "devices gave a reading lately" in page.locator("section[aria-labelledby=coverage]").inner_text()


def test_the_fleet_leads_to_a_device_and_to_a_link(service: Any, tab: OpenTab) -> None:
    page = tab().open("/fleet")
    page.fill("#device", "spine00")
    page.click("main form button")
    page.wait_for_url("**/fleet?**")

    assert ["spine00"] == page.locator("table.heat tbody th").all_inner_texts()
    page.locator("a.cell").first.click()
    page.wait_for_url("**/link/spine00/**")
    assert page.locator("h1").inner_text().startswith("spine00 ")


def test_the_model_is_shown_beside_what_else_could_have_raised_the_alarm(service: Any, tab: OpenTab) -> None:
    """And what nobody has measured is said to be so, not shown as fine."""
    page = tab().open("/model")
    page.wait_for_function("!document.body.innerText.includes('has not answered yet') || location.reload()")

    who = page.locator("section[aria-labelledby=backtest] tbody th").all_inner_texts()

    assert ["forelight", "module limits"] == [name for name in who if "act" not in name]
    assert page.locator("figure.plot canvas").count() >= 1
    assert "Nobody has looked yet" in page.locator("section[aria-labelledby=drift]").inner_text()
    assert "There is no challenger" in page.locator("section[aria-labelledby=versions]").inner_text()


def test_the_keyboard_reaches_everything_in_order_and_shows_where_it_is(service: Any, tab: OpenTab) -> None:
    """The first stop skips the navigation; the first alarm comes after the filters; each stop has an outline."""
    page = tab().open("/")
    page.keyboard.press("Tab")
    assert "Skip to the content" == page.evaluate("document.activeElement.innerText")
    page.keyboard.press("Enter")

    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        assert "none" != page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
        if "/link/" in page.evaluate("document.activeElement.href || ''"):
            break

    assert ["level", "failure_type", "status", "site", "device", "min_risk", "Filter"] == seen[:7]
    assert 8 == len(seen)
