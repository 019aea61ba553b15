CREATE TABLE host_reports (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'hrp\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  reason TEXT NOT NULL,
  reported_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  cleared_at TIMESTAMP WITH TIME ZONE,
  cleared_by TEXT COLLATE "C",
  cleared_reason TEXT,
  PRIMARY KEY (id),
  CONSTRAINT host_reports_cleared CHECK (
    (cleared_at IS NULL) = (cleared_by IS NULL) AND (cleared_at IS NULL) = (cleared_reason IS NULL)
  )
);
CREATE UNIQUE INDEX host_reports_open_by_allocation ON host_reports (allocation_id) WHERE cleared_at IS NULL;
CREATE INDEX host_reports_open_by_tenant ON host_reports (tenant_id) WHERE cleared_at IS NULL;
CREATE INDEX host_reports_by_node ON host_reports (node_id, id);
SELECT raise_tenant_wall('host_reports');
