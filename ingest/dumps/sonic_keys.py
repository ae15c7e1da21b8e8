"""What SONiC's keys mean: tables of STATE_DB, APPL_DB, CONFIG_DB and COUNTERS_DB, and the same names as commands print.

From sonic-platform-daemons' xcvrd, sonic-swss and SAI's port counters; values are text, "N/A" where there is nothing.
``TRANSCEIVER_DOM_FLAG`` and its like are the module's own thresholds crossed: they follow from the readings.
"""

import re
from collections.abc import Mapping
from typing import Final

from ingest.decode.slots import Quantity
from ingest.dumps.numbers import decimal, flag, told, whole
from ingest.dumps.reading import MOST_LANES, Reading

__all__ = ["BINS", "COUNTERS", "PORT_TABLES", "TABLES", "UnreadError", "take"]


class UnreadError(ValueError):
    """A value that is there and cannot be what its key says."""


TABLES: Final = frozenset(
    (
        *("TRANSCEIVER_INFO", "TRANSCEIVER_DOM_SENSOR", "TRANSCEIVER_DOM_TEMPERATURE", "TRANSCEIVER_DOM_THRESHOLD"),
        *("TRANSCEIVER_STATUS", "TRANSCEIVER_STATUS_FLAG", "TRANSCEIVER_PM", "TRANSCEIVER_VDM_REAL_VALUE"),
        *("TRANSCEIVER_FIRMWARE_INFO", "PORT_TABLE", "PORT"),
    )
)
"""Tables of ports that something is taken from."""

PORT_TABLES: Final = ("PORT_TABLE", "PORT")

COUNTERS: Final[Mapping[str, str]] = {
    "SAI_PORT_STAT_IF_IN_UCAST_PKTS": "in_packets",
    "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "out_packets",
    "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES": "fec_corrected",
    "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "fec_uncorrected",
    "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS": "crc_errors",
}

BINS: Final = re.compile(r"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S(\d{1,2})")
_MOST_BINS: Final = 16

_VALUES: Final[Mapping[str, Quantity]] = {
    "temperature": "temperature_c",
    "voltage": "voltage_v",
    "vcc": "voltage_v",
    "laser_temperature": "laser_temperature_c",
    "prefec_ber_avg": "pre_fec_ber",
    "FEC_PRE_BER": "pre_fec_ber",
}
_BY_LANE: Final[tuple[tuple[re.Pattern[str], Quantity], ...]] = (
    (re.compile(r"rx(\d{1,2})_?power|rx_?power_?(\d{1,2})", re.IGNORECASE), "rx_power_dbm"),
    (re.compile(r"tx(\d{1,2})_?power|tx_?power_?(\d{1,2})", re.IGNORECASE), "tx_power_dbm"),
    (re.compile(r"tx(\d{1,2})_?bias|tx_?bias_?(\d{1,2})", re.IGNORECASE), "tx_bias_ma"),
    (re.compile(r"prefec_ber_curr(?:ent)?_media_input(\d{1,2})"), "pre_fec_ber"),
    (re.compile(r"esnr_media_input(\d{1,2})"), "snr_db"),
    (re.compile(r"laser_temperature_media(\d{1,2})"), "laser_temperature_c"),
)
_FLAGS: Final = (
    (re.compile(r"rx_los|rxlos\d*|rx\d{1,2}los"), "rx_los"),
    (re.compile(r"tx_fault|txfault\d*|tx\d{1,2}fault"), "tx_fault"),
    (re.compile(r"rxcdrlol\d*|rx\d{1,2}cdrlol"), "cdr_lol"),
)
_STATES: Final = {"oper_status": "oper_up", "netdev_oper_status": "oper_up", "admin_status": "admin_up"}
_LIMIT: Final = re.compile(r"(rxpower|txpower|txbias|temp|vcc)(high|low)(alarm|warning)")
_LIMITED: Final[Mapping[str, Quantity]] = {
    "rxpower": "rx_power_dbm",
    "txpower": "tx_power_dbm",
    "txbias": "tx_bias_ma",
    "temp": "temperature_c",
    "vcc": "voltage_v",
}
_MODULE: Final = {
    "serial": "serial",
    "manufacturer": "vendor",
    "model": "part_number",
    "serialnum": "serial",  # these three: releases up to 201911
    "manufacturename": "vendor",
    "modelname": "part_number",
    "active_firmware": "firmware",
    "fec": "fec_mode",
}
_CODES: Final = re.compile(r"\{.*\}")
_APPLICATION: Final = re.compile(r"(\d{1,2}): \{[^{}]*?'module_media_interface_id': '([^']+)'")
_ADVERTISED: Final = re.compile(r"Host Assign \([^()]*\) - (.+?) - Media Assign")
_LONGEST: Final = 20_000  # characters of an advertisement
_MEGABITS: Final = 1000.0


