ALTER TABLE publish_intents RENAME COLUMN quota_held TO quota_reserved;
