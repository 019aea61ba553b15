-- Failures are remembered for minutes: those from before are not worth a guess at their network.
DELETE FROM login_failures;
ALTER TABLE login_failures ADD COLUMN network TEXT COLLATE "C" NOT NULL;
ALTER TABLE login_failures DROP CONSTRAINT login_failures_pkey;
ALTER TABLE login_failures ADD PRIMARY KEY (username_digest, network);
-- Where each account has signed in from: nobody elsewhere can lock it there.
CREATE TABLE login_networks (
  username_digest BYTEA NOT NULL,
  network TEXT COLLATE "C" NOT NULL,
  last_sign_in_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (username_digest, network)
);
