"""What one command printed, into readings: for whoever runs the commands himself, such as the host agent."""

from ingest.dumps.formats import detect
from ingest.dumps.names import Given
from ingest.dumps.reading import Reading
from ingest.dumps.source import Dump
from ingest.quarantine import Kind, Quarantine

__all__ = ["join", "read_text"]


def read_text(text: str, *, given: Given, quarantine: Quarantine, name: str = "(text)") -> list[Reading]:
    """Readings of one text, each of another port or time, with device, interface and time.

    Args:
        text: of any format that is known.
        given: what the text leaves out.
        quarantine: where to say what is not taken.
        name: how the text is called there.

    Raises:
        ExportError: it is of no format that is known, or breaks off being it.
    """
    dump = Dump.of_text(text, quarantine, name)
    readings = []
    for said in detect(dump).read():
        if not isinstance(said, Reading) or said.empty:
            continue
        if reason := given.complete(said):
            dump.doubt(Kind.ERROR, said.line, reason)
        else:
            readings.append(said)
    return join(readings)


def join(readings: list[Reading]) -> list[Reading]:
    """Readings of the same port at the same time as one: ``ethtool -m`` and ``-S`` tell of different things."""
    found: dict[tuple[object, ...], Reading] = {}
    for reading in readings:
        key = (reading.device, reading.interface, reading.time)
        if key in found:
            found[key].merge(reading)
        else:
            found[key] = reading
    return list(found.values())
