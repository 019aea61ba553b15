DROP TRIGGER node_resource_slots_lane ON node_resource_slots;
DROP FUNCTION slot_takes_a_lane();
-- Absent devices may share an index with present ones: out of the way, where no host's index can be.
DROP INDEX node_resource_slots_one_per_index;
UPDATE node_resource_slots SET slot_index = -1 - lane WHERE NOT present;
ALTER TABLE node_resource_slots ADD CONSTRAINT node_resource_slots_one_per_index UNIQUE (node_id, slot_index);
ALTER TABLE node_resource_slots DROP COLUMN lane;

CREATE OR REPLACE FUNCTION claim_slots(tenant text, moment timestamptz, taken text[], claims jsonb) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE node_resource_slots SET status = 'claimed' WHERE id = ANY(taken);
  INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane, claimed_at)
  SELECT c.id, tenant, c.allocation_id, c.node_id, CASE WHEN c.slot_id IS NULL THEN 'node_exclusive' ELSE 'slot' END,
    c.slot_id, int4range(c.lane, c.lane + 1), moment
  FROM jsonb_to_recordset(claims) AS c(id text, allocation_id text, node_id text, slot_id text, lane int);
  PERFORM refit_nodes(ARRAY(SELECT DISTINCT c.node_id FROM jsonb_to_recordset(claims) AS c(node_id text) ORDER BY 1));
END $$;
