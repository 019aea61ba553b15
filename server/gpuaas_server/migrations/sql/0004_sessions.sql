-- What lets a person stay signed in without keeping a password. Tokens are here as digests only.
CREATE TABLE sessions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ses\_%'),
  user_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C",
  auth_epoch INTEGER NOT NULL,
  family_digest BYTEA NOT NULL,
  token_digest BYTEA NOT NULL,
  previous_digest BYTEA,
  rotated_at TIMESTAMP WITH TIME ZONE NOT NULL,
  retried BOOLEAN DEFAULT 'false' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT sessions_one_per_family UNIQUE (family_digest),
  FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
