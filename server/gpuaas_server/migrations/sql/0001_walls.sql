-- The tenant wall: a connection sees rows of its own tenant, or of all when it acts for the platform. Nothing set: nothing seen.
CREATE FUNCTION raise_tenant_wall(guarded text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
  EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
  EXECUTE format(
    'CREATE POLICY tenant_wall ON %I USING ('
    '(SELECT current_setting(''gpuaas.platform'', true)) = ''on'''
    ' OR tenant_id = (SELECT current_setting(''gpuaas.tenant'', true)))', guarded);
END $$;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
