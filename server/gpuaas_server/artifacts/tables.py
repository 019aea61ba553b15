"""artifacts with their evidence, publish intents, each tenant's trust policy and keys, and secrets for pulling."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from gpuaas_server.kernel import digests
from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

artifacts = sa.Table(
    "artifacts",
    metadata,
    id_column("art"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("digest", text_id(), nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    # Where the bytes are: a repository of the registry, or a key of the blob store.
    sa.Column("location", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("stage_since", Timestamp, nullable=False),
    sa.Column("canary_percent", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("trust", sa.Text, nullable=False),
    sa.Column("trust_detail", sa.Text, nullable=False),
    # Fingerprints of the tenant's keys whose signature was found good.
    sa.Column("signed_by", ARRAY(sa.Text), nullable=False),
    # Signatures of a blob, as base64; those of an image are in the registry beside it.
    sa.Column("signatures", ARRAY(sa.Text), nullable=False),
    # A check of bytes and signatures is under way until this moment at the latest; NULL: none is.
    sa.Column("check_until", Timestamp),
    sa.Column("checked_at", Timestamp),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # Its bytes are being removed; the row goes last.
    sa.Column("deleting_since", Timestamp),
    # The external registry that has the image, at the repository `location`; NULL: the platform has its bytes.
    sa.Column("registry", sa.Text),
    sa.Column("pull_secret_id", text_id()),  # a credential for that registry, in the secret store
    sa.CheckConstraint("kind IN ('oci', 'blob')", name="artifacts_kind"),
    sa.CheckConstraint(f"digest ~ '{digests.PATTERN}'", name="artifacts_digest"),
    sa.CheckConstraint(
        "stage IN ('draft', 'staged', 'canary', 'active', 'deprecated', 'retired')", name="artifacts_stage"
    ),
    sa.CheckConstraint("trust IN ('unverified', 'verified', 'failed_verification', 'revoked')", name="artifacts_trust"),
    sa.CheckConstraint("canary_percent BETWEEN 0 AND 100", name="artifacts_canary"),
    sa.CheckConstraint("registry IS NOT NULL OR pull_secret_id IS NULL", name="artifacts_pull_secret"),
    sa.UniqueConstraint("project_id", "digest", name="artifacts_one_per_digest"),
    sa.Index("artifacts_by_project", "project_id", "id"),
    sa.Index("artifacts_by_digest", "digest", "id"),
    sa.Index("artifacts_by_tenant", "tenant_id", "id"),
)

artifact_evidence = sa.Table(
    "artifact_evidence",
    metadata,
    id_column("evd"),
    sa.Column("artifact_id", text_id(), nullable=False),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("passed", sa.Boolean, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("submitted_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    # Who found it out; a run for development is shown and counts for nothing.
    sa.Column("source", sa.Text, nullable=False, server_default="publisher"),
    sa.Column("operation_id", text_id()),  # the operation that showed it
    sa.CheckConstraint("kind IN ('lint', 'smoke')", name="artifact_evidence_kind"),
    sa.CheckConstraint("source IN ('platform', 'publisher', 'development')", name="artifact_evidence_source"),
    sa.Index("artifact_evidence_by_artifact", "artifact_id", "id"),
)

publish_intents = sa.Table(
    "publish_intents",
    metadata,
    id_column("pub"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.BigInteger),
    # What the publisher says that the bytes are; checked against them before an artifact exists.
    sa.Column("digest", text_id()),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("deadline_at", Timestamp),
    sa.Column("failure", JSONB),
    sa.Column("artifact_id", text_id()),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("ended_at", Timestamp),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # What of the quotas it holds until it becomes an artifact or ends: one artifact, and these bytes.
    sa.Column("quota_reserved", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("reserved_bytes", sa.BigInteger, nullable=False, server_default="0"),
    # The one upload that may write its bytes, until then at the latest.
    sa.Column("upload_token", sa.Text),
    sa.Column("upload_until", Timestamp),
    # The image of an external registry, and a credential for it in the secret store.
    sa.Column("registry", sa.Text),
    sa.Column("repository", sa.Text),
    sa.Column("pull_secret_id", text_id()),
    # Size of the parts of an upload in parts; and once it has begun, what the store calls it.
    sa.Column("part_bytes", sa.BigInteger),
    sa.Column("parts_name", sa.Text),
    sa.CheckConstraint(
        "state IN ('open', 'verifying', 'registered', 'failed', 'expired', 'cancelled')", name="publish_intents_state"
    ),
    sa.CheckConstraint("(ended_at IS NULL) = (deadline_at IS NOT NULL)", name="publish_intents_deadline"),
    sa.CheckConstraint("(registry IS NULL) = (repository IS NULL)", name="publish_intents_external"),
    sa.Index("publish_intents_by_project", "project_id", "id"),
    sa.Index(
        "publish_intents_uploading",
        "tenant_id",
        "project_id",
        postgresql_where=sa.text("upload_token IS NOT NULL"),
    ),
    sa.Index("publish_intents_by_end", "ended_at", postgresql_where=sa.text("ended_at IS NOT NULL")),
)

trust_policies = sa.Table(
    "trust_policies",
    metadata,
    sa.Column("tenant_id", text_id(), primary_key=True),
    sa.Column("require_signature", sa.Boolean, nullable=False),
    sa.Column("require_smoke_launch", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("updated_by", text_id(), nullable=False),
    sa.Column("updated_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
)

trust_keys = sa.Table(
    "trust_keys",
    metadata,
    id_column("tky"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),  # PEM
    sa.Column("fingerprint", sa.Text, nullable=False),  # SHA-256 of the SubjectPublicKeyInfo
    sa.Column("algorithm", sa.Text, nullable=False),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("revoked_at", Timestamp),
    sa.Column("revoked_reason", sa.Text),
    # Also of revoked ones: a key that leaked does not come back under another name.
    sa.UniqueConstraint("tenant_id", "fingerprint", name="trust_keys_once"),
    sa.Index("trust_keys_by_tenant", "tenant_id", "id"),
)

runtime_secrets = sa.Table(
    "runtime_secrets",
    metadata,
    id_column("rts"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("operation_id", text_id(), nullable=False),
    sa.Column("artifact_id", text_id(), nullable=False),
    sa.Column("secret_digest", sa.LargeBinary, nullable=False),
    sa.Column("issued_to", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("revoked_at", Timestamp),
    sa.Column("last_used_at", Timestamp),
    sa.CheckConstraint("purpose = 'artifact_pull'", name="runtime_secrets_purpose"),
    sa.Index("runtime_secrets_by_operation", "operation_id", "id"),
    sa.Index("runtime_secrets_by_end", "expires_at"),
)

registry_usage = sa.Table(
    "registry_usage",
    metadata,
    # Bytes that a project has in the image registry, as its process measured them last.
    sa.Column("project_id", text_id(), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("measured_at", Timestamp, nullable=False),
    sa.CheckConstraint("size_bytes >= 0", name="registry_usage_size"),
    sa.Index("registry_usage_by_tenant", "tenant_id"),
)
