DROP FUNCTION take_artifact_quota(text, text, int, bigint, int, bigint);
DROP FUNCTION take_gpu_quota(text[], text[], text, int, int);
ALTER TABLE quotas DROP CONSTRAINT quotas_none_negative;
ALTER TABLE artifacts DROP COLUMN deleting_since;
DROP INDEX publish_intents_uploading;
ALTER TABLE publish_intents DROP COLUMN upload_until, DROP COLUMN upload_token, DROP COLUMN reserved_bytes,
  DROP COLUMN quota_held;
ALTER TABLE quotas DROP COLUMN unproven_gpus, DROP COLUMN unproven_gpu_limit, DROP COLUMN artifact_bytes_used,
  DROP COLUMN artifact_byte_limit, DROP COLUMN artifacts_used, DROP COLUMN artifact_limit;
