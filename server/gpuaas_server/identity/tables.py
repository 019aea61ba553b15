"""Users, role bindings, service accounts and their keys, signing keys, sessions, and what sign-ins failed.

A binding names its user together with its tenant, so the database refuses a role in somebody else's tenant.
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

users = sa.Table(
    "users",
    metadata,
    id_column("usr"),
    sa.Column("tenant_id", text_id(), sa.ForeignKey("tenants.id")),  # NULL: a user of the platform
    sa.Column("email", sa.Text(collation="C"), nullable=False),  # in lower case
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default="false"),
    # Tokens carry the epoch of their user; a higher one here ends them all.
    sa.Column("auth_epoch", sa.Integer, nullable=False, server_default="1"),
    sa.Column("last_sign_in_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("deleted_at", Timestamp),  # what is left then is the id, which audit rows name
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # Sign-in names a user by e-mail alone, so an address is one user on the whole platform.
    sa.UniqueConstraint("email", name="users_one_per_email"),
    sa.UniqueConstraint("id", "tenant_id", name="users_with_tenant"),
    sa.CheckConstraint("email = lower(email)", name="users_email_lower"),
    sa.Index("users_by_tenant", "tenant_id", "id"),
)

role_bindings = sa.Table(
    "role_bindings",
    metadata,
    id_column("rbd"),
    sa.Column("user_id", text_id(), sa.ForeignKey("users.id"), nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("tenant_id", text_id()),
    sa.Column("project_id", text_id()),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.ForeignKeyConstraint(["user_id", "tenant_id"], ["users.id", "users.tenant_id"], name="role_bindings_own_tenant"),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="role_bindings_own_project"
    ),
    sa.UniqueConstraint(
        "user_id",
        "tenant_id",
        "project_id",
        name="role_bindings_one_per_place",
        postgresql_nulls_not_distinct=True,
    ),
    sa.CheckConstraint(
        "CASE role WHEN 'platform_admin' THEN tenant_id IS NULL AND project_id IS NULL"
        " WHEN 'platform_operator' THEN tenant_id IS NULL AND project_id IS NULL"
        " WHEN 'tenant_admin' THEN tenant_id IS NOT NULL AND project_id IS NULL"
        " WHEN 'project_admin' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL"
        " WHEN 'project_member' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL"
        " WHEN 'project_viewer' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL"
        " ELSE false END",
        name="role_bindings_role_fits_place",
    ),
    sa.Index("role_bindings_by_project", "project_id", "user_id"),
    sa.Index("role_bindings_by_tenant", "tenant_id", "role"),
)

service_accounts = sa.Table(
    "service_accounts",
    metadata,
    id_column("sva"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("scopes", ARRAY(sa.Text), nullable=False),
    # The apps it is the controller of, in its project.
    sa.Column("app_slugs", ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default="false"),
    # Every token must be bound to a client certificate.
    sa.Column("certificate_required", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("expires_at", Timestamp),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"],
        ["projects.id", "projects.tenant_id"],
        name="service_accounts_own_project",
    ),
    sa.UniqueConstraint("project_id", "name", name="service_accounts_one_per_name"),
    sa.UniqueConstraint("id", "tenant_id", name="service_accounts_with_tenant"),
    sa.UniqueConstraint("id", "project_id", name="service_accounts_with_project"),
)

service_account_keys = sa.Table(
    "service_account_keys",
    metadata,
    id_column("key"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("service_account_id", text_id(), nullable=False),
    # SHA-256 is enough for a secret of 256 random bits: there is nothing to guess.
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("expires_at", Timestamp),
    sa.Column("last_used_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.ForeignKeyConstraint(
        ["service_account_id", "tenant_id"],
        ["service_accounts.id", "service_accounts.tenant_id"],
        name="service_account_keys_own_account",
    ),
    sa.Index("service_account_keys_by_account", "service_account_id", "id"),
)

service_account_certificates = sa.Table(
    "service_account_certificates",
    metadata,
    id_column("sac"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("service_account_id", text_id(), nullable=False),
    sa.Column("thumbprint", sa.Text(collation="C"), nullable=False),  # x5t#S256 of RFC 8705
    sa.Column("authority_id", text_id(), nullable=False),  # the platform key that signed it
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("last_used_at", Timestamp),
    sa.ForeignKeyConstraint(
        ["service_account_id", "tenant_id"],
        ["service_accounts.id", "service_accounts.tenant_id"],
        name="service_account_certificates_own_account",
    ),
    sa.UniqueConstraint("thumbprint", name="service_account_certificates_one_per_thumbprint"),
    sa.Index("service_account_certificates_by_account", "service_account_id", "id"),
    sa.Index("service_account_certificates_by_authority", "authority_id", "expires_at"),
)

signing_keys = sa.Table(
    "signing_keys",
    metadata,
    id_column("sgk"),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    # Under the master key, of an older release. Null: in custody, or destroyed since it signs no more.
    sa.Column("sealed_private_key", sa.LargeBinary),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("verifies_until", Timestamp),  # NULL: it still signs, or may
)

# What lets a person stay signed in without keeping a password. Tokens are here as digests only.
sessions = sa.Table(
    "sessions",
    metadata,
    id_column("ses"),
    sa.Column("user_id", text_id(), sa.ForeignKey("users.id"), nullable=False),
    sa.Column("tenant_id", text_id()),  # NULL: of a user of the platform
    sa.Column("auth_epoch", sa.Integer, nullable=False),  # the user's, when they signed in; a higher one ends it
    sa.Column("family_digest", sa.LargeBinary, nullable=False),
    sa.Column("token_digest", sa.LargeBinary, nullable=False),
    sa.Column("previous_digest", sa.LargeBinary),
    sa.Column("rotated_at", Timestamp, nullable=False),
    sa.Column("retried", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("last_used_at", Timestamp, nullable=False),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("revoked_at", Timestamp),
    sa.UniqueConstraint("family_digest", name="sessions_one_per_family"),
    sa.Index("sessions_by_user", "user_id", "id"),
    sa.Index("sessions_by_end", "expires_at"),
)

# A person's session in a browser: the cookie's secret is here as a digest only. Signing out removes the row.
browser_sessions = sa.Table(
    "browser_sessions",
    metadata,
    id_column("bws"),
    sa.Column("user_id", text_id(), sa.ForeignKey("users.id"), nullable=False),
    sa.Column("tenant_id", text_id()),  # NULL: of a user of the platform
    sa.Column("auth_epoch", sa.Integer, nullable=False),  # the user's, when they signed in; a higher one ends it
    sa.Column("secret_digest", sa.LargeBinary, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("last_used_at", Timestamp, nullable=False),
    sa.Column("expires_at", Timestamp, nullable=False),  # moves on while the session is used
    sa.Column("ends_at", Timestamp, nullable=False),  # and no further than this
    sa.UniqueConstraint("secret_digest", name="browser_sessions_one_per_secret"),
    sa.CheckConstraint("expires_at <= ends_at", name="browser_sessions_end_in_time"),
    sa.Index("browser_sessions_by_user", "user_id", "id"),
    sa.Index("browser_sessions_by_end", "expires_at"),
)

# Keyed by a digest of what was typed, known user or not, so that a lockout does not tell who exists.
login_failures = sa.Table(
    "login_failures",
    metadata,
    sa.Column("username_digest", sa.LargeBinary, primary_key=True),
    sa.Column("network", sa.Text(collation="C"), primary_key=True),  # *: all that the account is not known in
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("last_failure_at", Timestamp, nullable=False),
    sa.Column("locked_until", Timestamp),
    sa.Index("login_failures_by_time", "last_failure_at"),
)

# Where each account has signed in from: nobody elsewhere can lock it there.
login_networks = sa.Table(
    "login_networks",
    metadata,
    sa.Column("username_digest", sa.LargeBinary, primary_key=True),
    sa.Column("network", sa.Text(collation="C"), primary_key=True),
    sa.Column("last_sign_in_at", Timestamp, nullable=False),
)

login_rates = sa.Table(
    "login_rates",
    metadata,
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("minute", Timestamp, primary_key=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Index("login_rates_by_minute", "minute"),
)
