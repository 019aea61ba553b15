-- The table of sample items; tables.py says what the columns mean.

CREATE TABLE sample_items (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'smp\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  state TEXT NOT NULL, -- with states
  state_since TIMESTAMP WITH TIME ZONE NOT NULL, -- with states
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT sample_items_state CHECK (state IN ('requested', 'active', 'ended')), -- with states
  CONSTRAINT sample_items_one_per_name UNIQUE (project_id, name)
);
CREATE INDEX sample_items_by_project ON sample_items (project_id, id);
SELECT raise_tenant_wall('sample_items');
