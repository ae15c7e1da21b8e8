"""What probes saw, which ways they took, and whose addresses these are."""

from typing import Final

import pyarrow as pa

from ingest.schema.table import PORT, TIME, B, F, I, S, Table, schema

__all__ = ["PORT_ADDRESSES", "PROBES", "PROBE_PATHS"]

_PROBE_FLOW = (
    "site",
    "source_device",
    "target_device",
    "source_address",
    "target_address",
    "source_port",
    "target_port",
    "protocol",
)
_PROBE_FIELDS = (
    ("site", S),
    ("source_device", S),  # who probes, as inventory calls it
    ("source_interface", S),
    ("source_address", S),
    ("target_device", S),  # who answers
    ("target_interface", S),
    ("target_address", S),
    ("source_port", pa.int32()),  # what ECMP hashes on; replies have the two ports exchanged
    ("target_port", pa.int32()),  # 4791 is RoCEv2's
    ("protocol", S),  # udp, rdma_ud, tcp
)

PROBES: Final = Table(
    "probes",
    schema(
        ("time", TIME),  # start of the window
        ("received_at", TIME),
        *_PROBE_FIELDS,
        ("window_s", F),  # its length
        ("kind", S),  # tor_mesh, inter_tor, service, pinned; what an imported log calls its tier
        ("sent", I),  # probes that left; of the window, as all counts here
        ("unsent", I),  # that the source's own kernel refused to send
        ("lost", I),  # sent and not answered when the window was closed; refused ones are among them
        ("forward_lost", I),  # that did not reach the target, by its count; null where the count is not known
        ("reverse_lost", I),  # of which the reply was lost
        ("refused", I),  # answered by the target's kernel: nobody listens there
        ("late", I),  # answered, after the timeout
        ("kernel_answers", B),  # whether the target's kernel lives; asked where the target tells no count
        ("source_epoch", I),  # drawn at each start of the prober
        ("target_epoch", I),  # as the last reply told it
        ("epoch_changed", B),  # the responder was started anew since the last window: its counts say nothing
        ("limited", B),  # the responder answered less than it got, by its own limit
        ("invalid_rtt", I),  # round trips below zero: a clock was set
        ("rtt_min_ns", I),  # round trip in the network: without both ends' processing
        ("rtt_p50_ns", I),
        ("rtt_p99_ns", I),
        ("rtt_max_ns", I),
        ("target_p50_ns", I),  # processing at the responder: from receipt by its kernel to the reply
        ("target_p99_ns", I),
        ("target_max_ns", I),
        ("source_p50_ns", I),  # processing at the prober
        ("source_p99_ns", I),
        ("source_max_ns", I),
        ("stamps", S),  # whose clock took the prober's times: hardware, kernel, user; null: nothing came back
        ("source", S),  # agent, file
        required=("time", "received_at", "site", "source_address", "target_address", "sent", "lost", "source"),
    ),
    (*_PROBE_FLOW, "kind", "time"),
    "time",
)
"""One row a 5-tuple, window and device that tells of it: none replaces another's.

`sent` and `lost` add up over rows; quantiles do not.
"""

PROBE_PATHS: Final = Table(
    "probe_paths",
    schema(
        ("time", TIME),  # when it was found
        ("received_at", TIME),
        *_PROBE_FIELDS,
        ("direction", S),  # forward: the way of probes, from the source; reverse: that of replies, from the target
        ("hops", pa.list_(S)),  # address of each router that told itself, in order; null for one that did not
        ("reached", B),  # whether the other end answered after the last hop
        ("method", S),  # trace; computed, file
        ("source", S),
        required=("time", "received_at", "site", "source_address", "target_address", "direction", "source"),
    ),
    (*_PROBE_FLOW, "direction", "time"),
    "time",
)
"""The ways of the same 5-tuples, as of a time; the latest before a window is that window's."""

PORT_ADDRESSES: Final = Table(
    "port_addresses",
    schema(
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),
        ("address", S),  # IPv4 or IPv6, as Python writes it
        ("source", S),  # file
        required=("received_at", *PORT, "address", "source"),
    ),
    ("site", "address"),
)
"""Which port a traced hop is; of an address that is listed anew, the newest line counts."""
