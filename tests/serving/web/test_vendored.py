"""What was copied from others is what they published."""

import hashlib
import re
from pathlib import Path

VENDOR = Path(__file__).parents[3] / "serving" / "web" / "static" / "vendor"


def test_vendored_files_are_as_published_with_version_and_licence() -> None:
    """Nobody mends a copy by hand: the sum in the note would not fit."""
    for folder in VENDOR.iterdir():
        note = (folder / "README.md").read_text(encoding="utf-8")
        sums = dict(re.findall(r"`(\S+)` \| `([0-9a-f]{64})`", note))
        there = {file.name for file in folder.iterdir()} - {"README.md", "LICENSE"}

        assert sums.keys() == there
        assert sums == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in there}
        assert re.search(r"\d+\.\d+\.\d+", note)
        assert "MIT" in (folder / "LICENSE").read_text(encoding="utf-8")
