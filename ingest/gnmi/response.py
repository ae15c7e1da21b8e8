"""A device's answer as a message, whatever is in its texts.

Vendors' names in modules were seen to be no UTF-8. The protocol's texts must be, and the library refuses a whole
message for one that is not; the stream would end, and end again at each new attempt.
"""

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from pygnmi.spec.v080.gnmi_pb2 import SubscribeResponse

__all__ = ["response_of"]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers (encoding, "Message Structure"); groups are none of this protocol's."""
_FIXED: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10
_DEEPEST: Final = 50


def response_of(raw: bytes) -> SubscribeResponse:
    """The message; letters that cannot be read are replaced.

    Raises:
        DecodeError: it is no message.
    """
    try:
        return SubscribeResponse.FromString(raw)
    except DecodeError:
        return SubscribeResponse.FromString(_mended(raw, SubscribeResponse.DESCRIPTOR))


def _mended(raw: bytes, message: Descriptor, depth: int = 0) -> bytes:
    """The same message, its texts in UTF-8."""
    if depth > _DEEPEST:
        msg = "nested without end"
        raise DecodeError(msg)
    mended = bytearray()
    for number, kind, head, body in _fields(raw):
        field: Any = message.fields_by_number.get(number)
        if kind == _BYTES and field is not None and field.type == FieldDescriptor.TYPE_STRING:
            body = body.decode("utf-8", "replace").encode()  # noqa: PLW2901 - mended
        elif kind == _BYTES and field is not None and field.message_type is not None:
            body = _mended(body, field.message_type, depth + 1)  # noqa: PLW2901 - mended
        mended += head + (_varint(len(body)) if kind == _BYTES else b"") + body
    return bytes(mended)


def _fields(raw: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Number, wire type, tag as it came, and body of each field."""
    at = 0
    while at < len(raw):
        tag, begins = _read(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            ends = _read(raw, begins)[1]
        elif kind == _BYTES:
            length, body = _read(raw, begins)
            ends = body + length
        else:
            ends = begins + _FIXED.get(kind, len(raw) + 1)
        if ends > len(raw):
            msg = "cut off"
            raise DecodeError(msg)
        head, start = raw[at:begins], body if kind == _BYTES else begins
        yield tag >> 3, kind, head, raw[start:ends]
        at = ends


def _read(raw: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    number = 0
    for i, byte in enumerate(raw[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * i
        if byte < 0x80:  # noqa: PLR2004 - the last byte has no bit 7
            return number, at + i + 1
    msg = "cut off"
    raise DecodeError(msg)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
