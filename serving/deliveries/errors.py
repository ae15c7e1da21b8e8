"""Errors of deliveries to consumers.

* ServingError
  x LetterError               a delivery of the outbox cannot be retried or dropped: look at `forelight outbox list`
  x DeliveryError             a consumer did not take a message
    + UnreachableError    it did not answer, or is overloaded: retry, and spare it meanwhile
    + FailedError         it answered that something is wrong just now: retry
    + RefusedError        it will never take this message: a person decides
"""

from ingest.errors import ServingError

__all__ = ["DeliveryError", "FailedError", "LetterError", "RefusedError", "UnreachableError"]


class LetterError(ServingError):
    """A delivery is not in a state in which this can be done with it."""


class DeliveryError(ServingError):
    """A consumer did not take a message.

    Attributes:
        after_s: the consumer asked for as long a pause; None where it did not.
    """

    def __init__(self, detail: str, *, after_s: float | None = None) -> None:
        super().__init__(detail)
        self.after_s = after_s


class UnreachableError(DeliveryError):
    """The consumer does not answer or has too much to do; this is no message's fault."""


class FailedError(DeliveryError):
    """The consumer failed at this message; it may take it later."""


class RefusedError(DeliveryError):
    """The consumer refuses this message for good."""
