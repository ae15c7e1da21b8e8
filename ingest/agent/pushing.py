"""Requests to the service with nothing but the standard library: TLS verified, a token that is never shown."""

import gzip
import http.client
import ipaddress
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ingest.errors import ConfigError

__all__ = ["Answer", "Service"]

_MOST_ANSWER: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said.

    Attributes:
        status: of HTTP; 0 where it could not be reached.
        detail: in one line.
        retry_after_s: when to come again, where it says so.
        refused: values and readings that it did not take.
        body: all of it, where it is JSON.
        etag: of the body, where it has one.
    """

    status: int
    detail: str = ""
    retry_after_s: float | None = None
    refused: int = 0
    body: Any = None
    etag: str | None = None

    @property
    def taken(self) -> bool:
        """Whether it is durably kept there."""
        return self.status == http.client.OK

    @property
    def hopeless(self) -> bool:
        """Whether the very same would be refused for ever."""
        return self.status in (400, 413, 415, 422)


class Service:
    """One service.

    Args:
        url: https://host[:port]; http only on this machine, since a token goes with each request.
        token: of the scope ingest.
        ca_file: certificates to verify by, beside none: the system's where not given.
        timeout_s: of one request.
        path: where `push` sends to.

    Raises:
        ConfigError: the address or the file is wrong.
    """

    def __init__(
        self, url: str, token: str, ca_file: Path | None, timeout_s: float = 60.0, *, path: str = "/v1/samples"
    ) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("https", "http") or not parts.hostname or port == -1:
            msg = f"{url!r} is no address such as https://forelight.example:8000"
            raise ConfigError(msg)
        if parts.scheme == "http" and not _is_here(parts.hostname):
            msg = f"{url}: a token would go over the network in the clear; use https"
            raise ConfigError(msg)
        self._host, self._port, self._base = parts.hostname, port, parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._timeout_s, self._path = timeout_s, path
        try:
            self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        except OSError as error:
            msg = f"{ca_file}: no certificates to verify by: {error.strerror or error}"
            raise ConfigError(msg) from None

    def push(self, body: dict[str, Any]) -> Answer:
        """Send samples; whatever goes wrong is an answer."""
        data = gzip.compress(json.dumps(body, separators=(",", ":")).encode(), 6)
        return self._ask("POST", self._path, data, {"Content-Encoding": "gzip", "Content-Type": "application/json"})

    def get(self, path: str, etag: str | None = None) -> Answer:
        """Ask for something, or for what is newer than what had this tag; whatever goes wrong is an answer."""
        return self._ask("GET", path, None, {} if etag is None else {"If-None-Match": etag})

    def _ask(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=self._tls)
        try:
            connection.request(method, self._base + path, data, self._headers | headers)
            answer = connection.getresponse()
            return _told(answer, answer.read(_MOST_ANSWER))
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, " ".join(str(error).split())[:200] or type(error).__name__)
        finally:
            connection.close()


def _told(answer: http.client.HTTPResponse, data: bytes) -> Answer:
    try:
        body = json.loads(data)
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    after = answer.headers.get("Retry-After", "")
    refused = body.get("refused_count", 0)
    return Answer(
        answer.status,
        str(body.get("detail", answer.reason))[:200],
        float(after) if after.isdigit() else None,
        refused if isinstance(refused, int) else 0,
        body,
        answer.headers.get("ETag"),
    )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
