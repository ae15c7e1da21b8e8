"""A webhook: each message as a CloudEvents 1.0 event in JSON (structured mode), signed where a secret is given.

The signature covers the time it was made at and the body, so that it can neither be moved to another body nor be
played again later: ``X-Forelight-Signature: t=<Unix time>,v1=<hex of HMAC-SHA256(secret, "<t>.<body>")>``.
"""

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from serving.adapters.base import Telling, as_bytes, when
from serving.adapters.config import WebhookConfig
from serving.adapters.http import Http
from serving.wire.alarms import Alarm

__all__ = ["SIGNATURE", "Webhook", "signature", "verify"]

SIGNATURE: Final = "X-Forelight-Signature"
_TYPE: Final = "io.forelight.alarm"
_MOST_REASONS: Final = 10
_LONGEST_REASON: Final = 500


class Webhook:
    """Posts events to one address."""

    keeps = False
    repeats = False
    check_s = 0.0
    uses_nodes = True
    needs_nodes = False
    tells_storms = True

    def __init__(self, config: WebhookConfig) -> None:
        self.name = config.name
        self.timeout_s = config.timeout_s
        self._config = config
        self._secret = config.secret()
        self._http = Http(timeout_s=config.timeout_s, ca_file=config.ca_file, headers=config.authorization())

    def render(self, telling: Telling) -> Sequence[dict[str, object]]:
        """The event."""
        notice = telling.notice
        data: dict[str, object] = {"kind": str(notice.kind), "who": notice.who, "why": notice.why[:_LONGEST_REASON]}
        if notice.alarm is None:
            data |= {"held_back": notice.held_back, "members": [dict(member) for member in notice.members]}
        else:
            data["alarm"] = _alarm(telling)
        return [
            {
                "specversion": "1.0",
                "id": str(notice.message_id),
                "source": self._config.source,
                "type": f"{_TYPE}.{notice.kind}",
                "subject": notice.subject,
                "time": when(notice.at),
                "sequence": f"{notice.message_id:012d}",
                "datacontenttype": "application/json",
                "data": data,
            }
        ]

    def send(self, telling: Telling) -> None:
        """Post it."""
        body = as_bytes(self.render(telling)[0])
        headers = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
        if self._secret is not None:
            headers[SIGNATURE] = signature(self._secret, body, telling.at)
        self._http.post(self._config.url, body, headers)

    def close(self) -> None:
        """Give connections back."""
        self._http.close()


def signature(secret: bytes, body: bytes, at: datetime) -> str:
    """The header's value."""
    time = int(at.timestamp())
    return f"t={time},v1={_digest(secret, body, time)}"


def verify(secret: bytes, header: str, body: bytes, now: datetime, *, tolerance_s: float = 300.0) -> bool:
    """Whether a request is ours and of now; what a receiver does, in the language of this project.

    >>> from datetime import UTC
    >>> now = datetime(2026, 11, 29, tzinfo=UTC)
    >>> verify(b"secret", signature(b"secret", b"{}", now), b"{}", now)
    True
    """
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    try:
        time = int(parts["t"])
    except (KeyError, ValueError):
        return False
    fresh = abs(now.timestamp() - time) <= tolerance_s
    return fresh and hmac.compare_digest(_digest(secret, body, time), parts.get("v1", ""))


def _digest(secret: bytes, body: bytes, time: int) -> str:
    return hmac.new(secret, f"{time}.".encode() + body, hashlib.sha256).hexdigest()


def _alarm(telling: Telling) -> dict[str, object]:
    """The alarm as `GET /v1/alarms/{id}` shows it, but for when it expires: that moves with each run."""
    record, nodes = telling.notice.alarm, telling.notice.nodes
    assert record is not None  # noqa: S101 - the caller has looked
    servers = frozenset((record.site, node) for node in nodes)
    shown: dict[str, object] = Alarm.of(record, servers, 0.0, 0.0).model_dump(mode="json", exclude={"expires_at"})
    reasons = [reason[:_LONGEST_REASON] for reason in record.reasons[:_MOST_REASONS]]
    return shown | {"affected_nodes": list(nodes), "left_alone": telling.left_alone, "reasons": reasons}
