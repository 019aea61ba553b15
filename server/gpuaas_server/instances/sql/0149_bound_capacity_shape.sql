-- The shape of the allocations that an instance's members are on.
ALTER TABLE app_members ADD COLUMN shape text;
ALTER TABLE app_instances ADD COLUMN bound_capacity_shape text;
UPDATE app_members m SET shape = a.shape FROM allocations a WHERE a.id = m.allocation_id AND m.removed_at IS NULL;
UPDATE app_instances i SET bound_capacity_shape = b.shape FROM (
  SELECT instance_id, CASE count(DISTINCT shape) WHEN 1 THEN min(shape) ELSE 'mixed' END AS shape
  FROM app_members WHERE removed_at IS NULL AND shape IS NOT NULL GROUP BY instance_id
) b WHERE b.instance_id = i.id;
