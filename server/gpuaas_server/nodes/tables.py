"""Nodes, their sign of life, enrolment, and host certificates. No tenant owns any of it."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

WINDOW_STATES = ("planned", "active", "ended", "cancelled")

nodes = sa.Table(
    "nodes",
    metadata,
    id_column("nod"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("hostname", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("public_key", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("ssh_host_public_key", sa.Text, nullable=False),
    # Each new key of the agent counts, and the one before is dead at once.
    sa.Column("key_generation", sa.Integer, nullable=False, server_default="1"),
    sa.Column("key_expires_at", Timestamp),  # null: of an agent that has never renewed its key
    # Networks from which the key is taken; null: not recorded yet.
    sa.Column("source_networks", sa.ARRAY(sa.Text)),
    # SHA-256 of the CAs that its agent trusts for TLS; empty: it needs none; null: it has never said.
    sa.Column("tls_anchors", sa.ARRAY(sa.Text)),
    # Addresses that slices on it may have, as its agent said; null: it has never said.
    sa.Column("slice_addresses", sa.ARRAY(sa.Text)),
    sa.Column("agent_version", sa.Text, nullable=False),
    sa.Column("boot_id", sa.Text),
    # What a wipe has to bring back: the text of agent.json and a digest of the agent's program, as the host reported them
    # while no tenant could have written them. Null: of an agent that does not report them.
    sa.Column("configuration", sa.Text),
    sa.Column("agent_sha256", sa.Text),
    # An administrator's decision: whether the drives of the slots are erased and read back.
    sa.Column("erase_drives", sa.Boolean, nullable=False, server_default="true"),
    # A tenant of the whole host left without a proof: what the host reports is not recorded until a wipe is proven.
    sa.Column("facts_frozen", sa.Boolean, nullable=False, server_default="false"),
    # Digest of the last claim that differed from what is recorded, so that each is told once.
    sa.Column("differing_claim", sa.Text),
    sa.Column("cordoned", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("draining", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("drain_at", Timestamp),  # the drain is planned: the node is cordoned, and nothing is released before
    sa.Column("maintenance_reason", sa.Text),
    sa.Column("maintenance_since", Timestamp),
    sa.Column("maintenance_by", text_id()),
    # The recorded edge that events and eligibility follow; the silence itself is in node_heartbeats.
    sa.Column("lost_since", Timestamp),
    sa.Column("retired_at", Timestamp),
    sa.Column("inventory", JSONB, nullable=False, server_default="{}"),
    sa.Column("inventory_digest", sa.LargeBinary),
    sa.Column("labels", JSONB, nullable=False, server_default="{}"),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index("nodes_by_key_expiry", "key_expires_at", postgresql_where=sa.text("retired_at IS NULL")),
    sa.Index("nodes_name", "name", unique=True, postgresql_where=sa.text("retired_at IS NULL")),
)

node_former_keys = sa.Table(
    "node_former_keys",
    metadata,
    # Dead, but known: whoever uses one has copied it, or is behind.
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), primary_key=True),
    sa.Column("key_generation", sa.Integer, primary_key=True),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("ended_at", Timestamp, nullable=False),
    sa.Index("node_former_keys_by_key", "public_key"),
)

node_key_misuses = sa.Table(
    "node_key_misuses",
    metadata,
    # One row for each key, kind of call and refusal: it is told once, and nobody fills the table.
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), primary_key=True),
    sa.Column("key_generation", sa.Integer, primary_key=True),
    sa.Column("action", sa.Text, primary_key=True),
    sa.Column("code", sa.Text, primary_key=True),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("seen_at", Timestamp, nullable=False),
)

ADDRESS_KINDS = ("host", "slice")

node_addresses = sa.Table(
    "node_addresses",
    metadata,
    # An address belongs to one node, also when two ask for it at the same moment.
    sa.Column("address", sa.Text, primary_key=True),
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint(f"kind IN {ADDRESS_KINDS}", name="node_addresses_kind"),
    sa.Index("node_addresses_by_node", "node_id"),
)

maintenance_windows = sa.Table(
    "maintenance_windows",
    metadata,
    id_column("mtw"),
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), nullable=False),
    sa.Column("state", sa.Text, nullable=False, server_default="planned"),
    sa.Column("starts_at", Timestamp, nullable=False),
    sa.Column("ends_at", Timestamp, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    # When the window cordoned its node: a cordon that was there before, or came after it, is not the window's to end.
    sa.Column("cordoned_at", Timestamp),
    sa.Column("planned_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("started_at", Timestamp),
    sa.Column("finished_at", Timestamp),
    sa.Column("finished_by", text_id()),
    sa.Column("finished_reason", sa.Text),
    sa.CheckConstraint(f"state IN {WINDOW_STATES}", name="maintenance_windows_state"),
    sa.CheckConstraint("starts_at < ends_at", name="maintenance_windows_span"),
    sa.Index(
        "maintenance_windows_live",
        "node_id",
        unique=True,
        postgresql_where=sa.text("state = 'planned' OR state = 'active'"),
    ),
    sa.Index("maintenance_windows_by_node", "node_id", "id"),
)

node_heartbeats = sa.Table(
    "node_heartbeats",
    metadata,
    # Apart from nodes: the most frequent write of the platform touches one narrow row and no index.
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), primary_key=True),
    sa.Column("last_seen_at", Timestamp, nullable=False),
    postgresql_with={"fillfactor": 50},
)

agent_listeners = sa.Table(
    "agent_listeners",
    metadata,
    # Which api processes hear agents, and since when without a gap: silence counts only while somebody listened.
    sa.Column("process", sa.Text, primary_key=True),
    sa.Column("listening_since", Timestamp, nullable=False),
    sa.Column("flushed_at", Timestamp, nullable=False),
)

enrolment_tokens = sa.Table(
    "enrolment_tokens",
    metadata,
    id_column("ent"),
    sa.Column("token_sha256", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("note", sa.Text),
    sa.Column("max_uses", sa.Integer, nullable=False),
    sa.Column("uses", sa.Integer, nullable=False, server_default="0"),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Column("revoked_at", Timestamp),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint("uses <= max_uses", name="enrolment_tokens_uses"),
    sa.Index("enrolment_tokens_by_end", "expires_at"),
)

enrolment_uses = sa.Table(
    "enrolment_uses",
    metadata,
    sa.Column("token_id", text_id(), sa.ForeignKey("enrolment_tokens.id"), primary_key=True),
    sa.Column("public_key", sa.LargeBinary, primary_key=True),
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), nullable=False),
    sa.Column("used_at", Timestamp, nullable=False),
)

agent_nonces = sa.Table(
    "agent_nonces",
    metadata,
    # No foreign key: the enrolment call comes from "-", which is no node yet.
    sa.Column("node_id", text_id(), primary_key=True),
    sa.Column("nonce", sa.LargeBinary, primary_key=True),
    sa.Column("seen_at", Timestamp, nullable=False),
    sa.Index("agent_nonces_by_time", "seen_at"),
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
