"""The packet of a probe: what is sealed, and what is not answered."""

from ingest.probes.wire import SIZE, Flag, Kind, Packet, pack, unpack

KEY = bytes(range(16))
ENDS = ("10.0.0.1", 50_000, "10.0.0.2", 4791)


def _packet(kind: Kind = Kind.PROBE) -> Packet:
    return Packet(kind, 50_000, 2**63, 2**31, 7, Flag.LIMITED, 2**64 - 1, 9, 1_234, 6, 2**40)


def test_a_packet_survives_the_wire() -> None:
    """What was packed is what is unpacked, in 72 bytes."""
    data = pack(_packet(), KEY, ENDS)

    assert 72 == SIZE == len(data)
    assert _packet() == unpack(data, KEY, ENDS)


def test_every_changed_byte_is_noticed() -> None:
    """A packet is sealed as a whole."""
    data = pack(_packet(), KEY, ENDS)
    changed = [data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] for place in range(SIZE)]

    assert [] == [place for place, each in enumerate(changed) if unpack(each, KEY, ENDS) is not None]


def test_a_packet_is_good_between_its_own_ends_only() -> None:
    """One that was overheard cannot be sent again from, or in the name of, another address or port."""
    data = pack(_packet(), KEY, ENDS)
    others = [("10.0.0.9", *ENDS[1:]), (ENDS[0], 50_001, *ENDS[2:]), (*ENDS[:2], "10.0.0.9", 4791), (*ENDS[:3], 4792)]

    assert [None] * 4 == [unpack(data, KEY, other) for other in others]


def test_another_key_and_another_length_are_nothing() -> None:
    """Neither is an error: anybody may send anything to a port."""
    data = pack(_packet(), KEY, ENDS)

    assert None is unpack(data, KEY[::-1], ENDS)
    assert None is unpack(data + b"\0", KEY, ENDS)
    assert None is unpack(b"", KEY, ENDS)
