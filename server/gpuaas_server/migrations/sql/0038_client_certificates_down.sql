DROP TABLE service_account_certificates;
ALTER TABLE service_accounts DROP COLUMN certificate_required;
DELETE FROM platform_private_keys WHERE id IN (SELECT id FROM platform_keys WHERE kind = 'client_ca');
DELETE FROM platform_keys WHERE kind = 'client_ca';
ALTER TABLE platform_keys DROP CONSTRAINT platform_keys_kind;
ALTER TABLE platform_keys ADD CONSTRAINT platform_keys_kind
  CHECK (kind IN ('task_signing', 'ssh_user_ca', 'ssh_host_ca', 'tls_ca', 'registry_token'));
