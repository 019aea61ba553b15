-- Bytes that each project has in the image registry, as its process measured them last.
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
