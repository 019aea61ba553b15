ALTER TABLE publish_intents RENAME COLUMN quota_reserved TO quota_held;
