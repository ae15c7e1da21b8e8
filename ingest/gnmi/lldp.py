"""What a device heard over LLDP, as OpenConfig's model and SONiC's table tell it."""

from collections import defaultdict

from ingest.decode.lldp import Lldp, Neighbour, is_management, is_nobody, one_a_port
from ingest.decode.lldp_text import id_text, is_mac, looks_like_port
from ingest.gnmi.places import Facts, Places
from ingest.gnmi.values import text_of

__all__ = ["lldp_of"]

_TOLD = ("lldp_name", "lldp_port", "lldp_description", "lldp_chassis")


def lldp_of(facts: Facts, places: Places) -> Lldp:
    """Neighbours by port, and what the device calls itself."""
    by_port: dict[str, list[Neighbour]] = defaultdict(list)
    for name in places.interfaces.names.values():
        if not is_management(name):
            for number in sorted(set().union(*(facts.each("interface", name, column) for column in _TOLD))):
                by_port[name].append(_neighbour(facts, name, number))
    found, doubts = one_a_port(by_port)
    chassis = facts.text("device", "", "own_chassis")
    return Lldp(
        neighbours=found,
        chassis=_id(chassis) or None,
        sys_name=facts.text("device", "", "own_name"),
        doubts=doubts,
    )


def _neighbour(facts: Facts, name: str, number: str) -> Neighbour:
    told = (text_of(facts.each("interface", name, column).get(number)) or "" for column in _TOLD)
    who, port, description, chassis = told
    chassis_id, port_id = _id(chassis), _id(port)
    interface = port_id if not is_mac(port_id) or not looks_like_port(description) else description
    device = who if who and not is_nobody(who) else chassis_id or (port_id if is_mac(port_id) else "")
    return Neighbour(name, device, interface or description, chassis_id or None, port_id or None, description or None)


def _id(text: str | None) -> str:
    """An id; a MAC address in the form that all have here."""
    raw = (text or "").encode()
    as_mac = id_text(raw, mac=True)
    return as_mac if is_mac(as_mac) else id_text(raw)
