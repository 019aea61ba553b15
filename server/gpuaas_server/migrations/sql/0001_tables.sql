-- The tables of the foundation, as the first release created them. Frozen: later changes are later migrations.

CREATE TABLE agent_listeners (
  process TEXT NOT NULL,
  listening_since TIMESTAMP WITH TIME ZONE NOT NULL,
  flushed_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (process)
);

CREATE TABLE agent_nonces (
  node_id TEXT COLLATE "C" NOT NULL,
  nonce BYTEA NOT NULL,
  seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (node_id, nonce)
);
CREATE INDEX agent_nonces_by_time ON agent_nonces (seen_at);

CREATE TABLE allocation_transitions (
  allocation_id TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  state TEXT NOT NULL,
  phase TEXT,
  failure JSONB,
  actor TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (allocation_id, generation)
);

CREATE TABLE allocations (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'alc\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  batch_id TEXT COLLATE "C",
  name TEXT,
  sku_id TEXT COLLATE "C" NOT NULL,
  sku_name TEXT NOT NULL,
  shape TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_count SMALLINT NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  deadline_at TIMESTAMP WITH TIME ZONE,
  failure JSONB,
  host_generation BIGINT DEFAULT '0' NOT NULL,
  phase TEXT,
  attempt SMALLINT DEFAULT '0' NOT NULL,
  access_wanted BIGINT DEFAULT '0' NOT NULL,
  access_sent BIGINT DEFAULT '0' NOT NULL,
  ssh_address TEXT,
  ssh_port INTEGER,
  ssh_user TEXT,
  baseline_sha256 TEXT,
  wipe_evidence JSONB,
  forced JSONB,
  created_by TEXT COLLATE "C" NOT NULL,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  active_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT allocations_state CHECK (state IN ('requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed'))
);
CREATE INDEX allocations_by_node ON allocations (node_id) WHERE ended_at IS NULL;
CREATE INDEX allocations_by_project ON allocations (project_id, id);

CREATE TABLE audit_records (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'aud\_%%'),
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  tenant_id TEXT COLLATE "C",
  project_id TEXT COLLATE "C",
  actor_id TEXT COLLATE "C" NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  outcome TEXT NOT NULL,
  resource_id TEXT COLLATE "C",
  reason TEXT,
  details JSONB DEFAULT '{}' NOT NULL,
  correlation_id TEXT NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX audit_records_by_correlation ON audit_records (correlation_id);
CREATE INDEX audit_records_by_project ON audit_records (project_id, id);
CREATE INDEX audit_records_by_resource ON audit_records (resource_id, id);
CREATE INDEX audit_records_by_tenant ON audit_records (tenant_id, id);

CREATE TABLE enrolment_tokens (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ent\_%%'),
  token_sha256 BYTEA NOT NULL,
  note TEXT,
  max_uses INTEGER NOT NULL,
  uses INTEGER DEFAULT '0' NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT enrolment_tokens_uses CHECK (uses <= max_uses),
  UNIQUE (token_sha256)
);

CREATE TABLE events (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'evt\_%%'),
  transaction_id BIGINT DEFAULT (pg_current_xact_id()::text::bigint) NOT NULL,
  sequence BIGINT GENERATED ALWAYS AS IDENTITY,
  time TIMESTAMP WITH TIME ZONE NOT NULL,
  type TEXT NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C",
  project_id TEXT COLLATE "C",
  correlation_id TEXT NOT NULL,
  data JSONB NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX events_by_place ON events (transaction_id, sequence);
CREATE INDEX events_by_project ON events (project_id, transaction_id, sequence);
CREATE INDEX events_by_subject ON events (subject, transaction_id, sequence);
CREATE INDEX events_by_time ON events (time);

