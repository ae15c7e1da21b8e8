"""Health events at a real gRPC server that speaks NVSentinel's service; NVSentinel itself was not at hand."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.schema import FailureType
from serving.adapters.base import Telling
from serving.adapters.config import NvsentinelConfig
from serving.deliveries.errors import DeliveryError, FailedError, RefusedError, UnreachableError
from serving.notices import Kind

grpc = pytest.importorskip("grpc", reason="the extra `nvsentinel` is not installed")
MakeTelling = Callable[..., Telling]
NODES = ("gpu001",)


@dataclass
class Connector:
    """A platform connector that keeps what it is told."""

    address: str = ""
    events: list[Any] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)
    fails: list[Any] = field(default_factory=list)

    def serve(self, credentials: Any = None) -> Any:
        from serving.adapters.nvsentinel_wire import METHOD, Empty, HealthEvents

        def occurred(request: Any, context: Any) -> Any:
            if self.fails:
                context.abort(self.fails.pop(0), "because of that")
            self.events.extend(request.events)
            self.metadata.append(dict(context.invocation_metadata()))
            return Empty()

        service, method = METHOD.strip("/").split("/")
        handler = grpc.unary_unary_rpc_method_handler(occurred, HealthEvents.FromString, Empty.SerializeToString)
        server = grpc.server(ThreadPoolExecutor(2))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        where = "localhost:0"
        port = server.add_secure_port(where, credentials) if credentials else server.add_insecure_port(where)
        self.address = f"localhost:{port}"
        server.start()
        return server


@pytest.fixture(name="connector")
def _connector() -> Iterator[Connector]:
    connector = Connector()
    server = connector.serve()
    yield connector
    server.stop(None).wait()


@pytest.fixture(name="make")
def _make(connector: Connector) -> Iterator[Callable[..., Any]]:
    from serving.adapters.nvsentinel import Nvsentinel

    made: list[Any] = []

    def make(**changes: Any) -> Any:
        values: dict[str, Any] = {"name": "sentinel", "kind": "nvsentinel", "target": connector.address}
        made.append(Nvsentinel(NvsentinelConfig(**(values | {"insecure": True, "timeout_s": 2.0} | changes))))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


def test_a_forecast_is_an_event_of_its_node_and_never_fatal(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    make(node_suffix=".pod").send(make_telling(nodes=NODES, peer_device="gpu001"))

    (event,) = connector.events
    assert ("optics-predictor", "Optics", "OpticsLaserDegradation", "gpu001.pod") == (
        event.agent,
        event.componentClass,
        event.checkName,
        event.nodeName,
    )
    assert (False, False, 5) == (event.isFatal, event.isHealthy, event.recommendedAction)
    assert ["OPTICS_LASER_DEGRADATION"] == list(event.errorCode)
    assert {"Switch": "leaf01", "Port": "Ethernet1", "ModuleSerial": "SN0001"} == {
        entity.entityType: entity.entityValue for entity in event.entitiesImpacted
    }
    assert ("alarm-001", "0.5", "3") == tuple(event.metadata[k] for k in ("alarm_id", "probability", "model_version"))
    assert "sentinel-17-unhealthy-" in connector.metadata[0]["idempotency-key"]


@pytest.mark.parametrize(("shadow", "strategy"), [(True, 2), (False, 1)])
def test_in_shadow_events_are_stored_only(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling, shadow: bool, strategy: int
) -> None:
    make(shadow=shadow).send(make_telling(nodes=NODES))

    assert [strategy] == [event.processingStrategy for event in connector.events]


def test_what_takes_it_back_has_the_same_key_whatever_was_found_out_since(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make()
    adapter.send(make_telling(nodes=NODES))
    since = {"failure_type": FailureType.CONTAMINATION, "serial": "SN9", "interface": "Ethernet9", "status": "cleared"}
    adapter.send(make_telling(Kind.CLEARED, active=False, nodes=NODES, **since))

    def key(event: Any) -> tuple[object, ...]:
        entities = sorted((entity.entityType, entity.entityValue) for entity in event.entitiesImpacted)
        return event.nodeName, event.checkName, entities, list(event.errorCode), event.processingStrategy

    raised, healthy = connector.events
    assert key(raised) == key(healthy)
    assert [False, True] == [event.isHealthy for event in connector.events]
    assert ("forecast taken back: risk is low", 0) == (healthy.message, healthy.recommendedAction)


def test_what_is_tried_again_has_the_same_idempotency_key_and_what_is_said_anew_another(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling, now: datetime
) -> None:
    """An answer that was lost makes us try again: NVSentinel must not store the event twice."""
    adapter = make()
    for at in (now, now + timedelta(seconds=4), now + timedelta(minutes=5)):
        adapter.send(make_telling(nodes=NODES, at=at))
    adapter.send(make_telling(active=False, stale=True, nodes=NODES, at=now + timedelta(hours=6)))
    adapter.send(make_telling(nodes=NODES, at=now + timedelta(hours=7)))

    keys = [each["idempotency-key"] for each in connector.metadata]
    assert [keys[0]] * 3 == keys[:3]
    assert 3 == len(set(keys))


def test_nothing_is_forced_or_skipped_in_the_consumers_place(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    """Quarantine and drain are the consumer's to decide: our message has no field that could override it."""
    make(shadow=False).send(make_telling(nodes=NODES))

    (event,) = connector.events
    assert [] == [name for name in event.DESCRIPTOR.fields_by_name if "override" in name.lower()]
    assert {13} == {field.number for field in event.DESCRIPTOR.fields if field.name == "nodeName"}


