CREATE TABLE teardown_receipts (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'rcp\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  operation_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  member_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  shape TEXT NOT NULL,
  depth TEXT NOT NULL,
  footprint JSONB NOT NULL,
  footprint_sha256 TEXT NOT NULL,
  baseline_sha256 TEXT,
  revoked_serials JSONB NOT NULL,
  status TEXT NOT NULL,
  attempt SMALLINT NOT NULL,
  deadline_at TIMESTAMP WITH TIME ZONE NOT NULL,
  code TEXT,
  message TEXT,
  checks JSONB DEFAULT '[]' NOT NULL,
  forced JSONB,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  settled_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT teardown_receipts_status CHECK (status IN ('pending', 'clean', 'left', 'unseen', 'not_verified')),
  CONSTRAINT teardown_receipts_depth CHECK (depth IN ('stopped', 'gone')),
  CONSTRAINT teardown_receipts_forced CHECK ((status = 'not_verified') = (forced IS NOT NULL)),
  CONSTRAINT teardown_receipts_one_per_member UNIQUE (operation_id, member_id)
);
CREATE INDEX teardown_receipts_by_project ON teardown_receipts (project_id, id);
CREATE INDEX teardown_receipts_by_instance ON teardown_receipts (instance_id, id);
CREATE INDEX teardown_receipts_by_allocation ON teardown_receipts (allocation_id, id);
SELECT raise_tenant_wall('teardown_receipts');

-- A settled receipt says for ever what it says. The one thing that may still be added is that somebody went on without the
-- proof: then it is *not verified*, with what was seen unchanged beside it.
CREATE FUNCTION keep_receipt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'pending' THEN
    RETURN NEW;
  ELSIF OLD.status IN ('left', 'unseen') AND NEW.status = 'not_verified'
    AND to_jsonb(NEW) - 'status' - 'forced' = to_jsonb(OLD) - 'status' - 'forced' THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a settled receipt does not change' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER teardown_receipts_kept BEFORE UPDATE ON teardown_receipts
  FOR EACH ROW EXECUTE FUNCTION keep_receipt();
CREATE TRIGGER teardown_receipts_stay BEFORE DELETE OR TRUNCATE ON teardown_receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
