-- The triggers that keep audit rows.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- Audit rows are only ever added. The one exception is their retention: a transaction that says from when on it keeps them
-- (gpuaas.audit_kept_from, local to it) may delete older rows, and never one of the last 30 days.
CREATE FUNCTION refuse_audit_delete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE kept_from CONSTANT timestamptz := nullif(current_setting('gpuaas.audit_kept_from', true), '')::timestamptz;
BEGIN
  IF kept_from IS NULL THEN
    RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
  ELSIF TG_LEVEL = 'ROW' AND OLD.at >= least(kept_from, now() - interval '30 days') THEN
    RAISE EXCEPTION 'this row of % is still kept', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER audit_records_append_only BEFORE UPDATE OR TRUNCATE ON audit_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_records_retention BEFORE DELETE ON audit_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_delete();
CREATE TRIGGER audit_records_kept BEFORE DELETE ON audit_records
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_delete();
