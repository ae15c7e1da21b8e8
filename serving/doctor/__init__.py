"""Is everything there that forelight needs, and is it alive? Nothing is made or changed by looking.

Each part is a check of its own, so that one that is broken hides no other: ``places`` (home, lake, database),
``learning`` (MLflow, the champion), ``feeds`` (telemetry, collector, scores) and ``clock``.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ingest.errors import ForelightError
from serving.doctor.clock import clock
from serving.doctor.feeds import collector, data, scores
from serving.doctor.finding import Check, Finding, State, failed
from serving.doctor.learning import mlflow, model
from serving.doctor.places import database, home, lake
from serving.settings import Settings

__all__ = ["CHECKS", "Finding", "State", "examined"]

CHECKS: Final[tuple[Check, ...]] = (home, lake, database, mlflow, model, data, collector, scores, clock)
"""In the order in which a reading travels: what comes first may be why a later one fails."""


def examined(settings: Settings, now: datetime) -> Iterator[Finding]:
    """What each check found, as soon as it is found."""
    for check in CHECKS:
        try:
            yield check(settings, now)
        except ForelightError as error:
            yield failed(check.__name__, str(error), "mend what it names, then ask again")
        except OSError as error:
            yield failed(check.__name__, f"{error.filename}: {error.strerror}", "see to its place and rights")
