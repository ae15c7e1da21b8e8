"""When an alarm reached the level on which a drain may rest: from then on it is judged as such."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Alarms that stood before do not say."""
    op.add_column("alarms", sa.Column("act_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """The events still tell of it."""
    op.drop_column("alarms", "act_at")
