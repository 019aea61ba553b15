ALTER TABLE app_instances DROP COLUMN bound_capacity_shape;
ALTER TABLE app_members DROP COLUMN shape;
