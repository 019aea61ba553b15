-- A person's session in a browser: the cookie's secret is here as a digest only. It moves on while it is used, up to its end.
CREATE TABLE browser_sessions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'bws\_%'),
  user_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C",
  auth_epoch INTEGER NOT NULL,
  secret_digest BYTEA NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT browser_sessions_one_per_secret UNIQUE (secret_digest),
  CONSTRAINT browser_sessions_end_in_time CHECK (expires_at <= ends_at),
  FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE INDEX browser_sessions_by_end ON browser_sessions (expires_at);
CREATE INDEX browser_sessions_by_user ON browser_sessions (user_id, id);
