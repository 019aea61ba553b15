-- Tenants and projects that are deleted after a grace period, and what was removed of them.
ALTER TABLE tenants ADD COLUMN delete_after TIMESTAMP WITH TIME ZONE;
ALTER TABLE projects ADD COLUMN delete_after TIMESTAMP WITH TIME ZONE;
CREATE TABLE deletions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'del\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C",
  state TEXT DEFAULT 'scheduled' NOT NULL,
  requested_by TEXT COLLATE "C" NOT NULL,
  requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
  removed JSONB DEFAULT '{}' NOT NULL,
  ended_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT deletions_state CHECK (state IN ('scheduled', 'undone', 'purging', 'purged')),
  CONSTRAINT deletions_ended CHECK ((ended_at IS NULL) = (state IN ('scheduled', 'purging')))
);
CREATE UNIQUE INDEX deletions_live ON deletions (tenant_id, project_id) NULLS NOT DISTINCT WHERE ended_at IS NULL;
SELECT raise_tenant_wall('deletions');

-- Since when only what a bill and the proof of the wipe need is left of an allocation.
ALTER TABLE allocations ADD COLUMN purged_at TIMESTAMP WITH TIME ZONE;

-- These records outlive what they are about: usage for bills, deliveries until their retention ends.
ALTER TABLE app_usage_records DROP CONSTRAINT app_usage_records_served;
ALTER TABLE credential_deliveries DROP CONSTRAINT credential_deliveries_credential_id_fkey;

CREATE INDEX instance_projects_by_project ON instance_projects (project_id, instance_id);
CREATE INDEX secrets_by_project ON secrets (project_id, id, version);
