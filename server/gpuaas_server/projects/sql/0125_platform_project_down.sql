DROP INDEX projects_one_of_platform;
ALTER TABLE projects DROP COLUMN platform;
