-- A setting of a function's own costs more than some of what these functions do: only those that are called from outside
-- keep theirs.
ALTER FUNCTION live_claims_on(text[]) RESET plan_cache_mode;
ALTER FUNCTION refit_nodes(text[]) RENAME TO refit_nodes_within;
ALTER FUNCTION refit_nodes_within(text[]) RESET plan_cache_mode;

-- Rebuild node_fits for some nodes; the caller holds the nodes' locks.
CREATE FUNCTION refit_nodes(all_nodes text[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM refit_nodes_within(all_nodes);
END $$;

-- Take slots that offer_nodes() has locked (see 0003). What the constraints refuse is told apart by their names.
CREATE OR REPLACE FUNCTION claim_slots(tenant text, moment timestamptz, taken text[], claims jsonb) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE node_resource_slots SET status = 'claimed' WHERE id = ANY(taken);
  INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, slot_id, lane, claimed_at)
  SELECT c.id, tenant, c.allocation_id, c.node_id, CASE WHEN c.slot_id IS NULL THEN 'node_exclusive' ELSE 'slot' END,
    c.slot_id, int4range(s.lane, s.lane + 1), moment
  FROM jsonb_to_recordset(claims) AS c(id text, allocation_id text, node_id text, slot_id text)
  LEFT JOIN node_resource_slots s ON s.id = c.slot_id;
  PERFORM refit_nodes_within(
    ARRAY(SELECT DISTINCT c.node_id FROM jsonb_to_recordset(claims) AS c(node_id text) ORDER BY 1));
END $$;
