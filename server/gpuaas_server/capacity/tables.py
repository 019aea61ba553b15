"""Slots, claims, SKUs and quotas. The database itself refuses a double claim, whatever the code does."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, INT4RANGE, JSONB, ExcludeConstraint

from gpuaas_server.capacity.rows import OUT_OF_USE, SLOT_STATUSES
from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

node_capacity = sa.Table(
    "node_capacity",
    metadata,
    # The row that a scheduler locks: whoever holds it decides about this node's slots.
    sa.Column("node_id", text_id(), primary_key=True),
    sa.Column("eligible", sa.Boolean, nullable=False),
    # The best grade of a wipe of the whole node that its agent can prove.
    sa.Column("wipe_grade", sa.Text, nullable=False, server_default="inspected"),
    # Whether a wipe erases the drives of the slots; `nodes` decides it.
    sa.Column("erase_drives", sa.Boolean, nullable=False, server_default="true"),
    sa.CheckConstraint("wipe_grade IN ('inspected', 'rebooted')", name="node_capacity_wipe_grade"),
)

node_resource_slots = sa.Table(
    "node_resource_slots",
    metadata,
    id_column("slt"),
    sa.Column("node_id", text_id(), sa.ForeignKey("node_capacity.node_id"), nullable=False),
    sa.Column("slot_index", sa.SmallInteger, nullable=False),
    # The slot's place among the node's claims, drawn by a trigger; stays when the host numbers its devices anew.
    sa.Column("lane", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("status_reason", sa.Text),
    sa.Column("capacity_shape", sa.Text, nullable=False, server_default="any"),
    sa.Column("gpu_model", sa.Text, nullable=False),
    sa.Column("gpu_uuid", sa.Text),
    sa.Column("memory_mib", sa.Integer),
    sa.Column("pci_address", sa.Text, nullable=False),
    sa.Column("numa_node", sa.SmallInteger),
    sa.Column("nvlink_group", sa.Text),
    sa.Column("nvme_device", sa.Text),
    sa.Column("iommu_group", sa.Integer),
    sa.Column("vf", JSONB),
    # Reserved for fractional GPUs (MIG, vGPU, MPS); nothing reads it yet.
    sa.Column("partition", JSONB),
    sa.Column("present", sa.Boolean, nullable=False, server_default="true"),
    sa.Column("approved_at", Timestamp),
    sa.Column("approved_by", text_id()),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Index(
        "node_resource_slots_one_per_index",
        "node_id",
        "slot_index",
        unique=True,
        postgresql_where=sa.text("present"),
    ),
    sa.UniqueConstraint("node_id", "lane", name="node_resource_slots_one_per_lane"),
    sa.UniqueConstraint("node_id", "pci_address", name="node_resource_slots_one_per_device"),
    sa.CheckConstraint(f"status IN {SLOT_STATUSES}", name="node_resource_slots_status"),
    sa.CheckConstraint("capacity_shape IN ('any', 'baremetal', 'gpu_slice')", name="node_resource_slots_shape"),
    sa.Index("node_resource_slots_by_model", "gpu_model", "status"),
    # Not of the states that slots have most of the time: a claim would have one index more to write.
    sa.Index(
        "node_resource_slots_out_of_use",
        "status",
        "node_id",
        postgresql_where=sa.text(f"present AND status IN {OUT_OF_USE}"),
    ),
)

node_fits = sa.Table(
    "node_fits",
    metadata,
    # An index of "what fits where", rebuilt per node by refit_nodes() in the transaction that changes a slot. The
    # scheduler's order is this table's index order, so finding a node costs the same in a fleet of ten or ten thousand.
    sa.Column("node_id", text_id(), primary_key=True),
    sa.Column("gpu_model", sa.Text, primary_key=True),
    sa.Column("shape", sa.Text, primary_key=True),
    sa.Column("size", sa.SmallInteger, primary_key=True),
    # A whole node has a row for each grade that it can prove; a slice is always `inspected`.
    sa.Column("wipe_grade", sa.Text, primary_key=True, server_default="inspected"),
    sa.Column("leftover", sa.SmallInteger, nullable=False),
    sa.Column("spread", sa.SmallInteger, nullable=False),
    # No slot has a drive that a wipe there would leave as it is.
    sa.Column("drives_erased", sa.Boolean, nullable=False, server_default="true"),
    sa.Index("node_fits_best_first", "gpu_model", "shape", "size", "wipe_grade", "leftover", "spread", "node_id"),
)

allocation_resource_claims = sa.Table(
    "allocation_resource_claims",
    metadata,
    id_column("clm"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("slot_id", text_id(), sa.ForeignKey("node_resource_slots.id")),
    # The part of the node that is taken: one slot's lane, or, for node_exclusive, all of it.
    sa.Column("lane", INT4RANGE, nullable=False),
    sa.Column("claimed_at", Timestamp, nullable=False),
    sa.Column("released_at", Timestamp),
    sa.CheckConstraint(
        "(kind = 'slot' AND slot_id IS NOT NULL AND upper(lane) = lower(lane) + 1)"
        " OR (kind = 'node_exclusive' AND slot_id IS NULL AND lower_inf(lane) AND upper_inf(lane))",
        name="allocation_resource_claims_kind",
    ),
    ExcludeConstraint(
        ("node_id", "="),
        ("lane", "&&"),
        using="gist",
        where=sa.text("released_at IS NULL"),
        name="allocation_resource_claims_no_overlap",
    ),
    sa.Index(
        "allocation_resource_claims_one_per_slot",
        "slot_id",
        unique=True,
        postgresql_where=sa.text("released_at IS NULL AND kind = 'slot'"),
    ),
    sa.Index(
        "allocation_resource_claims_one_per_node",
        "node_id",
        unique=True,
        postgresql_where=sa.text("released_at IS NULL AND kind = 'node_exclusive'"),
    ),
    sa.Index("allocation_resource_claims_by_allocation", "allocation_id"),
    sa.Index("allocation_resource_claims_live_by_node", "node_id", postgresql_where=sa.text("released_at IS NULL")),
)

skus = sa.Table(
    "skus",
    metadata,
    id_column("sku"),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("shape", sa.Text, nullable=False),
    sa.Column("gpu_model", sa.Text, nullable=False),
    sa.Column("gpu_counts", ARRAY(sa.SmallInteger), nullable=False),
    sa.Column("price_per_gpu_hour_minor", sa.BigInteger, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("offered", sa.Boolean, nullable=False),
    # How well the wipe of its allocations has to be proven, and which checks need not have looked.
    sa.Column("wipe_grade", sa.Text, nullable=False, server_default="inspected"),
    sa.Column("accept_not_examined", ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint("shape IN ('baremetal', 'gpu_slice')", name="skus_shape"),
    sa.CheckConstraint("wipe_grade IN ('inspected', 'rebooted')", name="skus_wipe_grade"),
)

quotas = sa.Table(
    "quotas",
    metadata,
    # A tenant or a project. gpu_limit NULL: no limit. gpus_used moves with the claims, in the same transaction. Another
    # limit that is NULL is, of a tenant, the platform's default; of a project, none of its own.
    sa.Column("scope_id", text_id(), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("gpu_limit", sa.Integer),
    sa.Column("gpus_used", sa.Integer, nullable=False, server_default="0"),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # Artifacts, and publish intents that may become one; their bytes, stored or reserved.
    sa.Column("artifact_limit", sa.Integer),
    sa.Column("artifacts_used", sa.Integer, nullable=False, server_default="0"),
    sa.Column("artifact_byte_limit", sa.BigInteger),
    sa.Column("artifact_bytes_used", sa.BigInteger, nullable=False, server_default="0"),
    # GPUs that were released and are out of use, because it is not proven that they are clean.
    sa.Column("unproven_gpu_limit", sa.Integer),
    sa.Column("unproven_gpus", sa.Integer, nullable=False, server_default="0"),
    # Each api process counts the open streams in memory. NULL: the platform's default, also of a project.
    sa.Column("stream_limit", sa.Integer),
    sa.CheckConstraint("gpus_used >= 0", name="quotas_not_negative"),
    sa.CheckConstraint(
        "artifacts_used >= 0 AND artifact_bytes_used >= 0 AND unproven_gpus >= 0", name="quotas_none_negative"
    ),
)
