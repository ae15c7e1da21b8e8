"""What was sent lately, so that it is taken once, also after a restart; and how often each host may send.

Answers are in memory, and lines of a file that is read at the start. What that misses (a power cut, another worker)
comes twice, as the same rows of the lake, which has one of each key.
"""

import json
import logging
import math
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from serving.access.limits import Buckets
from serving.errors import HostRateError
from serving.wire.probes import ProbesTaken
from serving.wire.samples import SamplesTaken

__all__ = ["Hosts", "Sent"]

_log: Final = logging.getLogger(__name__)
_MOST_KEPT: Final = 20_000
_PER_S: Final = 1.0
_BURST: Final = 120.0
"""A host that was cut off for a day sends what it kept in some hundred requests."""

Key = tuple[str, str]
Answer = tuple[str, SamplesTaken | ProbesTaken]
_TAKEN: Final[TypeAdapter[SamplesTaken | ProbesTaken]] = TypeAdapter(SamplesTaken | ProbesTaken)


class Sent:
    """Answers by sender and key, the latest some thousand.

    Args:
        path: the file; a second one beside it has those of before, and neither grows beyond what is kept in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._answers: OrderedDict[Key, Answer] = OrderedDict()
        self._path, self._lines = path, 0
        if path is not None:
            for key, answer in (*_read(_before(path)), *_read(path)):
                self._remember(key, answer)
                self._lines += 1

    def get(self, key: Key) -> Answer | None:
        """What was answered to the same, and the digest of what it was."""
        return self._answers.get(key)

    def keep(self, key: Key, answer: Answer) -> None:
        """Know an answer from now on."""
        self._remember(key, answer)
        if self._path is not None:
            try:
                self._write(self._path, key, answer)
            except OSError as error:
                _log.warning("%s: %s: what is sent again after a restart is taken again", self._path, error.strerror)

    def _remember(self, key: Key, answer: Answer) -> None:
        self._answers[key] = answer
        if len(self._answers) > _MOST_KEPT:
            self._answers.popitem(last=False)

    def _write(self, path: Path, key: Key, answer: Answer) -> None:
        if self._lines >= _MOST_KEPT:
            path.replace(_before(path))
            self._lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        told = answer[1].model_dump(mode="json")
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*key, answer[0], told]) + "\n")
        self._lines += 1


def _before(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def _read(path: Path) -> Iterator[tuple[Key, Answer]]:
    """Lines of a file; one that was cut off by a kill is none."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                who, key, digest, told = json.loads(line)
                yield (str(who), str(key)), (str(digest), _TAKEN.validate_python(told))
            except (ValueError, TypeError):
                continue


class Hosts:
    """A rate for each host."""

    def __init__(self) -> None:
        self._buckets = Buckets(_PER_S, _BURST)

    def check(self, site: str, device: str) -> None:
        """Take one request.

        Raises:
            HostRateError: the host sends too often.
        """
        wait_s = self._buckets.take(f"{site}\0{device}")
        if wait_s:
            msg = f"{device} sends too often; come again in {math.ceil(wait_s)} s"
            raise HostRateError(msg)