CREATE TABLE idempotency_keys (
  owner_id TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  fingerprint BYTEA NOT NULL,
  status SMALLINT NOT NULL,
  body BYTEA NOT NULL,
  etag TEXT,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (owner_id, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

CREATE TABLE login_failures (
  username_digest BYTEA NOT NULL,
  failures INTEGER NOT NULL,
  last_failure_at TIMESTAMP WITH TIME ZONE NOT NULL,
  locked_until TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (username_digest)
);
CREATE INDEX login_failures_by_time ON login_failures (last_failure_at);

CREATE TABLE login_rates (
  address TEXT NOT NULL,
  minute TIMESTAMP WITH TIME ZONE NOT NULL,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (address, minute)
);
CREATE INDEX login_rates_by_minute ON login_rates (minute);

CREATE TABLE node_capacity (
  node_id TEXT COLLATE "C" NOT NULL,
  eligible BOOLEAN NOT NULL,
  PRIMARY KEY (node_id)
);

CREATE TABLE node_fits (
  node_id TEXT COLLATE "C" NOT NULL,
  gpu_model TEXT NOT NULL,
  shape TEXT NOT NULL,
  size SMALLINT NOT NULL,
  leftover SMALLINT NOT NULL,
  spread SMALLINT NOT NULL,
  PRIMARY KEY (node_id, gpu_model, shape, size)
);
CREATE INDEX node_fits_best_first ON node_fits (gpu_model, shape, size, leftover, spread, node_id);

CREATE TABLE nodes (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'nod\_%%'),
  name TEXT NOT NULL,
  hostname TEXT NOT NULL,
  address TEXT NOT NULL,
  public_key BYTEA NOT NULL,
  ssh_host_public_key TEXT NOT NULL,
  agent_version TEXT NOT NULL,
  boot_id TEXT,
  cordoned BOOLEAN DEFAULT 'false' NOT NULL,
  draining BOOLEAN DEFAULT 'false' NOT NULL,
  maintenance_reason TEXT,
  maintenance_since TIMESTAMP WITH TIME ZONE,
  maintenance_by TEXT COLLATE "C",
  lost_since TIMESTAMP WITH TIME ZONE,
  retired_at TIMESTAMP WITH TIME ZONE,
  inventory JSONB DEFAULT '{}' NOT NULL,
  inventory_digest BYTEA,
  labels JSONB DEFAULT '{}' NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (public_key)
);
CREATE UNIQUE INDEX nodes_name ON nodes (name) WHERE retired_at IS NULL;

CREATE TABLE outbox_consumers (
  name TEXT NOT NULL,
  transaction_id BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE platform_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'pky\_%%'),
  kind TEXT NOT NULL,
  sealed_private_key BYTEA NOT NULL,
  public_key TEXT NOT NULL,
  certificate TEXT,
  signs_from TIMESTAMP WITH TIME ZONE NOT NULL,
  retired_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT platform_keys_kind CHECK (kind IN ('task_signing', 'ssh_user_ca', 'ssh_host_ca', 'tls_ca'))
);
CREATE INDEX platform_keys_by_kind ON platform_keys (kind, id);

CREATE TABLE quotas (
  scope_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  gpu_limit INTEGER,
  gpus_used INTEGER DEFAULT '0' NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (scope_id),
  CONSTRAINT quotas_not_negative CHECK (gpus_used >= 0)
);

CREATE TABLE signing_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sgk\_%%'),
  public_key BYTEA NOT NULL,
  sealed_private_key BYTEA NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  verifies_until TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id)
);

CREATE TABLE skus (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sku\_%%'),
  name TEXT NOT NULL,
  shape TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_counts SMALLINT[] NOT NULL,
  price_per_gpu_hour_minor BIGINT NOT NULL,
  currency TEXT NOT NULL,
  offered BOOLEAN NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT skus_shape CHECK (shape IN ('baremetal', 'gpu_slice')),
  UNIQUE (name)
);

CREATE TABLE ssh_certificates (
  serial BIGINT GENERATED ALWAYS AS IDENTITY,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT NOT NULL,
  issued_to TEXT COLLATE "C" NOT NULL,
  fingerprint TEXT NOT NULL,
  valid_before TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (serial)
);
CREATE INDEX ssh_certificates_by_allocation ON ssh_certificates (allocation_id, valid_before);

