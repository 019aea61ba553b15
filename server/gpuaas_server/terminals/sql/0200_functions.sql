-- The trigger that keeps the record of a terminal.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- The record of a terminal that has ended does not change.
CREATE FUNCTION keep_ended_terminal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an ended terminal does not change' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER terminals_kept BEFORE UPDATE ON terminals
  FOR EACH ROW WHEN (OLD.status = 'ended') EXECUTE FUNCTION keep_ended_terminal();
