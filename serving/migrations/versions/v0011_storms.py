"""Storms: the alarms that a run held back."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One table."""
    op.create_table(
        "held_back",
        sa.Column("held_id", sa.Integer, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("model_version", sa.String(200), nullable=False),
        sa.Column("link_id", sa.String(1000), nullable=False),
        *(sa.Column(name, sa.String(255), nullable=False) for name in ("site", "device", "interface")),
        *(sa.Column(name, sa.String(255)) for name in ("peer_device", "peer_interface")),
        sa.Column("level", sa.String(20), nullable=False),
        sa.Column("risk_24h", sa.Float),
        sa.Column("failure_type", sa.String(40)),
        sa.Column("why", sa.Text, nullable=False),
    )
    op.create_index("ix_held_back_at", "held_back", ["at"])


def downgrade() -> None:
    """What was held back is forgotten."""
    op.drop_table("held_back")
