-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE node_capacity (
  node_id TEXT COLLATE "C" NOT NULL,
  eligible BOOLEAN NOT NULL,
  wipe_grade TEXT DEFAULT 'inspected' NOT NULL,
  erase_drives BOOLEAN DEFAULT 'true' NOT NULL,
  PRIMARY KEY (node_id),
  CONSTRAINT node_capacity_wipe_grade CHECK (wipe_grade IN ('inspected', 'rebooted'))
);

CREATE TABLE node_fits (
  node_id TEXT COLLATE "C" NOT NULL,
  gpu_model TEXT NOT NULL,
  shape TEXT NOT NULL,
  size SMALLINT NOT NULL,
  leftover SMALLINT NOT NULL,
  spread SMALLINT NOT NULL,
  wipe_grade TEXT DEFAULT 'inspected' NOT NULL,
  drives_erased BOOLEAN DEFAULT 'true' NOT NULL,
  PRIMARY KEY (node_id, gpu_model, shape, size, wipe_grade)
);
CREATE INDEX node_fits_best_first ON node_fits (gpu_model, shape, size, wipe_grade, leftover, spread, node_id);

CREATE TABLE quotas (
  scope_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  gpu_limit INTEGER,
  gpus_used INTEGER DEFAULT '0' NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  artifact_limit INTEGER,
  artifacts_used INTEGER DEFAULT '0' NOT NULL,
  artifact_byte_limit BIGINT,
  artifact_bytes_used BIGINT DEFAULT '0' NOT NULL,
  unproven_gpu_limit INTEGER,
  unproven_gpus INTEGER DEFAULT '0' NOT NULL,
  PRIMARY KEY (scope_id),
  CONSTRAINT quotas_not_negative CHECK (gpus_used >= 0),
  CONSTRAINT quotas_none_negative CHECK (artifacts_used >= 0 AND artifact_bytes_used >= 0 AND unproven_gpus >= 0)
);
SELECT raise_tenant_wall('quotas');

CREATE TABLE skus (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sku\_%'),
  name TEXT NOT NULL,
  shape TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_counts SMALLINT[] NOT NULL,
  price_per_gpu_hour_minor BIGINT NOT NULL,
  currency TEXT NOT NULL,
  offered BOOLEAN NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  wipe_grade TEXT DEFAULT 'inspected' NOT NULL,
  accept_not_examined TEXT[] DEFAULT '{}' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT skus_shape CHECK (shape IN ('baremetal', 'gpu_slice')),
  CONSTRAINT skus_wipe_grade CHECK (wipe_grade IN ('inspected', 'rebooted')),
  UNIQUE (name)
);

CREATE TABLE node_resource_slots (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'slt\_%'),
  node_id TEXT COLLATE "C" NOT NULL,
  slot_index SMALLINT NOT NULL,
  status TEXT NOT NULL,
  status_reason TEXT,
  capacity_shape TEXT DEFAULT 'any' NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_uuid TEXT,
  memory_mib INTEGER,
  pci_address TEXT NOT NULL,
  numa_node SMALLINT,
  nvlink_group TEXT,
  nvme_device TEXT,
  iommu_group INTEGER,
  vf JSONB,
  partition JSONB,
  present BOOLEAN DEFAULT 'true' NOT NULL,
  approved_at TIMESTAMP WITH TIME ZONE,
  approved_by TEXT COLLATE "C",
  generation BIGINT DEFAULT '1' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  lane SMALLINT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT node_resource_slots_one_per_lane UNIQUE (node_id, lane),
  CONSTRAINT node_resource_slots_one_per_device UNIQUE (node_id, pci_address),
  CONSTRAINT node_resource_slots_status
    CHECK (status IN ('discovered', 'available', 'claimed', 'cleaning', 'cleanup_blocked', 'disabled')),
  CONSTRAINT node_resource_slots_shape CHECK (capacity_shape IN ('any', 'baremetal', 'gpu_slice')),
  FOREIGN KEY (node_id) REFERENCES node_capacity (node_id)
);
CREATE INDEX node_resource_slots_by_model ON node_resource_slots (gpu_model, status);
CREATE UNIQUE INDEX node_resource_slots_one_per_index ON node_resource_slots (node_id, slot_index) WHERE present;
CREATE INDEX node_resource_slots_out_of_use ON node_resource_slots (status, node_id)
  WHERE present AND status IN ('discovered', 'cleanup_blocked', 'disabled');

CREATE TABLE allocation_resource_claims (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'clm\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  slot_id TEXT COLLATE "C",
  lane INT4RANGE NOT NULL,
  claimed_at TIMESTAMP WITH TIME ZONE NOT NULL,
  released_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT allocation_resource_claims_kind
    CHECK ((kind = 'slot' AND slot_id IS NOT NULL AND upper(lane) = lower(lane) + 1)
      OR (kind = 'node_exclusive' AND slot_id IS NULL AND lower_inf(lane) AND upper_inf(lane))),
  CONSTRAINT allocation_resource_claims_no_overlap EXCLUDE USING gist (node_id WITH =, lane WITH &&)
    WHERE (released_at IS NULL),
  FOREIGN KEY (slot_id) REFERENCES node_resource_slots (id)
);
CREATE INDEX allocation_resource_claims_by_allocation ON allocation_resource_claims (allocation_id);
CREATE INDEX allocation_resource_claims_live_by_node ON allocation_resource_claims (node_id) WHERE released_at IS NULL;
CREATE UNIQUE INDEX allocation_resource_claims_one_per_node ON allocation_resource_claims (node_id)
  WHERE released_at IS NULL AND kind = 'node_exclusive';
CREATE UNIQUE INDEX allocation_resource_claims_one_per_slot ON allocation_resource_claims (slot_id)
  WHERE released_at IS NULL AND kind = 'slot';
SELECT raise_tenant_wall('allocation_resource_claims');
