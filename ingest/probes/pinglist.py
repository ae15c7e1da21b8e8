"""What an agent is told to do: which 5-tuples to probe and how often, and whose replies' way to trace."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from ingest.errors import ConfigError

__all__ = ["Answered", "Flow", "Pinglist"]

ROCE_PORT: Final = 4791
_MOST_FLOWS: Final = 20_000
_KEY_BYTES: Final = 16
_IPV4: Final = 4
_KINDS: Final = ("tor_mesh", "inter_tor", "service", "pinned")


@dataclass(frozen=True, slots=True)
class Flow:
    """A 5-tuple to probe.

    Attributes:
        per_s: probes a second.
        kind: tor_mesh, inter_tor, service or pinned.
    """

    source_interface: str
    source_address: str
    source_port: int
    target_device: str
    target_interface: str
    target_address: str
    kind: str
    per_s: float


@dataclass(frozen=True, slots=True)
class Answered:
    """A 5-tuple by which this host is probed: it traces the way of its replies."""

    source_device: str
    source_interface: str
    source_address: str
    source_port: int
    target_interface: str
    target_address: str


@dataclass(frozen=True, slots=True)
class Pinglist:
    """An agent's work.

    Attributes:
        port: at which responders listen.
        window_s: rows are of windows so long, which begin at whole multiples since 1970.
        timeout_s: a reply after it is late.
        answer_per_s: a responder answers no prober more often.
        trace_share: part of the 5-tuples traced in each window; those that lost probes are traced besides.
        trace_per_s: packets of traces, at most: routers answer few.
        key: of the packets; hex.
    """

    flows: tuple[Flow, ...]
    answered: tuple[Answered, ...]
    key: bytes
    port: int = ROCE_PORT
    window_s: float = 20.0
    timeout_s: float = 0.5
    answer_per_s: float = 1_000.0
    trace_share: float = 0.05
    trace_per_s: float = 50.0

    @classmethod
    def read(cls, path: Path) -> "Pinglist":
        """One from a file.

        Raises:
            ConfigError: it cannot be read, or says what cannot be.
        """
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            msg = f"{path}: no pinglist: {error}"
            raise ConfigError(msg) from None
        return cls.of(said, path.name)

    @classmethod
    def of(cls, said: Any, where: str) -> "Pinglist":
        """One from what JSON says.

        Raises:
            ConfigError: it says what cannot be.
        """
        try:
            names = {each.name for each in fields(cls)} - {"flows", "answered", "key"}
            rest = {name: value for name, value in said.items() if name in names}
            found = cls(
                tuple(Flow(**_only(Flow, each)) for each in said["flows"]),
                tuple(Answered(**_only(Answered, each)) for each in said.get("answered", [])),
                bytes.fromhex(said["key"]),
                **rest,
            )
            found._check()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            msg = f"{where}: no pinglist: {error!r}"
            raise ConfigError(msg) from None
        return found

    def as_json(self) -> dict[str, Any]:
        """What `of` reads."""
        return asdict(self) | {"key": self.key.hex()}

    def _check(self) -> None:
        """Raise ValueError where a number or an address cannot be."""
        if len(self.flows) > _MOST_FLOWS or len(self.answered) > _MOST_FLOWS:
            msg = f"more than {_MOST_FLOWS} flows"
            raise ValueError(msg)
        if len(self.key) < _KEY_BYTES:
            msg = f"the key has less than {_KEY_BYTES} bytes"
            raise ValueError(msg)
        named: list[Flow | Answered] = [*self.flows, *self.answered]
        for each in named:
            _address(each.source_address)
            _address(each.target_address)
            _bound("source_port", each.source_port, 1024, 65_535)
        for flow in self.flows:
            _bound("per_s", flow.per_s, 0.001, 10_000.0)
            if flow.kind not in _KINDS:
                msg = f"kind {flow.kind!r} is none of {', '.join(_KINDS)}"
                raise ValueError(msg)
        _bound("port", self.port, 1, 65_535)
        _bound("window_s", self.window_s, 1.0, 3_600.0)
        _bound("timeout_s", self.timeout_s, 0.01, self.window_s / 2)
        _bound("answer_per_s", self.answer_per_s, 1.0, 1e6)
        _bound("trace_share", self.trace_share, 0.0, 1.0)
        _bound("trace_per_s", self.trace_per_s, 1.0, 1e5)


def _only(kind: type, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is not known is passed over."""
    return {name: said[name] for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _address(said: str) -> None:
    if ip_address(said).version != _IPV4:
        msg = f"{said} is no IPv4 address; probes are IPv4 only"
        raise ValueError(msg)


def _bound(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        msg = f"{name} {value!r} is not between {least:g} and {most:g}"
        raise ValueError(msg)
