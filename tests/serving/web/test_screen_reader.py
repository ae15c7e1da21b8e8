"""What a screen reader is given: names, order and structure of each page, and what it says after something was done."""

import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

OpenTab = Callable[..., Any]
MISSING = "/link/nobody/knows"
PAGES = ["/", "link", "/fleet", "/model", "/sign-in", MISSING]
WIDTHS = [400, 1400]
WITHOUT_CAPTION = (
    "[...document.querySelectorAll('main table:not(.u-legend)')].filter(t => !t.caption?.textContent.trim())"
)
WITHOUT_SCOPE = (
    "[...document.querySelectorAll('main table:not(.u-legend) th')].filter(h => !h.scope || !h.textContent.trim())"
)
WITHOUT_NAME = """[...document.querySelectorAll('section, [role=region], nav, main form.filters')].filter(
    s => !(s.ariaLabel || document.getElementById(s.getAttribute('aria-labelledby'))?.textContent.trim()))"""
WITHOUT_LABEL = """[...document.querySelectorAll('main :is(input, select, textarea):not([type=hidden])')].filter(
    f => !f.labels?.[0]?.textContent.trim())"""
CUT = """[...document.querySelectorAll('main *')].filter(e => getComputedStyle(e).overflowX == 'hidden'
    && !e.closest('.canvas, .hidden, thead') && e.scrollWidth > e.clientWidth + 1)"""
TWICE = (
    "[...document.querySelectorAll('[id]')].filter(e => document.querySelectorAll('#' + CSS.escape(e.id)).length > 1)"
)


def _path(page: str, service: Any) -> str:
    alarm = service.store.open_alarms()[0]
    return f"/link/{quote(alarm.device, safe='')}/{quote(alarm.interface, safe='')}" if page == "link" else page


def _levels(page: Any) -> list[int]:
    return [
        int(level) for level in page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName[1])")
    ]


@pytest.mark.parametrize("path", PAGES)
def test_everything_has_a_name_and_headings_skip_no_level(service: Any, tab: OpenTab, path: str) -> None:
    visitor = tab()
    visitor.sign_in()
    page = visitor.open(_path(path, service))
    levels = _levels(page)

    for what in (WITHOUT_CAPTION, WITHOUT_SCOPE, WITHOUT_NAME, WITHOUT_LABEL, TWICE):
        assert [] == page.evaluate(f"{what}.map(e => e.outerHTML.slice(0, 200))")
    assert 1 == levels[0] == levels.count(1)
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.title().startswith(page.locator("h1").inner_text().splitlines()[0].strip())
    visitor.told = [line for line in visitor.told if path != MISSING or "404" not in line]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_alarms_are_a_table_at_any_width(service: Any, tab: OpenTab, width: int) -> None:
    """On a phone they look like cards, and are still read as a table: each cell with its column."""
    alarm = service.store.open_alarms()[0]
    said = tab(width).open("/").locator("table.alarms").aria_snapshot()

    for column in ("Link", "Expected", "Risk 24 h", "What and where", "Servers", "Advice"):
        assert f'columnheader "{column}"' in said
    assert re.search(rf'rowheader "{re.escape(alarm.device)} {re.escape(alarm.interface)}', said)
    assert len(service.store.open_alarms()) == said.count("- rowheader")


@pytest.mark.parametrize("path", ["/", "link", "/fleet", "/model"])
@pytest.mark.parametrize("width", [320, *WIDTHS])
def test_no_page_is_wider_than_its_window_nor_hides_what_is_wider(
    service: Any, tab: OpenTab, path: str, width: int
) -> None:
    """Wide tables scroll by themselves, with the keyboard too; 320 pixels are a phone, or a desk at 400 per cent."""
    page = tab(width).open(_path(path, service))

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [] == page.evaluate(f"{CUT}.map(e => e.outerHTML.slice(0, 200))")
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.tabIndex == 0)")


def test_after_a_step_the_page_begins_to_read_where_it_says_what_is_so_now(service: Any, tab: OpenTab) -> None:
    """Not at the top again: the heading that says the new state has the focus."""
    visitor = tab()
    visitor.sign_in()
    page = visitor.open(_path("link", service))

    page.fill("#reason", "seen")
    page.get_by_role("button", name="Suppress").click()
    page.wait_for_url("**#now")

    assert "now" == page.evaluate("document.activeElement.id")
    assert "suppressed until" in page.locator("section[aria-labelledby=now]").inner_text()


def test_what_must_not_be_missed_is_announced(
    serving: Callable[..., Any], console_home: Any, now: Any, tab: OpenTab, tmp_path: Any
) -> None:
    """Stale scores, and a token that is none."""
    home = shutil.copytree(console_home, tmp_path / "home")
    with serving(home, now + timedelta(days=2)) as late:
        visitor = tab(at=late)
        assert "Not to be acted on" in visitor.open("/").get_by_role("alert").first.inner_text()
        page = visitor.open("/sign-in")
        page.fill("#token", "wrong")
        page.click("main button")
        page.wait_for_load_state()

        assert page.get_by_role("alert").first.inner_text()
        visitor.told.clear()  # a refusal is 403, which the browser's console repeats
