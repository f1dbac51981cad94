"""Alembic environment of the ledger; run by `agent.database.migrate`, which brings connection and lock."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.get_main_option("version_table") or "alembic_version",
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
