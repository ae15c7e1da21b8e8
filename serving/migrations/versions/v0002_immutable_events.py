"""Events of an alarm's life cannot be changed or deleted, by nobody who speaks SQL."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_SAYS = "alarm events are immutable"


def upgrade() -> None:
    """A trigger that refuses."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(
                f"CREATE TRIGGER alarm_events_no_{verb} BEFORE {verb.upper()} ON alarm_events "
                f"BEGIN SELECT RAISE(ABORT, '{_SAYS}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION alarm_events_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_SAYS}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER alarm_events_immutable BEFORE UPDATE OR DELETE ON alarm_events "
        "FOR EACH ROW EXECUTE FUNCTION alarm_events_refuse()"
    )


def downgrade() -> None:
    """Without it."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(f"DROP TRIGGER alarm_events_no_{verb}")
        return
    op.execute("DROP TRIGGER alarm_events_immutable ON alarm_events")
    op.execute("DROP FUNCTION alarm_events_refuse()")
