"""How long a device that does not answer is left alone: longer each time, with jitter."""

import random
from dataclasses import dataclass
from typing import Final

__all__ = ["Patience"]

_LONGEST_WAIT_S: Final = 600.0
"""A device that does not answer is asked at least so often."""


@dataclass
class Patience:
    """How long a device that fails is left alone."""

    failures: int = 0
    until: float = 0.0

    def failed(self, now: float, interval_s: float) -> None:
        """Once more: the next time it is left alone for longer."""
        self.failures += 1
        wait_s = min(interval_s * 2 ** min(self.failures - 1, 16), max(_LONGEST_WAIT_S, interval_s))
        self.until = now + (wait_s * random.uniform(0.75, 1.0) if self.failures > 1 else 0.0)  # noqa: S311 - jitter

    def answered(self) -> None:
        """It speaks: forgotten."""
        self.failures, self.until = 0, 0.0