CREATE TABLE ssh_grants (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'grt\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  granted_to TEXT COLLATE "C" NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  note TEXT,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ssh_grants_by_allocation ON ssh_grants (allocation_id, id);

CREATE TABLE ssh_host_certificates (
  serial BIGINT GENERATED ALWAYS AS IDENTITY,
  node_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C",
  address TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  valid_before TIMESTAMP WITH TIME ZONE NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (serial)
);
CREATE INDEX ssh_host_certificates_by_node ON ssh_host_certificates (node_id, serial);

CREATE TABLE ssh_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ssk\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT ssh_keys_one_per_fingerprint UNIQUE (user_id, fingerprint)
);

CREATE TABLE tenants (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'tnt\_%%'),
  tenant_id TEXT COLLATE "C" GENERATED ALWAYS AS (id) STORED,
  slug TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (slug)
);

CREATE TABLE work_items (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'wrk\_%%'),
  kind TEXT NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  run_at TIMESTAMP WITH TIME ZONE NOT NULL,
  wanted BIGINT DEFAULT '1' NOT NULL,
  attempts INTEGER DEFAULT '0' NOT NULL,
  lease_token BIGINT DEFAULT '0' NOT NULL,
  lease_until TIMESTAMP WITH TIME ZONE,
  leased_by TEXT,
  correlation_id TEXT NOT NULL,
  last_error TEXT,
  PRIMARY KEY (id),
  CONSTRAINT work_items_one_per_subject UNIQUE (kind, subject)
);
CREATE INDEX work_items_due ON work_items (run_at);

CREATE TABLE enrolment_uses (
  token_id TEXT COLLATE "C" NOT NULL,
  public_key BYTEA NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  used_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (token_id, public_key),
  FOREIGN KEY(token_id) REFERENCES enrolment_tokens (id),
  FOREIGN KEY(node_id) REFERENCES nodes (id)
);

CREATE TABLE node_heartbeats (
  node_id TEXT COLLATE "C" NOT NULL,
  last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (node_id),
  FOREIGN KEY(node_id) REFERENCES nodes (id)
)
 WITH (fillfactor = 50);

CREATE TABLE node_resource_slots (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'slt\_%%'),
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
  PRIMARY KEY (id),
  CONSTRAINT node_resource_slots_one_per_index UNIQUE (node_id, slot_index),
  CONSTRAINT node_resource_slots_one_per_device UNIQUE (node_id, pci_address),
  CONSTRAINT node_resource_slots_status CHECK (status IN ('discovered', 'available', 'claimed', 'cleaning', 'cleanup_blocked', 'disabled')),
  CONSTRAINT node_resource_slots_shape CHECK (capacity_shape IN ('any', 'baremetal', 'gpu_slice')),
  FOREIGN KEY(node_id) REFERENCES node_capacity (node_id)
);
CREATE INDEX node_resource_slots_by_model ON node_resource_slots (gpu_model, status);

CREATE TABLE node_tasks (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'tsk\_%%'),
  node_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  resource_id TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  spec JSONB NOT NULL,
  deadline TIMESTAMP WITH TIME ZONE NOT NULL,
  status TEXT DEFAULT 'pending' NOT NULL,
  phases JSONB DEFAULT '[]' NOT NULL,
  result JSONB,
  evidence JSONB,
  failure JSONB,
  report_sha256 BYTEA,
  correlation_id TEXT NOT NULL,
  traceparent TEXT NOT NULL,
  notify_kind TEXT NOT NULL,
  notify_subject TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  reported_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT node_tasks_status CHECK (status IN ('pending', 'succeeded', 'failed', 'refused', 'expired', 'superseded')),
  CONSTRAINT node_tasks_one_per_generation UNIQUE (resource_id, generation),
  FOREIGN KEY(node_id) REFERENCES nodes (id)
);
CREATE INDEX node_tasks_by_node ON node_tasks (node_id, id);
CREATE INDEX node_tasks_overdue ON node_tasks (deadline) WHERE status = 'pending';
CREATE INDEX node_tasks_pending ON node_tasks (node_id) WHERE status = 'pending';

