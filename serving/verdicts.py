"""A question from the wire or the command line, answered from the lake."""

from datetime import datetime

from diagnosis.reading import Question, answered, fabric_of, links_of
from ingest.errors import DiagnosisError
from ingest.lake import Lake
from serving.errors import LinkNotFoundError
from serving.wire.verdicts import VerdictAnswer

__all__ = ["answer"]


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
