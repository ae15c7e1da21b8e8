"""Drains: leases on links, what was decided about them, what is excluded, and which classes of links are active."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Four tables."""
    _drains()
    _decisions()
    op.create_table(
        "drain_exclusions",
        sa.Column("exclusion_id", sa.Integer, primary_key=True),
        sa.Column("site", sa.String(255), nullable=False),
        sa.Column("device", sa.String(255), nullable=False),
        sa.Column("interface", sa.String(255)),
        sa.Column("until", _TIME, nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
    )
    op.create_table(
        "drain_modes",
        sa.Column("name", sa.String(20), primary_key=True),
        sa.Column("mode", sa.String(20), nullable=False),
        sa.Column("since", _TIME, nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
    )


def _drains() -> None:
    op.create_table(
        "drains",
        sa.Column("drain_id", sa.String(64), primary_key=True),
        *(sa.Column(name, sa.String(255), nullable=False) for name in ("site", "device", "interface")),
        sa.Column("link_id", sa.String(1000), nullable=False),
        sa.Column("link_class", sa.String(20), nullable=False),
        sa.Column("links", sa.JSON, nullable=False),
        sa.Column("alarm_id", sa.String(200)),
        sa.Column("holder", sa.String(200), nullable=False),
        sa.Column("given", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("granted_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME),
        sa.Column("ended_at", _TIME),
        sa.Column("freed_at", _TIME),
        sa.Column("actions", sa.JSON, nullable=False),
        sa.Column("verdict", sa.String(20)),
    )
    op.create_index("ix_drains_out", "drains", ["freed_at", "link_id"])
    op.create_index("ix_drains_ended_at", "drains", ["ended_at"])


def _decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("decision_id", sa.Integer, primary_key=True),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("code", sa.String(20)),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("link_class", sa.String(20)),
        sa.Column("mode", sa.String(20)),
        *(sa.Column(name, sa.String(255)) for name in ("site", "device", "interface")),
        sa.Column("link_id", sa.String(1000)),
        sa.Column("alarm_id", sa.String(200)),
        sa.Column("drain_id", sa.String(64)),
        sa.Column("risk_24h", sa.Float),
    )
    op.create_index("ix_decisions_at", "decisions", ["at"])
    op.create_index("ix_decisions_link_id", "decisions", ["link_id", "decision_id"])
    op.create_index("ix_decisions_alarm_id", "decisions", ["alarm_id", "kind", "decision_id"])


def downgrade() -> None:
    """What was decided is forgotten; no lease stands any more."""
    for table in ("drain_modes", "drain_exclusions", "decisions", "drains"):
        op.drop_table(table)
