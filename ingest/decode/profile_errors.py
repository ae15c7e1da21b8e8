"""What is wrong with a vendor file, in words that help: where, what is allowed, and what was probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

__all__ = ["explained"]


def explained(error: ValidationError, keys: Iterable[str]) -> str:
    """All that pydantic found, one clause each.

    Args:
        error: of a model of the profile language.
        keys: the language's keys, among which the nearest to an unknown one is named.
    """
    clauses: dict[str, list[dict[str, Any]]] = {}
    for found in error.errors(include_url=False):
        where = [part for part in found["loc"] if not str(part).startswith(("literal[", "[key]"))]
        clauses.setdefault(".".join(map(str, where)) or "the file", []).append(dict(found))
    return "; ".join(f"{where}: {_clause(where, same, sorted(keys))}" for where, same in clauses.items())


def _clause(where: str, same: list[dict[str, Any]], keys: list[str]) -> str:
    first = same[0]
    if first["type"] == "extra_forbidden":
        return f"unknown key{_nearest(where.rpartition('.')[2], keys)}"
    allowed = [word for found in same for word in re.findall(r"'([^']+)'", found.get("ctx", {}).get("expected", ""))]
    if allowed:
        value = str(first["input"])
        return f"{value!r} is not allowed{_nearest(value, allowed)}; allowed: {', '.join(allowed)}"
    if first["type"] == "string_pattern_mismatch":
        return f"{first['input']!r} is no OID (numbers with dots between)"
    return str(first["msg"]).removeprefix("Value error, ")


def _nearest(word: str, words: list[str]) -> str:
    near = get_close_matches(word, words, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
