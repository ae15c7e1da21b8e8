"""Paths and values as the test server writes them: texts to keys, leaves to messages, in any encoding and form."""

import json
import struct
from typing import Any

from pygnmi.spec.v080.gnmi_pb2 import Decimal64, Encoding, Path, PathElem, ScalarArray, TypedValue

Key = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
Leaf = float | str | bool | list[Any] | dict[str, Any] | None

_NS = 1_000_000_000


def parsed(text: str) -> Key:
    """``a/b[k=v]/c`` as names and keys; a key may hold slashes."""
    found, name, keys, depth, word = [], "", {}, 0, ""
    for char in text + "/":
        if char == "[":
            depth, name, word = 1, name or word, ""
        elif char == "]":
            key, _, value = word.partition("=")
            keys[key], depth, word = value, 0, ""
        elif char == "/" and not depth:
            found.append((name or word, tuple(sorted(keys.items()))))
            name, keys, word = "", {}, ""
        else:
            word += char
    return tuple(element for element in found if element[0])


def path_of(key: Key) -> Path:
    return Path(elem=[PathElem(name=name, key=dict(keys)) for name, keys in key])


def covers(asked: Key, leaf: Key) -> bool:
    """Whether a leaf lies at or below a path, whose missing keys and `*` mean all."""
    if len(asked) > len(leaf):
        return False
    for (name, keys), (own, own_keys) in zip(asked, leaf, strict=False):
        if name not in (own, "*") and not (name.endswith("*") and own.startswith(name[:-1])):
            return False
        if any(value not in ("*", dict(own_keys).get(key)) for key, value in keys):
            return False
    return True


def overlap(one: Key, other: Key) -> bool:
    """Whether one path may lie below the other."""
    pairs = list(zip(one, other, strict=False))
    if any(name != own for (name, _), (own, _) in pairs):
        return False
    return all(dict(own).get(key, value) == value for (_, keys), (_, own) in pairs for key, value in keys)


def typed(value: Leaf, encoding: int, form: str = "double") -> TypedValue:
    """A value in the encoding that was asked for; `form` says how PROTO has its fractions."""
    if isinstance(value, dict) or encoding in (Encoding.JSON, Encoding.JSON_IETF):
        ietf = encoding == Encoding.JSON_IETF
        told = str(value) if ietf and isinstance(value, float) else value
        raw = json.dumps(told).encode()
        return TypedValue(json_ietf_val=raw) if ietf else TypedValue(json_val=raw)
    if isinstance(value, bool):
        return TypedValue(bool_val=value)
    if isinstance(value, list):
        return TypedValue(leaflist_val=ScalarArray(element=[typed(each, encoding, form) for each in value]))
    if isinstance(value, int):
        return TypedValue(uint_val=value) if value >= 0 else TypedValue(int_val=value)
    if isinstance(value, float):
        return _fraction(value, form)
    return TypedValue(string_val=str(value))


def _fraction(value: float, form: str) -> TypedValue:
    if form == "bytes":
        return TypedValue(bytes_val=struct.pack(">f", value))
    if form == "decimal":
        return TypedValue(decimal_val=Decimal64(digits=round(value * 10_000), precision=4))
    if form == "string":
        return TypedValue(string_val=f"{value:.4f}")
    if form == "leaflist":
        return TypedValue(leaflist_val=ScalarArray(element=[TypedValue(double_val=value)]))
    return TypedValue(float_val=value) if form == "float" else TypedValue(double_val=value)


def key_of(path: Path) -> Key:
    return tuple((elem.name, tuple(sorted(elem.key.items()))) for elem in path.elem)


def text_of(key: Key) -> str:
    return "/".join(name + "".join(f"[{k}={v}]" for k, v in keys) for name, keys in key)


def shared(leaves: list[Key]) -> Key:
    head = []
    for elements in zip(*leaves, strict=False):
        if len(set(elements)) > 1:
            break
        head.append(elements[0])
    return tuple(head[: min(map(len, leaves), default=1) - 1])
