"""A TypedValue as what it says: numbers come as decimals, strings, doubles, four bytes, JSON or lists of one.

What is no number is None, never 0; no light may be minus infinity (field_faults.md, rows 3, 7, 36 to 39).
"""

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from pygnmi.spec.v080.gnmi_pb2 import Encoding, TypedValue, Update

from ingest.decode.tables import number
from ingest.plain import one_line

__all__ = ["Value", "flag_of", "integer_of", "number_of", "text_of", "told_by", "value_of"]

Value: TypeAlias = bool | int | float | str | bytes | list[Any] | dict[str, Any] | None
"""What an update carries: a scalar, a list, a tree of JSON, or nothing that can be read."""

_FLOAT32, _FLOAT64 = struct.Struct(">f"), struct.Struct(">d")
_BASE64_FLOAT: Final = re.compile(r"[A-Za-z0-9+/]{6}==")
"""Four bytes in JSON: YANG's binary is base64 there (RFC 7951, 6.6)."""
_TRUE: Final = frozenset({"true", "yes", "up", "enabled", "1"})
_FALSE: Final = frozenset({"false", "no", "down", "disabled", "0"})
_BLANK: Final = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "unspecified", "not available", "-"})
_OPENS: Final = frozenset({"", "{", "[", '"'})
_MAX_PRECISION: Final = 64  # of a decimal; YANG allows 18


def value_of(typed: TypedValue) -> Value:
    """What a value says, whichever of its forms the device chose; None where it says nothing that can be read."""
    form = typed.WhichOneof("value")
    read = _FORMS.get(form) if form else None
    return read(typed) if read else None


def told_by(update: Update) -> Value:
    """What an update says; devices of before 2018 have it in a field of its own, with its encoding beside it."""
    if update.HasField("val") or not update.HasField("value"):
        return value_of(update.val)
    raw = bytes(update.value.value)
    if update.value.type in (Encoding.JSON, Encoding.JSON_IETF):
        return _json(raw)
    return raw if update.value.type == Encoding.BYTES else raw.decode("utf-8", "replace")


def number_of(value: Value) -> float | None:
    """A value as a number; None where it is none ("N/A", a flag, a tree) or not one alone."""
    kind = type(value)
    if kind is float:
        return None if value != value else value  # type: ignore[return-value]  # noqa: PLR0124 - not a number
    if kind is int:
        return _finite(value)
    if kind is str:
        return _of_text(value)  # type: ignore[arg-type]
    if kind is bytes:
        return _of_bytes(value)  # type: ignore[arg-type]
    if kind is list and len(value) == 1:  # type: ignore[arg-type]
        return number_of(value[0])  # type: ignore[index]
    return None


def integer_of(value: Value) -> int | None:
    """A counter: whole and not negative; JSON has those of 64 bits as strings (row 37)."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value) if len(value) < _MAX_PRECISION else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value >= 0 else None
    found = number_of(value)
    return int(found) if found is not None and math.isfinite(found) and found >= 0 else None


def flag_of(value: Value) -> bool | None:
    """A flag has three states: what is neither true nor false is unknown (row 32)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        known = [flag for flag in map(flag_of, value) if flag is not None]
        return any(known) if known else None
    word = str(value).strip().casefold()
    return True if word in _TRUE else False if word in _FALSE else None


def text_of(value: Value) -> str | None:
    """A text in one line without the blanks and NULs that EEPROM fields are padded with; None where it says nothing."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    text = one_line(str(value).replace("\0", "")).strip()
    return None if text.casefold() in _BLANK else text


def _finite(value: Any) -> float | None:
    try:
        return number(value)
    except OverflowError:
        return None


def _of_text(text: str) -> float | None:
    try:
        return float(text) if "_" not in text and text[-1:].isdigit() else number(text)
    except ValueError:
        return _of_base64(text) if _BASE64_FLOAT.fullmatch(text) else number(text)


def _of_base64(text: str) -> float | None:
    try:
        return _of_bytes(base64.b64decode(text, validate=True))
    except binascii.Error:
        return None


def _of_bytes(raw: bytes) -> float | None:
    """openconfig-types' ieeefloat32: four bytes, the first one the highest (row 38)."""
    form = {_FLOAT32.size: _FLOAT32, _FLOAT64.size: _FLOAT64}.get(len(raw))
    found = form.unpack(raw)[0] if form else math.nan
    return None if math.isnan(found) else found


def _decimal(typed: TypedValue) -> Value:
    digits, precision = typed.decimal_val.digits, typed.decimal_val.precision
    return digits / 10**precision if precision <= _MAX_PRECISION else None


def _json(raw: bytes) -> Value:
    """A tree or a scalar; a scalar without its quotes is a text, and bytes that are no UTF-8 cost their letters."""
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):  # broken, or nested without end
        return None if not text or text.lstrip()[:1] in _OPENS else text


_FORMS: Final[dict[str, Callable[[TypedValue], Value]]] = {
    "double_val": lambda typed: typed.double_val,
    "float_val": lambda typed: typed.float_val,
    "uint_val": lambda typed: typed.uint_val,
    "int_val": lambda typed: typed.int_val,
    "string_val": lambda typed: typed.string_val,
    "bool_val": lambda typed: typed.bool_val,
    "decimal_val": _decimal,
    "bytes_val": lambda typed: typed.bytes_val,
    "json_ietf_val": lambda typed: _json(typed.json_ietf_val),
    "json_val": lambda typed: _json(typed.json_val),
    "ascii_val": lambda typed: typed.ascii_val,
    "leaflist_val": lambda typed: [value_of(each) for each in typed.leaflist_val.element],
}
