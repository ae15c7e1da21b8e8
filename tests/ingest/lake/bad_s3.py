"""A proxy that stands before an S3 server and lets some requests fail; a program of its own, started by conftest.py.

In a process of its own because deltalake's file system holds Python's lock while it waits for an answer.

Usage: bad_s3.py http://127.0.0.1:PORT. It says its own port. A plan is put to ``/_plan`` as JSON: ``kinds`` of
faults, ``chance`` of one a request, ``times`` at most, ``methods`` and ``within`` the path where they happen. A GET
of it tells what was done.
"""

import contextlib
import http.client
import json
import random
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_STATUS = {"busy": 503, "full": 507, "lost answer": 500}
_RESET = struct.pack("ii", 1, 0)  # linger for no time: the kernel sends RST


class BadServer(ThreadingHTTPServer):
    """Passes on to the server behind, but for what its plan says."""

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = urlsplit(behind).netloc
        self.plan: dict[str, Any] = {}
        self.done: list[str] = []
        self._chance = random.Random(1)
        self._lock = threading.Lock()

    def fault(self, method: str, path: str) -> str | None:
        """The kind of fault that befalls a request, if any."""
        with self._lock:
            plan = self.plan
            meant = method in plan.get("methods", ["PUT"]) and plan.get("within", "") in path
            if not plan or not meant or len(self.done) >= plan["times"] or self._chance.random() >= plan["chance"]:
                return None
            kind = str(self._chance.choice(plan["kinds"]))
            self.done.append(f"{kind}: {method} {path}")
            return kind


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BadServer

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/_plan":
            self._plan(body)
            return
        kind = self.server.fault(self.command, self.path)
        if kind in {"busy", "full"}:
            self._answer(_STATUS[kind], b"<Error/>")
        elif kind == "reset":
            self._reset()
        else:
            self._pass_on(body, kind)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._take
        raise AttributeError(name)

    def _plan(self, body: bytes) -> None:
        if self.command == "PUT":
            self.server.plan, self.server.done = json.loads(body), []
        self._answer(200, json.dumps(self.server.done).encode())

    def _pass_on(self, body: bytes, kind: str | None) -> None:
        behind = http.client.HTTPConnection(self.server.behind)
        behind.request(self.command, self.path, body, dict(self.headers))
        answer = behind.getresponse()
        content = answer.read()
        behind.close()
        if kind == "lost answer":
            self._answer(_STATUS[kind], b"<Error/>")
        elif kind == "reset after":
            self._reset()
        elif kind == "silence":
            time.sleep(self.server.plan["silence_s"])
            self._reset()
        else:
            kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in {"connection", "content-length"}]
            length = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self._answer(answer.status, content, kept, length)

    def _answer(
        self, status: int, content: bytes, headers: list[tuple[str, str]] | None = None, length: str | None = None
    ) -> None:
        self.send_response_only(status)
        for name, value in (*(headers or ()), ("Content-Length", length or str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()

    def finish(self) -> None:
        """As ever, but that a connection may be gone."""
        with contextlib.suppress(OSError, ValueError):
            super().finish()


if __name__ == "__main__":
    server = BadServer(sys.argv[1])
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
