DROP TABLE teardown_receipts;
DROP FUNCTION keep_receipt();
