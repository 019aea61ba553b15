"""Versions of secrets and the platform's private keys, each sealed under a data key; and the keys that wrap those."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

BACKENDS = ("builtin", "openbao")

secret_keys = sa.Table(
    "secret_keys",
    metadata,
    id_column("sek"),
    sa.Column("backend", sa.Text, nullable=False),
    # Counts the keys of a backend; of the external store it is the key version there.
    sa.Column("version", sa.Integer, nullable=False),
    # Under the master key. Null: the key lives in the external store, or was destroyed when it was retired.
    sa.Column("sealed_key", sa.LargeBinary),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("retired_at", Timestamp),
    sa.CheckConstraint(f"backend IN {BACKENDS}", name="secret_keys_backend"),
    sa.CheckConstraint("retired_at IS NULL OR sealed_key IS NULL", name="secret_keys_destroyed"),
    sa.UniqueConstraint("backend", "version", name="secret_keys_one_per_version"),
)

secrets = sa.Table(
    "secrets",
    metadata,
    sa.Column("id", text_id(), sa.CheckConstraint("id LIKE 'sec\\_%'"), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("key_id", text_id(), sa.ForeignKey("secret_keys.id"), nullable=False),
    # Null when the version was destroyed: then nobody can open the value any more, wherever a copy of it lies.
    sa.Column("wrapped_key", sa.LargeBinary),
    # Null when it lies in the external store, or was destroyed.
    sa.Column("sealed_value", sa.LargeBinary),
    sa.Column("kept_in", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("destroyed_at", Timestamp),
    sa.Column("store_name", sa.Text),  # where the external store has it; null: at its id and version
    sa.Column("erased_at", Timestamp),  # since when the external store does not have it either
    sa.CheckConstraint(f"kept_in IN {BACKENDS}", name="secrets_kept_in"),
    sa.CheckConstraint("(destroyed_at IS NULL) = (wrapped_key IS NOT NULL)", name="secrets_destroyed"),
    sa.Index("secrets_by_project", "project_id", "id", "version"),
    sa.Index("secrets_by_key", "key_id", "id", "version", postgresql_where=sa.text("destroyed_at IS NULL")),
)

platform_private_keys = sa.Table(
    "platform_private_keys",
    metadata,
    # The platform key or signing key whose private side it is. The row goes when that key is retired.
    sa.Column("id", text_id(), primary_key=True),
    sa.Column("key_id", text_id(), sa.ForeignKey("secret_keys.id"), nullable=False),
    sa.Column("wrapped_key", sa.LargeBinary, nullable=False),
    sa.Column("sealed_value", sa.LargeBinary, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index("platform_private_keys_by_key", "key_id", "id"),
)
