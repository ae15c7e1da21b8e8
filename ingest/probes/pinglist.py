"""What an agent is told to do: which 5-tuples to probe and how often, and whose replies' way to trace."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, Final

from ingest.errors import ConfigError

__all__ = ["Answered", "Flow", "Pinglist"]

ROCE_PORT: Final = 4791
_MOST_FLOWS: Final = 20_000
_MOST_PROBES: Final = 1_000_000
"""In a window: all of them are laid out as it begins."""
_LONGEST_NAME: Final = 255
_KEY_BYTES: Final = 16
_EVERYBODY: Final = ip_address("255.255.255.255")
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
        except (OSError, ValueError, RecursionError) as error:
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
        _bound("port", self.port, 1024, 65_535, whole=True)
        named: list[Flow | Answered] = [*self.flows, *self.answered]
        for each in named:
            self._check_ends(each)
        for flow in self.flows:
            _bound("per_s", flow.per_s, 0.001, 10_000.0)
            if flow.kind not in _KINDS:
                msg = f"kind {flow.kind!r} is none of {', '.join(_KINDS)}"
                raise ValueError(msg)
        _bound("window_s", self.window_s, 1.0, 3_600.0)
        _bound("timeout_s", self.timeout_s, 0.01, self.window_s / 2)
        _bound("answer_per_s", self.answer_per_s, 1.0, 1e6)
        _bound("trace_share", self.trace_share, 0.0, 1.0)
        _bound("trace_per_s", self.trace_per_s, 1.0, 1e5)
        if sum(flow.per_s for flow in self.flows) * self.window_s > _MOST_PROBES:
            msg = f"more than {_MOST_PROBES} probes in a window"
            raise ValueError(msg)

    def _check_ends(self, each: Flow | Answered) -> None:
        """A 5-tuple whose names the service takes, and whose replies no responder takes for its own."""
        for name in ("source_interface", "target_interface", "target_device", "source_device"):
            _named(name, getattr(each, name, "absent"))
        if _address(each.source_address).version != _address(each.target_address).version:
            msg = f"{each.source_address} and {each.target_address} are of two versions of IP"
            raise ValueError(msg)
        _bound("source_port", each.source_port, 1024, 65_535, whole=True)
        if each.source_port == self.port:
            msg = f"source_port {each.source_port} is the responders'"
            raise ValueError(msg)


def _only(kind: type, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is not known is passed over."""
    return {name: said[name] for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _named(name: str, said: Any) -> None:
    if not isinstance(said, str) or not 0 < len(said) <= _LONGEST_NAME or not said.isprintable():
        msg = f"{name} {said!r} is no name"
        raise ValueError(msg)


def _address(said: Any) -> IPv4Address | IPv6Address:
    """One as sockets write it, of a host and not of a link alone."""
    found = ip_address(said) if isinstance(said, str) else None
    if found is None or str(found) != said:
        msg = f"{said!r} is no address" + (f" as sockets write it: {found}" if found else "")
        raise ValueError(msg)
    mapped = isinstance(found, IPv6Address) and (found.is_link_local or found.ipv4_mapped is not None)
    if found.is_multicast or found.is_unspecified or found == _EVERYBODY or mapped:
        msg = f"{said} is no host's address"
        raise ValueError(msg)
    return found


def _bound(name: str, value: Any, least: float, most: float, *, whole: bool = False) -> None:
    if isinstance(value, bool) or (whole and not isinstance(value, int)) or not least <= value <= most:
        msg = f"{name} {value!r} is not between {least:g} and {most:g}"
        raise ValueError(msg)
