DROP TABLE login_networks;
DELETE FROM login_failures;
ALTER TABLE login_failures DROP CONSTRAINT login_failures_pkey;
ALTER TABLE login_failures DROP COLUMN network;
ALTER TABLE login_failures ADD PRIMARY KEY (username_digest);
