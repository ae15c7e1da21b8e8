"""The doctor on what was learnt: MLflow answers, and the champion can be loaded and is not old."""

import os
from datetime import datetime, timedelta
from typing import Final

from ingest.errors import ModelError
from models.registry import CHAMPION, NAME, Registry
from serving.doctor.finding import Finding, ago, failed, fine, warned
from serving.doctor.places import is_made
from serving.settings import Settings

__all__ = ["mlflow", "model"]

_OLD: Final = timedelta(days=30)
_PATIENCE: Final = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "5"}
"""A server that is down should cost the doctor seconds; MLflow itself tries for minutes."""
_TRAIN: Final = "forelight train (forelight labels tells which tickets it can learn from); until then physics scores"


def mlflow(settings: Settings, _now: datetime) -> Finding:
    """Its store answers."""
    if not is_made(settings.tracking_uri):
        return fine("mlflow", "nothing was logged here yet")
    registry = _registry(settings)
    registry.ping()
    return fine("mlflow", f"{len(registry.versions())} versions of {NAME} at {_shown(settings.tracking_uri)}")


def model(settings: Settings, now: datetime) -> Finding:
    """The champion fits this code."""
    if not is_made(settings.tracking_uri):
        return warned("model", f"there is no {CHAMPION}", _TRAIN)
    registry = _registry(settings)
    registry.ping()
    number = registry.alias(CHAMPION)
    if number is None:
        return warned("model", f"there is no {CHAMPION}", _TRAIN)
    try:
        champion = registry.load(number)
    except ModelError as error:
        return failed("model", str(error), "forelight model rollback, or forelight train")
    age = now - champion.trained_until
    said = f"{CHAMPION} is version {number}, trained until {champion.trained_until:%Y-%m-%d %H:%M}Z, {ago(age)} ago"
    if age > _OLD:
        return warned("model", said, "forelight model watch tells whether to train again")
    return fine("model", said)


def _registry(settings: Settings) -> Registry:
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
    return Registry(settings.tracking_uri, settings.artifact_root)


def _shown(uri: str) -> str:
    """An address without a password in it."""
    scheme, parted, rest = uri.partition("://")
    return f"{scheme}{parted}{rest.rpartition('@')[2]}" if parted else uri
