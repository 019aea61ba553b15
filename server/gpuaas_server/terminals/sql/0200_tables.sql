-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE terminals (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'trm\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  opened_by TEXT COLLATE "C" NOT NULL,
  opened_by_kind TEXT NOT NULL,
  opened_by_name TEXT NOT NULL,
  address TEXT NOT NULL,
  columns SMALLINT NOT NULL,
  rows SMALLINT NOT NULL,
  idle_seconds INTEGER NOT NULL,
  max_seconds INTEGER NOT NULL,
  open_by TIMESTAMP WITH TIME ZONE NOT NULL,
  holder TEXT,
  lease_until TIMESTAMP WITH TIME ZONE,
  opened_at TIMESTAMP WITH TIME ZONE,
  ends_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE,
  reason TEXT,
  message TEXT,
  exit_status SMALLINT,
  bytes_in BIGINT DEFAULT 0 NOT NULL,
  bytes_out BIGINT DEFAULT 0 NOT NULL,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT terminals_status CHECK (status IN ('requested', 'open', 'ended')),
  CONSTRAINT terminals_ended CHECK ((status = 'ended') = (ended_at IS NOT NULL AND reason IS NOT NULL)),
  CONSTRAINT terminals_opened CHECK (status <> 'open' OR (opened_at IS NOT NULL AND holder IS NOT NULL))
);
CREATE INDEX terminals_by_allocation ON terminals (allocation_id, id);
CREATE INDEX terminals_by_end ON terminals (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX terminals_live_by_user ON terminals (opened_by) WHERE status <> 'ended';
SELECT raise_tenant_wall('terminals');
SELECT hide_from_controllers('terminals');
