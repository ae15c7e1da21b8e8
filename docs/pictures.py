"""Pictures of the demo and the console for the docs: ``make pictures`` writes them below docs/pictures.

``python docs/pictures.py`` runs the demo in a home of its own, shows what it said, serves it, and takes each page as a
desk and as a phone show it, in Debian's Chromium. With ``--home DIR`` it takes the pages of what is there instead.
The demo's fleet is synthetic.
"""

import argparse
import contextlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

__all__ = ["main", "said", "take"]

_PATHS: Final = {"tonight": "/", "link": "/", "readings": "/", "fleet": "/fleet", "model": "/model"}
"""Of the pages of a link, that of the most urgent alarm."""
_SIZES: Final = {"": (1280, 900), "-phone": (400, 800)}
_COLOURS: Final = 64
"""Of a picture's palette: a page has few, and a plot's lines stay apart."""
_FORELIGHT: Final = str(Path(sys.executable).with_name("forelight"))
_STYLE: Final = (
    "display: inline-block; margin: 0; padding: 16px; background: #16181d; color: #e6e6e6;"
    "font: 14px/1.25 'DejaVu Sans Mono', monospace"
)
_TERMINAL: Final = f'<body style="margin: 0"><pre style="{_STYLE}"><b>$ make demo ARGS=--no-serve</b>\n{{}}</pre>'
_FOLDER: Final = Path(__file__).parent / "pictures"
_PATIENCE_S: Final = 300
"""A page of a busy machine takes its time."""


def take(browser: Browser, address: str, folder: Path) -> list[Path]:
    """Take every page; of the link page that of the most urgent alarm.

    Args:
        browser: Chromium.
        address: of a service, where reading is open and an alarm stands.
        folder: gets `tonight.png`, `tonight-phone.png` and so on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, (width, height) in _SIZES.items():
        context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        context.set_default_timeout(_PATIENCE_S * 1000)
        with contextlib.closing(context):
            page = context.new_page()
            _warm(page, address)
            for name in _PATHS:
                _open(page, address, name)
                written.append(folder / f"{name}{suffix}.png")
                _write(page.screenshot(), written[-1])
    return written


def said(browser: Browser, text: str, path: Path) -> Path:
    """A picture of what the demo said, to the letter, as a terminal shows it."""
    with contextlib.closing(browser.new_page()) as page:
        page.set_content(_TERMINAL.format(html.escape(text)))
        _write(page.locator("pre").screenshot(), path)
    return path


def _warm(page: Page, address: str) -> None:
    """Until the registry of models, which is read beside the page, has answered."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and page.goto(address + "/model") and page.get_by_text("has not answered").count():
        time.sleep(1)


def _open(page: Page, address: str, name: str) -> None:
    page.goto(address + _PATHS[name])
    if name in {"link", "readings"}:
        page.click("table.alarms tbody th a")
    if name in {"link", "readings", "model"}:
        page.wait_for_selector("figure.plot canvas")
    if name == "readings":
        page.evaluate("[...document.querySelectorAll('h3')].find(h => h.innerText.includes('light')).scrollIntoView()")


def _write(shot: bytes, path: Path) -> None:
    Image.open(BytesIO(shot)).convert("RGB").quantize(_COLOURS).save(path, optimize=True)


@contextlib.contextmanager
def _served(home: Path) -> Iterator[str]:
    """The address of a service of what a home holds."""
    env = os.environ | {"FORELIGHT_HOME": str(home)}
    served = subprocess.Popen((_FORELIGHT, "serve", "--port", "0"), env=env, stdout=subprocess.PIPE, text=True)
    try:
        said = "" if served.stdout is None else served.stdout.readline()
        found = re.search(r"http://\S+(?=/)", said)
        if found is None:
            sys.exit(f"forelight serve said no address, but: {said.strip()}")
        yield found.group()
    finally:
        served.terminate()
        served.wait()


@contextlib.contextmanager
def _demo() -> Iterator[tuple[Path, str]]:
    """A home that the demo has filled, gone afterwards, and what it said meanwhile."""
    with tempfile.TemporaryDirectory(prefix="forelight-") as folder:
        env = {name: value for name, value in os.environ.items() if name != "FORELIGHT_HOME"} | {"COLUMNS": "100"}
        done = subprocess.run(
            (_FORELIGHT, "demo", "--no-serve"),
            check=True,
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        yield Path(folder, ".forelight", "demo"), done.stdout


def main(arguments: Sequence[str]) -> None:
    """As the module's docstring says."""
    parser = argparse.ArgumentParser(description="take pictures of the console for the docs")
    parser.add_argument("--home", type=Path, help="FORELIGHT_HOME of a fleet that is there; a fresh demo otherwise")
    home: Path | None = parser.parse_args(arguments).home
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("pictures are taken with chromium: apt-get install chromium")
    os.environ.setdefault("PW_TEST_SCREENSHOT_NO_FONTS_READY", "1")  # headless, it waits for fonts for ever at times
    with contextlib.ExitStack() as ending:
        home, text = (home, "") if home else ending.enter_context(_demo())
        address = ending.enter_context(_served(home))
        playwright = ending.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        told = [said(browser, text, _FOLDER / "demo.png")] if text else []
        for path in [*told, *take(browser, address, _FOLDER)]:
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
