"""A pinglist that the service plans: asked for now and then, and the last one followed while the service is away.

Where the service says that this host has none, or an empty one, nothing is probed and nothing answered. One that nobody
has confirmed for a day is followed no longer.
"""

import json
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlencode

from ingest.agent.pushing import Answer, Service
from ingest.durable import put_file
from ingest.errors import ConfigError
from ingest.probes.pinglist import Pinglist

__all__ = ["Follower"]

_PATH: Final = "/v1/probes/pinglist"
_CONFIRMED_WITHIN_S: Final = 86_400.0
_FIRST_WAIT_S: Final = 5.0


class Follower:
    """The newest pinglist of a host.

    Args:
        service: where to ask.
        head: site and device.
        kept: file of the last one; it holds the key of the probes.
        say: told in one line what an operator should know.
        every_s: between questions.
    """

    def __init__(
        self, service: Service, head: dict[str, str], kept: Path, say: Callable[[str], None], every_s: float = 60.0
    ) -> None:
        self._service, self._kept, self._say, self._every_s = service, kept, say, every_s
        self._path = f"{_PATH}?{urlencode(head)}"
        self._etag: str | None = None
        self._newest: Pinglist | None = None
        self._confirmed_at = 0.0
        self._said = ""
        self._read()

    def newest(self) -> Pinglist | None:
        """What to follow now; None: probe nothing."""
        fresh = time.time() - self._confirmed_at < _CONFIRMED_WITHIN_S
        found = self._newest if fresh else None
        return found if found is not None and (found.flows or found.answered) else None

    def run(self, stop: threading.Event) -> None:
        """Ask until `stop` is set; sooner again where there was no answer."""
        wait_s = _FIRST_WAIT_S
        while not stop.is_set():
            wait_s = self._every_s if self.look() else min(2.0 * wait_s, self._every_s)
            stop.wait(wait_s * random.uniform(0.8, 1.2))  # noqa: S311 - so that hosts do not come at once

    def look(self) -> bool:
        """Ask once; whether the service answered what to do."""
        answer = self._service.get(self._path, self._etag)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            self._confirmed()
        elif answer.status == HTTPStatus.OK:
            return self._take(answer)
        elif answer.status == HTTPStatus.NOT_FOUND:
            self._forget()
            self._tell(f"nothing to probe: {answer.detail}")
        else:
            self._tell(f"no pinglist from the service ({answer.status or 'not reached'}: {answer.detail})")
            return False
        return True

    def _take(self, answer: Answer) -> bool:
        try:
            self._newest = Pinglist.of(answer.body, "the service")
        except ConfigError as error:
            self._tell(str(error))
            return False
        self._etag = answer.etag
        self._confirmed_at = time.time()
        said = json.dumps({"etag": answer.etag, "pinglist": self._newest.as_json()}).encode()

        def fill(file: IO[bytes]) -> None:
            os.fchmod(file.fileno(), 0o600)
            file.write(said)

        try:
            put_file(self._kept, fill)
        except OSError as error:
            self._tell(f"{self._kept} cannot be written: {error.strerror or error}")
        else:
            self._tell("")
        return True

    def _read(self) -> None:
        """What an earlier process has kept."""
        try:
            said = json.loads(self._kept.read_bytes())
            self._newest, self._etag = Pinglist.of(said["pinglist"], str(self._kept)), said["etag"]
            self._confirmed_at = self._kept.stat().st_mtime
        except FileNotFoundError:
            return
        except (OSError, ValueError, LookupError, TypeError, ConfigError) as error:
            self._tell(f"{self._kept} is not read: {error}")

    def _confirmed(self) -> None:
        self._confirmed_at = time.time()
        with suppress(OSError):
            os.utime(self._kept)
        self._tell("")

    def _forget(self) -> None:
        self._newest, self._etag = None, None
        self._kept.unlink(missing_ok=True)

    def _tell(self, line: str) -> None:
        """Say it where it is new."""
        if line and line != self._said:
            self._say(line)
        self._said = line
