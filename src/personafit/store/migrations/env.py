"""Alembic's entry: runs the migrations on the connection that `store.schema` hands over."""

from alembic import context

from personafit.store import study_tables  # noqa: F401  # adds its tables to the metadata
from personafit.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
