"""Brings a database to this code's schema; alembic, run from inside the program."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from serving import migrations
from serving.errors import StoreError

__all__ = ["current_revision", "downgrade", "head_revision", "upgrade"]


def upgrade(connection: Connection) -> None:
    """Migrate to the newest schema, within the connection's transaction.

    Raises:
        StoreError: the database was migrated by a newer forelight.
    """
    try:
        command.upgrade(_config(connection), "head")
    except CommandError as error:
        msg = f"the alarm store's schema is not one that this version knows ({error}); install the newer forelight"
        raise StoreError(msg) from error


def downgrade(connection: Connection, revision: str) -> None:
    """Go back to an older schema; `base` is an empty database."""
    command.downgrade(_config(connection), revision)


def current_revision(connection: Connection) -> str | None:
    """The database's revision; None where it was never migrated."""
    return MigrationContext.configure(connection).get_current_revision()


def head_revision() -> str:
    """This code's revision."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:  # pragma: no cover - a package without its migrations is broken
        msg = "the migrations are missing from this installation"
        raise StoreError(msg)
    return head


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    folder = str(Path(migrations.__path__[0]))
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
