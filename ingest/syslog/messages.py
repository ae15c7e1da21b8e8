"""Messages of syslog (RFC 3164 and 5424) by what they say of ports: links up and down, lost light, modules, reboots.

What a message means is data: a pattern a kind of message, with the system that writes it. The patterns are from what
the systems are known to write; no recording of each was there. Anybody may send a message, so no pattern may take
long over one: a message is looked at no further than ``_MOST_CHARS``, and what repeats in a pattern is bounded.
"""

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["CARRIER", "Said", "begins", "said"]

CARRIER: Final = {
    "eos": "a line for each change of the line protocol, after the link debounce of the port",
    "nxos": "a line for each down and up, after the debounce timer of the port (100 ms where not set)",
    "iosxr": "a line for each change of the line protocol, after carrier-delay; changes that are dampened are not told",
    "junos": "a trap for each change after hold-time; damped changes are not told",
    "sonic": "a line for each change of the port's oper state, not debounced",
    "linux": "a line for each carrier change, not debounced; carrier_down_count counts downs only",
}
"""What a link event is worth, by system: what is debounced or damped there, nobody hears of."""

_MOST_CHARS: Final = 2_048
_PORT: Final = r"(?P<port>(?<![\w/.:-])[A-Za-z][\w/.:-]{0,62}\d)"
_SAID: Final = tuple(
    (system, kind, re.compile(pattern))
    for system, kind, pattern in (
        ("eos", "up", rf"%LINEPROTO-5-UPDOWN: Line protocol on Interface {_PORT}.*changed state to up"),
        ("eos", "down", rf"%LINEPROTO-5-UPDOWN: Line protocol on Interface {_PORT}.*changed state to down"),
        ("nxos", "down", rf"%ETHPORT-5-IF_DOWN_(?P<cause>\w{{1,64}}): Interface {_PORT} is down"),
        ("nxos", "up", rf"%ETHPORT-5-IF_UP: Interface {_PORT} is up"),
        ("iosxr", "up", rf"%PKT_INFRA-LINEPROTO-\d-UPDOWN ?: Line protocol on Interface {_PORT}, changed state to Up"),
        (
            "iosxr",
            "down",
            rf"%PKT_INFRA-LINEPROTO-\d-UPDOWN ?: Line protocol on Interface {_PORT}, changed state to Down",
        ),
        ("junos", "down", rf"SNMP_TRAP_LINK_DOWN: .*ifName {_PORT}"),
        ("junos", "up", rf"SNMP_TRAP_LINK_UP: .*ifName {_PORT}"),
        ("sonic", "down", rf"[Pp]ort {_PORT} oper state set from up to down"),
        ("sonic", "up", rf"[Pp]ort {_PORT} oper state set from down to up"),
        ("sonic", "inserted", rf"{_PORT}: Got SFP inserted event"),
        ("sonic", "removed", rf"{_PORT}: Got SFP removed event"),
        ("linux", "down", rf"mlx5_core \S+ {_PORT}: Link down"),
        ("linux", "up", rf"mlx5_core \S+ {_PORT}: Link up"),
        ("any", "inserted", rf"(?i)%(?>[^\s%]*?(?:xcvr|transceiver|sfp))(?>\S*?insert)(?>\S*).{{0,200}}?{_PORT}"),
        ("any", "removed", rf"(?i)%(?>[^\s%]*?(?:xcvr|transceiver|sfp))(?>\S*?remov)(?>\S*).{{0,200}}?{_PORT}"),
        ("any", "los", rf"(?i)^(?!.*clear).*?(?>{_PORT})\b.{{0,200}}?\b(?:rx[ _]?los|loss of signal)\b"),
        (
            "any",
            "reboot",
            r"%SYS-5-(?:SYSTEM_)?RESTART|SNMP_TRAP_COLD_START|kernel: (?:\[ *0\.0+\] )?Linux version",
        ),
    )
)
_HEAD: Final = re.compile(
    r"^(?:<\d{1,3}>)?(?:1 )?(?P<time>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
    r"|(?:\d{4} )?[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?[\d:.]+)"
    r" (?P<host>[\w.:-]+) (?P<text>.*)$"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a message says.

    Attributes:
        time: as its head has it; None where it has no head that is known.
        host: likewise.
        system: who writes such messages.
        kind: of event.
        port: None of what is all of a device's.
        cause: the message's own word for it.
    """

    time: str | None
    host: str | None
    system: str
    kind: str
    port: str | None
    cause: str | None


def begins(line: str) -> bool:
    """Whether a line begins as syslog does."""
    return _HEAD.match(line) is not None


def said(line: str) -> Said | None:
    """What a line says of a port or a device; None where that is nothing that is known."""
    head = _HEAD.match(line)
    text = (head["text"] if head else line)[:_MOST_CHARS]
    for system, kind, pattern in _SAID:
        if match := pattern.search(text):
            found = match.groupdict()
            at, host = (head["time"], head["host"]) if head else (None, None)
            return Said(at, host, system, kind, found.get("port"), found.get("cause"))
    return None
