DROP INDEX ssh_certificates_by_operation;
DROP INDEX ssh_certificates_by_credential;
ALTER TABLE ssh_certificates DROP COLUMN operation_id;
ALTER TABLE ssh_certificates DROP COLUMN access_credential_id;
DROP TABLE credential_deliveries;
DROP TABLE access_credentials;
DROP TABLE secrets;
DROP TABLE secret_keys;
