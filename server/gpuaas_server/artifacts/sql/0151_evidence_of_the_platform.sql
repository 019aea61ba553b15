-- Evidence says who found it out. The previous version of the platform knows publishers only, as the default does.
ALTER TABLE artifact_evidence
  ADD COLUMN source text NOT NULL DEFAULT 'publisher',
  ADD COLUMN operation_id text COLLATE "C",
  ADD CONSTRAINT artifact_evidence_source CHECK (source IN ('platform', 'publisher', 'development'));

-- What said of itself that it ran for development and was not tested.
UPDATE artifact_evidence SET source = 'development'
 WHERE tool LIKE 'gpuaas compose dev %' AND summary = 'for a development version; not tested';

ALTER TABLE trust_policies ADD COLUMN require_smoke_launch boolean NOT NULL DEFAULT false;
