"""The outbox: messages written with what they tell of, and what became of each at each consumer."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Alarms that stand now get their first message when a consumer is first seen."""
    _create_outbox()
    _create_deliveries()
    op.create_table(
        "outbox_adapters",
        sa.Column("adapter", sa.String(100), primary_key=True),
        sa.Column("seen_id", sa.Integer, nullable=False),
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("message_id", sa.Integer, primary_key=True),
        sa.Column("event_id", sa.Integer, sa.ForeignKey("alarm_events.event_id", name="fk_outbox_event_id")),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("body", sa.JSON, nullable=False),
        sa.Column("nodes", sa.JSON),
        sa.UniqueConstraint("event_id", name="uq_outbox_event_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_subject", "outbox", ["subject", "message_id"])


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("adapter", sa.String(100), primary_key=True),
        sa.Column(
            "message_id",
            sa.Integer,
            sa.ForeignKey("outbox.message_id", name="fk_deliveries_message_id"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("due_at", _TIME, nullable=False),
        sa.Column("owner", sa.String(200)),
        sa.Column("leased_until", _TIME),
        sa.Column("told", sa.Boolean),
        sa.Column("error", sa.Text),
        sa.Column("changed_at", _TIME, nullable=False),
    )
    op.create_index("ix_deliveries_due", "deliveries", ["adapter", "state", "due_at"])
    op.create_index("ix_deliveries_subject", "deliveries", ["adapter", "subject", "message_id"])
    op.create_index("ix_deliveries_message_id", "deliveries", ["message_id"])


def downgrade() -> None:
    """What was not delivered yet never will be; the alarms themselves stay."""
    for table in ("outbox_adapters", "deliveries", "outbox"):
        op.drop_table(table)
