DROP FUNCTION last_instance_end(text, text);
DROP INDEX app_instances_ended_by_version;
DROP INDEX app_instances_ended_by_digest;
