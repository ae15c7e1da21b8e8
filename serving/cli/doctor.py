"""``forelight doctor``: a line for each part, with what to do next."""

import dataclasses
import json
from typing import Final

from rich.console import Console
from rich.text import Text

from ingest.errors import ServingError
from serving.alarms import utc_now
from serving.doctor import CHECKS, Finding, State, examined
from serving.settings import Settings

__all__ = ["run"]

_STYLES: Final = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red"}
_WIDTH: Final = max(len(check.__name__) for check in CHECKS)


def run(*, as_json: bool) -> None:
    """Look at each part and say how it is.

    Raises:
        ServingError: something does not work.
    """
    console, found = Console(highlight=False, soft_wrap=True), list[Finding]()
    for finding in examined(Settings.from_env(), utc_now()):
        found.append(finding)
        if not as_json:
            console.print(_line(finding))
    bad = [finding.name for finding in found if finding.state is State.FAIL]
    if as_json:
        answer = {"ok": not bad, "checks": [dataclasses.asdict(finding) for finding in found]}
        print(json.dumps(answer, indent=2))  # noqa: T201 - the answer
    if bad:
        msg = f"{', '.join(bad)}: what to do stands above"
        raise ServingError(msg)


def _line(finding: Finding) -> Text:
    parts: list[str | tuple[str, str]] = [(f"{finding.state:<4}", _STYLES[finding.state])]
    parts.append(f"  {finding.name:<{_WIDTH}}  {finding.said}")
    if finding.advice:
        parts.append((f"\n{'':<{_WIDTH + 8}}→ {finding.advice}", "dim"))
    return Text.assemble(*parts)
