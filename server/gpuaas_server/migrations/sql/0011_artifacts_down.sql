DELETE FROM platform_keys WHERE kind = 'registry_token';
ALTER TABLE platform_keys DROP CONSTRAINT platform_keys_kind;
ALTER TABLE platform_keys ADD CONSTRAINT platform_keys_kind
  CHECK (kind IN ('task_signing', 'ssh_user_ca', 'ssh_host_ca', 'tls_ca'));
DROP FUNCTION artifact_to_pull(text, text);
DROP FUNCTION artifact_facts(text[], text);
DROP TABLE runtime_secrets, trust_keys, trust_policies, publish_intents, artifact_evidence, artifacts;
