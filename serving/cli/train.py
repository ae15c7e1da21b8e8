"""``forelight train``: learn from the lake, log to MLflow, register."""

import json
from datetime import datetime

from rich.console import Console

from ingest.lake import Lake
from models.card import told
from models.registry import CHALLENGER, CHAMPION, Registry
from models.train import LINKS_SHARE, TUNING
from serving.cli.progress import step
from serving.scoring.compute import Compute
from serving.scoring.training import fresh_tiles, newest_hour, trained
from serving.settings import Settings

__all__ = ["run"]


def run(
    *,
    until: datetime | None,
    name: str,
    as_json: bool,
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
    tune: int = 0,
) -> None:
    """Train on what was known at a time, now where none is given.

    Raises:
        ModelError: too little telemetry, or no failure to learn from.
    """
    settings = Settings.from_env()
    lake = Lake(settings.lake_uri)
    at = (until or newest_hour(lake)).replace(minute=0, second=0, microsecond=0)
    fresh_tiles(lake, step, compute)
    artifact = trained(lake, at, step, compute, tune)
    with step("MLflow"):
        registry = Registry(settings.tracking_uri, settings.artifact_root, name)
        version = registry.log(artifact, {"healthy_module_weeks": artifact.policy.healthy_weeks})
        alias = CHAMPION if registry.alias(CHAMPION) == version else CHALLENGER
    answer = {"model": name, "version": version, "alias": alias, "artifact": artifact.version, **told(artifact)}
    if as_json:
        print(json.dumps(answer, indent=2))  # noqa: T201 - the answer
        return
    console = Console()
    facts = artifact.facts
    console.print(f"{name}@{alias} is version {version} ({artifact.version})", highlight=False)
    console.print(f"learnt from {facts['failures']} failures on {facts['links']} links until {at:%Y-%m-%d %H:%M}Z")
    if LINKS_SHARE in facts:
        share = f"{facts[LINKS_SHARE]:.1%}"
        console.print(f"of links that did not fail, {share} are learnt from: memory holds no more", highlight=False)
    if TUNING in facts:
        chosen = ", ".join(f"{name} {value:.3g}" for name, value in facts[TUNING]["chosen"].items())
        console.print(f"of {len(facts[TUNING]['trials'])} settings tried: {chosen}", highlight=False)
    if alias == CHALLENGER:
        console.print(f"the champion scores on; forelight model promote {version} compares them", highlight=False)
    if artifact.policy.act is None:
        console.print(f"level act is unavailable: {artifact.policy.act_reason}")
