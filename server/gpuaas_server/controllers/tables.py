"""controller_bindings, controller_kind_bindings, controller_consents and controller_replicas.

A binding is of the app's publisher, a consent of the tenant that is served. What a controller sees of tenants that consent
is decided in the database too: see sql/0110_tables.sql and sql/0126_kind_bindings.sql.
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

controller_bindings = sa.Table(
    "controller_bindings",
    metadata,
    id_column("cbd"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("app_id", text_id(), nullable=False),
    sa.Column("app_slug", text_id(), nullable=False),
    sa.Column("service_account_id", text_id(), nullable=False),
    sa.Column("service_account_name", sa.Text, nullable=False),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    # Of a binding that follows from a kind binding: the account is the platform's, and the app anybody's.
    sa.Column("kind_binding_id", text_id()),
    sa.Column(
        "own_project_id",
        text_id(),
        sa.Computed("CASE WHEN kind_binding_id IS NULL THEN project_id END", persisted=True),
    ),
    sa.UniqueConstraint("app_id", "service_account_id", name="controller_bindings_one_per_account"),
    # The app and its controller belong to one project.
    sa.ForeignKeyConstraint(
        ["app_id", "own_project_id"], ["apps.id", "apps.project_id"], name="controller_bindings_own_app"
    ),
    sa.ForeignKeyConstraint(["app_id"], ["apps.id"], name="controller_bindings_app"),
    # It names the account of its kind binding, no other.
    sa.ForeignKeyConstraint(
        ["kind_binding_id", "service_account_id", "project_id"],
        [f"controller_kind_bindings.{name}" for name in ("id", "service_account_id", "project_id")],
        name="controller_bindings_kind_binding",
        ondelete="CASCADE",
    ),
    sa.ForeignKeyConstraint(
        ["service_account_id", "project_id"],
        ["service_accounts.id", "service_accounts.project_id"],
        name="controller_bindings_own_account",
        ondelete="CASCADE",
    ),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="controller_bindings_own_project"
    ),
    sa.Index("controller_bindings_by_account", "service_account_id", "app_slug"),
    sa.Index("controller_bindings_by_project", "project_id", "id"),
    sa.Index("controller_bindings_by_slug", "app_slug", "id"),
    sa.Index("controller_bindings_by_kind_binding", "kind_binding_id"),
)

controller_kind_bindings = sa.Table(
    "controller_kind_bindings",
    metadata,
    id_column("ckb"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("artifact_kind", text_id(), nullable=False),
    sa.Column("service_account_id", text_id(), nullable=False),
    sa.Column("service_account_name", sa.Text, nullable=False),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint("artifact_kind IN ('launchable', 'oci')", name="controller_kind_bindings_kind"),
    sa.UniqueConstraint("artifact_kind", "service_account_id", name="controller_kind_bindings_one_per_account"),
    sa.UniqueConstraint("id", "service_account_id", "project_id", name="controller_kind_bindings_of_account"),
    sa.ForeignKeyConstraint(
        ["service_account_id", "project_id"],
        ["service_accounts.id", "service_accounts.project_id"],
        name="controller_kind_bindings_own_account",
        ondelete="CASCADE",
    ),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="controller_kind_bindings_own_project"
    ),
    sa.Index("controller_kind_bindings_by_project", "project_id", "id"),
)

controller_consents = sa.Table(
    "controller_consents",
    metadata,
    id_column("ccs"),
    sa.Column("tenant_id", text_id(), sa.ForeignKey("tenants.id"), nullable=False),
    sa.Column("app_id", text_id(), sa.ForeignKey("apps.id"), nullable=False),
    sa.Column("app_slug", text_id(), nullable=False),
    sa.Column("permissions", ARRAY(sa.Text), nullable=False),
    # In which projects; null: in all of the tenant, later ones too.
    sa.Column("project_ids", ARRAY(text_id())),
    sa.Column("given_by", text_id(), nullable=False),
    sa.Column("given_at", Timestamp, nullable=False),
    # When an operation of this tenant was claimed last: the tenant that waits longest is served first.
    sa.Column("last_claimed_at", Timestamp),
    sa.Column("withdrawn_by", text_id()),
    sa.Column("withdrawn_at", Timestamp),
    sa.Column("withdrawn_reason", sa.Text),
    sa.Column("given_with", sa.Text, nullable=False, server_default="consent"),
    # Given while no controller of the app's own project was bound: it reaches the platform's controllers of kinds only.
    sa.Column("to_platform", sa.Boolean, nullable=False, server_default="false"),
    sa.CheckConstraint("given_with IN ('consent', 'entitlement')", name="controller_consents_given_with"),
    sa.CheckConstraint("(withdrawn_at IS NULL) = (withdrawn_by IS NULL)", name="controller_consents_withdrawn"),
    sa.Index(
        "controller_consents_one_per_app",
        "tenant_id",
        "app_slug",
        unique=True,
        postgresql_where=sa.text("withdrawn_at IS NULL"),
    ),
    sa.Index("controller_consents_by_app", "app_id", "tenant_id"),
    sa.Index("controller_consents_by_tenant", "tenant_id", "id"),
)

controller_replicas = sa.Table(
    "controller_replicas",
    metadata,
    sa.Column("service_account_id", text_id(), primary_key=True),
    sa.Column("app_slug", text_id(), primary_key=True),
    sa.Column("replica", sa.Text(collation="C"), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("service_account_name", sa.Text, nullable=False),
    sa.Column("version", sa.Text),
    sa.Column("since", Timestamp, nullable=False),
    sa.Column("last_seen_at", Timestamp, nullable=False),
    sa.ForeignKeyConstraint(
        ["service_account_id", "project_id"],
        ["service_accounts.id", "service_accounts.project_id"],
        name="controller_replicas_own_account",
        ondelete="CASCADE",
    ),
    sa.Index("controller_replicas_by_app", "app_slug", "last_seen_at"),
    sa.Index("controller_replicas_by_project", "project_id", "service_account_id"),
)
