"""What a vendor file may say, and the files there are.

A profile says where a device keeps its transceivers' readings and what its integers mean. There are two shapes: a
table of *sensors* (ENTITY-SENSOR-MIB and its relatives: one row a sensor, its unit in a sibling column, its place in
ENTITY-MIB), and plain *tables* (one row a port or a lane, one column a quantity).
"""

import functools
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ingest.decode.profile_errors import explained
from ingest.decode.slots import Counter, Quantity
from ingest.errors import ProfileError

__all__ = [
    "COMMON",
    "FALLBACK",
    "Flag",
    "Limits",
    "PlainColumn",
    "PlainTable",
    "Profile",
    "SensorTable",
    "load_profile",
    "profiles",
    "profiles_for",
]

COMMON = "common"
"""Counters of the standard MIBs: read of every device beside its own profile, never alone."""

FALLBACK = "entity_sensor"
"""The standard's own MIB: what a device is asked that no other profile fits, or whose own profile gave nothing."""

Oid = Annotated[str, Field(pattern=r"^\d+(\.\d+)+$")]
Limit = Literal["low_alarm", "low_warn", "high_warn", "high_alarm"]
Unit = Literal["dbm", "w", "v", "a", "c"]
TextQuantity = Literal["interface", "serial", "vendor", "part_number", "media", "firmware"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Strict):
    """Where the limits of sensors stand: as columns by sensor, or as rows (sensor, n) that say which they are."""

    table: Oid
    columns: dict[Limit, int] = {}
    severity: int | None = None
    relation: int | None = None
    value: int | None = None
    levels: dict[int, Literal["warn", "alarm"]] = {}  # severity -> level
    below: tuple[int, ...] = ()  # relations that make it a low limit
    above: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        as_rows = None not in (self.severity, self.relation, self.value) and bool(self.levels)
        if bool(self.columns) == as_rows:
            msg = "limits need either columns, or severity, relation, value and levels"
            raise ValueError(msg)
        return self


class SensorTable(_Strict):
    """One row a sensor, indexed by entPhysicalIndex; scale and precision are siblings of the value."""

    table: Oid
    type: int = 1
    scale: int = 2
    precision: int = 3
    value: int = 4
    status: int | None = 5  # 1 is ok in both MIBs
    units_display: int | None = None
    units: dict[int, Unit]  # the type column's codes
    limits: Limits | None = None


class Flag(_Strict):
    """A column that says something of its row by one value."""

    column: int
    value: int


class PlainColumn(_Strict):
    """One column of a plain table: which quantity it is and what its numbers mean."""

    quantity: Quantity | Counter | TextQuantity
    column: int
    scale: Annotated[float, Field(gt=0)] = 1.0
    unit: Literal["w"] | None = None  # watts, once scaled: they become dBm
    absent: tuple[float, ...] = ()  # raw values that stand for "no reading"
    no_light: tuple[float, ...] = ()  # raw values that stand for no power at all
    lane: int | None = None  # where the column is of one lane
    split: str | None = None  # lanes in one text, so separated
    lanes_only: bool = False  # a text of a single lane is left out: another column has it
    twin: int | None = None  # lane 1 in 0.01 dBm or uW: tells whether small numbers are dBm already, not scaled
    unless: int | None = None  # left out where this column has a number
    negative_scale: Annotated[float, Field(gt=0)] | None = None  # of dBm, where the device's numbers are not watts
    limits: dict[Limit, int] = {}
    limit_scale: Annotated[float, Field(gt=0)] | None = None  # where limits are in another scale than the value
    limit_unit: Literal["w", "dbm"] | None = None


class PlainTable(_Strict):
    """One row a port (or a port and lane); `entity` is resolved as for sensors, `any` is ignored."""

    table: Oid
    index: tuple[Literal["if_index", "entity", "lane", "any"] | int, ...] = ("if_index",)  # a number: only such rows
    first_lane: int = 1
    only: Flag | None = None  # other rows have no readings
    uncalibrated: Flag | None = None  # rows whose numbers lack constants of the module's own
    columns: tuple[PlainColumn, ...]


class Profile(_Strict):
    """A vendor or a MIB.

    Attributes:
        name: the file's name.
        source: MIB that the numbers come from.
        sys_object_id: prefixes of sysObjectID of the devices that it fits.
    """

    name: str = ""
    source: str
    sys_object_id: tuple[Oid, ...] = ()
    sensors: SensorTable | None = None
    tables: tuple[PlainTable, ...] = ()

    @model_validator(mode="after")
    def _has_readings(self) -> Self:
        if self.sensors is None and not self.tables:
            msg = "a profile needs sensors or tables"
            raise ValueError(msg)
        return self


_FOLDER = Path(__file__).with_name("profiles")
_KEYS = frozenset(key for model in _Strict.__subclasses__() for key in model.model_fields)


def profiles() -> list[str]:
    """Names of all profiles that a device can have."""
    return sorted(file.stem for file in _FOLDER.glob("*.yaml") if file.stem != COMMON)


@functools.cache
def load_profile(name: str) -> Profile:
    """Read and check a vendor file.

    Raises:
        ProfileError: there is none of this name, or it says something unknown.
    """
    try:
        text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    except FileNotFoundError:
        msg = f"no profile {name!r}; there are {', '.join(profiles())}"
        raise ProfileError(msg) from None
    try:
        return Profile.model_validate(yaml.safe_load(text) | {"name": name})
    except ValidationError as error:
        msg = f"profile {name}: {explained(error, _KEYS)}"
        raise ProfileError(msg) from None
    except (yaml.YAMLError, TypeError) as error:
        msg = f"profile {name}: {' '.join(str(error).split())}"
        raise ProfileError(msg) from None


def profiles_for(sys_object_id: str) -> list[Profile]:
    """The profiles to try on a device, the best first: by the longest fitting prefix, then the standard's own MIB."""
    fits: list[tuple[int, Profile]] = []
    for profile in map(load_profile, profiles()):
        lengths = [len(prefix) for prefix in profile.sys_object_id if f"{sys_object_id}.".startswith(f"{prefix}.")]
        if lengths:
            fits.append((max(lengths), profile))
    best = [profile for _, profile in sorted(fits, key=lambda fit: -fit[0])]
    return [*best, *([] if any(p.name == FALLBACK for p in best) else [load_profile(FALLBACK)])]
