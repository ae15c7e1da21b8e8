"""Runs, alarms and the events of their life."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_STANDING = sa.text("status IN ('open', 'acked', 'suppressed')")


def upgrade() -> None:
    """Create the three tables."""
    _create_runs()
    _create_alarms()
    _create_events()


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Integer, primary_key=True),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("model_name", sa.String(200), nullable=False),
        sa.Column("model_version", sa.String(200), nullable=False),
        sa.Column("started_at", _TIME, nullable=False),
        sa.Column("finished_at", _TIME, nullable=False),
        sa.Column("modules_scored", sa.Integer, nullable=False),
        sa.Column("modules_unknown", sa.Integer, nullable=False),
        sa.Column("newest_data_at", _TIME),
        sa.UniqueConstraint("at", "model_name", name="uq_runs_at_model_name"),
    )


def _create_alarms() -> None:
    op.create_table(
        "alarms",
        sa.Column("alarm_id", sa.String(200), primary_key=True),
        sa.Column("link_id", sa.String(1000), nullable=False),
        sa.Column("site", sa.String(255), nullable=False),
        sa.Column("device", sa.String(255), nullable=False),
        sa.Column("interface", sa.String(255), nullable=False),
        sa.Column("serial", sa.String(255)),
        sa.Column("suspect", sa.String(20), nullable=False),
        sa.Column("level", sa.String(20), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("raised_at", _TIME, nullable=False),
        sa.Column("cleared_at", _TIME),
        sa.Column("risk_24h", sa.Float),
        sa.Column("risk_168h", sa.Float),
        sa.Column("failure_type", sa.String(40)),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("expected_from", _TIME),
        sa.Column("expected_to", _TIME),
        sa.Column("peer_device", sa.String(255)),
        sa.Column("peer_interface", sa.String(255)),
        sa.Column("model_version", sa.String(200), nullable=False),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
    )
    op.create_index("ix_alarms_raised_at", "alarms", ["raised_at", "alarm_id"])
    op.create_index("ix_alarms_device", "alarms", ["device", "interface"])
    op.create_index("ix_alarms_changed_at", "alarms", ["changed_at"])
    op.create_index(
        "uq_alarms_standing", "alarms", ["link_id"], unique=True, sqlite_where=_STANDING, postgresql_where=_STANDING
    )


def _create_events() -> None:
    op.create_table(
        "alarm_events",
        sa.Column("event_id", sa.Integer, primary_key=True),
        sa.Column(
            "alarm_id",
            sa.String(200),
            sa.ForeignKey("alarms.alarm_id", name="fk_alarm_events_alarm_id"),
            nullable=False,
        ),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("from_status", sa.String(20)),
        sa.Column("to_status", sa.String(20), nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
    )
    op.create_index("ix_alarm_events_alarm_id", "alarm_events", ["alarm_id", "event_id"])


def downgrade() -> None:
    """Drop them, and what they hold."""
    for table in ("alarm_events", "alarms", "runs"):
        op.drop_table(table)