def test_each_node_has_its_event_and_no_node_none(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    adapter = make()
    adapter.send(make_telling(nodes=("gpu001", "gpu002")))
    adapter.send(make_telling(nodes=()))

    assert ["gpu001", "gpu002"] == [event.nodeName for event in connector.events]


def test_a_message_fits_once_codes_and_action_are_put_around_it(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    make().send(make_telling(nodes=NODES, reasons=("x" * 3_000,)))

    (event,) = connector.events
    rendered = f"[{event.errorCode[0]}] {event.message} - RecommendedAction: CONTACT_SUPPORT"
    assert 900 < len(rendered) <= 1024


def test_where_scores_are_too_old_it_says_so(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling
) -> None:
    make().send(make_telling(active=False, stale=True, nodes=NODES))

    assert ["forecast taken back: no fresh scores: nothing is known of it any more"] == [
        event.message for event in connector.events
    ]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("UNAVAILABLE", UnreachableError),
        ("UNAUTHENTICATED", UnreachableError),
        ("PERMISSION_DENIED", UnreachableError),
        ("RESOURCE_EXHAUSTED", UnreachableError),
        ("INVALID_ARGUMENT", RefusedError),
        ("INTERNAL", FailedError),
    ],
)
def test_a_status_tells_whether_to_try_again(
    connector: Connector, make: Callable[..., Any], make_telling: MakeTelling, code: str, error: type[DeliveryError]
) -> None:
    connector.fails.append(grpc.StatusCode[code])

    with pytest.raises(error, match=f"{code}: because of that"):
        make().send(make_telling(nodes=NODES))


def test_nobody_there_costs_its_timeout_at_most(make: Callable[..., Any], make_telling: MakeTelling) -> None:
    with pytest.raises(UnreachableError):
        make(target="localhost:1", timeout_s=0.5).send(make_telling(nodes=NODES))


def test_a_server_is_trusted_by_its_certificate_only(
    make: Callable[..., Any], make_telling: MakeTelling, tmp_path: Path
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    secure = Connector()
    server = secure.serve(grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())]))
    (tmp_path / "token").write_text("the-token")

    with pytest.raises(UnreachableError):
        make(target=secure.address, insecure=False).send(make_telling(nodes=NODES))
    trusted = make(target=secure.address, insecure=False, ca_file=certificate, token_file=tmp_path / "token")
    trusted.send(make_telling(nodes=NODES))
    server.stop(None).wait()

    assert ["Bearer the-token"] == [metadata["authorization"] for metadata in secure.metadata]


def test_the_bytes_are_those_of_the_published_numbers() -> None:
    """By hand: field 1 of the list is its version, field 2 an event, of which 6 is `isHealthy` and 16 the strategy."""
    from serving.adapters.nvsentinel_wire import HealthEvents

    events = HealthEvents(version=1)
    events.events.add(checkName="A", isHealthy=True, metadata={"k": "v"}, processingStrategy="STORE_ONLY")

    event = b"\x22\x01A" + b"\x30\x01" + b"\x5a\x06\x0a\x01k\x12\x01v" + b"\x80\x01\x02"
    assert b"\x08\x01" + b"\x12" + bytes([len(event)]) + event == events.SerializeToString()
