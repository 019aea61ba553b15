-- An index that only statements in the order of time can use, whatever the statistics say: see work/leases.py.
-- `work_items_due`, on which the previous version relies, stays for one release.
CREATE INDEX work_items_in_order ON work_items ((lane + 0), run_at);
