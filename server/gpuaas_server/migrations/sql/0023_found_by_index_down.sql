DROP INDEX node_resource_slots_out_of_use;
DROP INDEX app_usage_days_by_day;
DROP TRIGGER app_instances_come_home ON app_instances;
DROP FUNCTION instance_comes_home();
