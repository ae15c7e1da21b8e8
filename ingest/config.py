"""forelight.toml: what to poll, how often and with which credentials, and how long rows are kept.

Unknown keys are errors that name the nearest right one.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ingest.gnmi.options import DEFAULT_PORT, GnmiOptions
from ingest.schema import TABLES
from ingest.snmp.options import SnmpOptions
from ingest.syslog.options import SyslogOptions
from ingest.toml_file import Place, load_toml, sentence

__all__ = ["Collect", "Config", "GnmiOptions", "Retention", "SnmpOptions", "Target", "load_config", "load_retention"]

_Seconds = Annotated[float, Field(gt=0)]
_Days = Annotated[float, Field(ge=1, le=36_500)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


_MANUAL: Final = "docs/vendors.md"


class Collect(_Strict):
    """How the sweeps go.

    Attributes:
        interval_s: from the start of a sweep to the start of the next.
        concurrency: devices asked at the same time; one request at a time each.
        deadline_s: what one device may take in all; what is left of the interval at its start where not given.
        spool_max_mb: what the spool may take of the disk while the lake cannot be written; then the oldest rows go.
        metrics_port, metrics_host: where Prometheus finds the collector's metrics; nowhere by default.
    """

    interval_s: _Seconds = 60.0
    concurrency: Annotated[int, Field(ge=1)] = 64
    deadline_s: _Seconds | None = None
    spool_max_mb: Annotated[int, Field(ge=1)] = 2_048
    metrics_port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    metrics_host: Annotated[str, Field(min_length=1)] = "127.0.0.1"


class Target(_Strict):
    """One device; `port` is 161 for SNMP and 9339 for gNMI where not given."""

    site: str = "default"
    device: Annotated[str, Field(min_length=1)]
    address: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=1, le=65_535)] = 161
    protocol: Literal["snmp", "gnmi"] = "snmp"
    snmp: SnmpOptions | None = None
    gnmi: GnmiOptions | None = None

    @model_validator(mode="before")
    @classmethod
    def _port_of_protocol(cls, told: object) -> object:
        if isinstance(told, dict) and told.get("protocol") == "gnmi":
            return {"port": DEFAULT_PORT} | told
        return told

    @model_validator(mode="after")
    def _has_its_section(self) -> Self:
        if (self.snmp if self.protocol == "snmp" else self.gnmi) is None:
            msg = f"needs a [target.{self.protocol}] section"
            raise ValueError(msg)
        return self


class Retention(_Strict):
    """For how many days rows of a table are kept; of a table that is not named for ever."""

    lane_samples: _Days | None = None
    port_samples: _Days | None = None
    port_events: _Days | None = None
    scores: _Days | None = None
    shadow_scores: _Days | None = None
    probes: _Days | None = None
    probe_paths: _Days | None = None
    lane_tiles: _Days | None = None
    port_tiles: _Days | None = None
    lane_days: _Days | None = None
    port_days: _Days | None = None

    @model_validator(mode="before")
    @classmethod
    def _have_days(cls, tables: object) -> object:
        for name in tables if isinstance(tables, dict) else ():
            if name in TABLES and TABLES[name].time is None:
                msg = f"{name} has no days that could be dropped: it is kept for ever"
                raise ValueError(msg)
        return tables

    def ages(self) -> dict[str, timedelta]:
        """How long each table that is named is kept."""
        return {name: timedelta(days=days) for name, days in self if days is not None}


class _Sections(_Strict):
    """What a configuration may say."""

    collect: Collect = Collect()
    retention: Retention = Retention()
    syslog: SyslogOptions | None = None
    target: tuple[Target, ...] = ()

    @model_validator(mode="after")
    def _targets_differ(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for target in self.target:
            if (target.site, target.device) in seen:
                msg = f"device {target.device!r} of site {target.site!r} is there twice"
                raise ValueError(msg)
            seen.add((target.site, target.device))
        return self


class Config(_Sections):
    """The configuration of a collector."""

    target: Annotated[tuple[Target, ...], Field(min_length=1)]

    def warnings(self) -> list[str]:
        """What works and should not be, each with the devices that it is said of."""
        said: dict[str, list[str]] = {}
        for target in self.target:
            options = target.snmp if target.protocol == "snmp" else target.gnmi
            for warning in options.warnings() if options else ():
                said.setdefault(warning, []).append(target.device)
        return [f"{_shown(devices)}: {warning}" for warning, devices in said.items()]


def _shown(devices: list[str]) -> str:
    few = 3
    return ", ".join(devices[:few]) + (f" and {len(devices) - few} more" if len(devices) > few else "")


def load_config(path: Path) -> Config:
    """Read and check a configuration.

    Raises:
        ConfigError: no such file, no TOML, or a key or value that cannot be; the text names place and remedy.
    """
    return load_toml(path, Config, _told, _MANUAL)


def load_retention(path: Path) -> dict[str, timedelta]:
    """How long rows of each table are kept, as `[retention]` says; a configuration without targets will do.

    Raises:
        ConfigError: as `load_config`.
    """
    return load_toml(path, _Sections, _told, _MANUAL).retention.ages()


def _told(error: dict[str, Any], raw: object) -> str:
    return sentence(error, error["loc"], _keys, lambda place: _where(place, raw))


def _keys(place: Place) -> list[str]:
    """Keys that may stand at a place of the file."""
    sections: dict[str, type[BaseModel]] = {
        "collect": Collect,
        "retention": Retention,
        "syslog": SyslogOptions,
        "target": Target,
        "snmp": SnmpOptions,
        "gnmi": GnmiOptions,
    }
    names = [part for part in place if isinstance(part, str)]
    return list((sections[names[-1]] if names else Config).model_fields)


def _where(place: Place, raw: object) -> str:
    """`[target.snmp] of leaf02`, say."""
    names = [str(part) for part in place if isinstance(part, str)]
    number = next((part for part in place if isinstance(part, int)), None)
    if number is None:
        return f"[{'.'.join(names)}]" if names else "the file"
    label = f"target {number + 1}"
    targets = raw.get("target") if isinstance(raw, dict) else None
    if isinstance(targets, list) and isinstance(targets[number], dict) and "device" in targets[number]:
        label = str(targets[number]["device"])
    return f"[{'.'.join(names)}] of {label}"
