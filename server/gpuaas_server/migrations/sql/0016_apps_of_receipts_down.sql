DROP INDEX teardown_receipts_by_app;
ALTER TABLE teardown_receipts DROP COLUMN app_slug;
