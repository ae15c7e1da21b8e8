"""``forelight model``: registered versions, their aliases and cards."""

import dataclasses
import json

from rich.console import Console
from rich.table import Table

from ingest.errors import ModelError
from models.registry import CHAMPION, Registry
from serving.settings import Settings

__all__ = ["card", "list_versions", "promote", "rollback"]


def _registry() -> Registry:
    settings = Settings.from_env()
    return Registry(settings.tracking_uri, settings.artifact_root)


def list_versions(*, as_json: bool) -> None:
    """Print versions and aliases, the newest first."""
    versions = _registry().versions()
    if as_json:
        print(json.dumps([dataclasses.asdict(version) for version in versions], indent=2))  # noqa: T201
        return
    table = Table("version", "aliases", "trained until", title="forelight")
    for version in versions:
        table.add_row(version.version, ", ".join(version.aliases), version.trained_until)
    Console().print(table)


def promote(version: str) -> None:
    """Make a version the champion.

    Raises:
        ModelError: there is no such version.
    """
    _registry().promote(version)
    Console().print(f"version {version} is {CHAMPION}", highlight=False)


def rollback() -> None:
    """Make the champion before this one the champion again.

    Raises:
        ModelError: there was none.
    """
    Console().print(f"version {_registry().rollback()} is {CHAMPION} again", highlight=False)


def card(version: str | None) -> None:
    """Print what a version, the champion where none is named, was trained on.

    Raises:
        ModelError: there is no such version.
    """
    registry = _registry()
    chosen = version or next((v.version for v in registry.versions() if CHAMPION in v.aliases), None)
    if chosen is None:
        msg = "no champion is registered: train one first (forelight train)"
        raise ModelError(msg)
    artifact = registry.load(chosen)
    metrics = next(v.metrics for v in registry.versions() if v.version == chosen)
    content = {
        "version": chosen,
        "artifact": artifact.version,
        "trained_until": artifact.trained_until.isoformat(),
        "features": len(artifact.model.names),
        "facts": artifact.facts,
        "policy": artifact.policy.to_dict(),
        "metrics": dict(metrics),
    }
    print(json.dumps(content, indent=2, sort_keys=True))  # noqa: T201 - the card
