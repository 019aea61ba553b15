-- The triggers that keep the log of credential deliveries.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- Deliveries are only ever added. As with audit rows, the one exception is their retention: a transaction that says from when
-- on it keeps them (gpuaas.deliveries_kept_from, local to it) may delete older rows, never one of the last 30 days.
CREATE FUNCTION refuse_delivery_delete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE kept_from CONSTANT timestamptz := nullif(current_setting('gpuaas.deliveries_kept_from', true), '')::timestamptz;
BEGIN
  IF kept_from IS NULL THEN
    RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
  ELSIF TG_LEVEL = 'ROW' AND OLD.delivered_at >= least(kept_from, now() - interval '30 days') THEN
    RAISE EXCEPTION 'this row of % is still kept', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER credential_deliveries_append_only BEFORE UPDATE OR TRUNCATE ON credential_deliveries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER credential_deliveries_retention BEFORE DELETE ON credential_deliveries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_delivery_delete();
CREATE TRIGGER credential_deliveries_kept BEFORE DELETE ON credential_deliveries
  FOR EACH ROW EXECUTE FUNCTION refuse_delivery_delete();
