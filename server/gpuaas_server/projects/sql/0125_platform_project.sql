-- One project of the platform itself, which publishes the platform's own apps and runs their controllers.
ALTER TABLE projects ADD COLUMN platform BOOLEAN NOT NULL DEFAULT false;
CREATE UNIQUE INDEX projects_one_of_platform ON projects (platform) WHERE platform;
