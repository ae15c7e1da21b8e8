"""NVSentinel: a health event for each node of an alarm, over gRPC.

A forecast is never fatal. What takes it back is the healthy event of the same key (node, check, entities, codes), so
these come from the alarm as it was raised, whatever was found out since.
"""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final

import grpc
from google.protobuf.json_format import MessageToDict

from ingest.schema import Action
from serving.adapters.base import LONGEST_MESSAGE, Telling, message, when
from serving.adapters.config import NvsentinelConfig
from serving.adapters.nvsentinel_wire import METHOD, Empty, HealthEvents
from serving.alarms import AlarmRecord
from serving.deliveries.errors import DeliveryError, FailedError, RefusedError, UnreachableError

__all__ = ["Nvsentinel"]

_AGENT: Final = "optics-predictor"
_ACTIONS: Final = {Action.RESET: "COMPONENT_RESET", Action.NONE: "NONE"}
_ANY_ACTION: Final = "CONTACT_SUPPORT"
_CHECK_S: Final = 300.0
_MOST_REASONS: Final = 3
_Code = grpc.StatusCode
_REFUSALS: Final = {_Code.INVALID_ARGUMENT, _Code.OUT_OF_RANGE, _Code.NOT_FOUND, _Code.FAILED_PRECONDITION}
_FAILURES: Final = {_Code.INTERNAL, _Code.UNKNOWN, _Code.ABORTED, _Code.DATA_LOSS}


class Nvsentinel:
    """Speaks to one platform connector."""

    keeps = True
    repeats = False
    check_s = _CHECK_S
    uses_nodes = True
    needs_nodes = True
    tells_storms = False

    def __init__(self, config: NvsentinelConfig) -> None:
        self.name = config.name
        self.timeout_s = config.timeout_s
        self._config = config
        self._token = config.token()
        self._channel = _channel(config)
        self._call = self._channel.unary_unary(
            METHOD, request_serializer=HealthEvents.SerializeToString, response_deserializer=Empty.FromString
        )

    def render(self, telling: Telling) -> Sequence[dict[str, object]]:
        """The events."""
        return [MessageToDict(event) for event in self._events(telling).events]

    def send(self, telling: Telling) -> None:
        """Report them in one call; it returns when they are stored.

        The key is the same when a lost answer makes us try again, and another one when what was taken back for want of
        fresh scores, hours before, is said anew under the same message.
        """
        state = "unhealthy" if telling.active else "healthy"
        hour = telling.at.astimezone(UTC).strftime("%Y%m%dT%H")
        metadata = [("idempotency-key", f"{self.name}-{telling.notice.message_id}-{state}-{hour}")]
        if self._token is not None:
            metadata.append(("authorization", f"Bearer {self._token}"))
        try:
            self._call(self._events(telling), timeout=self.timeout_s, metadata=metadata)
        except grpc.RpcError as error:
            raise _failure(error) from error

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _events(self, telling: Telling) -> Any:
        notice = telling.notice
        assert notice.alarm is not None  # noqa: S101 - storms are not told
        assert notice.raised is not None  # noqa: S101 - as above
        events = HealthEvents(version=1)
        for node in notice.nodes:
            event = events.events.add(
                version=1,
                agent=_AGENT,
                componentClass=self._config.component_class,
                checkName=_check(notice.raised),
                isFatal=False,
                isHealthy=not telling.active,
                errorCode=[_code(notice.raised)],
                entitiesImpacted=_entities(notice.raised, notice.nodes),
                metadata=_metadata(notice.alarm),
                nodeName=node + self._config.node_suffix,
                recommendedAction=_action(notice.alarm) if telling.active else "NONE",
                processingStrategy="STORE_ONLY" if self._config.shadow else "EXECUTE_REMEDIATION",
            )
            event.message = _message(telling, event)
            event.generatedTimestamp.FromDatetime(telling.at)
        return events


def _message(telling: Telling, event: Any) -> str:
    """As long as it may be once NVSentinel has put codes before it and the action behind."""
    around = len(f"[{','.join(event.errorCode)}]  - RecommendedAction: RUN_FIELDDIAG_LONGEST")
    if telling.active:
        return message(telling.notice.alarm, longest=LONGEST_MESSAGE - around)  # type: ignore[arg-type]  # not a storm
    why = "no fresh scores: nothing is known of it any more" if telling.stale else telling.notice.why
    return f"forecast taken back: {why}"[: LONGEST_MESSAGE - around]


def _check(alarm: AlarmRecord) -> str:
    """`OpticsLaserDegradation`, say."""
    return "Optics" + "".join(part.capitalize() for part in (alarm.failure_type or "failure").split("_"))


def _code(alarm: AlarmRecord) -> str:
    return f"OPTICS_{(alarm.failure_type or 'failure').upper()}"


def _action(alarm: AlarmRecord) -> str:
    return _ACTIONS.get(alarm.action, _ANY_ACTION)


def _entities(alarm: AlarmRecord, nodes: Sequence[str]) -> list[dict[str, str]]:
    device = "NIC" if alarm.device in nodes else "Switch"
    found = {device: alarm.device, "Port": alarm.interface, "ModuleSerial": alarm.serial}
    return [{"entityType": kind, "entityValue": value} for kind, value in found.items() if value]


def _metadata(alarm: AlarmRecord) -> dict[str, str]:
    window = [None if time is None else when(time) for time in (alarm.expected_from, alarm.expected_to)]
    values = {
        "alarm_id": alarm.alarm_id,
        "site": alarm.site,
        "level": str(alarm.level),
        "probability": alarm.risk_24h,
        "horizon": "24h",
        "probability_168h": alarm.risk_168h,
        "failure_type": alarm.failure_type,
        "action": str(alarm.action),
        "expected_from": window[0],
        "expected_to": window[1],
        "model_version": alarm.model_version,
        "influencers": json.dumps(list(alarm.reasons[:_MOST_REASONS]))[:LONGEST_MESSAGE],
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def _channel(config: NvsentinelConfig) -> Any:
    options = [("grpc.enable_http_proxy", 0)]
    if config.insecure or config.target.startswith("unix:"):
        return grpc.insecure_channel(config.target, options=options)
    authorities = None if config.ca_file is None else config.ca_file.read_bytes()
    return grpc.secure_channel(config.target, grpc.ssl_channel_credentials(authorities), options=options)


def _failure(error: Any) -> DeliveryError:
    code = error.code()
    text = f"{code.name}: {' '.join((error.details() or '').split())[:300]}"
    if code in _REFUSALS:
        return RefusedError(text)
    return FailedError(text) if code in _FAILURES else UnreachableError(text)
