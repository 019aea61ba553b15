-- SQL cannot put a key that is in custody back under the master key, and without its keys the platform is another one.
DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM platform_private_keys) THEN
    RAISE EXCEPTION 'platform keys are in custody: go back by restoring the backup of before the upgrade';
  END IF;
END $$;
DELETE FROM platform_keys WHERE sealed_private_key IS NULL;
DELETE FROM signing_keys WHERE sealed_private_key IS NULL;
ALTER TABLE platform_keys ALTER COLUMN sealed_private_key SET NOT NULL;
ALTER TABLE signing_keys ALTER COLUMN sealed_private_key SET NOT NULL;
DROP TABLE platform_private_keys;
