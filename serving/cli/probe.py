"""``forelight probe agent``."""

import signal
import sys
import threading
from pathlib import Path

from ingest.probes.pinglist import Pinglist
from ingest.probes.running import Folder, run

__all__ = ["run_agent"]


def run_agent(head: dict[str, str], pinglist: Path, out: Path) -> None:
    """Probe until SIGTERM or Ctrl-C.

    Raises:
        ConfigError: there is no pinglist, or it is not for this host.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run(Pinglist.read(pinglist), Folder(out, head), stop, _say)


def _say(line: str) -> None:
    sys.stderr.write(f"forelight probe agent: {line}\n")
    sys.stderr.flush()
