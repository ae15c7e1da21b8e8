"""The card of a model: what it is for, what it was made of and how it did, in words that an operator reads."""

from collections.abc import Mapping
from typing import Any, Final

from models.artifact import Artifact
from models.policy import ALARM_HORIZON_H

__all__ = ["REFERENCE", "model_card", "parameters", "told"]

REFERENCE: Final = "reference"
"""The fact that is long and for machines: what features were like in training (`models.reference`)."""


def told(artifact: Artifact) -> dict[str, Any]:
    """The facts that are for people."""
    return {name: value for name, value in artifact.facts.items() if name != REFERENCE}


def parameters(artifact: Artifact) -> dict[str, Any]:
    """What a run is logged with: single facts, the policy, the size of the model."""
    facts = {name: value for name, value in artifact.facts.items() if not isinstance(value, dict)}
    policy = {f"policy_{name}": value for name, value in artifact.policy.to_dict().items()}
    return {**facts, **policy, "rounds": artifact.model.rounds, "features": len(artifact.model.names)}


def model_card(artifact: Artifact, metrics: Mapping[str, float]) -> str:
    """Markdown."""
    facts, policy = artifact.facts, artifact.policy
    act = f"{policy.act:.4f}" if policy.act is not None else f"unavailable: {policy.act_reason}"
    lines = [
        f"# forelight {artifact.version}",
        "",
        "Risk that an optical link of a fabric fails within 6, 12, 24, 48, 96 and 168 hours, from telemetry of its",
        "modules. Not for copper, nor for failures that give no sign before them.",
        "",
        "| | |",
        "|---|---|",
        f"| trained until | {artifact.trained_until:%Y-%m-%d %H:%M} UTC |",
        *(f"| {name.replace('_', ' ')} | {_said(value)} |" for name, value in told(artifact).items() if _short(value)),
        f"| risk within {ALARM_HORIZON_H} h from which alarms are `watch` | {policy.watch:.4f} |",
        f"| from which they are `act` | {act} |",
        *(f"| {name} | {value:.4g} |" for name, value in sorted(metrics.items())),
    ]
    leans = facts.get("unseen_links", {}).get("importance", {})
    if leans:
        most = ", ".join(f"{name} {share:.0%}" for name, share in sorted(leans.items(), key=lambda item: -item[1])[:10])
        lines += ["", f"It leans most on: {most}."]
    return "\n".join(lines) + "\n"


def _short(value: Any) -> bool:
    return not isinstance(value, dict) or all(isinstance(each, int | str) for each in value.values())


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in value.items()) or "none"
    return str(value)
