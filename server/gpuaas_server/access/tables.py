"""Issued SSH certificates, people's SSH keys, grants on allocations, credentials of projects."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

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
    # What it was issued through, and ends with: a credential of the project, or an operation.
    sa.Column("access_credential_id", text_id()),
    sa.Column("operation_id", text_id()),
    sa.Index("ssh_certificates_by_allocation", "allocation_id", "valid_before"),
    sa.Index(
        "ssh_certificates_by_credential",
        "access_credential_id",
        "valid_before",
        postgresql_where=sa.text("access_credential_id IS NOT NULL"),
    ),
    sa.Index(
        "ssh_certificates_by_operation",
        "operation_id",
        "valid_before",
        postgresql_where=sa.text("operation_id IS NOT NULL"),
    ),
    sa.Index("ssh_certificates_by_holder", "issued_to", "valid_before"),
    sa.Index("ssh_certificates_by_end", "valid_before"),
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

CREDENTIAL_KINDS = ("ssh_certificate", "ssh_key")

access_credentials = sa.Table(
    "access_credentials",
    metadata,
    id_column("crd"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    # Of an ssh_key: the private side is version `version` of this secret. Of an ssh_certificate nothing is stored.
    sa.Column("secret_id", text_id()),
    sa.Column("public_key", sa.Text),
    sa.Column("fingerprint", sa.Text),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("rotated_at", Timestamp),
    sa.Column("revoked_at", Timestamp),
    sa.CheckConstraint(f"kind IN {CREDENTIAL_KINDS}", name="access_credentials_kind"),
    sa.CheckConstraint(
        "(kind = 'ssh_key') = (secret_id IS NOT NULL AND public_key IS NOT NULL AND fingerprint IS NOT NULL)",
        name="access_credentials_custody",
    ),
    sa.Index("access_credentials_by_project", "project_id", "id"),
    sa.Index(
        "access_credentials_one_per_name",
        "project_id",
        "name",
        unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
    ),
)

# Only ever added to, until they have served their time: who got what, when, and sealed to which key.
credential_deliveries = sa.Table(
    "credential_deliveries",
    metadata,
    id_column("dlv"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("credential_id", text_id(), nullable=False),  # no foreign key: the log outlives the credential
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("delivered_to", text_id(), nullable=False),
    sa.Column("recipient_fingerprint", sa.Text, nullable=False),
    sa.Column("allocation_id", text_id()),
    sa.Column("serial", sa.BigInteger),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("delivered_at", Timestamp, nullable=False),
    sa.Index("credential_deliveries_by_credential", "credential_id", "id"),
)