def take(reading: Reading, key: str, value: object) -> None:
    """Take one field of any of the tables; names do not mean two things.

    Raises:
        UnreadError: there is a value, and it is not what its key says.
    """
    if not told(value):
        return
    if quantity := _VALUES.get(key):
        reading.put(quantity, _number(value))
    elif found := _LIMIT.fullmatch(key):
        level = "warn" if found[3] == "warning" else "alarm"
        reading.limit(_LIMITED[found[1]], f"{found[2]}_{level}", decimal(value))
    elif key in _MODULE:
        reading.say(_MODULE[key], str(value))
    elif column := COUNTERS.get(key):
        reading.count(column, _count(value))
    elif found := BINS.fullmatch(key):
        _bin(reading, int(found[1]), _count(value))
    else:
        _other(reading, key, value)


def _other(reading: Reading, key: str, value: object) -> None:
    if _of_lane(reading, key, value):
        return
    if key in _STATES:
        if (word := flag(value)) is not None:
            reading.states.setdefault(_STATES[key], word)
    elif key == "type":
        reading.say("form_factor", str(value).split()[0])
    elif key == "speed" and (speed := decimal(value)) is not None:
        reading.say("speed_gbps", speed / _MEGABITS)
    elif key == "flap_count":
        reading.count("link_flaps", _count(value))
    elif key == "advertised" and (found := _ADVERTISED.search(str(value)[:_LONGEST])):
        reading.say("media", found[1])
    elif key in ("specification_compliance", "application_advertisement"):
        reading.say("media", _media(str(value)[:_LONGEST]))


def _of_lane(reading: Reading, key: str, value: object) -> bool:
    """Take a value or flag of one lane; whether it was one."""
    for pattern, quantity in _BY_LANE:
        if found := pattern.fullmatch(key):
            lane = int(next(filter(None, found.groups())))
            if 1 <= lane <= MOST_LANES:
                reading.put(quantity, _number(value, power=quantity.endswith("dbm")), lane)
            return True
    for pattern, column in _FLAGS:
        if pattern.fullmatch(key):
            reading.flag(column, value=flag(value))
            return True
    return False


def _media(text: str) -> str | None:
    """What the module is for: of CMIS modules their first application, of older ones their compliance codes."""
    if found := _APPLICATION.search(text):
        return found[2]
    if not _CODES.fullmatch(text):
        return None
    codes = [code for code in re.findall(r": '([^']+)'", text) if code.lower() not in ("unknown", "n/a")]
    return ", ".join(codes) or None


def _number(value: object, *, power: bool = False) -> float:
    number = decimal(value)
    if number is None or (number in (float("inf"), float("-inf")) and not (power and number < 0)):
        msg = "not a number"
        raise UnreadError(msg)
    return number


def _count(value: object) -> int:
    number = whole(value)
    if number is None or number < 0:
        msg = "not a count"
        raise UnreadError(msg)
    return number


def _bin(reading: Reading, place: int, value: int) -> None:
    if place < _MOST_BINS and value < 2**63:
        bins = reading.fec_bins = reading.fec_bins or [0] * _MOST_BINS
        bins[place] = value
