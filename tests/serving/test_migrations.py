"""The schema goes up and down on both databases, and is what the code thinks it is."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from serving import migrate, migrations
from serving.access.tables import metadata
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.database import reading, writing
from serving.errors import StoreError
from serving.store import AlarmStore


@pytest.fixture(name="filled")
def _filled(store: AlarmStore, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord]) -> AlarmStore:
    store.apply(make_run(), [make_alarm()])
    store.transition("alarm-001", Status.ACKED, "ann", "looking")
    return store


def test_the_migrated_schema_is_the_one_in_the_code(store: AlarmStore) -> None:
    with reading(store._engine) as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)

    assert [] == differences


def test_a_store_is_at_the_newest_revision_and_opening_it_again_changes_nothing(store: AlarmStore) -> None:
    store.open()

    assert migrate.head_revision() == store.revision()


REVISIONS = sorted(each.revision for each in ScriptDirectory(migrations.__path__[0]).walk_revisions())


@pytest.mark.parametrize("revision", REVISIONS)
def test_alarms_and_their_life_outlive_the_way_down_to_any_version_and_up_again(
    filled: AlarmStore, revision: str
) -> None:
    before = (filled.latest_run(), filled.open_alarms(), filled.events("alarm-001"))
    with writing(filled.engine) as connection:
        migrate.downgrade(connection, revision)
    assert revision == filled.revision()

    filled.migrate()

    assert before == (filled.latest_run(), filled.open_alarms(), filled.events("alarm-001"))
    filled.transition("alarm-001", Status.CLEARED, "ann", "it works on")
    assert 3 == len(filled.events("alarm-001"))


def test_an_alarm_of_before_lives_its_time_from_the_migration_on(filled: AlarmStore) -> None:
    """It would expire at once otherwise: nobody noted when it was renewed."""
    with writing(filled.engine) as connection:
        migrate.downgrade(connection, "0007")
    filled.migrate()

    renewed_at = filled.alarm("alarm-001").renewed_at
    assert renewed_at is not None
    assert abs((datetime.now(UTC) - renewed_at).total_seconds()) < 60.0


def test_all_the_way_down_leaves_nothing_and_up_again_works(filled: AlarmStore) -> None:
    with writing(filled._engine) as connection:
        migrate.downgrade(connection, "base")
    with reading(filled._engine) as connection:
        assert ["alembic_version"] == inspect(connection).get_table_names()
    assert filled.revision() is None

    filled.migrate()

    assert filled.latest_run() is None


def test_a_schema_of_a_newer_version_is_refused(store: AlarmStore) -> None:
    with writing(store._engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(StoreError, match="install the newer forelight"):
        store.migrate()


def test_a_migration_that_fails_leaves_the_old_schema(store: AlarmStore) -> None:
    """DDL belongs to the transaction on both databases; SQLite's driver would leave it outside by itself."""
    with writing(store._engine) as connection:
        migrate.downgrade(connection, "base")

    def fail() -> None:
        with writing(store._engine) as connection:
            migrate.upgrade(connection)
            connection.execute(text("SELECT 1 FROM nowhere"))

    with pytest.raises(StoreError, match="nowhere"):
        fail()

    with reading(store._engine) as connection:
        assert ["alembic_version"] == inspect(connection).get_table_names()
    assert store.revision() is None
