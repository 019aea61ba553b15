ALTER TABLE terminals RENAME COLUMN sentence TO message;
