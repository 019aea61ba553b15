-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE artifact_evidence (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'evd\_%'),
  artifact_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  passed BOOLEAN NOT NULL,
  tool TEXT NOT NULL,
  summary TEXT NOT NULL,
  submitted_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  source TEXT DEFAULT 'publisher' NOT NULL,
  operation_id TEXT COLLATE "C",
  PRIMARY KEY (id),
  CONSTRAINT artifact_evidence_kind CHECK (kind IN ('lint', 'smoke')),
  CONSTRAINT artifact_evidence_source CHECK (source IN ('platform', 'publisher', 'development'))
);
CREATE INDEX artifact_evidence_by_artifact ON artifact_evidence (artifact_id, id);
SELECT raise_tenant_wall('artifact_evidence');

CREATE TABLE artifacts (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'art\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  size_bytes BIGINT NOT NULL,
  media_type TEXT NOT NULL,
  location TEXT NOT NULL,
  stage TEXT NOT NULL,
  stage_since TIMESTAMP WITH TIME ZONE NOT NULL,
  canary_percent SMALLINT DEFAULT '0' NOT NULL,
  trust TEXT NOT NULL,
  trust_detail TEXT NOT NULL,
  signed_by TEXT[] NOT NULL,
  signatures TEXT[] NOT NULL,
  check_until TIMESTAMP WITH TIME ZONE,
  checked_at TIMESTAMP WITH TIME ZONE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  deleting_since TIMESTAMP WITH TIME ZONE,
  registry TEXT,
  pull_secret_id TEXT COLLATE "C",
  PRIMARY KEY (id),
  CONSTRAINT artifacts_kind CHECK (kind IN ('oci', 'blob')),
  CONSTRAINT artifacts_digest CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
  CONSTRAINT artifacts_stage CHECK (stage IN ('draft', 'staged', 'canary', 'active', 'deprecated', 'retired')),
  CONSTRAINT artifacts_trust CHECK (trust IN ('unverified', 'verified', 'failed_verification', 'revoked')),
  CONSTRAINT artifacts_canary CHECK (canary_percent BETWEEN 0 AND 100),
  CONSTRAINT artifacts_one_per_digest UNIQUE (project_id, digest),
  CONSTRAINT artifacts_pull_secret CHECK (registry IS NOT NULL OR pull_secret_id IS NULL)
);
CREATE INDEX artifacts_by_digest ON artifacts (digest, id);
CREATE INDEX artifacts_by_project ON artifacts (project_id, id);
CREATE INDEX artifacts_by_tenant ON artifacts (tenant_id, id);
SELECT raise_tenant_wall('artifacts');

CREATE TABLE publish_intents (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'pub\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size_bytes BIGINT,
  digest TEXT COLLATE "C",
  state TEXT NOT NULL,
  deadline_at TIMESTAMP WITH TIME ZONE,
  failure JSONB,
  artifact_id TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ended_at TIMESTAMP WITH TIME ZONE,
  generation BIGINT DEFAULT '1' NOT NULL,
  quota_reserved BOOLEAN DEFAULT 'false' NOT NULL,
  reserved_bytes BIGINT DEFAULT '0' NOT NULL,
  upload_token TEXT,
  upload_until TIMESTAMP WITH TIME ZONE,
  registry TEXT,
  repository TEXT,
  pull_secret_id TEXT COLLATE "C",
  part_bytes BIGINT,
  parts_name TEXT,
  PRIMARY KEY (id),
  CONSTRAINT publish_intents_state
    CHECK (state IN ('open', 'verifying', 'registered', 'failed', 'expired', 'cancelled')),
  CONSTRAINT publish_intents_deadline CHECK ((ended_at IS NULL) = (deadline_at IS NOT NULL)),
  CONSTRAINT publish_intents_external CHECK ((registry IS NULL) = (repository IS NULL))
);
CREATE INDEX publish_intents_by_end ON publish_intents (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX publish_intents_by_project ON publish_intents (project_id, id);
CREATE INDEX publish_intents_uploading ON publish_intents (tenant_id, project_id) WHERE upload_token IS NOT NULL;
SELECT raise_tenant_wall('publish_intents');

CREATE TABLE registry_usage (
  project_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  size_bytes BIGINT NOT NULL,
  measured_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (project_id),
  CONSTRAINT registry_usage_size CHECK (size_bytes >= 0)
);
CREATE INDEX registry_usage_by_tenant ON registry_usage (tenant_id);
SELECT raise_tenant_wall('registry_usage');

CREATE TABLE runtime_secrets (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'rts\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  purpose TEXT NOT NULL,
  operation_id TEXT COLLATE "C" NOT NULL,
  artifact_id TEXT COLLATE "C" NOT NULL,
  secret_digest BYTEA NOT NULL,
  issued_to TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  last_used_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT runtime_secrets_purpose CHECK (purpose = 'artifact_pull')
);
CREATE INDEX runtime_secrets_by_end ON runtime_secrets (expires_at);
CREATE INDEX runtime_secrets_by_operation ON runtime_secrets (operation_id, id);
SELECT raise_tenant_wall('runtime_secrets');

CREATE TABLE trust_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'tky\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  algorithm TEXT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  revoked_reason TEXT,
  PRIMARY KEY (id),
  CONSTRAINT trust_keys_once UNIQUE (tenant_id, fingerprint)
);
CREATE INDEX trust_keys_by_tenant ON trust_keys (tenant_id, id);
SELECT raise_tenant_wall('trust_keys');

CREATE TABLE trust_policies (
  tenant_id TEXT COLLATE "C" NOT NULL,
  require_signature BOOLEAN NOT NULL,
  updated_by TEXT COLLATE "C" NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  require_smoke_launch BOOLEAN DEFAULT 'false' NOT NULL,
  PRIMARY KEY (tenant_id)
);
SELECT raise_tenant_wall('trust_policies');
