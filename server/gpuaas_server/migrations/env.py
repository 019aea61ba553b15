"""Alembic's way in: one connection, one advisory lock, so that replicas that start together migrate once."""

import sqlalchemy as sa
from alembic import context

from gpuaas_server.migrations.schema import metadata

LOCK_NUMBER = 0x67707561  # "gpua"


def run() -> None:
    engine = sa.create_engine(context.config.attributes["url"], poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("SET lock_timeout = '10s'"))
        connection.execute(sa.text("SET statement_timeout = '120s'"))
        connection.execute(sa.text("SELECT pg_advisory_lock(:n)"), {"n": LOCK_NUMBER})
        connection.commit()
        context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
        with context.begin_transaction():
            context.run_migrations()


run()
