"""The docs' pictures: one command takes them, they are small, and the docs show each of them."""

import importlib.util
import re
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser

DOCS = Path(__file__).parents[3] / "docs"
README = DOCS.parent / "README.md"
MOST_BYTES = 250_000
DEMO = "demo.png"
NAMES = {f"{page}{size}.png" for page in ("tonight", "link", "readings", "fleet", "model") for size in ("", "-phone")}


@pytest.fixture(name="pictures")
def _pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _size(picture: Path) -> tuple[int, int]:
    """Width and height, as the header of a PNG says."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    return width, height


@pytest.mark.slow
def test_each_page_is_taken_for_a_desk_and_a_phone(
    pictures: ModuleType, chromium: Browser, service: Any, tmp_path: Path
) -> None:
    taken = pictures.take(chromium, service.address, tmp_path)

    assert {path.name for path in taken} == NAMES
    assert {(1280, 900), (400, 800)} == {_size(path) for path in taken}
    assert [] == [path.name for path in taken if path.stat().st_size > MOST_BYTES]
    assert len(taken) == len({path.read_bytes() for path in taken})


@pytest.mark.slow
def test_what_the_demo_said_is_shown_to_the_letter(pictures: ModuleType, chromium: Browser, tmp_path: Path) -> None:
    """A line is as wide as it was and none is left out: a sign more makes the picture wider, a line more higher."""
    wide, high = _size(pictures.said(chromium, "said <b>so</b>\n", tmp_path / "one.png"))
    wider, higher = _size(pictures.said(chromium, f"{'x' * 60}\nsaid <b>so</b>\n", tmp_path / "two.png"))

    assert wide < wider
    assert high < higher < 2 * high


def test_the_pictures_of_the_docs_are_those_and_small() -> None:
    there = sorted((DOCS / "pictures").iterdir())

    assert {path.name for path in there} == {*NAMES, DEMO}
    assert [] == [path.name for path in there if path.stat().st_size > MOST_BYTES]


def test_each_picture_is_shown_and_called_synthetic() -> None:
    console, readme = (DOCS / "console.md").read_text(encoding="utf-8"), README.read_text(encoding="utf-8")
    shown = [*re.findall(r"]\(pictures/(\S+?)\)", console), *re.findall(r"]\(docs/pictures/(\S+?)\)", readme)]

    assert sorted({*NAMES, DEMO}) == sorted(shown)
    assert "**synthetic**" in console.partition("(pictures/")[0].rpartition("\n## ")[2]
    assert "synthetic" in readme.partition("(docs/pictures/")[0].rpartition("```")[2]
