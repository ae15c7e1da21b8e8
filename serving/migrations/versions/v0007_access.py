"""Tokens, of which the database holds hashes only, and the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "tokens",
        sa.Column("token_id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scope", sa.String(20), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("created_by", sa.String(200), nullable=False),
        sa.Column("expires_at", _TIME),
        sa.Column("revoked_at", _TIME),
        sa.Column("revoked_by", sa.String(200)),
    )
    op.create_index("ix_tokens_name", "tokens", ["name"])
    op.create_table(
        "audit",
        sa.Column("audit_id", sa.Integer, primary_key=True),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("token_id", sa.String(32)),
        sa.Column("address", sa.String(100)),
        sa.Column("what", sa.String(200), nullable=False),
        sa.Column("subject", sa.String(500), nullable=False),
        sa.Column("outcome", sa.String(100), nullable=False),
    )
    op.create_index("ix_audit_at", "audit", ["at"])


def downgrade() -> None:
    """Whoever had a token has none any more."""
    op.drop_table("audit")
    op.drop_table("tokens")
