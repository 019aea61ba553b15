-- The triggers that keep receipts.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- A settled receipt never changes. The one thing that may still be added is that somebody went on without the proof: then it
-- is *not verified*, and what was seen stays unchanged beside it.
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
