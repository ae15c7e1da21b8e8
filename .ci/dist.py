"""What is released: wheel and sdist, tried in a clean environment, and the list of what runs with them, with licences.

`python .ci/dist.py [FOLDER]` writes into `dist/`, or that folder, and ends with 1 where something is not as it should.
The list is CycloneDX JSON, made by cyclonedx-bom of what the lock has installed, and by `bundled` of what the wheel
itself brings of others. The same sources give the same wheel and sdist, byte by byte.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Final

__all__ = ["bundled", "completed", "doubtful", "main"]

ROOT: Final = Path(__file__).parents[1]
_BOM: Final = ("uv", "tool", "run", "--quiet", "--from", "cyclonedx-bom==7.5.0", "cyclonedx-py", "environment")
_VENDOR: Final = ROOT / "serving" / "web" / "static" / "vendor"
_REFUSED: Final = ("AGPL", "Affero", "GPL-2", "GPL-3", "GNU General Public", "SSPL", "Server Side", "Commons Clause")
"""Licences under which what links to it may not go out under Apache-2.0. The LGPL is none of them."""
_LESSER: Final = ("LGPL", "Lesser")
_READ: Final = {"huey": "MIT", "protobuf": "BSD-3-Clause", "pysnmp": "BSD-2-Clause"}
"""Whose metadata tell no licence that a program understands: from the texts that they bring."""
_TRIED: Final = (
    ("--version",),
    ("import", "{sample}"),
    ("score", "--json"),
    ("alarms", "list", "--json"),
    ("labels", "--json"),
    ("lake", "check"),
)
"""Commands of a first day, from the sample fleet that the wheel brings."""


def doubtful(bom: dict[str, Any]) -> list[str]:
    """Of a CycloneDX list: what tells no licence, or one that Apache-2.0 may not go out with."""
    found = []
    for part in bom.get("components", ()):
        told = [_licence(each) for each in part.get("licenses", ())]
        refused = [name for name in told if any(word in name for word in _REFUSED) and not _free(name)]
        if not told or len(refused) == len(told):
            found.append(f"{part['name']} {part.get('version', '')}: {', '.join(told) or 'no licence told'}")
    return found


def completed(bom: dict[str, Any]) -> dict[str, Any]:
    """About forelight, with the licences that were read (`_READ`) where metadata tell none."""
    parts = bom.get("components", [])
    for part in parts:
        if not part.get("licenses") and part["name"] in _READ:
            part["licenses"] = [{"license": {"id": _READ[part["name"]], "acknowledgement": "concluded"}}]
    ours = [part for part in parts if part["name"] == "forelight"]
    for part in ours:
        part.pop("externalReferences", None)  # where this machine has the wheel
    about = {"metadata": {**bom.get("metadata", {}), "component": ours[0]}} if ours else {}
    return {**bom, **about, "components": [part for part in parts if part not in ours]}


def bundled(folder: Path = _VENDOR) -> list[dict[str, Any]]:
    """Components of others among the console's files: name, version and licence as the README beside each has them."""
    found = []
    for page in sorted(folder.glob("*/README.md")):
        text = page.read_text(encoding="utf-8")
        name, version = re.findall(r"^# (\S+) (\S+)$", text, re.MULTILINE)[0]
        licence = re.findall(r"(\S+) licence beside", text)[0]
        own = {"type": "library", "name": name, "version": version, "bom-ref": f"{name}=={version}"}
        found.append({**own, "licenses": [{"license": {"id": licence}}]})
    return found


def main(folder: Path) -> int:
    """Build, try, list; the exit code."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    shutil.rmtree(folder, ignore_errors=True)
    build = ("uv", "build", "--quiet", "--no-build-isolation", "--python", sys.executable)
    _run(*build, "--out-dir", str(folder), str(ROOT))
    wheel = folder / f"forelight-{version}-py3-none-any.whl"
    for name in sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")):
        print(f"dist: {name}, {(folder / name).stat().st_size / 1e6:.1f} MB")
    bom = folder / f"forelight-{version}.cdx.json"
    with tempfile.TemporaryDirectory(prefix="forelight-dist-") as clean:
        home = Path(clean, "home")
        python = _environment(Path(clean, "venv"), wheel)
        sample = Path(clean, "export")
        _unpacked(wheel, "data_samples/sample/", sample)
        for arguments in _TRIED:
            words = [each.format(sample=sample) for each in arguments]
            _run(str(python.parent / "forelight"), *words, cwd=clean, env={"HOME": clean, "FORELIGHT_HOME": str(home)})
            print(f"dist: forelight {' '.join(arguments)}: done")
        _run(*_BOM, "--output-reproducible", "--output-format", "JSON", "--output-file", str(bom), str(python))
    parts = completed(json.loads(bom.read_text(encoding="utf-8")))
    parts["components"] += bundled()
    bom.write_text(json.dumps(parts, indent=1), encoding="utf-8")
    found = doubtful(parts)
    for line in found:
        print(f"dist: licence: {line}")
    print(f"dist: {bom.name}: {len(parts['components'])} components, {len(found)} doubtful licences")
    return 1 if found else 0


def _licence(told: dict[str, Any]) -> str:
    licence = told.get("license", {})
    return str(told.get("expression") or licence.get("id") or licence.get("name") or "")


def _free(name: str) -> bool:
    """Lesser, or one of several that one may choose between."""
    return any(word in name for word in _LESSER) or " OR " in name


def _environment(folder: Path, wheel: Path) -> Path:
    _run("uv", "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, str(folder))
    python = folder / "bin" / "python"
    lock = str(ROOT / "deploy" / "requirements.txt")
    _run("uv", "pip", "sync", "--quiet", "--python", str(python), "--require-hashes", lock)
    _run("uv", "pip", "install", "--quiet", "--python", str(python), "--no-deps", str(wheel))
    return python


def _unpacked(wheel: Path, prefix: str, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(prefix) and not name.endswith("/"):
                target = folder / name.removeprefix(prefix)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))


def _run(*words: str, cwd: str | None = None, env: dict[str, str] | None = None) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(words, cwd=cwd, env=kept | (env or {}), capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        sys.exit(f"dist: {' '.join(words)} ended with {done.returncode}: {said}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"))
