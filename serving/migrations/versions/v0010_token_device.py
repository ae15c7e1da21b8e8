"""Tokens that may speak for one device alone."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Tokens of before may speak for any."""
    op.add_column("tokens", sa.Column("site", sa.String(255)))
    op.add_column("tokens", sa.Column("device", sa.String(255)))


def downgrade() -> None:
    """A token that was bound would speak for any device: it is revoked instead."""
    tokens = sa.table("tokens", sa.column("device"), sa.column("revoked_at"), sa.column("created_at"))
    bound = tokens.c.device.is_not(None)
    op.get_bind().execute(tokens.update().where(bound).values(revoked_at=tokens.c.created_at))
    with op.batch_alter_table("tokens") as table:
        table.drop_column("device")
        table.drop_column("site")
