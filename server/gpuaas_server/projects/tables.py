"""tenants and projects. `tenants.tenant_id` repeats the id so that row-level security covers them too."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

tenants = sa.Table(
    "tenants",
    metadata,
    id_column("tnt"),
    sa.Column("tenant_id", text_id(), sa.Computed("id", persisted=True)),
    sa.Column("slug", sa.Text(collation="C"), nullable=False, unique=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default="false"),
    # The least that the wipe of its whole hosts has to reach, whatever the SKU asks for.
    sa.Column("wipe_grade", sa.Text, nullable=False, server_default="inspected"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("delete_after", Timestamp),  # its deletion was asked for: nothing but undoing that is done in it
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.CheckConstraint("wipe_grade IN ('inspected', 'rebooted')", name="tenants_wipe_grade"),
)

projects = sa.Table(
    "projects",
    metadata,
    id_column("prj"),
    sa.Column("tenant_id", text_id(), sa.ForeignKey("tenants.id"), nullable=False),
    sa.Column("slug", sa.Text(collation="C"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("delete_after", Timestamp),  # its deletion was asked for: nothing but undoing that is done in it
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # The one that publishes the platform's own apps and runs their controllers.
    sa.Column("platform", sa.Boolean, nullable=False, server_default="false"),
    sa.UniqueConstraint("tenant_id", "slug", name="projects_one_per_slug"),
    sa.UniqueConstraint("id", "tenant_id", name="projects_with_tenant"),
    sa.Index("projects_one_of_platform", "platform", unique=True, postgresql_where=sa.text("platform")),
)
