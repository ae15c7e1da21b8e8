"""Tables of the alarm store; `serving.migrations` creates them, a test holds the two equal."""

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeDecorator

__all__ = [
    "UtcTime",
    "alarm_events",
    "alarms",
    "deliveries",
    "held_back",
    "leases",
    "metadata",
    "outbox",
    "outbox_adapters",
    "pinglists",
    "probing",
    "runs",
]


class UtcTime(TypeDecorator[datetime]):
    """A time with its zone, in and out; SQLite, which has no zones, keeps UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database: UTC, without its zone where the database knows none."""
        if value is None:
            return None
        if value.tzinfo is None:
            msg = f"{value.isoformat()} has no time zone"
            raise ValueError(msg)
        time = value.astimezone(UTC)
        return time.replace(tzinfo=None) if dialect.name == "sqlite" else time

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - its interface
        """From the database: always in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData()

runs: Final = Table(
    "runs",
    metadata,
    Column("run_id", Integer, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("model_name", String(200), nullable=False),
    Column("model_version", String(200), nullable=False),
    Column("started_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime, nullable=False),
    Column("modules_scored", Integer, nullable=False),
    Column("modules_unknown", Integer, nullable=False),
    Column("newest_data_at", UtcTime),
    UniqueConstraint("at", "model_name", name="uq_runs_at_model_name"),
)

STANDING_SQL: Final = text("status IN ('open', 'acked', 'suppressed')")

alarms: Final = Table(
    "alarms",
    metadata,
    Column("alarm_id", String(200), primary_key=True),
    Column("link_id", String(1000), nullable=False),
    Column("site", String(255), nullable=False),
    Column("device", String(255), nullable=False),
    Column("interface", String(255), nullable=False),
    Column("serial", String(255)),
    Column("suspect", String(20), nullable=False),
    Column("level", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("raised_at", UtcTime, nullable=False),
    Column("act_at", UtcTime),
    Column("cleared_at", UtcTime),
    Column("risk_24h", Float),
    Column("risk_168h", Float),
    Column("failure_type", String(40)),
    Column("action", String(40), nullable=False),
    Column("expected_from", UtcTime),
    Column("expected_to", UtcTime),
    Column("peer_device", String(255)),
    Column("peer_interface", String(255)),
    Column("model_version", String(200), nullable=False),
    Column("reasons", JSON, nullable=False),
    Column("changed_at", UtcTime, nullable=False),
    Column("renewed_at", UtcTime),
    Column("suppressed_until", UtcTime),
    Column("revision", Integer, nullable=False, server_default="1"),
    Index("ix_alarms_raised_at", "raised_at", "alarm_id"),
    Index("ix_alarms_device", "device", "interface"),
    Index("ix_alarms_changed_at", "changed_at"),
    Index("uq_alarms_standing", "link_id", unique=True, sqlite_where=STANDING_SQL, postgresql_where=STANDING_SQL),
)

alarm_events: Final = Table(
    "alarm_events",
    metadata,
    Column("event_id", Integer, primary_key=True),
    Column("alarm_id", String(200), ForeignKey("alarms.alarm_id", name="fk_alarm_events_alarm_id"), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("from_status", String(20)),
    Column("to_status", String(20), nullable=False),
    Column("who", String(200), nullable=False),
    Column("why", Text, nullable=False),
    Index("ix_alarm_events_alarm_id", "alarm_id", "event_id"),
)

held_back: Final = Table(
    "held_back",
    metadata,
    Column("held_id", Integer, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("model_version", String(200), nullable=False),
    Column("link_id", String(1000), nullable=False),
    Column("site", String(255), nullable=False),
    Column("device", String(255), nullable=False),
    Column("interface", String(255), nullable=False),
    Column("peer_device", String(255)),
    Column("peer_interface", String(255)),
    Column("level", String(20), nullable=False),
    Column("risk_24h", Float),
    Column("failure_type", String(40)),
    Column("why", Text, nullable=False),
    Index("ix_held_back_at", "at"),
)

leases: Final = Table(
    "leases",
    metadata,
    Column("name", String(500), primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("owner", String(500), nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)

outbox: Final = Table(
    "outbox",
    metadata,
    Column("message_id", Integer, primary_key=True),
    Column("event_id", Integer, ForeignKey("alarm_events.event_id", name="fk_outbox_event_id")),
    Column("subject", String(200), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("body", JSON, nullable=False),
    Column("nodes", JSON(none_as_null=True)),
    UniqueConstraint("event_id", name="uq_outbox_event_id"),
    Index("ix_outbox_subject", "subject", "message_id"),
    sqlite_autoincrement=True,  # a number is never used again: consumers are read up to one
)

outbox_adapters: Final = Table(
    "outbox_adapters",
    metadata,
    Column("adapter", String(100), primary_key=True),
    Column("seen_id", Integer, nullable=False),
)

deliveries: Final = Table(
    "deliveries",
    metadata,
    Column("adapter", String(100), primary_key=True),
    Column(
        "message_id",
        Integer,
        ForeignKey("outbox.message_id", name="fk_deliveries_message_id"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("subject", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("tries", Integer, nullable=False),
    Column("due_at", UtcTime, nullable=False),
    Column("owner", String(200)),
    Column("leased_until", UtcTime),
    Column("told", Boolean),
    Column("error", Text),
    Column("changed_at", UtcTime, nullable=False),
    Index("ix_deliveries_due", "adapter", "state", "due_at"),
    Index("ix_deliveries_subject", "adapter", "subject", "message_id"),
    Index("ix_deliveries_message_id", "message_id"),
)

pinglists: Final = Table(
    "pinglists",
    metadata,
    Column("site", String(255), primary_key=True),
    Column("device", String(255), primary_key=True),
    Column("etag", String(100), nullable=False),
    Column("body", Text, nullable=False),
    Column("planned_at", UtcTime, nullable=False),
)

probing: Final = Table(
    "probing",
    metadata,
    Column("only", Integer, primary_key=True, autoincrement=False),  # 1: there is one row
    Column("key", String(200), nullable=False),
    Column("stopped_at", UtcTime),
    Column("stopped_by", String(200)),
    Column("why", Text),
)
