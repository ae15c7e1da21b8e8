"""Errors of the serving layer, with the HTTP status each becomes on the wire.

* ServingError
  x ProblemError              has a status, a kind and a title; the service answers it as problem+json
    + NoScoresError       503 nothing was scored yet: wait for the first run, do not act
    + StaleScoresError    503 the scheduled run is late: act on nothing, look at `forelight score`
    + NotReadyError       503 `reasons` says what is missing
    + ScoresUnavailableError 503 a run was applied and its scores cannot be read: look at the lake
    + FabricUnavailableError 503 links and their state cannot be read: look at the lake; drain nothing
    + StoreError          503 the alarm store cannot be used: fix the database
    + ModelUnavailableError 503 there is no model that this code can use: train one
    + SamplesUnavailableError 503 samples cannot be kept durably: send them again
    + OverloadedError     503 too much is asked for at once; `Retry-After` says when to come again
    + ModelNotFoundError  404 no such model version
    + NodeNotFoundError   404 no server has this name
    + AlarmNotFoundError  404 no such alarm
    + TransceiverNotFoundError 404 no such module in the latest scores
    + LinkNotFoundError   404 no link is known at this port
    + PinglistNotFoundError 404 no probes are planned for this host
    + DrainNotFoundError  404 no such lease or drain
    + LeaseOwnerError     409 the lease is another's, or does not stand
    + TransitionError     409 the alarm's state does not allow it
    + AlarmConflictError  409 the fault unit already has a standing alarm
    + RunOrderError       409 a later run was already applied
    + PreconditionError   412 the alarm is not what it was when the caller looked
    + IdempotencyError    422 the key was used for another request
    + TokenError          401 no token was presented, or none that is valid
    + OperatorError       403 there is no token at all, so nothing may be changed
    + ScopeError          403 the token's scope does not reach so far
    + RateLimitError      429 too many requests; `Retry-After` says when to come again
      - HostRateError     429 a host sends more often than one may
    + CursorError         422 the cursor is not one of ours
    + QueryError          422 a parameter that does not exist
  x LetterError, DeliveryError   of deliveries to consumers: `serving.deliveries.errors`
"""

from collections.abc import Mapping
from typing import ClassVar

from ingest.errors import ServingError

__all__ = [
    "AlarmConflictError",
    "AlarmNotFoundError",
    "CursorError",
    "DrainNotFoundError",
    "FabricUnavailableError",
    "HostRateError",
    "IdempotencyError",
    "LeaseOwnerError",
    "LinkNotFoundError",
    "ModelNotFoundError",
    "ModelUnavailableError",
    "NoScoresError",
    "NodeNotFoundError",
    "NotReadyError",
    "OperatorError",
    "OverloadedError",
    "PinglistNotFoundError",
    "PreconditionError",
    "ProblemError",
    "QueryError",
    "RateLimitError",
    "RunOrderError",
    "SamplesUnavailableError",
    "ScopeError",
    "ScoresUnavailableError",
    "ServingError",
    "StaleScoresError",
    "StoreError",
    "TokenError",
    "TransceiverNotFoundError",
    "TransitionError",
]


class ProblemError(ServingError):
    """A refusal that the service can put into words.

    Attributes:
        status: HTTP status.
        kind: last part of the problem's ``type`` URN; never changes once published.
        title: what went wrong, the same for each problem of the kind.
        headers: HTTP headers that belong to the refusal.
        more: members beside RFC 9457's own.
    """

    status: ClassVar[int]
    kind: ClassVar[str]
    title: ClassVar[str]
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(self, detail: str, **more: object) -> None:
        super().__init__(detail)
        self.more = more


class NoScoresError(ProblemError):
    """No run was applied yet; an empty list would read as an all-clear."""

    status, kind, title = 503, "no-scores", "No scores yet"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "60"}


class StaleScoresError(ProblemError):
    """Old scores are not an all-clear: automation must not act on them."""

    status, kind, title = 503, "stale-scores", "Scores are stale"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "60"}


class NotReadyError(ProblemError):
    """The service runs and cannot answer truthfully yet."""

    status, kind, title = 503, "not-ready", "Not ready"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "10"}


