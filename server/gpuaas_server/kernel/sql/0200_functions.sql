-- Functions that the SQL of every noun may use.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- Exclusion constraints compare ids and ranges by it.
CREATE EXTENSION IF NOT EXISTS btree_gist;

-- Puts a table behind the tenant wall. A connection sees rows of its own tenant, or all rows when it acts for the platform;
-- a connection that has set neither sees none.
CREATE FUNCTION raise_tenant_wall(guarded text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
  EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
  EXECUTE format(
    'CREATE POLICY tenant_wall ON %I USING ('
    '(SELECT current_setting(''gpuaas.platform'', true)) = ''on'''
    ' OR tenant_id = (SELECT current_setting(''gpuaas.tenant'', true)))', guarded);
END $$;

-- Triggers call this for tables whose rows are only ever added.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
