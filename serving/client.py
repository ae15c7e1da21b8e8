"""The service from Python: a method for each thing that can be asked, answers in the types that the service makes.

    with Client("https://forelight:8000", token=token) as client:
        for alarm in client.alarms(level=Level.ACT):
            ...

A problem is raised as `ServiceError` with its kind; nothing is tried again but what is safe to ask again.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel

from ingest.schema import Action
from serving.alarms import Level, Status
from serving.drains.wire import (
    DecisionAnswer,
    DrainAnswer,
    LeaseAnswer,
    LeaseRequest,
    LogAnswer,
    Report,
    Undrained,
    Verified,
)
from serving.errors import ServingError
from serving.wire.alarms import Alarm, AlarmAnswer, Alarms
from serving.wire.models import ModelCard, ModelComparison, Models, Version
from serving.wire.outcomes import Repair, Taken, Ticket
from serving.wire.pinglists import Pinglist
from serving.wire.probes import ProbeRequest, ProbesTaken
from serving.wire.samples import SampleRequest, SamplesTaken
from serving.wire.scores import ScoreAnswer, ScoreRequest
from serving.wire.sla import SlaAnswer
from serving.wire.storms import Storms
from serving.wire.transceivers import Transceiver, TransceiverSeries
from serving.wire.verdicts import VerdictAnswer

__all__ = ["Client", "ServiceError"]

_Answer = TypeVar("_Answer", bound=BaseModel)
_URN: Final = "urn:forelight:problem:"


class ServiceError(ServingError):
    """The service refused, or could not answer; on 503 nothing may be acted on.

    Attributes:
        status: HTTP status.
        kind: of the problem, as docs/api.md lists them.
        retry_after_s: when to ask again, where the service says so.
    """

    def __init__(self, status: int, kind: str, detail: str, retry_after_s: float | None) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.retry_after_s = retry_after_s


class Client:
    """One service.

    Args:
        url: its address.
        token: as `forelight token create` printed it; reading on loopback needs none.
        timeout_s: of each request.
        transport: how requests travel; tests hand in their own.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = 10.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(base_url=url, headers=headers, timeout=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def alarms(
        self,
        *,
        status: Sequence[Status] = (),
        level: Level | None = None,
        node: str | None = None,
        since: datetime | None = None,
        **more: str | float,
    ) -> Iterator[Alarm]:
        """Alarms, the newest first, page by page; filters are those of ``GET /v1/alarms``."""
        told = {"level": level, "node": node, "since": since and since.isoformat(), **more}
        asked: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
        if status:
            asked["status"] = [str(one) for one in status]
        while True:
            page = self._get(Alarms, "/v1/alarms", asked)
            yield from page.alarms
            if page.next_cursor is None:
                return
            asked["cursor"] = page.next_cursor

    def alarm(self, alarm_id: str) -> tuple[AlarmAnswer, str]:
        """One alarm with its life, and the tag to give as `if_match` to a step: ask this just before draining."""
        answer = self._ask("GET", f"/v1/alarms/{quote(alarm_id, safe='')}")
        return AlarmAnswer.model_validate_json(answer.content), answer.headers["etag"]

    def acknowledge(self, alarm_id: str, reason: str = "", **conditions: str) -> Alarm:
        """Somebody has seen it. Conditions: `key` (idempotency), `if_match`."""
        return self._step(alarm_id, "ack", {"reason": reason}, **conditions)

    def suppress(self, alarm_id: str, ttl_s: int, reason: str = "", **conditions: str) -> Alarm:
        """Leave it alone for so many seconds. Conditions: as of `acknowledge`."""
        return self._step(alarm_id, "suppress", {"reason": reason, "ttl_s": ttl_s}, **conditions)

    def reopen(self, alarm_id: str, reason: str = "", **conditions: str) -> Alarm:
        """Suppress it no longer. Conditions: as of `acknowledge`."""
        return self._step(alarm_id, "reopen", {"reason": reason}, **conditions)

    def clear(self, alarm_id: str, reason: str = "", **conditions: str) -> Alarm:
        """It no longer holds. Conditions: as of `acknowledge`."""
        return self._step(alarm_id, "clear", {"reason": reason}, **conditions)

    def transceiver(self, device: str, interface: str, *, site: str = "default") -> Transceiver:
        """The latest risk of one module."""
        return self._get(Transceiver, _port(device, interface), _site(site))

    def series(
        self, device: str, interface: str, *, site: str = "default", **asked: str | int | Sequence[str]
    ) -> TransceiverSeries:
        """Readings of one module for a plot; `asked` are ``columns``, ``points``, ``from`` and ``to``."""
        return self._get(TransceiverSeries, f"{_port(device, interface)}/series", {**_site(site), **asked})

    def score(self, request: ScoreRequest) -> ScoreAnswer:
        """Risks of modules that the lake does not know."""
        return self._post(ScoreAnswer, "/v1/score", request)

    def push(self, request: SampleRequest, *, key: str | None = None) -> SamplesTaken:
        """Readings of a host's own ports; durably kept when this returns. The same again is taken once."""
        return self._post(SamplesTaken, "/v1/samples", request, key=key)

    def push_probes(self, request: ProbeRequest, *, key: str | None = None) -> ProbesTaken:
        """What a host's probe agent saw; durably kept when this returns. The same again is taken once."""
        return self._post(ProbesTaken, "/v1/probes", request, key=key)

    def pinglist(self, device: str, *, site: str = "default") -> Pinglist:
        """What a host's probe agent shall do."""
        return self._get(Pinglist, "/v1/probes/pinglist", {"device": device, **_site(site)})

    def models(self) -> Models:
        """Registered versions."""
        return self._get(Models, "/v1/models")

    def model(self, version: str = "champion") -> ModelCard:
        """One version by number or alias, with its card."""
        return self._get(ModelCard, f"/v1/models/{quote(version, safe='')}")

    def comparison(self) -> ModelComparison:
        """Champion and challenger on the hours that both scored."""
        return self._get(ModelComparison, "/v1/models/comparison")

    def ticket(self, ticket: Ticket) -> Taken:
        """Post a ticket, or a later version of one."""
        return self._post(Taken, "/v1/tickets", ticket)

    def repair(self, repair: Repair) -> Taken:
        """Post a step of a repair."""
        return self._post(Taken, "/v1/repairs", repair)

    def decision(self, device: str, interface: str, *, site: str = "default") -> DecisionAnswer:
        """What is advised for the link at a port; it reserves nothing."""
        return self._get(DecisionAnswer, f"{_link(device, interface)}/decision", _site(site))

    def lease(self, device: str, interface: str, *, site: str = "default", ttl_s: float | None = None) -> LeaseAnswer:
        """Reserve the capacity that draining a link takes; who is not granted it drains nothing."""
        return self._report(LeaseAnswer, device, interface, "lease", site, LeaseRequest(ttl_s=ttl_s))

    def drained(self, device: str, interface: str, *, site: str = "default", reason: str = "") -> DrainAnswer:
        """The link carries no traffic any more."""
        return self._report(DrainAnswer, device, interface, "drained", site, Report(reason=reason))

    def undrained(
        self, device: str, interface: str, *, site: str = "default", reason: str = "", actions: Sequence[Action] = ()
    ) -> DrainAnswer:
        """It is back in service, with the repairs that were tried."""
        body = Undrained(reason=reason, actions=tuple(actions))
        return self._report(DrainAnswer, device, interface, "undrained", site, body)

    def verified(self, device: str, interface: str, *, site: str = "default", reason: str = "") -> Verified:
        """Whether the repair cured."""
        return self._report(Verified, device, interface, "verified", site, Report(reason=reason))

    def release(self, drain_id: str) -> DrainAnswer:
        """Give a lease back before anything was drained."""
        return self._post(DrainAnswer, f"/v1/leases/{quote(drain_id, safe='')}/release")

    def decisions(self, **asked: str | int) -> LogAnswer:
        """What was advised, granted, refused and reported; `asked` as `LogQuery` has it."""
        return self._get(LogAnswer, "/v1/decisions", asked)

    def storms(self, **asked: str | int) -> Storms:
        """Alarms that were held back; `asked` as `StormQuery` has it."""
        return self._get(Storms, "/v1/storms", asked)

    def verdict(self, **asked: str | float | list[str]) -> VerdictAnswer:
        """Whether the network is to blame for a link or a job; `asked` as `VerdictQuery` has it."""
        return self._get(VerdictAnswer, "/v1/verdict", asked)

    def sla(self, **asked: str | int) -> SlaAnswer:
        """Loss, round trips and processing by tier; `asked` as `SlaQuery` has it."""
        return self._get(SlaAnswer, "/v1/sla", asked)

    def version(self) -> Version:
        """What answers there."""
        return self._get(Version, "/version")

    def ready(self) -> bool:
        """Whether everything that an answer rests on is there."""
        try:
            self._ask("GET", "/readyz")
        except ServiceError:
            return False
        return True

    def _step(
        self,
        alarm_id: str,
        step: str,
        body: Mapping[str, object],
        *,
        key: str | None = None,
        if_match: str | None = None,
    ) -> Alarm:
        told = {"Idempotency-Key": key, "If-Match": if_match}
        headers = {name: value for name, value in told.items() if value is not None}
        path = f"/v1/alarms/{quote(alarm_id, safe='')}/{step}"
        return Alarm.model_validate_json(self._ask("POST", path, json=body, headers=headers).content)

    def _get(self, kind: type[_Answer], path: str, params: Mapping[str, Any] | None = None) -> _Answer:
        return kind.model_validate_json(self._ask("GET", path, params=params).content)

    def _post(
        self,
        kind: type[_Answer],
        path: str,
        body: BaseModel | None = None,
        params: Mapping[str, str] | None = None,
        *,
        key: str | None = None,
    ) -> _Answer:
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        text = None if body is None else body.model_dump_json(exclude_unset=True)
        return kind.model_validate_json(self._ask("POST", path, content=text, headers=headers, params=params).content)

    def _report(
        self, kind: type[_Answer], device: str, interface: str, what: str, site: str, body: BaseModel
    ) -> _Answer:
        return self._post(kind, f"{_link(device, interface)}/{what}", body, _site(site))

    def _ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        try:
            answer = self._http.request(method, path, **more)
        except httpx2.HTTPError as error:
            raise ServiceError(0, "unreachable", f"{type(error).__name__}: {error}", None) from error
        if answer.status_code >= httpx2.codes.BAD_REQUEST:
            raise _refusal(answer)
        return answer


def _port(device: str, interface: str) -> str:
    return f"/v1/transceivers/{quote(device, safe='')}/{quote(interface, safe='')}"


def _link(device: str, interface: str) -> str:
    return f"/v1/links/{quote(device, safe='')}/{quote(interface, safe='')}"


def _site(site: str) -> dict[str, str]:
    return {} if site == "default" else {"site": site}


def _refusal(answer: httpx2.Response) -> ServiceError:
    try:
        told = answer.json()
        kind, detail = str(told["type"]).removeprefix(_URN), str(told["detail"])
    except (ValueError, KeyError, TypeError):
        kind, detail = "about:blank", answer.text[:200]
    after = answer.headers.get("retry-after", "")
    return ServiceError(answer.status_code, kind, detail, float(after) if after.isdecimal() else None)
