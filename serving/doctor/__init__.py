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
            said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            yield failed(check.__name__, said, "see to its place and rights")
        except Exception as error:  # noqa: BLE001 - what nobody foresaw is a finding, too: the others are looked at
            said = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
            yield failed(check.__name__, said, "restore it from a backup: docs/operations.md#restore-from-a-backup")
