-- The probes that the host of a member runs, and what the host says of them.
ALTER TABLE app_members ADD COLUMN watch jsonb, ADD COLUMN probe_report jsonb;
