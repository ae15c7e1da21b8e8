"""HTTP to consumers: verified TLS, no redirects, bounded time and answers, failures told apart."""

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

import httpx2

from serving.deliveries.errors import DeliveryError, FailedError, RefusedError, UnreachableError

__all__ = ["Http", "failure"]

_NOT_THE_MESSAGE: Final = frozenset({401, 403, 404, 407, 408, 425, 429, 502, 503, 504})
"""Statuses that say nothing of a message: a token that ran out, a wrong address, a consumer that is busy or away."""
_ENOUGH: Final = 2_048
_FIRST_FAILURE: Final = 300


class Http:
    """A client of one consumer.

    Args:
        timeout_s: of connecting, of sending and of each part of the answer.
        ca_file: instead of the system's certificate authorities.
        headers: of each request; secrets may be among them.
    """

    def __init__(
        self, *, timeout_s: float, ca_file: Path | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        verify = ssl.create_default_context(cafile=ca_file) if ca_file else True
        self._client = httpx2.Client(
            timeout=timeout_s, verify=verify, headers=dict(headers or {}), follow_redirects=False, trust_env=False
        )

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Post until it is acknowledged.

        Raises:
            DeliveryError: it was not.
        """
        try:
            with self._client.stream("POST", url, content=body, headers=dict(headers)) as answer:
                if answer.status_code < _FIRST_FAILURE:
                    return
                said = _beginning(answer)
                raise failure(answer.status_code, said, answer.headers.get("Retry-After"))
        except httpx2.TransportError as error:
            msg = f"no answer: {type(error).__name__} {error}".strip()
            raise UnreachableError(msg) from error

    def close(self) -> None:
        """Give connections back."""
        self._client.close()


def failure(status: int, said: str, retry_after: str | None = None) -> DeliveryError:
    """The error that a status means."""
    text = f"answered {status}: {said}" if said else f"answered {status}"
    if status in _NOT_THE_MESSAGE:
        return UnreachableError(text, after_s=_seconds(retry_after))
    if status >= 500:  # noqa: PLR2004 - HTTP's own number
        return FailedError(text, after_s=_seconds(retry_after))
    return RefusedError(text)


def _beginning(answer: httpx2.Response) -> str:
    found = b""
    for part in answer.iter_bytes(_ENOUGH):
        found += part
        if len(found) >= _ENOUGH:
            break
    return " ".join(found[:_ENOUGH].decode(errors="replace").split())[:_FIRST_FAILURE]


def _seconds(retry_after: str | None) -> float | None:
    """What `Retry-After` asks for, as seconds from now."""
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        time = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (time.astimezone(UTC) - datetime.now(UTC)).total_seconds())
