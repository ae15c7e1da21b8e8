"""``forelight model``: registered versions, their aliases and cards."""

import dataclasses
import json
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from ingest.errors import ModelError
from ingest.lake import Lake
from models.card import told
from models.registry import CHAMPION, Registry
from serving.cli.progress import step
from serving.cli.who import user
from serving.settings import Settings

if TYPE_CHECKING:
    from models.paired import Comparison

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
    if not versions:
        Console().print("there is no model yet: forelight train makes one", highlight=False)
        return
    table = Table("version", "aliases", "trained until", title="forelight")
    for version in versions:
        table.add_row(version.version, ", ".join(version.aliases), version.trained_until)
    Console().print(table)


def promote(version: str, *, force: str | None, as_json: bool) -> None:
    """Make a version the champion, if it is better on the same failures than the one there is, or forced.

    Raises:
        ModelError: there is no such version, or it is not better, or that cannot be told yet.
    """
    registry = _registry()
    if force is not None and not force.strip():
        msg = "--force needs a reason: it is kept with the version"
        raise ModelError(msg)
    found = None if force else _comparison(registry, version)
    if found is not None and not found.better:
        msg = f"version {version} is not better than the {CHAMPION}: {found.said}; --force REASON promotes it anyway"
        raise ModelError(msg)
    why = force or (found.said if found else "there was no other champion that could score")
    registry.promote(version, why, who=user(), forced=bool(force))
    if as_json:
        answer = {"version": version, "why": why, "comparison": found.to_dict() if found else None}
        print(json.dumps(answer, indent=2))  # noqa: T201 - the answer
        return
    Console().print(f"version {version} is {CHAMPION}: {why}", highlight=False, markup=False, soft_wrap=True)


def _comparison(registry: Registry, version: str) -> "Comparison | None":
    """Both on what came after both; None where no other champion can score."""
    challenger, number = registry.load(version), registry.alias(CHAMPION)
    if number in {None, version}:
        return None
    try:
        champion = registry.champion()
    except ModelError:
        return None
    from serving.scoring.challenge import compared
    from serving.scoring.training import fresh_tiles

    lake = Lake(Settings.from_env().lake_uri)
    fresh_tiles(lake, step)
    return compared(lake, champion, challenger, step)


def rollback(*, reason: str) -> None:
    """Make the champion before this one the champion again.

    Raises:
        ModelError: there was none.
    """
    version = _registry().rollback(reason, user())
    Console().print(f"version {version} is {CHAMPION} again", highlight=False)


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
        "facts": told(artifact),
        "policy": artifact.policy.to_dict(),
        "metrics": dict(metrics),
    }
    print(json.dumps(content, indent=2, sort_keys=True))  # noqa: T201 - the card
