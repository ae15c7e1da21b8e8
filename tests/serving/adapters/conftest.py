"""What consumers are in tests: real servers on loopback that keep what they were sent."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from serving.adapters.base import Telling
from serving.alarms import AlarmRecord
from serving.notices import STORM, Kind, Notice


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """An HTTP server that answers as it is told.

    Attributes:
        answers: status and headers of the next answers; then 204.
    """

    url: str
    requests: list[Received] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)


@pytest.fixture(name="receiver")
def _receiver() -> Iterator[Receiver]:
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append(Received(self.path, dict(self.headers), body))
            status, headers = receiver.answers.pop(0) if receiver.answers else (204, {})
            text = b"" if status == 204 else b"because\nof that"
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield receiver
        server.shutdown()
        thread.join()


@pytest.fixture(name="make_telling")
def _make_telling(make_alarm: Callable[..., AlarmRecord], now: datetime) -> Callable[..., Telling]:
    """Makes messages: ``make_telling(Kind.CLEARED, active=False, nodes=("gpu001",), risk_24h=0.9)``."""

    def make(
        kind: Kind = Kind.RAISED,
        *,
        active: bool = True,
        nodes: tuple[str, ...] = (),
        at: datetime = now,
        stale: bool = False,
        number: int = 1,
        **changes: object,
    ) -> Telling:
        alarm = None if kind is Kind.STORM else make_alarm(number, **changes)
        subject = STORM if alarm is None else alarm.alarm_id
        notice = Notice(
            message_id=17,
            kind=kind,
            at=now,
            subject=subject,
            alarm=alarm,
            raised=None if alarm is None else make_alarm(number),
            who="forelight 3",
            why="risk is low" if kind is Kind.CLEARED else "as it is",
            nodes=nodes,
            held_back=812 if alarm is None else 0,
            members=({"device": "leaf01", "interface": "Ethernet1", "why": "812 at once"},) if alarm is None else (),
        )
        return Telling(notice, active=active, at=at, stale=stale)

    return make
