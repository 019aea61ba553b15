ALTER TABLE terminals RENAME COLUMN message TO sentence;
