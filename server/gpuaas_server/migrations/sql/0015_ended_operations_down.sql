DROP TRIGGER credential_deliveries_kept ON credential_deliveries;
DROP TRIGGER credential_deliveries_retention ON credential_deliveries;
DROP TRIGGER credential_deliveries_append_only ON credential_deliveries;
CREATE TRIGGER credential_deliveries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON credential_deliveries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
DROP FUNCTION refuse_delivery_delete();

DROP INDEX app_operations_ended;
ALTER TABLE app_operations DROP COLUMN kept_at;

DROP INDEX app_members_busy;