class ScoresUnavailableError(ProblemError):
    """The latest run's scores are not to be had from the lake."""

    status, kind, title = 503, "scores-unavailable", "Scores unavailable"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "60"}


class StoreError(ProblemError):
    """The alarm store cannot be opened, reached or understood."""

    status, kind, title = 503, "store-unavailable", "Alarm store unavailable"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "10"}


class ModelUnavailableError(ProblemError):
    """There is no model, or none that this code can use."""

    status, kind, title = 503, "model-unavailable", "No model"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "60"}


class OverloadedError(ProblemError):
    """More is asked for than can be answered in time."""

    status, kind, title = 503, "overloaded", "Too much at once"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class ModelNotFoundError(ProblemError):
    """No model version has this number or alias."""

    status, kind, title = 404, "model-not-found", "No such model"


class NodeNotFoundError(ProblemError):
    """No server is known by this name; an empty list would read as an all-clear."""

    status, kind, title = 404, "node-not-found", "No such node"


class AlarmNotFoundError(ProblemError):
    """No alarm has this identifier."""

    status, kind, title = 404, "alarm-not-found", "No such alarm"


class TransceiverNotFoundError(ProblemError):
    """The latest run knows no module at this place."""

    status, kind, title = 404, "transceiver-not-found", "No such transceiver"


class PinglistNotFoundError(ProblemError):
    """The plan has no such host: it probes nothing."""

    status, kind, title = 404, "pinglist-not-found", "No probes are planned for this host"


class TransitionError(ProblemError):
    """An alarm's state does not lead to the one asked for."""

    status, kind, title = 409, "illegal-transition", "The alarm's state does not allow this"


class AlarmConflictError(ProblemError):
    """A fault unit has one standing alarm at most."""

    status, kind, title = 409, "alarm-conflict", "The fault unit already has a standing alarm"


class RunOrderError(ProblemError):
    """Runs are applied in the order of their times."""

    status, kind, title = 409, "run-order", "A later run was already applied"


class PreconditionError(ProblemError):
    """What the caller saw is no longer so."""

    status, kind, title = 412, "precondition-failed", "The alarm has changed"


class IdempotencyError(ProblemError):
    """A key stands for one request."""

    status, kind, title = 422, "idempotency-key-reused", "The key was used for another request"


class TokenError(ProblemError):
    """The token is missing, unknown, expired or revoked."""

    status, kind, title = 401, "unauthorized", "Token needed"
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class OperatorError(ProblemError):
    """Nothing may be changed while there is no token."""

    status, kind, title = 403, "read-only", "The service is read-only"


class ScopeError(ProblemError):
    """The token allows less than was asked for."""

    status, kind, title = 403, "forbidden", "The token's scope does not allow this"


class RateLimitError(ProblemError):
    """Somebody asks more often than one caller may."""

    status, kind, title = 429, "rate-limited", "Too many requests"


class HostRateError(RateLimitError):
    """A host sends more often than one may, whoever's token it has."""

    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "5"}


class SamplesUnavailableError(ProblemError):
    """Samples cannot be kept durably, so they are not acknowledged."""

    status, kind, title = 503, "samples-unavailable", "Samples cannot be kept"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "30"}


class CursorError(ProblemError):
    """A cursor that this service did not give out."""

    status, kind, title = 422, "invalid-cursor", "The cursor is not valid"


class QueryError(ProblemError):
    """A query parameter that the route does not have."""

    status, kind, title = 422, "invalid-request", "The request is not valid"


class FabricUnavailableError(ProblemError):
    """Which links there are, and which of them are up, is not to be had from the lake."""

    status, kind, title = 503, "fabric-unavailable", "Fabric unavailable"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "60"}


class LinkNotFoundError(ProblemError):
    """No link is known at this port."""

    status, kind, title = 404, "link-not-found", "No such link"


class DrainNotFoundError(ProblemError):
    """No lease or drain has this identifier, or none stands on this link."""

    status, kind, title = 404, "drain-not-found", "No such drain"


class LeaseOwnerError(ProblemError):
    """Only who holds a lease gives it back."""

    status, kind, title = 409, "lease-owner", "Not this lease's holder"
