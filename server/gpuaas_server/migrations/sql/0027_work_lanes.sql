-- Which slots of a worker a row may use, and whose share of them (see work/lanes.py). An api of the release before writes
-- neither: its rows are interactive, and the platform's.
ALTER TABLE work_items ADD COLUMN lane SMALLINT NOT NULL DEFAULT 1;
ALTER TABLE work_items ADD COLUMN flow TEXT NOT NULL DEFAULT '';
UPDATE work_items SET lane = 0
  WHERE kind IN ('node_liveness', 'access_end', 'operation_access_end', 'secret_erase', 'instance_flag');
UPDATE work_items SET lane = 2 WHERE kind IN ('publish_intent', 'artifact_check', 'housekeeping', 'secret_rewrap');
DROP INDEX work_items_due;
CREATE INDEX work_items_due ON work_items (lane, run_at);
CREATE INDEX work_items_by_flow ON work_items (lane, flow, run_at);
