"""What was sent lately, so that it is taken once, and how often each host may send.

Both are in memory: after a restart the very same rows may come twice, and are the same rows of the lake, which has one
of each key.
"""

import math
from collections import OrderedDict
from typing import Final

from serving.access.limits import Buckets
from serving.errors import HostRateError
from serving.wire.samples import SamplesTaken

__all__ = ["Hosts", "Sent"]

_MOST_KEPT: Final = 20_000
_PER_S: Final = 1.0
_BURST: Final = 120.0
"""A host that was cut off for a day sends what it kept in some hundred requests."""

Key = tuple[str, str]
Answer = tuple[str, SamplesTaken]


class Sent:
    """Answers by sender and key, the latest some thousand."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Key, Answer] = OrderedDict()

    def get(self, key: Key) -> Answer | None:
        """What was answered to the same, and the digest of what it was."""
        return self._answers.get(key)

    def keep(self, key: Key, answer: Answer) -> None:
        """Know an answer from now on."""
        self._answers[key] = answer
        if len(self._answers) > _MOST_KEPT:
            self._answers.popitem(last=False)


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
