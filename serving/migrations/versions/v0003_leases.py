"""Leases: who may rewrite the lake, where several machines share it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One row a lease; its token rises each time it is taken."""
    op.create_table(
        "leases",
        sa.Column("name", sa.String(500), primary_key=True),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.String(500), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Whoever holds one finds out when renewing it."""
    op.drop_table("leases")
