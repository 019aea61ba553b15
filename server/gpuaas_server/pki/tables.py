"""The platform's own keys: public sides, and what an older release sealed under the master key."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata

PLATFORM_KEY_KINDS = ("task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token")


platform_keys = sa.Table(
    "platform_keys",
    metadata,
    id_column("pky"),
    sa.Column("kind", sa.Text, nullable=False),
    # Under the master key, of an older release. Null: the private side is in custody, or was destroyed at retirement.
    sa.Column("sealed_private_key", sa.LargeBinary),
    sa.Column("public_key", sa.Text, nullable=False),  # as an OpenSSH line
    sa.Column("certificate", sa.Text),  # PEM; of an authority
    # A rotated-in key is published first and signs later, when everybody has had time to learn it.
    sa.Column("signs_from", Timestamp, nullable=False),
    sa.Column("retired_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint(f"kind IN {PLATFORM_KEY_KINDS}", name="platform_keys_kind"),
    sa.Index("platform_keys_by_kind", "kind", "id"),
)
