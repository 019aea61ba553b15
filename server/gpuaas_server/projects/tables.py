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
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
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
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.UniqueConstraint("tenant_id", "slug", name="projects_one_per_slug"),
    sa.UniqueConstraint("id", "tenant_id", name="projects_with_tenant"),
)
