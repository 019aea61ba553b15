CREATE TABLE platform_private_keys (
  id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL REFERENCES secret_keys (id),
  wrapped_key BYTEA NOT NULL,
  sealed_value BYTEA NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX platform_private_keys_by_key ON platform_private_keys (key_id, id);

ALTER TABLE platform_keys ALTER COLUMN sealed_private_key DROP NOT NULL;
ALTER TABLE signing_keys ALTER COLUMN sealed_private_key DROP NOT NULL;

-- Nothing is signed with these any more.
UPDATE platform_keys SET sealed_private_key = NULL WHERE retired_at IS NOT NULL;
UPDATE signing_keys SET sealed_private_key = NULL WHERE verifies_until IS NOT NULL;
