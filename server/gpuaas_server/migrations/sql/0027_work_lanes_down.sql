DROP INDEX work_items_by_flow;
DROP INDEX work_items_due;
CREATE INDEX work_items_due ON work_items (run_at);
ALTER TABLE work_items DROP COLUMN flow;
ALTER TABLE work_items DROP COLUMN lane;
