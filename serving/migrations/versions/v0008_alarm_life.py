"""When an alarm was last renewed, until when it is suppressed, how often it changed; and answers that are kept."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """An alarm that stood before counts as renewed now: its time to live begins."""
    op.add_column("alarms", sa.Column("renewed_at", _TIME))
    op.add_column("alarms", sa.Column("suppressed_until", _TIME))
    op.add_column("alarms", sa.Column("revision", sa.Integer, nullable=False, server_default="1"))
    connection = op.get_bind()
    now = datetime.now(UTC) if connection.dialect.name == "postgresql" else datetime.now(UTC).replace(tzinfo=None)
    alarms = sa.table("alarms", sa.column("renewed_at", _TIME))
    connection.execute(alarms.update().values(renewed_at=now))
    op.create_table(
        "idempotency",
        sa.Column("who", sa.String(200), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("etag", sa.String(100)),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("ix_idempotency_at", "idempotency", ["at"])


def downgrade() -> None:
    """What is suppressed stays so until somebody opens it."""
    op.drop_table("idempotency")
    for column in ("revision", "suppressed_until", "renewed_at"):
        op.drop_column("alarms", column)
