"""apps, app_versions and entitlements.

Other tenants read public apps, and those they are entitled to, through a window in the wall: see the policies in sql/.
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

VISIBILITIES = ("private", "entitled", "public")
STATUSES = ("draft", "canary", "active", "deprecated", "retired")

apps = sa.Table(
    "apps",
    metadata,
    id_column("app"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("slug", sa.Text(collation="C"), nullable=False),
    # How the newest active version calls itself (before there is one: the first that was registered).
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("category", sa.Text),
    sa.Column("keywords", ARRAY(sa.Text), nullable=False),
    # All of the above in small letters.
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("visibility", sa.Text, nullable=False),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # The version that launches take, and the one before it; null: the newest active one.
    sa.Column("stable_version_id", text_id()),
    sa.Column("previous_version_id", text_id()),
    sa.UniqueConstraint("slug", name="apps_one_per_slug"),
    sa.UniqueConstraint("id", "tenant_id", name="apps_with_tenant"),
    sa.UniqueConstraint("id", "project_id", name="apps_with_project"),
    sa.CheckConstraint(f"visibility IN {VISIBILITIES}", name="apps_visibility"),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="apps_own_project"
    ),
    sa.Index("apps_by_project", "project_id", "id"),
)

app_versions = sa.Table(
    "app_versions",
    metadata,
    id_column("apv"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("app_id", text_id(), nullable=False),
    sa.Column("version", sa.Text(collation="C"), nullable=False),
    # Sorts as semantic versions do; see semver.py.
    sa.Column("precedence", sa.Text(collation="C"), nullable=False),
    sa.Column("runtime_version", sa.Text, nullable=False),
    sa.Column("artifact_kind", sa.Text, nullable=False),
    sa.Column("artifact_digest", text_id(), nullable=False),
    sa.Column("manifest", JSONB, nullable=False),
    # Of the manifest's content: the same version registered again must be the same.
    sa.Column("content_digest", text_id(), nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("canary_percent", sa.Integer),
    sa.Column("notice", sa.Text),
    sa.Column("retire_at", Timestamp),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("activated_at", Timestamp),
    sa.Column("deprecated_at", Timestamp),
    sa.Column("retired_at", Timestamp),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # Since when the publishing project, and nobody else, may launch it while it is a draft.
    sa.Column("trial_since", Timestamp),
    sa.UniqueConstraint("app_id", "version", name="app_versions_one_per_version"),
    sa.CheckConstraint(f"status IN {STATUSES}", name="app_versions_status"),
    sa.CheckConstraint(
        "(status = 'canary') = (canary_percent IS NOT NULL) AND canary_percent BETWEEN 1 AND 100",
        name="app_versions_canary",
    ),
    sa.ForeignKeyConstraint(["app_id", "tenant_id"], ["apps.id", "apps.tenant_id"], name="app_versions_own_app"),
    sa.Index("app_versions_newest_first", "app_id", sa.text("precedence DESC"), sa.text("id DESC")),
    sa.Index("app_versions_by_kind", "artifact_kind", "app_id", postgresql_where=sa.text("status <> 'retired'")),
    sa.Index("app_versions_active_by_digest", "artifact_digest", postgresql_where=sa.text("status = 'active'")),
    sa.Index("app_versions_one_canary", "app_id", unique=True, postgresql_where=sa.text("status = 'canary'")),
)

# What a project has chosen for itself; without a row, a hash decides (channels.py).
app_channels = sa.Table(
    "app_channels",
    metadata,
    sa.Column("app_id", text_id(), sa.ForeignKey("apps.id"), primary_key=True),
    sa.Column("project_id", text_id(), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("set_by", text_id(), nullable=False),
    sa.Column("set_at", Timestamp, nullable=False),
    sa.CheckConstraint("channel IN ('stable', 'canary')", name="app_channels_channel"),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="app_channels_own_project"
    ),
    sa.Index("app_channels_by_project", "project_id", "app_id"),
)

# How far the platform's own apps are; of no tenant.
provided_apps = sa.Table(
    "provided_apps",
    metadata,
    sa.Column("name", text_id(), primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("detail", sa.Text),
    sa.Column("reported_at", Timestamp, nullable=False),
    sa.CheckConstraint("state IN ('preparing', 'provided', 'unavailable')", name="provided_apps_state"),
)

entitlements = sa.Table(
    "entitlements",
    metadata,
    id_column("etl"),
    sa.Column("tenant_id", text_id(), sa.ForeignKey("tenants.id"), nullable=False),
    sa.Column("app_id", text_id(), sa.ForeignKey("apps.id"), nullable=False),
    sa.Column("granted_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("tenant_id", "app_id", name="entitlements_one_per_app"),
    sa.Index("entitlements_by_app", "app_id", "id"),
)
