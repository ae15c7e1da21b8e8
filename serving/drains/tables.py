"""Tables of drains: what is out, what was decided, what is excluded, which classes of links are active."""

from typing import Final

from sqlalchemy import JSON, Boolean, Column, Float, Index, Integer, String, Table, Text

from serving.tables import UtcTime, metadata

__all__ = ["decisions", "drain_exclusions", "drain_modes", "drains"]

drains: Final = Table(
    "drains",
    metadata,
    Column("drain_id", String(64), primary_key=True),
    Column("site", String(255), nullable=False),
    Column("device", String(255), nullable=False),
    Column("interface", String(255), nullable=False),
    Column("link_id", String(1000), nullable=False),
    Column("link_class", String(20), nullable=False),
    Column("links", JSON, nullable=False),  # all that are out with it
    Column("alarm_id", String(200)),
    Column("holder", String(200), nullable=False),
    Column("given", Boolean, nullable=False),  # false where somebody drained without asking
    Column("state", String(20), nullable=False),
    Column("granted_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),  # null once the drain was reported
    Column("ended_at", UtcTime),
    Column("freed_at", UtcTime),  # its links were seen up after the end: they count as in again
    Column("actions", JSON, nullable=False),  # repairs tried, in order
    Column("verdict", String(20)),
    Index("ix_drains_out", "freed_at", "link_id"),
    Index("ix_drains_ended_at", "ended_at"),
)

decisions: Final = Table(
    "decisions",
    metadata,
    Column("decision_id", Integer, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("kind", String(20), nullable=False),  # advice, lease, drained, undrained, released, verified
    Column("outcome", String(20), nullable=False),
    Column("code", String(20)),
    Column("why", Text, nullable=False),
    Column("who", String(200), nullable=False),
    Column("link_class", String(20)),
    Column("mode", String(20)),
    Column("site", String(255)),
    Column("device", String(255)),
    Column("interface", String(255)),
    Column("link_id", String(1000)),
    Column("alarm_id", String(200)),
    Column("drain_id", String(64)),
    Column("risk_24h", Float),
    Index("ix_decisions_at", "at"),
    Index("ix_decisions_link_id", "link_id", "decision_id"),
    Index("ix_decisions_alarm_id", "alarm_id", "kind", "decision_id"),
)

drain_exclusions: Final = Table(
    "drain_exclusions",
    metadata,
    Column("exclusion_id", Integer, primary_key=True),
    Column("site", String(255), nullable=False),
    Column("device", String(255), nullable=False),
    Column("interface", String(255)),  # null: the whole device
    Column("until", UtcTime, nullable=False),
    Column("who", String(200), nullable=False),
    Column("why", Text, nullable=False),
)

drain_modes: Final = Table(
    "drain_modes",
    metadata,
    Column("name", String(20), primary_key=True),  # a class of links, or "all" for the switch that stops everything
    Column("mode", String(20), nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("who", String(200), nullable=False),
    Column("why", Text, nullable=False),
)
