-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE node_tasks (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'tsk\_%'),
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
  reported_key_generation INTEGER,
  tenant_id TEXT COLLATE "C",
  PRIMARY KEY (id),
  CONSTRAINT node_tasks_status CHECK (status IN ('pending', 'succeeded', 'failed', 'refused', 'expired', 'superseded')),
  CONSTRAINT node_tasks_tenant CHECK (tenant_id IS NOT NULL OR resource_id = node_id),
  CONSTRAINT node_tasks_one_per_generation UNIQUE (resource_id, generation)
);
CREATE INDEX node_tasks_by_node ON node_tasks (node_id, id);
CREATE INDEX node_tasks_finished ON node_tasks (reported_at) WHERE status <> 'pending';
CREATE INDEX node_tasks_overdue ON node_tasks (deadline) WHERE status = 'pending';
CREATE INDEX node_tasks_pending ON node_tasks (node_id) WHERE status = 'pending';
SELECT raise_tenant_wall('node_tasks');
