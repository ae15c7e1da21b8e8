"""The schema goes up and down on both databases, and is what the code thinks it is."""

from collections.abc import Callable

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from serving import migrate
from serving.access_tables import metadata
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


def test_one_step_down_and_up_keeps_what_is_stored(filled: AlarmStore) -> None:
    before = (filled.latest_run(), filled.open_alarms(), filled.events("alarm-001"))
    with writing(filled._engine) as connection:
        migrate.downgrade(connection, "0001")
    assert "0001" == filled.revision()

    filled.migrate()

    assert before == (filled.latest_run(), filled.open_alarms(), filled.events("alarm-001"))
    assert migrate.head_revision() == filled.revision()


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
