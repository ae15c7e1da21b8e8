"""Pinglists of probe agents, and whether they are stopped."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables."""
    op.create_table(
        "pinglists",
        *(sa.Column(name, sa.String(255), primary_key=True) for name in ("site", "device")),
        sa.Column("etag", sa.String(100), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("planned_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "probing",
        sa.Column("only", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True)),
        sa.Column("stopped_by", sa.String(200)),
        sa.Column("why", sa.Text),
    )


def downgrade() -> None:
    """Agents are told that nothing is planned for them, and stop."""
    op.drop_table("probing")
    op.drop_table("pinglists")
