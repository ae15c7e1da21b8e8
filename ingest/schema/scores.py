"""What forelight says: risks of the champion, and of a challenger beside it."""

from typing import Final

import pyarrow as pa

from ingest.schema.table import PORT, TIME, F, S, Table, schema
from ingest.schema.words import FailureType

__all__ = ["SCORES", "SHADOW_SCORES"]

_EVIDENCE: Final = pa.struct(
    [
        ("cause", S),  # one of the reasons
        ("feature", S),  # its column in docs/features.md
        ("end", S),  # near, far or both: whose value it is
        ("value", F),  # on the feature's own scale; null where missing is what speaks
        ("odds", F),  # of a failure, as a multiple of those without it
    ]
)

SCORES: Final = Table(
    "scores",
    schema(
        ("time", TIME),  # what the score is as of
        ("received_at", TIME),  # when it was computed
        ("site", S),
        ("device", S),
        ("interface", S),
        ("serial", S),
        ("status", S),  # scored, or unknown (then risks are null and `reasons` says why)
        *((f"risk_{hours}h", F) for hours in (6, 12, 24, 48, 96, 168)),  # P(failure of its link within)
        ("failure_type", S),  # most probable FailureType, given failure; null, as suspects, where risk is negligible
        ("type_probabilities", pa.struct([(str(kind), F) for kind in FailureType])),
        ("suspect", S),  # module, fiber or unknown
        ("suspect_device", S),  # the suspect end
        ("suspect_interface", S),
        ("suspect_probability", F),
        ("action", S),
        ("reasons", pa.list_(S)),  # in operator's words, strongest first
        ("evidence", pa.list_(_EVIDENCE)),  # the features behind the reasons, at most two of each
        ("peer_device", S),
        ("peer_interface", S),
        ("data_age_s", F),  # age of the newest reading used
        ("model_version", S),
        required=("time", "received_at", *PORT, "status", "model_version"),
    ),
    (*PORT, "time"),
    "time",
)

SHADOW_SCORES: Final = Table(
    "shadow_scores",
    schema(
        ("time", TIME),
        ("received_at", TIME),
        ("site", S),
        ("device", S),
        ("interface", S),
        ("status", S),  # scored, or unknown where the link of a standing alarm is silent
        *((f"risk_{hours}h", F) for hours in (6, 12, 24, 48, 96, 168)),
        ("link_id", S),  # this and what follows: of the alarm that would stand on its link now, null where none would
        ("alarm_level", S),
        ("alarm_raised_at", TIME),
        ("act_at", TIME),
        ("failure_type", S),
        ("suspect", S),
        ("suspect_device", S),
        ("suspect_interface", S),
        ("action", S),
        ("model_version", S),  # the challenger's
        required=("time", "received_at", *PORT, "status", "model_version"),
    ),
    (*PORT, "time", "model_version"),
    "time",
)
"""What a challenger would have said, beside ``scores``; no alarm, lease or message rests on it."""
