"""Platform keys (sealed), issued SSH certificates, people's SSH keys, and grants of those on allocations."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

PLATFORM_KEY_KINDS = ("task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "registry_token")

platform_keys = sa.Table(
    "platform_keys",
    metadata,
    id_column("pky"),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("sealed_private_key", sa.LargeBinary, nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),  # as an OpenSSH line
    sa.Column("certificate", sa.Text),  # PEM; of the tls_ca only
    # A rotated-in key is published first and signs later, when everybody has had time to learn it.
    sa.Column("signs_from", Timestamp, nullable=False),
    sa.Column("retired_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint(f"kind IN {PLATFORM_KEY_KINDS}", name="platform_keys_kind"),
    sa.Index("platform_keys_by_kind", "kind", "id"),
)

ssh_certificates = sa.Table(
    "ssh_certificates",
    metadata,
    # The serial in the certificate; drawn by the database, so it is unique over all replicas.
    sa.Column("serial", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("key_id", sa.Text, nullable=False),
    sa.Column("issued_to", text_id(), nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("valid_before", Timestamp, nullable=False),
    sa.Column("revoked_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index("ssh_certificates_by_allocation", "allocation_id", "valid_before"),
    sa.Index("ssh_certificates_by_holder", "issued_to", "valid_before"),
    sa.Index("ssh_certificates_by_end", "valid_before"),
)

ssh_host_certificates = sa.Table(
    "ssh_host_certificates",
    metadata,
    sa.Column("serial", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("allocation_id", text_id()),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("valid_before", Timestamp, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index("ssh_host_certificates_by_node", "node_id", "serial"),
    sa.Index("ssh_host_certificates_by_end", "valid_before"),
)

ssh_keys = sa.Table(
    "ssh_keys",
    metadata,
    id_column("ssk"),
    # '' for users of the platform itself.
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("user_id", text_id(), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("user_id", "fingerprint", name="ssh_keys_one_per_fingerprint"),
)

ssh_grants = sa.Table(
    "ssh_grants",
    metadata,
    id_column("grt"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("granted_to", text_id(), nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("note", sa.Text),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("revoked_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index("ssh_grants_by_allocation", "allocation_id", "id"),
    sa.Index("ssh_grants_by_holder", "granted_to", "expires_at"),
)
