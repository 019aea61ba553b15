-- The form that an instance has, as its app names it, and what the app does not take in that form.
ALTER TABLE app_instances ADD COLUMN mode JSONB;
