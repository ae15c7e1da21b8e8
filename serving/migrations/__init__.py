"""Schema of the alarm store and its changes, in alembic's form; `serving.migrate` runs them."""
