ALTER TABLE trust_policies DROP COLUMN require_smoke_launch;
ALTER TABLE artifact_evidence
  DROP CONSTRAINT artifact_evidence_source,
  DROP COLUMN operation_id,
  DROP COLUMN source;
