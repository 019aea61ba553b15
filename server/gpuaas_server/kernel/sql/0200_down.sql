-- Removes everything that the first revision made, and what is still there of later ones.
DO $$
DECLARE one text;
BEGIN
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('DROP TABLE %I CASCADE', one);
  END LOOP;
  FOR one IN SELECT f.oid::regprocedure FROM pg_proc f WHERE f.pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = f.oid AND d.deptype = 'e') LOOP
    EXECUTE format('DROP FUNCTION %s', one);
  END LOOP;
END $$;
