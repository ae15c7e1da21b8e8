"""``forelight export OUT``: the lake in the form that ``forelight import`` takes, with names hidden where asked."""

import dataclasses
import json
import os
from datetime import datetime
from pathlib import Path

from rich.console import Console

from ingest.errors import ExportError
from ingest.exports.names import Pseudonyms
from ingest.exports.write import write_export
from ingest.lake import Lake
from serving.cli.progress import step
from serving.settings import Settings

__all__ = ["run"]


def run(
    out: Path,
    *,
    anonymise: bool,
    key_file: Path | None,
    shift_times: bool,
    since: datetime | None,
    until: datetime | None,
    as_json: bool,
) -> None:
    """Write the export and say what it holds.

    Raises:
        ExportError: there is no key, `out` is not empty, or the lake has no telemetry.
    """
    if (key_file or shift_times) and not anonymise:
        msg = "--key-file and --shift-times are for --anonymise; nothing was written"
        raise ExportError(msg)
    names = Pseudonyms(_key(key_file), shift_times=shift_times) if anonymise else None
    with step("writing the export") as done:
        report = write_export(
            Lake(Settings.from_env().lake_uri), out, names=names, since=since, until=until, progress=done
        )
    if as_json:
        print(json.dumps(dataclasses.asdict(report)))  # noqa: T201 - the answer
        return
    print_line = Console(highlight=False, soft_wrap=True).print
    print_line(f"{out}: {report.files:,} telemetry files, {report.lane_rows:,} lane rows", markup=False)
    for name, rows in report.records.items():
        print_line(f"  {name}: {rows:,}")


def _key(file: Path | None) -> bytes:
    """The operator's key, of the file or the environment."""
    if file is None:
        key = os.environ.get("FORELIGHT_EXPORT_KEY", "").strip().encode()
        if not key:
            msg = "no key to anonymise with: set FORELIGHT_EXPORT_KEY, or name a file with --key-file"
            raise ExportError(msg)
        return key
    try:
        return file.read_bytes().strip()
    except OSError as error:
        msg = f"{file}: the key cannot be read: {error.strerror}"
        raise ExportError(msg) from error
