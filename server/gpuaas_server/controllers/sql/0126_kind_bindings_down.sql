DROP INDEX app_versions_by_kind;
ALTER TABLE controller_consents DROP CONSTRAINT controller_consents_given_with, DROP COLUMN given_with;
DELETE FROM controller_bindings WHERE kind_binding_id IS NOT NULL;
DROP INDEX controller_bindings_by_kind_binding;
ALTER TABLE controller_bindings
  DROP CONSTRAINT controller_bindings_app,
  DROP CONSTRAINT controller_bindings_own_app,
  DROP COLUMN own_project_id,
  DROP COLUMN kind_binding_id,
  ADD CONSTRAINT controller_bindings_own_app FOREIGN KEY (app_id, project_id) REFERENCES apps (id, project_id);
DROP TABLE controller_kind_bindings;
