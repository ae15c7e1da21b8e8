"""Pictures of the console for the docs: ``make pictures`` writes them below docs/pictures.

``python docs/pictures.py`` runs the demo in a home of its own, serves it, and takes each page as a desk and as a phone
show it, in Debian's Chromium. With ``--home DIR`` it takes what is there instead. The demo's fleet is synthetic.
"""

import argparse
import contextlib
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

__all__ = ["main", "take"]

_PATHS: Final = {"tonight": "/", "link": "/", "readings": "/", "fleet": "/fleet", "model": "/model"}
"""Of the pages of a link, that of the most urgent alarm."""
_SIZES: Final = {"": (1280, 900), "-phone": (400, 800)}
_COLOURS: Final = 64
"""Of a picture's palette: a page has few, and a plot's lines stay apart."""
_FORELIGHT: Final = str(Path(sys.executable).with_name("forelight"))
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
def _demo() -> Iterator[Path]:
    """A home that the demo has filled, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="forelight-pictures-") as folder:
        subprocess.run((_FORELIGHT, "demo", "--no-serve"), check=True, env=os.environ | {"FORELIGHT_HOME": folder})
        yield Path(folder) / "demo"


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
        address = ending.enter_context(_served(home or ending.enter_context(_demo())))
        playwright = ending.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for path in take(browser, address, _FOLDER):
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
