CREATE TABLE maintenance_windows (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'mtw\_%'),
  node_id TEXT COLLATE "C" NOT NULL REFERENCES nodes (id),
  state TEXT DEFAULT 'planned' NOT NULL,
  starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
  reason TEXT NOT NULL,
  cordoned_at TIMESTAMP WITH TIME ZONE,
  planned_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  started_at TIMESTAMP WITH TIME ZONE,
  finished_at TIMESTAMP WITH TIME ZONE,
  finished_by TEXT COLLATE "C",
  finished_reason TEXT,
  PRIMARY KEY (id),
  CONSTRAINT maintenance_windows_state CHECK (state IN ('planned', 'active', 'ended', 'cancelled')),
  CONSTRAINT maintenance_windows_span CHECK (starts_at < ends_at)
);
CREATE UNIQUE INDEX maintenance_windows_live ON maintenance_windows (node_id) WHERE state = 'planned' OR state = 'active';
CREATE INDEX maintenance_windows_by_node ON maintenance_windows (node_id, id);
