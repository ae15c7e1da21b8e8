"""drains.toml: how much of the network may be out at once, what failing and draining cost, and what `active` asks for.

Every key has a default; an unknown one is an error that names the nearest right one.
"""

import difflib
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field

from ingest.toml_file import load_toml
from serving.drains.fabric import LinkClass

__all__ = ["Activation", "Cost", "DrainConfig", "Guard", "load_drain_config"]

_Count = Annotated[int, Field(ge=1, le=1_000_000)]
_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_GpuHours = Annotated[float, Field(ge=0.0, le=1e9)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Guard(_Strict):
    """What must be left of the network whatever is drained.

    Attributes:
        tiers: names of switches as patterns, those of the ToRs first: ``[["leaf*"], ["spine*"]]``; by the distance
            from servers where not given.
        least_path_share: of its paths to the top each ToR keeps at least this share; CorrOpt (SIGCOMM 2017)
            takes 0.5 to 0.9.
        bundle_min_links: links that stay between two devices that have more than one.
        most_per_shared_risk: links out at once in a trunk, panel or line card.
        most_per_device, most_per_tier: links out at once at a device, between two tiers.
        most_in_fleet, most_of_fleet: links out at once: the larger of the number and the share of all links
            [UFM PDR: 10, 0.5 %].
        most_per_hour: leases given in an hour.
        cool_down_h: hours after a drain ended before the same link is given again.
        observed_within_s: a link that nobody has seen up for so long counts as down.
    """

    tiers: tuple[tuple[Annotated[str, Field(min_length=1)], ...], ...] = ()
    least_path_share: Annotated[float, Field(ge=0.5, le=1.0)] = 0.75
    bundle_min_links: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    most_per_shared_risk: _Count = 1
    most_per_device: _Count = 2
    most_per_tier: _Count = 10
    most_in_fleet: _Count = 10
    most_of_fleet: _Share = 0.005
    most_per_hour: _Count = 10
    cool_down_h: Annotated[float, Field(ge=0.0, le=168.0)] = 24.0
    observed_within_s: Annotated[float, Field(ge=1.0, le=86_400.0)] = 900.0


class Cost(_Strict):
    """What things cost on a class of links, in GPU hours.

    Attributes:
        failure: a failure under load: jobs lost or stalled until they run again.
        drain: taking the link (or the server behind it) out for the repair, needed or not.
        cost_out: moving traffic away while the link stands by; 0 < `kept` of a failure's cost remains.
        kept: share of a failure's cost that a link carrying no traffic of its own still has.
    """

    failure: _GpuHours = 64.0
    drain: _GpuHours = 1.0
    cost_out: _GpuHours = 0.25
    kept: _Share = 0.2


class Activation(_Strict):
    """What a class of links must show in shadow before leases are given, and what takes them away again.

    Attributes:
        shadow_days: days of recorded advice.
        least_precision: the lower 95 % bound of the share of advised drains that were followed by a failure.
        failed_verifications: of the last ten repairs so many that cured nothing end `active`.
    """

    shadow_days: Annotated[float, Field(ge=28.0, le=3_650.0)] = 28.0
    least_precision: _Share = 0.5
    failed_verifications: Annotated[int, Field(ge=1, le=10)] = 3


def _costs() -> dict[LinkClass, Cost]:
    return {LinkClass.FABRIC: Cost(), LinkClass.ACCESS: Cost(drain=16.0)}


class DrainConfig(_Strict):
    """The file.

    Attributes:
        guard: what must be left.
        cost: by class of links; 8 servers of 8 GPUs lose an hour with a failure, a drained server 2 hours [judgement].
        activation: what `active` asks for.
        lease_s: how long a lease stands where the caller does not say.
    """

    guard: Guard = Guard()
    cost: Annotated[dict[LinkClass, Cost], Field(default_factory=_costs)]
    activation: Activation = Activation()
    lease_s: Annotated[float, Field(ge=60.0, le=86_400.0)] = 3_600.0

    @classmethod
    def default(cls) -> Self:
        """What holds where there is no file."""
        return cls.model_validate({})

    def cost_of(self, kind: LinkClass) -> Cost:
        """The costs of a class; the defaults where the file says nothing of it."""
        return self.cost.get(kind) or _costs()[kind]


def load_drain_config(path: Path) -> DrainConfig:
    """Read the file; the defaults where there is none.

    Raises:
        ConfigError: it is no TOML, or has a key or a value that cannot be; the text names file, place and remedy.
    """
    return load_toml(path, DrainConfig, _told, "docs/drains.md") if path.exists() else DrainConfig.default()


def _no_class(name: str) -> str:
    """What stands in [cost] and is no class of links."""
    classes = [str(kind) for kind in LinkClass]
    if name in Cost.model_fields:
        return f"cost.{name} is of a class of links: write it below {' or '.join(f'[cost.{one}]' for one in classes)}"
    near = difflib.get_close_matches(name, classes, n=1, cutoff=0.0)
    return f"unknown section [cost.{name}]; the nearest is [cost.{near[0]}]"


_SECTIONS: Final[dict[str, type[BaseModel]]] = {"guard": Guard, "cost": Cost, "activation": Activation}


def _told(error: dict[str, Any], _raw: object) -> str:
    """As the key stands in the file: the name with its section in front."""
    place = list(error["loc"])
    if place[-1] == "[key]":
        return _no_class(str(place[-2]))
    if place[:1] == ["cost"] and len(place) == 2 and place[1] in Cost.model_fields:  # noqa: PLR2004 - section and name
        return ""  # said with its name already
    where = ".".join(str(part) for part in place)
    if error["type"] != "extra_forbidden":
        message = str(error["msg"])
        return f"{where}: {message[0].lower()}{message[1:]}"
    section = _SECTIONS.get(str(place[0]), DrainConfig) if len(place) > 1 else DrainConfig
    near = difflib.get_close_matches(str(place[-1]), list(section.model_fields), n=1, cutoff=0.0)
    return f"unknown key {where!r}; the nearest is {near[0]!r}"