CREATE TABLE projects (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'prj\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  slug TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT projects_one_per_slug UNIQUE (tenant_id, slug),
  CONSTRAINT projects_with_tenant UNIQUE (id, tenant_id),
  FOREIGN KEY(tenant_id) REFERENCES tenants (id)
);

CREATE TABLE users (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'usr\_%%'),
  tenant_id TEXT COLLATE "C",
  email TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  auth_epoch INTEGER DEFAULT '1' NOT NULL,
  last_sign_in_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT users_one_per_email UNIQUE (email),
  CONSTRAINT users_with_tenant UNIQUE (id, tenant_id),
  CONSTRAINT users_email_lower CHECK (email = lower(email)),
  FOREIGN KEY(tenant_id) REFERENCES tenants (id)
);
CREATE INDEX users_by_tenant ON users (tenant_id, id);

CREATE TABLE allocation_resource_claims (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'clm\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  slot_id TEXT COLLATE "C",
  lane INT4RANGE NOT NULL,
  claimed_at TIMESTAMP WITH TIME ZONE NOT NULL,
  released_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT allocation_resource_claims_kind CHECK ((kind = 'slot' AND slot_id IS NOT NULL AND upper(lane) = lower(lane) + 1) OR (kind = 'node_exclusive' AND slot_id IS NULL AND lower_inf(lane) AND upper_inf(lane))),
  CONSTRAINT allocation_resource_claims_no_overlap EXCLUDE USING gist (node_id WITH =, lane WITH &&) WHERE (released_at IS NULL),
  FOREIGN KEY(slot_id) REFERENCES node_resource_slots (id)
);
CREATE INDEX allocation_resource_claims_by_allocation ON allocation_resource_claims (allocation_id);
CREATE INDEX allocation_resource_claims_live_by_node ON allocation_resource_claims (node_id) WHERE released_at IS NULL;
CREATE UNIQUE INDEX allocation_resource_claims_one_per_node ON allocation_resource_claims (node_id) WHERE released_at IS NULL AND kind = 'node_exclusive';
CREATE UNIQUE INDEX allocation_resource_claims_one_per_slot ON allocation_resource_claims (slot_id) WHERE released_at IS NULL AND kind = 'slot';

CREATE TABLE role_bindings (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'rbd\_%%'),
  user_id TEXT COLLATE "C" NOT NULL,
  role TEXT NOT NULL,
  tenant_id TEXT COLLATE "C",
  project_id TEXT COLLATE "C",
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT role_bindings_own_tenant FOREIGN KEY(user_id, tenant_id) REFERENCES users (id, tenant_id),
  CONSTRAINT role_bindings_own_project FOREIGN KEY(project_id, tenant_id) REFERENCES projects (id, tenant_id),
  CONSTRAINT role_bindings_one_per_place UNIQUE NULLS NOT DISTINCT (user_id, tenant_id, project_id),
  CONSTRAINT role_bindings_role_fits_place CHECK (CASE role WHEN 'platform_admin' THEN tenant_id IS NULL AND project_id IS NULL WHEN 'platform_operator' THEN tenant_id IS NULL AND project_id IS NULL WHEN 'tenant_admin' THEN tenant_id IS NOT NULL AND project_id IS NULL WHEN 'project_admin' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL WHEN 'project_member' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL WHEN 'project_viewer' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL ELSE false END),
  FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX role_bindings_by_project ON role_bindings (project_id, user_id);
CREATE INDEX role_bindings_by_tenant ON role_bindings (tenant_id, role);

CREATE TABLE service_accounts (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sva\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT[] NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT service_accounts_own_project FOREIGN KEY(project_id, tenant_id) REFERENCES projects (id, tenant_id),
  CONSTRAINT service_accounts_one_per_name UNIQUE (project_id, name),
  CONSTRAINT service_accounts_with_tenant UNIQUE (id, tenant_id)
);

CREATE TABLE service_account_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'key\_%%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  service_account_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE,
  last_used_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT service_account_keys_own_account FOREIGN KEY(service_account_id, tenant_id) REFERENCES service_accounts (id, tenant_id)
);
CREATE INDEX service_account_keys_by_account ON service_account_keys (service_account_id, id);
