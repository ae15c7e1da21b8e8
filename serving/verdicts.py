"""A question from the wire or the command line, answered from the lake."""

from datetime import datetime

import polars as pl

from diagnosis.heatmap import heat_map, pattern
from diagnosis.reading import Question, answered, closed_windows, fabric_of, links_of
from diagnosis.sla import Places, slas
from ingest.errors import DiagnosisError
from ingest.lake import Lake
from serving.errors import LinkNotFoundError
from serving.wire.sla import SlaAnswer, SlaQuery
from serving.wire.verdicts import VerdictAnswer

__all__ = ["answer", "sla_answer"]


def answer(lake: Lake, question: Question, at: datetime, job: str | None = None) -> VerdictAnswer:
    """The verdict at a time; a job has a name.

    Raises:
        LinkNotFoundError: no such link, or a node that the fabric does not have.
    """
    fabric = fabric_of(lake, at)
    try:
        links = links_of(fabric, question)
        verdict = answered(lake, question, at, fabric)
    except DiagnosisError as error:
        raise LinkNotFoundError(str(error)) from error
    return VerdictAnswer.of(verdict, fabric, at, job, len(links))


def sla_answer(lake: Lake, query: SlaQuery, at: datetime) -> SlaAnswer:
    """What the network gave the hosts of a site at a time."""
    places = Places.of(fabric_of(lake, at)).of_site(query.site)
    rows = closed_windows(lake, at, query.windows).filter(pl.col("site") == query.site)
    found = heat_map(rows, places)
    return SlaAnswer.of(at, query.site, slas(rows, places), found, pattern(found.cells, found.pods))
