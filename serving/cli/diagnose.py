"""``forelight diagnose``: the verdict on a link or a job, from the lake."""

from collections.abc import Mapping
from datetime import datetime

import typer
from pydantic import ValidationError

from ingest.lake import Lake
from serving.alarms import utc_now
from serving.errors import ServingError
from serving.settings import Settings
from serving.verdicts import answer
from serving.wire.verdicts import VerdictAnswer, VerdictQuery

__all__ = ["run"]


def run(asked: Mapping[str, object], at: datetime | None, *, as_json: bool) -> None:
    """Print the verdict.

    Raises:
        ServingError: the question names what is not known, or asks for neither a link nor a job.
    """
    try:
        query = VerdictQuery.model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ServingError(msg) from error
    told = answer(Lake(Settings.from_env().lake_uri), query.question(), at or utc_now(), query.job)
    typer.echo(told.model_dump_json(indent=2) if as_json else "\n".join(_lines(told)))


def _lines(told: VerdictAnswer) -> list[str]:
    """The verdict, what speaks for it, and how well it was looked for."""
    head = f"{told.kind}: {told.why}" + (f" ({told.priority})" if told.priority else "")
    lines = [head, *(f"  {step.layer}: {step.says}" for step in told.chain)]
    if told.part is not None:
        lines.append(f"  part: {told.part.part}")
    lines += [f"  elsewhere: {' or '.join(fault.links)} loses {fault.loss:.2%}" for fault in told.elsewhere]
    lines.append(
        f"  power: a loss of {told.power.least_loss:.2%} of any of {told.power.links} links would have been found"
    )
    if told.power.more_windows:
        lines.append(f"  needed: {told.power.more_windows} more windows like these")
    if told.missing:
        lines.append(f"  not looked at: {', '.join(told.missing)}")
    return lines
