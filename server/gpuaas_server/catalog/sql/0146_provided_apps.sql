-- How far the platform's own apps are. They are of no tenant, and every project reads them.
CREATE TABLE provided_apps (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  display_name TEXT NOT NULL,
  state TEXT NOT NULL,
  detail TEXT,
  reported_at TIMESTAMP WITH TIME ZONE NOT NULL,
  CONSTRAINT provided_apps_state CHECK (state IN ('preparing', 'provided', 'unavailable'))
);
