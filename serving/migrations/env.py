"""Where alembic meets the store: it always works on a connection that is handed in."""

from alembic import context

from serving.access.tables import metadata

__all__ = ["run"]


def run() -> None:
    """Migrate on ``config.attributes["connection"]``, whose transaction belongs to the caller."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        transactional_ddl=True,
    )
    context.run_migrations()


if __name__ == "env_py":  # the name under which alembic loads this file; anybody else only imports it
    run()
